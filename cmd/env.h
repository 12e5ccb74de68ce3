/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables: warns about unknown ones, and reads OMP_NUM_THREADS. */
#ifndef CMD_ENV_H
#define CMD_ENV_H

#include "out.h"

/* Warns about each variable DTRAIN_... that is not known, since a misspelt one would have no
 * effect. */
void env_warn(struct out *out);
/* Returns `threads` or, if that is 0, the first number of OMP_NUM_THREADS; 0: neither is set. If
 * the variable is used but not valid, warns and returns 0. */
int env_threads(struct out *out, int64_t threads);

#endif
