/* SPDX-License-Identifier: Apache-2.0 */
/* tf.Example messages by themselves, and their features as values. */
#include <stdlib.h>

#include "file/example.h"
#include "fuzz.h"

static void take(const dt_parsed_example *x, const char *name) {
    static const dt_dtype dtypes[] = {DT_FLOAT32, DT_INT32, DT_INT64, DT_UINT8,
                                      DT_FLOAT64, DT_INT16, DT_INT8,  DT_BOOL};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        int64_t count;
        dt_status *s = dt_feature_values(x, name, dtypes[i], &count);
        if (!s) {
            dt_type type = dt_type_of(dtypes[i], 1, &count);
            void *out = dt_alloc((size_t)count * 8 + 1);
            s = dt_feature_read(x, name, &type, out);
            free(out);
            type.dim[0]++;
            dt_status *other = dt_feature_read(x, name, &type, NULL);
            FUZZ_CHECK(other, "more values than there are");
            fuzz_done(other);
        }
        fuzz_done(s);
    }
}

FUZZ_TARGET(example) {
    dt_parsed_example x = {0};
    const char *why = "";
    if (dt_parsed_example_read(&x, data, size, &why)) {
        for (int i = 0; i < x.n && i < 8; i++)
            FUZZ_CHECK(x.feature[i].size <= size && x.feature[i].name_size <= size &&
                           x.feature[i].steps <= (int64_t)size,
                       "a feature that is larger than its message");
        take(&x, "x");
        take(&x, "y");
    }
    dt_parsed_example_release(&x);
    return 0;
}
