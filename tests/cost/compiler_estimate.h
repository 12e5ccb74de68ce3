/* SPDX-License-Identifier: Apache-2.0 */
/* Products as libtpu's compiler estimates them: from the cycles of matrix units and results that
 * prices are made of, so that comparing them with published estimates tests those. */
#ifndef TESTS_COST_COMPILER_ESTIMATE_H
#define TESTS_COST_COMPILER_ESTIMATE_H

#include <math.h>

#include "cost/cost.h"

enum { BLOCK = 1024 };

typedef struct traffic {
    double first, bytes; /* first: operands that are read; bytes: all that is read and written */
} traffic;

/* An operand that fits is fetched to the chip while other kernels run, and is free here. */
static inline traffic count_traffic(const dt_chip *c, const dt_matrix_work *p, double size) {
    double a = p->count * (double)p->m * (double)p->k * size,
           b = p->count * (double)p->k * (double)p->n * size;
    double least = fmin(a, b), most = fmax(a, b), fits = (double)c->kernel.resident;
    traffic t = {.first = a + b, .bytes = a + b};
    if (most <= fits) t = (traffic){least, least};
    else if (least <= fits) t = (traffic){most, most};
    else if (fits > 0)
        t.bytes = a * fmax(1, (double)p->n / BLOCK) + b * fmax(1, (double)p->m / BLOCK);
    return t;
}

/* Cycles of the chip's clock that libtpu's compiler estimates for a product by itself, operands and
 * results in HBM; results are of the operands' dtype, of 8-bit integers int32. */
static inline double estimated_cycles(const dt_core *c, const dt_matrix_work *p) {
    const dt_kernel_rates *r = &c->chip->kernel;
    double size = (double)dt_dtype_size(p->dtype), wide = size == 2 ? 2 : 4, each = fmin(size, 2);
    double results = p->count * (double)p->m * (double)p->n;
    double per_cycle = c->cores * c->chip->core_hbm_Bps * r->hbm_share / c->chip->clock_hz;
    traffic t = count_traffic(c->chip, p, size);
    dt_product_cycles cycles = dt_core_product(c, p);
    double fill = fmin(t.first / size * each / p->count, DT_FIRST_BYTES) +
                  fmin(results * each / p->count, DT_LAST_BYTES);
    double work = dt_core_norm(cycles.matrix / r->share, cycles.result,
                               (t.bytes + results * wide) / per_cycle);
    return r->launch + work + fill / per_cycle;
}

#endif
