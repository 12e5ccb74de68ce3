/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variable partitioners of tf.distribute: into how many shards, along its first dimension, a
 * variable is divided. Shards go to parameter servers in turn.
 */
#ifndef DT_STRATEGY_PARTITIONER_H
#define DT_STRATEGY_PARTITIONER_H

#include "dtrain.h"

typedef struct dt_partitioner {
    dt_partitioner_kind kind;
    int64_t shards; /* FIXED: as many; MIN_SIZE and MAX_SIZE: at most, 0: any number */
    int64_t bytes;  /* MIN_SIZE: the least of a shard; MAX_SIZE: the most */
} dt_partitioner;

/* Shards of a variable of so many rows of so many bytes each: at least 1, and no more than rows. A
 * scalar has one row. */
int64_t dt_partitioner_shards(const dt_partitioner *p, int64_t rows, int64_t row_bytes);

#endif
