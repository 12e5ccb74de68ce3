/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over paths: `*`, `?` and `[...]` as fnmatch has them (they match '/' too), and groups
 * {a,b}, which may stand in one another. */
#ifndef DT_BASE_GLOB_H
#define DT_BASE_GLOB_H

#include <stdbool.h>

#include "base/arena.h"

enum { DT_GLOB_OPEN = -1, DT_GLOB_MANY = -2 };

/* The plain patterns that a glob stands for, into *out; their number, DT_GLOB_OPEN where a '{' is
 * never closed, DT_GLOB_MANY where there are more than `most`. */
int dt_glob_expand(dt_arena *arena, const char *glob, int most, const char *const **out);
/* Whether one of n plain patterns is that of the text. */
bool dt_glob_matches(const char *const *pattern, int n, const char *text);

#endif
