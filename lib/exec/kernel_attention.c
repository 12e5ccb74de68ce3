/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention without a whole matrix of scores: it works on one block of queries of one head at a
 * time, whose scores are in the lane's scratch memory.
 *
 *     forward    S = Q K'      P = softmax(scale S)      Y = P V
 *     backward   S, P again    dV += P' dY    dP = dY V'    dS = scale P (dP - sum P dP)
 *                dQ = dS K     dK += dS' Q
 *
 * Q has shape (block, H). K and V are those keys and values that at least one query of the block
 * attends to. Their number differs between blocks, for example with a causal mask. So the products
 * of blocks have different sizes. They are planned when compiling, one set for each lane. If
 * positions are not simply 0, 1, ..., every block has all keys. With sinks, every block begins at
 * the first key.
 *
 * If Q, K, V and dY are stored as bfloat16 and the engine multiplies that type, P and dS are
 * rounded to it for products; scores, softmax and sums over blocks are float32. If they are stored
 * in 16 bits otherwise, one head at a time is converted to float32 in scratch (staged), and its
 * results are converted back. Operands of float32 are read in place.
 *
 * The three gradients share P and dS. So of the gradients of one attention whose pieces are
 * computed in the same tasks, the step of the first one computes all, and the steps of the others
 * compute nothing.
 */
#include <string.h>

#include "exec/attention.h"
#include "base/size.h"

/* ---- heads, and the forward pass ---- */

/* One head of queries of one example. Several of them may share a head of keys, whose gradients
 * are summed. */
typedef struct head {
    const dt_kernel_call *c;
    const dt_attended *a;
    /* addresses of the head's first feature in each operand, or in its copy in scratch if staged
     * (see dt_head_strides); dy: NULL in the forward pass */
    const char *query, *key, *value, *dy;
    const int32_t *position;
    /* y: address of the result, or in scratch if staged; not set in the backward pass. gradient:
     * addresses of the gradients; that of the query is in scratch if staged; NULL: not needed */
    char *y, *gradient[3];
    /* p: the scores of each key for each query, then the weights; ds: in the backward pass, the
     * gradient of the scores; arrays [queries of the block][keys of the block] */
    float *p, *ds;
    /* working memory for rows that are converted to float32; used if dt_attended.staged is set */
    float *room;
    uint16_t *half; /* memory for p or ds, rounded to bfloat16 for products (`narrow`) */
    /* (keys, features) sums over blocks for the gradients of keys and values (DT_OF_KEY,
     * DT_OF_VALUE); NULL: they are added up in the result itself */
    float *sum[3];
} head;

/* Returns the address of the first row that head n of the queries uses in a node's value, for this
 * example. If the node has fewer heads (keys, values), several heads of queries share one. */
static char *head_of(const dt_kernel_call *c, int node, int64_t example, int64_t n) {
    const dt_attended *a = c->step->state;
    const dt_type *t = &c->x->type[node];
    int64_t heads = t->dim[t->rank - 2], size = t->dim[t->rank - 1];
    return (char *)c->x->at[node] + (example * t->dim[t->rank - 3] * heads + n * heads / a->heads) *
                                        size * dt_element_bytes(c->x, node);
}

static bool is_backward(const dt_attended *a) { return a->in_position == 4; }

static head find_head(const dt_kernel_call *c, int64_t example, int64_t n) {
    const dt_exec *x = c->x;
    const dt_attended *a = c->step->state;
    const int *in = x->g->node[c->step->node].in;
    int64_t scores = dt_min(DT_QUERY_BLOCK, a->queries) * a->keys;
    head h = {.c = c,
              .a = a,
              .query = head_of(c, in[0], example, n),
              .key = head_of(c, in[1], example, n),
              .value = head_of(c, in[2], example, n),
              .position = (const int32_t *)x->at[in[a->in_position]] + example * a->queries,
              .p = (float *)c->scratch};

    h.ds = h.p + scores;
    float *room = h.p + (is_backward(a) ? 2 : 1) * scores;
    if (is_backward(a) && (a->narrow || a->staged)) {
        h.sum[DT_OF_KEY] = room;
        h.sum[DT_OF_VALUE] = room + a->keys * a->key_size;
        room = h.sum[DT_OF_VALUE] + a->keys * a->value_size;
    }
    if (a->narrow) h.half = (uint16_t *)room;
    else h.room = room;
    return h;
}

/* Copies `rows` rows of one head to *room as adjacent rows of floats, without the rows of other
 * heads in between. Advances *room and returns the address of the copy. */
static const char *stage(const head *h, int node, const char *from, int64_t rows, float **room) {
    const dt_exec *x = h->c->x;
    const dt_type *t = &x->type[node];
    int64_t size = t->dim[t->rank - 1],
            stride = t->dim[t->rank - 2] * size * dt_element_bytes(x, node);
    float *to = *room;

    for (int64_t i = 0; i < rows; i++)
        x->engine->simd->strip[dt_strip_load(t->dtype)](to + i * size, from + i * stride, NULL,
                                                        NULL, size);
    *room += rows * size;
    return (const char *)to;
}

static void unstage(const head *h, int node, const float *from, int64_t rows, char *to) {
    const dt_exec *x = h->c->x;
    const dt_type *t = &x->type[node];
    int64_t size = t->dim[t->rank - 1],
            stride = t->dim[t->rank - 2] * size * dt_element_bytes(x, node);

    for (int64_t i = 0; i < rows; i++)
        x->engine->simd->strip[dt_strip_store(t->dtype)](to + i * stride, from + i * size, NULL,
                                                         NULL, size);
}

static void stage_inputs(head *h) {
    const int *in = h->c->x->g->node[h->c->step->node].in;
    h->query = stage(h, in[0], h->query, h->a->queries, &h->room);
    h->key = stage(h, in[1], h->key, h->a->keys, &h->room);
    h->value = stage(h, in[2], h->value, h->a->keys, &h->room);
    if (h->dy) h->dy = stage(h, in[3], h->dy, h->a->queries, &h->room);
}

static void multiply(const head *h, const dt_query_block *b, int which, const void *left,
                     const void *right, void *to) {
    dt_product_run(&b->product[h->c->lane * DT_ATTENTION_PRODUCTS + which], left, right, to,
                   h->c->scratch + h->a->for_products);
}

/* Returns the address of row `row` of an operand whose rows are `stride` elements apart. */
static const char *row_of(const head *h, const char *operand, int64_t row, int64_t stride) {
    return operand + row * stride * h->a->bytes;
}

/* Sets the scores of keys between the sinks and `first` to -1e30, so that their weight is 0.
 * Returns the first key of the block with a weight: 0 with sinks, else `first`. */
static int64_t join_sinks(const dt_attended *a, const dt_query_block *b, int64_t first, float *p) {
    const int64_t sinks = dt_min(a->attr.sinks, a->keys) - b->first;
    if (a->attr.sinks == 0) return first;
    for (int64_t s = sinks; s < first; s++) p[s] = -1e30f;
    return 0;
}

/* Turns the scores of row r of the block into weights, not yet divided by their sum. Returns 1 /
 * the sum; 0 if the query attends to no key. */
static float take_shares(const head *h, const dt_query_block *b, int64_t r) {
    const dt_attended *a = h->a;
    int64_t keys = b->last - b->first, first, last;
    float *p = h->p + r * keys;

    dt_attention_keys(a, h->position[b->query + r], &first, &last);
    first = dt_max(first, b->first) - b->first;
    last = dt_max(dt_min(last, b->last), dt_min(a->attr.sinks, a->keys)) - b->first;
    first = join_sinks(a, b, dt_min(first, last), p);
    if (first >= last) {
        memset(p, 0, (size_t)keys * sizeof *p);
        return 0;
    }
    memset(p, 0, (size_t)first * sizeof *p);
    memset(p + last, 0, (size_t)(keys - last) * sizeof *p);
    return h->c->x->engine->simd->rows->shares(p + first, (float)a->attr.scale, last - first);
}

static void find_scores(const head *h, const dt_query_block *b) {
    dt_head_strides s = dt_attention_strides(h->a);
    multiply(h, b, DT_SCORES, row_of(h, h->query, b->query, s.query),
             row_of(h, h->key, b->first, s.key), h->p);
}

/* Returns p as an operand of products: rounded into h->half if operands are bfloat16; rounded but
 * still float32 in `room` if the op's weights are rounded; else p itself. */
static const void *multiplied(const head *h, const dt_query_block *b, const float *p, float *room) {
    const dt_strip_function *strip = h->c->x->engine->simd->strip;
    int64_t n = b->rows * (b->last - b->first);

    if (h->a->narrow) strip[DT_S_TO_BF16](h->half, p, NULL, NULL, n);
    else if (h->a->attr.rounded) strip[DT_S_reduce_precision](room, p, NULL, NULL, n);
    return h->a->narrow ? (const void *)h->half : h->a->attr.rounded ? room : p;
}

/* Computes the results of a block of queries. If weights are rounded, they are divided by their sum
 * before the product with the values; otherwise the product is divided afterwards. */
static void run_block(const head *h, const dt_query_block *b) {
    const dt_attended *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    dt_head_strides s = dt_attention_strides(a);
    char *y = h->y + b->query * s.y * (a->narrow_to[0] ? 2 : 4);
    float one_over[DT_QUERY_BLOCK];

    find_scores(h, b);
    for (int64_t r = 0; r < b->rows; r++) {
        one_over[r] = take_shares(h, b, r);
        if (a->attr.rounded) rows->times(h->p + r * keys, one_over[r], keys);
    }
    multiply(h, b, DT_TAKE, multiplied(h, b, h->p, h->p), row_of(h, h->value, b->first, s.value),
             y);
    for (int64_t r = 0; r < b->rows && !a->attr.rounded; r++)
        rows->times((float *)y + r * s.y, one_over[r], a->value_size);
}

static void run_head(head *h, char *y) {
    const dt_attended *a = h->a;

    h->y = y;
    if (a->staged) {
        stage_inputs(h);
        h->y = (char *)h->room;
    }
    for (int k = 0; k < a->n_blocks; k++) run_block(h, &a->block[k]);
    if (a->staged) unstage(h, h->c->step->node, h->room, a->queries, y);
}

/* Finds the heads of queries, numbered over all examples, that this piece computes: [*first,
 * *last). */
static void find_heads(const dt_kernel_call *c, int64_t *first, int64_t *last) {
    const dt_attended *a = c->step->state;
    const int64_t row = c->x->p->piece[c->step->node].by == DT_BY_HEADS ? a->heads / a->key_heads
                                                                        : a->each * a->heads;
    *first = c->lo * row;
    *last = c->hi * row;
}

static void run(const dt_kernel_call *c) {
    const dt_attended *a = c->step->state;
    int64_t i, last;

    for (find_heads(c, &i, &last); i < last; i++) {
        head h = find_head(c, i / a->heads, i % a->heads);
        run_head(&h, head_of(c, c->step->node, i / a->heads, i % a->heads));
    }
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    return dt_attention_plan(x, step, dt_attention_read(x, step), false);
}

const dt_kernel dt_kernel_attention = {
    .name = "attention",
    .op = &dt_op_attention,
    .splits = DT_BY_ROWS | DT_BY_HEADS,
    .fits = dt_attention_fits,
    .narrow = dt_attention_narrow,
    .prepare = prepare,
    .run = run,
    .release = dt_attention_release,
};

/* ---- backward ---- */

/* Whether two nodes are gradients of the same attention (same op, inputs and attributes, but
 * possibly of another operand), and their pieces are computed in the same tasks. */
static bool goes_with(const dt_exec *x, int node, int other) {
    const dt_node *n = &x->g->node[node], *o = &x->g->node[other];
    const dt_attention_attr *a = n->attr, *b = o->attr;

    return o->op == n->op && x->p->piece[node].group == x->p->piece[other].group &&
           x->p->piece[node].units == x->p->piece[other].units &&
           memcmp(n->in, o->in, sizeof n->in) == 0 && a->scale == b->scale &&
           a->window == b->window && a->sinks == b->sinks && a->causal == b->causal &&
           a->rounded == b->rounded;
}

static dt_status *prepare_grad(dt_exec *x, dt_step *step) {
    dt_attended *a = dt_attention_read(x, step);
    int first = step->node;

    for (int i = x->g->n_nodes - 1; i >= 0; i--)
        if (goes_with(x, step->node, i)) {
            int of = ((const dt_attention_attr *)x->g->node[i].attr)->of;
            a->gradient[of] = i;
            a->narrow_to[of] = a->narrow && x->type[i].dtype == DT_BFLOAT16;
            first = i;
        }
    step->state = a;
    step->made_by = first;
    a->is_done_elsewhere = first != step->node;
    return a->is_done_elsewhere ? NULL : dt_attention_plan(x, step, a, true);
}

static void find_ds(const head *h, const dt_query_block *b) {
    const dt_attended *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    dt_head_strides s = dt_attention_strides(a);

    multiply(h, b, DT_TAKEN_BACK, row_of(h, h->dy, b->query, s.y),
             row_of(h, h->value, b->first, s.value), h->ds);
    for (int64_t r = 0; r < b->rows; r++)
        rows->shares_grad(h->ds + r * keys, h->p + r * keys, (float)a->attr.scale, keys);
}

/* Returns the memory in which the gradient of keys or values (`of`) is summed, from the block's
 * first key on: the head's float32 sums if it has them, else the gradient itself, whose rows are
 * `stride` floats apart. */
static void *sum_of(const head *h, const dt_query_block *b, int of, int64_t stride) {
    const dt_attended *a = h->a;
    int64_t size = of == DT_OF_KEY ? a->key_size : a->value_size;
    return h->sum[of] ? h->sum[of] + b->first * size
                      : (float *)(void *)h->gradient[of] + b->first * stride;
}

static void run_block_back(const head *h, const dt_query_block *b) {
    const dt_attended *a = h->a;
    const dt_row_functions *rows = h->c->x->engine->simd->rows;
    int64_t keys = b->last - b->first;
    dt_head_strides s = dt_attention_strides(a);

    find_scores(h, b);
    for (int64_t r = 0; r < b->rows; r++) rows->times(h->p + r * keys, take_shares(h, b, r), keys);
    /* if p has to be rounded but stays float32, the rounded copy is written to the memory of ds,
     * which is not in use yet */
    if (h->gradient[DT_OF_VALUE])
        multiply(h, b, DT_TO_VALUE, multiplied(h, b, h->p, h->ds), row_of(h, h->dy, b->query, s.y),
                 sum_of(h, b, DT_OF_VALUE, s.value));
    if (!h->gradient[DT_OF_QUERY] && !h->gradient[DT_OF_KEY]) return;
    find_ds(h, b);
    const void *ds = multiplied(h, b, h->ds, h->ds);
    if (h->gradient[DT_OF_QUERY])
        multiply(h, b, DT_TO_QUERY, ds, row_of(h, h->key, b->first, s.key),
                 h->gradient[DT_OF_QUERY] +
                     b->query * s.query * (a->narrow_to[DT_OF_QUERY] ? 2 : 4));
    if (h->gradient[DT_OF_KEY])
        multiply(h, b, DT_TO_KEY, ds, row_of(h, h->query, b->query, s.query),
                 sum_of(h, b, DT_OF_KEY, s.key));
}

/* Sets the gradients of a head of keys and of values to 0 in the result, in which the sums over
 * blocks are added up. Skips a gradient that is not needed. */
static void clear(const head *h) {
    for (int of = DT_OF_KEY; of <= DT_OF_VALUE; of++) {
        const int64_t size = of == DT_OF_KEY ? h->a->key_size : h->a->value_size;
        char *row = h->gradient[of];
        for (int64_t i = 0; row && i < h->a->keys; i++, row += h->a->key_heads * size * 4)
            memset(row, 0, (size_t)size * sizeof(float));
    }
}

/* Sets the sums for the gradients of a head of keys and values to 0, in scratch or in the result.
 * Called for the first of the heads of queries that share it. */
static void begin_sums(const head *h) {
    if (!h->sum[DT_OF_KEY]) clear(h);
    else
        memset(h->sum[DT_OF_KEY], 0,
               (size_t)(h->a->keys * (h->a->key_size + h->a->value_size)) * sizeof(float));
}

static void store_sums(const head *h) {
    for (int of = DT_OF_KEY; of <= DT_OF_VALUE; of++)
        if (h->gradient[of])
            unstage(h, h->a->gradient[of], h->sum[of], h->a->keys, h->gradient[of]);
}

static void run_head_back(head *h, int64_t n) {
    const dt_attended *a = h->a;
    int64_t shared = a->heads / a->key_heads;
    char *of_query = h->gradient[DT_OF_QUERY];

    if (n % shared == 0) begin_sums(h);
    if (a->staged) {
        stage_inputs(h);
        h->gradient[DT_OF_QUERY] = of_query ? (char *)h->room : NULL;
    }
    for (int k = 0; k < a->n_blocks; k++) run_block_back(h, &a->block[k]);
    if (a->staged && of_query) unstage(h, a->gradient[DT_OF_QUERY], h->room, a->queries, of_query);
    if (h->sum[DT_OF_KEY] && n % shared == shared - 1) store_sums(h);
}

static void run_grad(const dt_kernel_call *c) {
    const dt_attended *a = c->step->state;
    int dy = c->x->g->node[c->step->node].in[3];
    int64_t i, last;

    if (a->is_done_elsewhere) return;
    for (find_heads(c, &i, &last); i < last; i++) {
        const int64_t example = i / a->heads, n = i % a->heads;
        head h = find_head(c, example, n);
        h.dy = head_of(c, dy, example, n);
        for (int of = DT_OF_QUERY; of <= DT_OF_VALUE; of++)
            h.gradient[of] =
                a->gradient[of] == DT_OF_NONE ? NULL : head_of(c, a->gradient[of], example, n);
        run_head_back(&h, n);
    }
}

const dt_kernel dt_kernel_attention_grad = {
    .name = "attention_grad",
    .op = &dt_op_attention_grad,
    .splits = DT_BY_ROWS | DT_BY_HEADS,
    .fits = dt_attention_fits,
    .narrow = dt_attention_narrow,
    .prepare = prepare_grad,
    .run = run_grad,
    .release = dt_attention_release,
};
