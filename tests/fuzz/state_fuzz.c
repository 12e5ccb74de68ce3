/* state.json, a checkpoint's manifest; then the checkpoint, as verbs look at it. Its tensors are those of an empty model. */
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"
#include "repair.h"

static const char empty_header[] = "\x02\0\0\0\0\0\0\0{}";

FUZZ_TARGET(state)
{
    const char *folder = fuzz_folder(DT_STATE_FILE, data, size);
    fuzz_folder_add(DT_MODEL_FILE, empty_header, sizeof empty_header - 1);
    fuzz_folder_add(DT_OPTIMIZER_FILE, empty_header, sizeof empty_header - 1);
    dt_state_read read = {.arena = dt_arena_create(), .path = folder};
    dt_status *s = dt_state_load(&read);
    if (!s)
        FUZZ_CHECK(read.state.n_sums <= DT_STATE_SUMS && read.state.step >= 0 && strlen(read.model_sha256) == 64, "a state that cannot be");
    fuzz_done(s);
    dt_arena_destroy(read.arena);
    char *text = NULL;
    fuzz_done(dt_checkpoint_inspect(folder, size % 2, &text));
    free(text);
    return 0;
}

FUZZ_REPAIRED_BY(repair_state)
