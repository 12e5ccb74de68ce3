/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch(n): hands elements through unchanged. Iterators over the batches of jobs' data sets read
 * ahead in their own threads; here the transformation only keeps its place in the description. */
#include "data/pipeline/build.h"

static dt_status *next(dt_iterator *it, dt_example *out) {
    return dt_iterator_next_example(it->in[0], out);
}

static const dt_transform prefetch_row = {
    .name = "prefetch",
    .batch_size = dt_batch_of_input,
    .count = dt_count_of_input,
    .next = next,
};

dt_status *dt_dataset_prefetch(dt_dataset **out, const dt_dataset *in, int64_t buffer_size) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "prefetch"));
    if (buffer_size < -1)
        return dt_fail(
            DT_E_PIPELINE, NULL,
            "prefetch: buffer_size must be at least 0, or -1 (chosen automatically), got %lld",
            (long long)buffer_size);
    return dt_dataset_build(
        out,
        &(dt_dataset){.row = &prefetch_row, .in = &in, .n_in = 1, .spec = dt_spec_copy(&in->spec)});
}
