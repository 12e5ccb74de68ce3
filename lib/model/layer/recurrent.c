/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers, unrolled: see recurrent.h. */
#include "model/layer/recurrent.h"

#include <string.h>

/* ---- weights ---- */

/* Unrolling emits each step, so their number is limited: a longer sequence would compile for
 * minutes. */
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

static dt_status *add_weights(dt_layer_build *b, const dt_cell *cell) {
    const dt_recurrent *r = b->args;
    int64_t columns = cell->gates * r->units;
    DT_TRY(add_weight(b, cell, "kernel",
                      (dt_weight_request){.rank = 2,
                                          .dim = {b->in.dim[2], columns},
                                          .initializer = r->kernel_initializer,
                                          .preset = "glorot_uniform"}));
    DT_TRY(add_weight(b, cell, "recurrent_kernel",
                      (dt_weight_request){.rank = 2,
                                          .dim = {r->units, columns},
                                          .initializer = r->recurrent_initializer,
                                          .preset = "orthogonal"}));
    if (r->use_bias) DT_TRY(add_bias(b, cell));
    return r->dropout > 0 || r->recurrent_dropout > 0 ? dt_noise_weight(b, cell->name) : NULL;
}

dt_status *dt_recurrent_build(dt_layer_build *b, const dt_cell *cell) {
    const dt_recurrent *r = b->args;
    DT_TRY(dt_layer_wants_exactly(b, cell->kind, 3, "(B, steps, features)"));
    if (b->in.dim[1] > MOST_STEPS)
        return dt_fail(DT_E_MODEL_SIZE, &b->at,
                       "%s is unrolled, for at most %d steps; the input has %lld", cell->kind,
                       MOST_STEPS, (long long)b->in.dim[1]);
    if (r->units > INT32_MAX)
        return dt_fail(DT_E_MODEL_SIZE, &b->at, "%lld units are too many", (long long)r->units);
    const dt_type state = dt_type_of(b->in.dtype, 2, (int64_t[]){b->in.dim[0], r->units});
    DT_TRY(dt_recurrent_check_states(b, 1, cell->states, &state));
    DT_TRY(add_weights(b, cell));
    if (r->return_state) add_states(b, cell, &state);
    b->out = dt_type_of(
        b->in.dtype, r->return_sequences ? 3 : 2,
        (int64_t[]){b->in.dim[0], r->return_sequences ? b->in.dim[1] : r->units, r->units});
    b->out_mask = b->masks[0] && r->return_sequences;
    return NULL;
}

/* ---- graph ---- */

dt_value dt_gate(dt_value x, int i, int64_t units) {
    return dt_slice_axis(x, dt_type_of_value(x).rank - 1, i * units, units, 1);
}

/* The state times the columns of gates [first, first + n) of the kernel, with the dropout masks
 * of these gates. */
static dt_value multiply_state(const dt_cell_step *s, dt_value state, int first, int n) {
    const int64_t units = s->args->units;
    dt_value y[DT_MOST_GATES];
    if (!s->kept[0].trace)
        return dt_matmul(state, dt_slice_axis(s->recurrent, 1, first * units, n * units, 1));
    for (int i = 0; i < n; i++)
        y[i] = dt_matmul(dt_multiply(state, s->kept[first + i]),
                         dt_gate(s->recurrent, first + i, units));
    return n > 1 ? dt_concatenate(y, n, 1) : y[0];
}

dt_value dt_gates_of_state(const dt_cell_step *s, dt_value state, int first, int n) {
    int64_t units = s->args->units;
    dt_value y = multiply_state(s, state, first, n);
    return s->bias.trace ? dt_add(y, dt_slice_axis(s->bias, 0, first * units, n * units, 1)) : y;
}

/* Row i of a bias (2, columns), or the whole of a vector. */
static dt_value bias_row(dt_value bias, int i) {
    dt_type t = dt_type_of_value(bias);
    return t.rank == 1 ? bias : dt_reshape(dt_slice_axis(bias, 0, i, 1, 1), 1, &t.dim[1]);
}

static dt_value zero_state(dt_value x, int64_t units) {
    dt_type t = dt_type_of_value(x);
    dt_type state = dt_type_of(t.dtype, 2, (int64_t[]){t.dim[0], units});
    return dt_splat(x.trace, &state, 0);
}

/* Split by halves, so that gradients are joined in log2(n) rounds: padding the gradient of each
 * step to the full length would take memory for n * n steps. */
void dt_split_steps(dt_value x, int64_t n, dt_value *out) {
    dt_type t = dt_type_of_value(x);
    int64_t half = n / 2;
    if (n <= 1) {
        *out = dt_reshape(x, 2, (int64_t[]){t.dim[0], t.dim[2]});
        return;
    }
    dt_split_steps(dt_slice_axis(x, 1, 0, half, 1), half, out);
    dt_split_steps(dt_slice_axis(x, 1, half, n - half, 1), n - half, out + half);
}

/* (B, T, units) of the outputs (B, units) of T steps. */
static dt_value join_steps(dt_value *y, int64_t n) {
    for (int64_t t = 0; t < n; t++) {
        dt_type type = dt_type_of_value(y[t]);
        y[t] = dt_reshape(y[t], 3, (int64_t[]){type.dim[0], 1, type.dim[1]});
    }
    return dt_concatenate(y, (int)n, 1);
}

/* Bools (B, units): the examples in which step t is not masked; no value: all. */
static dt_value counts_at(dt_value mask, int64_t t, int64_t units) {
    dt_type type = dt_type_of(DT_BOOL, 2, (int64_t[]){mask.trace ? dt_dim(mask, 0) : 0, units});
    return mask.trace ? dt_broadcast_to(dt_slice_axis(mask, 1, t, 1, 1), &type) : mask;
}

/* Emits one step and returns its output. States of examples whose mask is not set stay. */
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

/* The input times the kernel, (B, T, gates * units). Dropout masks are the same at every step,
 * and for all gates unless the state has masks, too. */
static dt_value multiply_input(const dt_layer_call *c, const dt_cell *cell, const dt_noise *noise) {
    const dt_recurrent *r = c->args;
    const dt_type in = dt_type_of_value(c->x),
                  mask = dt_type_of(in.dtype, 3, (int64_t[]){in.dim[0], 1, in.dim[2]});
    dt_value y[DT_MOST_GATES];
    if (!c->training || r->dropout == 0) return dt_matmul(c->x, c->weight[0]);
    if (r->recurrent_dropout == 0)
        return dt_matmul(dt_noise_drop(c, noise, c->x, r->dropout, &mask), c->weight[0]);
    for (int i = 0; i < cell->gates; i++)
        y[i] = dt_matmul(dt_noise_drop(c, noise, c->x, r->dropout, &mask),
                         dt_gate(c->weight[0], i, r->units));
    return cell->gates > 1 ? dt_concatenate(y, cell->gates, 2) : y[0];
}

dt_value dt_recurrent_call(const dt_layer_call *c, const dt_cell *cell) {
    const dt_recurrent *r = c->args;
    int64_t steps = dt_dim(c->x, 1);
    bool two = r->use_bias && cell->two_biases && cell->two_biases(r);
    dt_cell_step s = {.args = r, .recurrent = c->weight[1]};
    dt_value *y = dt_arena_array(dt_trace_arena(c->trace), dt_value, steps),
             *in = dt_arena_array(dt_trace_arena(c->trace), dt_value, steps);
    dt_noise noise = r->noise;
    noise.counter = 2 + r->use_bias;
    dt_value x = multiply_input(c, cell, &noise);
    if (r->use_bias) x = dt_add(x, bias_row(c->weight[2], 0));
    if (two) s.bias = bias_row(c->weight[2], 1);
    for (int i = 0; i < cell->states; i++)
        s.state[i] = c->n_in > 1 ? c->xs[1 + i] : zero_state(x, r->units);
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

/* In LSTM and GRU, gates in [0, 1] multiply and mix the activation's output; SimpleRNN has no
 * gates, so its output is the activation's. */
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
