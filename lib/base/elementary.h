/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, log and their kin in double precision, with the same bits on every processor: sums, products
 * and quotients of doubles in a fixed order. The C library chooses among implementations that round
 * differently when a program starts, so these functions call it only for special arguments and for
 * very large angles. Errors are at most 1 unit in the last place, for dt_portable_pow 2 and for
 * dt_portable_expm1 4. Special values are C's.
 */
#ifndef DT_BASE_ELEMENTARY_H
#define DT_BASE_ELEMENTARY_H

double dt_portable_exp(double x);
double dt_portable_expm1(double x);
double dt_portable_log(double x);
double dt_portable_log1p(double x);
double dt_portable_pow(double x, double y);
/* For |x| >= 2^20 these two functions call the C library, so their bits may differ between
 * processors. */
double dt_portable_sin(double x);
double dt_portable_cos(double x);

#endif
