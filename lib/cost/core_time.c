/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the time of a kernel on a device. After the launch, matrix units, memory and vector
 * units work in parallel (core_product.c). Reading the first operands and writing the last results
 * overlap with nothing.
 *
 * The result is meant to be the time on hardware. The compiler's own estimate
 * (tests/cost/compiler_estimate.h) differs: it does not count operands that are fetched in advance,
 * its launches are longer than those measured on tpu7x, and its large products are slower than on
 * v6e and faster than on tpu7x.
 */
#include <math.h>

#include "cost/core_impl.h"

enum { LANES = 8 * 128 };
/* measured for copies on v6e: 1,360 of 1,638 GB/s (AI-Hypercomputer/tpu-recipes,
 * microbenchmarks) */
#define HBM_SHARE 0.83
/* fraction of the compiler's launch time: on tpu7x a product of 128^3 takes 1.6 us, and 2.6 us by
 * the compiler's estimate (source as above) */
#define LAUNCH_SHARE 0.6
/* launch time of a kernel without products, relative to one with products; from libtpu's reduces
 * and reshapes of 2,048 numbers */
#define VECTOR_LAUNCH 0.5

dt_core dt_core_of(const dt_topology *t) {
    return (dt_core){.chip = t->slice->chip, .cores = dt_topology_device_cores(t)};
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
        cycles += dt_core_norm(p.matrix / c->chip->kernel.measured_share, p.result, 0);
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
        dt_core_fill_bytes(work->bytes) / Bps;
    p.seconds = dt_core_norm(p.matrix_s, p.memory_s, p.vector_s) + p.launch_s;
    return p;
}
