/* state.json, a checkpoint's manifest; then the checkpoint, as verbs look at it. Its tensors are those of an empty model. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"

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

#ifdef DT_FUZZER
/* The last key is the SHA-256 of all before it. */
FUZZ_MUTATOR
{
    static const char key[] = ", \"sha256\": \"";
    size = LLVMFuzzerMutate(data, size, most);
    for (size_t at = size; seed % 8 != 0 && at-- > 0;)
        if (size - at >= sizeof key - 1 + 64 && memcmp(data + at, key, sizeof key - 1) == 0) {
            memcpy(data + at + sizeof key - 1, dt_sha256_of(data, at).hex, 64);
            break;
        }
    return size;
}
#endif
