/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns over paths: a pattern, then a line for each text. */
#include <string.h>

#include "base/arena.h"
#include "base/glob.h"
#include "fuzz.h"

enum { MOST_PATTERNS = 64 };

FUZZ_TARGET(glob) {
    dt_arena *arena = dt_arena_create();
    const char *const *patterns;
    char *glob = (char *)(uintptr_t)fuzz_string(data, size), *text = glob + strcspn(glob, "\n");
    if (*text) *text++ = '\0';
    int n = dt_glob_expand(arena, glob, MOST_PATTERNS, &patterns);
    FUZZ_CHECK(n <= MOST_PATTERNS, "more patterns than were asked for");
    if (n > 0) dt_glob_matches(patterns, n, text);
    dt_arena_destroy(arena);
    return 0;
}
