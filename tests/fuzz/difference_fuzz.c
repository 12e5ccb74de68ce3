/* SPDX-License-Identifier: Apache-2.0 */
/* Two jobs as JSON, a line each: the one that a checkpoint was saved with, and the one that goes
 * on. */
#include <string.h>

#include "base/arena.h"
#include "format/format.h"
#include "fuzz.h"

FUZZ_TARGET(difference) {
    char *saved = (char *)(uintptr_t)fuzz_string(data, size), *now = saved + strcspn(saved, "\n");
    if (*now) *now++ = '\0';
    dt_arena *arena = dt_arena_create();
    const char *key = dt_job_difference(arena, saved, now);
    FUZZ_CHECK(!key || *key, "a difference without a name");
    dt_arena_destroy(arena);
    return 0;
}
