/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Circle: pulls embeddings of one label together and pushes those of different labels apart. Each
 * example i is compared with all examples j of the global batch, by d = max(1 - e[i] . e[j], 0):
 *
 *     loss[i] = log(1 + sum exp p[j] * sum exp n[k])
 *     p[j] = -gamma (d + margin) (margin - d)               j has the label of i; with
 *                                                           remove_diagonal, it is not i
 *     n[k] = gamma max(1 + margin - d, 0) (1 - margin - d)  k has another label
 *
 * As in Keras, an example that lacks pairs of one of the kinds has the loss 0 and does not count.
 *
 * The batch's embeddings are gathered into a matrix of as many rows as the batch may have, so the
 * pairs are those of the global batch for any number of replicas. Rows that a smaller batch does
 * not fill take part in no pair.
 *
 * Y. Sun et al., Circle Loss: A Unified Perspective of Pair Similarity Optimization (2020).
 */
#include "model/model.h"

struct circle {
    dt_loss_head head;
    double gamma, margin;
    bool remove_diagonal;
};

static const dt_field fields[] = {
    DT_LOSS_FIELDS(struct circle),
    DT_REAL(struct circle, gamma, .preset = "80", .help = "scale of the similarities"),
    DT_REAL(struct circle, margin, .preset = "0.4",
            .help = "distance below which pairs of one label should be; pairs of two labels "
                    "should be further apart than 1 minus it"),
    DT_FLAG(struct circle, remove_diagonal, .preset = "true",
            .help = "leave out the pair of an example with itself"),
    DT_END};

/* A finite number in place of log 0, so that the difference of two of them is finite, too. */
#define NEVER (-1e30)

static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    (void)args;
    const bool label = target->rank == 1 || (target->rank == 2 && target->dim[1] == 1);
    if (prediction->rank != 2 || !dt_dtype_is_float(prediction->dtype) || !label)
        return dt_fail(DT_E_LABELS, NULL,
                       "Circle takes one label for each example and embeddings (B, size): targets "
                       "are %s, predictions %s",
                       dt_text_of(target).s, dt_text_of(prediction).s);
    return NULL;
}

/* All pairs (B, all) of an example of this replica and an example of the global batch. */
typedef struct pairs {
    /* distance: the distance d. same, other: bools, whether the pair counts as one of equal labels,
     * or as one of different labels */
    dt_value distance, same, other;
} pairs;

static dt_value both(dt_value a, dt_value b) { return dt_minimum(a, b); }

/* Emits the distances d of the pairs. `all` are the embeddings of the global batch. */
static dt_value distances(dt_value embedding, dt_value all) {
    static const dt_dot_attr dot = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    dt_value cosine = dt_dot_general(embedding, all, &dot);
    return dt_maximum(dt_subtract(dt_like(cosine, 1), cosine), dt_like(cosine, 0));
}

/* Emits the labels, (B), as integers. Fractions are cut off, as in Keras. */
static dt_value labels(const dt_loss_call_args *c) {
    dt_value label = dt_class_numbers(c->target);
    const dt_dtype dtype = dt_type_of_value(label).dtype;
    return dtype == DT_INT64 || dtype == DT_UINT64 ? label : dt_convert(label, DT_INT32);
}

static pairs pairs_of(const dt_loss_call_args *c) {
    const struct circle *o = c->args;
    dt_trace *t = c->prediction.trace;
    pairs p = {.distance = distances(c->prediction, dt_all_gather(c->prediction, 0))};
    if (!p.distance.trace) return p; /* tracing has failed before */
    dt_type type = dt_type_of_value(p.distance);
    type.dtype = DT_INT32;
    int64_t rows = 0;
    dt_value label = labels(c), number = dt_iota(t, &type, 1),
             examples = dt_all_reduce(DT_SUM, dt_dim_value(c->prediction, 0)),
             own = dt_gather_places(c->prediction, &rows),
             is = dt_compare(number, dt_broadcast_to(examples, &type), DT_LT),
             equal = dt_compare(dt_broadcast_rows(label, &type),
                                dt_broadcast_to(dt_all_gather(label, 0), &type), DT_EQ);
    p.other = both(is, dt_compare(equal, dt_like(equal, 0), DT_EQ));
    p.same = both(is, equal);
    if (o->remove_diagonal)
        p.same = both(p.same, dt_compare(number, dt_broadcast_rows(own, &type), DT_NE));
    return p;
}

/* Emits (B): the log of the sum of exp x over the pairs that count; NEVER if no pair counts. */
static dt_value log_sum(dt_value x, dt_value counts) {
    const dt_type type = dt_type_of_value(x);
    x = dt_select(counts, x, dt_like(x, NEVER));
    dt_value most = dt_stop_gradient(dt_reduce(x, DT_REDUCE_MAX, 1u << 1));
    x = dt_exponential(dt_subtract(x, dt_broadcast_rows(most, &type)));
    return dt_add(dt_log(dt_sum_last(x)), most);
}

static dt_value rows(const dt_loss_call_args *c) {
    const struct circle *o = c->args;
    const pairs p = pairs_of(c);
    if (!p.same.trace) return (dt_value){0};
    dt_value d = p.distance, margin = dt_like(d, o->margin), gamma = dt_like(d, o->gamma),
             far = dt_maximum(dt_add(d, margin), dt_like(d, 0)),
             near = dt_maximum(dt_subtract(dt_like(d, 1 + o->margin), d), dt_like(d, 0));
    dt_value within = dt_multiply(dt_multiply(gamma, far), dt_subtract(d, margin)),
             between =
                 dt_multiply(dt_multiply(gamma, near), dt_subtract(dt_like(d, 1 - o->margin), d));
    return dt_softplus(dt_add(log_sum(within, p.same), log_sum(between, p.other)));
}

static dt_value mask(const dt_loss_call_args *c) {
    dt_value loss = rows(c);
    return dt_compare(loss, dt_like(loss, 0), DT_GT);
}

const dt_loss_row dt_loss_circle = {
    .kind = {"Circle",
             "embeddings of one label near each other, others far apart; they must have length 1: "
             "end the model with UnitNormalization",
             fields, sizeof(struct circle), (const char *const[]){"circle", NULL}},
    .pairs = true,
    .check = check,
    .rows = rows,
    .mask = mask,
};
