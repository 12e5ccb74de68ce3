/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what elementary.h declares; simd/elementary.h has the arithmetic. */
#include "base/elementary.h"

#include "base/simd/elementary.h"

double dt_portable_exp(double x) { return exp_of((pair){x, 0}); }

double dt_portable_expm1(double x) { return expm1_of(x); }

double dt_portable_log(double x) {
    const pair y = log_of(x);
    return log_or(x, y.high + y.low);
}

double dt_portable_log1p(double x) { return log1p_of(x); }

static bool is_odd(double y) { return fabs(y) < 0x1p53 && fmod(y, 2) != 0; }

/* Computes x to the power of y. For special arguments it calls the C library, whose results are
 * exact there and so the same on every processor. */
double dt_portable_pow(double x, double y) {
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0 || fabs(x) == 1 ||
        (x < 0 && y != floor(y)))
        return pow(x, y);
    /* power_of_size accepts no larger exponent. The result overflows or underflows. */
    if (fabs(y) > 0x1p900) return (fabs(x) > 1) == (y > 0) ? INFINITY : 0;
    const double size = power_of_size(fabs(x), y);
    return x < 0 && is_odd(y) ? -size : size;
}

double dt_portable_sin(double x) { return fabs(x) < 0x1p20 && x != 0 ? sine_of(x, 0) : sin(x); }

double dt_portable_cos(double x) { return fabs(x) < 0x1p20 ? sine_of(x, 1) : cos(x); }
