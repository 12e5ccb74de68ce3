/* replica_id: y = the number of the replica that computes it, an int32 scalar, from 0. */
#include "op/cells.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q)
{
    q->out = dt_scalar_type(DT_INT32);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule)
{
    (void)in, (void)out, (void)attr;
    dt_rule_whole(rule);
}

static void eval(const dt_call *c)
{
    dt_cell_set_int(&c->out, 0, c->env->replica);
}

const dt_op dt_op_replica_id = {
    .name = "replica_id", .about = "the number of this replica", .n_in = 0, .varying = true,
    .infer = infer, .rule = rule, .eval = eval,
};
