/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of `map` learned, as a checkpoint keeps it; what is read prints as the same. */
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "train/train.h"

static const dt_learned *read(dt_arena *arena, const char *text) {
    const dt_learned *l = NULL;
    dt_saved c = {.path = (char *)(uintptr_t) "checkpoint", .state.map = text};
    fuzz_done(dt_learned_read(&c, arena, &l));
    return l;
}

FUZZ_TARGET(learned) {
    dt_arena *arena = dt_arena_create();
    const dt_learned *l = read(arena, fuzz_string(data, size));
    const char *text = l ? dt_learned_print(l, arena) : NULL, *again = NULL;
    if (text && (l = read(arena, text))) again = dt_learned_print(l, arena);
    FUZZ_CHECK(!text || (again && strcmp(text, again) == 0), "other lessons");
    dt_arena_destroy(arena);
    return 0;
}
