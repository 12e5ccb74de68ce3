/* SPDX-License-Identifier: Apache-2.0 */
/* SimpleRNN: h' = activation(x W + b + h U). */
#include "model/layer/recurrent.h"

static const dt_field fields[] = {DT_RECURRENT_UNITS, DT_RECURRENT_FIELDS, DT_END};

static void step(dt_cell_step *s) {
    s->state[0] =
        dt_activate(s->args->activation, dt_add(s->x, dt_gates_of_state(s, s->state[0], 0, 1)));
}

static const dt_cell cell = {.name = "simple_rnn_cell", .gates = 1, .states = 1, .step = step};

static dt_status *build(dt_layer_build *b) { return dt_recurrent_build(b, &cell); }

static dt_value call(const dt_layer_call *c) { return dt_recurrent_call(c, &cell); }

const dt_layer dt_layer_simple_rnn = {
    .kind = {"SimpleRNN", "recurrent layer whose output is its next state", fields,
             sizeof(dt_recurrent), NULL},
    .least = 1,
    .most = 2,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_recurrent_yields,
};
