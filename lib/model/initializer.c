/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs initializers. Element i of a variable is drawn from its own random stream, with the key
 * (seed, path, i), or (seed of the initializer, i) if the initializer has one. So adding a layer
 * changes no weight that keeps its path, nor does drawing in another order or on another thread.
 * Values are drawn in double and rounded once to the variable's dtype.
 */
#include <string.h>

#include "base/random.h"
#include "model/model.h"

dt_status *dt_initializer_read(dt_arena *arena, const dt_tree *t, const char *preset,
                               dt_named *out) {
    dt_tree named = {.kind = DT_TREE_SCALAR, .text = preset};
    if (!t || t->kind == DT_TREE_NULL) t = dt_arena_copy(arena, &named, sizeof named);
    int n;
    const dt_kind *const *rows = dt_initializers(&n);
    return dt_named_read(arena, rows, n, "initializer", t, out);
}

dt_status *dt_initializer_check(const dt_named *initializer, const dt_type *type) {
    const dt_initializer *row = (const dt_initializer *)initializer->kind;
    return row->check ? row->check(type) : NULL;
}

dt_status *dt_initializer_refuse(const char *makes, const dt_type *type) {
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "%s; shape %s has %d", makes, dt_text_of_shape(type).s,
                   type->rank);
}

static double product(const dt_type *type, int first, int end) {
    double n = 1;
    for (int i = first; i < end; i++) n *= (double)type->dim[i];
    return n;
}

/* Counts inputs and outputs of a kernel. If n_inputs is not 0, the first n_inputs dimensions are
 * inputs and the others outputs. Otherwise the kernel is (receptive field ..., inputs, outputs). A
 * vector has as many inputs as outputs, and a scalar one of each. */
static void find_fans(dt_draw *d, int n_inputs) {
    const dt_type *type = &d->type;
    int rank = type->rank;
    if (n_inputs > 0) {
        d->fan_in = product(type, 0, n_inputs);
        d->fan_out = product(type, n_inputs, rank);
        return;
    }
    double field = product(type, 0, rank - 2);
    d->fan_in = rank == 0 ? 1 : field * (double)type->dim[rank == 1 ? 0 : rank - 2];
    d->fan_out = rank == 0 ? 1 : field * (double)type->dim[rank - 1];
}

void dt_initializer_describe(const dt_named *initializer, const dt_type *type, dt_json *j) {
    const dt_initializer *row = (const dt_initializer *)initializer->kind;
    dt_draw d = {.row = row, .type = *type};
    find_fans(&d, 0);
    dt_json_double(j, "fan_in", d.fan_in);
    dt_json_double(j, "fan_out", d.fan_out);
    if (row->facts) row->facts(initializer->args, &d, j);
}

dt_random dt_draw_at(const dt_draw *d, int64_t i) {
    dt_random r = d->stream;
    r.counter[1] = (uint64_t)i;
    return r;
}

static dt_random make_stream(uint64_t seed, const char *path) {
    dt_local_str purpose = {0};
    dt_str_printf(&purpose, "initial value of %s", path);
    return dt_random_stream(seed, dt_str_text(&purpose), 0);
}

/* Returns the random stream of the variable with that path. An initializer with a seed of its own
 * has the same stream for all variables. */
static dt_random stream_of(const dt_named *initializer, uint64_t seed, const char *path) {
    const dt_seed_head *head =
        ((const dt_initializer *)initializer->kind)->draws ? initializer->args : NULL;
    return head && head->has_seed ? make_stream((uint64_t)head->seed, "any weight")
                                  : make_stream(seed, path);
}

static void store(dt_dtype dtype, void *data, int64_t first, int64_t n, const double *x) {
    if (dtype == DT_FLOAT64) {
        memcpy((double *)data + first, x, (size_t)n * sizeof *x);
        return;
    }
    float *out = (float *)data + first;
    for (int64_t i = 0; i < n; i++) out[i] = (float)x[i];
}

void dt_initialize(const dt_named *initializer, uint64_t seed, int n_inputs, dt_variable *v) {
    enum { CHUNK = 1024 };
    const dt_initializer *row = (const dt_initializer *)initializer->kind;
    void *data = dt_host_edit(v);
    /* Integer variables are counters, which begin with 0. */
    if (!dt_dtype_is_float(v->type.dtype)) {
        memset(data, 0, (size_t)dt_type_bytes(&v->type));
        return;
    }
    dt_draw d = {.row = row, .type = v->type, .stream = stream_of(initializer, seed, v->path)};
    find_fans(&d, n_inputs);
    int64_t all = dt_type_elements(&v->type), chunk = row->whole ? all : CHUNK;
    DT_LOCAL double *x = dt_alloc(dt_size_mul((size_t)chunk + 1, sizeof *x));
    for (; d.first < all; d.first += d.n) {
        d.n = all - d.first < chunk ? all - d.first : chunk;
        row->fill(initializer->args, &d, x);
        store(v->type.dtype, data, d.first, d.n, x);
    }
}

/* ---- distributions: each element draws from a separate stream as often as it needs, so that many
 * elements can be drawn at a time ---- */

void dt_draw_uniform(const dt_draw *d, double low, double high, double *out) {
    dt_random_uniforms(&d->stream, (uint64_t)d->first, d->n, out);
    for (int64_t i = 0; i < d->n; i++) out[i] = low + (high - low) * out[i];
}

static void draw_normal(const dt_draw *d, double *out) {
    dt_random_normals(&d->stream, (uint64_t)d->first, d->n, out);
}

void dt_draw_normal(const dt_draw *d, double mean, double deviation, double *out) {
    draw_normal(d, out);
    for (int64_t i = 0; i < d->n; i++) out[i] = mean + deviation * out[i];
}

/* Returns number i of a standard normal distribution, drawn again until it is at most 2 deviations
 * from 0. About one number in 22 is farther away at first. */
static double draw_inside(const dt_draw *d, int64_t i) {
    dt_random r = dt_draw_at(d, i);
    double z;
    do z = dt_random_normal(&r);
    while (fabs(z) > 2);
    return z;
}

void dt_draw_truncated(const dt_draw *d, double mean, double deviation, double *out) {
    draw_normal(d, out);
    for (int64_t i = 0; i < d->n; i++)
        out[i] = mean + deviation * (fabs(out[i]) > 2 ? draw_inside(d, d->first + i) : out[i]);
}
