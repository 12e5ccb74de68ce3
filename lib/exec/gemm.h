/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: by our own loops, which give the same bits everywhere, by oneDNN or by OpenBLAS.
 * A library is loaded only when it is opened: by an engine that uses it, or to learn whether it can
 * be used. A product is planned once, when compiling, and run many times. Each call of a library is
 * single-threaded, because the lanes run calls in parallel.
 */
#ifndef DT_EXEC_GEMM_H
#define DT_EXEC_GEMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The type of the elements of a matrix. Products of all types are added in float32. */
typedef enum dt_gemm_float { DT_GEMM_F32, DT_GEMM_BF16, DT_GEMM_F16 } dt_gemm_float;

/*
 * Room in which a product keeps its B packed for others that have the same B. The first product
 * that needs a panel packs it, and the others read it. Only the functions of such products
 * (strip.h, product.c) know what is in `room`.
 */
typedef struct dt_panels {
    float *room; /* the packed panels and their states; filled with 0 when allocated */
    /* an even number that changes whenever the values of B may have changed; 0: B is not kept
     * packed in this run */
    uint32_t version;
} dt_panels;

/* The state of a panel, in `room`: the version, once it is packed; version + 1, while a product
 * packs it. A product that finds it BUSY does without it. One for which it is NEW packs it, and
 * then stores the version. */
typedef _Atomic uint32_t dt_panel_state;
typedef enum dt_panel_claim { DT_PANEL_PACKED, DT_PANEL_NEW, DT_PANEL_BUSY } dt_panel_claim;
static inline dt_panel_claim dt_panel_take(dt_panel_state *s, uint32_t version) {
    uint32_t is = atomic_load_explicit(s, memory_order_acquire);
    if (is == version) return DT_PANEL_PACKED;
    return is != version + 1 && atomic_compare_exchange_strong(s, &is, version + 1) ? DT_PANEL_NEW
                                                                                    : DT_PANEL_BUSY;
}
static inline void dt_panel_ready(dt_panel_state *s, uint32_t version) {
    atomic_store_explicit(s, version, memory_order_release);
}

/* The product C (m, n) = op(A) (m, k) op(B) (k, n) of row-major matrices. op transposes if trans_a
 * or trans_b is set. lda, ldb and ldc are the distances of stored rows, in elements. */
typedef struct dt_gemm {
    int64_t m, n, k;
    bool trans_a, trans_b;
    bool adds;                /* the product is added to C */
    dt_gemm_float in[2], out; /* in: types of A and B; out: type of C */
    int64_t lda, ldb, ldc;
    dt_panels *panels; /* B packed; NULL: each run packs what it needs; libraries ignore it */
} dt_gemm;

typedef struct dt_gemm_library {
    const char *name; /* name of the library, such as "openblas" */
    /* version of the library and, for OpenBLAS, its kernels, such as "0.3.21 SkylakeX"; set by
     * opening it; empty if results depend on neither */
    const char *about;
    void *state;
    dt_status *(*plan)(const struct dt_gemm_library *l, const dt_gemm *g, void **plan);
    /* Returns the bytes of working memory that a run needs. NULL: it needs none. */
    size_t (*scratch)(const void *plan);
    /* Runs a plan. scratch must be aligned to 4 bytes; runs are fastest if it is aligned to 64
     * bytes. */
    void (*run)(const void *plan, const void *a, const void *b, void *c, void *scratch);
    /* the library takes bfloat16 operands on this processor, and is faster with them than with
     * float32 */
    bool bf16;
    void (*release)(void *plan);
    /* Returns the bytes of working memory that the library itself holds for a plan, and touches
     * when the plan first runs. NULL: it holds none. */
    int64_t (*held)(const void *plan);
    size_t room; /* the most bytes of address space that the library takes in each thread */
    /* Prepares a thread that runs products. It is called once in each such thread. */
    void (*enter_thread)(const struct dt_gemm_library *l);
    void (*close)(struct dt_gemm_library *l);
    /* functions for convolutions, see exec/conv.h; NULL: the library computes none */
    const struct dt_conv_calls *conv;
} dt_gemm_library;

/* These load the library. They fail with KERNELS if it cannot be loaded, lacks a function or does
 * not start, and with NO_MEMORY. */
dt_status *dt_gemm_open_openblas(dt_gemm_library *l) DT_MUST_USE;
dt_status *dt_gemm_open_onednn(dt_gemm_library *l) DT_MUST_USE;
static inline size_t dt_gemm_scratch(const dt_gemm_library *l, const void *plan) {
    return l->scratch ? l->scratch(plan) : 0;
}

struct dt_simd;
/* Gets our own loops for an instruction set; all sets give the same bits. It never fails, and there
 * is nothing to close. */
void dt_gemm_open_own(dt_gemm_library *l, const struct dt_simd *simd);

#endif
