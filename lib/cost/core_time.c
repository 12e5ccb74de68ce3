/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the time of a kernel on a device. After the launch, matrix units, memory and vector
 * units work in parallel. Reading the first operands and writing the last results overlap with
 * nothing.
 *
 * The result is meant to be the time on hardware. The compiler's own estimate
 * (tests/cost/compiler_estimate.h) differs: it does not count operands that are fetched in advance,
 * its launches are longer than those measured on tpu7x, and its large products are slower than on
 * v6e and faster than on tpu7x.
 */
#include <math.h>

#include "cost/cost.h"

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
 *     memory   operands are read from HBM once, and results are written to it
 *     fill     reading the first operands and writing the last results overlaps with nothing
 *
 * The first three run in parallel. If two of them take similar times they slow each other down, so
 * they are combined by a norm instead of a maximum. On most chips a product with a vector (m or n =
 * 1) is computed by the vector units.
 *
 * If two cores of a chip are one device, they share the work. Constants that differ between chips
 * are in dt_kernel_rates. The next four macros are the same for all chips, and were fitted to the
 * estimates of libtpu 0.0.42.1.
 */

enum { MATRIX_LANES = 128, SUBLANES = 8 };
/* Cost of a register whose 128 lanes are filled to the fraction f, relative to a full one: min(1,
 * SPARSE_LANES + LANE_SHARE * f). */
#define SPARSE_LANES 0.4
/* How much the relative cost of a register grows with the filled fraction of its 128 lanes (see
 * SPARSE_LANES). */
#define LANE_SHARE 0.8
/* cycles for storing a result in 32 bits, relative to those for rounding it to 16 bits and storing
 * it */
#define WIDE_RESULT 0.35
/* the smallest fraction of a tile's loading time that a product pays: about 8 of 128 rows */
#define LEAST_TILE 0.06

static double tiles(int64_t n, int64_t size) { return (double)((n + size - 1) / size); }

double dt_core_norm(double a, double b, double c) {
    return pow(pow(a, 4) + pow(b, 4) + pow(c, 4), 0.25);
}

/* Returns the cycles of one product (rows, k) x (k, columns) on a single matrix unit that holds
 * tiles of the operand (k, columns): the number of tiles times the longer of streaming the rows and
 * loading the next tile. */
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

/* Returns the number of matrix units that gives the chip's published peak rate at its clock rate.
 * It exceeds the actual number on v6e and tpu7x. */
static double units(const dt_chip *c) {
    return c->core_flops / (2.0 * c->mxu_size * c->mxu_size * c->clock_hz);
}

/* Returns the number of bfloat16 passes of a product: 6 for float64, which counts as float32 at the
 * highest precision, otherwise 1. */
static double passes(const dt_matrix_work *p) { return dt_dtype_size(p->dtype) == 8 ? 6 : 1; }

static double matrix_cycles(const dt_core *c, const dt_matrix_work *p) {
    double cycles = fmin(streaming(c->chip, p, p->m, p->n), streaming(c->chip, p, p->n, p->m));
    return p->count * passes(p) * cycles / (units(c->chip) * c->cores);
}

/* Returns the number of registers of 8 x 128 numbers for a result (rows, columns). A partly filled
 * one counts as its cost relative to a full one. */
static double registers(int64_t rows, int64_t columns) {
    int64_t whole = columns / MATRIX_LANES, rest = columns % MATRIX_LANES;
    double part = rest ? fmin(1, SPARSE_LANES + LANE_SHARE * (double)rest / MATRIX_LANES) : 0;
    return tiles(rows, SUBLANES) * ((double)whole + part);
}

static double result_cycles(const dt_core *c, const dt_matrix_work *p) {
    const dt_kernel_rates *r = &c->chip->kernel;
    double wide = dt_dtype_size(p->dtype) == 2 && !p->stays ? 1 : WIDE_RESULT,
           each = registers(p->m, p->n), turned = registers(p->n, p->m);
    if ((p->m == 1 || p->n == 1) && !r->vectors)
        return p->count * (double)p->k * (double)(p->m * p->n) / (MATRIX_LANES * SUBLANES) *
               r->result / c->cores;
    /* The compiler transposes a result if it then takes fewer registers, but not if a kernel
     * computes several products (count > 1) with k >= 128. */
    if (turned < each && (p->count <= 1 || p->k < MATRIX_LANES)) each = turned;
    return p->count * each * r->result * wide / c->cores;
}

dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p) {
    bool by_vector = (p->m == 1 || p->n == 1) && !c->chip->kernel.vectors;
    return (dt_product_cycles){.matrix = by_vector ? 0 : matrix_cycles(c, p),
                               .result = result_cycles(c, p)};
}

/* Returns how many of a kernel's bytes are transferred while nothing is computed: at most
 * DT_FIRST_BYTES of its operands and DT_LAST_BYTES of its results, each of which count as half of
 * `bytes`. */
static double fill_bytes(double bytes) {
    return fmin(bytes / 2, DT_FIRST_BYTES) + fmin(bytes / 2, DT_LAST_BYTES);
}

enum { LANES = 8 * 128 };
/* The fraction of the nominal bandwidth of HBM that kernels reach on chips without a measured_hbm.
 * Measured for copies on v6e: 1,360 of 1,638 GB/s (AI-Hypercomputer/tpu-recipes,
 * microbenchmarks). */
#define HBM_SHARE 0.83
/* Launch time, as a fraction of the compiler's estimate of it: on tpu7x a product of 128^3 takes
 * 1.6 us (AI-Hypercomputer/tpu-recipes, microbenchmarks), and 2.6 us by the compiler's estimate. */
#define LAUNCH_SHARE 0.6
/* launch time of a kernel without products, relative to one with products; from libtpu's reduces
 * and reshapes of 2,048 numbers */
#define VECTOR_LAUNCH 0.5

/* The part of the rate of single products that matrix units sustain in whole training steps, which
 * also convert, move and send what they compute, at the power that a chip may draw for seconds.
 * Calibrated on MaxText's steps of decoders on v4, v5e and v5p, of whose single products only the
 * compiler's estimates are known: one number for all generations. */
#define SUSTAINED 0.84

dt_core dt_core_of(const dt_topology *t) {
    return (dt_core){
        .chip = t->slice->chip, .cores = dt_topology_device_cores(t), .sustained = SUSTAINED};
}

/* Returns the part of their peak rate that the matrix units of a device reach. In a step (sustained
 * > 0) it is based on the smaller of the measured and the compiler's estimated part, because some
 * products that were measured alone had more of the chip's memory (64 MiB on v6e) than a step gives
 * them. */
static double share_of(const dt_core *c) {
    const dt_kernel_rates *r = &c->chip->kernel;
    const double alone = r->measured_share > 0 ? r->measured_share : r->share;
    return c->sustained > 0 ? c->sustained * fmin(alone, r->share) : alone;
}

static double vector_rate(const dt_core *c) {
    return c->cores * c->chip->clock_hz * LANES * c->chip->kernel.alus;
}

dt_core_price dt_core_roofline(const dt_core *c, const dt_cost *work) {
    double int8 = 0, peak = c->cores * c->chip->core_flops;
    for (int i = 0; i < DT_MAX_PRODUCTS; i++)
        if (work->product[i].count > 0 && dt_dtype_size(work->product[i].dtype) == 1)
            int8 = c->cores * c->chip->core_int8_ops;
    dt_core_price p = {
        .matrix_s = work->flops / fmax(peak, int8),
        .memory_s = work->bytes / (c->cores * c->chip->core_hbm_Bps),
        .vector_s = work->vector / vector_rate(c),
    };
    p.seconds = fmax(p.matrix_s, fmax(p.memory_s, p.vector_s));
    return p;
}

static double products_s(const dt_core *c, const dt_cost *work, bool *any) {
    double cycles = 0;
    for (int i = 0; i < DT_MAX_PRODUCTS; i++) {
        if (work->product[i].count <= 0) continue;
        dt_product_cycles p = dt_core_product(c, &work->product[i]);
        cycles += dt_core_norm(p.matrix / share_of(c), p.result, 0);
        *any = true;
    }
    return cycles / c->chip->clock_hz;
}

dt_core_price dt_core_time(const dt_core *c, const dt_cost *work) {
    bool products = false;
    if (c->chip->is_host) return dt_core_roofline(c, work);
    double share = c->chip->kernel.measured_hbm,
           Bps = c->cores * c->chip->core_hbm_Bps * (share > 0 ? share : HBM_SHARE);
    dt_core_price p = {.matrix_s = products_s(c, work, &products),
                       .memory_s = work->bytes / Bps,
                       .vector_s = work->vector / vector_rate(c)};
    if (!products && work->vector <= 0 && work->bytes <= 0) return p;
    p.launch_s =
        c->chip->kernel.launch * LAUNCH_SHARE * (products ? 1 : VECTOR_LAUNCH) / c->chip->clock_hz +
        fill_bytes(work->bytes) / Bps;
    p.seconds = dt_core_norm(p.matrix_s, p.memory_s, p.vector_s) + p.launch_s;
    return p;
}
