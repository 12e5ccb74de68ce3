/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over paths: `*`, `?` and `[...]` as fnmatch has them (they match '/' too), and groups
 * {a,b}, which may be nested. */
#ifndef DT_BASE_GLOB_H
#define DT_BASE_GLOB_H

#include <stdbool.h>

#include "base/arena.h"

enum { DT_GLOB_OPEN = -1, DT_GLOB_MANY = -2 };

/* Expands the groups of a glob into plain patterns, *out. Returns their number, DT_GLOB_OPEN if a
 * '{' is never closed, or DT_GLOB_MANY if there are more than `most`. */
int dt_glob_expand(dt_arena *arena, const char *glob, int most, const char *const **out);
/* Whether the text matches one of n plain patterns. */
bool dt_glob_matches(const char *const *pattern, int n, const char *text);

#endif
