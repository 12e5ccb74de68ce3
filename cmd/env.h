/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that dtrain reads, besides those that set an option. */
#ifndef CMD_ENV_H
#define CMD_ENV_H

#include "out.h"

/* Warns about every DTRAIN_... that means nothing: a misspelt one would silently do nothing. */
void env_warn(struct out *out);
/* `threads`, or if that is 0 the value of OMP_NUM_THREADS; 0: neither is set. */
int env_threads(struct out *out, int64_t threads);

#endif
