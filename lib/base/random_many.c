/* SPDX-License-Identifier: Apache-2.0 */
/* See random_many.h. */
#include "base/random_many.h"

extern const dt_random_loops dt_random_base;
#if defined(__x86_64__)
extern const dt_random_loops dt_random_avx2, dt_random_avx512;
#endif

const dt_random_loops *dt_random_loops_of(dt_isa isa) {
    static const dt_random_loops *const loops[DT_ISAS] = {
#if defined(__x86_64__)
        [DT_AVX512] = &dt_random_avx512,
        [DT_AVX2] = &dt_random_avx2,
#endif
        [DT_BASE_ISA] = &dt_random_base,
    };
    return loops[isa];
}

/* The loops of the instruction set that the environment selects. An unknown name is reported where
 * kernels are chosen. */
static const dt_random_loops *choose(void) {
    dt_isa isa = dt_isa_find(dt_isa_wanted());
    return dt_random_loops_of(isa == DT_ISAS ? DT_BASE_ISA : isa);
}

/* Words whose p is below about 2^-36, or above 1 less that, lie beyond the range (p < exp(-25)) of
 * the first rational function of a tail. A few words too many are harmless. */
bool dt_random_is_far(uint64_t word) {
    const uint64_t edge = UINT64_C(1) << 30;
    return word + edge < 2 * edge;
}

enum { SOME = 1024 }; /* as many words as fit in the first-level cache */

void dt_random_uniforms(const dt_random *r, uint64_t first, int64_t n, double *out) {
    const dt_random_loops *loops = choose();
    uint64_t word[SOME];
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t some = n - i < SOME ? n - i : SOME;
        loops->words(r->key, first + (uint64_t)i, some, word);
        loops->uniform(word, some, out + i);
    }
}

static void draw_far(const dt_random *r, uint64_t stream, double *out) {
    dt_random one = *r;
    one.counter[0] = 0, one.counter[1] = stream, one.used = 4;
    *out = dt_random_normal(&one);
}

void dt_random_normals(const dt_random *r, uint64_t first, int64_t n, double *out) {
    const dt_random_loops *loops = choose();
    uint64_t word[SOME];
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t some = n - i < SOME ? n - i : SOME;
        loops->words(r->key, first + (uint64_t)i, some, word);
        loops->normal(word, some, out + i);
        for (int64_t k = 0; k < some; k++)
            if (dt_random_is_far(word[k])) draw_far(r, first + (uint64_t)(i + k), out + i + k);
    }
}
