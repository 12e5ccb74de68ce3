/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes data sets from others. A public function checks its arguments, then passes on what the new
 * data set is made of:
 *
 *     DT_TRY(dt_dataset_check_input(in, "batch"));
 *     ...
 *     return dt_dataset_build(out, &batch_row, in, &args, spec);
 */
#ifndef DT_DATA_PIPELINE_BUILD_H
#define DT_DATA_PIPELINE_BUILD_H

#include "data/parts.h"
#include "data/dataset.h"

/* Fails if an earlier call failed, if there is no data set, or if it is a job's data set, which
 * transformations do not take. `what` is the name of the transformation, such as "batch". */
dt_status *dt_dataset_check_input(const dt_dataset *in, const char *what) DT_MUST_USE;

/* Transformations that job files and distribution add, whose arguments have been checked. They take
 * a reference to the input. */
dt_status *dt_dataset_add_take(dt_dataset **out, const dt_dataset *in, int64_t count) DT_MUST_USE;
dt_status *dt_dataset_add_skip(dt_dataset **out, const dt_dataset *in, int64_t count) DT_MUST_USE;
/* Sets *out to the n examples whose numbers are listed in increasing order. Takes the list, which
 * was allocated by dt_alloc, even after an error. */
dt_status *dt_dataset_add_select(dt_dataset **out, const dt_dataset *in, uint32_t *example,
                                 int64_t n) DT_MUST_USE;
dt_status *dt_dataset_add_repeat(dt_dataset **out, const dt_dataset *in, int64_t times) DT_MUST_USE;
/* Shuffles all examples of a data set whose examples can be read in any order: each pass has
 * another permutation, or, without reshuffle_each_iteration, that of pass 0. */
dt_status *dt_dataset_add_shuffle(dt_dataset **out, const dt_dataset *in, uint64_t seed,
                                  bool reshuffle_each_iteration) DT_MUST_USE;
/* Keeps every `shards`-th example, from number `index` on. shards DT_SHARD_HINT: a placeholder, see
 * dt_dataset_is_hint. */
dt_status *dt_dataset_add_shard(dt_dataset **out, const dt_dataset *in, int64_t shards,
                                int64_t index) DT_MUST_USE;
/* Joins the rows of all examples and cuts them into pieces; piece i has sizes[i % n] rows
 * (rebatch.c). The sizes are copied. */
dt_status *dt_dataset_add_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes,
                                  int n, bool drop_remainder) DT_MUST_USE;
dt_status *dt_dataset_add_rebatch_even(dt_dataset **out, const dt_dataset *in,
                                       int64_t n) DT_MUST_USE;
/* Whether d is a placeholder shard(DT_SHARD_HINT, ...), which distribution fills in. */
bool dt_dataset_is_hint(const dt_dataset *d);
/* Returns the error SHARD_HINT: a placeholder was read, which nothing has filled in. */
dt_status *dt_fail_hint(void) DT_MUST_USE;

/* The functions that filter, map and interleave call. */
typedef struct dt_example_function {
    dt_status *(*filter)(const dt_example *example, void *user, bool *keep);
    dt_status *(*map)(const dt_example *example, void *user, dt_example *out);
    /* interleave: makes the pipeline that an example becomes; the caller gets a reference */
    dt_status *(*expand)(const dt_example *example, void *user, dt_dataset **out);
    void *user;
    void (*release)(void *user); /* NULL: nothing to do */
    int64_t cycle_length, block_length;
} dt_example_function;
/* Releases `user` of the dt_example_function at f. */
void dt_example_function_release(void *f);

/* The functions below take ownership of their spec and of `user`, even after an error, and a
 * reference to each input. */
dt_status *dt_dataset_build_filter(dt_dataset **out, const dt_dataset *in,
                                   const dt_example_function *f) DT_MUST_USE;
dt_status *dt_dataset_build_map(dt_dataset **out, const dt_dataset *in,
                                const dt_example_function *f, dt_example_spec spec) DT_MUST_USE;
/* `files`: the examples are names of files, and `expand` makes pipelines that read them. */
dt_status *dt_dataset_build_interleave(dt_dataset **out, const dt_dataset *in,
                                       const dt_example_function *f, bool files,
                                       dt_example_spec spec) DT_MUST_USE;
/* Sets *out to a data set of one example with these components (tensors), or of one example per row
 * (slices). Takes ownership of the example and the spec. */
dt_status *dt_dataset_build_tensors(dt_dataset **out, dt_example *example,
                                    dt_example_spec spec) DT_MUST_USE;
dt_status *dt_dataset_build_slices(dt_dataset **out, dt_example *example,
                                   dt_example_spec spec) DT_MUST_USE;

/* ---- distribution: autoshard.c, worker.c ---- */

/*
 * How workers and replicas share a pipeline. W workers feed R replicas each; n = W * R. Each worker
 * iterates over a description of its own: the user's, with transformations added by the policy:
 *
 *     AUTO    FILE if all sources read files and either no reader is known to get fewer than W
 *             files, or the share sets no_fallback; else DATA
 *     FILE    worker w reads files w, w + W, ...: a shard below each read_files
 *     DATA    worker w keeps pieces w, w + W, ... of all pieces: a shard at the end
 *     HINT    a shard in place of each shard(DT_SHARD_HINT)
 *     OFF     nothing: every worker reads everything
 *
 * Batches are also cut into pieces for the replicas: each step takes R pieces from every worker,
 * and all pieces of a step are one global batch.
 */

/* Resolves AUTO to another policy; keeps any other policy. *files: -1, unless AUTO fell back to
 * DATA because a reader gets fewer files than there are workers; then the smallest number of files
 * of a reader. */
dt_auto_shard_policy dt_resolve_policy(const dt_dataset *p, const dt_input_share *share,
                                       int64_t *files);
/* Sets *out to a worker's share, not yet cut into pieces for its replicas. `policy` must not be
 * AUTO. */
dt_status *dt_dataset_share(dt_dataset **out, const dt_dataset *in, const dt_input_share *share,
                            dt_auto_shard_policy policy) DT_MUST_USE;
/* Sets *out to a worker's share, cut into pieces for its replicas. */
dt_status *dt_dataset_cut(dt_dataset **out, const dt_dataset *in,
                          const dt_input_share *share) DT_MUST_USE;

#endif
