/* SPDX-License-Identifier: Apache-2.0 */
/* A random step: arguments, layers, random ops (random_ops.c), then a loss, its gradients, updates
 * and results. */
#include "random_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "drawing.h"

/* ---- arguments ---- */

static dt_value declare(drawing *d, const char *name, dt_dtype dtype, int rank, const int64_t *dim,
                        bool distributed) {
    dt_type type = dt_type_of(dtype, rank, dim);
    dt_value v = dt_trace_declare(d->t, name, &type);
    d->g->distributed[((const dt_index_attr *)dt_node_of(v)->attr)->index] = distributed;
    return v;
}

/* Fed values are multiples of 1/8: none is equal to an odd multiple of 1/16. */
static void add_mask(drawing *d, dt_value fed) {
    double border = (2 * draw_below(d, 16) - 15) / 16.0;
    if (d->n_masks < MOST_MASKS)
        d->mask[d->n_masks++] =
            dt_compare(fed, dt_like(fed, border), (dt_direction)draw_below(d, 6));
}

dt_value draw_argument(drawing *d, const char *name, int rank, const int64_t *dim) {
    return declare(d, name, DT_FLOAT32, rank, dim, true);
}

static void declare_arguments(drawing *d) {
    int64_t n = 1 + draw_below(d, 9), h = 1 + draw_below(d, 3), w = 1 + draw_below(d, 4);
    d->g->classes = 2 + draw_below(d, 5);
    d->image = draw_push(d, declare(d, "image", DT_FLOAT32, 2, (int64_t[]){DT_BATCH, n}, true), 3);
    d->label =
        declare(d, "label", draw_coin(d) ? DT_INT32 : DT_INT64, 1, (int64_t[]){DT_BATCH}, true);
    add_mask(d, d->image);
    if (draw_coin(d)) {
        dt_value cube =
            draw_push(d, declare(d, "cube", DT_FLOAT32, 3, (int64_t[]){DT_BATCH, h, w}, true), 3);
        add_mask(d, cube);
    }
    if (draw_coin(d)) {
        dt_value pixel = declare(d, "pixel", DT_UINT8, 2, (int64_t[]){DT_BATCH, 4}, true);
        draw_push(d, dt_multiply(dt_convert(pixel, DT_FLOAT32), dt_constant(d->t, 1.0 / 255)), 1);
    }
    d->rate =
        draw_coin(d) ? declare(d, "rate", DT_FLOAT32, 0, NULL, false) : dt_constant(d->t, 0.25);
    if (d->kind == RANDOM_FIT || d->kind == RANDOM_BLOCKS) return;
    if (draw_coin(d)) draw_push(d, declare(d, "gain", DT_FLOAT32, 0, NULL, true), 3);
    if (draw_coin(d)) draw_push(d, declare(d, "shift", DT_FLOAT32, 1, (int64_t[]){n}, true), 3);
    if (draw_coin(d)) draw_push(d, declare(d, "table", DT_FLOAT32, 2, (int64_t[]){w, n}, false), 3);
}

/* ---- layers ---- */

static dt_value activation(drawing *d, dt_value x) {
    switch (draw_below(d, 4)) {
    case 0: return dt_maximum(x, dt_like(x, 0));
    case 1: return dt_tanh(x);
    case 2: return dt_logistic(x);
    default: return x;
    }
}

dt_value draw_normalized(drawing *d, dt_value x, uint32_t dims) {
    bool own = d->kind != RANDOM_FIT && draw_coin(d);
    dt_value n = draw_count_of(d, x);
    for (int i = 1; i < 3; i++)
        n = dims >> i & 1 ? dt_multiply(n, dt_constant(d->t, (double)dt_dim(x, i))) : n;
    dt_value sum = dt_reduce(x, DT_REDUCE_SUM, dims);
    dt_value centred = dt_subtract(x, dt_divide(own ? sum : dt_all_reduce(DT_SUM, sum), n));
    dt_value squares = dt_reduce(dt_multiply(centred, centred), DT_REDUCE_SUM, dims);
    dt_value square = dt_divide(own ? squares : dt_all_reduce(DT_SUM, squares), n);
    return dt_tanh(dt_multiply(centred, dt_rsqrt(dt_add(square, dt_like(square, 0.25)))));
}

static void draw_layers(drawing *d) {
    dt_value x = d->image;
    if (d->kind == RANDOM_IMAGES) draw_images(d);
    if (d->kind == RANDOM_WIDE) {
        x = activation(d, draw_dense(d, x, 320, true));
        x = draw_push(d, activation(d, draw_dense(d, x, 400, true)), 4);
    }
    if (d->kind == RANDOM_BLOCKS) x = draw_push(d, draw_blocks(d, x), 4);
    for (int i = draw_below(d, 3); i > 0; i--) {
        /* a statement each: C leaves the order of arguments open */
        int64_t units = 1 + draw_below(d, 12);
        bool bias = draw_coin(d);
        x = activation(d, draw_dense(d, x, units, bias));
        x = draw_push(d, draw_below(d, 4) ? x : draw_normalized(d, x, 1), 4);
    }
}

/* ---- loss, metrics ---- */

static bool is_fit(const drawing *d) { return d->kind == RANDOM_FIT || d->kind == RANDOM_BLOCKS; }

/* The mean over all rows, as fit's; or each replica's own. */
static dt_value mean_loss(drawing *d, dt_value rows) {
    dt_value sum = dt_reduce(rows, DT_REDUCE_SUM, 1);
    if (!is_fit(d) && draw_coin(d)) return draw_mean_over_rows(d, sum, rows);
    dt_value n = dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(rows, 0)), DT_FLOAT32);
    return dt_divide(sum, dt_maximum(n, dt_constant(d->t, 1)));
}

static dt_value accuracy(drawing *d, dt_value logits) {
    dt_value hits = dt_compare(dt_argmax(logits, 1), dt_convert(d->label, DT_INT32), DT_EQ);
    return dt_reduce(dt_convert(hits, DT_FLOAT32), DT_REDUCE_SUM, 1);
}

static dt_value draw_loss(drawing *d) {
    const entry *e = draw_pick(d, is_row_table);
    dt_value logits, rows = draw_classify(d, e ? e : &d->pool[0], &logits);
    dt_value loss = mean_loss(d, rows), hits = accuracy(d, logits);
    dt_return(d->t, "loss", dt_all_reduce(DT_SUM, loss));
    dt_return(d->t, "hits", draw_coin(d) ? dt_all_reduce(DT_SUM, hits) : hits);
    dt_return(d->t, "rows", rows);
    dt_return(d->t, "logits", logits);
    if (is_fit(d)) return loss;
    for (int i = 0; i < 2; i++) {
        const entry *more = &d->pool[draw_below(d, d->n)];
        dt_type t = dt_type_of_value(more->v);
        dt_value sum = dt_reduce_sum(more->v, DT_NO_AXIS);
        loss = dt_add(loss, dt_multiply(has_rows(&t) ? draw_mean_over_rows(d, sum, more->v) : sum,
                                        dt_constant(d->t, 0.125)));
    }
    return loss;
}

/* ---- updates ---- */

static dt_value slot_for(drawing *d, dt_value w) {
    dt_type t = dt_type_of_value(w);
    return draw_new_variable(d, t.dtype, t.rank, t.dim);
}

static dt_variable *last_variable(drawing *d) { return d->g->variable[d->g->n_variables - 1]; }

static void update_by_adam(drawing *d, dt_variable *v, dt_value w, dt_value g) {
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

static void update_by_momentum(drawing *d, dt_variable *v, dt_value w, dt_value g) {
    dt_value m = slot_for(d, w);
    dt_variable *slot = last_variable(d);
    m = dt_subtract(dt_multiply(m, dt_like(m, 0.5)), dt_multiply(g, d->rate));
    dt_assign(d->t, slot, m);
    dt_assign(d->t, v, dt_add(w, m));
}

static void update(drawing *d, dt_variable *v, dt_value w, dt_value g) {
    if (draw_below(d, 4) == 0) /* weight decay */
        w = dt_subtract(w, dt_multiply(w, dt_multiply(d->rate, dt_constant(d->t, 0.01))));
    switch (draw_room_for_variables(d, 2) ? draw_below(d, 3) : 0) {
    case 0: dt_assign(d->t, v, dt_subtract(w, dt_multiply(g, d->rate))); break;
    case 1: update_by_momentum(d, v, w, g); break;
    default: update_by_adam(d, v, w, g); break;
    }
}

/* Gradients by the square root of the sum of all their squares. */
static void clip(dt_value *g, int n) {
    dt_value sum = {0};
    for (int i = 0; i < n; i++)
        if (g[i].trace) {
            g[i] = dt_all_reduce(DT_SUM, g[i]);
            dt_value squares = dt_reduce_sum(dt_multiply(g[i], g[i]), DT_NO_AXIS);
            sum = sum.trace ? dt_add(sum, squares) : squares;
        }
    for (int i = 0; i < n && sum.trace; i++)
        if (g[i].trace) g[i] = dt_multiply(g[i], dt_rsqrt(dt_add(sum, dt_like(sum, 1))));
}

/* All variables alike. */
static void draw_updates_of_blocks(drawing *d, dt_value loss) {
    int n = d->g->n_variables;
    dt_value w[256], g[256];
    for (int i = 0; i < n; i++) w[i] = dt_read(d->t, d->g->variable[i]);
    dt_gradients_of(loss, w, n, g);
    bool clipped = draw_coin(d);
    if (clipped) clip(g, n);
    const dt_random from = d->r;
    for (int i = 0; i < n; i++, d->r = from)
        if (g[i].trace)
            update(d, d->g->variable[i], w[i], clipped ? g[i] : dt_all_reduce(DT_SUM, g[i]));
}

static void draw_updates(drawing *d, dt_value loss) {
    int n = d->g->n_variables;
    dt_value w[64], g[64];
    for (int i = 0; i < n; i++) w[i] = dt_read(d->t, d->g->variable[i]);
    dt_gradients_of(loss, w, n, g);
    for (int i = 0; i < n; i++)
        if (g[i].trace) {
            dt_value sum =
                dt_all_reduce(d->kind == RANDOM_FIT || draw_coin(d) ? DT_SUM : DT_MEAN, g[i]);
            update(d, d->g->variable[i], w[i], draw_coin(d) ? dt_tanh(sum) : sum);
            if (d->kind != RANDOM_FIT && draw_below(d, 6) == 0) draw_push(d, g[i], 10);
        }
}

/* Two variables that change places, and one that keeps another's old value. */
static void draw_moves(drawing *d) {
    if (!draw_room_for_variables(d, 3)) return;
    int64_t n = 1 + draw_below(d, 5);
    dt_value a = draw_new_variable(d, DT_FLOAT32, 1, &n);
    dt_variable *va = last_variable(d);
    dt_value b = draw_new_variable(d, DT_FLOAT32, 1, &n);
    dt_variable *vb = last_variable(d);
    dt_return(d->t, "old", draw_coin(d) ? a : dt_reshape(a, 2, (int64_t[]){n, 1}));
    dt_assign(d->t, va, draw_coin(d) ? b : dt_add(b, dt_like(b, 0.25)));
    dt_assign(d->t, vb, a);
    if (draw_coin(d)) dt_return(d->t, "new", dt_read(d->t, va));
}

static void draw_iteration(drawing *d) {
    if (!draw_room_for_variables(d, 1)) return;
    dt_value t = draw_new_variable(d, DT_INT64, 0, NULL);
    t = dt_add(t, dt_scalar(d->t, DT_INT64, 1));
    dt_assign(d->t, last_variable(d), t);
    draw_push(d, dt_power(dt_constant(d->t, 0.9), dt_convert(t, DT_FLOAT32)), 1);
}

static void draw_results(drawing *d) {
    for (int i = 0; i < 5; i++) {
        char name[24];
        snprintf(name, sizeof name, "result%d", i);
        dt_return(d->t, name, d->pool[draw_below(d, d->n)].v);
    }
}

/* ---- the whole ---- */

void random_graph_reset(const random_graph *g) {
    dt_random r = dt_random_stream(g->seed, "variables", 0);
    for (int i = 0; i < g->n_variables; i++) {
        dt_variable *v = g->variable[i];
        for (int64_t k = 0; k < dt_type_elements(&v->type); k++)
            if (v->type.dtype == DT_FLOAT32)
                ((float *)v->host_data)[k] = (float)(dt_random_normal(&r) / 2);
            else ((int64_t *)v->host_data)[k] = (int64_t)dt_random_below(&r, 5);
    }
}

random_graph *random_graph_draw(random_kind kind, uint64_t seed) {
    random_graph *g = dt_alloc(sizeof *g);
    drawing d = {.g = g,
                 .kind = kind,
                 .r = dt_random_stream(seed, "graph", (uint64_t)kind),
                 .t = dt_trace_create("random")};
    g->seed = seed;
    declare_arguments(&d);
    draw_layers(&d);
    if (!is_fit(&d)) draw_grow(&d);
    draw_iteration(&d);
    if (kind == RANDOM_BLOCKS) draw_updates_of_blocks(&d, draw_loss(&d));
    else draw_updates(&d, draw_loss(&d));
    if (!is_fit(&d)) draw_moves(&d);
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

void random_graph_destroy(random_graph *g) {
    dt_graph_destroy(g->graph);
    for (int i = 0; i < g->n_variables; i++) dt_variable_unref(g->variable[i]);
    free(g);
}
