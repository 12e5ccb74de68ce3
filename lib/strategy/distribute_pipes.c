/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed pipelines: one description for each worker, and steps across all of them.
 *
 *     worker 0:  p0 p1 | p2 p3 | ...        a step takes R pieces of every worker (here 2 and 2);
 *     worker 1:  p0 p1 | p2                 replicas are counted worker by worker
 *
 * A replica without a tile gets no rows, so that all replicas take part in every step. If all
 * shapes are known, there cannot be a tile without rows, so incomplete steps are left out; endless
 * data has no incomplete steps. Whether shapes are known is decided by the data set as the caller
 * passed it.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/distribution.h"
#include "strategy/pipelines.h"

/* ---- making them ---- */

void dt_dist_pipes_destroy(dt_dist_pipes *d) {
    if (!d) return;
    for (int w = 0; w < d->workers; w++) dt_pipe_unref(d->pipe[w]);
    dt_strategy_unref(d->strategy);
    dt_str_release(&d->decision);
    free(d->replicas);
    free(d->pipe);
    free(d);
}

int dt_input_workers(const dt_strategy *s, const dt_input_options *o) {
    return o->workers ? o->workers : s->hosts;
}

dt_status *dt_check_input_options(const dt_input_options *o) {
    if ((int)o->auto_shard_policy < DT_AUTO_SHARD_AUTO || o->auto_shard_policy > DT_AUTO_SHARD_HINT)
        return dt_fail(DT_E_SHARD, NULL, "%d is not an auto-shard policy",
                       (int)o->auto_shard_policy);
    if ((int)o->rebatch < DT_REBATCH_GLOBAL || o->rebatch > DT_REBATCH_EVEN)
        return dt_fail(DT_E_SHARD, NULL,
                       "rebatch must be DT_REBATCH_GLOBAL or DT_REBATCH_EVEN, got %d",
                       (int)o->rebatch);
    return NULL;
}

dt_status *dt_check_even_workers(const dt_strategy *s, int workers) {
    if (workers < 0 || s->replicas % workers)
        return dt_fail(DT_E_INPUT_WORKERS, NULL,
                       "%d replicas cannot be divided evenly among %d workers", s->replicas,
                       workers);
    return NULL;
}

/* As many workers as hosts: each feeds its own replicas, of which hosts may have different
 * numbers. */
static dt_dist_pipes *allocate(dt_strategy *s, int workers) {
    dt_dist_pipes *d = dt_alloc(sizeof *d);

    *d = (dt_dist_pipes){.strategy = dt_strategy_ref(s),
                         .workers = workers,
                         .replicas = dt_alloc((size_t)workers * sizeof(int)),
                         .pipe = dt_alloc((size_t)workers * sizeof(dt_pipe *))};
    for (int r = 0; r < s->replicas; r++)
        d->replicas[workers == s->hosts ? s->host_of[r] : r / (s->replicas / workers)]++;
    return d;
}

static void report(dt_dist_pipes *d, const dt_input_options *o, dt_auto_shard_policy policy,
                   int64_t files) {
    static const char *const names[] = {"auto", "file", "data", "off", "hint"};

    dt_str_puts(&d->decision, names[policy]);
    if (files >= 0)
        dt_str_printf(&d->decision,
                      ": %lld file%s for %d workers, so each reads everything and keeps its share",
                      (long long)files, files == 1 ? "" : "s", d->workers);
    else if (o->auto_shard_policy == DT_AUTO_SHARD_AUTO)
        dt_str_puts(&d->decision, policy == DT_AUTO_SHARD_FILE
                                      ? ": the data set reads files"
                                      : ": not all of the data set comes from files");
}

dt_status *dt_dist_pipes_create(dt_dist_pipes **out, dt_strategy *s, const dt_pipe *p,
                                const dt_input_options *o) {
    dt_status *bad = NULL;
    int64_t files;

    DT_TRY(dt_check_input_options(o));
    DT_TRY(dt_check_even_workers(s, dt_input_workers(s, o)));
    if (o->replication_mode != DT_PER_WORKER)
        return dt_fail(
            DT_E_INPUT_MODE, NULL,
            "DT_PER_REPLICA is supported by dt_strategy_distribute_datasets_from_function only");
    dt_dist_pipes *d = allocate(s, dt_input_workers(s, o));
    dt_share share = {d->workers,    s->replicas / d->workers, 0, o->auto_shard_policy, o->rebatch,
                      o->no_fallback};
    dt_auto_shard_policy policy = dt_resolve_policy(p, &share, &files);
    report(d, o, policy, files);
    for (; share.worker < d->workers && !bad; share.worker++)
        bad = dt_pipe_for_worker(&d->pipe[share.worker], (dt_pipe *)p, &share);
    if (bad) {
        dt_dist_pipes_destroy(d);
        return bad;
    }
    d->full_steps = dt_spec_is_static(&p->spec) || dt_pipe_count(p) == DT_ENDLESS;
    *out = d;
    return NULL;
}

/* ---- from a function ---- */

static dt_status *call(dt_dist_pipes *d, int worker, dt_dataset_fn fn, void *user) {
    const dt_input_context c = {.num_input_pipelines = d->workers,
                                .input_pipeline_id = worker,
                                .num_replicas_in_sync = d->strategy->replicas};
    dt_dataset *made = NULL;
    dt_example_spec common;
    dt_status *s = fn(&c, user, &made);

    if (!s && !made)
        s = dt_fail(DT_E_PIPELINE, NULL, "the function returned no data set for input pipeline %d",
                    worker);
    if (!s && !dt_dataset_pipe(made))
        s = dt_fail(DT_E_PIPELINE, NULL,
                    "the function must return a pipeline (dt_dataset_range, ...), not a data set "
                    "of dt_dataset_open");
    if (!s) d->pipe[worker] = dt_pipe_ref(dt_dataset_pipe(made));
    dt_dataset_unref(made);
    if (s || worker == 0) return s;
    DT_TRY(dt_note(dt_spec_common(&d->pipe[0]->spec, &d->pipe[worker]->spec, &common),
                   "in the data set of input pipeline %d", worker));
    dt_spec_release(&common);
    return NULL;
}

static void decide_full_steps(dt_dist_pipes *d) {
    bool known = true, endless = true;

    for (int w = 0; w < d->workers; w++) {
        known &= dt_spec_is_static(&d->pipe[w]->spec);
        endless &= dt_pipe_count(d->pipe[w]) == DT_ENDLESS;
    }
    d->full_steps = known || endless;
}

dt_status *dt_dist_pipes_call(dt_dist_pipes **out, dt_strategy *s, dt_dataset_fn fn, void *user,
                              const dt_input_options *o) {
    dt_status *bad = NULL;
    bool each = o->replication_mode == DT_PER_REPLICA;

    DT_TRY(dt_check_input_options(o));
    if (dt_input_workers(s, o) != s->hosts)
        DT_TRY(dt_check_even_workers(s, dt_input_workers(s, o)));
    if (!fn) return dt_fail(DT_E_PIPELINE, NULL, "no function was given to create data sets");
    if (each && s->row->feeds_by_host)
        return dt_fail(DT_E_INPUT_MODE, NULL,
                       "a %s strategy feeds its replicas by host: DT_PER_REPLICA is not supported",
                       s->row->kind.name);
    dt_dist_pipes *d = allocate(s, each ? s->replicas : dt_input_workers(s, o));
    dt_str_puts(&d->decision, "by the function");
    for (int w = 0; w < d->workers && !bad; w++) bad = call(d, w, fn, user);
    if (bad) {
        dt_dist_pipes_destroy(d);
        return bad;
    }
    decide_full_steps(d);
    *out = d;
    return NULL;
}

dt_status *dt_input_context_per_replica_batch_size(const dt_input_context *c,
                                                   int64_t global_batch_size, int64_t *out) {
    DT_TRY(dt_status_kept());
    if (!c || !out || global_batch_size < 0)
        return dt_fail(DT_E_GLOBAL_BATCH, NULL,
                       "an input context, a pointer for the result and a global batch size of at "
                       "least 0 are needed");
    if (c->num_replicas_in_sync < 1 || global_batch_size % c->num_replicas_in_sync)
        return dt_fail(DT_E_GLOBAL_BATCH, NULL,
                       "the global batch size %lld is not divisible by num_replicas_in_sync %d",
                       (long long)global_batch_size, c->num_replicas_in_sync);
    *out = global_batch_size / c->num_replicas_in_sync;
    return NULL;
}

char *dt_input_context_text(const dt_input_context *c, char *text, size_t size) {
    const dt_input_context none = {0};

    if (!c) c = &none;
    if (text)
        snprintf(text, size, "tf.distribute.InputContext(input pipeline id %d, total: %d)",
                 c->input_pipeline_id, c->num_input_pipelines);
    return text;
}

/* ---- steps ---- */

struct dt_dist_cursors {
    const dt_dist_pipes *of; /* lent: the data set outlives its iterators */
    dt_cursor **cursor;      /* [workers] */
    bool ended;
};

dt_status *dt_dist_cursors_open(dt_dist_cursors **out, const dt_dist_pipes *d, uint64_t epoch) {
    dt_dist_cursors *c = dt_alloc(sizeof *c);
    dt_status *s = NULL;

    *c = (dt_dist_cursors){.of = d, .cursor = dt_alloc((size_t)d->workers * sizeof(dt_cursor *))};
    for (int w = 0; w < d->workers && !s; w++) s = dt_cursor_open(&c->cursor[w], d->pipe[w], epoch);
    if (s) {
        dt_dist_cursors_close(c);
        c = NULL;
    }
    *out = c;
    return s;
}

void dt_dist_cursors_close(dt_dist_cursors *c) {
    if (!c) return;
    for (int w = 0; w < c->of->workers; w++) dt_cursor_close(c->cursor[w]);
    free(c->cursor);
    free(c);
}

/* examples[replicas]; *present: how many are not at their end. */
static dt_status *take_pieces(dt_dist_cursors *c, dt_example *examples, int *present) {
    for (int w = 0, at = 0; w < c->of->workers; w++)
        for (int r = 0; r < c->of->replicas[w]; r++, at++) {
            DT_TRY(dt_cursor_next(c->cursor[w], &examples[at]));
            *present += examples[at].n > 0;
        }
    return NULL;
}

static dt_status *fill_up(const dt_dist_pipes *d, dt_example *examples) {
    for (int w = 0, at = 0; w < d->workers; w++)
        for (int r = 0; r < d->replicas[w]; r++, at++)
            if (examples[at].n == 0)
                DT_TRY(dt_spec_empty_example(&d->pipe[w]->spec, &examples[at]));
    return NULL;
}

/* Rows of one shape are stored together, as a step takes them. Other components have a tensor for
 * each replica. */
static bool can_join(const dt_example *examples, int n, int k) {
    const dt_type *first = &examples[0].tensor[k]->type;
    int64_t rows = 0;

    for (int r = 0; r < n; r++) {
        dt_type t = examples[r].tensor[k]->type;
        if (t.rank == 0) return false;
        rows += t.dim[0];
        t.dim[0] = first->dim[0];
        if (!dt_type_equal(&t, first)) return false;
    }
    return rows <= INT32_MAX;
}

static dt_status *set_joined(const dt_dist_pipes *d, const dt_example *examples, int k,
                             dt_values *out) {
    int n = d->strategy->replicas;
    dt_tensor *whole = NULL;

    DT_TRY(dt_examples_join_one(examples, n, k, &whole));
    int32_t *offsets = dt_alloc(((size_t)n + 1) * sizeof *offsets);
    for (int r = 0; r < n; r++)
        offsets[r + 1] = offsets[r] + (int32_t)examples[r].tensor[k]->type.dim[0];
    dt_values_set_whole(
        out, d->pipe[0]->spec.c[k].name,
        &(dt_whole){
            .tensor = whole, .spread = DT_ROWS, .strategy = d->strategy, .offsets = offsets});
    dt_tensor_unref(whole);
    free(offsets);
    return NULL;
}

static dt_status *set_each(const dt_dist_pipes *d, const dt_example *examples, int k,
                           dt_values *out) {
    int n = d->strategy->replicas;
    dt_tensor **t = dt_alloc((size_t)n * sizeof(dt_tensor *));

    for (int r = 0; r < n; r++) t[r] = examples[r].tensor[k];
    dt_status *s = dt_values_set_per_replica(out, d->pipe[0]->spec.c[k].name, t, n);
    free(t);
    return s;
}

static dt_status *make_batch(const dt_dist_pipes *d, const dt_example *examples,
                             dt_values **batch) {
    dt_values *v = NULL;
    dt_status *s = dt_values_create(&v);

    for (int k = 0; k < d->pipe[0]->spec.n && !s; k++)
        s = can_join(examples, d->strategy->replicas, k) ? set_joined(d, examples, k, v)
                                                         : set_each(d, examples, k, v);
    if (s) {
        dt_values_unref(v);
        v = NULL;
    }
    *batch = v;
    return s;
}

/* batch NULL: it is left out. */
static dt_status *make_step(dt_dist_cursors *c, dt_example *examples, dt_values **batch) {
    const dt_dist_pipes *d = c->of;
    int present = 0;

    DT_TRY(take_pieces(c, examples, &present));
    c->ended = present == 0 || (d->full_steps && present < d->strategy->replicas);
    if (c->ended || !batch) return NULL;
    DT_TRY(fill_up(d, examples));
    return make_batch(d, examples, batch);
}

dt_status *dt_dist_cursors_next(dt_dist_cursors *c, dt_values **batch) {
    int n = c->of->strategy->replicas;
    dt_example *examples = dt_alloc((size_t)n * sizeof *examples);
    dt_status *s = c->ended ? NULL : make_step(c, examples, batch);

    for (int r = 0; r < n; r++) dt_example_release(&examples[r]);
    free(examples);
    c->ended |= s != NULL;
    return s;
}

dt_status *dt_dist_cursors_skip(dt_dist_cursors *c, bool *ended) {
    DT_TRY(dt_dist_cursors_next(c, NULL));
    *ended = c->ended;
    return NULL;
}
