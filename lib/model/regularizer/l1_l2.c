/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of absolute values and of squares: L1, L2, and both. */
#include "model/model.h"

struct norms {
    double l1, l2;
};

static const dt_field l1_fields[] = {DT_REAL(struct norms, l1, .preset = "0.01", .max = INFINITY,
                                             .help = "factor of the sum of |x|"),
                                     DT_END};
static const dt_field l2_fields[] = {DT_REAL(struct norms, l2, .preset = "0.01", .max = INFINITY,
                                             .help = "factor of the sum of x^2"),
                                     DT_END};
static const dt_field both_fields[] = {
    DT_REAL(struct norms, l1, .preset = "0", .max = INFINITY, .help = "factor of the sum of |x|"),
    DT_REAL(struct norms, l2, .preset = "0", .max = INFINITY, .help = "factor of the sum of x^2"),
    DT_END};

static dt_value each(const void *args, dt_value x) {
    const struct norms *n = args;
    dt_value one = dt_multiply(dt_abs(x), dt_like(x, n->l1)),
             two = dt_multiply(dt_multiply(x, x), dt_like(x, n->l2));
    return n->l2 == 0 ? one : n->l1 == 0 ? two : dt_add(one, two);
}

#define NORMS(row, class_name, words, table, ...)                                                  \
    const dt_regularizer dt_regularizer_##row = {                                                  \
        .kind = {class_name, words, table, sizeof(struct norms),                                   \
                 (const char *const[]){__VA_ARGS__, NULL}},                                        \
        .each = each,                                                                              \
    };

NORMS(l1, "L1", "factor times the sum of absolute values", l1_fields, "l1")
NORMS(l2, "L2", "factor times the sum of squares", l2_fields, "l2")
NORMS(l1_l2, "L1L2", "both", both_fields, "l1_l2", "l1l2")
