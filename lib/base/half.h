/* SPDX-License-Identifier: Apache-2.0 */
/* Floats with fewer digits: IEEE half precision and bfloat16, which are used for storage and not
 * for arithmetic, and rounding of float32 to fewer digits. */
#ifndef DT_BASE_HALF_H
#define DT_BASE_HALF_H

#include <stdint.h>

double dt_half_to_double(uint16_t h);
/* Returns the half-precision number nearest to x, ties to even; infinity, with the sign of x, if
 * |x| is at least 65520. */
uint16_t dt_half_of(double x);
/* Returns the value of a bfloat16, which is the upper half of a float32. */
double dt_bfloat_to_double(uint16_t b);
/* Returns the bfloat16 nearest to x, ties to even; infinity, with the sign of x, if |x| rounds to
 * 2^128 or more. */
uint16_t dt_bfloat_of(double x);
/* Returns x rounded to `digits` binary digits of fraction (1 to 23), ties to even. bfloat16 has
 * 7. */
float dt_float_rounded(float x, int digits);

#endif
