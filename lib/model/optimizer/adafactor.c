/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adafactor (N. Shazeer, M. Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost,
 * 2018): of the squared gradients of a matrix, later steps use only the means over rows, r, and
 * over columns, c. As in Keras, the matrix v is a slot, too: it is stored, although no step reads
 * it.
 *
 *     beta_t = 1 - t^beta_2_decay
 *     r = beta_t r + (1 - beta_t) mean over the last axis of (g g + epsilon_1)
 *     c = the same over the axis before it
 *     v = (r / mean r) c                     vectors: v = beta_t v + (1 - beta_t) (g g + epsilon_1)
 *     u = g / sqrt(v);  u = u / max(1, rms(u) / clip_threshold)
 *     w -= max(epsilon_2, rms(w)) min(rate, 1 / sqrt(t)) u
 */
#include "model/model.h"

struct adafactor {
    dt_optimizer_head head;
    double beta_2_decay, epsilon_1, epsilon_2, clip_threshold;
    bool relative_step;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct adafactor),
    DT_REAL(struct adafactor, beta_2_decay, .preset = "-0.8", .help = "exponent of the decay"),
    DT_REAL(struct adafactor, epsilon_1, .preset = "1e-30", .help = "added to avoid division by 0"),
    DT_REAL(struct adafactor, epsilon_2, .preset = "0.001",
            .help = "lower bound of the weight norm that scales updates"),
    DT_REAL(struct adafactor, clip_threshold, .preset = "1",
            .help = "clipping threshold of an update"),
    DT_FLAG(struct adafactor, relative_step, .preset = "true",
            .help = "accepted for compatibility: the rate is always at most 1 / sqrt(t)"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    const dt_type *variable = &of->type;
    int rank = variable->rank;
    (void)args;
    if (rank < 2) {
        slot[0].name = "velocity";
        return 1;
    }
    slot[0].name = "row";
    slot[1].name = "column";
    slot[2].name = "velocity";
    slot[0].lacks = rank;
    slot[1].lacks = rank - 1;
    slot[0].type = dt_type_of(variable->dtype, rank - 1, variable->dim);
    slot[1].type = slot[0].type;
    slot[1].type.dim[rank - 2] = variable->dim[rank - 1];
    return 3;
}

/* Emits share a + (1 - share) b for a scalar share. */
static dt_value mixed(dt_value share, dt_value a, dt_value b) {
    return dt_add(dt_multiply(a, share), dt_multiply(b, dt_subtract(dt_like(share, 1), share)));
}

/* Emits the outer product of row (..., n), divided by its mean, and column (..., m): (..., n,
 * m). */
static dt_value outer(dt_value row, dt_value column, const dt_type *type) {
    int8_t dims[DT_MAX_RANK] = {0};
    int rank = type->rank;
    dt_type r = dt_type_of_value(row), means = r;
    for (int i = 0; i < rank - 2; i++) dims[i] = (int8_t)i;
    means.dim[rank - 2] = 1;
    dt_value mean = dt_reshape(dt_reduce_mean(row, -1), means.rank, means.dim);
    dims[rank - 2] = (int8_t)(rank - 2);
    dt_value rows = dt_broadcast_in_dim(dt_divide(row, mean), type, dims);
    dims[rank - 2] = (int8_t)(rank - 1);
    return dt_multiply(rows, dt_broadcast_in_dim(column, type, dims));
}

/* Emits the estimate v of the mean of squared gradients, and sets the slots. */
static dt_value estimate(dt_update *u, dt_value share) {
    const struct adafactor *a = u->args;
    dt_type type = dt_type_of_value(u->w);
    dt_value squares = dt_add(dt_multiply(u->g, u->g), dt_like(u->g, a->epsilon_1));
    if (type.rank < 2) return u->slot[0] = mixed(share, u->slot[0], squares);
    u->slot[0] = mixed(share, u->slot[0], dt_reduce_mean(squares, -1));
    u->slot[1] = mixed(share, u->slot[1], dt_reduce_mean(squares, -2));
    return u->slot[2] = outer(u->slot[0], u->slot[1], &type);
}

static dt_value rms(dt_value x) { return dt_sqrt(dt_reduce_mean(dt_multiply(x, x), DT_NO_AXIS)); }

static void apply(dt_update *u) {
    const struct adafactor *a = u->args;
    dt_value one = dt_like(u->t, 1);
    dt_value rate = dt_minimum(u->rate, dt_divide(one, dt_sqrt(u->t)));
    dt_value alpha = dt_multiply(dt_maximum(rms(u->w), dt_like(rate, a->epsilon_2)), rate);
    dt_value v = estimate(u, dt_subtract(one, dt_power(u->t, dt_like(u->t, a->beta_2_decay))));
    dt_value step = dt_divide(u->g, dt_sqrt(v));
    step = dt_divide(step, dt_maximum(one, dt_divide(rms(step), dt_like(one, a->clip_threshold))));
    u->w = dt_subtract(u->w, dt_multiply(step, alpha));
}

const dt_optimizer_row dt_optimizer_adafactor = {
    .kind = {"Adafactor", "Adam with factored second moments, which need little memory", fields,
             sizeof(struct adafactor), (const char *const[]){"adafactor", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};
