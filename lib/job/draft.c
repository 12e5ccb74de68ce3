/* SPDX-License-Identifier: Apache-2.0 */
/* config init --from: chooses the reader for the kind of data, which makes the draft; see
 * draft.h. */
#include "job/draft.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/inspect.h"
#include "job/job.h"

static bool is_folder(const dt_draft_request *q) {
    struct stat st;
    return q->n_files == 1 && stat(q->files[0], &st) == 0 && S_ISDIR(st.st_mode);
}

/* Whether the data is a text: a single file *.txt of which no column is to be predicted; otherwise
 * such a file is a table. */
static bool is_text(const dt_draft_request *q) {
    const size_t n = q->n_files == 1 && !q->target ? strlen(q->files[0]) : 0;
    return n > 4 && strcasecmp(q->files[0] + n - 4, ".txt") == 0;
}

dt_status *dt_draft_check_folder(const char *folder, const char *file, int64_t broken,
                                 int64_t classes) {
    if (broken > 0)
        return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL, "%s: %lld %s%s cannot be read", folder,
                                  (long long)broken, file, broken == 1 ? "" : "s"),
                          "dtrain data inspect names them; delete or mend these first");
    return classes >= 2 ? NULL
                        : dt_fail(DT_E_DATA_EMPTY, NULL,
                                  "%s: one class only; a folder for each of at least two classes "
                                  "is expected",
                                  folder);
}

static dt_status *fill(const dt_draft_request *q, dt_draft *d, dt_guess *g) {
    if (is_folder(q))
        return (dt_texts_are_in(q->files[0]) ? dt_draft_texts : dt_draft_pictures)(d, q->files[0]);
    if (is_text(q)) return dt_draft_language(d, q->files[0]);
    g->wants_table = true;
    g->table.wanted = 0;
    DT_TRY(dt_guess_files(g));
    return g->table.v ? dt_draft_table(d) : dt_draft_arrays(d);
}

DT_API dt_status *dt_job_draft(const dt_draft_request *q, char **text) {
    dt_str out = {0};
    DT_REQUIRE({q, "request"}, {text, "place for the text"});
    *text = NULL;
    DT_TRY(dt_want_texts(q->files, q->n_files, "a request for a job", "file"));
    dt_guess g = {.files = q->files, .n = q->n_files};
    dt_draft d = {.arena = dt_arena_create(), .guess = &g, .target = q->target};
    dt_status *s = fill(q, &d, &g);
    if (!s) {
        dt_draft_write(&d, &out);
        *text = dt_str_take(&out);
    }
    dt_str_release(&d.dataset);
    dt_guess_release(&g);
    dt_arena_destroy(d.arena);
    return s;
}
