/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the sums of a tile, which are in registers. They are unrolled, so that each sum has a
 * register. */
#ifndef DT_EXEC_SIMD_UNROLL_H
#define DT_EXEC_SIMD_UNROLL_H

#include "base/sanitizer.h"
#include "exec/simd/math.h"

/* Keeps the compiler from computing an address for every row and every k, which would need more
 * registers than there are. */
#define HIDE(p) __asm__("" : "+r"(p))
/* With the address sanitizer all tiles share one function, whose sizes are not constants. A hundred
 * separate functions would take minutes to compile, since every access is checked. */
#if DT_ASAN
#define TILE_FUNCTION static __attribute__((noinline)) void
#define HIDE_SIZES(of) __asm__("" : "+r"((of).rows), "+r"((of).vectors))
#define UNROLL(n)
#else
#define TILE_FUNCTION static ALWAYS_INLINE void
#define HIDE_SIZES(of) ((void)0)
#define UNROLL(n) _Pragma(UNROLL_TEXT(n))
#endif
#define UNROLL_TEXT(n) UNROLL_STRING(GCC unroll n)
#define UNROLL_STRING(x) #x
/* Runs a statement for all sums of a tile. In it, i and j are constants, except with the address
 * sanitizer. */
#define EACH_SUM(of)                                                                               \
    UNROLL(16) for (int i = 0; i < (of).rows; i++) UNROLL(4) for (int j = 0; j < (of).vectors; j++)

/* Keeps the compiler from moving loads of later iterations before this point, for which sums would
 * have to leave their registers. It does nothing on AVX-512. */
#if !defined(__AVX512F__)
#define KEEP_ORDER() __asm__ volatile("" : : : "memory")
#else
#define KEEP_ORDER() ((void)0)
#endif
/* Adds a product to a sum. With FMA, but without AVX-512, the instruction is fixed: if the compiler
 * chose it, it might overwrite the register of a factor and copy sums between registers. */
#if defined(__FMA__) && !defined(__AVX512F__)
#define ADD_PRODUCT(sum, x, y)                                                                     \
    __asm__ volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y))
#else
#define ADD_PRODUCT(sum, x, y) ((sum) = FMA(x, y, sum))
#endif

#endif
