/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on matrix units. A unit of s x s holds a tile of one operand while rows of the other
 * stream through it, one a cycle:
 *
 *     matrix   tiles of the operand that is held, times the rows that stream by; loading the next
 *              tile hides behind that, unless rows are few. The compiler holds whichever operand
 *              makes it quicker
 *     result   results are gathered, rounded and stored, 8 x 128 numbers at a time: products with a
 *              short sum (k) are bound by it. Columns that fill few of 128 lanes cost less, not in
 *              proportion
 *     memory   operands and results to and from HBM. Results are made in blocks of 1,024 x 1,024,
 *              and an operand is read again for every block of the other's
 *     fill     the first operands that arrive and the last results that leave have nothing to hide
 *              behind
 *
 * The first three run side by side; where two of them are alike they get in each other's way, so
 * they are joined by a norm and not by a maximum. A product by a vector (m or n = 1) is the vector
 * units' work on most chips.
 *
 * A chip of two cores that are one device divides the work. Constants of a chip are its
 * dt_kernel_rates; those here are the same for all, and were calibrated with them on libtpu
 * 0.0.42.1's estimates.
 */
#include <math.h>

#include "cost/core_impl.h"

enum { LANES = 128, SUBLANES = 8 };
#define SPARSE_LANES 0.4 /* part of a result's cycles that remains when few lanes are filled */
#define LANE_SHARE 0.8   /* part that is added in proportion to the filled lanes */
#define WIDE_RESULT 0.35 /* cycles of a result of 32 bits against one that is rounded to 16 */
#define LEAST_TILE 0.06  /* least part of a tile's loading time: 8 of 128 rows */

static double tiles(int64_t n, int64_t size) { return (double)((n + size - 1) / size); }

double dt_core_norm(double a, double b, double c) {
    return pow(pow(a, 4) + pow(b, 4) + pow(c, 4), 0.25);
}

/* ---- matrix units ---- */

/* Cycles of one product while the operand (k, columns) is held. */
static double streaming(const dt_chip *c, const dt_matrix_work *p, int64_t rows, int64_t columns) {
    const dt_kernel_rates *r = &c->kernel;
    bool bytes = dt_dtype_size(p->dtype) == 1;
    double faster = p->faster > 0               ? p->faster
                    : bytes && r->int8_rate > 0 ? r->int8_rate
                                                : 1,
           unpacking = bytes ? r->int8_rows : 0;
    int64_t shorter = p->k < columns ? p->k : columns;
    double part = shorter < c->mxu_size ? fmax((double)shorter / c->mxu_size, LEAST_TILE) : 1;
    double stream = (tiles(rows, SUBLANES) * SUBLANES + unpacking) / faster, load = r->tile * part;
    return tiles(p->k, c->mxu_size) * tiles(columns, c->mxu_size) * fmax(stream, load);
}

/* The matrix units' peak in tiles per cycle. It exceeds their number where the published peak
 * implies that (v6e, tpu7x). */
static double units(const dt_chip *c) {
    return c->core_flops / (2.0 * c->mxu_size * c->mxu_size * c->clock_hz);
}

/* bfloat16 passes for one product: float64 counts as float32 at the highest precision. */
static double passes(const dt_matrix_work *p) { return dt_dtype_size(p->dtype) == 8 ? 6 : 1; }

static double matrix_cycles(const dt_core *c, const dt_matrix_work *p) {
    double cycles = fmin(streaming(c->chip, p, p->m, p->n), streaming(c->chip, p, p->n, p->m));
    return p->count * passes(p) * cycles / (units(c->chip) * c->cores);
}

/* ---- results ---- */

/* The number of registers of 8 x 128 for (rows, columns), weighted by cost. */
static double registers(int64_t rows, int64_t columns) {
    int64_t whole = columns / LANES, rest = columns % LANES;
    double part = rest ? fmin(1, SPARSE_LANES + LANE_SHARE * (double)rest / LANES) : 0;
    return tiles(rows, SUBLANES) * ((double)whole + part);
}

static double result_cycles(const dt_core *c, const dt_matrix_work *p) {
    const dt_kernel_rates *r = &c->chip->kernel;
    double wide = dt_dtype_size(p->dtype) == 2 ? 1 : WIDE_RESULT, each = registers(p->m, p->n),
           turned = registers(p->n, p->m);
    if ((p->m == 1 || p->n == 1) && !r->vectors)
        return p->count * (double)p->k * (double)(p->m * p->n) / (LANES * SUBLANES) * r->result /
               c->cores;
    /* the compiler lays small results across lanes, but not many at once */
    if (turned < each && (p->count <= 1 || p->k < LANES)) each = turned;
    return p->count * each * r->result * wide / c->cores;
}

dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p) {
    bool by_vector = (p->m == 1 || p->n == 1) && !c->chip->kernel.vectors;
    return (dt_product_cycles){.matrix = by_vector ? 0 : matrix_cycles(c, p),
                               .result = result_cycles(c, p)};
}

double dt_core_fill_bytes(double bytes) {
    return fmin(bytes / 2, DT_FIRST_BYTES) + fmin(bytes / 2, DT_LAST_BYTES);
}
