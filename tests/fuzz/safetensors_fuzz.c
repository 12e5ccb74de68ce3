/* safetensors: the header as a whole, then tensors by name. */
#include <stdlib.h>

#include "format/contents.h"
#include "fuzz.h"

static void read_by_name(const char *path)
{
    float x[4];
    int64_t y;
    const dt_named_array array[] = {{"x", dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 2}), x}, {"y", dt_type_of(DT_INT64, 0, NULL), &y}};
    const dt_arrays both = {2, array}, one = {1, array};
    fuzz_done(dt_safetensors_read(path, &both, NULL));
    fuzz_done(dt_safetensors_read_some(path, &one));
}

FUZZ_TARGET(safetensors)
{
    const char *path = fuzz_file(data, size);
    dt_stored_arrays s;
    dt_status *bad = dt_stored_open(&s, path);
    for (int i = 0; !bad && i < s.n && i < 64; i++) {
        void *values = NULL;
        bad = dt_contents_read(&s, &s.array[i], &values);
        free(values);
    }
    dt_stored_close(&s);
    fuzz_done(bad);
    read_by_name(path);
    return 0;
}
