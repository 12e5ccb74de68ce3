/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what device_upload.h declares. Reading threads share the dt_lender without a lock: it
 * is complete before they start, and they do not change it. */
#include "train/device_upload.h"

#include "train/results.h"

static dt_status *lend_batch(void *user, const dt_example *batch, void **lent) {
    const dt_lender *l = user;
    dt_view arg[DT_MAX_INPUTS + 2 * DT_MAX_OUTPUTS];
    dt_lent *out = NULL;

    for (int i = 0; i < l->n; i++) {
        if (l->size[i].rows != batch->rows) continue;
        dt_match_views(l->data, batch, l->step, arg);
        DT_TRY(dt_executable_lend(l->size[i].executable, arg, &out));
        break;
    }
    *lent = out;
    return NULL;
}

static void take_back(void *user, void *lent) {
    (void)user;
    dt_lent_take_back(lent);
}

dt_status *dt_lender_make(dt_lender *l, const dt_dataset *data, dt_compiled *c, int64_t examples,
                          int64_t batch, dt_batch_lend *out) {
    const int64_t rows[] = {examples < batch ? 0 : batch, examples % batch};

    *l = (dt_lender){.data = data, .step = dt_compiled_step(c)};
    *out = (dt_batch_lend){0};
    if (!dt_compiled_runs_ahead(c)) return NULL;
    for (int i = 0; i < 2; i++) {
        if (rows[i] <= 0) continue;
        DT_TRY(dt_compiled_prepare(c, rows[i], &l->size[l->n].executable));
        l->size[l->n++].rows = rows[i];
    }
    *out = (dt_batch_lend){.lend = lend_batch, .take_back = take_back, .user = l};
    return NULL;
}
