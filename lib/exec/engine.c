/* The engine: lanes, the instruction set of our own loops, and the library that multiplies matrices. */
#include <stdlib.h>
#include <string.h>

#include "exec/exec_impl.h"

/* ---- instruction sets ---- */

int dt_simd_list(const dt_simd *list[DT_MAX_SIMD])
{
    int n = 0;

#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        list[n++] = &dt_simd_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        list[n++] = &dt_simd_avx2;
#endif
    list[n++] = &dt_simd_base;
    return n;
}

static dt_status *choose_simd(dt_engine *e, const char *wanted)
{
    const dt_simd *list[DT_MAX_SIMD];
    int n = dt_simd_list(list);

    for (int i = 0; i < n && !e->simd; i++)
        if (!wanted || strcmp(list[i]->name, wanted) == 0)
            e->simd = list[i];
    return e->simd ? NULL : dt_fail(DT_E_KERNELS, NULL, "no loops for the instruction set '%s' on this processor; the best is %s", wanted, list[0]->name);
}

/* ---- the library ---- */

static dt_status *open_library(dt_engine *e, dt_kernels kernels)
{
    dt_status *s = kernels == DT_KERNELS_OPENBLAS ? dt_gemm_open_openblas(&e->gemm) : dt_gemm_open_onednn(&e->gemm);

    if (s && kernels == DT_KERNELS_AUTO) {
        dt_status_free(s);
        s = dt_gemm_open_openblas(&e->gemm);
    }
    return s;
}

static void enter_lane(int lane, void *user)
{
    const dt_engine *e = user;
    (void)lane;
    e->gemm.enter_thread(&e->gemm);
}

dt_status *dt_engine_open(dt_engine **out, const dt_engine_options *o)
{
    dt_engine *e = dt_alloc(sizeof *e);
    dt_str text = { 0 };
    dt_status *s = open_library(e, o->kernels);

    if (!s)
        s = choose_simd(e, o->isa);
    if (!s)
        s = dt_pool_create(&e->pool, o->threads > 0 ? o->threads : dt_cores());
    if (s) {
        dt_engine_close(e);
        return s;
    }
    dt_pool_run(e->pool, enter_lane, e);
    dt_str_printf(&text, "%s %s, %s", e->gemm.name, e->gemm.about, e->simd->name);
    e->description = dt_str_take(&text);
    *out = e;
    return NULL;
}

void dt_engine_close(dt_engine *e)
{
    if (!e)
        return;
    if (e->pool)
        dt_pool_destroy(e->pool);
    if (e->gemm.close)
        e->gemm.close(&e->gemm);
    free(e->description);
    free(e);
}

int dt_engine_threads(const dt_engine *e)
{
    return dt_pool_lanes(e->pool);
}

const char *dt_engine_describe(const dt_engine *e)
{
    return e->description;
}
