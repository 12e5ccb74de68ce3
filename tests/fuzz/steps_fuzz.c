/* SPDX-License-Identifier: Apache-2.0 */
/* Names below ckpt/ of a run, and the checkpoints found by them: the newest, and what `ckpt ls`
 * says. Each file there is one good state.json. */
#include <stdlib.h>

#include "base/file.h"
#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"

static void list(const char *run, bool json) {
    char *text = NULL;
    fuzz_done(dt_checkpoint_list(run, json, &text));
    free(text);
}

/* Also what a killed run left. A name that is printed is that of its step. */
static void list_names(const char *run) {
    dt_arena *arena = dt_arena_create();
    char *ckpt = dt_path_join(run, "ckpt");
    for (int temporary = 0; temporary < 2; temporary++) {
        dt_step_list names;
        dt_status *strange = NULL, *s = dt_steps_list(arena, ckpt, temporary, &names, &strange);
        int64_t step;
        for (int i = 0; !s && i < names.n; i++)
            FUZZ_CHECK(dt_step_parse(dt_step_format(arena, names.item[i].step), &step) &&
                           step == names.item[i].step,
                       "another step");
        fuzz_done(s);
        fuzz_done(strange);
    }
    free(ckpt);
    dt_arena_destroy(arena);
}

static void find_newest(const char *run) {
    dt_saved c = {0};
    dt_status *warnings = NULL;
    int64_t generation = 0;
    fuzz_done(dt_saved_newest(&c, run, &warnings));
    fuzz_done(warnings);
    dt_saved_release(&c);
    fuzz_done(dt_checkpoints_generation(run, &generation));
}

FUZZ_TARGET(steps) {
    static const char none[] = "0000000000000000000000000000000000000000000000000000000000000000";
    dt_digest digest;
    dt_str text = {0};
    snprintf(digest.hex, sizeof digest.hex, "%s", none);
    dt_state_print(
        &(dt_state_file){
            .step = 3, .weights_sha256 = none, .kernels = "none", .job_sha256 = none, .job = "{}"},
        &digest, &digest, &text);
    const char *run = fuzz_tree(fuzz_copy(data, size), dt_str_text(&text), text.size);
    dt_str_release(&text);
    list(run, false);
    list(run, true);
    list_names(run);
    find_newest(run);
    return 0;
}
