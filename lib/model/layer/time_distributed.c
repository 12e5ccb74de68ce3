/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TimeDistributed: a layer on each step of a sequence, with the same weights for all. The steps
 * become examples, so the layer is called once.
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
            .help = "the layer, with its arguments; any without state and with one input"),
    DT_LAYER_FIELDS(struct time_distributed), DT_END};

static dt_status *within(dt_arena *arena, const void *args, dt_named *out) {
    return dt_part_within(arena, "TimeDistributed", ((const struct time_distributed *)args)->layer,
                          out);
}

/* (B, T, ...) as (T B, ...) */
static dt_type joined(const dt_type *in) {
    dt_type out = dt_type_of(in->dtype, in->rank - 1, in->dim + 1);
    out.dim[0] = in->dim[0] * in->dim[1];
    return out;
}

/* (T B, ...) as (B, T, ...) */
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

static dt_status *build(dt_layer_build *b) {
    dt_layer_part *part = dt_arena_new(b->arena, dt_layer_part);
    DT_TRY(check_input(b));
    const dt_type in = joined(&b->in);
    DT_TRY(dt_part_wrap(b, &in, part));
    if (part->out.rank >= DT_MAX_RANK || part->out.dim[0] != in.dim[0])
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "TimeDistributed cannot hold outputs of shape %s",
                       dt_text_of_shape(&part->out).s);
    b->made = part;
    b->out = divided(&part->out, &b->in);
    b->out_mask = b->masks[0] && b->out.rank == 3;
    return NULL;
}

/* What the layer adds to the loss for each step counts as a mean over the steps of an example. */
static void add_loss(const dt_layer_call *c, const dt_type *all, dt_value of_steps) {
    if (!of_steps.trace) return;
    dt_value sum = dt_reduce(dt_reshape(of_steps, 2, all->dim), DT_REDUCE_SUM, 1u << 1);
    dt_layer_add_loss(c, dt_divide(sum, dt_like(sum, (double)all->dim[1])));
}

static dt_value call(const dt_layer_call *c) {
    static const dt_value unmasked[1];
    const dt_layer_part *part = c->made;
    const dt_type all = dt_type_of_value(c->x), in = joined(&all);
    dt_value of_steps = {0};
    dt_layer_call one = *c;
    one.masks = unmasked;
    one.loss = &of_steps;
    dt_value y = dt_part_call(&one, part, dt_reshape(c->x, in.rank, in.dim));
    add_loss(c, &all, of_steps);
    return dt_reshape(y, c->out->rank, c->out->dim);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_layer_part *part = l->made;
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
