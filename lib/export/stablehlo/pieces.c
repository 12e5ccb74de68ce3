/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites with intermediate values much larger than their inputs and outputs are computed piece
 * by piece, in a loop: attention's scores are (B, N, T, S), but its inputs are only (B, T, N, H).
 * The op's partition rule says how it may be split. If it is split along a factor, inputs that have
 * the factor are cut, results that have it are joined, and results without it are sums.
 *
 *     attention, T = 8192 queries in 64 pieces:
 *         while i < 64 { y[128 i ..] = attention(q[128 i ..], k, v) }
 */
#include <string.h>

#include "export/stablehlo/blocks.h"

enum { TIMES_LARGER = 4 };

/* Decomposes the op for inputs of these concrete types into a graph. */
static dt_status *parts_of(const dt_node *n, const dt_type *in, dt_graph **out) {
    static const char *const names[DT_MAX_IN] = {"a", "b", "c", "d", "e"};
    dt_trace *t = dt_trace_create("piece");
    dt_value v[DT_MAX_IN];
    dt_graph *whole = NULL;
    for (int k = 0; k < n->n_in; k++) v[k] = dt_trace_declare(t, names[k], &in[k]);
    dt_return(t, "y", dt_emit(t, n->op, v, n->n_in, n->attr));
    DT_TRY(dt_trace_end(t, &whole));
    dt_status *bad = dt_decompose(whole, dt_hlo_has_form, out);
    dt_graph_destroy(whole);
    return bad;
}

/* Changes the types of the inputs to those of the inputs of one piece. */
static void cut_inputs(const dt_node *n, const dt_hlo_pieces *p, dt_type *in) {
    for (int k = 0; k < n->n_in; k++)
        if (p->in[k] >= 0) in[k].dim[p->in[k]] /= p->n;
}

/* Returns the bytes of the largest value in one piece; -1: the op cannot be decomposed for these
 * types. */
static int64_t largest_part(const dt_node *n, const dt_type *in, const dt_hlo_pieces *p) {
    dt_type type[DT_MAX_IN];
    dt_graph *parts = NULL;
    int64_t most = 0;
    memcpy(type, in, (size_t)n->n_in * sizeof *in);
    cut_inputs(n, p, type);
    dt_status *bad = parts_of(n, type, &parts);
    if (bad) {
        dt_status_free(bad);
        return -1;
    }
    for (int i = 0; i < parts->n_nodes; i++) {
        int64_t bytes = dt_type_bytes(&parts->node[i].type);
        most = bytes > most ? bytes : most;
    }
    dt_graph_destroy(parts);
    return most;
}

/* Returns the dimension that has the factor; -1: no dimension does; -2: the op cannot be divided by
 * it, since several dimensions have it, or one is SHARED (dt_rule). */
static int dimension_of(const int8_t *dims, unsigned shared, int rank, int factor) {
    int at = -1;
    for (int d = 0; d < rank; d++)
        if (dims[d] == factor) at = at == -1 && !(shared >> d & 1) ? d : -2;
    return at;
}

static bool cut_by(const dt_node *n, const dt_type *in, const dt_rule *rule, int factor,
                   dt_hlo_pieces *p) {
    p->size = 0;
    p->out = dimension_of(rule->out, rule->shared_out, n->type.rank, factor);
    for (int k = 0; k < n->n_in; k++) {
        p->in[k] = dimension_of(rule->in[k], rule->shared_in[k], in[k].rank, factor);
        if (p->in[k] >= 0) p->size = in[k].dim[p->in[k]];
        if (p->in[k] == -2) return false;
    }
    return p->out != -2 && p->size > 1;
}

/* Returns the number of equal pieces: the least power of two with which a piece has at most `limit`
 * bytes, or fewer if `size` is not divisible by that. */
static int count_pieces(int64_t size, int64_t bytes, int64_t limit) {
    int64_t n = 1;
    while (bytes / n > limit && size % (2 * n) == 0) n *= 2;
    return (int)n;
}

bool dt_hlo_pieces_of(const dt_graph *g, int node, const dt_hlo_sizes *sizes, dt_hlo_pieces *out) {
    const dt_node *n = &g->node[node];
    dt_type in[DT_MAX_IN], result = dt_type_at(&n->type, sizes->batch);
    int64_t limit = sizes->large, bytes = dt_type_bytes(&result), least;
    dt_rule rule;
    *out = (dt_hlo_pieces){.n = 1, .in = {-1, -1, -1, -1, -1}};
    if (!n->op->forms.decompose || !n->op->rule || n->op->attr.type || dt_hlo_has_form(n->op))
        return false;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = dt_type_at(&g->node[n->in[k]].type, sizes->batch);
        bytes = dt_type_bytes(&in[k]) > bytes ? dt_type_bytes(&in[k]) : bytes;
    }
    limit = bytes > limit ? bytes : limit;
    bytes = least = largest_part(n, in, out);
    n->op->rule(in, &result, n->attr, &rule);
    for (int f = 0; f < DT_MAX_FACTORS && bytes > TIMES_LARGER * limit; f++) {
        dt_hlo_pieces p;
        if (!cut_by(n, in, &rule, f, &p)) continue;
        p.n = count_pieces(p.size, bytes, limit);
        /* Dividing by a factor that the large values lack would not make them smaller. */
        int64_t left = largest_part(n, in, &p);
        if (left >= 0 && left < least) {
            least = left;
            *out = p;
        }
    }
    return out->n > 1;
}

/* Writes the statements of one piece. */
static dt_status *put_parts(dt_hlo *h, const dt_graph *g, const dt_hlo_value *in,
                            dt_hlo_value *out) {
    DT_LOCAL dt_hlo_value *value = dt_alloc(dt_size_mul((size_t)g->n_nodes, sizeof *value));
    dt_status *bad = NULL;
    for (int i = 0; i < g->n_args; i++) value[g->arg[i].node] = in[i];
    for (int i = 0; i < g->n_nodes && !bad; i++) {
        const dt_node *n = &g->node[i];
        dt_hlo_call c = {.hlo = h, .node = n, .type = n->type};
        if (n->op->role == DT_ROLE_ARGUMENT) continue;
        for (int k = 0; k < n->n_in; k++) c.in[k] = value[n->in[k]];
        bad = n->op->forms.stablehlo ? NULL : dt_hlo_no_form(n);
        value[i] = bad ? value[i] : n->op->forms.stablehlo(&c);
    }
    *out = value[g->result[0].node];
    return bad;
}

/* Writes `piece` into x, at `from` along dimension d. */
static dt_hlo_value put_piece(dt_hlo *h, dt_hlo_value x, dt_hlo_value piece, int d,
                              dt_hlo_value from) {
    dt_hlo_value in[2 + DT_MAX_RANK] = {x, piece}, zero = dt_hlo_like(h, from, 0);
    for (int k = 0; k < x.type.rank; k++) in[2 + k] = k == d ? from : zero;
    return dt_hlo_op(h, "dynamic_update_slice", in, 2 + x.type.rank, &x.type, "%s", "");
}

dt_status *dt_hlo_write_pieces(dt_hlo *h, const dt_node *n, const dt_hlo_pieces *p,
                               const dt_hlo_call *c, dt_hlo_value *out) {
    const dt_type count = dt_scalar_type(DT_INT32);
    dt_hlo_value init[2 + DT_MAX_IN], now[2 + DT_MAX_IN], next[2 + DT_MAX_IN], in[DT_MAX_IN], y;
    dt_hlo_frame f = {
        .hlo = h, .n = 2 + n->n_in, .times = p->n, .init = init, .now = now, .next = next};
    dt_type type[DT_MAX_IN], kept = c->type;
    dt_graph *parts = NULL;
    /* Partial sums of 16-bit types are float32, so that they are rounded once and not after each
     * piece. */
    if (p->out < 0 && dt_dtype_size(kept.dtype) < 4) kept.dtype = DT_FLOAT32;
    for (int k = 0; k < n->n_in; k++) {
        init[2 + k] = c->in[k];
        type[k] = c->in[k].type;
    }
    cut_inputs(n, p, type);
    DT_TRY(parts_of(n, type, &parts));
    init[0] = dt_hlo_splat(h, &count, 0);
    init[1] = dt_hlo_zeros(h, &kept);
    dt_hlo_frame_open(&f);
    dt_hlo_value from =
        dt_hlo_binary(h, "multiply", now[0], dt_hlo_like(h, now[0], (double)(p->size / p->n)));
    for (int k = 0; k < n->n_in; k++)
        in[k] = p->in[k] >= 0 ? dt_hlo_dynamic_slice(h, now[2 + k], p->in[k], from, p->size / p->n)
                              : now[2 + k];
    dt_status *bad = put_parts(h, parts, in, &y);
    if (!bad)
        next[1] = p->out >= 0 ? put_piece(h, now[1], y, p->out, from)
                              : dt_hlo_binary(h, "add", now[1], dt_hlo_convert(h, y, kept.dtype));
    dt_hlo_frame_close(&f);
    *out = dt_hlo_convert(h, dt_hlo_frame_result(&f, 1), c->type.dtype);
    dt_graph_destroy(parts);
    return bad;
}
