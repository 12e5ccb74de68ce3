/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes data sets to workers and replicas. A pipeline is rewritten for each worker
 * (pipeline/build.h). Pipelines that a function made, one for each worker or replica, are used
 * unchanged. A last transformation joins the pieces of all workers' pipelines to steps. The batches
 * of a job's data set stay whole in memory, even for several workers, and a replica's part is a
 * view. Each iteration over such a data set is one epoch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "data/pipeline/build.h"
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
    if ((int)o->replication_mode < DT_PER_WORKER || o->replication_mode > DT_PER_REPLICA)
        return dt_fail(DT_E_SHARD, NULL,
                       "replication_mode must be DT_PER_WORKER or DT_PER_REPLICA, got %d",
                       (int)o->replication_mode);
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

/* ---- steps of workers ---- */

struct workers {
    /* [number of inputs] how many pieces of a step each worker provides; a replica gets one
     * piece */
    int *pieces;
    int all; /* the sum of `pieces` */
    /* Whether the data ends before a step in which a replica would lack a piece (true if all shapes
     * are known, or if the data is endless). If not, such a replica gets a piece with 0 rows. */
    bool full_steps;
};

static void release_workers(void *args) { free(((struct workers *)args)->pieces); }

static dt_status *open_workers(dt_iterator *it) {
    const struct workers *a = it->dataset->args;

    for (int w = 0; w < it->dataset->n_in; w++) {
        int64_t first;
        if (!dt_mul_fits(it->at, a->pieces[w], &first)) first = INT64_MAX;
        DT_TRY(dt_iterator_open(&it->in[w], it->dataset->in[w], it->epoch, first));
    }
    return NULL;
}

/* Reads the pieces of all workers for one step, and adds the number of those read to *present.
 * Workers whose data has ended provide none: their pieces are empty. */
static dt_status *take_pieces(const dt_iterator *it, dt_example *piece, int *present) {
    const struct workers *a = it->dataset->args;

    for (int w = 0; w < it->dataset->n_in; w++)
        for (int i = 0; i < a->pieces[w]; i++, piece++) {
            DT_TRY(dt_iterator_next_example(it->in[w], piece));
            *present += piece->n > 0;
        }
    return NULL;
}

static dt_status *fill_up(const dt_iterator *it, dt_example *piece) {
    const struct workers *a = it->dataset->args;

    for (int w = 0; w < it->dataset->n_in; w++)
        for (int i = 0; i < a->pieces[w]; i++, piece++)
            if (piece->n == 0) DT_TRY(dt_spec_empty_example(&it->in[w]->dataset->spec, piece));
    return NULL;
}

/* Sets *out to the components of all pieces of a step, one piece after the other; empty at the end
 * of the data, which is where no worker has a piece or, with full_steps, where one is missing.
 * Replicas without a piece get one with 0 rows. */
static dt_status *next_step(dt_iterator *it, dt_example *out) {
    const struct workers *a = it->dataset->args;
    const int n = it->dataset->spec.n;
    DT_LOCAL dt_example *piece = dt_alloc((size_t)a->all * sizeof *piece);
    int present = 0;

    dt_status *s = take_pieces(it, piece, &present);
    const bool ends = s || present == 0 || (a->full_steps && present < a->all);
    if (!ends) s = fill_up(it, piece);
    if (!ends && !s) *out = dt_example_make(a->all * n);
    for (int i = 0; i < a->all; i++) {
        for (int k = 0; k < n && out->n; k++)
            out->tensor[i * n + k] = dt_tensor_ref(piece[i].tensor[k]);
        dt_example_release(&piece[i]);
    }
    return s;
}

static const dt_transform steps_of_workers = {
    .name = "steps",
    .args_size = sizeof(struct workers),
    .opens_inputs = true,
    .seeks = true,
    .open = open_workers,
    .next = next_step,
    .release = release_workers,
};

/* ---- handles, and the division of replicas ---- */

static dt_dist_dataset *allocate(dt_strategy *s) {
    dt_dist_dataset *d = dt_alloc(sizeof *d);

    *d = (dt_dist_dataset){.refs = 1, .strategy = dt_strategy_ref(s)};
    return d;
}

/* Divides the replicas among workers. If there are as many workers as hosts, each worker feeds the
 * replicas of its host; hosts may have different numbers of replicas. Otherwise all workers feed
 * equally many. */
static struct workers divide(const dt_strategy *s, int workers) {
    struct workers a = {.pieces = dt_alloc((size_t)workers * sizeof(int)), .all = s->replicas};

    for (int r = 0; r < s->replicas; r++)
        a.pieces[workers == s->hosts ? s->host_of[r] : r / (s->replicas / workers)]++;
    return a;
}

/* Sets *out to the new data set, and releases the one that was there. If there is an error,
 * releases the new one instead, and returns the error. */
static dt_status *hand_out(dt_dist_dataset **out, dt_dist_dataset *made, dt_status *bad) {
    dt_dist_dataset_unref(bad ? made : *out);
    if (!bad) *out = made;
    return bad;
}

void dt_dist_dataset_unref(dt_dist_dataset *d) {
    if (!DT_LAST(d)) return;
    dt_iterator_close(d->pending);
    dt_dataset_unref(d->dataset);
    dt_strategy_unref(d->strategy);
    dt_str_release(&d->decision);
    DT_RETIRE(d);
}

const char *dt_dist_dataset_sharding(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return d ? dt_str_text(&d->decision) : NULL;
}

int dt_dist_dataset_components(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return d ? d->dataset->spec.n : 0;
}

bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out) {
    DT_LIVE(d);
    if (i < 0 || i >= dt_dist_dataset_components(d) || !out) return false;
    dt_spec_public(d->dataset->spec.c[i].name, &d->dataset->spec.c[i].type, out);
    return true;
}

/* ---- a job's data set ---- */

/* With the option no_fallback: fails if there are fewer files than workers. Data sets that are not
 * files have no fallback. */
static dt_status *check_fallback(const dt_dataset *data, int64_t workers) {
    dt_auto_shard_policy policy;
    dt_status *s = dt_workers_policy(data, DT_AUTO_SHARD_FILE, workers, &policy);

    if (!s || dt_status_number(s) == DT_E_TOO_FEW_FILES) return s;
    dt_status_free(s);
    return NULL;
}

/* Decides how workers share the data set. The policy AUTO means the data set's own
 * auto_shard_policy. */
static dt_status *share_job(dt_batch_options *b, dt_dataset *data, const dt_strategy *s,
                            const dt_input_options *o, dt_str *decision) {
    static const char *const shares[] = {"auto: the order of one process", "file: whole files",
                                         "data: tiles of batches in turn",
                                         "off: each worker reads everything"};
    const int workers = input_workers(s, o);
    dt_auto_shard_policy policy;

    b->policy = o->auto_shard_policy;
    b->even = o->rebatch == DT_REBATCH_EVEN && (o->auto_shard_policy == DT_AUTO_SHARD_AUTO ||
                                                o->auto_shard_policy == DT_AUTO_SHARD_DATA);
    if (o->workers) DT_TRY(check_even(s, workers));
    DT_TRY(dt_workers_policy(data, b->policy, workers, &policy));
    if (policy != DT_AUTO_SHARD_AUTO) DT_TRY(check_even(s, workers));
    if (o->no_fallback && policy == DT_AUTO_SHARD_AUTO) DT_TRY(check_fallback(data, workers));
    dt_str_printf(decision, "%s, %d worker%s", shares[policy], workers, workers == 1 ? "" : "s");
    /* If workers take their rows from whole batches, the data set needs no parts for workers. */
    b->workers = policy == DT_AUTO_SHARD_AUTO ? 1 : workers;
    b->replicas = s->replicas / b->workers;
    return NULL;
}

static dt_status *distribute_job(dt_dist_dataset *d, dt_dataset *data, const dt_input_options *o) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(data);

    if (spec->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(data, spec->per_replica_batch_size * d->strategy->replicas);
    dt_batch_options b = {.part = DT_PART_TRAIN,
                          .shuffle = spec->shuffle,
                          .batch = dt_dataset_batch_size(data),
                          .last = spec->last_batch,
                          .keeps = 1};
    DT_TRY(share_job(&b, data, d->strategy, o, &d->decision));
    d->dataset = dt_dataset_batches(data, &b);
    return NULL;
}

/* ---- a pipeline ---- */

static void report(dt_dist_dataset *d, const dt_input_options *o, dt_auto_shard_policy policy,
                   int64_t files, int workers) {
    dt_str_puts(&d->decision, dt_policy_names[policy]);
    if (files >= 0)
        dt_str_printf(&d->decision,
                      ": %lld file%s for %d workers, so each reads everything and keeps its share",
                      (long long)files, files == 1 ? "" : "s", workers);
    else if (o->auto_shard_policy == DT_AUTO_SHARD_AUTO)
        dt_str_puts(&d->decision, policy == DT_AUTO_SHARD_FILE
                                      ? ": the data set reads files"
                                      : ": not all of the data set comes from files");
}

/* Joins the pipelines of workers to d->dataset. Releases the references in in[workers], and the
 * list. failed: after an error, when some of them may be NULL, only releases them. */
static void join(dt_dist_dataset *d, dt_dataset **in, int workers, bool full_steps, bool failed) {
    struct workers a = failed ? (struct workers){0} : divide(d->strategy, workers);

    a.full_steps = full_steps;
    if (!failed)
        d->dataset = dt_dataset_make(&(dt_dataset){.row = &steps_of_workers,
                                                   .in = (const dt_dataset *const *)in,
                                                   .n_in = workers,
                                                   .args = &a,
                                                   .spec = dt_spec_copy(&in[0]->spec)});
    for (int w = 0; w < workers; w++) dt_dataset_unref(in[w]);
    free(in);
}

static dt_status *distribute_pipeline(dt_dist_dataset *d, const dt_dataset *p,
                                      const dt_input_options *o) {
    const int workers = input_workers(d->strategy, o);
    dt_input_share share = {workers, d->strategy->replicas / workers, 0, *o};
    dt_dataset **in = dt_alloc((size_t)workers * sizeof *in);
    dt_status *s = NULL;
    int64_t files;
    dt_auto_shard_policy policy = dt_resolve_policy(p, &share, &files);

    report(d, o, policy, files, workers);
    for (; share.worker < workers && !s; share.worker++)
        s = dt_dataset_cut(&in[share.worker], p, &share);
    join(d, in, workers, dt_spec_is_static(&p->spec) || dt_dataset_cardinality(p) == DT_ENDLESS, s);
    return s;
}

dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data,
                                          const dt_input_options *options, dt_dist_dataset **out) {
    DT_LIVE(s);
    DT_LIVE(data);
    const dt_input_options o = options ? *options : (dt_input_options){0};
    dt_dist_dataset *made;

    DT_TRY(check(s, out, &o));
    if (!data) return dt_fail(DT_E_PIPELINE, NULL, "cannot distribute: no data set was given");
    const bool plain = !dt_dataset_has_parts(data);
    if (plain) DT_TRY(check_even(s, input_workers(s, &o)));
    if (o.replication_mode != DT_PER_WORKER)
        return dt_fail(
            DT_E_INPUT_MODE, NULL,
            "DT_PER_REPLICA is supported by dt_strategy_distribute_datasets_from_function only");
    made = allocate(s);
    return hand_out(out, made,
                    plain ? distribute_pipeline(made, data, &o) : distribute_job(made, data, &o));
}

/* ---- pipelines from a function ---- */

/* Calls the program's function for one worker, and sets *out to the pipeline of the data set that
 * the function makes. */
static dt_status *call(const dt_input_context *c, dt_dataset_fn fn, void *user, dt_dataset **out) {
    dt_dataset *made = NULL;
    dt_status *s = fn(c, user, &made);

    if (!s && !made)
        s = dt_fail(DT_E_PIPELINE, NULL, "the function returned no data set for input pipeline %d",
                    c->input_pipeline_id);
    if (!s && dt_dataset_has_parts(made))
        s = dt_fail(DT_E_PIPELINE, NULL,
                    "the function must return a pipeline (dt_dataset_range, ...), not a data set "
                    "of dt_dataset_open");
    if (!s) return dt_dataset_replace(out, made);
    dt_dataset_unref(made);
    return s;
}

static dt_status *check_common(dt_dataset *const *in, int worker) {
    dt_example_spec common;

    DT_TRY(dt_note(dt_spec_common(&in[0]->spec, &in[worker]->spec, &common),
                   "in the data set of input pipeline %d", worker));
    dt_spec_release(&common);
    return NULL;
}

static bool has_full_steps(dt_dataset *const *in, int workers) {
    bool known = true, endless = true;

    for (int w = 0; w < workers; w++) {
        known &= dt_spec_is_static(&in[w]->spec);
        endless &= dt_dataset_cardinality(in[w]) == DT_ENDLESS;
    }
    return known || endless;
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
    dt_input_context c = {.num_input_pipelines = each ? s->replicas : input_workers(s, &o),
                          .num_replicas_in_sync = s->replicas};
    const int workers = c.num_input_pipelines;
    dt_dist_dataset *d = allocate(s);
    dt_dataset **in = dt_alloc((size_t)workers * sizeof *in);
    dt_str_puts(&d->decision, "by the function");
    for (int *w = &c.input_pipeline_id; *w < workers && !bad; ++*w) {
        bad = call(&c, fn, user, &in[*w]);
        if (!bad && *w > 0) bad = check_common(in, *w);
    }
    join(d, in, workers, !bad && has_full_steps(in, workers), bad);
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
