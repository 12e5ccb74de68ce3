/* SPDX-License-Identifier: Apache-2.0 */
/* ActivityRegularization: returns its input, and adds a penalty on it to the loss, as another
 * layer's `activity_regularizer: {L1L2: {l1: 0.001, l2: 0.01}}` does. */
#include "model/layer/parts.h"

struct activity_regularization {
    dt_layer_head head;
    double l1, l2;
};

static const dt_field fields[] = {DT_REAL(struct activity_regularization, l1, .preset = "0",
                                          .max = INFINITY, .help = "factor of the sum of |x|"),
                                  DT_REAL(struct activity_regularization, l2, .preset = "0",
                                          .max = INFINITY, .help = "factor of the sum of x^2"),
                                  DT_LAYER_FIELDS(struct activity_regularization), DT_END};

/* Returns the tree {L1L2: {l1: ..., l2: ...}} that the layer's arguments stand for. */
static const dt_tree *penalty(const dt_layer_build *b, const struct activity_regularization *r) {
    dt_tree *all = dt_tree_copy(b->arena, dt_part_kind(b, "L1L2", "l1", dt_part_real(b, r->l1))),
            *norms = all->entry[0].value;
    dt_entry *entry = dt_arena_array(b->arena, dt_entry, 2);
    entry[0] = norms->entry[0];
    entry[1] = (dt_entry){"l2", b->at, (dt_tree *)dt_part_real(b, r->l2)};
    norms->entry = entry;
    norms->n = 2;
    return all;
}

static dt_status *build(dt_layer_build *b) {
    struct activity_regularization *r = dt_arena_copy(b->arena, b->args, sizeof *r);
    DT_TRY(dt_layer_wants(b, "ActivityRegularization", 1));
    r->head.regularizer[DT_ON_ACTIVITY] = penalty(b, r);
    b->args = r;
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) { return c->x; }

const dt_layer dt_layer_activity_regularization = {
    .kind = {"ActivityRegularization", "adds a penalty on its input to the loss", fields,
             sizeof(struct activity_regularization), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_inputs,
};
