/* SPDX-License-Identifier: Apache-2.0 */
/* See partitioner.h. The rules are those of FixedShardsPartitioner, MinSizePartitioner and
 * MaxSizePartitioner. */
#include "strategy/partitioner.h"

static int64_t wanted(const dt_partitioner *p, int64_t rows, int64_t row_bytes) {
    if (p->kind == DT_PARTITION_FIXED) return p->shards;
    if (p->kind == DT_PARTITION_MIN_SIZE) return rows * row_bytes / p->bytes;
    const int64_t rows_of_shard = p->bytes > row_bytes ? p->bytes / row_bytes : 1;
    return (rows + rows_of_shard - 1) / rows_of_shard;
}

int64_t dt_partitioner_shards(const dt_partitioner *p, int64_t rows, int64_t row_bytes) {
    if (p->kind == DT_PARTITION_NONE || rows < 2 || row_bytes < 1) return 1;
    int64_t n = wanted(p, rows, row_bytes);
    if (p->shards > 0 && n > p->shards) n = p->shards;
    return n < 1 ? 1 : n > rows ? rows : n;
}
