/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions over names: POSIX' extended ones, with limits, since a job may come from an
 * untrusted source. An expression has at most 256 bytes, no '{' (so no repetition in braces) and no
 * back-reference, which keeps searches fast. Names of over 1,024 bytes are never matched.
 */
#ifndef DT_BASE_PATTERN_H
#define DT_BASE_PATTERN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct dt_pattern dt_pattern;

/* Compiles an expression. Error RANGE, without a source location, if it is not valid or exceeds a
 * limit. The caller frees *out with dt_pattern_destroy. */
dt_status *dt_pattern_create(dt_pattern **out, const char *expression) DT_MUST_USE;
void dt_pattern_destroy(dt_pattern *p); /* destroys an expression; p may be NULL */
/* Whether a part of the text matches. */
bool dt_pattern_finds(const dt_pattern *p, const char *text);
/* Returns the text with its first match replaced. In `by`, \0 is the match and \1 to \9 are its
 * groups. Returns the text itself if nothing matches. */
const char *dt_pattern_replace(const dt_pattern *p, dt_arena *arena, const char *text,
                               const char *by);

#endif
