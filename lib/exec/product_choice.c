/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which library computes a product where the user leaves it to us, and both are there: oneDNN, but
 * for what a row of the table names. scripts/bench.d/products measures both and prints such rows. A
 * row asks for nothing but the matrices' layout, the instruction set and oneDNN's version: never
 * for the number of rows, which differs between pieces of one batch, nor for the time that a
 * product takes here.
 */
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "exec/exec_impl.h"

typedef struct row {
    dt_isa isa; /* the best that the libraries use */
    int below;  /* oneDNN's version: 100 * major + minor */
    bool trans_b;
    int64_t multiple; /* B's row stride is a multiple of this number of floats */
} row;

static const row of_openblas[] = {
    /* Rows 2 or 4 KiB apart fall into the same cache sets: 0.95 to 2.3 times OpenBLAS's time, the
     * geometric mean of 60 sizes 1.36 (2.6.3). */
    {.isa = DT_AVX2, .below = 303, .trans_b = false, .multiple = 512},
};

static int version_of(const dt_gemm_library *onednn) {
    int major = 0, minor = 0;
    return sscanf(onednn->about, "%d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}

bool dt_product_prefers_openblas(const dt_engine *e, const dt_gemm *g) {
    if (e->kernels != DT_KERNELS_AUTO || strcmp(e->gemm.name, "onednn") != 0) return false;
    const dt_isa isa = dt_isa_find(dt_isa_wanted());
    const int version = version_of(&e->gemm);
    for (size_t i = 0; i < sizeof of_openblas / sizeof *of_openblas; i++) {
        const row *r = &of_openblas[i];
        if (isa == r->isa && version < r->below && g->trans_b == r->trans_b &&
            g->ldb % r->multiple == 0 && g->ldb > 0)
            return true;
    }
    return false;
}
