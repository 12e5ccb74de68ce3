/* SPDX-License-Identifier: Apache-2.0 */
/* Many random numbers at a time, each the first one of its own stream: the same bits as
 * dt_random_uniform and dt_random_normal. */
#ifndef DT_BASE_RANDOM_MANY_H
#define DT_BASE_RANDOM_MANY_H

#include <stdbool.h>

#include "base/isa.h"
#include "base/random.h"

/* out[i] is the first number of `r` at counter {0, first + i}. */
void dt_random_uniforms(const dt_random *r, uint64_t first, int64_t n, double *out);
void dt_random_normals(const dt_random *r, uint64_t first, int64_t n, double *out);

/* ---- the loops, once per instruction set (simd/draw.c) ---- */

typedef struct dt_random_loops {
    /* the first two words of the blocks of (key; 0, first + i) */
    void (*words)(uint64_t key, uint64_t first, int64_t n, uint64_t *out);
    void (*uniform)(const uint64_t *word, int64_t n, double *out);
    /* a normal number for each word, which is wrong where dt_random_is_far holds */
    void (*normal)(const uint64_t *word, int64_t n, double *out);
} dt_random_loops;
const dt_random_loops *dt_random_loops_of(dt_isa isa);
bool dt_random_is_far(uint64_t word);

#endif
