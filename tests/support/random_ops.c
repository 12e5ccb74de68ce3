/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random ops on a pool of values: each picks operands that fit and adds what it makes. What the
 * pool holds is tame: every value carries a bound on its size.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drawing.h"

/* ---- drawing ---- */

int draw_below(drawing *d, int n) { return (int)dt_random_below(&d->r, (uint64_t)n); }

bool draw_coin(drawing *d) { return draw_below(d, 2) == 1; }

static dt_type type_of(drawing *d, int i) { return dt_type_of_value(d->pool[i].v); }

dt_value draw_push(drawing *d, dt_value v, double bound) {
    if (bound > 6) {
        v = dt_tanh(v);
        bound = 1;
    }
    if (d->n < MOST_VALUES) d->pool[d->n++] = (entry){v, bound};
    return v;
}

/* A random entry for which `fits` holds; NULL when none is met soon. */
const entry *draw_pick(drawing *d, bool (*fits)(const dt_type *t)) {
    for (int tries = 0; tries < 12; tries++) {
        int i = draw_below(d, d->n);
        dt_type t = type_of(d, i);
        if (!fits || fits(&t)) return &d->pool[i];
    }
    return NULL;
}

const entry *draw_pick_of_type(drawing *d, const dt_type *t) {
    int from = draw_below(d, d->n);
    for (int i = 0; i < d->n; i++) {
        dt_type u = type_of(d, (from + i) % d->n);
        if (dt_type_equal(&u, t)) return &d->pool[(from + i) % d->n];
    }
    return NULL;
}

bool has_rows(const dt_type *t) { return dt_type_has_batch(t); }

static bool has_no_rows(const dt_type *t) { return !dt_type_has_batch(t); }

static bool is_table(const dt_type *t) { return t->rank >= 2; }

bool is_row_table(const dt_type *t) { return t->rank == 2 && t->dim[0] == DT_BATCH; }

static bool has_dims(const dt_type *t) { return t->rank > 0; }

static bool has_classes(const dt_type *t) { return t->rank > 0 && t->dim[t->rank - 1] > 0; }

/* ---- variables ---- */

dt_value draw_new_variable(drawing *d, dt_dtype dtype, int rank, const int64_t *dim) {
    random_graph *g = d->g;
    dt_type type = dt_type_of(dtype, rank, dim);
    char path[16];
    snprintf(path, sizeof path, "v%d", g->n_variables);
    dt_status_free(dt_variable_alloc(&g->variable[g->n_variables], path, &type, true));
    return dt_read(d->t, g->variable[g->n_variables++]);
}

bool draw_room_for_variables(const drawing *d, int n) {
    return d->g->n_variables + n <=
           (d->kind == RANDOM_BLOCKS ? (int)(sizeof d->g->variable / sizeof *d->g->variable) : 64);
}

/* ---- element-wise ops ---- */

static dt_value unary(drawing *d, dt_value x, double *bound) {
    double b = *bound;
    switch (draw_below(d, 12)) {
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
    case 10:
        *bound = pow(b + 0.5, 1.5);
        return dt_power(dt_add(dt_abs(x), dt_like(x, 0.5)), dt_like(x, 1.5));
    default: return dt_minimum(x, dt_like(x, 1));
    }
}

static void add_unary(drawing *d) {
    entry e = *draw_pick(d, NULL);
    draw_push(d, unary(d, e.v, &e.bound), e.bound);
}

static dt_value binary(drawing *d, dt_value a, dt_value b, double x, double y, double *bound) {
    switch (draw_below(d, 5)) {
    case 0: *bound = x + y; return dt_add(a, b);
    case 1: *bound = x + y; return dt_subtract(a, b);
    case 2: *bound = x * y; return dt_multiply(a, b);
    case 3: *bound = 2 * x; return dt_divide(a, dt_add(dt_abs(b), dt_constant(d->t, 0.5)));
    default: *bound = x * y + x; return dt_add(dt_multiply(a, b), a);
    }
}

static bool broadcasts(const dt_type *small, const dt_type *large) {
    for (int i = 1; i <= small->rank; i++)
        if (i > large->rank || small->dim[small->rank - i] != large->dim[large->rank - i])
            return false;
    return true;
}

static void add_binary(drawing *d) {
    entry a = *draw_pick(d, NULL), b;
    dt_type large = dt_type_of_value(a.v);
    double bound;
    for (int tries = 0; tries < 20; tries++) {
        b = *draw_pick(d, NULL);
        dt_type small = dt_type_of_value(b.v);
        if (broadcasts(&small, &large)) {
            dt_value y = draw_coin(d) || small.rank < large.rank
                             ? binary(d, a.v, b.v, a.bound, b.bound, &bound)
                             : (bound = fmax(a.bound, b.bound), dt_maximum(a.v, b.v));
            draw_push(d, y, bound);
            return;
        }
    }
}

static void add_select(drawing *d) {
    dt_value mask = d->mask[draw_below(d, d->n_masks)];
    dt_type t = dt_type_of_value(mask);
    t.dtype = DT_FLOAT32;
    const entry *a = draw_pick_of_type(d, &t), *b = draw_pick_of_type(d, &t);
    if (a && b) draw_push(d, dt_select(mask, a->v, b->v), fmax(a->bound, b->bound));
    draw_push(d, dt_convert(mask, DT_FLOAT32), 1);
}

/* ---- shapes ---- */

/* Of (k*B, ...) the values (B, k, ...), of (B, k, ...) the values (k*B, ...). */
static dt_value regroup_rows(drawing *d, dt_value x) {
    dt_type t = dt_type_of_value(x);
    int64_t dim[DT_MAX_RANK] = {DT_BATCH};
    if (t.dim[0] != DT_BATCH) {
        dim[1] = -t.dim[0];
        memcpy(dim + 2, t.dim + 1, (size_t)(t.rank - 1) * sizeof *dim);
        return dt_reshape(x, t.rank + 1, dim);
    }
    if (t.rank < 2 || t.dim[1] == 0 || draw_coin(d)) return x;
    dim[0] = -t.dim[1];
    memcpy(dim + 1, t.dim + 2, (size_t)(t.rank - 2) * sizeof *dim);
    return dt_reshape(x, t.rank - 1, dim);
}

/* All dimensions but the first as one, or one more of size 1. */
static dt_value flatten(drawing *d, dt_value x) {
    dt_type t = dt_type_of_value(x);
    int64_t dim[DT_MAX_RANK], rest = 1;
    memcpy(dim, t.dim, sizeof dim);
    if (draw_coin(d) && t.rank < 4) {
        dim[t.rank] = 1;
        return dt_reshape(x, t.rank + 1, dim);
    }
    for (int i = 1; i < t.rank; i++) rest *= t.dim[i];
    return dt_reshape(x, 2, (int64_t[]){t.dim[0], rest});
}

static void add_reshape(drawing *d) {
    const entry *e = draw_pick(d, has_dims);
    if (!e) return;
    dt_type t = dt_type_of_value(e->v);
    draw_push(d,
              has_rows(&t) && draw_coin(d) && t.rank < 4 ? regroup_rows(d, e->v) : flatten(d, e->v),
              e->bound);
}

static void add_transpose(drawing *d) {
    const entry *e = draw_pick(d, is_table);
    if (!e) return;
    dt_type t = dt_type_of_value(e->v);
    int perm[DT_MAX_RANK], first = has_rows(&t), turn = 1 + draw_below(d, 3);
    for (int i = 0; i < t.rank; i++)
        perm[i] = i < first ? i : first + (i - first + turn) % (t.rank - first);
    draw_push(d, dt_transpose(e->v, perm), e->bound);
}

/* (B) along the rows of (B, ...) */
static void add_broadcast_rows(drawing *d) {
    const entry *x = draw_pick(d, has_rows);
    if (!x) return;
    dt_type large = dt_type_of_value(x->v), rows = dt_type_of(DT_FLOAT32, 1, large.dim);
    const entry *r = draw_pick_of_type(d, &rows);
    if (r) draw_push(d, dt_multiply(x->v, dt_broadcast_rows(r->v, &large)), x->bound * r->bound);
}

/* ---- sums ---- */

/* The rows of this replica, or of all, at least 1, as a float. */
dt_value draw_count_of(drawing *d, dt_value x) {
    dt_value n = dt_dim_value(x, 0);
    if (d->kind == RANDOM_FIT || draw_coin(d)) n = dt_all_reduce(DT_SUM, n);
    return dt_maximum(dt_convert(n, DT_FLOAT32), dt_constant(d->t, 1));
}

dt_value draw_mean_over_rows(drawing *d, dt_value sum, dt_value of) {
    return dt_divide(sum, draw_count_of(d, of));
}

static void add_reduce(drawing *d) {
    const entry *e = draw_pick(d, has_dims);
    if (!e) return;
    dt_type t = dt_type_of_value(e->v);
    uint32_t dims = 1 + (uint32_t)draw_below(d, (1 << t.rank) - 1);
    bool rows = has_rows(&t) && dims & 1;
    dt_reduce_kind kind = draw_below(d, 4) ? DT_REDUCE_SUM
                          : draw_coin(d)   ? DT_REDUCE_MAX
                                           : DT_REDUCE_MIN;
    dt_value y = dt_reduce(e->v, kind, dims);
    double size = 1, bound = e->bound;
    for (int i = 0; i < t.rank; i++)
        if (dims >> i & 1 && t.dim[i] > 0) size *= (double)t.dim[i];
    if (kind == DT_REDUCE_SUM) {
        y = rows ? draw_mean_over_rows(d, y, e->v) : y;
        bound *= size;
    } else if (rows) {
        y = dt_clamp(y, -bound, bound); /* an empty replica has the maximum -inf */
    }
    draw_push(d, y, bound);
}

static void add_all_reduce(drawing *d) {
    const entry *e = draw_pick(d, has_no_rows);
    if (!e) return;
    bool mean = draw_coin(d);
    dt_value y = dt_all_reduce(mean ? DT_MEAN : DT_SUM, e->v);
    draw_push(d, mean ? y : dt_multiply(y, dt_constant(d->t, 0.25)), 1.5 * e->bound);
}

static void add_counts(drawing *d) {
    const entry *e = draw_pick(d, has_rows);
    if (e)
        draw_push(d,
                  dt_multiply(dt_convert(dt_dim_value(e->v, 0), DT_FLOAT32),
                              dt_constant(d->t, 1.0 / 512)),
                  4);
    draw_push(d, dt_multiply(dt_convert(dt_replica_id(d->t), DT_FLOAT32), dt_constant(d->t, 0.25)),
              2);
}

static void add_iota(drawing *d) {
    const entry *e = draw_pick(d, has_classes);
    if (!e) return;
    dt_type t = dt_type_of_value(e->v), line = dt_type_of(DT_FLOAT32, 1, &t.dim[t.rank - 1]);
    draw_push(d, dt_multiply(dt_iota(d->t, &line, 0), dt_constant(d->t, 0.125)), 2);
}

/* ---- products ---- */

static dt_value scaled_product(dt_value y, int64_t k) {
    return dt_multiply(y, dt_scalar(y.trace, DT_FLOAT32, 1 / sqrt((double)k)));
}

dt_value draw_dense(drawing *d, dt_value x, int64_t units, bool bias) {
    dt_type t = dt_type_of_value(x);
    int64_t k = t.dim[t.rank - 1];
    dt_value w = draw_new_variable(d, DT_FLOAT32, 2, (int64_t[]){k, units});
    dt_value y = scaled_product(dt_matmul(x, w), k);
    return bias ? dt_add(y, draw_new_variable(d, DT_FLOAT32, 1, &units)) : y;
}

static void add_product(drawing *d) {
    const entry *e = draw_pick(d, is_table);
    if (e && draw_room_for_variables(d, 2))
        draw_push(d, draw_dense(d, e->v, 1 + draw_below(d, 7), true), 2 * e->bound);
}

/* (B, m), (B, m) -> (B): a batch dimension of the product */
static void add_row_product(drawing *d) {
    const entry *a = draw_pick(d, is_row_table);
    if (!a) return;
    dt_type t = dt_type_of_value(a->v);
    const entry *b = draw_pick_of_type(d, &t);
    dt_dot_attr attr = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    draw_push(d, scaled_product(dt_dot_general(a->v, b->v, &attr), t.dim[1] * t.dim[1]),
              a->bound * b->bound);
}

/* (B, m), (B, n) -> (m, n): contracted over the rows, as gradients of weights are */
static void add_row_sum_product(drawing *d) {
    const entry *a = draw_pick(d, is_row_table), *b = draw_pick(d, is_row_table);
    dt_dot_attr attr = {.n_contract = 1};
    if (a && b)
        draw_push(d, draw_mean_over_rows(d, dt_dot_general(a->v, b->v, &attr), a->v),
                  a->bound * b->bound);
}

static void add_softmax(drawing *d) {
    const entry *e = draw_pick(d, has_classes);
    if (e) draw_push(d, dt_softmax(e->v), 1);
}

dt_value draw_classify(drawing *d, const entry *e, dt_value *logits) {
    *logits = draw_dense(d, e->v, d->g->classes, true);
    dt_type t = dt_type_of_value(*logits);
    if (draw_coin(d)) return dt_softmax_cross_entropy(*logits, d->label);
    dt_value other = draw_dense(d, e->v, d->g->classes, false);
    return dt_softmax_cross_entropy(*logits, t.rank == 2 ? dt_softmax(other) : *logits);
}

static void add_entropy(drawing *d) {
    const entry *e = draw_pick(d, is_row_table);
    dt_value logits;
    if (e && draw_room_for_variables(d, 4)) draw_push(d, draw_classify(d, e, &logits), 8);
}

/* ---- ops that need not fold ---- */

/* Rows times a table of each replica's own. */
static void add_own_weights(drawing *d) {
    const entry *a = draw_pick(d, is_row_table), *b = draw_pick(d, is_row_table);
    if (!a || !b) return;
    dt_dot_attr gram = {.n_contract = 1};
    dt_value table = draw_mean_over_rows(d, dt_dot_general(a->v, b->v, &gram), a->v); /* (m, n) */
    draw_push(d, dt_tanh(dt_matmul(a->v, table)), 1);
}

static void add_row_numbers(drawing *d) {
    const entry *e = draw_pick(d, has_rows);
    if (!e) return;
    dt_type t = dt_type_of_value(e->v), rows = dt_type_of(DT_FLOAT32, 1, t.dim);
    draw_push(d, dt_tanh(dt_iota(d->t, &rows, 0)), 1);
}

static void add_best_row(drawing *d) {
    /* of fed values: no two ways to round */
    dt_value best = dt_convert(dt_argmax(d->image, 0), DT_FLOAT32);
    draw_push(d, dt_multiply(best, dt_constant(d->t, 0.01)), 3);
}

/* ---- the body of the step ---- */

typedef void (*grower)(drawing *d);
static const grower growers[] = {
    add_unary,   add_unary,   add_unary,       add_binary,          add_binary,
    add_binary,  add_select,  add_reshape,     add_transpose,       add_broadcast_rows,
    add_reduce,  add_reduce,  add_all_reduce,  add_counts,          add_iota,
    add_product, add_product, add_row_product, add_row_sum_product, add_softmax,
    add_entropy, draw_layer,  draw_layer,      draw_layer,          draw_convolution,
    draw_pool,   draw_move,   add_own_weights, add_row_numbers,     add_best_row,
};
enum { WILD_GROWERS = 3 };

void draw_grow(drawing *d) {
    int all = (int)(sizeof growers / sizeof *growers),
        n = all - (d->kind == RANDOM_WILD ? 0 : WILD_GROWERS);
    for (int i = 8 + draw_below(d, 30); i > 0; i--) growers[draw_below(d, n)](d);
}
