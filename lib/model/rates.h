/* SPDX-License-Identifier: Apache-2.0 */
/* The table of learning-rate schedules: DT_RATE_ROW(name), one file lib/model/rate/<name>.c each
 * (the cosines share one). Included several times, with DT_RATE_ROW defined by each user. */
DT_RATE_ROW(exponential_decay)
DT_RATE_ROW(inverse_time_decay)
DT_RATE_ROW(polynomial_decay)
DT_RATE_ROW(piecewise_constant_decay)
DT_RATE_ROW(cosine_decay)
DT_RATE_ROW(cosine_decay_restarts)
