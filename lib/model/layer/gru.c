/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GRU: gates in Keras' order: update z, reset r, candidate.
 *
 *     h' = z h + (1 - z) activation(candidate)
 *
 * With reset_after, the reset gate multiplies the product of state and kernel, which has a separate
 * bias. Otherwise it multiplies the state before the product, as in K. Cho et al., Learning Phrase
 * Representations (2014).
 */
#include "model/layer/recurrent.h"

static const dt_field fields[] = {DT_RECURRENT_UNITS, DT_RECURRENT_FIELDS, DT_RECURRENT_GATE_FIELD,
                                  DT_FLAG(dt_recurrent, reset_after, .preset = "true",
                                          .help = "apply the reset gate after the matrix product"),
                                  DT_END};

static bool two_biases(const dt_recurrent *r) { return r->reset_after; }

static void step(dt_cell_step *s) {
    const dt_recurrent *a = s->args;
    dt_value h = s->state[0], inner = dt_gates_of_state(s, h, 0, a->reset_after ? 3 : 2);
    dt_value z = dt_activate(a->recurrent_activation,
                             dt_add(dt_gate(s->x, 0, a->units), dt_gate(inner, 0, a->units)));
    dt_value r = dt_activate(a->recurrent_activation,
                             dt_add(dt_gate(s->x, 1, a->units), dt_gate(inner, 1, a->units)));
    dt_value share = a->reset_after ? dt_multiply(r, dt_gate(inner, 2, a->units))
                                    : dt_gates_of_state(s, dt_multiply(r, h), 2, 1);
    dt_value candidate = dt_activate(a->activation, dt_add(dt_gate(s->x, 2, a->units), share));
    s->state[0] = dt_add(dt_multiply(z, h), dt_multiply(dt_subtract(dt_like(z, 1), z), candidate));
}

static const dt_cell cell = {
    .name = "gru_cell", .gates = 3, .states = 1, .two_biases = two_biases, .step = step};

static dt_status *build(dt_layer_build *b) { return dt_recurrent_build(b, &cell); }

static dt_value call(const dt_layer_call *c) { return dt_recurrent_call(c, &cell); }

const dt_layer dt_layer_gru = {
    .kind = {"GRU", "gated recurrent unit", fields, sizeof(dt_recurrent), NULL},
    .least = 1,
    .most = 2,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_recurrent_yields,
};
