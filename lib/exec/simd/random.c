/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for sequences of counters, with the same bits on all processors
 * (base/simd/draw.c). */
#include "exec/strip.h"

#include "base/random.h"
#include "base/simd/loops.h"
#include "base/simd/philox.h"

enum { SOME = 256 }; /* a multiple of the number of vector lanes */

/* Sets word[i], i < SOME, to the first 64 bits (two 32-bit words) of Philox's block of (key; place
 * + i, stream). */
static void draw_words(uint64_t key, int64_t place, uint64_t stream, uint64_t word[SOME]) {
    lanes at = lanes_from((uint64_t)place);
    for (int i = 0; i < SOME; i += LANES, at += LANES) {
        lanes block = philox_lanes(key, at, (lanes){0} + stream);
        memcpy(word + i, &block, sizeof block);
    }
}

static int64_t some_of(int64_t left) { return left < SOME ? left : SOME; }

static void uniform(float *d, uint64_t key, uint64_t stream, int64_t n) {
    uint64_t word[SOME];
    for (int64_t done = 0; done < n; done += SOME) {
        draw_words(key, done, stream, word);
        for (int64_t i = 0; i < some_of(n - done); i++)
            d[done + i] = (float)(int32_t)((uint32_t)word[i] >> 8) * 0x1p-24f;
    }
}

extern const dt_random_loops JOIN(dt_random_, DT_ISA);

static void normal(float *d, uint64_t key, uint64_t stream, int64_t n) {
    uint64_t word[SOME];
    double number[SOME];
    for (int64_t done = 0; done < n; done += SOME) {
        draw_words(key, done, stream, word);
        JOIN(dt_random_, DT_ISA).normal(word, SOME, number);
        for (int64_t i = 0; i < some_of(n - done); i++) {
            dt_random far = {.key = key, .counter = {(uint64_t)(done + i), stream}, .used = 4};
            d[done + i] = (float)(dt_random_is_far(word[i]) ? dt_random_normal(&far) : number[i]);
        }
    }
}

extern const dt_random_functions JOIN(dt_randoms_, DT_ISA);
const dt_random_functions JOIN(dt_randoms_, DT_ISA) = {uniform, normal};
