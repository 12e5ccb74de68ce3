/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that somebody else has written (`init_from`, --ckpt FILE), safetensors or NPZ: held
 * against a model's, strictly and with skip_mismatch. */
#include "format/format.h"
#include "fuzz.h"
#include "repair.h"

FUZZ_TARGET(weights) {
    float x[6];
    int32_t y[3];
    const dt_named_view array[] = {{"x", dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 2}), x},
                                   {"y", dt_type_of(DT_INT32, 1, (int64_t[]){3}), y}};
    const dt_arrays model = {2, array};
    dt_status *warnings = NULL;
    for (int skip = 0; skip < 2; skip++) {
        dt_weights_request q = {.path = fuzz_file(data, size),
                                .arrays = &model,
                                .skip_mismatch = skip,
                                .warnings = &warnings};
        fuzz_done(dt_weights_read(&q));
    }
    fuzz_done(warnings);
    return 0;
}

FUZZ_REPAIRED_BY(repair_zip)
