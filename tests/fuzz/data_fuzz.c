/* SPDX-License-Identifier: Apache-2.0 */
/* What a job says of its data, of every format, and of examples that are held in memory: read as a
 * mapping; no file is looked at. */
#include <string.h>

#include "base/arena.h"
#include "data/data.h"
#include "fuzz.h"

static float x[] = {1, 2, 3};
static const dt_named_view held[] = {
    {.name = "x", .type = {.dtype = DT_FLOAT32, .rank = 1, .dim = {3}}, .data = x}};

static dt_status *hold(const char *format, ...) {
    dt_dataset *d = NULL;
    va_list args;
    va_start(args, format);
    dt_status *s = dt_dataset_hold(&d, held, 1, format, args);
    va_end(args);
    dt_dataset_unref(d);
    return s;
}

FUZZ_TARGET(data) {
    const char *text = fuzz_string(data, size);
    dt_arena *arena = dt_arena_create();
    dt_source source = {"dataset", text, strlen(text)};
    dt_dataset_spec spec;
    dt_tree *tree;
    dt_status *s = dt_fragment_parse(arena, &source, &tree);
    if (!s) s = dt_dataset_read(arena, tree, "", 1, &spec);
    fuzz_done(s);
    fuzz_done(hold("%s", text));
    dt_arena_destroy(arena);
    return 0;
}
