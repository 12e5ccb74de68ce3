/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run that has diverged, and warns of one that may: checks the loss of each step, and all
 * arrays before they are saved. */
#include <math.h>
#include <stdio.h>

#include "train/faults.h"
#include "train/hook.h"

/* Where divergence may have come from, and what to go on from. */
static dt_status *explain(const run *r, dt_status *s) {
    s = dt_faults_note(r, s);
    return s && r->checkpoint ? dt_note(s, "last checkpoint: %s", r->checkpoint) : s;
}

typedef struct guard {
    double loss_of_run, loss_of_epoch; /* of their first steps; 0: no step yet */
    bool grew;                         /* the loss, which is reported once */
} guard;

static dt_status *open_guard(run *r, dt_hook *h) {
    guard *g = dt_arena_new(r->arena, guard);
    *g = (guard){0};
    h->state = g;
    return NULL;
}

/* Said once a run. Small losses of good epochs vary by more than that, and stay below the first one
 * of all. */
static void watch_growth(const run *r, guard *g, double loss) {
    if (g->loss_of_run == 0) g->loss_of_run = loss;
    if (g->loss_of_epoch == 0 || r->at.epoch_step == 1) g->loss_of_epoch = loss;
    if (g->grew || !(g->loss_of_run > 0 && loss > g->loss_of_run && loss > 1000 * g->loss_of_epoch))
        return;
    g->grew = true;
    char text[160];
    snprintf(text, sizeof text,
             "step %lld: the loss has grown from %.4g to %.4g within the epoch; a smaller "
             "learning_rate may help",
             (long long)r->at.step, g->loss_of_epoch, loss);
    dt_run_warn(r, text);
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    if (isfinite(done->loss)) {
        watch_growth(r, h->state, done->loss);
        return NULL;
    }
    dt_status *s = dt_fail(DT_E_DIVERGED, NULL, "step %lld: the loss is not finite (%s)",
                           (long long)r->at.step, isnan(done->loss) ? "nan" : "inf");
    return explain(r, dt_run_explain_loss(r, done->batch, s));
}

const dt_hook_row dt_hook_guard = {.open = open_guard, .step_end = step_end};

static dt_status *check_arrays(const run *r, const dt_arrays *a) {
    int64_t n;
    const dt_named_view *bad = dt_find_not_finite(a, &n);

    if (!bad) return NULL;
    return explain(r, dt_fail(DT_E_DIVERGED, NULL,
                              "step %lld: '%s' holds %lld value%s that %s not finite",
                              (long long)r->at.step, bad->name, (long long)n, n == 1 ? "" : "s",
                              n == 1 ? "is" : "are"));
}

static dt_status *check_weights(const run *r) {
    dt_arrays model, optimizer;

    DT_TRY(dt_model_arrays(r->model, r->arena, &model));
    DT_TRY(dt_optimizer_arrays(r->optimizer, r->arena, &optimizer));
    DT_TRY(check_arrays(r, &model));
    return check_arrays(r, &optimizer);
}

/* The loss of a step is that before its update: what comes after the last one shows in the weights
 * alone. Of state that workers keep in parts the first one sees all. */
dt_status *dt_run_check_weights(const run *r) {
    return dt_cluster_agree(r->strategy->cluster, "vouch for the weights", check_weights(r));
}
