/* SPDX-License-Identifier: Apache-2.0 */
/* libsvm text, as elements of a job's data set, and without a job. The first byte says what the job
 * says of it. */
#include <stdlib.h>

#include "dtrain.h"
#include "fuzz.h"

static const char *const words[] = {
    "{x: {shape: [3]}, label: {}}",
    "{x: {shape: [2, 2], dtype: int8}, label: {dtype: int32}, qid: {dtype: int64}}",
    "{f: {column: x, shape: [5], dtype: float64}, y: {column: label, vocabulary: ['-1', '1']}}",
};

FUZZ_TARGET(libsvm) {
    if (size == 0) return 0;
    const char *path = fuzz_file(data + 1, size - 1);
    char *text = NULL;
    fuzz_dataset("{format: libsvm, train: %s, element: %s, global_batch_size: 4}", path,
                 words[data[0] % (sizeof words / sizeof *words)]);
    fuzz_done(dt_data_inspect(&(dt_data_request){.files = &path, .n_files = 1}, 2, &text));
    free(text);
    return 0;
}
