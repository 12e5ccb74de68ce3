/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, texts, costs and rules that many ops share: see shapes.h. */
#include "op/shapes.h"

#include <stdio.h>

bool dt_is_batch(const dt_type *t, int i) { return t->dim[i] < 0; }

dt_type dt_stack_type(int count, const dt_type *entry) {
    dt_type t = {.dtype = entry->dtype, .rank = entry->rank + 1, .dim = {count}};
    for (int d = 0; d < entry->rank && d + 1 < DT_MAX_RANK; d++) t.dim[d + 1] = entry->dim[d];
    return t;
}

uint32_t dt_all_dims(int rank) { return (1u << rank) - 1; }

dt_status *dt_check_result(const dt_infer *q, int c) {
    const dt_type *t = &q->out;
    if (t->rank < 0 || t->rank > DT_MAX_RANK)
        return dt_bad_shape(q, "(C%d) makes %d dimensions; there can be at most %d", c, t->rank,
                            DT_MAX_RANK);
    for (int i = 1; i < t->rank; i++)
        if (dt_is_batch(t, i))
            return dt_bad_shape(
                q, "(C%d) makes %s with the batch at dimension %d; it can only be dimension 0", c,
                dt_text_of(t).s, i);
    return NULL;
}

dt_status *dt_infer_same(dt_infer *q) {
    q->out = q->in[0];
    return NULL;
}

void dt_rule_none(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)out, (void)attr;
    dt_rule_whole(rule);
}

void dt_rule_rows(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < in[0].rank - 1; d++) {
        for (int i = 0; i < DT_MAX_IN; i++) rule->in[i][d] = (int8_t)d;
        rule->out[d] = (int8_t)d;
    }
}

dt_value dt_stack_same(const dt_fold_call *c) {
    return dt_emit(c->trace, c->node->op, c->in, c->node->n_in, c->node->attr);
}

void dt_cost_none(const dt_call *c, dt_cost *cost) {
    (void)c;
    *cost = (dt_cost){0};
}

/* Returns the number of bytes of all inputs and the output. */
static double bytes_of(const dt_call *c) {
    double bytes = (double)dt_type_bytes(&c->out.type);
    for (int i = 0; i < c->node->n_in; i++) bytes += (double)dt_type_bytes(&c->in[i].type);
    return bytes;
}

dt_cost dt_cost_vector(const dt_call *c, double operations) {
    return (dt_cost){.vector = operations, .bytes = bytes_of(c)};
}

dt_cost dt_cost_products(const dt_call *c, const dt_matrix_work *product, int n) {
    dt_cost cost = {.bytes = bytes_of(c)};
    for (int i = 0; i < n; i++) {
        const dt_matrix_work *p = &product[i];
        cost.product[i] = *p;
        cost.product[i].dtype = c->in[0].type.dtype;
        cost.flops += 2 * p->count * (double)p->m * (double)p->k * (double)p->n;
    }
    return cost;
}

void dt_cost_segments(dt_cost *cost, int count) {
    dt_matrix_work *p = &cost->product[0];
    p->count *= count;
    p->k = (p->k + count - 1) / count;
}

dt_cost dt_cost_of(const dt_call *c) {
    const dt_op *op = c->node->op;
    dt_cost cost;
    if (!op->cost)
        return dt_cost_vector(c, (op->operations > 0 ? op->operations : 1) *
                                     (double)dt_type_elements(&c->out.type));
    op->cost(c, &cost);
    return cost;
}

void dt_print_dims(dt_str *out, const char *label, const int8_t *dims, int n) {
    dt_str_printf(out, "%s[", label);
    for (int i = 0; i < n; i++) dt_str_printf(out, "%s%d", i ? "," : "", dims[i]);
    dt_str_putc(out, ']');
}

void dt_print_axis(const void *attr, dt_str *out) {
    dt_str_printf(out, "axis=%lld", (long long)((const dt_axis_attr *)attr)->axis);
}

void dt_print_index(const void *attr, dt_str *out) {
    dt_str_printf(out, "%lld", (long long)((const dt_index_attr *)attr)->index);
}
