/* dynamic_slice by the device's own place: of a value that all along `axes` hold, each keeps its part of `dim`. Nothing travels. */
#include "op/across.h"

static dt_status *infer(dt_infer *q)
{
    const dt_across_attr *a = q->attr;
    q->out = q->in[0];
    q->out.dim[a->dim] /= dt_mesh_parts(&a->mesh, a->axes);
    return NULL;
}

static void eval(const dt_call *c)
{
    const dt_across_attr *a = c->node->attr;
    dt_block b = dt_whole_block(&c->out.type);
    b.from[a->dim] = dt_across_rank(a, c->env->replica) * b.size[a->dim];
    dt_copy_block(&c->out, &c->in[c->env->replica], &b);
}

static dt_value plain(const dt_plain_call *c)
{
    const dt_across_attr *a = c->node->attr;
    return dt_part_of(c->in[c->device], a->dim, dt_across_rank(a, c->device), dt_mesh_parts(&a->mesh, a->axes));
}

static double bytes(const dt_across_attr *a, const dt_type *in)
{
    (void)a, (void)in;
    return 0;
}

static void print(const void *attr, dt_str *out)
{
    dt_across_print(attr, out);
    dt_str_printf(out, " dim=%d", ((const dt_across_attr *)attr)->dim);
}

static const struct dt_across_row row = { plain, bytes };

const dt_op dt_op_across_own_part = {
    .name = "dynamic_slice", .about = "the device's own part", .n_in = 1, .attr_size = sizeof(dt_across_attr), .collective = true,
    .infer = infer, .rule = dt_rule_none, .eval = eval, .print = print, .across = &row,
};
