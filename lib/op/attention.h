/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of attention and its gradients. */
#ifndef DT_OP_ATTENTION_H
#define DT_OP_ATTENTION_H

#include "op/partition.h"

/* One application of attention to arrays. All leading dimensions are counted as one, `examples`. */
typedef struct dt_attending {
    const dt_attention_attr *attr;
    const dt_view *query, *key, *value, *position;
    int64_t examples, queries, keys, heads, key_heads, key_size, value_size;
} dt_attending;

/* Checks constraints (C1) to (C3) of attention. `position` is the index of the input that holds
 * positions. Sets *out to the type of attention's result. */
dt_status *dt_attention_check(const dt_infer *q, int position, dt_type *out) DT_MUST_USE;
/* Fills in the factors of the query, the key, the value and the position, and those of the leading
 * dimensions of other inputs, but none of `out`. The first factors are the leading dimensions; then
 * come queries, heads, and features of values. */
void dt_attention_rule_inputs(const dt_type *in, int position, dt_rule *rule);
void dt_attention_print(const void *attr, dt_str *out);

dt_attending dt_attention_of(const dt_call *c, int position);
/* Returns the offset in v of the first feature of a row, for a head of queries. `row` is the index
 * of a query or of a key, depending on the view v. If v has fewer heads, the offset is in the head
 * that serves these queries. */
int64_t dt_attention_at(const dt_attending *a, const dt_view *v, int64_t example, int64_t row,
                        int64_t head);
/* Returns x, rounded to bfloat16 if the attributes ask for that. x is an attention weight, or the
 * gradient of a score, that is an operand of a product. */
double dt_attention_multiplied(const dt_attending *a, double x);
/* Sets p[keys] to the attention weights of a query; all are 0 if it may not attend to any key. */
void dt_attention_shares(const dt_attending *a, int64_t example, int64_t query, int64_t head,
                         double *p);

/* How often a kernel computes products of queries and keys (`scores`) and of weights and values
 * (`taken`), and the vector operations and exponentials for each score. */
typedef struct dt_attention_work {
    double scores, taken, vector, exponentials;
} dt_attention_work;
dt_cost dt_attention_cost(const dt_call *c, int position, dt_attention_work work);
dt_value dt_attention_grad_decompose(dt_partition_call *c);

#endif
