/*
 * collective_permute over devices, the halo exchange: what a device holds of `dim`, with the last `low` elements of the device before it in front and
 * the first `high` ones of the device behind it at the end. Below 0: as many elements of its own are cut off. Beyond the
 * first and the last device lies `fill`.
 *
 * (C1) low and high are at most what a device holds.
 */
#include "op/across.h"

#include "op/shapes.h"

static dt_status *infer(dt_infer *q)
{
    const dt_across_attr *a = q->attr;
    int64_t own = q->in[0].dim[a->dim];
    q->out = q->in[0];
    if (a->low > own || a->high > own || -a->low - a->high > own || own < 0)
        return dt_bad_shape(q, "(C1) cannot take %lld and %lld elements from neighbours that hold %s", (long long)a->low, (long long)a->high,
                            dt_text_of(&q->in[0]).s);
    q->out.dim[a->dim] += a->low + a->high;
    return NULL;
}

static int64_t at_least_0(int64_t x)
{
    return x > 0 ? x : 0;
}

/* What lies at the start of the result: the end of the neighbour before (side -1); at its end the start of the one behind (+1). */
static void from_neighbour(const dt_call *c, int side)
{
    const dt_across_attr *a = c->node->attr;
    int rank = dt_across_rank(a, c->env->replica) + side;
    const dt_view *x = &c->in[dt_across_peer(a, c->env->replica, rank)];
    dt_block b = dt_whole_block(&c->out.type);
    b.size[a->dim] = side < 0 ? at_least_0(a->low) : at_least_0(a->high);
    b.at[a->dim] = side < 0 ? 0 : c->out.type.dim[a->dim] - b.size[a->dim];
    b.from[a->dim] = side < 0 ? x->type.dim[a->dim] - b.size[a->dim] : 0;
    if (rank >= 0 && rank < dt_mesh_parts(&a->mesh, a->axes))
        dt_copy_block(&c->out, x, &b);
}

static void eval(const dt_call *c)
{
    const dt_across_attr *a = c->node->attr;
    const dt_view *own = &c->in[c->env->replica];
    dt_node splat = { .op = &dt_op_constant, .type = c->out.type, .attr = &(dt_constant_attr){ c->out.type, a->fill } };
    dt_block b = dt_whole_block(&own->type);
    dt_op_constant.eval(&(dt_call){ .node = &splat, .out = c->out });
    b.from[a->dim] = at_least_0(-a->low);
    b.at[a->dim] = at_least_0(a->low);
    b.size[a->dim] -= at_least_0(-a->low) + at_least_0(-a->high);
    dt_copy_block(&c->out, own, &b);
    from_neighbour(c, -1);
    from_neighbour(c, +1);
}

static dt_value cut(dt_value x, int dim, int64_t from, int64_t to)
{
    return dt_slice_axis(x, dim, from, to - from, 1);
}

/* `n` elements beyond x, by rank. */
static dt_value neighbour(const dt_plain_call *c, int rank, int64_t n)
{
    const dt_across_attr *a = c->node->attr;
    int own = dt_across_rank(a, c->device);
    dt_type t = dt_type_of_value(c->in[c->device]);
    int64_t size = t.dim[a->dim];
    t.dim[a->dim] = n;
    if (rank < 0 || rank >= dt_mesh_parts(&a->mesh, a->axes))
        return dt_splat(c->in[0].trace, &t, a->fill);
    dt_value x = c->in[dt_across_peer(a, c->device, rank)];
    return rank < own ? cut(x, a->dim, size - n, size) : cut(x, a->dim, 0, n);
}

static dt_value plain(const dt_plain_call *c)
{
    const dt_across_attr *a = c->node->attr;
    int64_t size = dt_type_of_value(c->in[c->device]).dim[a->dim];
    int own = dt_across_rank(a, c->device), n = 0;
    dt_value part[3];
    if (a->low > 0)
        part[n++] = neighbour(c, own - 1, a->low);
    part[n++] = cut(c->in[c->device], a->dim, at_least_0(-a->low), size - at_least_0(-a->high));
    if (a->high > 0)
        part[n++] = neighbour(c, own + 1, a->high);
    return dt_join_parts(part, n, a->dim);
}

static double bytes(const dt_across_attr *a, const dt_type *in)
{
    return (double)dt_type_bytes(in) / (double)in->dim[a->dim] * (double)(at_least_0(a->low) + at_least_0(a->high));
}

static void print(const void *attr, dt_str *out)
{
    const dt_across_attr *a = attr;
    dt_across_print(attr, out);
    dt_str_printf(out, " dim=%d low=%lld high=%lld", a->dim, (long long)a->low, (long long)a->high);
    if (a->fill != 0)
        dt_str_printf(out, " fill=%g", a->fill);
}

static const struct dt_across_row row = { plain, bytes };

const dt_op dt_op_across_collective_permute = {
    .name = "collective_permute", .about = "with the borders of the neighbours", .n_in = 1, .attr_size = sizeof(dt_across_attr), .collective = true,
    .infer = infer, .rule = dt_rule_none, .eval = eval, .print = print, .across = &row,
};
