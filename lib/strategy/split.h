/* SPDX-License-Identifier: Apache-2.0 */
/* Splits before they are recorded: what can be split how. Messages use the caller's own name for
 * the value. */
#ifndef DT_STRATEGY_SPLIT_H
#define DT_STRATEGY_SPLIT_H

#include "graph/graph.h"

typedef struct dt_split {
    const char *what; /* "partition_dimensions [1,2]", "split": the list of parts, in messages */
    const char *name; /* of that list alone */
    const char *of;   /* "the value", "'image'" */
    const dt_type *type;
    int64_t rows;         /* of a replica, that B stands for; 0: not known */
    const int64_t *parts; /* [n] */
    int n, logical;       /* devices of a replica */
} dt_split;

/* In tf.distribute's order: as many parts as dimensions, sizes that are known divisible, as many
 * tiles as devices. SPLIT, saying which splits there are. Shapes are printed with the rows of a
 * replica. */
dt_status *dt_split_check(const dt_split *s) DT_MUST_USE;
/* The last of these alone; `type` may be NULL, not known yet. */
dt_status *dt_split_check_parts(const dt_split *s) DT_MUST_USE;
/*
 * "4 ways to split (32, 64, 64, 3) in 8: [1,2,4,1], [1,4,2,1], ...", the most even first. A batch
 * dimension stays whole where another will do: its last batch may be smaller. rows: as in dt_split.
 */
void dt_split_ways(const dt_type *type, int64_t rows, int logical, dt_str *out);

#endif
