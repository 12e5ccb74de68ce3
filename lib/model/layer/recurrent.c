/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers, unrolled: see recurrent.h. */
#include "model/layer/recurrent.h"

#include <string.h>

/* The number of steps is limited, since unrolling emits every step: a longer sequence would take
 * minutes to compile. */
enum { MOST_STEPS = 4096 };

static dt_status *add_weight(dt_layer_build *b, const dt_cell *cell, const char *name,
                             dt_weight_request w) {
    w.name = dt_arena_printf(b->arena, "%s/%s", cell->name, name);
    w.dtype = b->in.dtype;
    return dt_layer_weight(b, &w);
}

static dt_status *add_bias(dt_layer_build *b, const dt_cell *cell) {
    const dt_recurrent *r = b->args;
    bool two = cell->two_biases && cell->two_biases(r);
    int64_t columns = cell->gates * r->units;
    return add_weight(b, cell, "bias",
                      (dt_weight_request){.rank = two ? 2 : 1,
                                          .dim = {two ? 2 : columns, two ? columns : 0},
                                          .initializer = r->bias_initializer,
                                          .preset = "zeros"});
}

dt_status *dt_recurrent_check_states(const dt_layer_build *b, int first, int n,
                                     const dt_type *state) {
    if (b->n_in > first && b->n_in != first + n)
        return dt_fail(DT_E_MODEL_INPUTS, &b->at,
                       "%s takes a sequence, or a sequence and %d state%s, got %d inputs",
                       b->row->kind.name, n, n > 1 ? "s" : "", b->n_in);
    for (int i = first; i < b->n_in; i++)
        if (!dt_type_equal(&b->ins[i], state))
            return dt_fail(DT_E_MODEL_SHAPE, &b->at, "the state '%s' of %s is %s; expected %s",
                           b->from[i], b->row->kind.name, dt_text_of(&b->ins[i]).s,
                           dt_text_of(state).s);
    return NULL;
}

static void add_states(dt_layer_build *b, const dt_cell *cell, const dt_type *state) {
    static const char *const names[DT_MOST_STATES] = {"state_h", "state_c"};
    for (int i = 0; i < cell->states; i++) dt_layer_further(b, names[i], state);
}

/* Returns the request for a kernel of shape (inputs, columns) or, for convolutions, (window ...,
 * inputs, columns). */
static dt_weight_request kernel_of(const dt_space *s, int64_t inputs, int64_t columns) {
    dt_weight_request w = {.rank = s->n + 2};
    for (int i = 0; i < s->n; i++) w.dim[i] = s->size[i];
    w.dim[s->n] = inputs;
    w.dim[s->n + 1] = columns;
    return w;
}

static dt_status *add_weights(dt_layer_build *b, const dt_cell *cell, const dt_space *space) {
    const dt_recurrent *r = b->args;
    const int64_t columns = cell->gates * r->units;
    dt_weight_request kernel = kernel_of(space, b->in.dim[b->in.rank - 1], columns),
                      recurrent = kernel_of(space, r->units, columns);
    kernel.initializer = r->kernel_initializer;
    kernel.preset = "glorot_uniform";
    recurrent.initializer = r->recurrent_initializer;
    recurrent.preset = "orthogonal";
    DT_TRY(add_weight(b, cell, "kernel", kernel));
    DT_TRY(add_weight(b, cell, "recurrent_kernel", recurrent));
    if (r->use_bias) DT_TRY(add_bias(b, cell));
    return r->dropout > 0 || r->recurrent_dropout > 0 ? dt_noise_weight(b, cell->name) : NULL;
}

static dt_status *check_size(const dt_layer_build *b) {
    const dt_recurrent *r = b->args;
    if (b->in.dim[1] > MOST_STEPS)
        return dt_fail(DT_E_MODEL_SIZE, &b->at,
                       "%s is unrolled, for at most %d steps; the input has %lld",
                       b->row->kind.name, MOST_STEPS, (long long)b->in.dim[1]);
    if (r->units <= INT32_MAX) return NULL;
    return dt_fail(DT_E_MODEL_SIZE, &b->at, "%lld units are too many", (long long)r->units);
}

/* Returns the type (B, ...) of one step of a sequence (B, T, ...). */
static dt_type type_of_step(const dt_type *x) {
    dt_type step = *x;
    step.rank--;
    for (int i = 1; i < DT_MAX_RANK; i++) step.dim[i] = i < step.rank ? x->dim[i + 1] : 0;
    return step;
}

static dt_type type_of_steps(const dt_type *step, int64_t n) {
    dt_type x = *step;
    x.rank++;
    for (int i = 1; i < step->rank; i++) x.dim[i + 1] = step->dim[i];
    x.dim[1] = n;
    return x;
}

/* Checks the input, and finds the type of the state and, for a ConvLSTM, the window. */
static dt_status *find_state(const dt_layer_build *b, const dt_cell *cell, dt_space *space,
                             dt_type *state) {
    static const char *const shapes[] = {"(B, steps, features)", "(B, steps, width, channels)",
                                         "(B, steps, height, width, channels)",
                                         "(B, steps, depth, height, width, channels)"};
    const dt_recurrent *r = b->args;
    dt_layer_build *one = dt_arena_copy(b->arena, b, sizeof *b);
    DT_TRY(dt_layer_wants_exactly(b, b->row->kind.name, 3 + b->row->sides, shapes[b->row->sides]));
    DT_TRY(check_size(b));
    one->in = one->out = type_of_step(&b->in);
    if (cell->space) DT_TRY(cell->space(b, r, b->row->sides, space));
    if (cell->space) DT_TRY(dt_space_places(one, b->row->kind.name, space));
    *state = one->out;
    state->dim[state->rank - 1] = r->units;
    return NULL;
}

dt_status *dt_recurrent_build(dt_layer_build *b, const dt_cell *cell) {
    const dt_recurrent *r = b->args;
    dt_space space = {0};
    dt_type state;
    DT_TRY(find_state(b, cell, &space, &state));
    DT_TRY(dt_recurrent_check_states(b, 1, cell->states, &state));
    DT_TRY(add_weights(b, cell, &space));
    if (r->return_state) add_states(b, cell, &state);
    b->out = r->return_sequences ? type_of_steps(&state, b->in.dim[1]) : state;
    b->out_mask = b->masks[0] && r->return_sequences;
    return NULL;
}

dt_value dt_gate(dt_value x, int i, int64_t units) {
    return dt_slice_axis(x, dt_type_of_value(x).rank - 1, i * units, units, 1);
}

/* Emits x times a kernel: a convolution with the window `space`, or, if that is NULL, a product of
 * matrices. */
static dt_value multiply(dt_value x, dt_value kernel, const dt_space *space) {
    return space ? dt_convolve(x, kernel, space, 1) : dt_matmul(x, kernel);
}

/* Selects gates [first, first + n) of the last dimension. */
static dt_value gates(dt_value x, int first, int n, int64_t units) {
    return dt_slice_axis(x, dt_type_of_value(x).rank - 1, first * units, n * units, 1);
}

/* Emits the state times the columns of gates [first, first + n) of the kernel, with the dropout
 * masks of these gates. */
static dt_value multiply_state(const dt_cell_step *s, dt_value state, int first, int n) {
    const int64_t units = s->args->units;
    dt_value y[DT_MOST_GATES];
    if (!s->kept[0].trace) return multiply(state, gates(s->recurrent, first, n, units), s->space);
    for (int i = 0; i < n; i++)
        y[i] = multiply(dt_multiply(state, s->kept[first + i]),
                        dt_gate(s->recurrent, first + i, units), s->space);
    return n > 1 ? dt_concatenate(y, n, dt_type_of_value(state).rank - 1) : y[0];
}

dt_value dt_gates_of_state(const dt_cell_step *s, dt_value state, int first, int n) {
    const int64_t units = s->args->units;
    dt_value y = multiply_state(s, state, first, n);
    return s->bias.trace ? dt_add(y, gates(s->bias, first, n, units)) : y;
}

/* Returns row i of a bias (2, columns), or the whole of a vector. */
static dt_value bias_row(dt_value bias, int i) {
    dt_type t = dt_type_of_value(bias);
    return t.rank == 1 ? bias : dt_reshape(dt_slice_axis(bias, 0, i, 1, 1), 1, &t.dim[1]);
}

/* Splits by halves, so that gradients are joined in log2(n) rounds. Padding the gradient of each
 * step to the full length would need memory for n * n steps. */
void dt_split_steps(dt_value x, int64_t n, dt_value *out) {
    dt_type t = dt_type_of_value(x);
    int64_t half = n / 2;
    if (n <= 1) {
        const dt_type step = type_of_step(&t);
        *out = dt_reshape(x, step.rank, step.dim);
        return;
    }
    dt_split_steps(dt_slice_axis(x, 1, 0, half, 1), half, out);
    dt_split_steps(dt_slice_axis(x, 1, half, n - half, 1), n - half, out + half);
}

/* Joins the outputs (B, ...) of T steps: (B, T, ...). */
static dt_value join_steps(dt_value *y, int64_t n) {
    for (int64_t t = 0; t < n; t++) {
        const dt_type step = dt_type_of_value(y[t]), one = type_of_steps(&step, 1);
        y[t] = dt_reshape(y[t], one.rank, one.dim);
    }
    return dt_concatenate(y, (int)n, 1);
}

/* Emits bools (B, units): whether step t of an example is not masked; no value: no step is
 * masked. */
static dt_value counts_at(dt_value mask, int64_t t, int64_t units) {
    dt_type type = dt_type_of(DT_BOOL, 2, (int64_t[]){mask.trace ? dt_dim(mask, 0) : 0, units});
    return mask.trace ? dt_broadcast_to(dt_slice_axis(mask, 1, t, 1, 1), &type) : mask;
}

/* Emits one step and returns its output. States of examples whose step is masked do not change. */
static dt_value take_step(const dt_cell *cell, dt_cell_step *s, dt_value counts) {
    dt_value before[DT_MOST_STATES];
    memcpy(before, s->state, sizeof before);
    cell->step(s);
    dt_value y = s->state[0];
    for (int i = 0; counts.trace && i < cell->states; i++)
        s->state[i] = dt_select(counts, s->state[i], before[i]);
    if (!counts.trace) return y;
    return s->args->zero_output_for_mask ? dt_select(counts, y, dt_like(y, 0)) : s->state[0];
}

/* Emits x (B, T, ...) times the kernel. Convolutions treat x as B * T images. */
static dt_value multiply_steps(dt_value x, dt_value kernel, const dt_space *space) {
    const dt_type all = dt_type_of_value(x);
    dt_type images = type_of_step(&all);
    if (!space) return dt_matmul(x, kernel);
    images.dim[0] = all.dim[0] * all.dim[1];
    dt_type y =
        dt_type_of_value(x = multiply(dt_reshape(x, images.rank, images.dim), kernel, space));
    y.dim[0] = all.dim[0];
    y = type_of_steps(&y, all.dim[1]);
    return dt_reshape(x, y.rank, y.dim);
}

/* Emits the input times the kernel, (B, T, ..., gates * units). Dropout masks are the same at every
 * step. They are also the same for all gates, unless the state has dropout, too, or the input holds
 * images. */
static dt_value multiply_input(const dt_layer_call *c, const dt_cell *cell, const dt_noise *noise,
                               const dt_space *space) {
    const dt_recurrent *r = c->args;
    const dt_value kernel = c->weight[0];
    dt_type mask = dt_type_of_value(c->x);
    dt_value y[DT_MOST_GATES];
    mask.dim[1] = 1;
    if (!c->training || r->dropout == 0) return multiply_steps(c->x, kernel, space);
    if (r->recurrent_dropout == 0 && !space)
        return dt_matmul(dt_noise_drop(c, noise, c->x, r->dropout, &mask), kernel);
    for (int i = 0; i < cell->gates; i++)
        y[i] = multiply_steps(dt_noise_drop(c, noise, c->x, r->dropout, &mask),
                              dt_gate(kernel, i, r->units), space);
    return cell->gates > 1 ? dt_concatenate(y, cell->gates, mask.rank - 1) : y[0];
}

/* Returns the window over the input, computed from arguments that `build` has checked; NULL:
 * kernels are matrices. */
static const dt_space *space_again(const dt_layer_call *c, const dt_cell *cell) {
    const dt_layer_build none = {0};
    dt_space *s = dt_arena_new(dt_trace_arena(c->trace), dt_space);
    if (cell->space)
        dt_status_free(cell->space(&none, c->args, dt_type_of_value(c->x).rank - 3, s));
    return cell->space ? s : NULL;
}

/* Returns the window over the state, which keeps the state's size; NULL: kernels are matrices. */
static const dt_space *space_of_state(const dt_layer_call *c, const dt_space *of_input) {
    if (!of_input) return NULL;
    dt_space *s = dt_arena_copy(dt_trace_arena(c->trace), of_input, sizeof *of_input);
    for (int i = 0; i < s->n; i++) s->stride[i] = s->dilation[i] = 1;
    s->padding = DT_PADDING_SAME;
    return s;
}

/* Sets the states before the first step: inputs of the layer, or zeros. */
static void begin_states(const dt_layer_call *c, const dt_cell *cell, dt_dtype dtype,
                         dt_cell_step *s) {
    dt_type zero = s->args->return_sequences ? type_of_step(c->out) : *c->out;
    zero.dtype = dtype;
    for (int i = 0; i < cell->states; i++)
        s->state[i] = c->n_in > 1 ? c->xs[1 + i] : dt_splat(c->trace, &zero, 0);
}

dt_value dt_recurrent_call(const dt_layer_call *c, const dt_cell *cell) {
    const dt_recurrent *r = c->args;
    int64_t steps = dt_dim(c->x, 1);
    bool two = r->use_bias && cell->two_biases && cell->two_biases(r);
    const dt_space *space = space_again(c, cell);
    dt_cell_step s = {.args = r, .recurrent = c->weight[1], .space = space_of_state(c, space)};
    dt_value *y = dt_arena_array(dt_trace_arena(c->trace), dt_value, steps),
             *in = dt_arena_array(dt_trace_arena(c->trace), dt_value, steps);
    dt_noise noise = r->noise;
    noise.counter = 2 + r->use_bias;
    dt_value x = multiply_input(c, cell, &noise, space);
    if (r->use_bias) x = dt_add(x, bias_row(c->weight[2], 0));
    if (two) s.bias = bias_row(c->weight[2], 1);
    begin_states(c, cell, dt_type_of_value(x).dtype, &s);
    const dt_type mask = dt_type_of_value(s.state[0]);
    for (int i = 0; c->training && r->recurrent_dropout > 0 && i < cell->gates; i++)
        s.kept[i] = dt_noise_drop(c, &noise, dt_like(s.state[0], 1), r->recurrent_dropout, &mask);
    dt_split_steps(x, steps, in);
    const dt_value mask_of_steps = c->n_in > 1 ? (dt_value){0} : c->masks[0];
    for (int64_t t = 0; t < steps; t++) {
        int64_t at = r->go_backwards ? steps - 1 - t : t;
        s.x = in[at];
        y[t] = take_step(cell, &s, counts_at(mask_of_steps, at, r->units));
    }
    for (int i = 0; r->return_state && i < cell->states; i++) c->further[i] = s.state[i];
    return r->return_sequences ? join_steps(y, steps) : y[steps - 1];
}

/* In LSTM, ConvLSTM and GRU, gates scale and mix values of the activation. If the range of gates is
 * 0 to 1, the output has the activation's range, extended to 0; otherwise its range is unknown.
 * SimpleRNN has no gates, so its output is the activation's. */
dt_range dt_recurrent_range(const dt_layer *row, const dt_recurrent *r) {
    const dt_type any = dt_type_of(DT_FLOAT32, 1, (const int64_t[]){DT_BATCH});
    const dt_range range = dt_activation_yields(r->activation, &any).range;
    if (row == &dt_layer_simple_rnn) return range == DT_RANGE_SHARES ? DT_RANGE_UNIT : range;
    if (dt_activation_yields(r->recurrent_activation, &any).range != DT_RANGE_UNIT)
        return DT_RANGE_UNKNOWN;
    if (range == DT_RANGE_SHARES) return DT_RANGE_UNIT;
    return range == DT_RANGE_POSITIVE ? DT_RANGE_NONNEGATIVE : range;
}

dt_yield dt_recurrent_yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_recurrent *r = l->args;
    const dt_type any = dt_type_of(DT_FLOAT32, 1, l->out.dim);
    (void)above;
    return (dt_yield){.range = dt_recurrent_range(l->row, r),
                      .by = dt_activation_yields(r->activation, &any).by};
}
