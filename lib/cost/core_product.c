/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the time of matrix products. A matrix unit of size s x s holds a tile of one operand
 * while the rows of the other operand stream through it, one row per cycle. The parts of the time
 * are
 *
 *     matrix   tiles of the operand that is held, times the rows that stream through. The next tile
 *              is loaded meanwhile, unless there are few rows. The compiler holds the operand that
 *              makes this faster
 *     result   results are gathered, rounded and stored, 8 x 128 numbers at a time. This limits
 *              products with a short sum (k). Columns that fill few of 128 lanes cost less, but not
 *              in proportion
 *     memory   operands are read from HBM and results written to it. Results are computed in blocks
 *              of 1,024 x 1,024, and an operand is read again for every block of the other operand
 *     fill     reading the first operands and writing the last results overlaps with nothing
 *
 * The first three run in parallel. If two of them take similar times they slow each other down, so
 * they are combined by a norm instead of a maximum. On most chips a product with a vector (m or n =
 * 1) is computed by the vector units.
 *
 * If two cores of a chip are one device, they share the work. Constants that differ between chips
 * are in dt_kernel_rates. Those in this file are the same for all chips. All were fitted to the
 * estimates of libtpu 0.0.42.1.
 */
#include <math.h>

#include "cost/core_impl.h"

enum { LANES = 128, SUBLANES = 8 };
/* fraction of a result's cycles that is needed however few lanes are filled */
#define SPARSE_LANES 0.4
/* fraction of a result's cycles that is proportional to the filled lanes */
#define LANE_SHARE 0.8
/* cycles of a 32-bit result, relative to those of one that is rounded to 16 bits */
#define WIDE_RESULT 0.35
#define LEAST_TILE 0.06 /* smallest fraction of a tile's loading time: 8 of 128 rows */

static double tiles(int64_t n, int64_t size) { return (double)((n + size - 1) / size); }

double dt_core_norm(double a, double b, double c) {
    return pow(pow(a, 4) + pow(b, 4) + pow(c, 4), 0.25);
}

/* ---- matrix units ---- */

/* Returns the cycles of one product if the operand (k, columns) is held in the matrix unit. */
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

/* Returns the number of matrix units that explains the published peak. It exceeds their actual
 * number on v6e and tpu7x. */
static double units(const dt_chip *c) {
    return c->core_flops / (2.0 * c->mxu_size * c->mxu_size * c->clock_hz);
}

/* Returns the number of bfloat16 passes of a product. float64 counts as float32 at the highest
 * precision. */
static double passes(const dt_matrix_work *p) { return dt_dtype_size(p->dtype) == 8 ? 6 : 1; }

static double matrix_cycles(const dt_core *c, const dt_matrix_work *p) {
    double cycles = fmin(streaming(c->chip, p, p->m, p->n), streaming(c->chip, p, p->n, p->m));
    return p->count * passes(p) * cycles / (units(c->chip) * c->cores);
}

/* ---- results ---- */

/* Returns the number of registers of 8 x 128 numbers for a result (rows, columns), weighted by
 * cost. */
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
