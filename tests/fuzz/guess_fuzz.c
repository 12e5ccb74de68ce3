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

#ifdef DT_FUZZER
FUZZ_MUTATOR
{
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 != 0) {
        repair_zip(data, size);
        if (size > 0 && data[0] < 128)
            repair_tfrecord(data, size);
    }
    return size;
}
#endif
