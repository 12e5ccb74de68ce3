/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention, without the matrix of scores: a block of queries of one head at a time, whose scores are in the lane's scratch memory.
 *
 *     forward    S = Q K'      P = softmax(scale S)      Y = P V
 *     backward   S, P again    dV += P' dY    dP = dY V'    dS = scale P (dP - sum P dP)    dQ = dS K    dK += dS' Q
 *
 * Q is (block, H); K and V are the keys that at least one query of the block attends to: under a causal mask a later block has more of them. So every
 * block has products of its own sizes, planned when compiling, one set a lane. Where positions are not simply 0, 1, ..., every block has all keys.
 *
 * Where Q, K, V and dY lie in bfloat16, and the library takes that, so do the P and dS that are multiplied; scores, softmax and sums over blocks are
 * float32 all the same. Where it does not, a head of them is converted into scratch (staged), and its results back.
 *
 * The three gradients need the same P and dS: the first of the nodes that ask for one makes all three, the others nothing.
 */
#include <string.h>

#include "exec/exec_impl.h"

enum { BLOCK = 64, OF_QUERY = 0, OF_KEY, OF_VALUE, NONE = -1 };
enum { SCORES, TAKE, FORWARD_PRODUCTS };
enum { TAKEN_BACK = TAKE, TO_VALUE, TO_QUERY, TO_KEY, PRODUCTS };

/* A block of queries, and the keys [first, last) that it looks at. */
typedef struct block {
    int64_t query, rows, first, last;
    dt_product *product;    /* [lanes][PRODUCTS] */
} block;

typedef struct attention {
    dt_attention_attr attr;
    int64_t queries, keys, heads, key_heads, key_size, value_size;
    int64_t each;           /* examples in one row of dimension 0 */
    int in_position;        /* number of that input */
    int lanes, n_blocks;
    block *block;
    bool narrow;            /* query, key, value and dy are stored as bfloat16, and multiplied as such */
    bool staged;            /* they are stored in 16 bits, and converted */
    int64_t bytes;          /* of an element of them, as it is multiplied */
    bool narrow_to[3];      /* of narrow ones: the gradients are bfloat16, too; y is the first of them */
    int gradient[3];        /* nodes of the gradients that this step makes; NONE: nobody asks */
    bool is_done_elsewhere; /* another of the three makes it */
} attention;

/* ---- shapes ---- */

static bool fits(const dt_graph *g, int node)
{
    const dt_node *n = &g->node[node];
    const dt_attention_attr *a = n->attr;
    return n->type.dtype == DT_FLOAT32 && n->type.rank > 3 && a->scale > 0 && g->node[n->in[n->n_in - 1]].type.dtype == DT_INT32;
}

static attention *read_shapes(dt_exec *x, const dt_step *step)
{
    const dt_node *n = &x->g->node[step->node];
    const dt_type *q = &x->type[n->in[0]], *v = &x->type[n->in[2]];
    attention *a = dt_arena_new(x->arena, attention);

    *a = (attention){ .attr = *(const dt_attention_attr *)n->attr, .in_position = n->n_in - 1, .lanes = dt_engine_threads(x->engine),
                      .queries = q->dim[q->rank - 3], .keys = v->dim[v->rank - 3], .heads = q->dim[q->rank - 2],
                      .key_heads = v->dim[v->rank - 2], .key_size = q->dim[q->rank - 1], .value_size = v->dim[v->rank - 1], .each = 1, .gradient = { NONE, NONE, NONE } };
    for (int d = 1; d < q->rank - 3; d++)
        a->each *= q->dim[d];
    a->narrow = x->type[n->in[0]].dtype == DT_BFLOAT16 && x->engine->gemm.bf16;
    a->staged = dt_is_stored_narrow(x, n->in[0]) && !a->narrow;
    a->bytes = a->narrow ? 2 : 4;
    a->narrow_to[0] = a->narrow && x->type[step->node].dtype == DT_BFLOAT16;
    return a;
}

/* All that is multiplied or nothing. The library's bfloat16 needs shares that are rounded, which the op has to say. */
static void narrow(dt_exec *x, int node)
{
    const dt_node *n = &x->g->node[node];
    const dt_dtype d = x->type[n->in[0]].dtype;
    bool all = d == DT_FLOAT16 || (d == DT_BFLOAT16 && (!x->engine->gemm.bf16 || ((const dt_attention_attr *)n->attr)->rounded));
    for (int k = 0; k < n->n_in - 1; k++)
        all &= x->type[n->in[k]].dtype == d;
    for (int k = 0; k < n->n_in - 1 && !all; k++)
        dt_store_wide(x, n->in[k]);
    if (!all)
        dt_store_wide(x, node);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Keys [*first, *last) are those that a query at this position may look at; none: *first = *last. */
static void keys_of(const attention *a, int64_t position, int64_t *first, int64_t *last)
{
    bool is_narrow = a->attr.window > 0 && a->attr.window < a->keys + larger(position, -position);

    *first = is_narrow ? larger(0, position - a->attr.window + 1) : 0;
    *last = is_narrow ? smaller(a->keys, position + a->attr.window) : a->keys;
    if (a->attr.causal)
        *last = smaller(*last, position < a->keys ? position + 1 : a->keys);
    *last = larger(*last, 0);
    *first = smaller(*first, *last);
}

/* Whether query t stands where key t does. */
static bool stands_in_order(const dt_exec *x, const dt_step *step, const attention *a)
{
    const dt_node *at = &x->g->node[x->g->node[step->node].in[a->in_position]];
    return at->op == &dt_op_iota && ((const dt_iota_attr *)at->attr)->axis == at->type.rank - 1;
}

static void cut_blocks(dt_exec *x, const dt_step *step, attention *a)
{
    bool in_order = stands_in_order(x, step, a);

    a->n_blocks = (int)((a->queries + BLOCK - 1) / BLOCK);
    a->block = dt_arena_array(x->arena, block, a->n_blocks + 1);
    for (int i = 0; i < a->n_blocks; i++) {
        block *b = &a->block[i];
        int64_t ignored;
        b->query = (int64_t)i * BLOCK;
        b->rows = smaller(BLOCK, a->queries - b->query);
        b->last = a->keys;
        if (in_order) {
            keys_of(a, b->query, &b->first, &ignored);
            keys_of(a, b->query + b->rows - 1, &ignored, &b->last);
            b->first = smaller(b->first, b->last);
        }
    }
}

/* ---- products ---- */

/* From one row of queries, keys, values or results to the next: a head's part of it belongs to a row of all heads. */
typedef struct strides {
    int64_t query, key, value, y;
} strides;

static strides strides_of(const attention *a)
{
    if (a->staged)
        return (strides){ .query = a->key_size, .key = a->key_size, .value = a->value_size, .y = a->value_size };
    return (strides){ .query = a->heads * a->key_size, .key = a->key_heads * a->key_size, .value = a->key_heads * a->value_size,
                      .y = a->heads * a->value_size };
}

/* What adds up over blocks is float32: gradients in 16 bits are summed in scratch, where a head's rows are neighbours. */
static dt_gemm product_of(const attention *a, const block *b, int which, bool backward)
{
    int64_t keys = b->last - b->first;
    strides s = strides_of(a);
    dt_gemm g;

    switch (which) {
    case SCORES: g = (dt_gemm){ .m = b->rows, .n = keys, .k = a->key_size, .trans_b = true, .lda = s.query, .ldb = s.key, .ldc = keys }; break;
    case TO_VALUE: g = (dt_gemm){ .m = keys, .n = a->value_size, .k = b->rows, .trans_a = true, .adds = true, .lda = keys, .ldb = s.y,
                                  .ldc = a->narrow ? a->value_size : s.value }; break;
    case TO_QUERY: g = (dt_gemm){ .m = b->rows, .n = a->key_size, .k = keys, .lda = keys, .ldb = s.key, .ldc = s.query,
                                  .out = a->narrow_to[OF_QUERY] ? DT_GEMM_BF16 : DT_GEMM_F32 }; break;
    case TO_KEY: g = (dt_gemm){ .m = keys, .n = a->key_size, .k = b->rows, .trans_a = true, .adds = true, .lda = keys, .ldb = s.query,
                                .ldc = a->narrow ? a->key_size : s.key }; break;
    default: g = backward ? (dt_gemm){ .m = b->rows, .n = keys, .k = a->value_size, .trans_b = true, .lda = s.y, .ldb = s.value, .ldc = keys }
                          : (dt_gemm){ .m = b->rows, .n = a->value_size, .k = keys, .lda = keys, .ldb = s.value, .ldc = s.y,
                                       .out = a->narrow_to[0] ? DT_GEMM_BF16 : DT_GEMM_F32 };
    }
    g.in = a->narrow ? DT_GEMM_BF16 : DT_GEMM_F32;
    return g;
}

static dt_status *plan_block(dt_exec *x, const attention *a, block *b, bool backward)
{
    b->product = dt_arena_array(x->arena, dt_product, a->lanes * PRODUCTS);
    for (int i = 0; i < a->lanes * PRODUCTS; i++) {
        int which = i % PRODUCTS;
        if (!backward && which >= FORWARD_PRODUCTS)
            continue;
        dt_gemm g = product_of(a, b, which, backward);
        DT_TRY(dt_product_plan(x->engine, &g, &b->product[i]));
    }
    return NULL;
}

/* Query, key, value and y of a head; backward dy and the gradient of the query, too. */
static int64_t staged_floats(const attention *a, bool backward)
{
    return (a->queries + a->keys) * (a->key_size + a->value_size) + (backward ? a->queries * a->key_size : 0);
}

static dt_status *plan(dt_exec *x, dt_step *step, attention *a, bool backward)
{
    step->state = a;
    int64_t scores = smaller(BLOCK, a->queries) * a->keys, floats = scores * (backward ? 2 : 1);
    if (a->narrow)
        floats += (scores + 1) / 2;
    if (a->staged)
        floats += staged_floats(a, backward);
    if ((a->narrow || a->staged) && backward)
        floats += a->keys * (a->key_size + a->value_size);
    step->scratch = (size_t)floats * sizeof(float);
    cut_blocks(x, step, a);
    for (int i = 0; i < a->n_blocks; i++)
        DT_TRY(plan_block(x, a, &a->block[i], backward));
    return NULL;
}

static void release(void *state)
{
    attention *a = state;

    for (int i = 0; a && i < a->n_blocks; i++)
        for (int k = 0; a->block[i].product && k < a->lanes * PRODUCTS; k++)
            dt_product_release(&a->block[i].product[k]);
}

/* ---- running ---- */

/* One head of queries of one example; heads of keys may answer several, whose gradients add up. */
typedef struct head {
    const dt_kernel_call *c;
    const attention *a;
    const char *query, *key, *value, *dy;  /* first features of the head: see strides */
    const int32_t *position;
    char *y, *gradient[3];                 /* gradient NULL: nobody asks */
    float *p, *ds;                         /* (block, its keys) */
    float *room;                           /* of staged ones: for what is converted */
    uint16_t *half;                        /* of narrow ones: p or ds, as it is multiplied */
    float *sum[3];                         /* (keys, features) of the gradients of key and value, over blocks; NULL: they add up in place */
} head;

/* What node has for head n of all queries' heads. */
static char *head_of(const dt_kernel_call *c, int node, int64_t example, int64_t n)
{
    const attention *a = c->step->state;
    const dt_type *t = &c->x->type[node];
    int64_t heads = t->dim[t->rank - 2], size = t->dim[t->rank - 1];
    return (char *)c->x->at[node] + (example * t->dim[t->rank - 3] * heads + n * heads / a->heads) * size * dt_element_bytes(c->x, node);
}

static bool is_backward(const attention *a)
{
    return a->in_position == 4;
}

static head find_head(const dt_kernel_call *c, int64_t example, int64_t n)
{
    const dt_exec *x = c->x;
    const attention *a = c->step->state;
    const int *in = x->g->node[c->step->node].in;
    int64_t scores = smaller(BLOCK, a->queries) * a->keys;
    head h = { .c = c, .a = a, .query = head_of(c, in[0], example, n), .key = head_of(c, in[1], example, n), .value = head_of(c, in[2], example, n),
               .position = (const int32_t *)x->at[in[a->in_position]] + example * a->queries, .p = (float *)c->scratch };

    h.ds = h.p + scores;
    float *room = h.p + (is_backward(a) ? 2 : 1) * scores;
    if (is_backward(a) && (a->narrow || a->staged)) {
        h.sum[OF_KEY] = room;
        h.sum[OF_VALUE] = room + a->keys * a->key_size;
        room = h.sum[OF_VALUE] + a->keys * a->value_size;
    }
    if (a->narrow)
        h.half = (uint16_t *)room;
    else
        h.room = room;
    return h;
}

/* `rows` of a head from where they are stored, each `size` long, one after the other into *room, which moves on. */
static const char *stage(const head *h, int node, const char *from, int64_t rows, float **room)
{
    const dt_exec *x = h->c->x;
    const dt_type *t = &x->type[node];
    int64_t size = t->dim[t->rank - 1], stride = t->dim[t->rank - 2] * size * dt_element_bytes(x, node);
    float *to = *room;

    for (int64_t i = 0; i < rows; i++)
        x->engine->simd->strip[dt_strip_load(t->dtype)](to + i * size, from + i * stride, NULL, NULL, size);
    *room += rows * size;
    return (const char *)to;
}

static void unstage(const head *h, int node, const float *from, int64_t rows, char *to)
{
    const dt_exec *x = h->c->x;
    const dt_type *t = &x->type[node];
    int64_t size = t->dim[t->rank - 1], stride = t->dim[t->rank - 2] * size * dt_element_bytes(x, node);

    for (int64_t i = 0; i < rows; i++)
        x->engine->simd->strip[dt_strip_store(t->dtype)](to + i * stride, from + i * size, NULL, NULL, size);
}

static void stage_inputs(head *h)
{
    const int *in = h->c->x->g->node[h->c->step->node].in;
    h->query = stage(h, in[0], h->query, h->a->queries, &h->room);
    h->key = stage(h, in[1], h->key, h->a->keys, &h->room);
    h->value = stage(h, in[2], h->value, h->a->keys, &h->room);
    if (h->dy)
        h->dy = stage(h, in[3], h->dy, h->a->queries, &h->room);
}

static void multiply(const head *h, const block *b, int which, const void *left, const void *right, void *to)
{
    dt_product_run(&b->product[h->c->lane * PRODUCTS + which], left, right, to, NULL);
}

/* Row `row` of an operand whose rows are `stride` elements apart. */
static const char *row_of(const head *h, const char *operand, int64_t row, int64_t stride)
{
    return operand + row * stride * h->a->bytes;
}

/* What row r of the block takes of each of its keys; not divided by the sum, 1 / which is returned. 0 when it looks at no key. */
static float take_shares(const head *h, const block *b, int64_t r)
{
    const attention *a = h->a;
    int64_t keys = b->last - b->first, first, last;
    float *p = h->p + r * keys;

    keys_of(a, h->position[b->query + r], &first, &last);
    first = larger(first, b->first) - b->first;
    last = smaller(last, b->last) - b->first;
    if (first >= last) {
        memset(p, 0, (size_t)keys * sizeof *p);
        return 0;
    }
    memset(p, 0, (size_t)first * sizeof *p);
    memset(p + last, 0, (size_t)(keys - last) * sizeof *p);
    return h->c->x->engine->simd->rows->shares(p + first, (float)a->attr.scale, last - first);
}

static void find_scores(const head *h, const block *b)
{
    strides s = strides_of(h->a);
    multiply(h, b, SCORES, row_of(h, h->query, b->query, s.query), row_of(h, h->key, b->first, s.key), h->p);
}

/* p as it is multiplied, in `room` where it is rounded and stays float32. */
static const void *multiplied(const head *h, const block *b, const float *p, float *room)
{
    const dt_strip_function *strip = h->c->x->engine->simd->strip;
    int64_t n = b->rows * (b->last - b->first);

    if (h->a->narrow)
        strip[DT_S_TO_BF16](h->half, p, NULL, NULL, n);
    else if (h->a->attr.rounded)
        strip[DT_S_reduce_precision](room, p, NULL, NULL, n);
    return h->a->narrow ? (const void *)h->half : h->a->attr.rounded ? room : p;
}

/* Shares that are rounded are divided by their sum before, others' results afterwards. */
static void run_block(const head *h, const block *b)
{
    const attention *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    strides s = strides_of(a);
    char *y = h->y + b->query * s.y * (a->narrow_to[0] ? 2 : 4);
    float one_over[BLOCK];

    find_scores(h, b);
    for (int64_t r = 0; r < b->rows; r++) {
        one_over[r] = take_shares(h, b, r);
        if (a->attr.rounded)
            rows->times(h->p + r * keys, one_over[r], keys);
    }
    multiply(h, b, TAKE, multiplied(h, b, h->p, h->p), row_of(h, h->value, b->first, s.value), y);
    for (int64_t r = 0; r < b->rows && !a->attr.rounded; r++)
        rows->times((float *)y + r * s.y, one_over[r], a->value_size);
}

static void run_head(head *h, char *y)
{
    const attention *a = h->a;

    h->y = y;
    if (a->staged) {
        stage_inputs(h);
        h->y = (char *)h->room;
    }
    for (int k = 0; k < a->n_blocks; k++)
        run_block(h, &a->block[k]);
    if (a->staged)
        unstage(h, h->c->step->node, h->room, a->queries, y);
}

static void run(const dt_kernel_call *c)
{
    const attention *a = c->step->state;

    for (int64_t i = c->lo * a->each; i < c->hi * a->each; i++)
        for (int64_t n = 0; n < a->heads; n++) {
            head h = find_head(c, i, n);
            run_head(&h, head_of(c, c->step->node, i, n));
        }
}

static dt_status *prepare(dt_exec *x, dt_step *step)
{
    return plan(x, step, read_shapes(x, step), false);
}

const dt_kernel dt_kernel_attention = {
    .name = "attention", .op = &dt_op_attention, .splits = true, .fits = fits, .narrow = narrow, .prepare = prepare, .run = run, .release = release,
};

/* ---- backward ---- */

/* Nodes with the same inputs and mask, made piece by piece in the same task. */
static bool goes_with(const dt_exec *x, int node, int other)
{
    const dt_node *n = &x->g->node[node], *o = &x->g->node[other];
    const dt_attention_attr *a = n->attr, *b = o->attr;

    return o->op == n->op && x->p->piece[node].group == x->p->piece[other].group && x->p->piece[node].units == x->p->piece[other].units &&
           memcmp(n->in, o->in, sizeof n->in) == 0 && a->scale == b->scale && a->window == b->window && a->causal == b->causal &&
           a->rounded == b->rounded;
}

static dt_status *prepare_grad(dt_exec *x, dt_step *step)
{
    attention *a = read_shapes(x, step);
    int first = step->node;

    for (int i = x->g->n_nodes - 1; i >= 0; i--)
        if (goes_with(x, step->node, i)) {
            int of = ((const dt_attention_attr *)x->g->node[i].attr)->of;
            a->gradient[of] = i;
            a->narrow_to[of] = a->narrow && x->type[i].dtype == DT_BFLOAT16;
            first = i;
        }
    step->state = a;
    a->is_done_elsewhere = first != step->node;
    return a->is_done_elsewhere ? NULL : plan(x, step, a, true);
}

static void find_ds(const head *h, const block *b)
{
    const attention *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    strides s = strides_of(a);

    multiply(h, b, TAKEN_BACK, row_of(h, h->dy, b->query, s.y), row_of(h, h->value, b->first, s.value), h->ds);
    for (int64_t r = 0; r < b->rows; r++)
        rows->shares_grad(h->ds + r * keys, h->p + r * keys, (float)a->attr.scale, keys);
}

/* Where the gradient of keys or values adds up, from the block's first key on. */
static void *sum_of(const head *h, const block *b, int of, int64_t stride)
{
    const attention *a = h->a;
    int64_t size = of == OF_KEY ? a->key_size : a->value_size;
    return h->sum[of] ? h->sum[of] + b->first * size : (float *)(void *)h->gradient[of] + b->first * stride;
}

static void run_block_back(const head *h, const block *b)
{
    const attention *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    strides s = strides_of(a);

    find_scores(h, b);
    for (int64_t r = 0; r < b->rows; r++)
        rows->times(h->p + r * keys, take_shares(h, b, r), keys);
    if (h->gradient[OF_VALUE]) /* ds is free until it is found */
        multiply(h, b, TO_VALUE, multiplied(h, b, h->p, h->ds), row_of(h, h->dy, b->query, s.y), sum_of(h, b, OF_VALUE, s.value));
    if (!h->gradient[OF_QUERY] && !h->gradient[OF_KEY])
        return;
    find_ds(h, b);
    const void *ds = multiplied(h, b, h->ds, h->ds);
    if (h->gradient[OF_QUERY])
        multiply(h, b, TO_QUERY, ds, row_of(h, h->key, b->first, s.key), h->gradient[OF_QUERY] + b->query * s.query * (a->narrow_to[OF_QUERY] ? 2 : 4));
    if (h->gradient[OF_KEY])
        multiply(h, b, TO_KEY, ds, row_of(h, h->query, b->query, s.query), sum_of(h, b, OF_KEY, s.key));
}

/* Sums over blocks begin with 0. */
static void clear(const dt_kernel_call *c, int node)
{
    int64_t row = dt_row_elements(c->x, node);
    memset(dt_floats(c->x, node) + c->lo * row, 0, (size_t)((c->hi - c->lo) * row) * sizeof(float));
}

/* Sums in scratch begin at the first of the queries' heads that share a head of keys, and are stored at the last. */
static void begin_sums(const head *h)
{
    memset(h->sum[OF_KEY], 0, (size_t)(h->a->keys * (h->a->key_size + h->a->value_size)) * sizeof(float));
}

static void store_sums(const head *h)
{
    for (int of = OF_KEY; of <= OF_VALUE; of++)
        if (h->gradient[of])
            unstage(h, h->a->gradient[of], h->sum[of], h->a->keys, h->gradient[of]);
}

static void run_head_back(head *h, int64_t n)
{
    const attention *a = h->a;
    int64_t shared = a->heads / a->key_heads;
    char *of_query = h->gradient[OF_QUERY];

    if (h->sum[OF_KEY] && n % shared == 0)
        begin_sums(h);
    if (a->staged) {
        stage_inputs(h);
        h->gradient[OF_QUERY] = of_query ? (char *)h->room : NULL;
    }
    for (int k = 0; k < a->n_blocks; k++)
        run_block_back(h, &a->block[k]);
    if (a->staged && of_query)
        unstage(h, a->gradient[OF_QUERY], h->room, a->queries, of_query);
    if (h->sum[OF_KEY] && n % shared == shared - 1)
        store_sums(h);
}

static void run_grad(const dt_kernel_call *c)
{
    const attention *a = c->step->state;
    int dy = c->x->g->node[c->step->node].in[3];

    if (a->is_done_elsewhere)
        return;
    for (int of = OF_KEY; of <= OF_VALUE; of++)
        if (a->gradient[of] != NONE && !a->narrow && !a->staged)
            clear(c, a->gradient[of]);
    for (int64_t i = c->lo * a->each; i < c->hi * a->each; i++)
        for (int64_t n = 0; n < a->heads; n++) {
            head h = find_head(c, i, n);
            h.dy = head_of(c, dy, i, n);
            for (int of = OF_QUERY; of <= OF_VALUE; of++)
                h.gradient[of] = a->gradient[of] == NONE ? NULL : head_of(c, a->gradient[of], i, n);
            run_head_back(&h, n);
        }
}

const dt_kernel dt_kernel_attention_grad = {
    .name = "attention_grad", .op = &dt_op_attention_grad, .splits = true, .fits = fits, .narrow = narrow, .prepare = prepare_grad, .run = run_grad, .release = release,
};
