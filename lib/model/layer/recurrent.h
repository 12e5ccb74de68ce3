/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers, unrolled: a cell is applied to each step of a sequence in turn and passes its
 * states to the next. The product of input and kernel does not depend on states, so it is computed
 * for all steps at once, in advance.
 *
 *     x (B, T, D)  ──▶  x W + b  (B, T, gates * units)  ──▶  step by step: (B, units)
 *                  ──▶  the last one, or all: (B, T, units)
 *
 * In training, `dropout` drops features of the input and `recurrent_dropout` elements of the state,
 * the same ones at every step. With recurrent_dropout, and in a ConvLSTM always, each gate has
 * separate masks, as in Keras 3.
 *
 * Inputs after the first one are the states before the first step, in Keras' order; without them
 * states begin with 0. With `return_state` the states after the last step are further outputs.
 * Keras does not give the mask to a layer that is called with states, so masked steps then are
 * treated like others; with return_sequences the output has the mask nevertheless.
 *
 * At masked steps states do not change, and the output of the previous step is repeated, which is 0
 * before the first step that is not masked. With zero_output_for_mask the output of every masked
 * step is 0.
 *
 * ConvLSTM convolves where the others multiply, since its steps and states are images (1D:
 * sequences, 3D: volumes). It takes no masks.
 *
 * A cell is a row with its number of gates and states, and a function for one step. Fields, weights
 * and names are common to all.
 */
#ifndef DT_MODEL_LAYER_RECURRENT_H
#define DT_MODEL_LAYER_RECURRENT_H

#include "model/layer/noise.h"
#include "model/layer/spatial.h"

enum { DT_MOST_STATES = 2, DT_MOST_GATES = 4 };

typedef struct dt_recurrent {
    dt_layer_head head;
    int64_t units;
    int activation, recurrent_activation;
    bool use_bias, return_sequences, return_state, go_backwards, unroll;
    bool reset_after;      /* only GRU has this argument */
    bool unit_forget_bias; /* only LSTM and ConvLSTM have this argument */
    bool zero_output_for_mask;
    double dropout, recurrent_dropout;
    dt_noise noise;
    const dt_tree *kernel_initializer, *recurrent_initializer, *bias_initializer;
} dt_recurrent;

#define DT_RECURRENT_UNITS                                                                         \
    DT_INT(dt_recurrent, units, .min = 1, .max = INFINITY, .required = true,                       \
           .help = "dimension of the state and the output")
/* Fields of all recurrent layers; a cell's table adds its own. */
#define DT_RECURRENT_FIELDS                                                                        \
    DT_ENUM(dt_recurrent, activation, dt_activations, .preset = "tanh",                            \
            .help = "activation function of the state"),                                           \
        DT_FLAG(dt_recurrent, use_bias, .preset = "true", .help = "add biases"),                   \
        DT_FLAG(dt_recurrent, return_sequences,                                                    \
                .help = "return the output of every step, not only the last"),                     \
        DT_FLAG(dt_recurrent, return_state,                                                        \
                .help = "also output the last states: NAME/state_h, and NAME/state_c of an LSTM"), \
        DT_FLAG(dt_recurrent, go_backwards, .help = "process the sequence backwards"),             \
        DT_FLAG(dt_recurrent, zero_output_for_mask,                                                \
                .help = "output 0 at masked steps instead of repeating the previous output"),      \
        DT_FLAG(dt_recurrent, unroll, .help = "accepted for compatibility"),                       \
        DT_INITIALIZER(dt_recurrent, kernel_initializer,                                           \
                       .help = "initializer; default: glorot_uniform"),                            \
        DT_INITIALIZER(dt_recurrent, recurrent_initializer,                                        \
                       .help = "initializer; default: orthogonal"),                                \
        DT_INITIALIZER(dt_recurrent, bias_initializer, .help = "initializer; default: zeros"),     \
        DT_LAYER_FIELDS(dt_recurrent),                                                             \
        DT_REAL(dt_recurrent, dropout, .min = 0, .max = 1, .preset = "0",                          \
                .help = "fraction of the input's features to set to 0 during training"),           \
        DT_REAL(dt_recurrent, recurrent_dropout, .min = 0, .max = 1, .preset = "0",                \
                .help = "fraction of the state's elements to set to 0 during training"),           \
        DT_NOISE_FIELD(dt_recurrent), DT_ONLY("stateful", "false"),                                \
        DT_REGULARIZER(dt_recurrent, KERNEL, "kernel_regularizer"),                                \
        DT_REGULARIZER(dt_recurrent, RECURRENT, "recurrent_regularizer"),                          \
        DT_REGULARIZER(dt_recurrent, BIAS, "bias_regularizer"),                                    \
        DT_REGULARIZER(dt_recurrent, ACTIVITY, "activity_regularizer"),                            \
        DT_CONSTRAINT(dt_recurrent, KERNEL, "kernel_constraint"),                                  \
        DT_CONSTRAINT(dt_recurrent, RECURRENT, "recurrent_constraint"),                            \
        DT_CONSTRAINT(dt_recurrent, BIAS, "bias_constraint")
#define DT_RECURRENT_GATE_FIELD                                                                    \
    DT_ENUM(dt_recurrent, recurrent_activation, dt_activations, .preset = "sigmoid",               \
            .help = "activation function of the gates")

/* What a step of a cell reads and sets. x: the input of the step times the kernel, plus its bias if
 * there is one, (B, gates * units). state: the states before the step, which `step` replaces by
 * those after it, (B, units) each. state[0] is the output. In a ConvLSTM, values have the
 * dimensions of an image after B, and the recurrent kernel begins with those of the window. */
typedef struct dt_cell_step {
    const dt_recurrent *args;
    dt_value x;
    dt_value recurrent;    /* the recurrent kernel: (units, gates * units) */
    dt_value bias;         /* bias of the recurrent product, (gates * units); trace NULL: none */
    const dt_space *space; /* the window over the state; NULL: the kernel is a matrix */
    dt_value state[DT_MOST_STATES];
    /* [gates] factors by which dropout multiplies the state, (B, units); trace NULL: no dropout */
    dt_value kept[DT_MOST_GATES];
} dt_cell_step;

typedef struct dt_cell {
    const char *name;  /* part of the path of its weights: gru_cell in NAME/gru_cell/kernel */
    int gates, states; /* numbers of gates, and of states */
    /* Whether there is a second bias, for the recurrent product; NULL: there is one bias, for the
     * product of the input. */
    bool (*two_biases)(const dt_recurrent *r);
    void (*step)(dt_cell_step *s);
    /* Reads the window over the n spatial dimensions of a step; b gives the location of errors.
     * NULL: kernels are matrices. */
    dt_status *(*space)(const dt_layer_build *b, const dt_recurrent *r, int n, dt_space *out);
} dt_cell;

/* Checks that the inputs from index `first` on are none, or n states of that type. Error
 * MODEL_INPUTS for another number of them, MODEL_SHAPE for another type. */
dt_status *dt_recurrent_check_states(const dt_layer_build *b, int first, int n,
                                     const dt_type *state) DT_MUST_USE;
dt_status *dt_recurrent_build(dt_layer_build *b, const dt_cell *cell) DT_MUST_USE;
dt_yield dt_recurrent_yields(const dt_layer_spec *l, const dt_yield *above);
/* Returns the range of the output of a layer with that row and those arguments. */
dt_range dt_recurrent_range(const dt_layer *row, const dt_recurrent *r);
dt_value dt_recurrent_call(const dt_layer_call *c, const dt_cell *cell);
/* Splits (B, n, ...) into n steps, (B, ...) each. */
void dt_split_steps(dt_value x, int64_t n, dt_value *out);
/* Returns gate i of x (..., gates * units): columns i * units to (i + 1) * units - 1. */
dt_value dt_gate(dt_value x, int i, int64_t units);
/* Returns the product of the state and the columns of gates [first, first + n) of the recurrent
 * kernel, plus the bias of that product if there is one. */
dt_value dt_gates_of_state(const dt_cell_step *s, dt_value state, int first, int n);

#endif
