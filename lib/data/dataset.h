/* SPDX-License-Identifier: Apache-2.0 */
/* A data set, opened: for this room only. Any number of feeds read it, in their own threads, while
 * it does not change. */
#ifndef DT_DATA_DATASET_H
#define DT_DATA_DATASET_H

#include "data/data.h"
#include "data/example_cache.h"
#include "data/map.h"

/* Rows [first, first + count) of a format's examples. Validation by split shares those of train. */
typedef struct dt_rows {
    dt_examples *x; /* NULL: no such part */
    int64_t first, count;
    const dt_element_spec *stored; /* (elements) in the format's own order */
    const int *index;              /* (elements) position of element i in `stored` */
    const dt_map_plan **plan;      /* (elements) */
    dt_example_cache *kept;        /* decoded examples that stay in memory; NULL: none */
} dt_rows;

struct dt_dataset {
    int refs;
    /* a pipeline (pipeline/pipe.h): nothing below is used then; else NULL */
    struct dt_pipe *pipe;
    uint64_t iterations;        /* of the pipeline, begun so far */
    _Atomic uint32_t preparing; /* threads that fill a batch at the moment, of all feeds */
    dt_arena *arena;            /* of everything here */
    dt_arena *owned;            /* of the spec, when it was made from a fragment; else NULL */
    dt_dataset_spec spec;
    int n;
    dt_element_spec *element; /* (n) in the order of train */
    dt_rows rows[DT_PARTS];
    dt_learned learned; /* by steps of `map` */
};

/* The request that opens the files of spec->rows with their format. */
dt_format_request dt_dataset_request_rows(const dt_dataset_spec *spec, dt_arena *arena);
/* What dt_format_held takes as its args: a copy of the elements. */
dt_status *dt_held_copy(dt_arena *arena, const dt_named_view *element, int n,
                        const void **args) DT_MUST_USE;

/* Row i of a part, as stored: element e of example first + i. `whole` is the format's; buffer holds
 * a row where that is NULL. */
dt_status *dt_rows_get(const dt_rows *r, int e, int64_t i, const void *whole, void *buffer,
                       const void **row) DT_MUST_USE;
dt_status *dt_rows_whole(const dt_rows *r, int e, const void **whole) DT_MUST_USE;
/* Bytes of a row of element e, as stored. */
int64_t dt_rows_bytes(const dt_rows *r, int e);
/* The steps of element e, for every part. A step that has to learn does so over the rows of train,
 * which must be planned first. */
dt_status *dt_rows_plan(dt_dataset *d, dt_rows *r, int e) DT_MUST_USE;
/* What steps like one_hot ask of their input, of every row. */
dt_status *dt_rows_check_limits(const dt_dataset *d, const dt_rows *r) DT_MUST_USE;

#endif
