/*
 * gather from a part of a table: inputs are rows `first` .. of a table of `low` rows, row numbers in the whole table, and `first`, an int64. Numbers of
 * other parts' rows give 0, so that the sum over all parts is the gather from the whole; numbers that the whole lacks are what they are there.
 */
#include "op/across.h"

#include "op/gather.h"

static dt_status *infer(dt_infer *q)
{
    return dt_gather_infer(q, &q->out);
}

static void eval(const dt_call *c)
{
    dt_gather_eval(c, *(const int64_t *)c->in[2].data, ((const dt_across_attr *)c->node->attr)->low);
}

static void print(const void *attr, dt_str *out)
{
    dt_str_printf(out, "of %lld rows", (long long)((const dt_across_attr *)attr)->low);
}

const dt_op dt_op_across_gather_part = {
    .name = "gather_part", .about = "rows of a part of a table by number", .n_in = 3, .attr_size = sizeof(dt_across_attr), .linear = 1,
    .infer = infer, .rule = dt_gather_rule, .cost = dt_gather_cost, .eval = eval, .print = print,
};
