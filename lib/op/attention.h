/* SPDX-License-Identifier: Apache-2.0 */
/* What attention and its gradients share. */
#ifndef DT_OP_ATTENTION_H
#define DT_OP_ATTENTION_H

#include "op/partition.h"

/* One application, its leading dimensions taken as one. */
typedef struct dt_attending {
    const dt_attention_attr *attr;
    const dt_view *query, *key, *value, *position;
    int64_t examples, queries, keys, heads, key_heads, key_size, value_size;
} dt_attending;

/* Constraints (C1) to (C3) of attention; `position` is the number of that input. *out is the type
 * of what attention gives. */
dt_status *dt_attention_check(const dt_infer *q, int position, dt_type *out) DT_MUST_USE;
/* Factors of the inputs: all but `out`. The first ones are the leading dimensions, then queries,
 * heads, features of values. */
void dt_attention_rule_inputs(const dt_type *in, int position, dt_rule *rule);
void dt_attention_print(const void *attr, dt_str *out);

dt_attending dt_attention_of(const dt_call *c, int position);
/* The first feature of a query (row: a query), key or value (row: a key) of a head of queries. */
int64_t dt_attention_at(const dt_attending *a, const dt_view *v, int64_t example, int64_t row,
                        int64_t head);
/* A share, or the gradient of a score, as it is multiplied: rounded to bfloat16 where the op is
 * marked so. */
double dt_attention_multiplied(const dt_attending *a, double x);
/* p[keys]: what the query takes of each key; all 0 when it may look at none. */
void dt_attention_shares(const dt_attending *a, int64_t example, int64_t query, int64_t head,
                         double *p);

/* How often a kernel forms the scores' kind of product (query by key) and the values' kind (score
 * by value), and what its vector unit does for each score. */
typedef struct dt_attention_work {
    double scores, taken, vector, exponentials;
} dt_attention_work;
dt_cost dt_attention_cost(const dt_call *c, int position, dt_attention_work work);
/* In products and softmax (attention_decompose.c). */
dt_value dt_attention_decompose(dt_partition_call *c);
dt_value dt_attention_grad_decompose(dt_partition_call *c);

#endif
