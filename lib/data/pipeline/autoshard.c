/* SPDX-License-Identifier: Apache-2.0 */
/* Auto-sharding: rewrites a pipeline so that it gives a worker its share under a policy. */
#include "data/pipeline/build.h"

/* ---- what a pipeline reads ---- */

/* The smallest known number of files that a reader of files in p gets, or -1 if none is known.
 * *reads: whether a source reads files; *holds: whether a source does anything else. */
static int64_t count_files(const dt_pipe *p, bool *reads, bool *holds) {
    int64_t fewest = -1;
    if (p->row->reads_files) {
        *reads = true;
        return dt_pipe_count(p->in[0]);
    }
    *holds |= p->n_in == 0;
    for (int i = 0; i < p->n_in; i++) {
        int64_t n = count_files(p->in[i], reads, holds);
        if (n >= 0 && (fewest < 0 || n < fewest)) fewest = n;
    }
    return fewest;
}

dt_auto_shard_policy dt_resolve_policy(const dt_pipe *p, const dt_input_share *share,
                                       int64_t *files) {
    bool reads = false, holds = false;
    *files = -1;
    if (share->options.auto_shard_policy != DT_AUTO_SHARD_AUTO)
        return share->options.auto_shard_policy;
    int64_t n = count_files(p, &reads, &holds);
    if (!reads || holds) return DT_AUTO_SHARD_DATA;
    if (n < 0 || n >= share->workers || share->options.no_fallback) return DT_AUTO_SHARD_FILE;
    *files = n;
    return DT_AUTO_SHARD_DATA;
}

/* ---- rewriting ---- */

typedef struct rewriter {
    const dt_input_share *share;
    /* sets *out to rewrite p; leaves it NULL to go on to p's inputs */
    dt_status *(*at)(const struct rewriter *r, dt_pipe *p, dt_pipe **out);
} rewriter;

static dt_status *rewrite(const rewriter *r, dt_pipe *p, dt_pipe **out) {
    dt_pipe *in[DT_MOST_INPUTS];
    dt_status *s = NULL;
    int n = 0;
    *out = NULL;
    DT_TRY(r->at(r, p, out));
    if (*out) return NULL;
    while (n < p->n_in && !s) {
        s = rewrite(r, p->in[n], &in[n]);
        n += s == NULL;
    }
    if (!s) *out = p->n_in ? dt_pipe_rewrite(p, in) : dt_pipe_ref(p);
    while (n > 0) dt_pipe_unref(in[--n]);
    return s;
}

/* Puts a shard below each reader of files, so that each worker gets every W-th file name. */
static dt_status *share_files(const rewriter *r, dt_pipe *p, dt_pipe **out) {
    const dt_input_share *q = r->share;
    dt_pipe *names;
    if (!p->row->reads_files)
        return p->n_in > 0 ? NULL
                           : dt_fail(DT_E_UNSHARDABLE, NULL,
                                     "the data set cannot be sharded by file: '%s' reads no files",
                                     p->row->name);
    int64_t files = dt_pipe_count(p->in[0]);
    if (files >= 0 && files < q->workers)
        return dt_fail(DT_E_TOO_FEW_FILES, NULL,
                       "%lld file%s cannot be shared by %d workers (this is worker %d of %d)",
                       (long long)files, files == 1 ? "" : "s", q->workers, q->worker + 1,
                       q->workers);
    DT_TRY(dt_pipe_shard(&names, p->in[0], q->workers, q->worker));
    *out = dt_pipe_rewrite(p, &names);
    dt_pipe_unref(names);
    return NULL;
}

static dt_status *follow_hint(const rewriter *r, dt_pipe *p, dt_pipe **out) {
    dt_pipe *in;
    if (!dt_pipe_is_hint(p)) return NULL;
    DT_TRY(rewrite(r, p->in[0], &in));
    dt_status *s = dt_pipe_shard(out, in, r->share->workers, r->share->worker);
    dt_pipe_unref(in);
    return s;
}

static bool has_hint(const dt_pipe *p) {
    bool found = dt_pipe_is_hint(p);
    for (int i = 0; i < p->n_in && !found; i++) found = has_hint(p->in[i]);
    return found;
}

/* Shards by file. If the pipeline has a hint that this policy ignores, that is reported before the
 * number of files is checked, because there may be enough files for the policy HINT. */
static dt_status *share_by_files(dt_pipe **out, dt_pipe *in, const dt_input_share *share) {
    bool reads = false, holds = false;
    count_files(in, &reads, &holds);
    if (!holds && has_hint(in)) return dt_fail_hint();
    return rewrite(&(rewriter){share, share_files}, in, out);
}

dt_status *dt_pipe_auto_shard(dt_pipe **out, dt_pipe *in, const dt_input_share *share,
                              dt_auto_shard_policy policy) {
    if (policy == DT_AUTO_SHARD_HINT) return rewrite(&(rewriter){share, follow_hint}, in, out);
    if (policy == DT_AUTO_SHARD_FILE && share->workers > 1) return share_by_files(out, in, share);
    if (policy == DT_AUTO_SHARD_DATA && share->workers > 1)
        return dt_pipe_shard(out, in, share->workers, share->worker);
    *out = dt_pipe_ref(in);
    return NULL;
}

/* Checks a share that a caller of the public header passes. */
static dt_status *check_share(const dt_input_share *q) {
    if (!q) return dt_fail(DT_E_SHARD, NULL, "no worker given: the share must not be NULL");
    if (q->workers < 1 || q->workers > (1 << 16) || q->worker < 0 || q->worker >= q->workers)
        return dt_fail(DT_E_SHARD, NULL,
                       "invalid worker %d of %d: use 1 to %d workers, numbered from 0", q->worker,
                       q->workers, 1 << 16);
    if (q->replicas < 1 || q->replicas > (1 << 16) / q->workers)
        return dt_fail(DT_E_SHARD, NULL,
                       "%d replicas on each of %d workers: the total must be from 1 to %d",
                       q->replicas, q->workers, 1 << 16);
    const int policy = (int)q->options.auto_shard_policy;
    if (policy < DT_AUTO_SHARD_AUTO || policy > DT_AUTO_SHARD_HINT)
        return dt_fail(DT_E_SHARD, NULL, "unknown auto-shard policy %d", policy);
    return NULL;
}

/* Sets one replica: the share is not divided among replicas, so the caller's number of them is
 * ignored. */
dt_status *dt_dataset_auto_shard(dt_dataset **out, const dt_dataset *in,
                                 const dt_input_share *share) {
    DT_LIVE(in);
    dt_input_share one = share ? *share : (dt_input_share){0};
    int64_t files;
    dt_pipe *p;
    one.replicas = 1;
    DT_TRY(dt_pipeline_input(in, "auto_shard"));
    DT_TRY(check_share(share ? &one : NULL));
    DT_TRY(dt_pipe_auto_shard(&p, in->pipe, &one, dt_resolve_policy(in->pipe, &one, &files)));
    return dt_dataset_adopt(out, p);
}

dt_status *dt_dataset_for_worker(dt_dataset **out, const dt_dataset *in,
                                 const dt_input_share *share) {
    DT_LIVE(in);
    dt_pipe *p;
    DT_TRY(dt_pipeline_input(in, "for_worker"));
    DT_TRY(check_share(share));
    DT_TRY(dt_pipe_for_worker(&p, in->pipe, share));
    return dt_dataset_adopt(out, p);
}
