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

#endif
