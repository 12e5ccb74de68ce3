/* SPDX-License-Identifier: Apache-2.0 */
/* state.json, a checkpoint's manifest; then the checkpoint, as verbs look at it. Its tensors are
 * those of an empty model. What is read is printed, and read as the same. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"
#include "repair.h"

static const char empty_header[] = "\x02\0\0\0\0\0\0\0{}";

static void print(const dt_state_read *r, dt_str *out) {
    dt_digest model, optimizer;
    memcpy(model.hex, r->model_sha256, sizeof model.hex);
    memcpy(optimizer.hex, r->optimizer_sha256, sizeof optimizer.hex);
    dt_state_print(&r->state, &model, &optimizer, out);
}

/* A number that is not finite is null in JSON, and then not a number: so it is the second text that
 * must be the first. */
static void print_again(const dt_state_read *first) {
    dt_str text = {0}, again = {0};
    print(first, &text);
    dt_state_read read = {.arena = dt_arena_create(),
                          .path = fuzz_folder(DT_STATE_FILE, text.data, text.size)};
    dt_status *s = dt_state_load(&read);
    FUZZ_CHECK(!s, "what was printed is not read");
    print(&read, &again);
    FUZZ_CHECK(strcmp(dt_str_text(&text), dt_str_text(&again)) == 0, "another state");
    dt_arena_destroy(read.arena);
    dt_str_release(&text);
    dt_str_release(&again);
}

/* Files of a checkpoint that are no files. */
static void look_at_others(const char *folder) {
    char *link = dt_path_join(folder, "link"), *none = dt_path_join(folder, "none");
    FUZZ_CHECK(symlink(DT_STATE_FILE, link) == 0, "no link");
    const char *const path[] = {folder, link, none};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        dt_status *s = dt_check_plain(path[i]);
        FUZZ_CHECK(s, "taken for a file");
        fuzz_done(s);
    }
    unlink(link);
    free(link);
    free(none);
}

FUZZ_TARGET(state) {
    const char *folder = fuzz_folder(DT_STATE_FILE, data, size);
    fuzz_folder_add(DT_MODEL_FILE, empty_header, sizeof empty_header - 1);
    fuzz_folder_add(DT_OPTIMIZER_FILE, empty_header, sizeof empty_header - 1);
    look_at_others(folder);
    dt_state_read read = {.arena = dt_arena_create(), .path = folder};
    dt_status *s = dt_state_load(&read);
    FUZZ_CHECK(s || !dt_state_is_damage(s), "damage without an error");
    char *text = NULL;
    fuzz_done(dt_checkpoint_inspect(folder, size % 2, &text));
    free(text);
    if (!s) {
        FUZZ_CHECK(read.state.n_sums <= DT_STATE_SUMS && read.state.step >= 0 &&
                       strlen(read.model_sha256) == 64,
                   "a state that cannot be");
        print_again(&read);
    }
    fuzz_done(s);
    dt_arena_destroy(read.arena);
    return 0;
}

FUZZ_REPAIRED_BY(repair_state)
