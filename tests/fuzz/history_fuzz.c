/* history.jsonl: its last line, for those who look, and what of it stays when a run goes on. */
#include "base/arena.h"
#include "fuzz.h"
#include "train/train.h"

FUZZ_TARGET(history)
{
    dt_arena *arena = dt_arena_create();
    dt_metric metrics[4];
    const char *folder = fuzz_folder("history.jsonl", data, size);
    int n = dt_history_last_line(folder, arena, metrics, 4);
    FUZZ_CHECK(n >= 0 && n <= 4, "more metrics than there is room for");
    dt_writer w = {.fd = -1};
    dt_run_dir run = {.path = (char *)(uintptr_t)folder};
    dt_status *s = dt_history_open(&w, &run, &(dt_history_from){.step = 15});
    if (!s)
        s = dt_writer_close(&w);
    fuzz_done(s);
    dt_arena_destroy(arena);
    return 0;
}
