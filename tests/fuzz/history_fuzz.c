/* SPDX-License-Identifier: Apache-2.0 */
/* history.jsonl: its last line, for those who look, and what of it stays when a run goes on, in its
 * place, beside it, and after a run that was killed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "fuzz.h"
#include "train/train.h"

enum { STEP = 15, MOST = 4 };

static void go_on(const dt_run_dir *run, const dt_history_from *from) {
    dt_writer w = {.fd = -1};
    dt_history_kept kept;
    dt_status *s = dt_history_open(&w, run, from, &kept);
    free(kept.damage);
    if (!s && from->aside) s = dt_history_adopt(&w, run, from->generation);
    if (!s) s = dt_writer_close(&w);
    fuzz_done(s);
    dt_writer_abandon(&w);
}

FUZZ_TARGET(history) {
    dt_arena *arena = dt_arena_create();
    dt_metric metrics[MOST];
    const char *folder = fuzz_folder("history.jsonl", data, size);
    int n = dt_history_last_line(folder, arena, metrics, MOST);
    FUZZ_CHECK(n >= 0 && n <= MOST, "more metrics than there is room for");
    const dt_run_dir run = {.path = (char *)(uintptr_t)folder};
    go_on(&run, &(dt_history_from){.step = STEP});
    go_on(&run, &(dt_history_from){.step = STEP, .generation = 1, .aside = true});
    fuzz_folder_add("history.1.jsonl", data, size);
    fuzz_folder_add("history.2.jsonl", data, size);
    go_on(&run, &(dt_history_from){.step = STEP, .generation = 1});
    fuzz_folder("other", "", 0);
    go_on(&run, &(dt_history_from){.step = STEP});
    dt_arena_destroy(arena);
    return 0;
}
