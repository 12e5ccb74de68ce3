/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by our own loops (simd/product.c), for `reproducible: {strict: true}`: no library, one
 * order of sums, and so the same bits on every processor. Convolutions become such products
 * (im2col.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/gemm.h"
#include "exec/sums.h"

typedef struct product {
    dt_gemm g;
    dt_product_function run;
    float *room; /* working memory of the tree over blocks of k */
} product;

/* Floats of room: a part of C for each buffer. The first buffer is C itself, unless C is added
 * to. */
static size_t room_of(const dt_gemm *g) {
    const int buffers = dt_sum_levels((g->k + DT_PRODUCT_BLOCK - 1) / DT_PRODUCT_BLOCK) - !g->adds;
    return (size_t)buffers * (size_t)dt_min(g->m, DT_PRODUCT_ROWS) *
           (size_t)dt_min(g->n, DT_PRODUCT_COLUMNS);
}

static dt_status *plan(const dt_gemm_library *l, const dt_gemm *g, void **out) {
    const dt_simd *simd = l->state;
    if (g->in[0] != DT_GEMM_F32 || g->in[1] != DT_GEMM_F32 || g->out != DT_GEMM_F32)
        return dt_fail(DT_E_KERNELS, NULL, "dtrain's own products are of float32 only");
    product *p = dt_alloc(sizeof *p + room_of(g) * sizeof(float));
    *p = (product){.g = *g, .run = *simd->product, .room = (float *)(p + 1)};
    *out = p;
    return NULL;
}

static int64_t held(const void *planned) {
    const product *p = planned;
    return (int64_t)(room_of(&p->g) * sizeof(float));
}

static void run(const void *planned, const void *a, const void *b, void *c) {
    const product *p = planned;
    const dt_gemm *g = &p->g;
    for (int64_t i = 0; g->k == 0 && !g->adds && i < g->m; i++) /* a sum of no terms is 0 */
        memset((float *)c + i * g->ldc, 0, (size_t)g->n * sizeof(float));
    p->run(g, a, b, c, p->room);
}

static void enter_thread(const dt_gemm_library *l) { (void)l; }

void dt_gemm_open_own(dt_gemm_library *l, const struct dt_simd *simd) {
    *l = (dt_gemm_library){.name = "own",
                           .about = "",
                           .state = (void *)simd,
                           .plan = plan,
                           .run = run,
                           .release = free,
                           .held = held,
                           .enter_thread = enter_thread};
}
