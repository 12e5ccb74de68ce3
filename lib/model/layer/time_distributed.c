/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TimeDistributed: a layer on each step of a sequence, with the same weights for all. The steps
 * become examples, so the layer is called once. Only a layer with state, such as BatchNormalization
 * or Dropout, is called for one step after the other during training, as in Keras: each step has
 * its own statistics or random numbers, and updates the state for the next.
 *
 *     TimeDistributed: {layer: {Conv2D: {filters: 8, kernel_size: 3}}}
 *
 * takes (B, T, 28, 28, 1) to (B, T, 26, 26, 8).
 */
#include "model/layer/parts.h"

struct time_distributed {
    dt_layer_head head;
    const dt_tree *layer;
};

static const dt_field fields[] = {
    DT_TREE(struct time_distributed, layer, .forms = DT_FORMS(DT_NAMED("layer")), .required = true,
            .help = "the layer, with its arguments; any with one input"),
    DT_LAYER_FIELDS(struct time_distributed), DT_END};

/* What `build` finds for `call`. */
struct distributed {
    dt_layer_part part;
    bool has_state;
};

enum { MOST_STEPS = 4096 }; /* most steps for a wrapped layer that has state */

static dt_status *within(dt_arena *arena, const void *args, dt_named *out) {
    return dt_part_within(arena, "TimeDistributed", ((const struct time_distributed *)args)->layer,
                          out);
}

/* Returns the type (B * T, ...) of (B, T, ...), with steps as examples. */
static dt_type joined(const dt_type *in) {
    dt_type out = dt_type_of(in->dtype, in->rank - 1, in->dim + 1);
    out.dim[0] = in->dim[0] * in->dim[1];
    return out;
}

/* Returns the type (B, ...) of one step of (B, T, ...). */
static dt_type step_of(const dt_type *in) {
    dt_type out = joined(in);
    out.dim[0] = in->dim[0];
    return out;
}

/* Returns the type (B, T, ...) of a result (B * T, ...) or (B, ...). */
static dt_type divided(const dt_type *steps, const dt_type *in) {
    dt_type out = dt_type_of(steps->dtype, steps->rank + 1, in->dim);
    for (int i = 1; i < steps->rank; i++) out.dim[i + 1] = steps->dim[i];
    return out;
}

static dt_status *check_input(const dt_layer_build *b) {
    if (b->in.rank < 3)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "TimeDistributed needs (B, steps, ...) of 3 or more dimensions, got %s",
                       dt_text_of_shape(&b->in).s);
    if (b->masks[0] && b->in.rank != 3)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "TimeDistributed takes masks of sequences (B, steps, features) only, got %s",
                       dt_text_of_shape(&b->in).s);
    return NULL;
}

/* Builds the wrapped layer a second time, for one step. */
static dt_status *build_step(dt_layer_build *b, dt_layer_part *part) {
    const dt_type in = step_of(&b->in);
    if (b->in.dim[1] > MOST_STEPS)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "TimeDistributed takes up to %d steps of a layer with state, got %lld",
                       MOST_STEPS, (long long)b->in.dim[1]);
    b->n_weights = part->first;
    return dt_part_wrap(b, &in, part);
}

static dt_status *build(dt_layer_build *b) {
    struct distributed *d = dt_arena_new(b->arena, struct distributed);
    dt_layer_part *part = &d->part;
    DT_TRY(check_input(b));
    const dt_type in = joined(&b->in);
    DT_TRY(dt_part_wrap(b, &in, part));
    const bool of_rows = part->out.dim[0] == in.dim[0];
    d->has_state = dt_part_state(b->weight, part);
    if (d->has_state) DT_TRY(build_step(b, part));
    if (part->out.rank >= DT_MAX_RANK || !of_rows)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "TimeDistributed cannot hold outputs of shape %s",
                       dt_text_of_shape(&part->out).s);
    b->made = d;
    b->out = divided(&part->out, &b->in);
    b->out_mask = b->masks[0] && b->out.rank == 3;
    return NULL;
}

/* Adds the loss that the layer adds for each step. An example's loss is the mean over its steps. */
static void add_loss(const dt_layer_call *c, const dt_type *all, dt_value of_steps) {
    if (!of_steps.trace) return;
    dt_value sum = dt_reduce(dt_reshape(of_steps, 2, all->dim), DT_REDUCE_SUM, 1u << 1);
    dt_layer_add_loss(c, dt_divide(sum, dt_like(sum, (double)all->dim[1])));
}

/* Emits step t of x (B, T, ...), as (B, ...); absent if x is absent. */
static dt_value step(dt_value x, int64_t t) {
    if (!x.trace) return x;
    const dt_type all = dt_type_of_value(x), one = step_of(&all);
    return dt_reshape(dt_slice_axis(x, 1, t, 1, 1), one.rank, one.dim);
}

/* Calls the layer for one step, with the state after the previous step. */
static dt_value call_step(const dt_layer_call *c, const dt_layer_part *part, int64_t t) {
    dt_value weight[DT_MAX_WEIGHTS];
    const dt_value mask = step(c->masks[0], t);
    dt_layer_call one = *c;
    for (int i = 0; i < part->n_weights; i++) weight[i] = dt_read(c->trace, c->variable[i]);
    one.weight = weight;
    one.masks = &mask;
    return dt_part_call(&one, part, step(c->x, t));
}

static dt_value call_steps(const dt_layer_call *c, const dt_layer_part *part) {
    const int64_t n = dt_type_of_value(c->x).dim[1];
    dt_value *y = dt_arena_array(dt_trace_arena(c->trace), dt_value, n);
    dt_type one = *c->out;
    one.dim[1] = 1;
    for (int64_t t = 0; t < n; t++) y[t] = dt_reshape(call_step(c, part, t), one.rank, one.dim);
    return dt_concatenate(y, (int)n, 1);
}

static dt_value call(const dt_layer_call *c) {
    static const dt_value unmasked[1];
    const struct distributed *d = c->made;
    if (d->has_state && c->training) return call_steps(c, &d->part);
    const dt_type all = dt_type_of_value(c->x), in = joined(&all);
    dt_value of_steps = {0};
    dt_layer_part part = d->part;
    part.out.dim[0] = in.dim[0];
    dt_layer_call one = *c;
    one.masks = unmasked;
    one.loss = &of_steps;
    dt_value y = dt_part_call(&one, &part, dt_reshape(c->x, in.rank, in.dim));
    add_loss(c, &all, of_steps);
    return dt_reshape(y, c->out->rank, c->out->dim);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_layer_part *part = &((const struct distributed *)l->made)->part;
    dt_layer_spec one = *l;
    one.row = part->row;
    one.args = part->args;
    one.made = part->made;
    one.out = part->out;
    return part->row->yields ? part->row->yields(&one, above) : (dt_yield){0};
}

const dt_layer dt_layer_time_distributed = {
    .kind = {"TimeDistributed", "a layer on each step of a sequence", fields,
             sizeof(struct time_distributed), NULL},
    .precision = DT_LAYER_BY_PARTS,
    .supports_masking = true,
    .within = within,
    .build = build,
    .call = call,
    .yields = yields,
};
