/* See instructions.h. */
#include "exec/instructions.h"

#include <stdlib.h>
#include <string.h>

static const dt_instructions sets[] = { /* the best first */
#if defined(__x86_64__)
    { &dt_simd_avx512, "SkylakeX", 0x27 },
    { &dt_simd_avx2, "Haswell", 0x7 },
#endif
    { &dt_simd_base, "Prescott", 0x1 },
};
enum { SETS = sizeof sets / sizeof *sets };

/* Half floats are converted by all that have AVX2. */
static bool has(const dt_simd *loops)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (loops == &dt_simd_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
    if (loops == &dt_simd_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return loops == &dt_simd_base;
}

int dt_simd_list(const dt_simd *list[DT_MAX_SIMD])
{
    int n = 0;
    for (int i = 0; i < SETS; i++)
        if (has(sets[i].loops))
            list[n++] = sets[i].loops;
    return n;
}

static const char *said(void)
{
    const char *name = getenv(DT_INSTRUCTIONS_ENV);
    return name && *name ? name : NULL;
}

const dt_instructions *dt_instructions_limit(void)
{
    const char *name = said();
    for (int i = 0; name && i < SETS; i++)
        if (strcmp(sets[i].loops->name, name) == 0)
            return &sets[i];
    return NULL;
}

dt_status *dt_instructions_choose(const char *wanted, const dt_simd **out)
{
    const dt_simd *list[DT_MAX_SIMD];
    const char *name = wanted ? wanted : said();
    int n = dt_simd_list(list);
    for (int i = 0; i < n; i++)
        if (!name || strcmp(list[i]->name, name) == 0) {
            *out = list[i];
            return NULL;
        }
    return dt_fail(DT_E_KERNELS, NULL, "%sno loops for the instruction set '%.40s' on this processor; the best is %s",
                   wanted ? "" : DT_INSTRUCTIONS_ENV ": ", name, list[0]->name);
}
