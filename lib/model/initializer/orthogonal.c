/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orthogonal: makes the rows or the columns of a matrix, whichever are fewer, orthogonal and of
 * length `gain`. A. M. Saxe et al., Exact Solutions to the Nonlinear Dynamics of Learning in Deep
 * Linear Networks (2014). All dimensions but the last are joined as rows.
 *
 * Vectors of normal random numbers are made orthogonal one after the other (Gram-Schmidt), each in
 * two passes, because rounding errors of the first pass can be as large as its result. Every
 * orthogonal matrix is equally likely.
 */

#include "model/model.h"

struct orthogonal {
    dt_seed_head head;
    double gain;
};

static const dt_field fields[] = {
    DT_REAL(struct orthogonal, gain, .preset = "1", .help = "length of the vectors"),
    DT_SEED_FIELD(struct orthogonal, head), DT_END};

static double product(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

/* Subtracts from v its projections on the vectors before it. */
static void make_orthogonal(const double *vectors, int64_t before, double *v, int64_t n) {
    for (int64_t i = 0; i < before; i++) {
        double share = product(vectors + i * n, v, n);
        for (int64_t k = 0; k < n; k++) v[k] -= share * vectors[i * n + k];
    }
}

static void make_vectors(const dt_draw *d, int64_t count, int64_t n, double *vectors) {
    for (int64_t i = 0; i < count; i++) {
        double *v = vectors + i * n;
        dt_draw some = *d;
        some.first = i * n;
        some.n = n;
        dt_draw_normal(&some, 0, 1, v);
        make_orthogonal(vectors, i, v, n);
        make_orthogonal(vectors, i, v, n);
        double length = sqrt(product(v, v, n));
        for (int64_t k = 0; k < n; k++) v[k] /= length;
    }
}

static dt_status *check(const dt_type *type) {
    return type->rank >= 2 ? NULL
                           : dt_initializer_refuse("Orthogonal needs 2 or more dimensions", type);
}

static void fill(const void *args, const dt_draw *d, double *out) {
    double gain = ((const struct orthogonal *)args)->gain;
    int64_t columns = d->type.dim[d->type.rank - 1], rows = columns ? d->n / columns : 0;
    /* whether the orthogonal vectors are the columns of the matrix, not its rows */
    bool tall = rows >= columns;
    int64_t count = tall ? columns : rows, n = tall ? rows : columns;
    DT_LOCAL double *vectors = dt_alloc((size_t)(d->n + 1) * sizeof *vectors);
    make_vectors(d, count, n, vectors);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++)
            out[tall ? k * columns + i : i * columns + k] = gain * vectors[i * n + k];
}

const dt_initializer dt_initializer_orthogonal = {
    .kind = {"Orthogonal", "an orthogonal matrix", fields, sizeof(struct orthogonal),
             (const char *const[]){"orthogonal", "OrthogonalInitializer", NULL}},
    .fill = fill,
    .whole = true,
    .draws = true,
    .check = check,
};
