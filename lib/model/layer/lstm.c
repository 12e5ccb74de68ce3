/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSTM: a recurrent layer with a state c. Gates decide what is written to the state, forgotten and
 * read. Gates in Keras' order: input, forget, candidate, output.
 *
 *     i, f, o = recurrent_activation(gate)
 *     c' = f c + i activation(candidate)       y = o activation(c')
 *
 * ConvLSTM1D, 2D, 3D convolve instead of multiplying, so that steps and states are sequences,
 * images or volumes. In 2D:
 *
 *     (B, T, height, width, C)  ──▶  (B, height', width', filters)
 *
 * With return_sequences, T stays in the output. The window over the input has strides,
 * dilation_rate and padding; the window over the state keeps the state's size.
 *
 * S. Hochreiter, J. Schmidhuber, Long Short-Term Memory (1997); the forget gate is F. A. Gers'.
 * X. Shi et al., Convolutional LSTM Network (2015).
 */
#include "model/layer/recurrent.h"

static const dt_field fields[] = {DT_RECURRENT_UNITS, DT_RECURRENT_FIELDS, DT_RECURRENT_GATE_FIELD,
                                  DT_FLAG(dt_recurrent, unit_forget_bias, .preset = "true",
                                          .help = "initialize the forget gate's bias with 1"),
                                  DT_END};

static void step(dt_cell_step *s) {
    int64_t units = s->args->units;
    int gate = s->args->recurrent_activation, activation = s->args->activation;
    dt_value z = dt_add(s->x, dt_gates_of_state(s, s->state[0], 0, 4));
    dt_value i = dt_activate(gate, dt_gate(z, 0, units)),
             f = dt_activate(gate, dt_gate(z, 1, units));
    dt_value candidate = dt_activate(activation, dt_gate(z, 2, units)),
             o = dt_activate(gate, dt_gate(z, 3, units));
    s->state[1] = dt_add(dt_multiply(f, s->state[1]), dt_multiply(i, candidate));
    s->state[0] = dt_multiply(o, dt_activate(activation, s->state[1]));
}

static const dt_cell cell = {.name = "lstm_cell", .gates = 4, .states = 2, .step = step};

/* The bias: ones for the forget gate, and the initializer's values for the others. */
struct forget_bias {
    dt_named others;
    int64_t units;
};

static void fill_forget_bias(const void *args, const dt_draw *d, double *out) {
    const struct forget_bias *f = args;
    dt_draw others = *d;
    others.row = (const dt_initializer *)f->others.kind;
    others.row->fill(f->others.args, &others, out);
    for (int k = 0; k < d->n; k++)
        if (d->first + k >= f->units && d->first + k < 2 * f->units) out[k] = 1;
}

static const dt_initializer forget_bias = {.kind = {.name = "unit_forget_bias"},
                                           .fill = fill_forget_bias};

static dt_status *build_of(dt_layer_build *b, const dt_cell *kind) {
    const dt_recurrent *r = b->args;
    DT_TRY(dt_recurrent_build(b, kind));
    if (!r->use_bias || !r->unit_forget_bias) return NULL;
    dt_named *bias = &b->weight[2].initializer;
    struct forget_bias *f = dt_arena_new(b->arena, struct forget_bias);
    *f = (struct forget_bias){*bias, r->units};
    bias->kind = &forget_bias.kind;
    bias->args = f;
    return NULL;
}

static dt_status *build(dt_layer_build *b) { return build_of(b, &cell); }

static dt_value call(const dt_layer_call *c) { return dt_recurrent_call(c, &cell); }

const dt_layer dt_layer_lstm = {
    .kind = {"LSTM", "long short-term memory", fields, sizeof(dt_recurrent), NULL},
    .least = 1,
    .most = 3,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_recurrent_yields,
};

/* ---- ConvLSTM ---- */

struct conv_lstm {
    dt_recurrent recurrent; /* fields of all recurrent layers; `units` is the number of filters */
    dt_ints kernel_size, strides, dilation_rate;
    int padding;
};

static const dt_field conv_fields[] = {
    DT_KEY(INT, "filters", struct conv_lstm, recurrent.units, .min = 1, .max = INFINITY,
           .required = true, .help = "number of channels of the state and the output"),
    DT_SIZES(struct conv_lstm, kernel_size, .min = 1, .required = true,
             .help = "size of the window: a number, or one per dimension"),
    DT_SIZES(struct conv_lstm, strides, .min = 1,
             .help = "strides of the window over the input; default 1"),
    DT_ENUM(struct conv_lstm, padding, dt_paddings,
            .help = "of the input. valid: no padding; same: output size is input size / strides, "
                    "rounded up"),
    DT_SIZES(struct conv_lstm, dilation_rate, .min = 1,
             .help = "dilation of the window over the input; default 1"),
    DT_ONLY("data_format", "channels_last"),
    DT_RECURRENT_FIELDS,
    DT_RECURRENT_GATE_FIELD,
    DT_FLAG(dt_recurrent, unit_forget_bias, .preset = "true",
            .help = "initialize the forget gate's bias with 1"),
    DT_END};

static dt_status *conv_space(const dt_layer_build *b, const dt_recurrent *r, int n, dt_space *out) {
    const struct conv_lstm *c = (const void *)r;
    const dt_conv_layer window = {.kernel_size = c->kernel_size,
                                  .strides = c->strides,
                                  .dilation_rate = c->dilation_rate,
                                  .padding = c->padding};
    return dt_conv_window(b, &window, n, out);
}

static const dt_cell conv_cell = {
    .name = "conv_lstm_cell", .gates = 4, .states = 2, .step = step, .space = conv_space};

static dt_status *build_conv(dt_layer_build *b) { return build_of(b, &conv_cell); }

static dt_value call_conv(const dt_layer_call *c) { return dt_recurrent_call(c, &conv_cell); }

#define CONV_ROW(n, about)                                                                         \
    const dt_layer dt_layer_conv_lstm##n##d = {                                                    \
        .kind = {"ConvLSTM" #n "D", about, conv_fields, sizeof(struct conv_lstm), NULL},           \
        .least = 1,                                                                                \
        .most = 3,                                                                                 \
        .sides = n,                                                                                \
        .build = build_conv,                                                                       \
        .call = call_conv,                                                                         \
        .yields = dt_recurrent_yields,                                                             \
    };
CONV_ROW(1, "convolutional LSTM whose steps are sequences")
CONV_ROW(2, "convolutional LSTM whose steps are images")
CONV_ROW(3, "convolutional LSTM whose steps are volumes")
