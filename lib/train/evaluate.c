/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates a part of the data. The loss and the metrics have the same digits for any global batch,
 * except in the cases below.
 *
 * Sums are rounded in the order in which they are formed, and a matrix product may round a row
 * differently when other rows are computed with it. So the examples are evaluated in pieces, from
 * the first example on, and the number of rows of a piece depends on the model alone. The last
 * piece may be shorter: it has the rest of the data, or of validation_steps. If a piece would take
 * much memory, it has at most as many rows as a batch of the job, so that evaluation needs no more
 * memory than training. On a chip a piece is a batch of the job. A loss that is one number for a
 * batch, or compares the examples of a batch, is computed over the job's batches, as in training.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/compiled.h"
#include "strategy/divided.h"
#include "train/device_upload.h"
#include "train/trainer.h"

/* The most rows of a piece, and the most bytes of its largest value, unless a piece is a batch of
 * the job. If a piece has more rows than a batch of the job, MOST_BYTES limits all its values
 * together. */
enum { MOST_ROWS = 1024, MOST_BYTES = 16 << 20 };
#define TELL_NS 100000000 /* nanoseconds between two reports of progress */

/* Returns the bytes of one row of a value; 0: the value has no rows. */
static int64_t row_bytes(const dt_type *t) {
    const dt_type one = dt_type_at(t, 1), two = dt_type_at(t, 2);
    return dt_type_bytes(&one) == dt_type_bytes(&two) ? 0 : dt_type_bytes(&one);
}

static int64_t largest_row(const dt_graph *g) {
    int64_t most = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t bytes = row_bytes(&g->node[i].type);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Returns the bytes of one row of all values of a graph together. The result must not depend on the
 * machine or its threads, because it decides the size of a piece and so the order of sums. */
static int64_t all_rows(const dt_graph *g) {
    int64_t all = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        const int64_t bytes = row_bytes(&g->node[i].type);
        all = dt_add_fits(all, bytes, &all) ? all : INT64_MAX;
    }
    return all;
}

/* Whether a loss of the model depends on which examples are in a batch together. */
static bool has_loss_of_batches(const dt_trainer *t) {
    bool has = false;
    for (int i = 0; i < t->o.compile->n_outputs; i++) {
        const dt_named *loss = &t->o.compile->output[i].loss;
        has |= dt_loss_is_whole(loss, &t->o.model->spec.output[i].type) ||
               (loss->kind && ((const dt_loss_row *)loss->kind)->pairs);
    }
    return has;
}

/* Chooses the number of rows of a piece: MOST_ROWS, halved until its largest value has at most
 * MOST_BYTES and, while it is above a batch of the job, until all its values together have. On a
 * chip a piece is a batch of the job: several devices compute parts of a batch and round their sums
 * differently. A piece is also a batch of the job if a loss depends on which examples are in a
 * batch together. */
void dt_trainer_plan_evaluation(dt_trainer *t) {
    int64_t row = largest_row(dt_compiled_step(t->evaluate));
    t->evaluation_rows = MOST_ROWS;
    while (t->evaluation_rows > 1 && t->evaluation_rows > MOST_BYTES / row) t->evaluation_rows /= 2;
    const int64_t all = all_rows(dt_compiled_step(t->evaluate)),
                  batch = dt_dataset_batch_size(t->o.data);
    while (t->evaluation_rows > 1 && t->evaluation_rows > batch &&
           t->evaluation_rows > MOST_BYTES / all)
        t->evaluation_rows /= 2;
    if (dt_compiled_is_chip(t->evaluate) || has_loss_of_batches(t)) t->evaluation_rows = batch;
}

/* Shortens a batch to its first `rows` rows. */
static void shorten(dt_example *batch, int64_t rows) {
    for (int e = 0; e < batch->n; e++) batch->tensor[e]->type.dim[0] = rows;
    batch->rows = rows;
    batch->to = batch->to < rows ? batch->to : rows;
}

/* Returns an EXAMPLE_NOT_FINITE error about an example that may have caused a loss that is not
 * finite. It names the example's number in the part, from 1, and its location in its file. example:
 * the index in the part, from 0. */
static dt_status *blame(const dt_trainer *t, dt_part part, int64_t example,
                        const dt_not_finite *found) {
    const dt_element_spec *element;
    dt_local_str where = {0};
    dt_dataset_elements(t->o.data, &element);
    dt_dataset_locate(t->o.data, part, found->element, example, &where);
    dt_status *s = dt_fail(DT_E_EXAMPLE_NOT_FINITE, NULL, "%s data: '%s' of example %lld %s",
                           dt_dataset_part_name(t->o.data, part), element[found->element].name,
                           (long long)example + 1, found->what);
    return dt_note(s, "it is %s", dt_str_text(&where));
}

/* Reports that `done` of `all` examples are evaluated, if the last report is at least TELL_NS old,
 * so that a long evaluation does not look like a run that hangs. run: may be NULL. */
static void report_progress(const dt_run_options *run, const char *part, int64_t done, int64_t all,
                            int64_t *reported_ns) {
    const int64_t now = dt_now_ns();
    if (!run || !run->event || now - *reported_ns < TELL_NS) return;
    *reported_ns = now;
    run->event(&(dt_event){.kind = DT_EVENT_EVALUATING,
                           .split = part,
                           .examples = done,
                           .validation_examples = all},
               run->user);
}

/* An evaluation in progress. Workers take pieces in turn. When each has evaluated one, the turn
 * ends: every worker adds the sums of all these pieces, in the order of the pieces, and gets the
 * same digits as one worker would. */
typedef struct turns {
    dt_part part;
    dt_iterator *batches;
    int64_t left; /* the most rows that are still to be evaluated */
    const dt_run_options *run;
    bool ahead;    /* whether the next piece may start before the current one is finished */
    bool is_there; /* whether a piece has started and is not finished */
    dt_example batch;
    int64_t first; /* index in the part of the first example of the piece that has started */
    /* The workers that take pieces in turn. NULL: this process evaluates all pieces, and the
     * following members are not used. */
    dt_cluster *cluster;
    int64_t piece; /* number of the next piece, from 0 */
    dt_sums own;   /* the sums of the piece that this worker has evaluated in the current turn */
    /* [workers + 1][1 + n] for each worker's piece: its number of examples, then its sums; the last
     * row has those that this worker sends */
    double *all;
} turns;

static void add_turn(const turns *x, int workers, dt_sums *s) {
    for (int w = 0; w < workers; w++) {
        const double *v = x->all + (int64_t)w * (1 + s->n);
        s->examples += v[0];
        for (int i = 0; i < s->n; i++) s->v[i] += v[1 + i];
    }
}

static dt_status *end_turn(dt_trainer *t, turns *x, dt_sums *s) {
    double *own = x->all + (int64_t)x->cluster->workers * (1 + s->n);
    own[0] = x->own.examples;
    memcpy(own + 1, x->own.v, (size_t)s->n * sizeof *own);
    dt_trainer_clear(t, &x->own);
    DT_TRY(dt_cluster_gather(x->cluster, "an evaluation", own, (size_t)(1 + s->n) * sizeof *own,
                             x->all));
    add_turn(x, x->cluster->workers, s);
    return NULL;
}

/* Finishes the piece that has started, and adds its sums to *s. If the step fails or the loss is
 * not finite, and an example of the piece may be the cause (dt_find_bad_example), returns an error
 * that names that example instead. */
static dt_status *finish_piece(dt_trainer *t, turns *x, dt_sums *s) {
    double loss = 0;
    dt_not_finite found;
    if (!x->is_there) return NULL;
    x->is_there = false;
    dt_status *bad = dt_trainer_finish(t, s, &loss);
    if ((!bad && isfinite(loss)) ||
        !dt_find_bad_example(t->o.data, &t->o.model->spec, &x->batch, &found))
        return bad;
    dt_status_free(bad);
    return blame(t, x->part, x->first + found.row, &found);
}

/* Starts the next piece. An error of the previous piece is reported before an error of this one. */
static dt_status *start_piece(dt_trainer *t, turns *x, const dt_example *batch, int64_t first,
                              dt_sums *s) {
    dt_status *bad = dt_trainer_start_batch(t, t->evaluate, batch), *before = finish_piece(t, x, s);
    if (before && !bad) bad = dt_trainer_finish(t, NULL, NULL);
    if (before) {
        dt_status_free(bad);
        return before;
    }
    x->is_there = !bad;
    x->batch = *batch;
    x->first = first;
    return bad || x->ahead ? bad : finish_piece(t, x, s);
}

static dt_status *take_piece(dt_trainer *t, turns *x, const dt_example *batch, int64_t first,
                             dt_sums *s) {
    if (!x->cluster) return start_piece(t, x, batch, first, s);
    const int64_t turn = x->piece++ % x->cluster->workers;
    if (turn == x->cluster->rank) DT_TRY(start_piece(t, x, batch, first, &x->own));
    return turn == x->cluster->workers - 1 ? end_turn(t, x, s) : NULL;
}

static void begin_turns(dt_trainer *t, turns *x, int n) {
    x->cluster = t->o.strategy->cluster;
    if (!x->cluster) return;
    dt_trainer_clear(t, &x->own);
    x->all =
        dt_alloc(dt_size_mul((size_t)(x->cluster->workers + 1) * (size_t)(1 + n), sizeof *x->all));
}

static dt_status *end_turns(dt_trainer *t, turns *x, dt_sums *s, dt_status *bad) {
    dt_status *last = finish_piece(t, x, s);
    dt_status_free(last ? bad : NULL);
    bad = last ? last : bad;
    if (!bad && x->cluster && x->piece % x->cluster->workers) bad = end_turn(t, x, s);
    dt_sums_release(&x->own);
    free(x->all);
    return bad;
}

static dt_status *evaluate(dt_trainer *t, turns *x, dt_sums *s) {
    const int64_t count = dt_dataset_count(t->o.data, x->part),
                  all = count < x->left ? count : x->left;
    const char *part = dt_dataset_part_name(t->o.data, x->part);
    int64_t reported_ns = dt_now_ns();
    dt_example batch;
    for (int64_t done = 0; x->left > 0; done += batch.rows) {
        DT_TRY(dt_iterator_next_batch(x->batches, &batch));
        if (batch.rows == 0) break;
        if (batch.rows > x->left) shorten(&batch, x->left);
        DT_TRY(take_piece(t, x, &batch, done, s));
        x->left -= batch.rows;
        report_progress(x->run, part, done + batch.rows, all, &reported_ns);
    }
    return NULL;
}

static dt_status *open_batches(dt_trainer *t, turns *x, dt_lender *lender) {
    const dt_cluster *workers = t->o.strategy->cluster;
    dt_batch_options o = {.part = x->part,
                          .batch = t->evaluation_rows,
                          .last = DT_LAST_PARTIAL,
                          .looks = true,
                          .keeps = x->ahead,
                          .recorder = t->recorder,
                          .own = workers ? dt_cluster_own_batch : NULL,
                          .own_user = workers};
    DT_TRY(dt_lender_make(lender, t->o.data, t->evaluate, dt_dataset_count(t->o.data, x->part),
                          o.batch, &o.lend));
    return dt_iterator_open_batches(&x->batches, t->o.data, &o);
}

dt_status *dt_trainer_evaluate(dt_trainer *t, dt_part part, int64_t batches,
                               const dt_run_options *run, dt_sums *s) {
    turns x = {
        .part = part, .left = INT64_MAX, .run = run, .ahead = dt_compiled_runs_ahead(t->evaluate)};
    dt_lender lender;

    if (batches > 0 && !dt_mul_fits(batches, dt_dataset_batch_size(t->o.data), &x.left))
        x.left = INT64_MAX;
    dt_trainer_clear(t, s);
    DT_TRY(dt_divided_put_together(t->o.model->weight, t->o.model->n_weights));
    DT_TRY(open_batches(t, &x, &lender));
    begin_turns(t, &x, s->n);
    dt_status *bad = end_turns(t, &x, s, evaluate(t, &x, s));
    dt_iterator_close(x.batches);
    return bad;
}
