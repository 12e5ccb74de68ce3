/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SwapEMAWeights, as in Keras: validation data is evaluated with the running means that the
 * optimizer keeps (`use_ema`), and training continues with the weights as they were. With
 * swap_on_epoch, later callbacks see the means at the end of an epoch, too: ModelCheckpoint then
 * saves them. The run's own checkpoints always hold the weights that training continues with. A
 * checkpoint that ModelCheckpoint saves records whether weights and means are exchanged in it. A
 * second SwapEMAWeights would undo the exchange of the first one, so a job may list only one.
 */
#include "train/hook.h"

struct swap {
    bool swap_on_epoch;
};

static const dt_field fields[] = {
    DT_FLAG(struct swap, swap_on_epoch,
            .help =
                "swap at the end of each epoch, so that later callbacks see the averaged weights"),
    DT_END};

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    const dt_optimizer_head *head = job->compile ? job->compile->optimizer.args : NULL;
    if (!head || head->use_ema) return NULL;
    return dt_suggest(dt_fail(DT_E_CALLBACK, &named->at,
                              "SwapEMAWeights: the optimizer keeps no averages of the weights"),
                      "give it use_ema: true");
}

dt_status *dt_run_swap(run *r, bool means) {
    if (r->swapped == means) return NULL;
    DT_TRY(dt_optimizer_swap_averages(r->optimizer, &r->model->trainable));
    r->swapped = means;
    return NULL;
}

static dt_status *put_means(run *r, dt_hook *h) {
    (void)h;
    return dt_run_swap(r, true);
}

static dt_status *put_back(run *r, dt_hook *h) {
    (void)h;
    return dt_run_swap(r, false);
}

static dt_status *end_test(run *r, dt_hook *h, const dt_logs *logs) {
    (void)logs;
    return put_back(r, h);
}

static dt_status *end_epoch(run *r, dt_hook *h, dt_logs *logs) {
    const struct swap *x = h->named->args;
    (void)logs;
    return x->swap_on_epoch ? put_means(r, h) : NULL;
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    (void)h;
    dt_json_int(j, "swapped", r->swapped);
    return NULL;
}

static void restore(run *r, dt_hook *h, const json_t *kept) {
    int64_t swapped = 0;
    (void)h;
    dt_kept_count(kept, "swapped", &swapped);
    r->swapped = swapped != 0;
}

const dt_hook_row dt_callback_swap_ema_weights = {
    .kind = {"SwapEMAWeights", "evaluates with the running means of the weights", fields,
             sizeof(struct swap), NULL},
    .once = true,
    .check = check,
    .save = save,
    .restore = restore,
    .begin = put_back,
    .test_begin = put_means,
    .test_end = end_test,
    .epoch_end = end_epoch,
};
