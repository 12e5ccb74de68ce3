/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prediction: runs the forward pass over the examples of a part of a data set, each once and in
 * order. The number of examples may be unknown. The outputs of a batch have the rows of one replica
 * after the other, which is the order of the examples, and are passed on at once. Only one batch is
 * kept, or two if the device computes one while the next is being read; with several workers, also
 * the outputs of a turn, in which each worker computes one batch.
 *
 * An iterator over rows that arrive one by one may return fewer rows than a batch has. Such a batch
 * is padded with rows of zeros, so that no program must be compiled for each number of rows. The
 * outputs of padding are dropped; in inference they do not affect the other rows.
 *
 * Workers in separate processes take batches in turn. The first worker, or each of them, passes all
 * outputs on, in order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "data/map.h"
#include "data/rows_file.h"
#include "op/cells.h"
#include "strategy/divided.h"
#include "strategy/values.h"
#include "train/device_upload.h"
#include "train/trainer.h"

/*
 * ---- several workers ----
 *
 * Workers take batches in turn. When each has had one, the first worker (or everyone) gets the
 * outputs of all, in order.
 *
 *     batch       0   1   2 | 3   4   5 | 6        3 workers
 *     worker      0   1   2 | 0   1   2 | 0
 *                           collect     collect
 */

typedef struct turn {
    /* the workers that take batches in turn; NULL: this process takes all batches */
    dt_cluster *cluster;
    bool everyone;        /* whether every worker gets the outputs, not only the first one */
    const dt_graph *step; /* the step whose first results are the outputs */
    size_t row_bytes;     /* number of bytes of all results of the step for one example */
    int n;                /* number of batches in the current turn so far */
    int64_t *rows;        /* [workers] number of rows of each worker's batch in the current turn */
    /* bytes: [workers] bytes of each worker's results; all_bytes: the size of `all` */
    size_t *bytes, all_bytes;
    dt_str own; /* the results of this worker's batch, one after the other */
    char *all;  /* the results of all workers in the current turn */
} turn;

static size_t row_bytes(const dt_graph *step, int i) {
    const dt_type one = dt_type_at(&step->node[step->result[i].node].type, 1);
    return (size_t)dt_type_bytes(&one);
}

static void turn_open(turn *t, dt_cluster *cluster, const dt_graph *step) {
    *t = (turn){.cluster = cluster, .step = step};
    if (!cluster) return;
    t->rows = dt_alloc((size_t)cluster->workers * sizeof *t->rows);
    t->bytes = dt_alloc((size_t)cluster->workers * sizeof *t->bytes);
    for (int i = 0; i < step->n_results; i++) t->row_bytes += row_bytes(step, i);
}

static void turn_close(turn *t) {
    free(t->rows);
    free(t->bytes);
    free(t->all);
    dt_str_release(&t->own);
    *t = (turn){0};
}

/* Whether the next batch of the turn is this worker's. */
static bool turn_is_own(const turn *t) { return t->n == t->cluster->rank; }

/* Keeps the results for the first `rows` rows of this worker's batch until the turn ends. */
static dt_status *turn_keep(turn *t, const dt_view *result, int64_t rows) {
    dt_str_clear(&t->own);
    for (int i = 0; i < t->step->n_results; i++)
        dt_str_add(&t->own, result[i].data, (size_t)rows * row_bytes(t->step, i));
    return dt_reserve_check();
}

/* Ends the current batch, which has `rows` rows. Returns whether every worker has had a batch. */
static bool turn_next(turn *t, int64_t rows) {
    t->rows[t->n++] = rows;
    return t->n == t->cluster->workers;
}

static dt_status *make_room(turn *t, size_t bytes) {
    if (bytes <= t->all_bytes) return NULL;
    free(t->all);
    t->all = dt_try_alloc(bytes);
    t->all_bytes = t->all ? bytes : 0;
    return t->all ? NULL
                  : dt_fail(DT_E_NO_MEMORY, NULL,
                            "out of memory for %zu bytes of outputs of all workers", bytes);
}

static dt_status *turn_collect(turn *t) {
    size_t all = 0;
    for (int w = 0; w < t->cluster->workers; w++)
        all += t->bytes[w] = w < t->n ? (size_t)t->rows[w] * t->row_bytes : 0;
    if (t->cluster->rank == 0 || t->everyone) DT_TRY(make_room(t, all));
    return (t->everyone ? dt_cluster_spread : dt_cluster_collect)(
        t->cluster, "outputs", dt_str_text(&t->own), t->bytes, t->all);
}

/* Sets result[] to the results for batch w of the turn, which are lent until the next turn is
 * collected. Returns false if this worker does not get them. */
static bool turn_result(const turn *t, int w, dt_view *result) {
    if (t->cluster->rank != 0 && !t->everyone) return false;
    char *at = t->all;
    for (int before = 0; before < w; before++) at += t->bytes[before];
    for (int i = 0; i < t->step->n_results; i++) {
        result[i] =
            (dt_view){.type = dt_type_at(&t->step->node[t->step->result[i].node].type, t->rows[w]),
                      .data = at};
        at += (size_t)t->rows[w] * row_bytes(t->step, i);
    }
    return true;
}

/* ---- a prediction ---- */

/* The most results of a step (outputs and, to explain them, losses and targets), and the most
 * arguments. */
enum { MOST_RESULTS = 3 * DT_MAX_OUTPUTS, MOST_ARGS = DT_MAX_INPUTS + 2 * DT_MAX_OUTPUTS };

/* A batch whose step has started and is not finished. */
typedef struct flight {
    dt_executable *executable; /* the program that runs the step; NULL: the step has finished */
    dt_tensor *const *input;   /* [prediction.n] the elements of the batch */
    int64_t rows; /* number of rows whose outputs are wanted; further rows are padding */
    dt_view result[MOST_RESULTS];
} flight;

typedef struct prediction {
    dt_model *model;
    const dt_predict_rows *from;
    const dt_element_spec *element; /* [n] descriptions of the elements of a batch */
    int n;
    dt_compiled *step;
    int32_t *offsets; /* [replicas + 1] first row of each replica */
    int n_results;    /* number of results of the step, of which the first ones are the outputs */
    dt_output_meaning meaning[DT_MAX_OUTPUTS];
    bool warned; /* whether the warning about outputs that are not finite was printed */
    /* [batch] the file of each example of the current batch; NULL: not from a file */
    const char **file;
    /* [batch] why each example of the current batch cannot be read, or that its outputs are not
     * finite; NULL: examples that cannot be read end the prediction */
    const char **fault;
    /* [batch][columns] values of the current examples that are copied to the output; NULL: none */
    dt_copied_value *kept;
    int64_t done;              /* number of examples whose outputs were passed on */
    int64_t left;              /* the most examples that are still to be predicted */
    bool ahead;                /* whether a batch may start before the previous one is finished */
    flight flights[2];         /* the batches in progress; batch number k is flights[k % 2] */
    int64_t started, finished; /* numbers of batches that were started and finished */
    turn turn;                 /* the turn, if several workers predict */
} prediction;

/* ---- the step, and what outputs mean ---- */

dt_value dt_original_units(const dt_compile_spec *c, int output, const dt_dataset *d,
                           const char *target, dt_value x) {
    /* Every row of a table of losses begins with its dt_kind. */
    const dt_loss_row *loss = c ? (const dt_loss_row *)c->output[output].loss.kind : NULL;
    const dt_map *map = dt_dataset_spec_of(d)->map;
    if (!loss || loss->of != DT_OUTPUT_VALUES || !c->original_units || !target || !map) return x;
    return dt_map_undo(map, dt_dataset_learned(d), target, x);
}

/* Records the forward pass. c: converts outputs to original units; NULL: returns outputs as the
 * model computes them. */
static dt_status *trace_forward(const dt_model *m, const dt_dataset *data, const dt_compile_spec *c,
                                const dt_element_spec *const inputs, dt_graph **out) {
    const int n = m->spec.n_inputs;
    dt_trace *t = dt_trace_create("predict");
    dt_value input[DT_MAX_INPUTS], output[DT_MAX_OUTPUTS];

    dt_trace_set_replicas(t, m->strategy->replicas);
    dt_trace_set_logical(t, m->strategy->logical);
    for (int i = 0; i < n; i++) input[i] = dt_trace_declare(t, inputs[i].name, &inputs[i].type);
    dt_model_emit_outputs(m, input, n, DT_INFERENCE, output);
    for (int i = 0; i < m->spec.n_outputs; i++) {
        const dt_value y = dt_to_float32(output[i]);
        dt_return(t, dt_output_result(dt_trace_arena(t), &m->spec, i),
                  c ? dt_original_units(c, i, data, c->output[i].target, y) : y);
    }
    return dt_trace_end(t, out);
}

dt_status *dt_forward_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                            dt_graph **out) {
    const dt_element_spec *all;
    dt_element_spec input[DT_MAX_INPUTS];

    dt_dataset_elements(data, &all);
    for (int i = 0; i < match->n_inputs; i++) input[i] = all[match->input[i]];
    return trace_forward(m, data, NULL, input, out);
}

/* Whether the result of the node means the same as its input: the node is a conversion, a note, or
 * a reshape that keeps the last dimension, such as TimeDistributed's. */
static bool passes_on(const dt_graph *g, const dt_node *n) {
    if (n->op->role == DT_ROLE_CONVERT || n->op->role == DT_ROLE_NOTE) return true;
    if (n->op != &dt_op_reshape) return false;
    const dt_type *from = &g->node[n->in[0]].type, *to = &n->type;
    return from->rank > 0 && to->rank > 0 && from->dim[from->rank - 1] == to->dim[to->rank - 1];
}

dt_output_kind dt_output_made_by(const dt_graph *g, int node) {
    while (passes_on(g, &g->node[node])) node = g->node[node].in[0];
    const dt_op *op = g->node[node].op;
    return op == &dt_op_softmax    ? DT_OUTPUT_CLASSES
           : op == &dt_op_logistic ? DT_OUTPUT_LABELS
                                   : DT_OUTPUT_VALUES;
}

/* Decides what the numbers of output i mean. A loss for classes or labels determines it. Another
 * loss leaves it to the activation, unless the output is a single number, since a sigmoid may end a
 * regression. Without a loss the activation determines it. A single number is never a class. */
static dt_output_meaning meaning_of(const prediction *p, const dt_graph *g, int i) {
    const dt_compile_spec *c = p->from->compile;
    const dt_named *named = c ? &c->output[i].loss : NULL;
    /* Every row of a table of losses begins with its dt_kind. */
    const dt_loss_row *loss = named ? (const dt_loss_row *)named->kind : NULL;
    const dt_type *type = &p->model->spec.output[i].type;
    const bool lone = type->rank == 1 || (type->rank == 2 && type->dim[1] == 1);
    dt_output_meaning m = {.kind = loss && (loss->of != DT_OUTPUT_VALUES || lone)
                                       ? loss->of
                                       : dt_output_made_by(g, g->result[i].node)};
    if (m.kind == DT_OUTPUT_CLASSES && lone) m.kind = DT_OUTPUT_VALUES;
    m.logits = loss && loss->of != DT_OUTPUT_VALUES && dt_loss_takes_logits(named);
    if (p->from->names) {
        m.n_names = p->from->names->of[i].n;
        m.names = p->from->names->of[i].v;
    }
    return m;
}

static dt_status *compile(prediction *p, const dt_element_spec *inputs) {
    dt_graph *g = NULL;

    p->offsets = dt_alloc(((size_t)p->model->strategy->replicas + 1) * sizeof *p->offsets);
    DT_TRY(p->from->explains
               ? dt_step_trace(p->from->explains, DT_STEP_EXPLAIN, &g)
               : trace_forward(p->model, p->from->data, p->from->compile, inputs, &g));
    p->n_results = g->n_results;
    for (int i = 0; i < p->model->spec.n_outputs; i++) p->meaning[i] = meaning_of(p, g, i);
    DT_TRY(dt_compiled_create(
        &p->step, p->model->strategy, g,
        &(dt_compile_options){.alone = true, .beside = dt_dataset_preparing(p->from->data)}));
    DT_TRY(dt_divided_put_together(p->model->weight, p->model->n_weights));
    turn_open(&p->turn, p->model->strategy->cluster, dt_compiled_step(p->step));
    p->turn.everyone = p->from->everyone;
    return NULL;
}

/* ---- a batch ---- */

static bool is_finite_at(const dt_view *v, int64_t i) {
    return v->type.dtype == DT_FLOAT32 ? isfinite(((const float *)v->data)[i])
                                       : isfinite(dt_cell_double(v, i));
}

static bool is_finite_row(const dt_view *v, int64_t row) {
    const int64_t each = dt_type_elements(&v->type) / v->type.dim[0];
    for (int64_t k = row * each; k < (row + 1) * each; k++)
        if (!is_finite_at(v, k)) return false;
    return true;
}

/* Returns the index of the first row that is not finite of the first view that has one, or -1. */
static int64_t find_not_finite(const dt_view *result, int n, int64_t rows) {
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < rows; k++)
            if (!is_finite_row(&result[i], k)) return k;
    return -1;
}

/* Warns of outputs that are not finite, once, since many rows may have them. input NULL: another
 * worker has the inputs. */
static void warn_not_finite(prediction *p, dt_tensor *const *input, const dt_view *result,
                            int64_t rows) {
    const int64_t row =
        p->warned || !p->from->warn ? -1 : find_not_finite(result, p->model->spec.n_outputs, rows);
    dt_local_str text = {0};
    if (row < 0) return;
    const char *element_name = NULL;
    for (int e = 0; input && e < p->n && !element_name; e++) {
        const dt_type *all = &input[e]->type, type = dt_type_at(&p->element[e].type, 1);
        const dt_view one = {type, input[e]->data + row * dt_type_bytes(all) / all->dim[0]};
        element_name = dt_dtype_is_float(one.type.dtype) && find_not_finite(&one, 1, 1) >= 0
                           ? p->element[e].name
                           : NULL;
    }
    p->warned = true;
    dt_str_printf(&text, "outputs of example %lld are not finite", (long long)(p->done + row) + 1);
    if (element_name) dt_str_printf(&text, ": its '%s' holds a number that is not", element_name);
    else if (input) dt_str_puts(&text, ", though its inputs are: look at the weights");
    p->from->warn(dt_str_text(&text), p->from->warn_user);
}

/* Returns the path of example i of the part; NULL: the example is not a file. */
static const char *file_of(const prediction *p, int64_t i) {
    return dt_dataset_example_file(p->from->data, p->from->part, i);
}

/* Returns the paths of the current batch's first `rows` examples; NULL: examples are not files.
 * Either all examples of a data set are files, or none is. */
static const char *const *files_of(prediction *p, int64_t rows) {
    if (!file_of(p, p->done)) return NULL;
    p->file = p->file ? p->file : dt_alloc((size_t)p->from->batch * sizeof *p->file);
    for (int64_t i = 0; i < rows; i++) p->file[i] = file_of(p, p->done + i);
    return p->file;
}

/* Sets out's columns to the values of the current examples that are copied to the output. */
static void keep_columns(prediction *p, dt_predicted_rows *out) {
    const dt_texts *keeps = dt_rows_keep(p->from->data);
    if (keeps->n == 0) return;
    const int n = keeps->n;
    if (!p->kept) p->kept = dt_alloc((size_t)(p->from->batch * n) * sizeof *p->kept);
    for (int64_t i = 0; i < out->n_rows * n; i++)
        p->kept[i] = dt_rows_kept(p->from->data, p->done + i / n, (int)(i % n));
    out->n_kept = n;
    out->kept_names = keeps->v;
    out->kept = p->kept;
}

/* Returns for each current example why it cannot be read, or that an output is not finite; an
 * element NULL: neither. Returns NULL if an example that cannot be read ends the prediction. */
static const char *const *faults_of(prediction *p, const dt_view *result, int64_t rows) {
    if (!dt_rows_give_faults(p->from->data)) return NULL;
    p->fault = p->fault ? p->fault : dt_alloc((size_t)p->from->batch * sizeof *p->fault);
    for (int64_t i = 0; i < rows; i++) {
        p->fault[i] = dt_rows_fault(p->from->data, p->done + i);
        for (int o = 0; o < p->model->spec.n_outputs && !p->fault[i]; o++)
            if (!is_finite_row(&result[o], i))
                p->fault[i] = "its outputs are not finite: a value is NaN, or a date is unreadable";
    }
    return p->fault;
}

/* Completes the conversion of outputs to original units for data sets of several series, whose
 * units depend on the series of an example. */
static void undo_groups(const prediction *p, const dt_view *result, int64_t rows) {
    const dt_compile_spec *c = p->from->compile;
    for (int i = 0; c && c->original_units && i < p->model->spec.n_outputs; i++) {
        const dt_view *v = &result[i];
        const int64_t n = v->type.dim[0] > 0 ? dt_type_elements(&v->type) / v->type.dim[0] : 0;
        const dt_loss_row *loss = (const dt_loss_row *)c->output[i].loss.kind;
        if (!loss || loss->of != DT_OUTPUT_VALUES) continue;
        if (!c->output[i].target || v->type.dtype != DT_FLOAT32) continue;
        for (int64_t k = 0; k < rows; k++)
            dt_dataset_undo_group(p->from->data, p->from->part, c->output[i].target, p->done + k,
                                  (float *)v->data + k * n, n);
    }
}

/* Passes the first `rows` rows of the results to the caller. */
static dt_status *hand_on(prediction *p, const dt_view *result, int64_t rows) {
    const dt_model_spec *m = &p->model->spec;
    dt_tensor values[MOST_RESULTS];
    const dt_tensor *value[MOST_RESULTS];
    const char *name[MOST_RESULTS];

    undo_groups(p, result, rows);
    for (int i = 0; i < p->n_results; i++) {
        values[i] = (dt_tensor){.refs = 1, .type = result[i].type, .data = result[i].data};
        values[i].type.dim[0] = rows;
        value[i] = &values[i];
        name[i] = i < m->n_outputs ? m->output[i].name : dt_compiled_step(p->step)->result[i].name;
    }
    dt_predicted_rows all = {.first = p->done,
                             .n_rows = rows,
                             .of = dt_dataset_count(p->from->data, p->from->part),
                             .n_outputs = p->n_results,
                             .names = name,
                             .values = value,
                             .meaning = p->meaning,
                             .files = files_of(p, rows),
                             .errors = faults_of(p, result, rows)};
    keep_columns(p, &all);
    dt_status *s = p->from->rows(&all, p->from->user);
    p->done += rows;
    return s;
}

/* Starts the step on a batch, of which the first `rows` rows are wanted. */
static dt_status *start(prediction *p, dt_tensor *const *input, int64_t rows) {
    const int64_t computed = input[0]->type.dim[0];
    dt_view arg[MOST_ARGS];
    const dt_graph *step = dt_compiled_step(p->step);
    flight *f = &p->flights[p->started % 2];

    for (int i = 0; i < step->n_args; i++)
        for (int e = 0; e < p->n; e++)
            if (strcmp(step->arg[i].name, p->element[e].name) == 0)
                arg[i] = (dt_view){input[e]->type, input[e]->data};
    dt_cut_rows(computed, p->from->batch, p->model->strategy->replicas, p->offsets);
    DT_TRY(dt_compiled_start(p->step, p->offsets, arg, f->result, &f->executable));
    f->input = input;
    f->rows = rows;
    p->started++;
    return NULL;
}

/* Waits for the oldest batch that has started, and sets *out to it. */
static dt_status *finish(prediction *p, flight **out) {
    flight *f = *out = &p->flights[p->finished++ % 2];
    DT_TRY(f->executable ? dt_executable_finish(f->executable) : NULL);
    warn_not_finite(p, f->input, f->result, f->rows);
    return NULL;
}

/* Collects the outputs of all workers at the end of a turn, and passes them on. */
static dt_status *end_turn(prediction *p) {
    dt_view result[MOST_RESULTS];
    DT_TRY(turn_collect(&p->turn));
    for (int w = 0; w < p->turn.n; w++) {
        if (!turn_result(&p->turn, w, result)) continue;
        if (w > 0) warn_not_finite(p, NULL, result, p->turn.rows[w]);
        DT_TRY(hand_on(p, result, p->turn.rows[w]));
    }
    p->turn.n = 0;
    return NULL;
}

static dt_status *take_turn(prediction *p, dt_tensor *const *input, int64_t rows) {
    flight *f = NULL;
    if (turn_is_own(&p->turn)) {
        DT_TRY(start(p, input, rows));
        DT_TRY(finish(p, &f));
        DT_TRY(turn_keep(&p->turn, f->result, rows));
    }
    return turn_next(&p->turn, rows) ? end_turn(p) : NULL;
}

static dt_status *pass_on(prediction *p) {
    flight *f = NULL;
    DT_TRY(finish(p, &f));
    return hand_on(p, f->result, f->rows);
}

/* Finishes all started batches except the newest `left`, and passes their outputs on. */
static dt_status *pass_on_all(prediction *p, int64_t left) {
    while (p->started - p->finished > left) DT_TRY(pass_on(p));
    return NULL;
}

/* Starts a batch, and passes on the outputs of all earlier ones, and its own if batches may not
 * overlap; with several workers, takes a turn instead. If this batch cannot start, the outputs of
 * earlier ones are still passed on before its error is returned. */
static dt_status *predict_batch(prediction *p, dt_tensor *const *input, int64_t rows) {
    if (p->turn.cluster) return take_turn(p, input, rows);
    dt_status *bad = start(p, input, rows), *before = pass_on_all(p, p->ahead && !bad);
    dt_status_free(before ? bad : NULL);
    return before ? before : bad;
}

/* Finishes all batches that have started, after the last one was read. */
static dt_status *end(prediction *p) {
    DT_TRY(pass_on_all(p, 0));
    return p->turn.n > 0 ? end_turn(p) : NULL;
}

/* After an error, waits for the steps that have started and drops their results. */
static void drop_flights(prediction *p) {
    for (; p->finished < p->started; p->finished++) {
        flight *f = &p->flights[p->finished % 2];
        if (f->executable) dt_status_free(dt_executable_finish(f->executable));
    }
}

/* ---- a part of a data set ---- */

static dt_status *predict_batches(prediction *p, dt_iterator *batches) {
    dt_example batch;

    for (;;) {
        dt_status *bad = dt_iterator_next_batch(batches, &batch);
        if (bad) {
            dt_status *before = pass_on_all(p, 0);
            dt_status_free(before ? bad : NULL);
            return before ? before : bad;
        }
        const int64_t rows = p->left < batch.rows ? p->left : batch.rows;
        if (rows == 0) return end(p);
        DT_TRY(predict_batch(p, batch.tensor, rows));
        if (p->turn.n == 0) dt_rows_forget(p->from->data);
        p->left -= rows;
    }
}

static dt_status *predict_part(prediction *p) {
    dt_dataset *data = p->from->data;
    dt_element_spec input[DT_MAX_INPUTS];
    dt_iterator *batches = NULL;
    dt_lender lender;
    dt_match match;

    DT_TRY(dt_match_data(data, &p->model->spec, NULL, &match));
    p->n = dt_dataset_elements(data, &p->element);
    for (int i = 0; i < match.n_inputs; i++) input[i] = p->element[match.input[i]];
    DT_TRY(compile(p, input));
    dt_batch_options o = {.part = p->from->part,
                          .batch = p->from->batch,
                          .last = DT_LAST_PARTIAL,
                          .looks = true,
                          .own = p->turn.cluster ? dt_cluster_own_batch : NULL,
                          .own_user = p->turn.cluster};
    if (!dt_dataset_is_once(data))
        DT_TRY(dt_lender_make(&lender, data, p->step, dt_dataset_count(data, o.part), o.batch,
                              &o.lend));
    o.keeps = p->ahead = !dt_dataset_is_once(data) && dt_compiled_runs_ahead(p->step);
    DT_TRY(dt_iterator_open_batches(&batches, data, &o));
    dt_status *s = predict_batches(p, batches);
    drop_flights(p);
    dt_iterator_close(batches);
    return s;
}

/* ---- predicting ---- */

dt_status *dt_predict(dt_model *m, const dt_predict_rows *from) {
    /* The prediction is on the heap, since it is too large for a small stack. */
    DT_LOCAL prediction *p = dt_alloc(sizeof *p);
    *p = (prediction){.model = m, .from = from, .left = from->most ? from->most : INT64_MAX};
    dt_status *s = predict_part(p);

    dt_compiled_destroy(p->step);
    turn_close(&p->turn);
    free(p->offsets);
    free(p->file);
    free(p->kept);
    free(p->fault);
    return s;
}
