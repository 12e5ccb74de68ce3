/*
 * ReLU: max(x, 0), and Keras' general form of it:
 *
 *     max_value                    where x >= max_value
 *     x                            where threshold < x < max_value
 *     negative_slope (x - threshold)  below
 */
#include "model/model.h"

struct relu {
    dt_layer_head head;
    double max_value, negative_slope, threshold;
    bool has_max;
};

static const dt_field fields[] = {
    DT_REAL(struct relu, max_value, .max = INFINITY, .set = 1 + offsetof(struct relu, has_max), .help = "largest output; none by default"),
    DT_REAL(struct relu, negative_slope, .max = INFINITY, .help = "of the outputs below the threshold"),
    DT_REAL(struct relu, threshold, .max = INFINITY, .help = "below it outputs are 0, or slope down"),
    DT_LAYER_FIELDS(struct relu),
    DT_END
};

static dt_status *build(dt_layer_build *b)
{
    DT_TRY(dt_layer_wants(b, "ReLU", 1));
    b->out = b->in;
    return NULL;
}

/* x where x > threshold, else 0 */
static dt_value above(const struct relu *r, dt_value x)
{
    dt_value zero = dt_like(x, 0);
    return r->threshold == 0 ? dt_maximum(x, zero) : dt_select(dt_compare(x, dt_like(x, r->threshold), DT_GT), x, zero);
}

static dt_value call(const dt_layer_call *c)
{
    const struct relu *r = c->args;
    dt_value x = c->x, y = above(r, x);
    if (r->has_max)
        y = dt_minimum(y, dt_like(y, r->max_value));
    if (r->negative_slope == 0)
        return y;
    dt_value depth = dt_maximum(dt_subtract(dt_like(x, r->threshold), x), dt_like(x, 0)); /* how far below the threshold */
    return dt_subtract(y, dt_multiply(depth, dt_like(x, r->negative_slope)));
}

const dt_layer dt_layer_relu = {
    .kind = { "ReLU", "max(x, 0)", fields, sizeof(struct relu), NULL },
    .build = build,
    .call = call,
};
