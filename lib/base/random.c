/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes keys from seeds and purposes, random numbers from words, and permutations; the generator
 * itself is Random123's Philox. The log and cos of libm are not used, since they give other bits on
 * other processors: the same seed gives the same numbers everywhere.
 */
#include "base/random.h"

#include <Random123/philox.h>
#include <assert.h>
#include <math.h>

#include "base/hash.h"
#include "base/quantile.h"

static uint64_t join(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

void dt_philox(uint64_t key, uint64_t c0, uint64_t c1, uint32_t out[4]) {
    philox4x32_ctr_t counter = {
        {(uint32_t)c0, (uint32_t)(c0 >> 32), (uint32_t)c1, (uint32_t)(c1 >> 32)}};
    philox4x32_key_t k = {{(uint32_t)key, (uint32_t)(key >> 32)}};
    counter = philox4x32(counter, k);
    for (int i = 0; i < 4; i++) out[i] = counter.v[i];
}

/* Uses Philox to mix a seed, a purpose and a number (`more`) into a key, so that neighbouring seeds
 * give unrelated keys. */
static uint64_t make_key(uint64_t seed, const char *purpose, uint64_t more) {
    uint32_t word[4];
    dt_philox(seed, dt_name_hash(purpose), more, word);
    return join(word[0], word[1]);
}

dt_random dt_random_stream(uint64_t seed, const char *purpose, uint64_t stream) {
    return (dt_random){.key = make_key(seed, purpose, 0), .counter = {0, stream}, .used = 4};
}

uint32_t dt_random_u32(dt_random *r) {
    if (r->used == 4) {
        dt_philox(r->key, r->counter[0]++, r->counter[1], r->word);
        r->used = 0;
    }
    return r->word[r->used++];
}

static uint64_t random_u64(dt_random *r) {
    uint32_t low = dt_random_u32(r);
    return join(low, dt_random_u32(r));
}

double dt_random_uniform(dt_random *r) { return (double)(random_u64(r) >> 11) * 0x1p-53; }

uint64_t dt_random_below(dt_random *r, uint64_t n) {
    assert(n > 0);
    /* So many of the 2^64 words are rejected (2^64 mod n), since they would make small values
     * likelier. */
    uint64_t rest = (0 - n) % n;
    uint64_t x;
    do x = random_u64(r);
    while (x < rest);
    return x % n;
}

/* Evaluates p(x) = c[0] + c[1] x + ... + c[7] x^7. */
static double polynomial(const double c[8], double x) {
    double sum = c[7];
    for (int i = 6; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

static double normal_quantile(double p) {
    static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(quantile_a, r) / polynomial(quantile_b, r);
    }
    double r = sqrt(-portable_log(q < 0 ? p : 1 - p));
    double x = r <= 5 ? polynomial(quantile_c, r - 1.6) / polynomial(quantile_d, r - 1.6)
                      : polynomial(e, r - 5) / polynomial(f, r - 5);
    return q < 0 ? -x : x;
}

double dt_random_normal(dt_random *r) { return normal_quantile(probability_of(random_u64(r))); }

/* The fewest bits of a half of a permuted number. Narrower halves would permute small data sets
 * badly, and walking through at least 2^8 values costs little. */
enum { LEAST_HALF_BITS = 4, ROUNDS = 6 };

dt_permutation dt_permutation_make(uint64_t seed, const char *purpose, uint64_t epoch, uint64_t n) {
    int half_bits = LEAST_HALF_BITS;
    while (half_bits < 32 && n > UINT64_C(1) << 2 * half_bits) half_bits++;
    return (dt_permutation){.key = make_key(seed, purpose, epoch), .n = n, .half_bits = half_bits};
}

/* Mixes the bits of x by splitmix64's finisher, so that the upper bits of the result depend on all
 * of x. */
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Applies the rounds of a Feistel network to x. Each round can be inverted, whatever mix returns,
 * so the result is a bijection on numbers of 2 * half_bits bits. */
static uint64_t feistel(const dt_permutation *p, uint64_t x) {
    uint64_t mask = (UINT64_C(1) << p->half_bits) - 1;
    uint64_t left = x >> p->half_bits, right = x & mask;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t swap = right;
        right = left ^ (mix(p->key + round * UINT64_C(0x9e3779b97f4a7c15) + mix(right + 1)) & mask);
        left = swap;
    }
    return left << p->half_bits | right;
}

/* Applies the bijection again until the value is below n. That follows a cycle of the bijection, so
 * the result is a bijection on 0..n-1. */
uint64_t dt_permutation_at(const dt_permutation *p, uint64_t i) {
    assert(i < p->n);
    do i = feistel(p, i);
    while (i >= p->n);
    return i;
}

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

/* Returns the loops of the instruction set that the environment selects. An unknown name is
 * reported elsewhere, where kernels are chosen. */
static const dt_random_loops *choose(void) {
    dt_isa isa = dt_isa_find(dt_isa_wanted());
    return dt_random_loops_of(isa == DT_ISAS ? DT_BASE_ISA : isa);
}

/* Whether the normal number of a word may need the far tail of the distribution, which the loops do
 * not compute: its probability p is below exp(-25), about 2^-36, or above 1 - exp(-25). Returns
 * true for all p below 2^-34 or above 1 - 2^-34; words for which it is true without need do no
 * harm. */
bool dt_random_is_far(uint64_t word) {
    const uint64_t edge = UINT64_C(1) << 30;
    return word + edge < 2 * edge;
}

/* the number of words that are converted at a time; they fit into the first-level cache */
enum { SOME = 1024 };

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
