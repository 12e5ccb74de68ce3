/* Concatenate: layers one after the other along an axis, in which alone their sizes may differ. */
#include "model/model.h"

struct concatenate {
    dt_layer_head head;
    int64_t axis;
};

static const dt_field fields[] = {
    DT_INT(struct concatenate, axis, .preset = "-1", .help = "along which they are laid; 0 is the batch, the last is -1"),
    DT_LAYER_FIELDS(struct concatenate),
    DT_END
};

static int axis_of(const struct concatenate *c, int rank)
{
    return (int)(c->axis < 0 ? c->axis + rank : c->axis);
}

static bool go_together(const dt_type *a, const dt_type *b, int axis)
{
    bool fit = a->rank == b->rank && a->dtype == b->dtype;
    for (int d = 0; fit && d < a->rank; d++)
        fit = d == axis || a->dim[d] == b->dim[d];
    return fit;
}

static dt_status *build(dt_layer_build *b)
{
    const struct concatenate *c = b->args;
    int axis = axis_of(c, b->in.rank);
    if (c->axis < -b->in.rank || axis < 1 || axis >= b->in.rank)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "axis %lld is none of the %d dimensions behind the batch", (long long)c->axis, b->in.rank - 1);
    b->out = b->in;
    for (int k = 1; k < b->n_in; k++) {
        if (!go_together(&b->in, &b->ins[k], axis))
            return dt_layer_cannot_join(b, "Concatenate", 0, k);
        b->out.dim[axis] += b->ins[k].dim[axis];
    }
    return NULL;
}

static dt_value call(const dt_layer_call *c)
{
    return dt_concatenate(c->xs, c->n_in, axis_of(c->args, c->out->rank));
}

const dt_layer dt_layer_concatenate = {
    .kind = { "Concatenate", "layers one after the other along an axis", fields, sizeof(struct concatenate), NULL },
    .least = 2,
    .most = DT_MANY_LAYERS,
    .build = build,
    .call = call,
};
