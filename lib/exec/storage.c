/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the values that are stored in 16 bits. The program computes in float32; pass/upcast.c has
 * inserted a reduce_precision wherever a float16 or bfloat16 is computed. Storing a value in 16
 * bits loses nothing if it
 *
 *     has 16 bits anyway, because it is the result of a reduce_precision, or its elements are
 *     elements of such values (traits.exact); or
 *     is read only by reduce_precisions, for which it is then rounded already.
 *
 *     dot ─▶ %7 ─▶ reduce_precision ─▶ %8 ─▶ ...      the product writes 16 bits; %8 is another
 *                                                     name for them
 *
 * So bits do not depend on this choice, except for the order in which products are summed. At first
 * all such values are chosen; then kernels exclude those that they cannot read or write, until
 * nothing changes. The result is in x->type, which determines sizes and offsets.
 */
#include <stdlib.h>

#include "base/half.h"
#include "exec/exec_impl.h"

typedef struct storage {
    dt_exec *x;
    /* [nodes] the type that represents all elements of the node exactly; FLOAT32: no narrower one
     * is known */
    dt_dtype *exact;
    /* [nodes] the type that all readers round the node to; FLOAT32: they do not all round it to one
     * type */
    dt_dtype *wanted;
    bool *is_read;
} storage;

/* ---- what could be stored in 16 bits ---- */

static dt_dtype rounding_of(const dt_node *n) {
    const dt_precision_attr *a = dt_precision_of(n);
    if (!a || n->type.dtype != DT_FLOAT32) return DT_FLOAT32;
    return a->mantissa_bits == 7 && a->exponent_bits == 0    ? DT_BFLOAT16
           : a->mantissa_bits == 10 && a->exponent_bits == 5 ? DT_FLOAT16
                                                             : DT_FLOAT32;
}

static bool is_number_of(double value, dt_dtype d) {
    return value != value || value == (d == DT_BFLOAT16 ? dt_bfloat_to_double(dt_bfloat_of(value))
                                                        : dt_half_to_double(dt_half_of(value)));
}

/* Returns the type of all inputs from which an exact op takes its elements, without constants. */
static dt_dtype exact_inputs(const storage *s, const dt_node *n) {
    const dt_graph *g = s->x->g;
    dt_dtype all = DT_BOOL;
    for (int k = 0; k < n->n_in; k++) {
        const dt_node *in = &g->node[n->in[k]];
        if (in->type.dtype != DT_FLOAT32 || in->op->role == DT_ROLE_CONSTANT) continue;
        if (all != DT_BOOL && all != s->exact[n->in[k]]) return DT_FLOAT32;
        all = s->exact[n->in[k]];
    }
    for (int k = 0; k < n->n_in && all != DT_BOOL; k++)
        if (g->node[n->in[k]].op->role == DT_ROLE_CONSTANT &&
            g->node[n->in[k]].type.dtype == DT_FLOAT32 &&
            !is_number_of(((const dt_constant_attr *)g->node[n->in[k]].attr)->value, all))
            return DT_FLOAT32;
    return all == DT_BOOL ? DT_FLOAT32 : all;
}

static void find_exact(storage *s) {
    const dt_graph *g = s->x->g;
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        s->exact[i] = rounding_of(n);
        if (n->type.dtype == DT_FLOAT32 && n->op->traits.exact && n->n_in > 0)
            s->exact[i] = exact_inputs(s, n);
        const dt_pad_attr *pad = dt_pad_of(n);
        if (pad && !is_number_of(pad->value, s->exact[i])) s->exact[i] = DT_FLOAT32;
    }
}

static void find_wanted(storage *s) {
    const dt_graph *g = s->x->g;
    for (int i = 0; i < g->n_nodes; i++) s->wanted[i] = DT_FLOAT32;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            int in = g->node[i].in[k];
            dt_dtype to = rounding_of(&g->node[i]);
            s->wanted[in] = s->is_read[in] && s->wanted[in] != to ? DT_FLOAT32 : to;
            s->is_read[in] = true;
        }
}

/* Gives values in the arena that have more than one element their narrower type. Other values are
 * variables, arguments, constants and results. */
static void list_candidates(storage *s) {
    const dt_exec *x = s->x;
    const dt_graph *g = x->g;
    for (int i = 0; i < g->n_nodes; i++) {
        dt_dtype to = s->exact[i] != DT_FLOAT32 ? s->exact[i] : s->wanted[i];
        bool is_value = x->p->piece[i].segment >= 0 && !x->p->piece[i].absorbed &&
                        g->node[i].type.dtype == DT_FLOAT32;
        if (is_value && dt_type_elements(&x->type[i]) > 1) x->type[i].dtype = to;
    }
    for (int i = 0; i < g->n_results; i++) dt_store_wide(s->x, g->result[i].node);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) dt_store_wide(s->x, g->state[i].update);
}

/* ---- what is stored in 16 bits ---- */

bool dt_is_stored_narrow(const dt_exec *x, int node) {
    return dt_dtype_is_narrow(x->type[node].dtype) &&
           !dt_dtype_is_narrow(x->g->node[node].type.dtype);
}

void dt_store_wide(dt_exec *x, int node) {
    if (dt_is_stored_narrow(x, node)) x->type[node].dtype = DT_FLOAT32;
}

static bool touches_narrow(const dt_exec *x, int node) {
    bool any = dt_is_stored_narrow(x, node);
    for (int k = 0; k < x->g->node[node].n_in; k++)
        any |= dt_is_stored_narrow(x, x->g->node[node].in[k]);
    return any;
}

static void object(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_kernel *kernel = dt_kernel_find(x->g, node);
    if (dt_is_fused_sum(x->g, node) || x->p->piece[node].absorbed) {
        dt_store_wide(x, node);
        for (int k = 0; k < n->n_in && x->p->piece[node].absorbed; k++) dt_store_wide(x, n->in[k]);
    } else if (dt_can_fuse(x->g, node)) {
        return;
    } else if (kernel->narrow) {
        kernel->narrow(x, node);
    } else {
        dt_store_wide(x, node);
        for (int k = 0; k < n->n_in; k++) dt_store_wide(x, n->in[k]);
    }
}

static int count_narrow(const dt_exec *x) {
    int n = 0;
    for (int i = 0; i < x->g->n_nodes; i++) n += dt_is_stored_narrow(x, i);
    return n;
}

static void object_until_stable(dt_exec *x) {
    for (int before = -1, now = count_narrow(x); now != before; before = now, now = count_narrow(x))
        for (int i = 0; i < x->g->n_nodes; i++)
            if (touches_narrow(x, i)) object(x, i);
}

/* Finds roundings that need no work, because the kernel of their input stores rounded values. */
static void find_renamed(const storage *s) {
    const dt_exec *x = s->x;
    for (int i = 0; i < x->g->n_nodes; i++) {
        int in = x->g->node[i].n_in == 1 ? x->g->node[i].in[0] : -1;
        x->renamed[i] = in >= 0 && rounding_of(&x->g->node[i]) != DT_FLOAT32 &&
                        dt_is_stored_narrow(x, i) && dt_is_stored_narrow(x, in) &&
                        x->type[in].dtype == x->type[i].dtype && !dt_can_fuse(x->g, in) &&
                        x->p->piece[in].group == x->p->piece[i].group;
    }
}

void dt_choose_storage(dt_exec *x) {
    size_t n = (size_t)x->g->n_nodes + 1;
    storage s = {.x = x,
                 .exact = dt_alloc(n * sizeof *s.exact),
                 .wanted = dt_alloc(n * sizeof *s.wanted),
                 .is_read = dt_alloc(n)};
    find_exact(&s);
    find_wanted(&s);
    list_candidates(&s);
    object_until_stable(x);
    find_renamed(&s);
    free(s.exact);
    free(s.wanted);
    free(s.is_read);
}

bool dt_is_renamed(const dt_exec *x, int node) {
    return dt_is_name(&x->g->node[node]) || x->renamed[node];
}

/* ---- for kernels of float32 ---- */

dt_strip_op dt_strip_load(dt_dtype d) {
    switch (d) {
    case DT_FLOAT32: return DT_S_COPY;
    case DT_INT32: return DT_S_FROM_I32;
    case DT_BFLOAT16: return DT_S_FROM_BF16;
    case DT_FLOAT16: return DT_S_FROM_F16;
    default: return DT_S_FROM_U8; /* a bool is a byte with the value 0 or 1 */
    }
}

dt_strip_op dt_strip_store(dt_dtype d) {
    return d == DT_BOOL       ? DT_S_TO_BOOL
           : d == DT_BFLOAT16 ? DT_S_TO_BF16
           : d == DT_FLOAT16  ? DT_S_TO_F16
                              : DT_S_COPY;
}

dt_gemm_float dt_gemm_float_of(dt_dtype d) {
    return d == DT_BFLOAT16 ? DT_GEMM_BF16 : d == DT_FLOAT16 ? DT_GEMM_F16 : DT_GEMM_F32;
}

void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to) {
    const char *at = (const char *)x->at[node] + from * dt_element_bytes(x, node);
    if (at != (const char *)to)
        x->engine->simd->strip[dt_strip_load(x->type[node].dtype)](to, at, NULL, NULL, n);
}

void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from) {
    char *at = (char *)x->at[node] + to * dt_element_bytes(x, node);
    if (at != (const char *)from)
        x->engine->simd->strip[dt_strip_store(x->type[node].dtype)](at, from, NULL, NULL, n);
}
