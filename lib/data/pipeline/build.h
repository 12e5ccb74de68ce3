/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making data sets of pipelines. A public function checks its arguments, then hands the parts of
 * the new description on:
 *
 *     DT_TRY(dt_pipeline_input(in, "batch"));
 *     ...
 *     return dt_dataset_build(out, &(dt_pipe_parts){&dt_transform_batch, &in->pipe, 1, &args, spec});
 */
#ifndef DT_DATA_PIPELINE_BUILD_H
#define DT_DATA_PIPELINE_BUILD_H

#include "data/dataset.h"
#include "data/pipeline/pipe.h"

/* An earlier error, no data set, or a data set of a job file, which is not a pipeline.
 * `what`: "batch". */
dt_status *dt_pipeline_input(const dt_dataset *in, const char *what) DT_MUST_USE;
dt_status *dt_dataset_build(dt_dataset **out, const dt_pipe_parts *parts) DT_MUST_USE;
/* The handle of a description, which it takes. */
dt_status *dt_dataset_adopt(dt_dataset **out, dt_pipe *p) DT_MUST_USE;

/* Transformations that distribution puts in. Inputs are counted. */
dt_status *dt_pipe_shard(dt_pipe **out, dt_pipe *in, int64_t shards, int64_t index) DT_MUST_USE;
dt_status *dt_pipe_rebatch(dt_pipe **out, dt_pipe *in, const int64_t *sizes, int n,
                           bool drop_remainder) DT_MUST_USE;
dt_status *dt_pipe_rebatch_even(dt_pipe **out, dt_pipe *in, int64_t n) DT_MUST_USE;
/* Whether p is shard(DT_SHARD_HINT, ...). */
bool dt_pipe_is_hint(const dt_pipe *p);
dt_status *dt_fail_hint(void) DT_MUST_USE;

/* How an example becomes a pipeline of its own (interleave). *out is counted for the caller. */
typedef struct dt_expander {
    dt_status *(*expand)(const dt_example *example, void *user, dt_pipe **out);
    void *user;
    void (*release)(void *user); /* NULL: nothing to do */
    int64_t cycle_length, block_length;
} dt_expander;

/* What filter and map call. */
typedef struct dt_example_function {
    dt_status *(*filter)(const dt_example *example, void *user, bool *keep);
    dt_status *(*map)(const dt_example *example, void *user, dt_example *out);
    void *user;
    void (*release)(void *user);
} dt_example_function;

/* Takes the spec and user; inputs are counted. */
dt_status *dt_dataset_build_filter(dt_dataset **out, const dt_dataset *in,
                                   const dt_example_function *f) DT_MUST_USE;
dt_status *dt_dataset_build_map(dt_dataset **out, const dt_dataset *in,
                                const dt_example_function *f, dt_example_spec spec) DT_MUST_USE;
dt_status *dt_dataset_build_interleave(dt_dataset **out, const dt_dataset *in, const dt_expander *x,
                                       bool files, dt_example_spec spec) DT_MUST_USE;
/* `files`: the pipelines are files that the examples name. */
/* The components of one example (tensors) or of all rows (slices). Takes both. */
dt_status *dt_dataset_build_tensors(dt_dataset **out, dt_example *example,
                                    dt_example_spec spec) DT_MUST_USE;
dt_status *dt_dataset_build_slices(dt_dataset **out, dt_example *example,
                                   dt_example_spec spec) DT_MUST_USE;

#endif
