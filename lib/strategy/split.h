/* SPDX-License-Identifier: Apache-2.0 */
/* Checks splits of a value over logical devices before they are recorded. Error messages use the
 * caller's name for the value. */
#ifndef DT_STRATEGY_SPLIT_H
#define DT_STRATEGY_SPLIT_H

#include "graph/graph.h"

typedef struct dt_split {
    /* What error messages call the list of parts: "partition_dimensions [1,2]", "split". */
    const char *what;
    const char *name; /* name of the list without its numbers, such as "partition_dimensions" */
    const char *of;   /* what error messages call the value: "the value", "'image'" */
    const dt_type *type;
    int64_t rows; /* number of rows of a replica, which stand for B; 0: the number is unknown */
    const int64_t *parts; /* [n] number of parts of each dimension */
    /* n: number of entries of `parts`; logical: number of logical devices of a replica */
    int n, logical;
} dt_split;

/* Checks, in the same order as tf.distribute, that there are as many parts as dimensions, that
 * known sizes can be divided evenly, and that there are as many tiles as devices. Fails with SPLIT,
 * and suggests possible splits. Shapes are printed with the rows of a replica. */
dt_status *dt_split_check(const dt_split *s) DT_MUST_USE;
/* Checks only that there are as many tiles as devices. s->type may be NULL if it is not known
 * yet. */
dt_status *dt_split_check_parts(const dt_split *s) DT_MUST_USE;
/*
 * Appends "4 ways to split (32, 64, 64, 3) into 8: [1,2,4,1], [1,4,2,1], ...", the most even ones
 * first. The batch dimension is split only if splitting other dimensions alone is not possible,
 * because the last batch may be smaller. rows: as in dt_split.
 */
void dt_split_ways(const dt_type *type, int64_t rows, int logical, dt_str *out);

#endif
