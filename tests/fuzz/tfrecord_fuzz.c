/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files of tf.Examples, as elements of a job's data set: frames, checksums, features. */
#include "fuzz.h"
#include "repair.h"

FUZZ_TARGET(tfrecord) {
    fuzz_dataset("{format: tfrecord, train: %s, element: {x: {shape: [2, 2]}, y: {dtype: int32, "
                 "default_value: 3}, raw: {shape: [3], dtype: uint8}, "
                 "p: {shape: [4], dtype: int64, padding_value: -1}}, global_batch_size: 4}",
                 fuzz_file(data, size));
    return 0;
}

FUZZ_REPAIRED_BY(repair_tfrecord)
