/* SPDX-License-Identifier: Apache-2.0 */
/* What loops of all simd/ folders begin with: names with the instruction set behind them, and a
 * word to compilers. */
#ifndef DT_BASE_SIMD_LOOPS_H
#define DT_BASE_SIMD_LOOPS_H

/* An operand may be the result: element i of one is element i of the other, so iterations are
 * independent all the same. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#endif
