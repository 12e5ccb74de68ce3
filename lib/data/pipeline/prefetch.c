/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch(n): hands elements through unchanged. Iterators over the batches of jobs' data sets read
 * ahead in their own threads; here the transformation only keeps its place in the description. */
#include "data/pipeline/build.h"

static const dt_transform prefetch_row = {
    .name = "prefetch",
    .count = dt_length_of_input,
    .index = dt_same_index,
};

dt_status *dt_dataset_prefetch(dt_dataset **out, const dt_dataset *in, int64_t buffer_size) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "prefetch"));
    if (buffer_size < -1)
        return dt_fail(
            DT_E_PIPELINE, NULL,
            "prefetch: buffer_size must be at least 0, or -1 (chosen automatically), got %lld",
            (long long)buffer_size);
    return dt_dataset_build(out, &prefetch_row, in, NULL, dt_spec_copy(&in->spec));
}
