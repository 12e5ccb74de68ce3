/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simplify: removes redundant nodes left by gradient rules and fold. One walk over the nodes in use
 * compares each with a table of rewrites. The first rewrite that matches replaces the node, and the
 * replacement is compared with the table again. Value numbering in dt_emit does the rest (common
 * subexpressions).
 *
 * Bits of results do not change: only constants are computed here, by the ops' own eval, and only
 * operations that are exactly neutral are removed (x * 1, x - 0, reshape to the same shape). x + 0
 * is not removed, because it turns -0 into 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "pass/pass.h"

typedef struct rewrite_call {
    dt_trace *t;
    const dt_graph *g; /* the old graph */
    /* [nodes of the old graph] values in the new graph; those of arguments and variables are set
     * before the walk begins */
    const dt_value *map;
    const dt_node *n;
    const dt_value *in; /* the node's inputs in the new graph, already simplified */
} rewrite_call;

static const dt_value no_value = {0};

/* ---- constants ---- */

static bool is_splat(dt_value v, double *x) {
    const dt_node *n = dt_node_of(v);
    if (!n || n->op->role != DT_ROLE_CONSTANT) return false;
    *x = ((const dt_constant_attr *)n->attr)->value;
    return true;
}

static bool is_splat_of(dt_value v, double x) {
    double y;
    return is_splat(v, &y) && x == y && signbit(x) == signbit(y);
}

/* Whether x, a value of dtype d, is exact as a double: 64-bit integers only if |x| < 2^53. */
static bool fits_splat(dt_dtype d, double x) {
    return (d != DT_INT64 && d != DT_UINT64) || fabs(x) < 9007199254740992.0;
}

static void store_scalar(dt_dtype d, double x, void *p) {
    switch (d) {
    case DT_BOOL: *(uint8_t *)p = x != 0; break;
    case DT_UINT8: *(uint8_t *)p = (uint8_t)x; break;
    case DT_INT8: *(int8_t *)p = (int8_t)x; break;
    case DT_INT16: *(int16_t *)p = (int16_t)x; break;
    case DT_INT32: *(int32_t *)p = (int32_t)x; break;
    case DT_INT64: *(int64_t *)p = (int64_t)x; break;
    case DT_UINT16: *(uint16_t *)p = (uint16_t)x; break;
    case DT_UINT32: *(uint32_t *)p = (uint32_t)x; break;
    case DT_UINT64: *(uint64_t *)p = (uint64_t)x; break;
    case DT_FLOAT16: *(uint16_t *)p = dt_half_of(x); break;
    case DT_BFLOAT16: *(uint16_t *)p = dt_bfloat_of(x); break;
    case DT_FLOAT32: *(float *)p = (float)x; break;
    case DT_FLOAT64: *(double *)p = x; break;
    }
}

static double load_scalar(dt_dtype d, const void *p) {
    switch (d) {
    case DT_BOOL:
    case DT_UINT8: return *(const uint8_t *)p;
    case DT_INT8: return *(const int8_t *)p;
    case DT_INT16: return *(const int16_t *)p;
    case DT_INT32: return *(const int32_t *)p;
    case DT_INT64: return (double)*(const int64_t *)p;
    case DT_UINT16: return *(const uint16_t *)p;
    case DT_UINT32: return *(const uint32_t *)p;
    case DT_UINT64: return (double)*(const uint64_t *)p;
    case DT_FLOAT16: return dt_half_to_double(*(const uint16_t *)p);
    case DT_BFLOAT16: return dt_bfloat_to_double(*(const uint16_t *)p);
    case DT_FLOAT32: return (double)*(const float *)p;
    case DT_FLOAT64: return *(const double *)p;
    }
    return NAN;
}

/* If all inputs of an element-wise op are splats (one number for all elements), replaces the op by
 * a splat. The op's eval computes the number. Does nothing if an input or the number is a 64-bit
 * integer that may not be exact as a double. */
static dt_value fold_splats(const rewrite_call *c) {
    /* room for one element of each input and of the result, of any type */
    int64_t cell[DT_MAX_IN + 1] = {0};
    dt_view in[DT_MAX_IN];
    double x;

    if (!dt_is_elementwise(c->n->op) || c->n->n_in == 0) return no_value;
    for (int k = 0; k < c->n->n_in; k++) {
        dt_dtype d = dt_type_of_value(c->in[k]).dtype;
        if (!is_splat(c->in[k], &x) || !fits_splat(d, x)) return no_value;
        in[k] = (dt_view){.type = dt_scalar_type(d), .data = &cell[k]};
        store_scalar(d, x, &cell[k]);
    }
    dt_node one = *c->n;
    dt_env env = {.replicas = 1};
    one.type = dt_scalar_type(c->n->type.dtype);
    c->n->op->eval(&(dt_call){
        .node = &one, .env = &env, .in = in, .out = {.type = one.type, .data = &cell[DT_MAX_IN]}});
    x = load_scalar(c->n->type.dtype, &cell[DT_MAX_IN]);
    return fits_splat(c->n->type.dtype, x) ? dt_splat(c->t, &c->n->type, x) : no_value;
}

/* Emits a splat of the new shape in place of a reshaped, broadcast or transposed splat. */
static dt_value splat_in_shape(const rewrite_call *c) {
    double x;
    return is_splat(c->in[0], &x) ? dt_splat(c->t, &c->n->type, x) : no_value;
}

/* ---- neutral operations ---- */

static dt_value times_one(const rewrite_call *c) {
    return is_splat_of(c->in[1], 1) ? c->in[0] : is_splat_of(c->in[0], 1) ? c->in[1] : no_value;
}

static dt_value over_one(const rewrite_call *c) {
    return is_splat_of(c->in[1], 1) ? c->in[0] : no_value;
}

/* Replaces x - 0 by x, which is right for x = -0 as well. (x + 0 would be 0 for x = -0.) */
static dt_value minus_zero(const rewrite_call *c) {
    return is_splat_of(c->in[1], 0) ? c->in[0] : no_value;
}

static dt_value same_type(const rewrite_call *c) {
    dt_type from = dt_type_of_value(c->in[0]);
    return dt_type_equal(&from, &c->n->type) ? c->in[0] : no_value;
}

/* Returns the input of a transpose or a broadcast that changes neither the order of dimensions nor
 * the type; otherwise no value. Types alone do not show that the dimensions of a square matrix are
 * exchanged. */
static dt_value same_order(const rewrite_call *c, const int8_t *dims) {
    for (int d = 0; d < dt_type_of_value(c->in[0]).rank; d++)
        if (dims[d] != d) return no_value;
    return same_type(c);
}

static dt_value same_broadcast(const rewrite_call *c) {
    return same_order(c, ((const dt_broadcast_attr *)c->n->attr)->dims);
}

static dt_value same_transpose(const rewrite_call *c) {
    return same_order(c, ((const dt_transpose_attr *)c->n->attr)->perm);
}

/* Removes stop_gradient: gradients have been derived before this pass, so it has no effect any
 * more. */
static dt_value no_gradient(const rewrite_call *c) { return c->in[0]; }

/* ---- two ops of one kind, one after the other ---- */

/* If the op's first input is a result of the same op, returns the first input of that one,
 * otherwise no value. Negation uses it directly: -(-x) is x. */
static dt_value twice(const rewrite_call *c) {
    const dt_node *inner = dt_node_of(c->in[0]);
    if (!inner || inner->op != c->n->op) return no_value;
    return (dt_value){.trace = c->t, .node = inner->in[0], .generation = c->in[0].generation};
}

static dt_value reshape_of_reshape(const rewrite_call *c) {
    dt_value from = twice(c);
    return from.trace ? dt_reshape(from, c->n->type.rank, c->n->type.dim) : no_value;
}

static dt_value broadcast_of_broadcast(const rewrite_call *c) {
    dt_value from = twice(c);
    int8_t dims[DT_MAX_RANK] = {0};
    if (!from.trace) return no_value;
    const int8_t *first = ((const dt_broadcast_attr *)dt_node_of(c->in[0])->attr)->dims,
                 *second = ((const dt_broadcast_attr *)c->n->attr)->dims;
    for (int d = 0; d < dt_type_of_value(from).rank; d++) dims[d] = second[first[d]];
    return dt_broadcast_in_dim(from, &c->n->type, dims);
}

/* ---- one replica ---- */

/* Whether the segments of a segment op are replicas and there is a single one, which has all
 * rows. */
static bool has_one_segment(const rewrite_call *c) {
    const dt_segment_attr *a = c->n->attr;
    return a->cut == DT_CUT_REPLICAS && a->count == 1;
}

static dt_value reduce_of_one(const rewrite_call *c) {
    const dt_reduce_attr *a = &((const dt_segment_attr *)c->n->attr)->reduce;
    return has_one_segment(c)
               ? dt_reshape(dt_reduce(c->in[0], a->kind, a->dims), c->n->type.rank, c->n->type.dim)
               : no_value;
}

static dt_value broadcast_of_one(const rewrite_call *c) {
    const dt_type *t = &c->n->type;
    int8_t dims[DT_MAX_RANK];
    for (int d = 0; d < DT_MAX_RANK; d++) dims[d] = (int8_t)(d + 1);
    return has_one_segment(c)
               ? dt_broadcast_in_dim(dt_reshape(c->in[0], t->rank - 1, t->dim + 1), t, dims)
               : no_value;
}

/* ---- sizes, and the table of rewrites ---- */

/* Emits a size that does not depend on the batch as a constant. Emits any other size as that of
 * dimension 0 of the first argument in which that dimension has the same size, so that the value
 * whose size is asked need not be computed. Returns no value if there is no such argument. */
static dt_value known_size(const rewrite_call *c) {
    int64_t size = dt_type_of_value(c->in[0]).dim[((const dt_axis_attr *)c->n->attr)->axis];
    if (size >= 0) return dt_scalar(c->t, c->n->type.dtype, (double)size);
    for (int i = 0; i < c->g->n_args; i++) {
        const dt_type *type = &c->g->node[c->g->arg[i].node].type;
        if (type->rank > 0 && type->dim[0] == size)
            return dt_dim_value(c->map[c->g->arg[i].node], 0);
    }
    return no_value;
}

typedef struct rewrite {
    const dt_op *op; /* the op whose nodes the rewrite applies to; NULL: nodes of any op */
    dt_value (*make)(const rewrite_call *c);
} rewrite;
static const rewrite rewrites[] = {
    {.op = NULL, .make = fold_splats},
    {.op = &dt_op_reshape, .make = splat_in_shape},
    {.op = &dt_op_broadcast_in_dim, .make = splat_in_shape},
    {.op = &dt_op_transpose, .make = splat_in_shape},
    {.op = &dt_op_multiply, .make = times_one},
    {.op = &dt_op_divide, .make = over_one},
    {.op = &dt_op_subtract, .make = minus_zero},
    {.op = &dt_op_reshape, .make = same_type},
    {.op = &dt_op_convert, .make = same_type},
    {.op = &dt_op_broadcast_in_dim, .make = same_broadcast},
    {.op = &dt_op_transpose, .make = same_transpose},
    {.op = &dt_op_stop_gradient, .make = no_gradient},
    {.op = &dt_op_reshape, .make = reshape_of_reshape},
    {.op = &dt_op_negate, .make = twice},
    {.op = &dt_op_broadcast_in_dim, .make = broadcast_of_broadcast},
    {.op = &dt_op_segment_reduce, .make = reduce_of_one},
    {.op = &dt_op_segment_broadcast, .make = broadcast_of_one},
    {.op = &dt_op_get_dimension_size, .make = known_size},
};

/* ---- walking over the graph ---- */

static bool *needed_nodes(const dt_graph *g) {
    bool *need = dt_alloc((size_t)g->n_nodes + 1);

    for (int i = 0; i < g->n_results; i++) need[g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) need[g->state[i].update] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; need[i] && k < g->node[i].n_in; k++) need[g->node[i].in[k]] = true;
    return need;
}

/* A walk over the graph. A value that no rewrite changes is final. Results of rewrites, and inputs
 * that rewrites have made for them, are examined again. */
typedef struct walk {
    const dt_graph *g;
    dt_trace *t;
    dt_value *map; /* [nodes of g] values in the new graph */
    bool *settled; /* [values of t] whether the value is final */
    int cap_settled;
} walk;

static dt_value simplify_value(walk *w, dt_value v) {
    for (int had = w->cap_settled; v.trace && had <= v.node; had = w->cap_settled) {
        DT_GROW(w->settled, w->cap_settled, v.node + 1);
        memset(w->settled + had, 0, (size_t)(w->cap_settled - had) * sizeof *w->settled);
    }
    if (v.trace) w->settled[v.node] = true;
    return v;
}

static bool is_settled(const walk *w, dt_value v) {
    return v.node < w->cap_settled && w->settled[v.node];
}

/* Returns the result of the first rewrite that applies. If none applies, the result has no
 * trace. */
static dt_value rewritten(const walk *w, const dt_node *n, const dt_value *in) {
    const rewrite_call c = {.t = w->t, .g = w->g, .map = w->map, .n = n, .in = in};
    dt_value v = no_value;
    for (size_t r = 0; !v.trace && !dt_trace_error(w->t) && r < sizeof rewrites / sizeof *rewrites;
         r++)
        v = !rewrites[r].op || rewrites[r].op == n->op ? rewrites[r].make(&c) : no_value;
    return v;
}

/* Simplifies a value that a rewrite has added to the trace, and the inputs that the rewrite has
 * added for it. */
static dt_value simplest(walk *w, dt_value v) {
    const dt_node *n = dt_node_of(v);
    dt_value in[DT_MAX_IN];
    if (!n || n->n_in == 0 || is_settled(w, v)) return v;
    for (int k = 0; k < n->n_in; k++)
        in[k] =
            simplest(w, (dt_value){.trace = w->t, .node = n->in[k], .generation = v.generation});
    dt_value by = rewritten(w, n, in);
    if (!by.trace) return simplify_value(w, dt_emit(w->t, n->op, in, n->n_in, n->attr));
    return by.node == v.node ? simplify_value(w, v) : simplest(w, by);
}

static dt_value simplified(walk *w, int i) {
    const dt_node *n = &w->g->node[i];
    dt_value in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) in[k] = w->map[n->in[k]];
    dt_value by = rewritten(w, n, in);
    return by.trace ? simplest(w, by)
                    : simplify_value(w, dt_emit(w->t, n->op, in, n->n_in, n->attr));
}

dt_status *dt_simplify(const dt_graph *g, dt_graph **out) {
    walk w = {.g = g,
              .t = dt_trace_create(g->name),
              .map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *w.map))};
    DT_LOCAL bool *need = needed_nodes(g);

    dt_trace_import(w.t, g, w.map);
    for (int i = 0; i < g->n_nodes; i++) {
        if (w.map[i].trace || !need[i]) continue;
        dt_trace_path(w.t, g->node[i].path);
        w.map[i] = simplified(&w, i);
    }
    dt_trace_path(w.t, "");
    dt_trace_export(w.t, g, w.map);
    free(w.map);
    free(w.settled);
    return dt_trace_end(w.t, out);
}
