/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 by AVX512_BF16: see dot_bf16.c. */
#ifndef DT_EXEC_DOT_BF16_H
#define DT_EXEC_DOT_BF16_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the processor has the instructions, the system saves their registers, and
 * DTRAIN_INSTRUCTIONS does not limit the instruction set. */
bool dt_dot_bf16_is_here(void);

/* A product that sets a tile of C (m, n) to op(A) (m, k) op(B) (k, n), or adds to it. C is float32,
 * with rows that are ldc elements apart; A and B are bfloat16, as in dt_gemm. k is even, and not
 * 0. */
typedef struct dt_dot_bf16 {
    int64_t m, n, k;
    bool trans_a, trans_b, adds;
    int64_t lda, ldb, ldc;
} dt_dot_bf16;

/* These return the working memory that packing A or B needs, as a number of uint32s. It is 0 for A
 * if A is read in place. */
int64_t dt_dot_bf16_room_a(const dt_dot_bf16 *t);
int64_t dt_dot_bf16_room_b(const dt_dot_bf16 *t);
void dt_dot_bf16_pack_a(const dt_dot_bf16 *t, const uint16_t *a, uint32_t *room);
void dt_dot_bf16_pack_b(const dt_dot_bf16 *t, const uint16_t *b, uint32_t *room);
/* Computes the product. a is the matrix A; room_a and room_b are the working memory that
 * dt_dot_bf16_pack_a and dt_dot_bf16_pack_b have filled. May only be called if
 * dt_dot_bf16_is_here. */
void dt_dot_bf16_run(const dt_dot_bf16 *t, const uint16_t *a, const uint32_t *room_a,
                     const uint32_t *room_b, float *c);

#endif
