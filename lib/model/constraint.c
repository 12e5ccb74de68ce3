/*
 * Constraints: what a weight becomes after each update, so that it stays where it may be. As in Keras, they come last, after a mean of weights has
 * taken a weight's place, and weights that nothing trains are left alone, first values too.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* ---- reading ---- */

static dt_status *no_axis(const dt_named *n, int64_t axis, const char *why, const dt_weight_spec *weight)
{
    dt_str shape = { 0 };
    dt_shape_print(&weight->type, &shape);
    dt_status *s = dt_fail(DT_E_MODEL_SHAPE, &n->at, "%s: axis %lld is %s for the weight '%s' of shape %s", n->kind->name, (long long)axis, why, weight->path,
                           dt_str_text(&shape));
    dt_str_release(&shape);
    return s;
}

/* The weight's dimensions that `axis` names, a number or a list. */
static dt_status *read_dims(const dt_named *n, const dt_weight_spec *weight, const dt_tree *axis, uint32_t *dims)
{
    const bool list = axis->kind == DT_TREE_LIST;
    if (list && axis->n == 0)
        return dt_fail(DT_E_RANGE, &axis->at, "axis must name a dimension");
    for (int i = 0; i < (list ? axis->n : 1); i++) {
        int64_t given;
        DT_TRY(dt_tree_int(list ? axis->item[i] : axis, "axis", -DT_MAX_RANK, DT_MAX_RANK, &given));
        const int64_t d = given < 0 ? given + weight->type.rank : given;
        if (d < 0 || d >= weight->type.rank)
            return no_axis(n, given, "out of bounds", weight);
        if (*dims >> d & 1)
            return no_axis(n, given, "named twice", weight);
        *dims |= 1u << d;
    }
    return NULL;
}

dt_status *dt_constraint_read(dt_arena *arena, const dt_layer_head *head, dt_weight_spec *weight)
{
    int n;
    const dt_kind *const *rows = dt_constraints(&n);
    const int role = dt_layer_role(weight->name);
    const dt_tree *t = role < 0 ? NULL : head->constraint[role];
    if (!t || t->kind == DT_TREE_NULL)
        return NULL;
    DT_TRY(dt_named_read(arena, rows, n, "constraint", t, &weight->constraint));
    dt_constraint_head *args = weight->constraint.args;
    return args->axis ? read_dims(&weight->constraint, weight, args->axis, &args->dims) : NULL;
}

/* ---- variables ---- */

/* What a variable owns. */
typedef struct owned {
    const dt_constraint *row;
    _Alignas(max_align_t) char args[];
} owned;

void dt_constrain(dt_variable *v, const dt_named *constraint)
{
    if (!constraint->kind)
        return;
    owned *o = dt_alloc(sizeof *o + constraint->kind->size);
    o->row = (const dt_constraint *)constraint->kind;
    memcpy(o->args, constraint->args, constraint->kind->size);
    v->constraint = o;
}

dt_value dt_constrained(const dt_variable *v, dt_value w)
{
    const owned *o = v->constraint;
    return o ? o->row->project(o->args, w) : w;
}
