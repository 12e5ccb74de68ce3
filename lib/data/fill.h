/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a piece of a batch: the work of one thread of a feed. It has buffers of its own; all
 * shared data is constant or thread-safe (the format's rows, the cache).
 */
#ifndef DT_DATA_FILL_H
#define DT_DATA_FILL_H

#include "data/dataset.h"
#include "data/workers.h"

/* Rows [first, first + rows) of an epoch, which are rows [into, into + rows) of a batch: that of
 * `step`. */
typedef struct dt_piece {
    int64_t epoch, step, first, rows, into;
    const dt_view *element; /* (n) */
    bool load;              /* files may be read whole now */
} dt_piece;

typedef struct dt_filler dt_filler;
typedef struct dt_filler_options {
    dt_dataset *d;
    dt_part part;
    bool looks; /* as dt_feed_options has it */
    dt_order order;
    const dt_workers *workers; /* NULL: `order` alone determines the rows */
    int64_t most_rows;         /* of a piece */
    /* (n) elements whose file is read whole only for pieces with `load` */
    const bool *deferred;
} dt_filler_options;

dt_status *dt_filler_create(dt_filler **out, const dt_filler_options *o) DT_MUST_USE;
void dt_filler_destroy(dt_filler *f); /* takes NULL */
/* Fills it. An error is that of the piece's first example that has one. spent_ns: what the time
 * went to. */
dt_status *dt_filler_run(dt_filler *f, const dt_piece *p,
                         int64_t spent_ns[DT_SPENT_KINDS]) DT_MUST_USE;

#endif
