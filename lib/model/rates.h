/* SPDX-License-Identifier: Apache-2.0 */
/* The table of learning-rate schedules: DT_RATE_ROW(name). Each is in lib/model/rate/<name>.c, but
 * exponential_decay and inverse_time_decay are in decay.c, and both cosines in cosine_decay.c.
 * Included several times, with DT_RATE_ROW defined by each user. */
DT_RATE_ROW(exponential_decay)
DT_RATE_ROW(inverse_time_decay)
DT_RATE_ROW(polynomial_decay)
DT_RATE_ROW(piecewise_constant_decay)
DT_RATE_ROW(cosine_decay)
DT_RATE_ROW(cosine_decay_restarts)
