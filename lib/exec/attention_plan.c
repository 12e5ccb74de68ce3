/* SPDX-License-Identifier: Apache-2.0 */
/* Plans attention: blocks of queries, the keys that each block attends to, and the products.
 * kernel_attention.c explains their use. */
#include "exec/attention.h"
#include "base/size.h"

bool dt_attention_fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_attention_attr *a = n->attr;
    return n->type.dtype == DT_FLOAT32 && n->type.rank > 3 && a->scale > 0 &&
           g->node[n->in[n->n_in - 1]].type.dtype == DT_INT32;
}

dt_attended *dt_attention_read(dt_exec *x, const dt_step *step) {
    const dt_node *n = &x->g->node[step->node];
    const dt_type *q = &x->type[n->in[0]], *v = &x->type[n->in[2]];
    dt_attended *a = dt_arena_new(x->arena, dt_attended);

    *a = (dt_attended){.attr = *(const dt_attention_attr *)n->attr,
                       .in_position = n->n_in - 1,
                       .lanes = dt_engine_threads(x->engine),
                       .queries = q->dim[q->rank - 3],
                       .keys = v->dim[v->rank - 3],
                       .heads = q->dim[q->rank - 2],
                       .key_heads = v->dim[v->rank - 2],
                       .key_size = q->dim[q->rank - 1],
                       .value_size = v->dim[v->rank - 1],
                       .each = 1,
                       .gradient = {DT_OF_NONE, DT_OF_NONE, DT_OF_NONE}};
    for (int d = 1; d < q->rank - 3; d++) a->each *= q->dim[d];
    a->narrow = x->type[n->in[0]].dtype == DT_BFLOAT16 && dt_engine_multiplies_bf16(x->engine);
    a->staged = dt_is_stored_narrow(x, n->in[0]) && !a->narrow;
    a->bytes = a->narrow ? 2 : 4;
    a->narrow_to[0] = a->narrow && x->type[step->node].dtype == DT_BFLOAT16;
    return a;
}

/* Lets query, key, value, dy and the result be stored in 16 bits only if all operands have the same
 * 16-bit type; otherwise stores them all as float32. bfloat16 is refused, too, if products of
 * bfloat16 are fast on this engine, but the op's attributes do not permit rounding the weights to
 * it. */
void dt_attention_narrow(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_dtype d = x->type[n->in[0]].dtype;
    bool all =
        d == DT_FLOAT16 || (d == DT_BFLOAT16 && (!dt_engine_multiplies_bf16(x->engine) ||
                                                 ((const dt_attention_attr *)n->attr)->rounded));
    for (int k = 0; k < n->n_in - 1; k++) all &= x->type[n->in[k]].dtype == d;
    for (int k = 0; k < n->n_in - 1 && !all; k++) dt_store_wide(x, n->in[k]);
    if (!all) dt_store_wide(x, node);
}

void dt_attention_keys(const dt_attended *a, int64_t position, int64_t *first, int64_t *last) {
    bool is_narrow = a->attr.window > 0 && a->attr.window < a->keys + dt_max(position, -position);

    *first = is_narrow ? dt_max(0, position - a->attr.window + 1) : 0;
    *last = is_narrow ? dt_min(a->keys, position + a->attr.window) : a->keys;
    if (a->attr.causal) *last = dt_min(*last, position < a->keys ? position + 1 : a->keys);
    *last = dt_max(*last, 0);
    *first = dt_min(*first, *last);
}

/* Whether positions are simply 0, 1, ..., so that query t has the position of key t. */
static bool stands_in_order(const dt_exec *x, const dt_step *step, const dt_attended *a) {
    const dt_node *at = &x->g->node[x->g->node[step->node].in[a->in_position]];
    return at->op == &dt_op_iota && ((const dt_iota_attr *)at->attr)->axis == at->type.rank - 1;
}

static void cut_blocks(dt_exec *x, const dt_step *step, dt_attended *a) {
    bool in_order = stands_in_order(x, step, a);

    a->n_blocks = (int)((a->queries + DT_QUERY_BLOCK - 1) / DT_QUERY_BLOCK);
    a->block = dt_arena_array(x->arena, dt_query_block, a->n_blocks + 1);
    for (int i = 0; i < a->n_blocks; i++) {
        dt_query_block *b = &a->block[i];
        int64_t ignored;
        b->query = (int64_t)i * DT_QUERY_BLOCK;
        b->rows = dt_min(DT_QUERY_BLOCK, a->queries - b->query);
        b->last = a->keys;
        if (in_order) {
            dt_attention_keys(a, b->query, &b->first, &ignored);
            dt_attention_keys(a, b->query + b->rows - 1, &ignored, &b->last);
            if (a->attr.sinks > 0) b->first = 0;
            b->last = dt_max(b->last, dt_min(a->attr.sinks, a->keys));
            b->first = dt_min(b->first, b->last);
        }
    }
}

dt_head_strides dt_attention_strides(const dt_attended *a) {
    if (a->staged)
        return (dt_head_strides){
            .query = a->key_size, .key = a->key_size, .value = a->value_size, .y = a->value_size};
    return (dt_head_strides){.query = a->heads * a->key_size,
                             .key = a->key_heads * a->key_size,
                             .value = a->key_heads * a->value_size,
                             .y = a->heads * a->value_size};
}

/* Describes one product of a block of queries. `which` is DT_SCORES or another number of a product
 * (attention.h). The products for the gradients of keys and values are summed over blocks in
 * float32: in the gradient itself, or in scratch, where the rows of a head are adjacent, if
 * operands are stored in 16 bits. */
static dt_gemm product_of(const dt_attended *a, const dt_query_block *b, int which, bool backward) {
    int64_t keys = b->last - b->first;
    dt_head_strides s = dt_attention_strides(a);
    dt_gemm g;

    switch (which) {
    case DT_SCORES:
        g = (dt_gemm){.m = b->rows,
                      .n = keys,
                      .k = a->key_size,
                      .trans_b = true,
                      .lda = s.query,
                      .ldb = s.key,
                      .ldc = keys};
        break;
    case DT_TO_VALUE:
        g = (dt_gemm){.m = keys,
                      .n = a->value_size,
                      .k = b->rows,
                      .trans_a = true,
                      .adds = true,
                      .lda = keys,
                      .ldb = s.y,
                      .ldc = a->narrow ? a->value_size : s.value};
        break;
    case DT_TO_QUERY:
        g = (dt_gemm){.m = b->rows,
                      .n = a->key_size,
                      .k = keys,
                      .lda = keys,
                      .ldb = s.key,
                      .ldc = s.query,
                      .out = a->narrow_to[DT_OF_QUERY] ? DT_GEMM_BF16 : DT_GEMM_F32};
        break;
    case DT_TO_KEY:
        g = (dt_gemm){.m = keys,
                      .n = a->key_size,
                      .k = b->rows,
                      .trans_a = true,
                      .adds = true,
                      .lda = keys,
                      .ldb = s.query,
                      .ldc = a->narrow ? a->key_size : s.key};
        break;
    default:
        g = backward ? (dt_gemm){.m = b->rows,
                                 .n = keys,
                                 .k = a->value_size,
                                 .trans_b = true,
                                 .lda = s.y,
                                 .ldb = s.value,
                                 .ldc = keys}
                     : (dt_gemm){.m = b->rows,
                                 .n = a->value_size,
                                 .k = keys,
                                 .lda = keys,
                                 .ldb = s.value,
                                 .ldc = s.y,
                                 .out = a->narrow_to[0] ? DT_GEMM_BF16 : DT_GEMM_F32};
    }
    g.in[0] = g.in[1] = a->narrow ? DT_GEMM_BF16 : DT_GEMM_F32;
    return g;
}

static dt_status *plan_block(dt_exec *x, const dt_attended *a, dt_query_block *b, bool backward) {
    b->product = dt_arena_array(x->arena, dt_product, a->lanes * DT_ATTENTION_PRODUCTS);
    for (int i = 0; i < a->lanes * DT_ATTENTION_PRODUCTS; i++) {
        int which = i % DT_ATTENTION_PRODUCTS;
        if (!backward && which >= DT_FORWARD_PRODUCTS) continue;
        dt_gemm g = product_of(a, b, which, backward);
        DT_TRY(dt_product_plan(x->engine, &g, &b->product[i]));
    }
    return NULL;
}

static size_t scratch_of_products(const dt_attended *a) {
    size_t most = 0;
    for (int i = 0; i < a->n_blocks; i++)
        for (int k = 0; k < a->lanes * DT_ATTENTION_PRODUCTS; k++)
            most = a->block[i].product[k].scratch > most ? a->block[i].product[k].scratch : most;
    return most;
}

/* Returns the number of floats that staging needs: query, key, value and y of a head; for gradients
 * dy instead of y, and the gradient of the query. */
static int64_t staged_floats(const dt_attended *a, bool backward) {
    return (a->queries + a->keys) * (a->key_size + a->value_size) +
           (backward ? a->queries * a->key_size : 0);
}

dt_status *dt_attention_plan(dt_exec *x, dt_step *step, dt_attended *a, bool backward) {
    step->state = a;
    int64_t scores = dt_min(DT_QUERY_BLOCK, a->queries) * a->keys,
            floats = scores * (backward ? 2 : 1);
    if (a->narrow) floats += (scores + 1) / 2;
    if (a->staged) floats += staged_floats(a, backward);
    if ((a->narrow || a->staged) && backward) floats += a->keys * (a->key_size + a->value_size);
    a->for_products = (size_t)floats * sizeof(float);
    cut_blocks(x, step, a);
    for (int i = 0; i < a->n_blocks; i++) DT_TRY(plan_block(x, a, &a->block[i], backward));
    step->scratch = a->for_products + scratch_of_products(a);
    return NULL;
}

void dt_attention_release(void *state) {
    dt_attended *a = state;

    for (int i = 0; a && i < a->n_blocks; i++)
        for (int k = 0; a->block[i].product && k < a->lanes * DT_ATTENTION_PRODUCTS; k++)
            dt_product_release(&a->block[i].product[k]);
}
