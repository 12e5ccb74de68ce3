/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bidirectional: a recurrent layer twice, once in the direction that its go_backwards says and once
 * the other way, each with weights of its own, and the outputs of both merged. For sequences, the
 * backward outputs are reversed again, so that both outputs of a step are merged.
 *
 *     Bidirectional: {layer: {LSTM: {units: 8}}}        (B, T, D) to (B, 16)
 *
 * Inputs after the first one are the states before the first step: those of the forward layer, then
 * those of the backward one. Further outputs are in the same order: NAME/forward_state_h, ...
 *
 * M. Schuster, K. Paliwal, Bidirectional Recurrent Neural Networks (1997).
 */
#include "model/layer/recurrent.h"

#include <string.h>

typedef enum merge { CONCAT, SUM, MUL, AVE } merge;
static const char *const merges[] = {"concat", "sum", "mul", "ave", NULL};

struct bidirectional {
    dt_layer_head head;
    const dt_tree *layer;
    int merge_mode;
};

static const dt_field fields[] = {
    DT_TREE(struct bidirectional, layer, .forms = DT_FORMS(DT_NAMED("layer")), .required = true,
            .help = "the recurrent layer: LSTM, GRU or SimpleRNN with its arguments"),
    DT_ENUM(struct bidirectional, merge_mode, merges, .help = "how to combine the two outputs"),
    DT_LAYER_FIELDS(struct bidirectional),
    DT_NOT_YET("backward_layer"),
    DT_NOT_YET("weights"),
    DT_END};

/* One direction: its layer, and the index of its first weight. */
typedef struct direction {
    const dt_layer *row;
    dt_recurrent args;
    const char *name; /* path of the layer: "bidirectional/backward_lstm" */
    dt_type out;
    int first, n_weights, n_further;
} direction;

static dt_status *within(dt_arena *arena, const void *args, dt_named *out) {
    static const dt_kind *const rows[] = {&dt_layer_lstm.kind, &dt_layer_gru.kind,
                                          &dt_layer_simple_rnn.kind};
    const struct bidirectional *d = args;
    DT_TRY(dt_named_read(arena, rows, 3, "recurrent layer", d->layer, out));
    const dt_layer_head *head = out->args;
    return head->inputs.v
               ? dt_fail(
                     DT_E_MODEL_INPUTS, &head->inputs_at,
                     "the layer inside Bidirectional has no 'inputs': set them on Bidirectional")
               : NULL;
}

/* Builds one direction, whose weights come after existing ones. */
static dt_status *build_direction(dt_layer_build *b, bool backwards, direction *out) {
    const struct bidirectional *d = b->args;
    out->row = (const dt_layer *)b->within.kind;
    dt_layer_build one = {.arena = b->arena,
                          .row = out->row,
                          .args = &out->args,
                          .at = b->at,
                          .in = b->in,
                          .n_in = 1,
                          .masks = b->masks};
    out->args = *(const dt_recurrent *)b->within.args;
    out->args.go_backwards ^= backwards;
    out->args.zero_output_for_mask = out->args.return_sequences;
    out->args.head.trainable &= d->head.trainable;
    out->name = one.name = dt_arena_printf(b->arena, "%s/%s_%s", b->name,
                                           backwards ? "backward" : "forward", b->within_name);
    DT_TRY(out->row->build(&one));
    memcpy(b->weight + b->n_weights, one.weight, (size_t)one.n_weights * sizeof *one.weight);
    out->first = b->n_weights;
    out->n_weights = one.n_weights;
    out->out = one.out;
    out->n_further = one.n_further;
    b->n_weights += one.n_weights;
    for (int i = 0; i < one.n_further; i++)
        dt_layer_further(b,
                         dt_arena_printf(b->arena, "%s_%s", backwards ? "backward" : "forward",
                                         one.further[i].name),
                         &one.further[i].type);
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct bidirectional *d = b->args;
    direction *made = dt_arena_array(b->arena, direction, 2);
    for (int i = 0; i < 2; i++) DT_TRY(build_direction(b, i == 1, &made[i]));
    const dt_type state = dt_type_of(b->in.dtype, 2, (int64_t[]){b->in.dim[0], made[0].args.units});
    const int states = made[0].row == &dt_layer_lstm ? 2 : 1;
    DT_TRY(dt_recurrent_check_states(b, 1, 2 * states, &state));
    b->made = made;
    b->out = made[0].out;
    b->out_mask = b->masks[0] && made[0].args.return_sequences;
    if (d->merge_mode == CONCAT) b->out.dim[b->out.rank - 1] *= 2;
    return NULL;
}

static dt_value call_direction(const dt_layer_call *c, const direction *d, bool backwards) {
    const int states = (c->n_in - 1) / 2;
    dt_value xs[1 + DT_MOST_STATES] = {c->x};
    for (int i = 0; i < states; i++) xs[1 + i] = c->xs[1 + states * backwards + i];
    dt_layer_call one = *c;
    one.xs = xs;
    one.n_in = 1 + states;
    one.further = c->further + d->n_further * backwards;
    one.args = &d->args;
    one.name = d->name;
    one.weight = c->weight + d->first;
    one.variable = c->variable + d->first;
    one.out = &d->out;
    return d->row->call(&one);
}

static dt_value join(merge how, dt_value forward, dt_value backward) {
    dt_value both[2] = {forward, backward};
    switch (how) {
    case CONCAT: return dt_concatenate(both, 2, dt_type_of_value(forward).rank - 1);
    case SUM: return dt_add(forward, backward);
    case MUL: return dt_multiply(forward, backward);
    case AVE: return dt_multiply(dt_add(forward, backward), dt_like(forward, 0.5));
    }
    return forward;
}

static dt_value call(const dt_layer_call *c) {
    const struct bidirectional *b = c->args;
    const direction *d = c->made;
    dt_value forward = call_direction(c, &d[0], false), backward = call_direction(c, &d[1], true);
    if (d[0].args.return_sequences) backward = dt_reverse(backward, 1u << 1);
    return join((merge)b->merge_mode, forward, backward);
}

/* Returns the range of the merged output: both directions side by side, or their product, mean or
 * sum. */
static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const struct bidirectional *b = l->args;
    const direction *d = l->made;
    const dt_range one = dt_range_between(dt_recurrent_range(d->row, &d->args));
    (void)above;
    return (dt_yield){.range = b->merge_mode == SUM ? dt_range_scaled(one, 2, 0) : one,
                      .by = d->row->kind.name};
}

const dt_layer dt_layer_bidirectional = {
    .kind = {"Bidirectional", "a recurrent layer in both directions", fields,
             sizeof(struct bidirectional), NULL},
    .least = 1,
    .most = 1 + 2 * DT_MOST_STATES,
    .supports_masking = true,
    .within = within,
    .build = build,
    .call = call,
    .yields = yields,
};
