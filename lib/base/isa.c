/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what isa.h declares. */
#include "base/isa.h"

#include <string.h>

#include "base/environment.h"

const char *dt_isa_name(dt_isa isa) {
    static const char *const name[DT_ISAS] = {
        [DT_AVX512] = "avx512", [DT_AVX2] = "avx2", [DT_BASE_ISA] = "base"};
    return name[isa];
}

/* Whether this processor has the instruction set. The loops for AVX2 also use F16C, the conversion
 * of half floats, which is not checked: all processors with AVX2 have it. */
bool dt_isa_is_here(dt_isa isa) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (isa == DT_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("fma");
    if (isa == DT_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return isa == DT_BASE_ISA;
}

const char *dt_isa_wanted(void) { return dt_environment(DT_INSTRUCTIONS_ENV); }

dt_isa dt_isa_find(const char *name) {
    for (dt_isa isa = 0; isa < DT_ISAS; isa++)
        if (dt_isa_is_here(isa) && (!name || strcmp(name, dt_isa_name(isa)) == 0)) return isa;
    return DT_ISAS;
}
