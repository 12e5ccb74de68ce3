/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes float16 and bfloat16 in float32 on this machine. An op with a 16-bit result becomes the
 * op on float32 with a rounded result (exec/storage.c stores it in 16 bits again):
 *
 *     y = dot_general(x, w) : bf16        becomes
 *     y = reduce_precision(dot_general(x, w)) : f32, 7 mantissa bits
 *
 * The interpreter defines these types in this way. So sums are float32, every kernel can be used,
 * and roundings are fused with adjacent steps. Ops that only move elements need no rounding.
 * Partial sums over segments are not rounded either; the tree that adds them is. Arguments,
 * variables and results keep their dtypes: they are converted at the beginning and at the end of
 * the program.
 *
 * Only programs that run here use this pass. The cost on a chip is estimated without it, in the
 * dtypes of the graph.
 */
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "op/segment.h"
#include "op/workers.h"
#include "pass/pass.h"

static const dt_precision_attr of_bfloat16 = {.mantissa_bits = 7},
                               of_float16 = {.mantissa_bits = 10, .exponent_bits = 5};

typedef struct widening {
    dt_trace *t;
    const dt_graph *g;
    /* [nodes of the old graph] values in the new graph. Values of 16 bits have become float32,
     * except arguments and variables */
    dt_value *map;
} widening;

static dt_value widen(dt_value x) {
    return dt_dtype_is_narrow(dt_type_of_value(x).dtype) ? dt_convert(x, DT_FLOAT32) : x;
}

static dt_value rounded(dt_value x, dt_dtype to) {
    return dt_emit(x.trace, &dt_op_reduce_precision, &x, 1,
                   to == DT_BFLOAT16 ? &of_bfloat16 : &of_float16);
}

static double nearest(double x, dt_dtype d) {
    return d == DT_BFLOAT16 ? dt_bfloat_to_double(dt_bfloat_of(x))
                            : dt_half_to_double(dt_half_of(x));
}

/* Returns a constant. One of 16 bits is rounded when the program is compiled, so that no op has to
 * round it. */
static dt_value widened_constant(const widening *w, const dt_node *n) {
    dt_constant_attr a = *(const dt_constant_attr *)n->attr;
    if (dt_dtype_is_narrow(n->type.dtype)) {
        a.value = nearest(a.value, n->type.dtype);
        a.type.dtype = DT_FLOAT32;
    }
    return dt_splat(w->t, &a.type, a.value);
}

/* Returns the attributes of the op for float32. */
static const void *widened_attr(const widening *w, const dt_node *n) {
    if (!n->op->attr.type && !n->op->attr.rounds) return n->attr;
    char *attr = dt_arena_copy(dt_trace_arena(w->t), n->attr, n->op->attr.size);
    dt_op_widen(n, attr);
    return attr;
}

/* Emits a conversion: to 16 bits, as a rounding that stays float32; to another dtype, as it is. */
static dt_value converted(const dt_node *n, dt_value x) {
    dt_dtype to = n->type.dtype;
    return dt_dtype_is_narrow(to) ? rounded(dt_convert(x, DT_FLOAT32), to) : dt_convert(x, to);
}

static bool is_partial(const dt_node *n) {
    return dt_shard_range_of(n) ||
           (dt_cut_of(n) >= 0 && (n->op->role == DT_ROLE_REDUCE || n->op->role == DT_ROLE_PRODUCT));
}

static dt_value widened(const widening *w, int i) {
    const dt_node *n = &w->g->node[i];
    dt_value in[DT_MAX_IN];
    bool narrow = dt_dtype_is_narrow(n->type.dtype);
    for (int k = 0; k < n->n_in; k++) in[k] = widen(w->map[n->in[k]]);
    if (n->op->role == DT_ROLE_CONSTANT) return widened_constant(w, n);
    if (n->op->role == DT_ROLE_CONVERT) return converted(n, in[0]);
    dt_value y = dt_emit(w->t, n->op, in, n->n_in, widened_attr(w, n));
    return narrow && !n->op->traits.exact && !is_partial(n) ? rounded(y, n->type.dtype) : y;
}

/* Converts results and updates back to their original types. */
static void narrow_ends(const widening *w) {
    for (int i = 0; i < w->g->n_results; i++) {
        int node = w->g->result[i].node;
        w->map[node] = dt_convert(w->map[node], w->g->node[node].type.dtype);
    }
    for (int i = 0; i < w->g->n_states; i++)
        if (w->g->state[i].update >= 0) {
            int node = w->g->state[i].update;
            w->map[node] = dt_convert(w->map[node], w->g->node[node].type.dtype);
        }
}

static bool has_narrow(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_dtype_is_narrow(g->node[i].type.dtype)) return true;
    return false;
}

dt_status *dt_upcast(const dt_graph *g, dt_graph **out) {
    *out = NULL;
    if (!has_narrow(g)) return NULL;
    widening w = {.t = dt_trace_create(g->name),
                  .g = g,
                  .map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *w.map))};
    dt_trace_import(w.t, g, w.map);
    for (int i = 0; i < g->n_nodes; i++) {
        const char *path = dt_trace_path(w.t, g->node[i].path);
        if (!w.map[i].trace) w.map[i] = widened(&w, i);
        dt_trace_path(w.t, path);
    }
    narrow_ends(&w);
    dt_trace_export(w.t, g, w.map);
    free(w.map);
    return dt_trace_end(w.t, out);
}
