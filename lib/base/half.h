/* Floats of fewer digits: IEEE half precision, for storage (nothing computes in it), and float32 rounded to less. */
#ifndef DT_BASE_HALF_H
#define DT_BASE_HALF_H

#include <stdint.h>

double dt_half_to_double(uint16_t h);
/* The nearest, ties to even; beyond 65504 infinity. */
uint16_t dt_half_of(double x);
/* x with so many digits of fraction (1 to 23), ties to even: 7 are bfloat16's. */
float dt_float_rounded(float x, int digits);

#endif
