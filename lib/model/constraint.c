/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints: applied to a weight after each update to keep it within limits. As in Keras,
 * constraints are applied last, after a moving average has overwritten the weights; initial values
 * and weights that are not trained are left alone.
 */
#include <string.h>

#include "model/model.h"

/* ---- reading ---- */

dt_status *dt_constraint_read(dt_arena *arena, const dt_layer_head *head, dt_weight_spec *weight) {
    int n;
    const dt_kind *const *rows = dt_constraints(&n);
    const int role = dt_layer_role(weight->name);
    const dt_tree *t = role < 0 ? NULL : head->constraint[role];
    if (!t || t->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_named_read(arena, rows, n, "constraint", t, &weight->constraint));
    const dt_named *c = &weight->constraint;
    dt_constraint_head *args = c->args;
    return dt_dims_find(&(dt_dims_of){&weight->type, weight->path, c->kind->name, &c->at},
                        &args->axis, &args->dims);
}

/* ---- variables ---- */

/* A constraint with a copy of its arguments. A variable owns it. */
struct dt_weight_constraint {
    const dt_constraint *row;
    _Alignas(max_align_t) char args[];
};

void dt_constrain(dt_variable *v, const dt_named *constraint) {
    if (!constraint->kind) return;
    struct dt_weight_constraint *o = dt_alloc(sizeof *o + constraint->kind->size);
    o->row = (const dt_constraint *)constraint->kind;
    memcpy(o->args, constraint->args, constraint->kind->size);
    v->constraint = o;
}

dt_value dt_constrained(const dt_variable *v, dt_value w) {
    const struct dt_weight_constraint *o = v->constraint;
    return o ? o->row->project(o->args, w) : w;
}
