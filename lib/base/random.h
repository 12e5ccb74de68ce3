/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers without state: Philox 4x32-10 (Random123) maps (key, counter) to four words. So a
 * number depends on its key and counter alone, not on the thread that draws it or on the order of
 * draws. (seed, purpose) give the key; the counters are the number of a stream, such as of an
 * example, and that of a block of words in it.
 */
#ifndef DT_BASE_RANDOM_H
#define DT_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"

typedef struct dt_random {
    uint64_t key;
    uint64_t counter[2];
    uint32_t word[4]; /* the block of words that was generated last */
    int used;         /* number of words of that block that were used */
} dt_random;

/* Computes the block of words for (key, c0, c1). */
void dt_philox(uint64_t key, uint64_t c0, uint64_t c1, uint32_t out[4]);

/* Begins a sequence: (seed, purpose) determine the key, counter c1 is `stream`, and c0 counts
 * blocks. */
dt_random dt_random_stream(uint64_t seed, const char *purpose, uint64_t stream);
uint32_t dt_random_u32(dt_random *r);
double dt_random_uniform(dt_random *r); /* returns a number in [0, 1) with 53 random bits */
/* Returns a normal number with mean 0 and deviation 1, by inversion from two words. */
double dt_random_normal(dt_random *r);
/* Returns an integer in [0, n) without bias; n > 0. */
uint64_t dt_random_below(dt_random *r, uint64_t n);

/* A permutation of 0..n-1 that depends on a key made of (seed, purpose, epoch). Element i is
 * computed without a table, for every n: a Feistel network with cycle walking. */
typedef struct dt_permutation {
    uint64_t key, n;
    int half_bits;
} dt_permutation;
dt_permutation dt_permutation_make(uint64_t seed, const char *purpose, uint64_t epoch, uint64_t n);
uint64_t dt_permutation_at(const dt_permutation *p, uint64_t i);

/* Draws n random numbers, each the first one of its own stream: the same bits as dt_random_uniform
 * and dt_random_normal return. out[i] is the first number of the stream that has the key of `r` and
 * the counters c0 = 0, c1 = first + i. */
void dt_random_uniforms(const dt_random *r, uint64_t first, int64_t n, double *out);
void dt_random_normals(const dt_random *r, uint64_t first, int64_t n, double *out);

/* ---- the loops, once per instruction set (simd/draw.c) ---- */

typedef struct dt_random_loops {
    /* Sets out[i] to the first two words (64 bits) of the block (key; 0, first + i), for i < n. */
    void (*words)(uint64_t key, uint64_t first, int64_t n, uint64_t *out);
    void (*uniform)(const uint64_t *word, int64_t n, double *out);
    /* Computes a normal number for each 64-bit word. It may be wrong if dt_random_is_far(word). */
    void (*normal)(const uint64_t *word, int64_t n, double *out);
} dt_random_loops;
const dt_random_loops *dt_random_loops_of(dt_isa isa);
bool dt_random_is_far(uint64_t word);

#endif
