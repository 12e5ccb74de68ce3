/* SPDX-License-Identifier: Apache-2.0 */
/* Emits a model's forward pass and the gradients of a loss as graph nodes. Nothing is computed
 * here. */
#include "model/model.h"

/* Emits a matrix (steps, steps) that is 1 above the diagonal, where row < column, and 0
 * elsewhere. */
static dt_value earlier(dt_trace *t, int64_t steps, dt_dtype dtype) {
    const dt_type square = dt_type_of(DT_INT32, 2, (int64_t[]){steps, steps});
    return dt_convert(dt_compare(dt_iota(t, &square, 0), dt_iota(t, &square, 1), DT_LT), dtype);
}

/* Emits the index of each token's document, (B, L) as float32: the number of document ends before
 * the token. It is computed as a matrix product of zeros and ones, which is exact. Tokens are those
 * of the first input that is (B, L) of int32. Returns no value if there is no such input, or
 * documents have no effect. */
static dt_value number_documents(const dt_model *m, const dt_value *input) {
    const dt_documents *d = &m->spec.documents;
    const dt_dot_attr sum = {.n_contract = 1, .lhs_contract = {1}};
    if (!d->masked && !d->restarts) return (dt_value){0};
    for (int i = 0; i < m->spec.n_inputs; i++) {
        const dt_type t = dt_type_of_value(input[i]);
        if (t.rank != 2 || m->spec.input[i].type.dtype != DT_INT32) continue;
        dt_value ends = dt_compare(input[i], dt_like(input[i], d->end), DT_EQ);
        return dt_dot_general(dt_convert(ends, DT_FLOAT32),
                              earlier(input[i].trace, t.dim[1], DT_FLOAT32), &sum);
    }
    return (dt_value){0};
}

/* Repeats x, (B, L), to (B, L, L). L of x becomes dimension `along`, which is 1 or 2. */
static dt_value squared(dt_value x, int8_t along) {
    const dt_type t = dt_type_of_value(x),
                  all = dt_type_of(t.dtype, 3, (int64_t[]){t.dim[0], t.dim[1], t.dim[1]});
    return dt_broadcast_in_dim(x, &all, (int8_t[]){0, along});
}

dt_value dt_layer_same_document(const dt_layer_call *c, int64_t queries, int64_t keys) {
    const int64_t steps = dt_type_of_value(c->document).dim[1];
    if (queries != steps || keys != steps)
        dt_trace_fail(c->trace,
                      dt_fail(DT_E_MODEL_SHAPE, NULL,
                              "'%s' attends from %lld steps to %lld; with reset_attention_mask "
                              "both must be the %lld tokens of an example",
                              c->name, (long long)queries, (long long)keys, (long long)steps));
    return dt_compare(squared(c->document, 1), squared(c->document, 2), DT_EQ);
}

dt_value dt_layer_document_position(const dt_layer_call *c) {
    const dt_type t = dt_type_of_value(c->document);
    dt_type number = t;
    number.dtype = DT_INT32;
    /* [b][i][j]: whether the document of token j is before that of token i */
    dt_value before = dt_compare(squared(c->document, 2), squared(c->document, 1), DT_LT);
    before = dt_reduce(dt_convert(before, DT_INT32), DT_REDUCE_SUM, 1u << 2);
    return dt_subtract(dt_iota(c->trace, &number, 1), before);
}

static bool fits_input(const dt_type *given, const dt_type *wanted) {
    bool fits = given->rank == wanted->rank;
    for (int i = 1; fits && i < wanted->rank; i++) fits = given->dim[i] == wanted->dim[i];
    return fits;
}

static dt_status *bad_input(const dt_input_spec *input, const dt_type *given) {
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "input '%s' is %s, but the model expects %s",
                   input->name, dt_text_of_shape(given).s, dt_text_of_shape(&input->type).s);
}

static dt_status *check_inputs(const dt_model *m, const dt_value *input, int n) {
    dt_status *faults = NULL;
    if (n != m->spec.n_inputs)
        return dt_fail(DT_E_MODEL_SHAPE, NULL, "the model expects %d inputs, got %d",
                       m->spec.n_inputs, n);
    for (int i = 0; i < n; i++) {
        dt_type given = dt_type_of_value(input[i]);
        if (!fits_input(&given, &m->spec.input[i].type))
            dt_status_append(&faults, bad_input(&m->spec.input[i], &given));
    }
    return faults;
}

dt_value dt_layer_value(const dt_layer_call *c, const char *name, dt_value y) {
    return c->model->annotate ? c->model->annotate(c->model->annotate_user, name, y) : y;
}

void dt_layer_add_loss(const dt_layer_call *c, dt_value rows) {
    *c->loss = c->loss->trace ? dt_add(*c->loss, rows) : rows;
}

static dt_given_value emit_layer(const dt_model *m, int i, const dt_layer_call *c) {
    const dt_layer_spec *layer = &m->spec.layer[i];
    const int first = m->spec.layer[layer->owner].first_weight;
    const int n_weights = m->spec.layer[layer->owner].n_weights;
    dt_layer_call call = *c;
    dt_value weight[DT_MAX_WEIGHTS + DT_MAX_BORROWED];
    const char *before = dt_trace_path(c->trace, layer->name);
    for (int k = 0; k < n_weights; k++) weight[k] = dt_read(c->trace, m->weight[first + k]);
    for (int k = 0; k < layer->n_borrowed; k++)
        weight[n_weights + k] = dt_read(c->trace, m->weight[layer->borrowed[k]]);
    call.x = c->xs[0];
    call.args = layer->args;
    call.made = layer->made;
    call.name = layer->name;
    call.variable = &m->weight[first];
    call.seed = m->seed;
    call.weight = weight;
    call.out = &layer->out;
    dt_given_value given = {0};
    call.loss = &given.loss;
    call.further = given.further;
    given.y = dt_layer_value(&call, layer->name,
                             dt_layer_apply(layer->row, &call, n_weights + layer->n_borrowed));
    if (layer->out_mask) given.mask = dt_layer_mask(layer->row, &call);
    dt_trace_path(c->trace, before);
    return given;
}

/* Sets x and the masks to the inputs of a layer: outputs of earlier layers, whose results are in
 * `done`, or for an Input the next value of *input, which has no mask. Returns the number of
 * inputs. */
static int take_inputs(const dt_layer_spec *layer, const dt_given_value *done,
                       const dt_value **input, dt_value *x, dt_value *masks) {
    if (layer->n_in == 0) {
        *x = *(*input)++;
        return 1;
    }
    for (int k = 0; k < layer->n_in; k++) {
        const dt_given_value *from = &done[layer->from[k]];
        x[k] = layer->taken ? from->further[layer->taken - 1] : from->y;
        masks[k] = from->mask;
    }
    return layer->n_in;
}

static void enter_layer(const dt_model *m, const dt_layer_spec *layer, dt_value *x, int n) {
    for (int k = 0; m->enter && k < n; k++) x[k] = m->enter(m->annotate_user, layer->name, x[k]);
}

const dt_given_value *dt_model_emit_layers(const dt_model *m, const dt_value *input, int n,
                                           bool training) {
    dt_trace *trace = input[0].trace;
    dt_arena *arena = dt_trace_arena(trace);
    dt_status *bad = check_inputs(m, input, n);
    if (bad) {
        dt_trace_fail(trace, bad);
        return NULL;
    }
    dt_given_value *done = dt_arena_array(arena, dt_given_value, m->spec.n_layers);
    const dt_value document = number_documents(m, input);
    for (int i = 0; i < m->spec.n_layers; i++) {
        const dt_layer_spec *layer = &m->spec.layer[i];
        dt_value *x = dt_arena_array(arena, dt_value, layer->n_in + 1),
                 *masks = dt_arena_array(arena, dt_value, layer->n_in + 1);
        int n_in = take_inputs(layer, done, &input, x, masks);
        enter_layer(m, layer, x, n_in);
        done[i] = emit_layer(m, i,
                             &(dt_layer_call){.trace = trace,
                                              .xs = x,
                                              .masks = masks,
                                              .n_in = n_in,
                                              .training = training,
                                              .compute = dt_policy_dtype(m->precision),
                                              .document = document,
                                              .model = m});
    }
    return done;
}

void dt_model_emit_outputs(const dt_model *m, const dt_value *input, int n, bool training,
                           dt_value *output) {
    const dt_given_value *done = dt_model_emit_layers(m, input, n, training);
    for (int i = 0; i < m->spec.n_outputs; i++)
        output[i] = done ? done[m->spec.output[i].layer].y : (dt_value){0};
}

const char *dt_output_result(dt_arena *arena, const dt_model_spec *m, int i) {
    return m->n_outputs == 1 ? "prediction"
                             : dt_arena_printf(arena, "prediction/%s", m->output[i].name);
}

dt_value dt_model_emit_inputs(const dt_model *m, const dt_value *input, int n, bool training) {
    dt_value output[DT_MAX_OUTPUTS];
    if (m->spec.n_outputs > 1) {
        dt_trace_fail(input[0].trace,
                      dt_fail(DT_E_MODEL_SHAPE, NULL, "the model has %d outputs; expected one",
                              m->spec.n_outputs));
        return (dt_value){0};
    }
    dt_model_emit_outputs(m, input, n, training, output);
    return output[0];
}

const dt_variables *dt_model_trainable(const dt_model *m) {
    return DT_LIVE(m) ? &m->trainable : NULL;
}

void dt_gradient_values(dt_value loss, const dt_value *of, int n, dt_value *out) {
    if (n > 0 && of && out) dt_gradients_of(loss, of, n, out);
    else if (loss.trace && n != 0)
        dt_trace_fail(loss.trace,
                      dt_fail(DT_E_NO_GRADIENT, NULL,
                              "cannot compute gradients with respect to %d values: %s", n,
                              of ? out ? "the number must not be negative"
                                       : "no array for the gradients was passed"
                                 : "no values were passed"));
}

/* Sets g[i] to the gradient with respect to the present value of variable i. If the loss does not
 * depend on that value, because it was computed before the variable was updated, g[i] is the
 * gradient with respect to the value at the start of the step. */
static void gradients_of_variables(dt_value loss, const dt_variables *v, dt_value *g) {
    dt_arena *arena = dt_trace_arena(loss.trace);
    dt_value *x = dt_arena_array(arena, dt_value, 2 * (size_t)v->n),
             *both = dt_arena_array(arena, dt_value, 2 * (size_t)v->n);
    for (int i = 0; i < v->n; i++) {
        x[2 * i] = dt_read(loss.trace, v->v[i]);
        x[2 * i + 1] = dt_read_first(loss.trace, v->v[i]);
    }
    dt_gradients_of(loss, x, 2 * v->n, both);
    for (int i = 0; i < v->n; i++) g[i] = both[2 * i].trace ? both[2 * i] : both[2 * i + 1];
}

dt_gradients dt_gradient(dt_value loss, const dt_variables *variables) {
    static const dt_gradients nothing = {0};
    if (!dt_trace_has(loss, "dt_gradient")) return nothing;
    if (!variables) {
        dt_trace_fail(loss.trace,
                      dt_fail(DT_E_NO_GRADIENT, NULL, "no variables to compute a gradient for"));
        return nothing;
    }
    dt_value *g = dt_arena_array(dt_trace_arena(loss.trace), dt_value, variables->n);
    gradients_of_variables(loss, variables, g);
    return (dt_gradients){variables, g, loss.trace};
}

int dt_variables_count(const dt_variables *v) { return v ? v->n : 0; }

const char *dt_variables_path(const dt_variables *v, int i) {
    return v && i >= 0 && i < v->n ? v->v[i]->path : NULL;
}
