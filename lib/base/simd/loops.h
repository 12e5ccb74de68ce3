/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for the loops in simd/ folders: to make names that end in the instruction set, and a hint
 * to compilers. */
#ifndef DT_BASE_SIMD_LOOPS_H
#define DT_BASE_SIMD_LOOPS_H

/* Tells compilers that iterations are independent. The result may be one of the operands: element i
 * of the result depends on element i of the operands only. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#endif
