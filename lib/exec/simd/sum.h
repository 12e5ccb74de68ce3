/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of a row, for the loops in this folder. A block is added in 32 interleaved chains of at
 * most 16 values, which a fixed tree adds up. Longer rows consist of several such blocks, which the
 * tree of exec/sums.h adds up. The bits are the same for every instruction set.
 */
#ifndef DT_EXEC_SIMD_SUM_H
#define DT_EXEC_SIMD_SUM_H

#include <stdint.h>

enum { CHAINS = 32, SUM_BLOCK = 16 * CHAINS, SUM_LEVELS = 54 };

static inline float join_chains(float *chain) {
    for (int width = CHAINS / 2; width; width /= 2)
        for (int j = 0; j < width; j++) chain[j] += chain[j + width];
    return chain[0];
}

/* Sums of blocks, combined as a binary counter carries: `level` has one sum for each bit that is
 * set in `blocks`. */
typedef struct block_sums {
    uint64_t blocks;
    float level[SUM_LEVELS];
} block_sums;

static inline void push_block(block_sums *s, float sum) {
    int top = __builtin_popcountll(s->blocks);
    s->level[top] = sum;
    for (uint64_t carry = s->blocks++; carry & 1; carry >>= 1, top--)
        s->level[top - 1] += s->level[top];
}

static inline float join_blocks(block_sums *s) {
    for (int top = __builtin_popcountll(s->blocks) - 1; top > 0; top--)
        s->level[top - 1] += s->level[top];
    return s->level[0];
}

/* Sets `out` to the sum of `expression` over all i < n. */
#define SUM(out, n, expression)                                                                    \
    do {                                                                                           \
        block_sums blocks_;                                                                        \
        int64_t at_ = 0;                                                                           \
        blocks_.blocks = 0;                                                                        \
        do {                                                                                       \
            const int64_t end_ = (n)-at_ < SUM_BLOCK ? (n) : at_ + SUM_BLOCK;                      \
            float chain_[CHAINS] = {0};                                                            \
            for (; at_ + CHAINS <= end_; at_ += CHAINS)                                            \
                for (int j_ = 0; j_ < CHAINS; j_++) {                                              \
                    int64_t i = at_ + j_;                                                          \
                    chain_[j_] += (expression);                                                    \
                }                                                                                  \
            for (int64_t i = at_; i < end_; i++) chain_[i - at_] += (expression);                  \
            at_ = end_;                                                                            \
            push_block(&blocks_, join_chains(chain_));                                             \
        } while (at_ < (n));                                                                       \
        (out) = join_blocks(&blocks_);                                                             \
    } while (0)

#endif
