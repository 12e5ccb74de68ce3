/* OpenBLAS: the base. A plan is the description; kernels are chosen by the library at each call. */
#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "exec/gemm.h"

static dt_status *plan(const dt_gemm_library *l, const dt_gemm *g, void **out)
{
    const int64_t size[] = { g->m, g->n, g->k, g->lda, g->ldb, g->ldc };
    (void)l;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i] > INT32_MAX)
            return dt_fail(DT_E_KERNELS, NULL, "OpenBLAS counts in 32 bits and cannot make the matrix product %lld x %lld x %lld", (long long)g->m,
                           (long long)g->n, (long long)g->k);
    dt_gemm *copy = dt_alloc(sizeof *copy);
    *copy = *g;
    *out = copy;
    return NULL;
}

static void run(const void *p, const float *a, const float *b, float *c)
{
    const dt_gemm *g = p;

    if (g->m == 0 || g->n == 0 || g->k == 0) { /* a sum of nothing is 0 */
        for (int64_t i = 0; i < g->m; i++)
            memset(c + i * g->ldc, 0, (size_t)g->n * sizeof *c);
        return;
    }
    cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans, g->trans_b ? CblasTrans : CblasNoTrans, (blasint)g->m,
                (blasint)g->n, (blasint)g->k, 1.0f, a, (blasint)g->lda, b, (blasint)g->ldb, 0.0f, c, (blasint)g->ldc);
}

static void enter_thread(const dt_gemm_library *l)
{
    (void)l;
}

static void close_library(dt_gemm_library *l)
{
    free((char *)l->about);
}

/* "OpenBLAS 0.3.21 NO_LAPACKE ... SkylakeX MAX_THREADS=64": the version, then the kernels in use. */
static char *describe(void)
{
    dt_str text = { 0 };
    const char *config = openblas_get_config(), *version = strchr(config, ' ');

    if (version)
        dt_str_add(&text, version + 1, strcspn(version + 1, " "));
    dt_str_printf(&text, " %s", openblas_get_corename());
    return dt_str_take(&text);
}

dt_status *dt_gemm_open_openblas(dt_gemm_library *l)
{
    openblas_set_num_threads(1);
    *l = (dt_gemm_library){ .name = "openblas", .about = describe(), .plan = plan, .run = run, .release = free,
                            .enter_thread = enter_thread, .close = close_library };
    return NULL;
}
