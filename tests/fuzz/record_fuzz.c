/* What a run's directory says, as `dtrain report` reads it: record.jsonl, and the same bytes as history.jsonl; the whole page is made of it. */
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "fuzz.h"

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

/* Whatever the files hold, it is text: no tags but ours, no letters that a terminal or a reader of other directions would take for more. */
static void look(const char *page)
{
    FUZZ_CHECK(count(page, "<script") == 1 && count(page, "</script>") == 1 && count(page, "<html") == 1, "markup out of a file");
    for (const unsigned char *c = (const unsigned char *)page; *c; c++)
        FUZZ_CHECK(*c >= ' ' || *c == '\n' || *c == '\t', "a control character out of a file");
}

FUZZ_TARGET(record)
{
    const char *folder = fuzz_folder("record.jsonl", data, size);
    char *page = NULL;
    fuzz_folder_add("history.jsonl", data, size);
    const dt_run_report_request q = {.runs = (const char *const[]){folder, folder}, .n_runs = 1 + (int)(size % 2), .output = "-"};
    dt_status *s = dt_run_report(&q, &page);
    if (!s)
        look(page);
    free(page);
    fuzz_done(s);
    return 0;
}
