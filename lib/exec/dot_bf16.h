/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 by AVX512_BF16: see dot_bf16.c. */
#ifndef DT_EXEC_DOT_BF16_H
#define DT_EXEC_DOT_BF16_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the processor has the instructions, the system saves their registers, and
 * DTRAIN_INSTRUCTIONS permits them. */
bool dt_dot_bf16_is_here(void);

/* A tile of C (m, n), float32 with rows of ldc, (+)= op(A) (m, k) op(B) (k, n), bfloat16 as dt_gemm
 * has them. k is even, and not 0. */
typedef struct dt_dot_bf16 {
    int64_t m, n, k;
    bool trans_a, trans_b, adds;
    int64_t lda, ldb, ldc;
} dt_dot_bf16;

/* The working memory that packing needs, in uint32s; 0: A is read in place. */
int64_t dt_dot_bf16_room_a(const dt_dot_bf16 *t);
int64_t dt_dot_bf16_room_b(const dt_dot_bf16 *t);
void dt_dot_bf16_pack_a(const dt_dot_bf16 *t, const uint16_t *a, uint32_t *room);
void dt_dot_bf16_pack_b(const dt_dot_bf16 *t, const uint16_t *b, uint32_t *room);
/* a: the matrix A, and its working memory. Only where dt_dot_bf16_is_here. */
void dt_dot_bf16_run(const dt_dot_bf16 *t, const uint16_t *a, const uint32_t *room_a,
                     const uint32_t *room_b, float *c);

#endif
