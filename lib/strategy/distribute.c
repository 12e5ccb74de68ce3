/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes data sets to workers and replicas. A pipeline is rewritten for each worker
 * (pipeline/build.h). Pipelines that a function made for each worker are used unchanged. A job's
 * data set is one pipeline whose source is a feed: its batches stay whole in memory, even for
 * several workers, and a replica's part is a view. Each of its iterations is one epoch.
 */
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"
#include "data/workers.h"
#include "strategy/iterators.h"

/* ---- options ---- */

static int input_workers(const dt_strategy *s, const dt_input_options *o) {
    return o->workers ? o->workers : s->hosts;
}

static dt_status *check_options(const dt_input_options *o) {
    if ((int)o->auto_shard_policy < DT_AUTO_SHARD_AUTO || o->auto_shard_policy > DT_AUTO_SHARD_HINT)
        return dt_fail(DT_E_SHARD, NULL, "%d is not an auto-shard policy",
                       (int)o->auto_shard_policy);
    if ((int)o->rebatch < DT_REBATCH_GLOBAL || o->rebatch > DT_REBATCH_EVEN)
        return dt_fail(DT_E_SHARD, NULL,
                       "rebatch must be DT_REBATCH_GLOBAL or DT_REBATCH_EVEN, got %d",
                       (int)o->rebatch);
    return NULL;
}

static dt_status *check_even(const dt_strategy *s, int workers) {
    if (workers < 0 || s->replicas % workers)
        return dt_fail(DT_E_INPUT_WORKERS, NULL,
                       "%d replicas cannot be divided evenly among %d workers", s->replicas,
                       workers);
    return NULL;
}

static dt_status *check(const dt_strategy *s, dt_dist_dataset *const *out,
                        const dt_input_options *o) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "a call that distributes a data set", "place for it"));
    return s ? check_options(o)
             : dt_fail(DT_E_PIPELINE, NULL, "cannot distribute: no strategy was given");
}

/* ---- handles ---- */

static dt_dist_dataset *allocate(dt_strategy *s, int workers) {
    dt_dist_dataset *d = dt_alloc(sizeof *d);

    *d = (dt_dist_dataset){.refs = 1,
                           .strategy = dt_strategy_ref(s),
                           .workers = workers,
                           .pieces = dt_alloc((size_t)workers * sizeof(int)),
                           .pipe = dt_alloc((size_t)workers * sizeof(dt_pipe *))};
    return d;
}

/* Allocates a data set with one pipeline for each worker. If there are as many workers as hosts,
 * each feeds the replicas of its host, whose number may differ between hosts. */
static dt_dist_dataset *allocate_workers(dt_strategy *s, int workers) {
    dt_dist_dataset *d = allocate(s, workers);

    for (int r = 0; r < s->replicas; r++)
        d->pieces[workers == s->hosts ? s->host_of[r] : r / (s->replicas / workers)]++;
    return d;
}

/* Sets *out to the new data set. After an error releases the new one instead. */
static dt_status *hand_out(dt_dist_dataset **out, dt_dist_dataset *made, dt_status *bad) {
    dt_dist_dataset_unref(bad ? made : *out);
    if (!bad) *out = made;
    return bad;
}

void dt_dist_dataset_unref(dt_dist_dataset *d) {
    if (!DT_LAST(d)) return;
    dt_iterator_discard(d->pending);
    for (int w = 0; w < d->workers; w++) dt_pipe_unref(d->pipe[w]);
    dt_strategy_unref(d->strategy);
    dt_str_release(&d->decision);
    free(d->pieces);
    free(d->pipe);
    DT_RETIRE(d);
}

const char *dt_dist_dataset_sharding(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return d ? dt_str_text(&d->decision) : NULL;
}

int dt_dist_dataset_components(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return d ? d->pipe[0]->spec.n : 0;
}

bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out) {
    DT_LIVE(d);
    if (i < 0 || i >= dt_dist_dataset_components(d) || !out) return false;
    dt_spec_public(d->pipe[0]->spec.c[i].name, &d->pipe[0]->spec.c[i].type, out);
    return true;
}

/* ---- a job's data set ---- */

struct job {
    dt_dataset *data; /* holds a reference */
    int replicas;
    dt_feed_options feed; /* for the first epoch; later ones change only `epoch` */
};

static void release_job(void *args) { dt_dataset_unref(((struct job *)args)->data); }

static dt_status *open_feed(dt_cursor *c) {
    const struct job *j = c->pipe->args;
    dt_feed_options o = j->feed;

    o.epoch = (int64_t)c->epoch;
    o.first_step = c->first;
    return dt_feed_open(c->state, j->data, &o);
}

static dt_status *next_step(dt_cursor *c, dt_example *out) {
    const struct job *j = c->pipe->args;
    const dt_type offsets = dt_type_of(DT_INT32, 1, (const int64_t[]){j->replicas + 1});
    dt_batch b;

    DT_TRY(dt_feed_next(*(dt_feed **)c->state, &b));
    if (b.rows == 0) return NULL;
    *out = dt_example_make(b.n + 1);
    out->n = b.n;
    out->whole = true;
    DT_TRY(dt_tensor_new(&out->tensor[b.n], &offsets));
    int32_t *at = (int32_t *)out->tensor[b.n]->data;
    if (b.offsets) memcpy(at, b.offsets, (size_t)dt_type_bytes(&offsets));
    else dt_cut_rows(b.rows, j->feed.batch, j->replicas, at);
    for (int i = 0; i < b.n; i++) {
        const dt_view *v = &b.element[i];
        DT_TRY(dt_tensor_new(&out->tensor[i], &v->type));
        memcpy(out->tensor[i]->data, v->data, (size_t)dt_type_bytes(&v->type));
    }
    return NULL;
}

static void close_feed(dt_cursor *c) { dt_feed_close(*(dt_feed **)c->state); }

static const dt_transform steps_of_job = {
    .name = "steps",
    .args_size = sizeof(struct job),
    .state_size = sizeof(dt_feed *),
    .seeks = true,
    .open = open_feed,
    .next = next_step,
    .close = close_feed,
    .release = release_job,
};

/* For no_fallback: fails if there are too few files for the workers. Other kinds of data sets
 * have no fallback. */
static dt_status *check_fallback(const dt_dataset *data, int64_t workers) {
    dt_dealing dealing;
    dt_status *s = dt_workers_dealing(data, "file", workers, &dealing);

    if (!s || dt_status_number(s) == DT_E_TOO_FEW_FILES) return s;
    dt_status_free(s);
    return NULL;
}

/* Decides how workers share the data set. AUTO: follows the data set's own key, or is AUTO if it
 * has none. */
static dt_status *share_job(struct job *j, const dt_strategy *s, const dt_input_options *o,
                            dt_str *decision) {
    static const char *const names[] = {NULL, "file", "data", "off", "hint"};
    static const char *const dealt[] = {"auto: the order of one process",
                                        "data: tiles of batches in turn", "file: whole files",
                                        "off: each worker reads everything"};
    const int workers = input_workers(s, o);
    dt_dealing dealing;

    j->feed.policy = names[o->auto_shard_policy];
    j->feed.even = o->rebatch == DT_REBATCH_EVEN && (o->auto_shard_policy == DT_AUTO_SHARD_AUTO ||
                                                     o->auto_shard_policy == DT_AUTO_SHARD_DATA);
    if (o->workers) DT_TRY(check_even(s, workers));
    DT_TRY(dt_workers_dealing(j->data, j->feed.policy, workers, &dealing));
    if (dealing != DT_DEAL_GLOBAL) DT_TRY(check_even(s, workers));
    if (o->no_fallback && dealing == DT_DEAL_GLOBAL) DT_TRY(check_fallback(j->data, workers));
    dt_str_printf(decision, "%s, %d worker%s", dealt[dealing], workers, workers == 1 ? "" : "s");
    /* batches in the order of one process suit any number of hosts and replicas */
    j->feed.workers = dealing == DT_DEAL_GLOBAL ? 1 : workers;
    j->feed.replicas = s->replicas / j->feed.workers;
    return NULL;
}

static dt_status *distribute_job(dt_dist_dataset *d, dt_dataset *data, const dt_input_options *o) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(data);
    struct job j = {.data = data, .replicas = d->strategy->replicas};
    dt_example_spec of = {0};

    if (spec->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(data, spec->per_replica_batch_size * j.replicas);
    j.feed = (dt_feed_options){.part = DT_PART_TRAIN,
                               .shuffle = spec->shuffle,
                               .batch = dt_dataset_batch_size(data),
                               .last = spec->last_batch};
    DT_TRY(share_job(&j, d->strategy, o, &d->decision));
    of.n = dt_dataset_elements(data, (const dt_element_spec **)&of.c);
    dt_dataset_ref(data);
    d->pieces[0] = 1;
    return dt_pipe_create(&d->pipe[0],
                          &(dt_pipe_parts){&steps_of_job, NULL, 0, &j, dt_spec_copy(&of)});
}

/* ---- a pipeline ---- */

static void report(dt_dist_dataset *d, const dt_input_options *o, dt_auto_shard_policy policy,
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

static dt_status *distribute_pipeline(dt_dist_dataset *d, const dt_pipe *p,
                                      const dt_input_options *o) {
    dt_input_share share = {d->workers, d->strategy->replicas / d->workers, 0, *o};
    int64_t files;
    dt_auto_shard_policy policy = dt_resolve_policy(p, &share, &files);

    report(d, o, policy, files);
    for (; share.worker < d->workers; share.worker++)
        DT_TRY(dt_pipe_for_worker(&d->pipe[share.worker], (dt_pipe *)p, &share));
    d->full_steps = dt_spec_is_static(&p->spec) || dt_pipe_count(p) == DT_ENDLESS;
    return NULL;
}

dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data,
                                          const dt_input_options *options, dt_dist_dataset **out) {
    DT_LIVE(s);
    DT_LIVE(data);
    const dt_input_options o = options ? *options : (dt_input_options){0};
    dt_dist_dataset *made;

    DT_TRY(check(s, out, &o));
    if (!data) return dt_fail(DT_E_PIPELINE, NULL, "cannot distribute: no data set was given");
    const dt_pipe *p = dt_dataset_pipe(data);
    if (p) DT_TRY(check_even(s, input_workers(s, &o)));
    if (o.replication_mode != DT_PER_WORKER)
        return dt_fail(
            DT_E_INPUT_MODE, NULL,
            "DT_PER_REPLICA is supported by dt_strategy_distribute_datasets_from_function only");
    made = p ? allocate_workers(s, input_workers(s, &o)) : allocate(s, 1);
    return hand_out(out, made,
                    p ? distribute_pipeline(made, p, &o) : distribute_job(made, data, &o));
}

/* ---- pipelines from a function ---- */

static dt_status *call(dt_dist_dataset *d, int worker, dt_dataset_fn fn, void *user) {
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

static void decide_full_steps(dt_dist_dataset *d) {
    bool known = true, endless = true;

    for (int w = 0; w < d->workers; w++) {
        known &= dt_spec_is_static(&d->pipe[w]->spec);
        endless &= dt_pipe_count(d->pipe[w]) == DT_ENDLESS;
    }
    d->full_steps = known || endless;
}

dt_status *dt_strategy_distribute_datasets_from_function(dt_strategy *s, dt_dataset_fn fn,
                                                         void *user,
                                                         const dt_input_options *options,
                                                         dt_dist_dataset **out) {
    DT_LIVE(s);
    const dt_input_options o = options ? *options : (dt_input_options){0};
    const bool each = o.replication_mode == DT_PER_REPLICA;
    dt_status *bad = NULL;

    DT_TRY(check(s, out, &o));
    if (input_workers(s, &o) != s->hosts) DT_TRY(check_even(s, input_workers(s, &o)));
    if (!fn) return dt_fail(DT_E_PIPELINE, NULL, "no function was given to create data sets");
    if (each && s->row->feeds_by_host)
        return dt_fail(DT_E_INPUT_MODE, NULL,
                       "a %s strategy feeds its replicas by host: DT_PER_REPLICA is not supported",
                       s->row->kind.name);
    dt_dist_dataset *d = allocate_workers(s, each ? s->replicas : input_workers(s, &o));
    dt_str_puts(&d->decision, "by the function");
    for (int w = 0; w < d->workers && !bad; w++) bad = call(d, w, fn, user);
    if (!bad) decide_full_steps(d);
    return hand_out(out, d, bad);
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
