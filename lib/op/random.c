/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: numbers that are a pure function of (key, step, example, place): a row gets the same
 * numbers whichever device computes it, and whatever rows are next to it.
 *
 *     step      int64 scalar     counts the draws of one generator
 *     example   (B) of integers  see example_id
 *     y         (B, ...)         uniform in [0, 1) with 24 bits, or normal with mean 0 and deviation 1
 *
 * Element k of example i in step s is drawn from Philox's block (key; k, s * 2^32 + i). No gradient
 * flows.
 *
 * (C1) step is one int64, example of integers (B).
 * (C2) y is of floats; its dimension 0 is B.
 *
 * call: dt_value dt_stateless_uniform(dt_value x, dt_value counter, uint64_t seed)
 * computes: Floats in [0, 1) that depend on the seed, the counter, the example's number in the
 * global batch and the place in the example, and so not
 *   on the number of replicas. Increase `counter` from step to step, for example as a variable;
 *   with a constant, each step has the same numbers.
 * shape: that of x, and its dtype
 * expects: x holds floats, and its first dimension is the batch; counter is an int64 scalar
 * gradient: none
 * stablehlo: integer ops (Philox)
 *
 * call: dt_value dt_stateless_normal(dt_value x, dt_value counter, uint64_t seed)
 * computes: The same, normally distributed: mean 0, standard deviation 1.
 * shape: that of x, and its dtype
 * expects: as dt_stateless_uniform
 * gradient: none
 * stablehlo: integer ops (Philox)
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include "base/random.h"

static dt_status *infer(dt_infer *q) {
    const dt_random_attr *a = q->attr;
    const dt_type *step = &q->in[0], *example = &q->in[1];
    bool numbers =
        !dt_dtype_is_float(example->dtype) && example->dtype != DT_BOOL && example->rank == 1;
    if (step->rank != 0 || step->dtype != DT_INT64 || !numbers)
        return dt_bad_shape(q, "(C1) expected one int64 and a vector of integers, got %s and %s",
                            dt_text_of(step).s, dt_text_of(example).s);
    q->out = a->type;
    DT_TRY(dt_check_result(q, 2));
    if (!dt_dtype_is_float(a->type.dtype) || a->type.rank < 1 || a->type.dim[0] != example->dim[0])
        return dt_bad_shape(q, "(C2) cannot draw %s for %s", dt_text_of(&a->type).s,
                            dt_text_of(example).s);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)out, (void)attr;
    dt_rule_whole(rule);
    rule->in[1][0] = rule->out[0] = 0;
}

static double draw(const dt_random_attr *a, uint64_t place, uint64_t example) {
    dt_random r = {.key = a->key, .counter = {place, example}, .used = 4};
    return a->kind == DT_RANDOM_NORMAL ? dt_random_normal(&r)
                                       : (double)(dt_random_u32(&r) >> 8) * 0x1p-24;
}

static void eval(const dt_call *c) {
    const dt_random_attr *a = c->node->attr;
    int64_t rows = c->out.type.dim[0], width = rows ? dt_type_elements(&c->out.type) / rows : 0;
    uint64_t step = (uint64_t)dt_cell_int(&c->in[0], 0) << 32;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < width; k++)
            dt_cell_set_double(&c->out, i * width + k,
                               draw(a, (uint64_t)k, step + (uint64_t)dt_cell_int(&c->in[1], i)));
}

/* Operations: ten rounds of two wide products, each of which takes eleven 32-bit operations, and
 * six sums; a normal number needs two such words. */
static void cost(const dt_call *c, dt_cost *cost) {
    const dt_random_attr *a = c->node->attr;
    /* A program for a chip uses all four words of a block, as RngBitGenerator does. */
    double block = 10 * (2 * 11 + 6) / 4.0,
           shape = dt_op_log.operations + dt_op_sqrt.operations + dt_op_cosine.operations;
    *cost = dt_cost_vector(c, (block + 3 + (a->kind == DT_RANDOM_NORMAL ? shape : 0)) *
                                  (double)dt_type_elements(&c->out.type));
}

static void print(const void *attr, dt_str *out) {
    const dt_random_attr *a = attr;
    dt_str_printf(out, "%s key=%llx", a->kind == DT_RANDOM_NORMAL ? "normal" : "uniform",
                  (unsigned long long)a->key);
}

const dt_op dt_op_random = {
    .name = "random",
    .n_in = 2,
    .attr = {.size = sizeof(dt_random_attr),
             .type = 1 + offsetof(dt_random_attr, type),
             .number = 1 + offsetof(dt_random_attr, key),
             .print = print},
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .forms.stablehlo = dt_hlo_random,
};
