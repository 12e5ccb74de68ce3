/* SPDX-License-Identifier: Apache-2.0 */
/* shard(num_shards, index): every num_shards-th element, starting with element `index`.
 * shard(DT_SHARD_HINT, ...) marks where distribution puts a shard. */
#include "data/pipeline/build.h"

struct shard {
    int64_t shards, index;
};

static int64_t count(const dt_dataset *p) {
    const struct shard *a = p->args;
    int64_t n = dt_length_of_input(p);
    return n < 0 ? n : n / a->shards + (a->index < n % a->shards);
}

dt_status *dt_fail_hint(void) {
    return dt_fail(DT_E_SHARD_HINT, NULL,
                   "shard(DT_SHARD_HINT) is a placeholder for a worker's share; distribute the "
                   "data set with auto-shard "
                   "policy HINT to fill it in");
}

static dt_status *open_hint(dt_iterator *it) {
    (void)it;
    return dt_fail_hint();
}

static void index_of(const dt_dataset *d, const dt_indices *q) {
    const struct shard *a = d->args;
    for (int64_t i = 0, *at = q->example; i < q->n; i++, at++)
        if (!dt_mul_fits(*at, a->shards, at) || !dt_add_fits(*at, a->index, at)) *at = -1;
}

static const dt_transform shard_row = {
    .name = "shard",
    .args_size = sizeof(struct shard),
    .count = count,
    .index = index_of,
};
static const dt_transform hint_row = {
    .name = "shard",
    .args_size = sizeof(struct shard),
    .batch_size = dt_batch_of_input,
    .open = open_hint,
};

bool dt_dataset_is_hint(const dt_dataset *d) { return d->row == &hint_row; }

dt_status *dt_dataset_add_shard(dt_dataset **out, const dt_dataset *in, int64_t shards,
                                int64_t index) {
    const struct shard args = {shards, index};
    return dt_dataset_build(out, shards == DT_SHARD_HINT ? &hint_row : &shard_row, in, &args,
                            dt_spec_copy(&in->spec));
}

dt_status *dt_dataset_shard(dt_dataset **out, const dt_dataset *in, int64_t num_shards,
                            int64_t index) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "shard"));
    if (num_shards < 1 && num_shards != DT_SHARD_HINT)
        return dt_fail(DT_E_SHARD, NULL, "shard: num_shards must be at least 1, got %lld",
                       (long long)num_shards);
    if (num_shards != DT_SHARD_HINT && (index < 0 || index >= num_shards))
        return dt_fail(DT_E_SHARD, NULL,
                       "shard: index must be from 0 to %lld, got %lld with num_shards %lld",
                       (long long)num_shards - 1, (long long)index, (long long)num_shards);
    return dt_dataset_add_shard(out, in, num_shards, index);
}
