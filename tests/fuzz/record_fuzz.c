/* SPDX-License-Identifier: Apache-2.0 */
/* What a run's directory says, as `dtrain report` reads it: record.jsonl, and the same bytes as
 * history.jsonl; the whole page is made of it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "fuzz.h"

static int count(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
    return n;
}

/* Whatever the files hold, it is text: no tags but ours, no letters that a terminal or a reader of
 * other directions would take for more. */
static void look(const char *page) {
    FUZZ_CHECK(count(page, "<script") == 2 && count(page, "</script>") == 2 &&
                   count(page, "<html") == 1,
               "markup out of a file");
    for (const unsigned char *c = (const unsigned char *)page; *c; c++)
        FUZZ_CHECK(*c >= ' ' || *c == '\n' || *c == '\t', "a control character out of a file");
    const char *data = strstr(page, "id=\"data\">");
    FUZZ_CHECK(data, "no data");
    data += strlen("id=\"data\">");
    json_t *all = json_loadb(data, (size_t)(strstr(data, "</script>") - data), 0, NULL);
    FUZZ_CHECK(all, "data that is not JSON");
    json_decref(all);
}

/* What a directory has: all of it the same bytes, a checkpoint and the lock too. */
static const char *const kinds[] = {
    ("record.jsonl\nhistory.jsonl\n.lock\nckpt/step-00000001/state.json\n"
     "ckpt/step-00000003/state.json\n"),
    "history.jsonl\nckpt/step-00000003/state.json\n",
    "record.jsonl\nhistory.jsonl\n",
    "other\n",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

FUZZ_TARGET(record) {
    char *names = strdup(kinds[size % KINDS]), path[256], *page = NULL;
    FUZZ_CHECK(names, "no memory");
    const char *folder = fuzz_tree(names, data, size);
    snprintf(path, sizeof path, "%s/", folder);
    const dt_run_report_request q = {
        .runs = (const char *const[]){path, folder}, .n_runs = 1 + (int)(size % 2), .output = "-"};
    dt_status *s = dt_run_report(&q, &page);
    if (!s) look(page);
    free(page);
    free(names);
    fuzz_done(s);
    return 0;
}
