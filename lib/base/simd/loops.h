/* SPDX-License-Identifier: Apache-2.0 */
/* The head of all loops in simd/ folders: names that end in the instruction set, and a hint to
 * compilers. */
#ifndef DT_BASE_SIMD_LOOPS_H
#define DT_BASE_SIMD_LOOPS_H

/* The result may be an operand itself. Iterations are independent then, too, since element i
 * depends on element i alone. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#endif
