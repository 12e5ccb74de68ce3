/* `dtrain data inspect FILE`: what a file is and has in it, seen by its contents alone. */
#include <stdlib.h>

#include "dtrain.h"
#include "fuzz.h"
#include "repair.h"

FUZZ_TARGET(guess)
{
    const char *path = fuzz_file(data, size);
    char *text = NULL;
    dt_data_request q = {.files = &path, .n_files = 1, .json = size % 2};
    fuzz_done(dt_data_inspect(&q, 2, &text));
    free(text);
    return 0;
}

FUZZ_REPAIRED_BY(repair_any)
