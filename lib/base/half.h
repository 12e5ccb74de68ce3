/* SPDX-License-Identifier: Apache-2.0 */
/* Floats of fewer digits: IEEE half precision and bfloat16, for storage (nothing computes in them),
 * and float32 rounded to less. */
#ifndef DT_BASE_HALF_H
#define DT_BASE_HALF_H

#include <stdint.h>

double dt_half_to_double(uint16_t h);
/* The nearest, ties to even; beyond 65504 infinity. */
uint16_t dt_half_of(double x);
/* bfloat16: the upper half of a float32. */
double dt_bfloat_to_double(uint16_t b);
/* The nearest, ties to even; beyond the largest float32 infinity. */
uint16_t dt_bfloat_of(double x);
/* x rounded to `digits` binary digits of fraction (1 to 23), ties to even. bfloat16 has 7. */
float dt_float_rounded(float x, int digits);

#endif
