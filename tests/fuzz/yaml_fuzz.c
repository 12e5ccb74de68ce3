/* SPDX-License-Identifier: Apache-2.0 */
/* Job files as YAML: events, limits, the tree, and the canonical text that jobs are hashed by. */
#include <string.h>

#include "conf/conf.h"
#include "fuzz.h"

/* of inputs of that size another one is made; a job may have so many */
enum { LARGE = 64, JOB_BYTES = 1 << 20 };

static dt_tree *parse(dt_arena *arena, const char *name, const char *text, size_t size) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *tree = NULL;
    *source = (dt_source){name, text, size};
    dt_status *s = dt_tree_parse(arena, source, &tree);
    bool whole = !s;
    fuzz_done(s);
    return whole ? tree : NULL;
}

/* The canonical text is YAML, too, and says the same. */
static void print_again(dt_arena *arena, const dt_tree *tree) {
    dt_str text = {0}, again = {0};
    dt_tree_print(tree, &text);
    dt_tree *copy =
        text.size < 1 << 16 ? parse(arena, "again", dt_str_text(&text), text.size) : NULL;
    if (copy) {
        dt_tree_print(copy, &again);
        FUZZ_CHECK(strcmp(dt_str_text(&text), dt_str_text(&again)) == 0,
                   "the canonical text changes when it is read again");
    }
    dt_str_release(&text);
    dt_str_release(&again);
}

/* Larger than a job may be, with the text at its end: that is told before any of it is read. */
static void too_large(dt_arena *arena, const uint8_t *data, size_t size) {
    static char text[3 << 20];
    memset(text, ' ', sizeof text);
    memcpy(text + sizeof text - size, data, size);
    FUZZ_CHECK(!parse(arena, "large", text, sizeof text) &&
                   !parse(arena, "large", text, JOB_BYTES + 1),
               "a job that is too large");
}

FUZZ_TARGET(yaml) {
    dt_arena *arena = dt_arena_create();
    dt_tree *tree = parse(arena, "job.yaml", (const char *)data, size);
    if (tree) print_again(arena, tree);
    if (size == LARGE) too_large(arena, data, size);
    dt_arena_destroy(arena);
    return 0;
}
