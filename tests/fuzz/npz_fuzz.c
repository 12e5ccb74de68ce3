/* SPDX-License-Identifier: Apache-2.0 */
/* NPZ archives, as elements of a job's data set: the directory of a ZIP file, its members, their
 * NPY headers. */
#include "fuzz.h"
#include "repair.h"

FUZZ_TARGET(npz) {
    fuzz_dataset("{format: npy, train: {x: %s}, global_batch_size: 4}", fuzz_file(data, size));
    fuzz_dataset("{format: npy, train: {x: %s/a.npz/y}, global_batch_size: 4}",
                 fuzz_folder("a.npz", data, size));
    return 0;
}

FUZZ_REPAIRED_BY(repair_zip)
