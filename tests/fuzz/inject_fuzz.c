/* --inject: the grammar of faults, sizes with units among them. */
#include <string.h>

#include "fuzz.h"
#include "train/faults.h"

FUZZ_TARGET(inject)
{
    const char *text = fuzz_string(data, size);
    dt_arena *arena = dt_arena_create();
    dt_faults faults = {0};
    dt_status *s = dt_faults_read(arena, &text, 1, &faults);
    if (!s)
        s = dt_faults_check(&faults, NULL);
    if (!s)
        FUZZ_CHECK(dt_faults_hbm(&faults) >= 0, "a negative size");
    fuzz_done(s);
    dt_arena_destroy(arena);
    return 0;
}
