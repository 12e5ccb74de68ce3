/* SPDX-License-Identifier: Apache-2.0 */
/* See instructions.h. */
#include "exec/instructions.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/isa.h"

static const dt_instructions sets[DT_ISAS] = {
#if defined(__x86_64__)
    [DT_AVX512] = {&dt_simd_avx512, "SkylakeX", 0x27},
    [DT_AVX2] = {&dt_simd_avx2, "Haswell", 0x7},
#endif
    [DT_BASE_ISA] = {&dt_simd_base, "Prescott", 0x1},
};

int dt_simd_list(const dt_simd *list[DT_MAX_SIMD]) {
    int n = 0;
    for (dt_isa isa = 0; isa < DT_ISAS; isa++)
        if (dt_isa_is_here(isa)) list[n++] = sets[isa].loops;
    return n;
}

const dt_instructions *dt_instructions_limit(void) {
    const char *name = dt_isa_wanted();
    for (dt_isa isa = 0; name && isa < DT_ISAS; isa++)
        if (sets[isa].loops && strcmp(dt_isa_name(isa), name) == 0) return &sets[isa];
    return NULL;
}

dt_status *dt_instructions_choose(const char *wanted, const dt_simd **out) {
    const char *name = wanted ? wanted : dt_isa_wanted();
    dt_isa isa = dt_isa_find(name);
    if (isa == DT_ISAS)
        return dt_fail(DT_E_KERNELS, NULL,
                       "%sinstruction set '%.40s' is unknown or not supported on this processor; "
                       "the best is %s",
                       wanted ? "" : DT_INSTRUCTIONS_ENV ": ", name,
                       dt_isa_name(dt_isa_find(NULL)));
    *out = sets[isa].loops;
    return NULL;
}

/* Checks CPUID leaf 7 for AMX-BF16 and AMX-TILE, and leaf 1 for XGETBV, by which the system reports
 * that it saves tile registers. */
bool dt_instructions_have_amx(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, tiles = 1u << 22 | 1u << 24, saved = 3u << 17, low, high;
    if (dt_instructions_limit() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles) != tiles)
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & saved) == saved;
#else
    return false;
#endif
}

/* Sets the processor's bit for flushing denormals to 0. Without it, operations on denormals are
 * slow but correct. */
unsigned dt_instructions_flush(void) {
    enum { FLUSH_TO_ZERO = 1 << 15 };
    unsigned before = 0;
#if defined(__x86_64__)
    before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH_TO_ZERO);
#endif
    return before;
}

void dt_instructions_restore(unsigned state) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(state);
#else
    (void)state;
#endif
}
