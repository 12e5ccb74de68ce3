/* Softmax over the last dimension. A cross-entropy after it is computed from its input: see dt_logits_of. */
#include "model/model.h"

struct softmax {
    dt_layer_head head;
    int64_t axis;
};

static const dt_field fields[] = {
    DT_INT(struct softmax, axis, .preset = "-1", .help = "the last one, counted from the end (-1) or from the batch (0)"),
    DT_LAYER_FIELDS(struct softmax),
    DT_END
};

static dt_status *build(dt_layer_build *b)
{
    const struct softmax *s = b->args;
    DT_TRY(dt_layer_wants(b, "Softmax", 2));
    if (s->axis != -1 && s->axis != b->in.rank - 1)
        return dt_fail(DT_E_NOT_YET, &b->at, "Softmax over axis %lld is not implemented yet; it is the last axis, -1", (long long)s->axis);
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c)
{
    return dt_softmax(c->x);
}

const dt_layer dt_layer_softmax = {
    .kind = { "Softmax", "exp(x) / sum of exp(x)", fields, sizeof(struct softmax), NULL },
    .build = build,
    .call = call,
};
