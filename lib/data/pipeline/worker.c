/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline that one worker iterates over. A global batch of G rows is cut into n pieces: G / n
 * rows each, and one more for the first G mod n pieces. Each worker begins with the sizes of its
 * own replicas and continues with those of the others, so that over all workers each step uses
 * every size once:
 *
 *     G = 5, 2 workers with 2 replicas each: sizes 2 1 1 1
 *     worker 0: 2 1 | 1 1 | 2 1 ...
 *     worker 1: 1 1 | 2 1 | 1 1 ...
 *
 * Under DATA, the whole stream is cut into pieces first, and these are dealt to the workers
 * afterwards. If G is not known beforehand, and under DT_REBATCH_EVEN with DATA (as in TensorFlow),
 * each batch is divided evenly into n pieces instead.
 */
#include <stdlib.h>

#include "data/pipeline/build.h"

/* Lists the n sizes in turn, beginning with that of piece `first` and wrapping around. */
static void list_sizes(int64_t batch, int64_t n, int64_t first, int64_t *sizes) {
    for (int64_t i = 0; i < n; i++) {
        int64_t place = (first + i) % n;
        sizes[i] = batch / n + (place < batch % n);
    }
}

static dt_status *cut(dt_dataset **out, const dt_dataset *in, const dt_input_share *q,
                      int64_t batch, dt_auto_shard_policy policy) {
    int64_t n = q->workers * q->replicas,
            first = policy == DT_AUTO_SHARD_DATA ? 0 : (int64_t)q->worker * q->replicas;
    if (batch < 1 || (policy == DT_AUTO_SHARD_DATA && q->options.rebatch == DT_REBATCH_EVEN))
        return dt_dataset_add_rebatch_even(out, in, n);
    int64_t *sizes = dt_alloc((size_t)n * sizeof *sizes);
    list_sizes(batch, n, first, sizes);
    dt_status *s = dt_dataset_add_rebatch(out, in, sizes, (int)n, false);
    free(sizes);
    return s;
}

/* Files are shared before the batches are cut into pieces; under DATA the pieces are shared. */
static dt_status *cut_and_share(dt_dataset **out, const dt_dataset *in, const dt_input_share *q,
                                int64_t batch, dt_auto_shard_policy policy) {
    bool after = policy == DT_AUTO_SHARD_DATA;
    dt_dataset *made = NULL;
    dt_status *s = NULL;
    if (!after) DT_TRY(dt_dataset_share(&made, in, q, policy));
    s = cut(&made, after ? in : made, q, batch, policy);
    if (!s && after) s = dt_dataset_share(&made, made, q, policy);
    if (!s) return dt_dataset_replace(out, made);
    dt_dataset_unref(made);
    return s;
}

dt_status *dt_dataset_cut(dt_dataset **out, const dt_dataset *in, const dt_input_share *q) {
    int64_t files, batch = 0;
    dt_auto_shard_policy policy = dt_resolve_policy(in, q, &files);
    if (q->workers * q->replicas == 1) return dt_dataset_share(out, in, q, policy);
    DT_TRY(dt_dataset_static_batch_size(in, &batch));
    return cut_and_share(out, in, q, batch, policy);
}

dt_status *dt_batch_sizes_for_worker(int64_t global_batch_size, const dt_input_share *share,
                                     int64_t *sizes) {
    int64_t n;
    DT_TRY(dt_status_kept());
    if (!share || !sizes)
        return dt_fail(DT_E_SHARD, NULL,
                       "no worker or no array for the sizes given: neither may be NULL");
    if (global_batch_size < 0 || share->workers < 1 || share->replicas < 1 || share->worker < 0 ||
        share->worker >= share->workers || !dt_mul_fits(share->workers, share->replicas, &n) ||
        n > (1 << 16))
        return dt_fail(
            DT_E_SHARD, NULL,
            "cannot split a global batch of %lld for worker %d of %d with %d replicas each",
            (long long)global_batch_size, share->worker, share->workers, share->replicas);
    list_sizes(global_batch_size, n, (int64_t)share->worker * share->replicas, sizes);
    return NULL;
}
