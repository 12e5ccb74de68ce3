/*
 * A pool of float values grows by random ops, each of which picks operands that fit. Every value carries a bound on its size; what
 * grows too large goes through tanh. Then come a loss, its gradients, updates and results.
 */
#include "random_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { MOST_VALUES = 160, MOST_MASKS = 8 };

typedef struct entry {
    dt_value v;
    double bound;
} entry;

typedef struct drawing {
    random_graph *g;
    random_kind kind;
    dt_random r;
    dt_trace *t;
    int n, n_masks;
    entry pool[MOST_VALUES];
    dt_value mask[MOST_MASKS]; /* bool, computed of fed values alone */
    dt_value image, label, rate;
} drawing;

/* ---- drawing ---- */

static int below(drawing *d, int n)
{
    return (int)dt_random_below(&d->r, (uint64_t)n);
}

static bool coin(drawing *d)
{
    return below(d, 2) == 1;
}

static dt_type type_of(drawing *d, int i)
{
    return dt_type_of_value(d->pool[i].v);
}

static dt_value push(drawing *d, dt_value v, double bound)
{
    if (bound > 6) {
        v = dt_tanh(v);
        bound = 1;
    }
    if (d->n < MOST_VALUES)
        d->pool[d->n++] = (entry){ v, bound };
    return v;
}

/* A random entry for which `fits` holds; NULL when none is met soon. */
static const entry *pick(drawing *d, bool (*fits)(const dt_type *t))
{
    for (int tries = 0; tries < 12; tries++) {
        int i = below(d, d->n);
        dt_type t = type_of(d, i);
        if (!fits || fits(&t))
            return &d->pool[i];
    }
    return NULL;
}

static const entry *pick_of_type(drawing *d, const dt_type *t)
{
    int from = below(d, d->n);
    for (int i = 0; i < d->n; i++) {
        dt_type u = type_of(d, (from + i) % d->n);
        if (dt_type_equal(&u, t))
            return &d->pool[(from + i) % d->n];
    }
    return NULL;
}

static bool has_rows(const dt_type *t)
{
    return dt_type_has_batch(t);
}

static bool has_no_rows(const dt_type *t)
{
    return !dt_type_has_batch(t);
}

static bool is_table(const dt_type *t)
{
    return t->rank >= 2;
}

static bool is_row_table(const dt_type *t)
{
    return t->rank == 2 && t->dim[0] == DT_BATCH;
}

static bool has_dims(const dt_type *t)
{
    return t->rank > 0;
}

static bool has_classes(const dt_type *t)
{
    return t->rank > 0 && t->dim[t->rank - 1] > 0;
}

/* ---- variables ---- */

static dt_value new_variable(drawing *d, dt_dtype dtype, int rank, const int64_t *dim)
{
    random_graph *g = d->g;
    dt_type type = dt_type_of(dtype, rank, dim);
    char path[16];
    snprintf(path, sizeof path, "v%d", g->n_variables);
    dt_status_free(dt_variable_create(&g->variable[g->n_variables], path, &type, true));
    return dt_read(d->t, g->variable[g->n_variables++]);
}

static bool room_for_variables(const drawing *d, int n)
{
    return d->g->n_variables + n <= (int)(sizeof d->g->variable / sizeof *d->g->variable);
}

/* ---- arguments ---- */

static dt_value declare(drawing *d, const char *name, dt_dtype dtype, int rank, const int64_t *dim, bool distributed)
{
    dt_type type = dt_type_of(dtype, rank, dim);
    dt_value v = dt_trace_declare(d->t, name, &type);
    d->g->distributed[((const dt_index_attr *)dt_node_of(v)->attr)->index] = distributed;
    return v;
}

/* Fed values are multiples of 1/8: none is equal to an odd multiple of 1/16. */
static void add_mask(drawing *d, dt_value fed)
{
    double border = (2 * below(d, 16) - 15) / 16.0;
    if (d->n_masks < MOST_MASKS)
        d->mask[d->n_masks++] = dt_compare(fed, dt_like(fed, border), (dt_direction)below(d, 6));
}

static void declare_arguments(drawing *d)
{
    int64_t n = 1 + below(d, 9), h = 1 + below(d, 3), w = 1 + below(d, 4);
    d->g->classes = 2 + below(d, 5);
    d->image = push(d, declare(d, "image", DT_FLOAT32, 2, (int64_t[]){ DT_BATCH, n }, true), 3);
    d->label = declare(d, "label", coin(d) ? DT_INT32 : DT_INT64, 1, (int64_t[]){ DT_BATCH }, true);
    add_mask(d, d->image);
    if (coin(d)) {
        dt_value cube = push(d, declare(d, "cube", DT_FLOAT32, 3, (int64_t[]){ DT_BATCH, h, w }, true), 3);
        add_mask(d, cube);
    }
    if (coin(d)) {
        dt_value pixel = declare(d, "pixel", DT_UINT8, 2, (int64_t[]){ DT_BATCH, 4 }, true);
        push(d, dt_multiply(dt_convert(pixel, DT_FLOAT32), dt_constant(d->t, 1.0 / 255)), 1);
    }
    d->rate = coin(d) ? declare(d, "rate", DT_FLOAT32, 0, NULL, false) : dt_constant(d->t, 0.25);
    if (d->kind == RANDOM_FIT)
        return;
    if (coin(d))
        push(d, declare(d, "gain", DT_FLOAT32, 0, NULL, true), 3);
    if (coin(d))
        push(d, declare(d, "shift", DT_FLOAT32, 1, (int64_t[]){ n }, true), 3);
    if (coin(d))
        push(d, declare(d, "table", DT_FLOAT32, 2, (int64_t[]){ w, n }, false), 3);
}

/* ---- element-wise ops ---- */

static dt_value unary(drawing *d, dt_value x, double *bound)
{
    double b = *bound;
    switch (below(d, 12)) {
    case 0: *bound = 1; return dt_tanh(x);
    case 1: *bound = 1; return dt_logistic(x);
    case 2: *bound = exp(1); return dt_exponential(dt_tanh(x));
    case 3: *bound = 1 + log(b + 0.5); return dt_log(dt_add(dt_abs(x), dt_like(x, 0.5)));
    case 4: *bound = sqrt(b + 0.5); return dt_sqrt(dt_add(dt_abs(x), dt_like(x, 0.5)));
    case 5: *bound = 1.5; return dt_rsqrt(dt_add(dt_multiply(x, x), dt_like(x, 0.5)));
    case 6: return dt_negate(x);
    case 7: return dt_abs(x);
    case 8: *bound = b * b; return dt_multiply(x, x);
    case 9: return dt_maximum(x, dt_like(x, 0));
    case 10: *bound = pow(b + 0.5, 1.5); return dt_power(dt_add(dt_abs(x), dt_like(x, 0.5)), dt_like(x, 1.5));
    default: return dt_minimum(x, dt_like(x, 1));
    }
}

static void add_unary(drawing *d)
{
    entry e = *pick(d, NULL);
    push(d, unary(d, e.v, &e.bound), e.bound);
}

static dt_value binary(drawing *d, dt_value a, dt_value b, double x, double y, double *bound)
{
    switch (below(d, 5)) {
    case 0: *bound = x + y; return dt_add(a, b);
    case 1: *bound = x + y; return dt_subtract(a, b);
    case 2: *bound = x * y; return dt_multiply(a, b);
    case 3: *bound = 2 * x; return dt_divide(a, dt_add(dt_abs(b), dt_constant(d->t, 0.5)));
    default: *bound = x * y + x; return dt_add(dt_multiply(a, b), a);
    }
}

static bool broadcasts(const dt_type *small, const dt_type *large)
{
    for (int i = 1; i <= small->rank; i++)
        if (i > large->rank || small->dim[small->rank - i] != large->dim[large->rank - i])
            return false;
    return true;
}

static void add_binary(drawing *d)
{
    entry a = *pick(d, NULL), b;
    dt_type large = dt_type_of_value(a.v);
    double bound;
    for (int tries = 0; tries < 20; tries++) {
        b = *pick(d, NULL);
        dt_type small = dt_type_of_value(b.v);
        if (broadcasts(&small, &large)) {
            dt_value y = coin(d) || small.rank < large.rank ? binary(d, a.v, b.v, a.bound, b.bound, &bound)
                                                            : (bound = fmax(a.bound, b.bound), dt_maximum(a.v, b.v));
            push(d, y, bound);
            return;
        }
    }
}

static void add_select(drawing *d)
{
    dt_value mask = d->mask[below(d, d->n_masks)];
    dt_type t = dt_type_of_value(mask);
    t.dtype = DT_FLOAT32;
    const entry *a = pick_of_type(d, &t), *b = pick_of_type(d, &t);
    if (a && b)
        push(d, dt_select(mask, a->v, b->v), fmax(a->bound, b->bound));
    push(d, dt_convert(mask, DT_FLOAT32), 1);
}

/* ---- shapes ---- */

/* Of (k*B, ...) the values (B, k, ...), of (B, k, ...) the values (k*B, ...). */
static dt_value regroup_rows(drawing *d, dt_value x)
{
    dt_type t = dt_type_of_value(x);
    int64_t dim[DT_MAX_RANK] = { DT_BATCH };
    if (t.dim[0] != DT_BATCH) {
        dim[1] = -t.dim[0];
        memcpy(dim + 2, t.dim + 1, (size_t)(t.rank - 1) * sizeof *dim);
        return dt_reshape(x, t.rank + 1, dim);
    }
    if (t.rank < 2 || t.dim[1] == 0 || coin(d))
        return x;
    dim[0] = -t.dim[1];
    memcpy(dim + 1, t.dim + 2, (size_t)(t.rank - 2) * sizeof *dim);
    return dt_reshape(x, t.rank - 1, dim);
}

/* All dimensions but the first as one, or one more of size 1. */
static dt_value flatten(drawing *d, dt_value x)
{
    dt_type t = dt_type_of_value(x);
    int64_t dim[DT_MAX_RANK], rest = 1;
    memcpy(dim, t.dim, sizeof dim);
    if (coin(d) && t.rank < 4) {
        dim[t.rank] = 1;
        return dt_reshape(x, t.rank + 1, dim);
    }
    for (int i = 1; i < t.rank; i++)
        rest *= t.dim[i];
    return dt_reshape(x, 2, (int64_t[]){ t.dim[0], rest });
}

static void add_reshape(drawing *d)
{
    const entry *e = pick(d, has_dims);
    if (!e)
        return;
    dt_type t = dt_type_of_value(e->v);
    push(d, has_rows(&t) && coin(d) && t.rank < 4 ? regroup_rows(d, e->v) : flatten(d, e->v), e->bound);
}

static void add_transpose(drawing *d)
{
    const entry *e = pick(d, is_table);
    if (!e)
        return;
    dt_type t = dt_type_of_value(e->v);
    int perm[DT_MAX_RANK], first = has_rows(&t), turn = 1 + below(d, 3);
    for (int i = 0; i < t.rank; i++)
        perm[i] = i < first ? i : first + (i - first + turn) % (t.rank - first);
    push(d, dt_transpose(e->v, perm), e->bound);
}

/* (B) along the rows of (B, ...) */
static void add_broadcast_rows(drawing *d)
{
    const entry *x = pick(d, has_rows);
    if (!x)
        return;
    dt_type large = dt_type_of_value(x->v), rows = dt_type_of(DT_FLOAT32, 1, large.dim);
    const entry *r = pick_of_type(d, &rows);
    if (r)
        push(d, dt_multiply(x->v, dt_broadcast_rows(r->v, &large)), x->bound * r->bound);
}

/* ---- sums ---- */

/* The rows of this replica, or of all, at least 1, as a float. */
static dt_value count_of(drawing *d, dt_value x)
{
    dt_value n = dt_dim_value(x, 0);
    if (d->kind == RANDOM_FIT || coin(d))
        n = dt_all_reduce(DT_SUM, n);
    return dt_maximum(dt_convert(n, DT_FLOAT32), dt_constant(d->t, 1));
}

static dt_value mean_over_rows(drawing *d, dt_value sum, dt_value of)
{
    return dt_divide(sum, count_of(d, of));
}

static void add_reduce(drawing *d)
{
    const entry *e = pick(d, has_dims);
    if (!e)
        return;
    dt_type t = dt_type_of_value(e->v);
    uint32_t dims = 1 + (uint32_t)below(d, (1 << t.rank) - 1);
    bool rows = has_rows(&t) && dims & 1;
    dt_reduce_kind kind = below(d, 4) ? DT_REDUCE_SUM : coin(d) ? DT_REDUCE_MAX : DT_REDUCE_MIN;
    dt_value y = dt_reduce(e->v, kind, dims);
    double size = 1, bound = e->bound;
    for (int i = 0; i < t.rank; i++)
        if (dims >> i & 1 && t.dim[i] > 0)
            size *= (double)t.dim[i];
    if (kind == DT_REDUCE_SUM) {
        y = rows ? mean_over_rows(d, y, e->v) : y;
        bound *= size;
    } else if (rows) {
        y = dt_clamp(y, -bound, bound); /* an empty replica has the maximum -inf */
    }
    push(d, y, bound);
}

static void add_all_reduce(drawing *d)
{
    const entry *e = pick(d, has_no_rows);
    if (!e)
        return;
    bool mean = coin(d);
    dt_value y = dt_all_reduce(mean ? DT_MEAN : DT_SUM, e->v);
    push(d, mean ? y : dt_multiply(y, dt_constant(d->t, 0.25)), 1.5 * e->bound);
}

static void add_counts(drawing *d)
{
    const entry *e = pick(d, has_rows);
    if (e)
        push(d, dt_multiply(dt_convert(dt_dim_value(e->v, 0), DT_FLOAT32), dt_constant(d->t, 1.0 / 512)), 4);
    push(d, dt_multiply(dt_convert(dt_replica_id(d->t), DT_FLOAT32), dt_constant(d->t, 0.25)), 2);
}

static void add_iota(drawing *d)
{
    const entry *e = pick(d, has_classes);
    if (!e)
        return;
    dt_type t = dt_type_of_value(e->v), line = dt_type_of(DT_FLOAT32, 1, &t.dim[t.rank - 1]);
    push(d, dt_multiply(dt_iota(d->t, &line, 0), dt_constant(d->t, 0.125)), 2);
}

/* ---- products ---- */

static dt_value scaled_product(dt_value y, int64_t k)
{
    return dt_multiply(y, dt_scalar(y.trace, DT_FLOAT32, 1 / sqrt((double)k)));
}

static dt_value dense(drawing *d, dt_value x, int64_t units, bool bias)
{
    dt_type t = dt_type_of_value(x);
    int64_t k = t.dim[t.rank - 1];
    dt_value w = new_variable(d, DT_FLOAT32, 2, (int64_t[]){ k, units });
    dt_value y = scaled_product(dt_matmul(x, w), k);
    return bias ? dt_add(y, new_variable(d, DT_FLOAT32, 1, &units)) : y;
}

static void add_product(drawing *d)
{
    const entry *e = pick(d, is_table);
    if (e && room_for_variables(d, 2))
        push(d, dense(d, e->v, 1 + below(d, 7), coin(d)), 2 * e->bound);
}

/* (B, m), (B, m) -> (B): a batch dimension of the product */
static void add_row_product(drawing *d)
{
    const entry *a = pick(d, is_row_table);
    if (!a)
        return;
    dt_type t = dt_type_of_value(a->v);
    const entry *b = pick_of_type(d, &t);
    dt_dot_attr attr = { .n_batch = 1, .n_contract = 1, .lhs_contract = { 1 }, .rhs_contract = { 1 } };
    push(d, scaled_product(dt_dot_general(a->v, b->v, &attr), t.dim[1] * t.dim[1]), a->bound * b->bound);
}

/* (B, m), (B, n) -> (m, n): contracted over the rows, as gradients of weights are */
static void add_row_sum_product(drawing *d)
{
    const entry *a = pick(d, is_row_table), *b = pick(d, is_row_table);
    dt_dot_attr attr = { .n_contract = 1 };
    if (a && b)
        push(d, mean_over_rows(d, dt_dot_general(a->v, b->v, &attr), a->v), a->bound * b->bound);
}

static void add_softmax(drawing *d)
{
    const entry *e = pick(d, has_classes);
    if (e)
        push(d, dt_softmax(e->v), 1);
}

static dt_value classify(drawing *d, const entry *e, dt_value *logits)
{
    *logits = dense(d, e->v, d->g->classes, true);
    dt_type t = dt_type_of_value(*logits);
    if (coin(d))
        return dt_softmax_cross_entropy(*logits, d->label);
    dt_value other = dense(d, e->v, d->g->classes, false);
    return dt_softmax_cross_entropy(*logits, t.rank == 2 ? dt_softmax(other) : *logits);
}

static void add_entropy(drawing *d)
{
    const entry *e = pick(d, is_row_table);
    dt_value logits;
    if (e && room_for_variables(d, 4))
        push(d, classify(d, e, &logits), 8);
}

/* ---- ops that need not fold ---- */

/* Rows times a table of each replica's own. */
static void add_own_weights(drawing *d)
{
    const entry *a = pick(d, is_row_table), *b = pick(d, is_row_table);
    if (!a || !b)
        return;
    dt_dot_attr gram = { .n_contract = 1 };
    dt_value table = mean_over_rows(d, dt_dot_general(a->v, b->v, &gram), a->v); /* (m, n) */
    push(d, dt_tanh(dt_matmul(a->v, table)), 1);
}

static void add_row_numbers(drawing *d)
{
    const entry *e = pick(d, has_rows);
    if (!e)
        return;
    dt_type t = dt_type_of_value(e->v), rows = dt_type_of(DT_FLOAT32, 1, t.dim);
    push(d, dt_tanh(dt_iota(d->t, &rows, 0)), 1);
}

static void add_best_row(drawing *d)
{
    dt_value best = dt_convert(dt_argmax(d->image, 0), DT_FLOAT32); /* of fed values: no two ways to round */
    push(d, dt_multiply(best, dt_constant(d->t, 0.01)), 3);
}

/* ---- the body of the step ---- */

typedef void (*grower)(drawing *d);
static const grower growers[] = {
    add_unary, add_unary, add_unary, add_binary, add_binary, add_binary, add_select, add_reshape, add_transpose, add_broadcast_rows,
    add_reduce, add_reduce, add_all_reduce, add_counts, add_iota, add_product, add_product, add_row_product, add_row_sum_product,
    add_softmax, add_entropy, add_own_weights, add_row_numbers, add_best_row,
};
enum { WILD_GROWERS = 3 };

static void grow(drawing *d)
{
    int all = (int)(sizeof growers / sizeof *growers), n = all - (d->kind == RANDOM_WILD ? 0 : WILD_GROWERS);
    for (int i = 8 + below(d, 30); i > 0; i--)
        growers[below(d, n)](d);
}

static dt_value activation(drawing *d, dt_value x)
{
    switch (below(d, 4)) {
    case 0: return dt_maximum(x, dt_like(x, 0));
    case 1: return dt_tanh(x);
    case 2: return dt_logistic(x);
    default: return x;
    }
}

/* x minus its mean over the rows, by its deviation: of the replica's own rows, or of all. */
static dt_value normalize(drawing *d, dt_value x)
{
    bool own = d->kind != RANDOM_FIT && coin(d);
    dt_value n = count_of(d, x), sum = dt_reduce(x, DT_REDUCE_SUM, 1);
    dt_value centred = dt_subtract(x, dt_divide(own ? sum : dt_all_reduce(DT_SUM, sum), n));
    dt_value squares = dt_reduce(dt_multiply(centred, centred), DT_REDUCE_SUM, 1);
    dt_value square = dt_divide(own ? squares : dt_all_reduce(DT_SUM, squares), n);
    return dt_tanh(dt_multiply(centred, dt_rsqrt(dt_add(square, dt_like(square, 0.25)))));
}

static void draw_layers(drawing *d)
{
    dt_value x = d->image;
    for (int i = below(d, 3); i > 0; i--) {
        x = activation(d, dense(d, x, 1 + below(d, 12), coin(d)));
        x = push(d, below(d, 4) ? x : normalize(d, x), 4);
    }
}

/* ---- loss, metrics ---- */

/* The mean over all rows, as fit's; or each replica's own. */
static dt_value mean_loss(drawing *d, dt_value rows)
{
    dt_value sum = dt_reduce(rows, DT_REDUCE_SUM, 1);
    if (d->kind != RANDOM_FIT && coin(d))
        return mean_over_rows(d, sum, rows);
    dt_value n = dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(rows, 0)), DT_FLOAT32);
    return dt_divide(sum, dt_maximum(n, dt_constant(d->t, 1)));
}

static dt_value accuracy(drawing *d, dt_value logits)
{
    dt_value hits = dt_compare(dt_argmax(logits, 1), dt_convert(d->label, DT_INT32), DT_EQ);
    return dt_reduce(dt_convert(hits, DT_FLOAT32), DT_REDUCE_SUM, 1);
}

static dt_value draw_loss(drawing *d)
{
    const entry *e = pick(d, is_row_table);
    dt_value logits, rows = classify(d, e ? e : &d->pool[0], &logits);
    dt_value loss = mean_loss(d, rows), hits = accuracy(d, logits);
    dt_return(d->t, "loss", dt_all_reduce(DT_SUM, loss));
    dt_return(d->t, "hits", coin(d) ? dt_all_reduce(DT_SUM, hits) : hits);
    dt_return(d->t, "rows", rows);
    dt_return(d->t, "logits", logits);
    if (d->kind == RANDOM_FIT)
        return loss;
    for (int i = 0; i < 2; i++) {
        const entry *more = &d->pool[below(d, d->n)];
        dt_type t = dt_type_of_value(more->v);
        dt_value sum = dt_reduce_sum(more->v, DT_NO_AXIS);
        loss = dt_add(loss, dt_multiply(has_rows(&t) ? mean_over_rows(d, sum, more->v) : sum, dt_constant(d->t, 0.125)));
    }
    return loss;
}

/* ---- updates ---- */

static dt_value slot_for(drawing *d, dt_value w)
{
    dt_type t = dt_type_of_value(w);
    return new_variable(d, t.dtype, t.rank, t.dim);
}

static dt_variable *last_variable(drawing *d)
{
    return d->g->variable[d->g->n_variables - 1];
}

static void update_by_adam(drawing *d, dt_variable *v, dt_value w, dt_value g)
{
    dt_value m = slot_for(d, w);
    dt_variable *m_variable = last_variable(d);
    dt_value u = slot_for(d, w);
    dt_variable *u_variable = last_variable(d);
    m = dt_add(m, dt_multiply(dt_subtract(g, m), dt_like(m, 0.1)));
    u = dt_add(u, dt_multiply(dt_subtract(dt_multiply(g, g), u), dt_like(u, 0.001)));
    dt_assign(d->t, m_variable, m);
    dt_assign(d->t, u_variable, u);
    dt_value size = dt_add(dt_sqrt(dt_abs(u)), dt_like(u, 0.5));
    dt_assign(d->t, v, dt_subtract(w, dt_divide(dt_multiply(m, d->rate), size)));
}

static void update_by_momentum(drawing *d, dt_variable *v, dt_value w, dt_value g)
{
    dt_value m = slot_for(d, w);
    dt_variable *slot = last_variable(d);
    m = dt_subtract(dt_multiply(m, dt_like(m, 0.5)), dt_multiply(g, d->rate));
    dt_assign(d->t, slot, m);
    dt_assign(d->t, v, dt_add(w, m));
}

static void update(drawing *d, dt_variable *v, dt_value w, dt_value g)
{
    if (below(d, 4) == 0) /* weight decay */
        w = dt_subtract(w, dt_multiply(w, dt_multiply(d->rate, dt_constant(d->t, 0.01))));
    switch (room_for_variables(d, 2) ? below(d, 3) : 0) {
    case 0: dt_assign(d->t, v, dt_subtract(w, dt_multiply(g, d->rate))); break;
    case 1: update_by_momentum(d, v, w, g); break;
    default: update_by_adam(d, v, w, g); break;
    }
}

static void draw_updates(drawing *d, dt_value loss)
{
    int n = d->g->n_variables;
    dt_value w[64], g[64];
    for (int i = 0; i < n; i++)
        w[i] = dt_read(d->t, d->g->variable[i]);
    dt_gradients_of(loss, w, n, g);
    for (int i = 0; i < n; i++)
        if (g[i].trace) {
            dt_value sum = dt_all_reduce(d->kind == RANDOM_FIT || coin(d) ? DT_SUM : DT_MEAN, g[i]);
            update(d, d->g->variable[i], w[i], coin(d) ? dt_tanh(sum) : sum);
            if (d->kind != RANDOM_FIT && below(d, 6) == 0)
                push(d, g[i], 10);
        }
}

/* Two variables that change places, and one that keeps another's old value. */
static void draw_moves(drawing *d)
{
    if (!room_for_variables(d, 3))
        return;
    int64_t n = 1 + below(d, 5);
    dt_value a = new_variable(d, DT_FLOAT32, 1, &n);
    dt_variable *va = last_variable(d);
    dt_value b = new_variable(d, DT_FLOAT32, 1, &n);
    dt_variable *vb = last_variable(d);
    dt_return(d->t, "old", coin(d) ? a : dt_reshape(a, 2, (int64_t[]){ n, 1 }));
    dt_assign(d->t, va, coin(d) ? b : dt_add(b, dt_like(b, 0.25)));
    dt_assign(d->t, vb, a);
    if (coin(d))
        dt_return(d->t, "new", dt_read(d->t, va));
}

static void draw_iteration(drawing *d)
{
    if (!room_for_variables(d, 1))
        return;
    dt_value t = new_variable(d, DT_INT64, 0, NULL);
    t = dt_add(t, dt_scalar(d->t, DT_INT64, 1));
    dt_assign(d->t, last_variable(d), t);
    push(d, dt_power(dt_constant(d->t, 0.9), dt_convert(t, DT_FLOAT32)), 1);
}

static void draw_results(drawing *d)
{
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "result%d", i);
        dt_return(d->t, name, d->pool[below(d, d->n)].v);
    }
}

/* ---- the whole ---- */

void random_graph_reset(const random_graph *g)
{
    dt_random r = dt_random_stream(g->seed, "variables", 0);
    for (int i = 0; i < g->n_variables; i++) {
        dt_variable *v = g->variable[i];
        for (int64_t k = 0; k < dt_type_elements(&v->type); k++)
            if (v->type.dtype == DT_FLOAT32)
                ((float *)v->data)[k] = (float)(dt_random_normal(&r) / 2);
            else
                ((int64_t *)v->data)[k] = (int64_t)dt_random_below(&r, 5);
    }
}

random_graph *random_graph_draw(random_kind kind, uint64_t seed)
{
    random_graph *g = dt_alloc(sizeof *g);
    drawing d = { .g = g, .kind = kind, .r = dt_random_stream(seed, "graph", (uint64_t)kind), .t = dt_trace_create("random") };
    g->seed = seed;
    declare_arguments(&d);
    draw_layers(&d);
    if (kind != RANDOM_FIT)
        grow(&d);
    draw_iteration(&d);
    draw_updates(&d, draw_loss(&d));
    if (kind != RANDOM_FIT)
        draw_moves(&d);
    draw_results(&d);
    dt_status *s = dt_trace_end(d.t, &g->graph);
    if (s) {
        fprintf(stderr, "seed %llu, kind %d: ", (unsigned long long)seed, (int)kind);
        dt_report(s);
        abort();
    }
    random_graph_reset(g);
    return g;
}

void random_graph_destroy(random_graph *g)
{
    dt_graph_destroy(g->graph);
    for (int i = 0; i < g->n_variables; i++)
        dt_variable_unref(g->variable[i]);
    free(g);
}
