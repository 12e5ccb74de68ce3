/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions over names: an expression, what replaces its match, and a text, in lines. */
#include <string.h>

#include "base/pattern.h"
#include "fuzz.h"

static char *cut_line(char *text) {
    char *end = text + strcspn(text, "\n");
    if (*end) *end++ = '\0';
    return end;
}

FUZZ_TARGET(expression) {
    char *expression = (char *)(uintptr_t)fuzz_string(data, size), *by = cut_line(expression),
         *text = cut_line(by);
    dt_arena *arena = dt_arena_create();
    dt_pattern *p;
    dt_status *bad = dt_pattern_create(&p, expression);
    if (!bad) {
        const char *result = dt_pattern_replace(p, arena, text, by);
        FUZZ_CHECK(dt_pattern_finds(p, text) || result == text, "replaced without a match");
    }
    dt_pattern_destroy(p);
    fuzz_done(bad);
    dt_arena_destroy(arena);
    return 0;
}
