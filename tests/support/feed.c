/* SPDX-License-Identifier: Apache-2.0 */
/* Feeding random steps: see feed.h. */
#include "feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "op/cells.h"

/* ---- arguments ---- */

static dt_view view_of(const dt_type *type) {
    int64_t bytes = dt_type_bytes(type);
    return (dt_view){*type, calloc(bytes > 0 ? (size_t)bytes : 1, 1)};
}

/* Floats are multiples of 1/8 in [-3, 3]. */
static void fill(const random_graph *g, dt_random *r, const dt_view *v) {
    bool is_label = !dt_dtype_is_float(v->type.dtype) && v->type.dtype != DT_UINT8;
    for (int64_t i = 0, n = dt_type_elements(&v->type); i < n; i++)
        if (dt_dtype_is_float(v->type.dtype))
            dt_cell_set_double(v, i, ((double)dt_random_below(r, 49) - 24) / 8);
        else
            dt_cell_set_int(v, i,
                            (int64_t)dt_random_below(r, is_label ? (uint64_t)g->classes : 256));
}

static bool is_shared(const random_graph *g, int arg) { return !g->distributed[arg]; }

static feed feed_empty(const random_graph *g, int replicas, const int64_t *batch) {
    feed f = {.replicas = replicas, .n_args = g->graph->n_args};
    f.arg = calloc((size_t)(replicas * f.n_args) + 1, sizeof *f.arg);
    for (int r = 0; r < replicas; r++) {
        f.batch[r] = batch[r];
        f.total += batch[r];
        f.offsets[r + 1] = (int32_t)f.total;
        for (int i = 0; i < f.n_args; i++) {
            dt_type type = dt_type_at(&g->graph->node[g->graph->arg[i].node].type, batch[r]);
            f.arg[r * f.n_args + i] = is_shared(g, i) && r > 0 ? f.arg[i] : view_of(&type);
        }
    }
    return f;
}

feed feed_make(const random_graph *g, uint64_t seed, int replicas, const int64_t *batch) {
    feed f = feed_empty(g, replicas, batch);
    dt_random random = dt_random_stream(seed, "feed", 0);
    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < f.n_args; i++)
            if (r == 0 || !is_shared(g, i)) fill(g, &random, &f.arg[r * f.n_args + i]);
    return f;
}

static bool has_rows(const random_graph *g, int arg) {
    return dt_type_has_batch(&g->graph->node[g->graph->arg[arg].node].type);
}

static int64_t row_bytes(const random_graph *g, int arg) {
    dt_type one = dt_type_at(&g->graph->node[g->graph->arg[arg].node].type, 1);
    return dt_type_bytes(&one);
}

/* All rows of an argument, one below the other. */
static char *join_rows(const random_graph *g, const feed *f, int arg) {
    int64_t row = row_bytes(g, arg);
    char *all = calloc((size_t)(f->total * row) + 1, 1), *to = all;
    for (int r = 0; r < f->replicas; r++) {
        if (f->batch[r] > 0)
            memcpy(to, f->arg[r * f->n_args + arg].data, (size_t)(f->batch[r] * row));
        to += f->batch[r] * row;
    }
    return all;
}

feed feed_deal(const random_graph *g, const feed *from, int replicas, const int64_t *batch) {
    feed f = feed_empty(g, replicas, batch);
    for (int i = 0; i < f.n_args; i++) {
        char *all = has_rows(g, i) ? join_rows(g, from, i) : NULL, *at = all;
        for (int r = 0; r < replicas; r++) {
            dt_view *v = &f.arg[r * f.n_args + i];
            memcpy(v->data, all ? at : from->arg[i].data, (size_t)dt_type_bytes(&v->type));
            at += all ? dt_type_bytes(&v->type) : 0;
        }
        free(all);
    }
    return f;
}

static bool owns(const feed *f, int r, int i) {
    return r == 0 || f->arg[r * f->n_args + i].data != f->arg[i].data;
}

void feed_release(feed *f) {
    for (int r = f->replicas - 1; r >= 0; r--)
        for (int i = 0; i < f->n_args; i++)
            if (owns(f, r, i)) free(f->arg[r * f->n_args + i].data);
    free(f->arg);
    *f = (feed){0};
}

void feed_scale(feed *f, double by) {
    for (int r = 0; r < f->replicas; r++)
        for (int i = 0; i < f->n_args; i++) {
            const dt_view *v = &f->arg[r * f->n_args + i];
            for (int64_t k = 0; owns(f, r, i) && dt_dtype_is_float(v->type.dtype) &&
                                k < dt_type_elements(&v->type);
                 k++)
                dt_cell_set_double(v, k, dt_cell_double(v, k) * by);
        }
}

/* ---- folded ---- */

static dt_view join(const feed *f, int arg, dt_replication spread) {
    dt_type type = f->arg[arg].type;
    if (spread == DT_ROWS) {
        type.dim[0] = 0;
        for (int r = 0; r < f->replicas; r++)
            type.dim[0] += f->arg[r * f->n_args + arg].type.dim[0];
    } else if (spread == DT_STACKED) {
        for (int d = type.rank++; d > 0; d--) type.dim[d] = type.dim[d - 1];
        type.dim[0] = f->replicas;
    }
    dt_view all = view_of(&type);
    char *to = all.data;
    for (int r = 0; r < (spread == DT_UNIFORM ? 1 : f->replicas); r++) {
        const dt_view *v = &f->arg[r * f->n_args + arg];
        if (dt_type_bytes(&v->type) > 0) memcpy(to, v->data, (size_t)dt_type_bytes(&v->type));
        to += dt_type_bytes(&v->type);
    }
    return all;
}

dt_view *feed_folded(const feed *f, const dt_folded *folded) {
    dt_view *v = calloc((size_t)f->n_args + 1, sizeof *v);
    for (int i = 0; i < f->n_args; i++) v[i] = join(f, i, folded->arg[i]);
    return v;
}

void views_release(dt_view *v, int n) {
    for (int i = 0; i < n; i++) free(v[i].data);
    free(v);
}

dt_env feed_env(const feed *f) {
    return (dt_env){
        .batch = f->total, .replicas = 1, .offsets = f->offsets, .segments = f->replicas};
}

dt_view folded_part(const feed *f, const dt_view *v, dt_replication spread, int replica) {
    if (spread == DT_STACKED) return dt_view_entry(v, replica);
    if (spread == DT_UNIFORM) return *v;
    /* rows of the value in one row of the batch */
    int64_t each = f->total ? v->type.dim[0] / f->total : 0;
    return dt_view_rows(v, f->offsets[replica] * each, f->batch[replica] * each);
}

/* ---- comparing ---- */

static double cell(const dt_view *v, int64_t i) {
    return dt_dtype_is_float(v->type.dtype) ? dt_cell_double(v, i) : (double)dt_cell_int(v, i);
}

static double difference(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b) / (1 + fabs(b));
}

double views_difference(const dt_view *a, const dt_view *b) {
    double most = 0;
    if (a->type.rank > 0 && a->type.dim[0] == 0 && b->type.dim[0] == 0)
        return 0; /* no rows: sizes of what has none may not be known */
    if (!dt_type_equal(&a->type, &b->type)) return INFINITY;
    for (int64_t i = 0, n = dt_type_elements(&a->type); i < n; i++)
        most = fmax(most, difference(cell(a, i), cell(b, i)));
    return most;
}

bool views_identical(const dt_view *a, const dt_view *b) {
    int64_t bytes = dt_type_bytes(&a->type);
    return dt_type_equal(&a->type, &b->type) &&
           (bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0);
}
