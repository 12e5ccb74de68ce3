/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CTC: -log of the probability that a sequence of scores spells a shorter sequence of labels. Every
 * step names a class, or 0, the blank. Repetitions of a class are merged, then blanks are removed.
 * Labels (B, L) are padded with 0 at the end.
 *
 * The probability is a sum over all spellings, which is computed state by state: states are the
 * labels with a blank before, between and after them, S = 2 L + 1, and alpha[s] is the log of the
 * probability of all beginnings that end in state s. A step stays, takes the next state, or leaves
 * out a blank between two labels that differ.
 *
 *     alpha[s] = log p[z[s]] + log(exp alpha[s] + exp alpha[s - 1] + exp alpha[s - 2])
 *
 * Labels that need more steps than there are cannot be spelled, so their loss is infinite.
 *
 * A. Graves et al., Connectionist Temporal Classification (2006).
 */
#include <math.h>

#include "model/layer/recurrent.h"

struct ctc {
    dt_loss_head head;
};

static const dt_field fields[] = {DT_LOSS_FIELDS(struct ctc), DT_END};

/* A finite number in place of log 0, so that the difference of two of them is finite, too. */
#define NEVER (-1e30)
/* The most steps of a sequence. It is limited, since ops are emitted for each step. */
enum { MOST_STEPS = 4096 };

static dt_status *check(const void *args, const dt_type *target, const dt_type *prediction) {
    (void)args;
    if (prediction->rank != 3 || !dt_dtype_is_float(prediction->dtype) || target->rank != 2)
        return dt_fail(DT_E_LABELS, NULL,
                       "CTC takes labels (B, labels) and scores (B, steps, classes): targets are "
                       "%s, predictions %s",
                       dt_text_of(target).s, dt_text_of(prediction).s);
    if (target->dtype == DT_BOOL)
        return dt_fail(DT_E_LABELS, NULL, "labels must be numbers, got %s", dt_text_of(target).s);
    if (prediction->dim[1] > MOST_STEPS)
        return dt_fail(DT_E_LABELS, NULL, "CTC takes at most %d steps, got %lld", MOST_STEPS,
                       (long long)prediction->dim[1]);
    return NULL;
}

/* Emits the class numbers of labels, (B, L). A class without a score is reported when the step
 * runs. */
static dt_value labels_of(const dt_loss_call_args *c) {
    const int64_t classes = dt_dim(c->prediction, 2);
    const dt_type all = dt_type_of(DT_INT32, 1, &classes);
    return dt_gather(dt_iota(c->target.trace, &all, 0), dt_convert(c->target, DT_INT32));
}

/* Emits x (B, n), padded with `value` to (B, n + low + high + interior (n - 1)). A negative low or
 * high removes elements. */
static dt_value padded(dt_value x, double value, int64_t low, int64_t high, int64_t interior) {
    return dt_pad(x, &(dt_pad_attr){.value = value, .dim[1] = {low, high, interior}});
}

/* Emits x shifted by `by` states, so that each state has the value of an earlier one; `first` where
 * there is none. */
static dt_value earlier(dt_value x, int64_t by, double first) {
    return padded(x, first, by, -by, 0);
}

static dt_value log_softmax(dt_value x) {
    const dt_type type = dt_type_of_value(x);
    dt_value most = dt_stop_gradient(dt_reduce(x, DT_REDUCE_MAX, 1u << 2));
    x = dt_subtract(x, dt_broadcast_rows(most, &type));
    return dt_subtract(x, dt_broadcast_rows(dt_log(dt_sum_last(dt_exponential(x))), &type));
}

/* Emits log p[z[s]] at each step, (B, T, S), for states z (B, S), which are class numbers as
 * floats. */
static dt_value scores_of(dt_value prediction, dt_value z) {
    static const dt_dot_attr dot = {
        .n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    const dt_type p = dt_type_of_value(prediction), states = dt_type_of_value(z);
    const dt_type each =
        dt_type_of(DT_INT32, 3, (int64_t[]){states.dim[0], states.dim[1], p.dim[2]});
    dt_value is = dt_compare(dt_iota(z.trace, &each, 2),
                             dt_broadcast_rows(dt_convert(z, DT_INT32), &each), DT_EQ);
    return dt_dot_general(log_softmax(prediction), dt_convert(is, p.dtype), &dot);
}

/* Emits the log of the sum of exp x[i]. No gradient flows through the maximum that is
 * subtracted. */
static dt_value log_sum(const dt_value *x, int n) {
    dt_value most = x[0], sum = {0};
    for (int i = 1; i < n; i++) most = dt_maximum(most, x[i]);
    most = dt_stop_gradient(most);
    for (int i = 0; i < n; i++) {
        dt_value part = dt_exponential(dt_subtract(x[i], most));
        sum = i ? dt_add(sum, part) : part;
    }
    return dt_add(dt_log(sum), most);
}

/* Emits alpha of the last step, (B, S). may: states that can be reached by leaving out a blank. */
static dt_value last_alpha(dt_value scores, dt_value may) {
    /* If one of them has no trace, tracing has failed before. */
    if (!scores.trace || !may.trace) return (dt_value){0};
    const int64_t steps = dt_dim(scores, 1);
    const dt_type states = dt_type_of_value(may);
    dt_value *step = dt_arena_array(dt_trace_arena(scores.trace), dt_value, steps);
    const dt_type numbers = dt_type_of(DT_INT32, 2, states.dim);
    dt_value s = dt_iota(scores.trace, &numbers, 1);
    dt_split_steps(scores, steps, step);
    dt_value never = dt_like(step[0], NEVER);
    dt_value alpha = dt_select(dt_compare(s, dt_like(s, 1), DT_LE), step[0], never);
    for (int64_t t = 1; t < steps; t++) {
        dt_value over = dt_select(may, earlier(alpha, 2, NEVER), never);
        dt_value from[] = {alpha, earlier(alpha, 1, NEVER), over};
        alpha = dt_add(log_sum(from, 3), step[t]);
    }
    return alpha;
}

/* Emits the log of the probability of ending in the last label or in the blank after it, (B). */
static dt_value spelled(dt_value alpha, dt_value label) {
    const dt_type states = dt_type_of_value(alpha);
    const dt_type numbers = dt_type_of(DT_INT32, 2, states.dim);
    dt_value s = dt_iota(alpha.trace, &numbers, 1);
    dt_value is_label = dt_convert(dt_compare(label, dt_like(label, 0), DT_NE), DT_FLOAT32);
    dt_value n = dt_sum_last(is_label);
    n = dt_convert(dt_add(n, n), DT_INT32);
    dt_value from_end = dt_subtract(dt_broadcast_rows(n, &numbers), s);
    dt_value ends = dt_minimum(dt_compare(from_end, dt_like(s, 0), DT_GE),
                               dt_compare(from_end, dt_like(s, 1), DT_LE));
    dt_value at = dt_select(ends, alpha, dt_like(alpha, NEVER));
    dt_value most = dt_stop_gradient(dt_reduce(at, DT_REDUCE_MAX, 1u << 1));
    dt_value part = dt_exponential(dt_subtract(at, dt_broadcast_rows(most, &states)));
    return dt_add(dt_log(dt_sum_last(part)), most);
}

static dt_value rows(const dt_loss_call_args *c) {
    dt_value label = labels_of(c), z = padded(dt_convert(label, DT_FLOAT32), 0, 1, 1, 1);
    dt_value may =
        dt_minimum(dt_compare(z, dt_like(z, 0), DT_NE), dt_compare(z, earlier(z, 2, 0), DT_NE));
    dt_value log_p = spelled(last_alpha(scores_of(c->prediction, z), may), label);
    dt_value is_possible = dt_compare(log_p, dt_like(log_p, NEVER / 2), DT_GT);
    return dt_select(is_possible, dt_negate(log_p), dt_like(log_p, INFINITY));
}

const dt_loss_row dt_loss_ctc = {
    .kind = {"CTC", "-log p of a sequence of labels, padded with 0, spelled by a longer one",
             fields, sizeof(struct ctc), (const char *const[]){"ctc", NULL}},
    .sparse = true,
    .expects = {DT_SCORES, 0, "logits", "linear"},
    .check = check,
    .rows = rows,
};
