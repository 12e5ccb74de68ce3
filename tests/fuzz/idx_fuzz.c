/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files, as elements of a job's data set. */
#include "fuzz.h"

FUZZ_TARGET(idx) {
    fuzz_dataset("{format: idx, train: {x: %s}, global_batch_size: 4}", fuzz_file(data, size));
    return 0;
}
