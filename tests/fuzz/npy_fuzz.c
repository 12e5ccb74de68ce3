/* SPDX-License-Identifier: Apache-2.0 */
/* NPY files, as elements of a job's data set. */
#include "fuzz.h"

FUZZ_TARGET(npy) {
    fuzz_dataset("{format: npy, train: {x: %s}, global_batch_size: 4}", fuzz_file(data, size));
    return 0;
}
