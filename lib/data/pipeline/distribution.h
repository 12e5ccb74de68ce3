/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workers and replicas share a pipeline. W workers feed R replicas each; n = W * R. What a
 * worker iterates over is again a description, the user's with transformations put in:
 *
 *     AUTO    FILE where files are read, else DATA
 *     FILE    worker w reads files w, w + W, ...                       shard under each read_files
 *     DATA    worker w keeps pieces w, w + W, ... of all pieces        shard at the end
 *     HINT    at shard(DT_SHARD_HINT)
 *     OFF     every worker reads everything
 *
 * Batches are cut before that for the replicas: each step takes R pieces from every worker, and a
 * step's pieces together are one global batch.
 */
#ifndef DT_DATA_PIPELINE_DISTRIBUTION_H
#define DT_DATA_PIPELINE_DISTRIBUTION_H

#include "data/pipeline/build.h"

typedef struct dt_share {
    int64_t workers, replicas, worker; /* replicas: of each worker */
    dt_auto_shard_policy policy;
    dt_rebatch rebatch;
    bool no_fallback; /* AUTO fails as FILE does where there are fewer files than workers */
} dt_share;

/* What AUTO becomes; any other policy is kept. *files: names that the readers get, fewer than the
 * workers when AUTO fell back; else -1. */
dt_auto_shard_policy dt_resolve_policy(const dt_pipe *p, const dt_share *share, int64_t *files);
/* The worker's share, not cut for its replicas. `policy` is resolved. */
dt_status *dt_pipe_auto_shard(dt_pipe **out, dt_pipe *in, const dt_share *share,
                              dt_auto_shard_policy policy) DT_MUST_USE;
/* Cut and shared: what one worker iterates over. */
dt_status *dt_pipe_for_worker(dt_pipe **out, dt_pipe *in, const dt_share *share) DT_MUST_USE;

#endif
