/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: by our own loops, which give the same bits everywhere, by oneDNN or by OpenBLAS.
 * A library is loaded only if an engine uses it. A product is planned once, when compiling, and run
 * many times. Each call of a library is single-threaded: the lanes are the only threads.
 */
#ifndef DT_EXEC_GEMM_H
#define DT_EXEC_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The type of the elements of a matrix. Sums are float32 for all types. */
typedef enum dt_gemm_float { DT_GEMM_F32, DT_GEMM_BF16, DT_GEMM_F16 } dt_gemm_float;

/* C (m, n) = op(A) (m, k) op(B) (k, n), row-major; op transposes. Leading dimensions count elements
 * of a stored row. */
typedef struct dt_gemm {
    int64_t m, n, k;
    bool trans_a, trans_b;
    bool adds;                /* C += */
    dt_gemm_float in[2], out; /* A, B; C */
    int64_t lda, ldb, ldc;
} dt_gemm;

typedef struct dt_gemm_library {
    const char *name; /* "openblas" */
    /* version and kernels: "0.3.21 SkylakeX"; set by open; "": neither matters */
    const char *about;
    void *state;
    dt_status *(*plan)(const struct dt_gemm_library *l, const dt_gemm *g, void **plan);
    /* bytes of working memory that a run needs; NULL: none */
    size_t (*scratch)(const void *plan);
    /* scratch: aligned to a float, fastest to 64 bytes */
    void (*run)(const void *plan, const void *a, const void *b, void *c, void *scratch);
    bool bf16; /* takes bfloat16 operands on this processor, faster than float32 */
    void (*release)(void *plan);
    /* bytes of working memory that the library holds for a plan and touches when it first runs;
     * NULL: none */
    int64_t (*held)(const void *plan);
    size_t room; /* bytes that the library maps in each thread in any case */
    /* prepares a thread that runs products; called once in each */
    void (*enter_thread)(const struct dt_gemm_library *l);
    void (*close)(struct dt_gemm_library *l);
    const struct dt_conv_calls *conv; /* exec/conv.h; NULL: the library computes no convolutions */
} dt_gemm_library;

/* UNAVAILABLE with the reason when the library is not there. */
dt_status *dt_gemm_open_openblas(dt_gemm_library *l) DT_MUST_USE;
dt_status *dt_gemm_open_onednn(dt_gemm_library *l) DT_MUST_USE;
static inline size_t dt_gemm_scratch(const dt_gemm_library *l, const void *plan) {
    return l->scratch ? l->scratch(plan) : 0;
}

/* Our own loops for an instruction set; all sets give the same bits. Never fails and needs no
 * close. */
struct dt_simd;
void dt_gemm_open_own(dt_gemm_library *l, const struct dt_simd *simd);

#endif
