/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the sums of a tile that lie in registers: unrolled, so that each sum has its own. */
#ifndef DT_EXEC_SIMD_UNROLL_H
#define DT_EXEC_SIMD_UNROLL_H

#include "base/sanitizer.h"
#include "exec/simd/math.h"

/* Keeps the compiler from making an address of every row and k, more than there are registers. */
#define HIDE(p) __asm__("" : "+r"(p))
/* Under the address sanitizer all tiles share one function whose sizes the compiler does not know:
 * with a check of every access, a hundred functions of their own would take minutes to compile. */
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
/* All sums of a tile: i and j are constants in what follows. */
#define EACH_SUM(of)                                                                               \
    UNROLL(16) for (int i = 0; i < (of).rows; i++) UNROLL(4) for (int j = 0; j < (of).vectors; j++)

/* Keeps the compiler from loading numbers so early that sums have to leave their registers. */
#if !defined(__AVX512F__)
#define KEEP_ORDER() __asm__ volatile("" : : : "memory")
#else
#define KEEP_ORDER() ((void)0)
#endif
/* Adds a product in the register of the sum. If the compiler chooses the instruction, it may
 * overwrite the register of a factor and copy sums back and forth. */
#if defined(__FMA__) && !defined(__AVX512F__)
#define ADD_PRODUCT(sum, x, y)                                                                     \
    __asm__ volatile("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y))
#else
#define ADD_PRODUCT(sum, x, y) ((sum) = FMA(x, y, sum))
#endif

#endif
