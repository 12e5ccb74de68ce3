/* The engine: lanes, the instruction set of our own loops, and the library that multiplies matrices. */
#include <stdlib.h>
#include <string.h>

#include "exec/exec_impl.h"

/* ---- instruction sets ---- */

typedef struct isa {
    const dt_simd *simd;
    bool here;
} isa;

const dt_simd *dt_simd_choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const isa sets[] = {
        { &dt_simd_avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                               __builtin_cpu_supports("avx512dq") },
        { &dt_simd_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") },
        { &dt_simd_base, true },
    };
#else
    const isa sets[] = { { &dt_simd_base, true } };
#endif
    const char *wanted = getenv("DTRAIN_ISA");
    const size_t n = sizeof sets / sizeof *sets;

    for (size_t i = 0; wanted && i < n; i++)
        if (sets[i].here && strcmp(sets[i].simd->name, wanted) == 0)
            return sets[i].simd;
    for (size_t i = 0; i < n; i++)
        if (sets[i].here)
            return sets[i].simd;
    return &dt_simd_base;
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
        s = dt_pool_create(&e->pool, o->threads > 0 ? o->threads : dt_cores());
    if (s) {
        dt_engine_close(e);
        return s;
    }
    e->simd = dt_simd_choose();
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
