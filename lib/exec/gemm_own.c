/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by our own loops (simd/product.c), for `reproducible: {strict: true}`: no library, one order of sums, and so the same bits on every processor.
 * Convolutions become such products (im2col.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exec/gemm.h"
#include "exec/strip.h"

typedef struct product {
    dt_gemm g;
    dt_product_function run;
} product;

static dt_status *plan(const dt_gemm_library *l, const dt_gemm *g, void **out)
{
    const dt_simd *simd = l->state;
    if (g->in[0] != DT_GEMM_F32 || g->in[1] != DT_GEMM_F32 || g->out != DT_GEMM_F32)
        return dt_fail(DT_E_KERNELS, NULL, "dtrain's own products are of float32 only");
    product *p = dt_alloc(sizeof *p);
    *p = (product){ .g = *g, .run = *simd->product };
    *out = p;
    return NULL;
}

static void run(const void *planned, const void *a, const void *b, void *c)
{
    const product *p = planned;
    const dt_gemm *g = &p->g;
    for (int64_t i = 0; g->k == 0 && !g->adds && i < g->m; i++) /* a sum of nothing is 0 */
        memset((float *)c + i * g->ldc, 0, (size_t)g->n * sizeof(float));
    p->run(g, a, b, c);
}

static void enter_thread(const dt_gemm_library *l)
{
    (void)l;
}

void dt_gemm_open_own(dt_gemm_library *l, const struct dt_simd *simd)
{
    *l = (dt_gemm_library){ .name = "own", .about = "", .state = (void *)simd, .plan = plan, .run = run, .release = free, .enter_thread = enter_thread };
}
