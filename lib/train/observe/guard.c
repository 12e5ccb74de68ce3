/* SPDX-License-Identifier: Apache-2.0 */
/* Checks: a loss or a weight that is not finite and, with verify_replicas, replicas that differ end
 * the run. A loss that grows a thousandfold within an epoch gets a warning. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/contents.h"
#include "strategy/cluster.h"
#include "train/faults.h"
#include "train/hook.h"
#include "train/run.h"
#include "train/train.h"
#include "train/trainer.h"

/*
 * Explains a loss that is not finite, as far as the batch and the step's number show the cause.
 * Most users suspect the learning rate first. But a number in the data that is not finite explains
 * the loss, a sequence of nothing but padding is a likely cause if the model masks it, and before
 * the first update the learning rate cannot be the cause.
 */

/* The rows of an element of shape (rows, ...), with the bytes and the values of one row. */
typedef struct rows {
    const dt_tensor *tensor;
    /* The rows [from, to) were read. Each has `numbers` values in `bytes` bytes. */
    int64_t from, to, numbers, bytes;
} rows;

static rows rows_of(const dt_example *b, int element) {
    const dt_tensor *t = b->tensor[element];
    int64_t numbers = b->rows > 0 ? dt_type_elements(&t->type) / b->rows : 0;
    return (rows){t, b->from, b->to, numbers, numbers * dt_dtype_size(t->type.dtype)};
}

static bool is_finite_at(const dt_tensor *t, int64_t i) {
    if (t->type.dtype == DT_FLOAT32) return isfinite(((const float *)t->data)[i]);
    return t->type.dtype != DT_FLOAT64 || isfinite(((const double *)t->data)[i]);
}

/* Returns the first row with a number that is not finite, or -1. */
static int64_t find_not_finite(const rows *r) {
    for (int64_t i = r->from * r->numbers; i < r->to * r->numbers; i++)
        if (!is_finite_at(r->tensor, i)) return i / r->numbers;
    return -1;
}

/* Returns the first row that has only zeros, or -1. */
static int64_t find_padding(const rows *r) {
    const char *at = r->tensor->data + r->from * r->bytes;
    for (int64_t i = r->from; r->bytes > 0 && i < r->to; i++, at += r->bytes)
        if (*at == 0 && memcmp(at, at + 1, (size_t)r->bytes - 1) == 0) return i;
    return -1;
}

/* Whether a layer of the model masks zeros of the element as padding. */
static bool is_masked(const dt_model_spec *m, const char *element) {
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        if (l->out_mask && l->n_in == 1 && !dt_dtype_is_float(l->in.dtype) &&
            strcmp(m->layer[l->from[0]].name, element) == 0)
            return true;
    }
    return false;
}

bool dt_find_bad_example(const dt_dataset *d, const dt_model_spec *m, const dt_example *b,
                         dt_not_finite *out) {
    const dt_element_spec *element;
    int n = dt_dataset_elements(d, &element);
    for (int e = 0; e < n && e < b->n; e++) {
        rows its = rows_of(b, e);
        int64_t bad = find_not_finite(&its),
                empty = bad < 0 && is_masked(m, element[e].name) ? find_padding(&its) : -1;
        if (bad < 0 && empty < 0) continue;
        *out = (dt_not_finite){
            .element = e,
            .padding = bad < 0,
            .row = bad >= 0 ? bad : empty,
            .what = bad >= 0 ? "contains NaN or infinity"
                             : "contains only padding, so a mean over its steps is NaN"};
        return true;
    }
    return false;
}

/* Whether a NaN was injected (--inject nan), which is then the likely cause. In that case another
 * note of the error says so. */
static bool is_injected(const run *r) {
    for (int i = 0; i < r->q->faults.n; i++)
        if (r->q->faults.v[i].kind == DT_FAULT_NAN && r->q->faults.v[i].step <= r->at.step)
            return true;
    return false;
}

/* Adds to an error about the loss its cause, as far as the batch or the step's number shows it. */
static dt_status *run_explain_loss(const run *r, const dt_example *b, dt_status *s) {
    const dt_element_spec *element;
    dt_not_finite found;
    if (is_injected(r)) return s;
    dt_dataset_elements(r->data, &element);
    if (dt_find_bad_example(r->data, &r->model->spec, b, &found))
        return dt_note(s, "%s'%s' of example %lld of this step's batch %s",
                       found.padding ? "" : "the data has it: ", element[found.element].name,
                       (long long)found.row + 1, found.what);
    if (r->at.step == 1)
        s = dt_note(s, "no weight had changed yet, so the learning rate is not the cause: check "
                       "the data, the layers and the initial weights");
    return s;
}

/*
 * With verify_replicas: workers that have the same weights and apply the same update keep equal
 * weights after every step, bit for bit. A faulty processor or memory makes them differ, and the
 * run would continue with both. So the workers compare hashes every EVERY steps, and after the last
 * step if the run trains all of its steps. The first weight that differs is reported.
 */

enum { EVERY = 100 };

/* Compares the hash of one weight after the other, in the same order on all workers, until a weight
 * differs. */
static dt_status *name_weight(const run *r, const dt_arrays *weights) {
    for (int i = 0; i < weights->n; i++) {
        const dt_digest own =
            dt_hash_end(dt_weights_hash(&(dt_arrays){1, &weights->array[i]}, r->arena));
        const char *of =
            dt_arena_printf(r->arena, "step %lld: replicas differ: the SHA-256 of '%s'",
                            (long long)r->at.step, weights->array[i].name);
        DT_TRY(dt_cluster_compare(r->strategy->cluster, of, own.hex));
    }
    return NULL;
}

static dt_status *compare_replicas(const run *r) {
    dt_cluster *c = r->strategy->cluster;
    dt_arrays weights;
    if (!c || !r->strategy->verify_replicas ||
        (r->at.step % EVERY != 0 && r->at.step != r->size.steps))
        return NULL;
    dt_local_arena arena = dt_arena_create();
    DT_TRY(dt_model_arrays(r->model, arena, &weights));
    const dt_digest own = dt_hash_end(dt_weights_hash(&weights, arena));
    char(*all)[sizeof own.hex] = dt_alloc((size_t)c->workers * sizeof *all);
    dt_status *s = dt_cluster_gather(c, "compare weights", own.hex, sizeof own.hex, all);
    bool equal = true;
    for (int i = 1; !s && i < c->workers; i++) equal &= memcmp(all[i], all[0], sizeof *all) == 0;
    free(all);
    return s || equal ? s : name_weight(r, &weights);
}

/* Adds to an error the faults that were injected, which may be its cause, and the checkpoint to
 * resume from. */
static dt_status *explain(const run *r, dt_status *s) {
    s = dt_faults_note(r, s);
    return s && r->out.checkpoint ? dt_note(s, "last checkpoint: %s", r->out.checkpoint) : s;
}

typedef struct guard {
    /* the losses of the first step of this run, and of the first step that it has made in the
     * current epoch; 0: there was no step yet */
    double loss_of_run, loss_of_epoch;
    bool grew; /* whether the growth of the loss has been reported */
} guard;

static dt_status *open_guard(run *r, dt_hook *h) {
    guard *g = dt_arena_new(r->arena, guard);
    *g = (guard){0};
    h->state = g;
    return NULL;
}

/* Warns, once in a run, of a loss that is more than 1000 times that of the epoch's first step. It
 * must also exceed the run's first loss, because the small losses at the end of a good training may
 * vary by such factors. */
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
    DT_TRY(compare_replicas(r));
    if (isfinite(done->loss)) {
        watch_growth(r, h->state, done->loss);
        return NULL;
    }
    dt_status *s = dt_fail(DT_E_DIVERGED, NULL, "step %lld: the loss is not finite (%s)",
                           (long long)r->at.step, isnan(done->loss) ? "nan" : "inf");
    return explain(r, run_explain_loss(r, done->batch, s));
}

const dt_hook_row dt_hook_guard = {.open = open_guard, .step_end = step_end};

static dt_status *check_arrays(const run *r, const dt_arrays *a) {
    return explain(r, dt_check_finite(a, DT_E_DIVERGED, "step %lld", (long long)r->at.step));
}

static dt_status *check_weights(const run *r) {
    dt_local_arena arena = dt_arena_create();
    dt_arrays model, optimizer;

    DT_TRY(dt_model_arrays(r->model, arena, &model));
    DT_TRY(dt_optimizer_arrays(r->optimizer, arena, &optimizer));
    DT_TRY(check_arrays(r, &model));
    return check_arrays(r, &optimizer);
}

/* If workers keep parts of the state, the chief checks all parts. */
dt_status *dt_run_check_weights(const run *r) {
    return dt_cluster_agree(r->strategy->cluster, "vouch for the weights", check_weights(r));
}
