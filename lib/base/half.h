/* IEEE half precision, for storage: nothing computes in it. */
#ifndef DT_BASE_HALF_H
#define DT_BASE_HALF_H

#include <stdint.h>

double dt_half_to_double(uint16_t h);
/* The nearest, ties to even; beyond 65504 infinity. */
uint16_t dt_half_of(double x);

#endif
