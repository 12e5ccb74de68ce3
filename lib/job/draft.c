/* SPDX-License-Identifier: Apache-2.0 */
/* config init --from: the kind of data decides which reader makes the draft; see draft.h. */
#include "job/draft.h"

#include <sys/stat.h>

#include "job/job.h"

static bool is_folder(const dt_draft_request *q) {
    struct stat st;
    return q->n_files == 1 && stat(q->files[0], &st) == 0 && S_ISDIR(st.st_mode);
}

static dt_status *fill(dt_draft *d, dt_guess *g) {
    g->wants_table = true;
    g->table.wanted = 0;
    DT_TRY(dt_guess_files(g));
    return g->table.v ? dt_draft_table(d) : dt_draft_arrays(d);
}

DT_API dt_status *dt_job_draft(const dt_draft_request *q, char **text) {
    dt_str out = {0};
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(q, "dt_job_draft", "request"));
    DT_TRY(dt_want(text, "dt_job_draft", "place for the text"));
    *text = NULL;
    DT_TRY(dt_want_texts(q->files, q->n_files, "a request for a job", "file"));
    dt_guess g = {.files = q->files, .n = q->n_files};
    dt_draft d = {.arena = dt_arena_create(), .guess = &g, .target = q->target};
    dt_status *s = is_folder(q) ? dt_draft_pictures(&d, q->files[0]) : fill(&d, &g);
    if (!s) {
        dt_draft_write(&d, &out);
        *text = dt_str_take(&out);
    }
    dt_str_release(&d.dataset);
    dt_guess_release(&g);
    dt_arena_destroy(d.arena);
    return s;
}
