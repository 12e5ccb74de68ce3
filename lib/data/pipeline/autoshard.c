/* SPDX-License-Identifier: Apache-2.0 */
/* Auto-sharding: rewrites a pipeline so that it gives a worker its share under a policy. */
#include "data/pipeline/build.h"

/* Returns the smallest known number of files that a reader of files in p gets; negative if none is
 * known. Sets *reads if a source reads files, and *holds if a source does anything else; otherwise
 * leaves them unchanged. */
static int64_t count_files(const dt_dataset *p, bool *reads, bool *holds) {
    int64_t fewest = -1;
    if (p->row->reads_files) {
        *reads = true;
        return dt_dataset_cardinality(p->in[0]);
    }
    *holds |= p->n_in == 0;
    for (int i = 0; i < p->n_in; i++) {
        int64_t n = count_files(p->in[i], reads, holds);
        if (n >= 0 && (fewest < 0 || n < fewest)) fewest = n;
    }
    return fewest;
}

dt_auto_shard_policy dt_resolve_policy(const dt_dataset *p, const dt_input_share *share,
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

typedef struct rewriter {
    const dt_input_share *share;
    /* sets *out to the data set that replaces p; leaves it NULL if p's inputs are to be rewritten
     * instead */
    dt_status *(*at)(const struct rewriter *r, const dt_dataset *p, dt_dataset **out);
} rewriter;

static dt_status *rewrite(const rewriter *r, const dt_dataset *p, dt_dataset **out) {
    dt_dataset *in[DT_MOST_INPUTS] = {0};
    dt_status *s = NULL;
    int n = 0;
    *out = NULL;
    DT_TRY(r->at(r, p, out));
    if (*out) return NULL;
    while (n < p->n_in && !s) {
        s = rewrite(r, p->in[n], &in[n]);
        n += s == NULL;
    }
    if (!s)
        *out = p->n_in ? dt_dataset_rewrite(p, (const dt_dataset *const *)in) : dt_dataset_ref(p);
    while (n > 0) dt_dataset_unref(in[--n]);
    return s;
}

/* Puts a shard below each reader of files, so that each worker gets every W-th file name of W
 * workers. Fails with UNSHARDABLE if a source reads no files, with TOO_FEW_FILES if a reader is
 * known to get fewer files than there are workers. */
static dt_status *share_files(const rewriter *r, const dt_dataset *p, dt_dataset **out) {
    const dt_input_share *q = r->share;
    dt_dataset *names = NULL;
    if (!p->row->reads_files)
        return p->n_in > 0 ? NULL
                           : dt_fail(DT_E_UNSHARDABLE, NULL,
                                     "the data set cannot be sharded by file: '%s' reads no files",
                                     p->row->name);
    int64_t files = dt_dataset_cardinality(p->in[0]);
    if (files >= 0 && files < q->workers)
        return dt_fail(DT_E_TOO_FEW_FILES, NULL,
                       "%lld file%s cannot be shared by %d workers (this is worker %d of %d)",
                       (long long)files, files == 1 ? "" : "s", q->workers, q->worker + 1,
                       q->workers);
    DT_TRY(dt_dataset_add_shard(&names, p->in[0], q->workers, q->worker));
    *out = dt_dataset_rewrite(p, (const dt_dataset *const *)&names);
    dt_dataset_unref(names);
    return NULL;
}

static dt_status *follow_hint(const rewriter *r, const dt_dataset *p, dt_dataset **out) {
    dt_dataset *in = NULL;
    if (!dt_dataset_is_hint(p)) return NULL;
    DT_TRY(rewrite(r, p->in[0], &in));
    dt_status *s = dt_dataset_add_shard(out, in, r->share->workers, r->share->worker);
    dt_dataset_unref(in);
    return s;
}

static bool has_hint(const dt_dataset *p) {
    bool found = dt_dataset_is_hint(p);
    for (int i = 0; i < p->n_in && !found; i++) found = has_hint(p->in[i]);
    return found;
}

/* Shards by file. If all sources read files and the pipeline has a hint, which this policy ignores,
 * the hint is reported before the number of files is checked, because there may be enough files for
 * the policy HINT. */
static dt_status *share_by_files(dt_dataset **out, const dt_dataset *in,
                                 const dt_input_share *share) {
    bool reads = false, holds = false;
    count_files(in, &reads, &holds);
    if (!holds && has_hint(in)) return dt_fail_hint();
    return rewrite(&(rewriter){share, share_files}, in, out);
}

dt_status *dt_dataset_share(dt_dataset **out, const dt_dataset *in, const dt_input_share *share,
                            dt_auto_shard_policy policy) {
    dt_dataset *made = NULL;
    if (policy == DT_AUTO_SHARD_DATA && share->workers > 1)
        return dt_dataset_add_shard(out, in, share->workers, share->worker);
    if (policy == DT_AUTO_SHARD_HINT) DT_TRY(rewrite(&(rewriter){share, follow_hint}, in, &made));
    else if (policy == DT_AUTO_SHARD_FILE && share->workers > 1)
        DT_TRY(share_by_files(&made, in, share));
    else made = dt_dataset_ref(in);
    return dt_dataset_replace(out, made);
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
    one.replicas = 1;
    DT_TRY(dt_dataset_check_input(in, "auto_shard"));
    DT_TRY(check_share(share ? &one : NULL));
    return dt_dataset_share(out, in, &one, dt_resolve_policy(in, &one, &files));
}

dt_status *dt_dataset_for_worker(dt_dataset **out, const dt_dataset *in,
                                 const dt_input_share *share) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "for_worker"));
    DT_TRY(check_share(share));
    return dt_dataset_cut(out, in, share);
}
