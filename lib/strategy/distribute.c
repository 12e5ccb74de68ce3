/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribute_dataset for a job's data set. The batches stay whole in memory, also those of several
 * workers, and a replica's part is a view. Every iterator is one epoch, the next one in the data
 * set's order. distribute_pipes.c distributes pipelines. The handles here serve both, and also a
 * pipeline that is iterated directly.
 */
#include <stdlib.h>
#include <string.h>

#include "data/workers.h"
#include "strategy/iterators.h"

/* ---- distributed data sets ---- */

static dt_status *check(const dt_strategy *s, dt_dist_dataset *const *out) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "a call that distributes a data set", "place for it"));
    return s ? NULL : dt_fail(DT_E_PIPELINE, NULL, "cannot distribute: no strategy was given");
}

static void hand_out(dt_dist_dataset **out, const dt_dist_dataset *made) {
    dt_dist_dataset *d = dt_alloc(sizeof *d);

    *d = *made;
    d->refs = 1;
    dt_dist_dataset_unref(*out);
    *out = d;
}

/* For no_fallback: fails if there are too few files to deal. Other data sets have nothing to fall
 * back from. */
static dt_status *check_fallback(const dt_dataset *data, int64_t workers) {
    dt_dealing dealing;
    dt_status *s = dt_workers_dealing(data, "file", workers, &dealing);

    if (!s || dt_status_number(s) == DT_E_TOO_FEW_FILES) return s;
    dt_status_free(s);
    return NULL;
}

/* AUTO: the policy of the data set's own key, or AUTO if it has none. */
static dt_status *share_job(dt_dist_dataset *d, const dt_input_options *o) {
    static const char *const names[] = {NULL, "file", "data", "off", "hint"};
    static const char *const dealt[] = {"auto: the order of one process",
                                        "data: tiles of batches in turn", "file: whole files",
                                        "off: each worker reads everything"};
    dt_dealing dealing;

    d->workers = dt_input_workers(d->strategy, o);
    d->policy = names[o->auto_shard_policy];
    d->even = o->rebatch == DT_REBATCH_EVEN && (o->auto_shard_policy == DT_AUTO_SHARD_AUTO ||
                                                o->auto_shard_policy == DT_AUTO_SHARD_DATA);
    if (o->workers) DT_TRY(dt_check_even_workers(d->strategy, d->workers));
    DT_TRY(dt_workers_dealing(d->data, d->policy, d->workers, &dealing));
    if (dealing != DT_DEAL_GLOBAL) DT_TRY(dt_check_even_workers(d->strategy, d->workers));
    if (o->no_fallback && dealing == DT_DEAL_GLOBAL) DT_TRY(check_fallback(d->data, d->workers));
    dt_str_printf(&d->decision, "%s, %d worker%s", dealt[dealing], d->workers,
                  d->workers == 1 ? "" : "s");
    if (dealing == DT_DEAL_GLOBAL)
        d->workers = 1; /* for any hosts, and any number of replicas on each */
    return NULL;
}

static dt_status *distribute_job(dt_strategy *s, dt_dataset *data, const dt_input_options *o,
                                 dt_dist_dataset **out) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(data);
    dt_dist_dataset made = {.strategy = s, .data = data};

    DT_TRY(dt_check_input_options(o));
    if (o->replication_mode != DT_PER_WORKER)
        return dt_fail(
            DT_E_INPUT_MODE, NULL,
            "DT_PER_REPLICA is supported by dt_strategy_distribute_datasets_from_function only");
    if (spec->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(data, spec->per_replica_batch_size * s->replicas);
    made.batch = dt_dataset_batch_size(data);
    dt_status *bad = share_job(&made, o);
    if (bad) {
        dt_str_release(&made.decision);
        return bad;
    }
    dt_dataset_ref(data);
    dt_strategy_ref(s);
    hand_out(out, &made);
    return NULL;
}

dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data,
                                          const dt_input_options *options, dt_dist_dataset **out) {
    DT_LIVE(s);
    DT_LIVE(data);
    const dt_input_options o = options ? *options : (dt_input_options){0};
    dt_dist_pipes *pipes;

    DT_TRY(check(s, out));
    if (!data) return dt_fail(DT_E_PIPELINE, NULL, "cannot distribute: no data set was given");
    if (!dt_dataset_pipe(data)) return distribute_job(s, data, &o, out);
    DT_TRY(dt_dist_pipes_create(&pipes, s, dt_dataset_pipe(data), &o));
    hand_out(out, &(dt_dist_dataset){.strategy = dt_strategy_ref(s), .pipes = pipes});
    return NULL;
}

dt_status *dt_strategy_distribute_datasets_from_function(dt_strategy *s, dt_dataset_fn fn,
                                                         void *user,
                                                         const dt_input_options *options,
                                                         dt_dist_dataset **out) {
    DT_LIVE(s);
    const dt_input_options o = options ? *options : (dt_input_options){0};
    dt_dist_pipes *pipes;

    DT_TRY(check(s, out));
    DT_TRY(dt_dist_pipes_call(&pipes, s, fn, user, &o));
    hand_out(out, &(dt_dist_dataset){.strategy = dt_strategy_ref(s), .pipes = pipes});
    return NULL;
}

void dt_dist_dataset_unref(dt_dist_dataset *d) {
    if (!DT_LAST(d)) return;
    dt_iterator_discard(d->pending);
    dt_dataset_unref(d->data);
    dt_dist_pipes_destroy(d->pipes);
    dt_strategy_unref(d->strategy);
    dt_str_release(&d->decision);
    DT_RETIRE(d);
}

const char *dt_dist_dataset_sharding(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return !d ? NULL : dt_str_text(d->pipes ? &d->pipes->decision : &d->decision);
}

int dt_dist_dataset_components(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return !d ? 0 : d->pipes ? d->pipes->pipe[0]->spec.n : dt_dataset_components(d->data);
}

bool dt_dist_dataset_element_spec(const dt_dist_dataset *d, int i, dt_spec *out) {
    DT_LIVE(d);
    if (i < 0 || i >= dt_dist_dataset_components(d) || !out) return false;
    if (!d->pipes) return dt_dataset_element_spec(d->data, i, out);
    dt_spec_public(d->pipes->pipe[0]->spec.c[i].name, &d->pipes->pipe[0]->spec.c[i].type, out);
    return true;
}

/* ---- iterators ---- */

static void start(dt_iterator **out, const dt_iterator *made) {
    dt_iterator *it = dt_alloc(sizeof *it);

    *it = *made;
    it->refs = 1;
    if (it->of) {
        it->of->refs++;
        it->of->newest = it;
        it->of->epoch = it->epoch + 1;
        it->tracked = it->of->tracked;
    }
    if (it->from) dt_dataset_ref(it->from);
    dt_iterator_unref(*out);
    *out = it;
}

dt_status *dt_dist_dataset_feed(const dt_dist_dataset *d, int64_t epoch, int64_t first_step,
                                dt_feed **out) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(d->data);

    return dt_feed_open(out, d->data,
                        &(dt_feed_options){.part = DT_PART_TRAIN,
                                           .epoch = epoch,
                                           .first_step = first_step,
                                           .shuffle = spec->shuffle,
                                           .batch = d->batch,
                                           .last = spec->last_batch,
                                           .workers = d->workers,
                                           .replicas = d->strategy->replicas / d->workers,
                                           .policy = d->policy,
                                           .even = d->even});
}

static dt_status *iterate_job(dt_iterator **out, dt_dist_dataset *data) {
    dt_feed *feed = NULL;

    DT_TRY(dt_dist_dataset_feed(data, data->epoch, 0, &feed));
    start(out, &(dt_iterator){
                   .of = data,
                   .feed = feed,
                   .offsets = dt_alloc(((size_t)data->strategy->replicas + 1) * sizeof(int32_t)),
                   .epoch = data->epoch});
    return NULL;
}

/* Where a checkpoint was restored to. */
static void iterate_pending(dt_iterator **out, dt_dist_dataset *data) {
    dt_iterator *there = data->pending;

    data->pending = NULL;
    start(out, there);
    free(there);
}

dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data) {
    DT_LIVE(data);
    dt_dist_cursors *cursors;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_iterator_create", "place for the iterator"));
    if (!data)
        return dt_fail(DT_E_PIPELINE, NULL, "dt_iterator_create got no distributed data set");
    if (data->pending) {
        iterate_pending(out, data);
        return NULL;
    }
    if (data->data) return iterate_job(out, data);
    DT_TRY(dt_dist_cursors_open(&cursors, data->pipes, (uint64_t)data->epoch));
    start(out, &(dt_iterator){.of = data, .cursors = cursors, .epoch = data->epoch});
    return NULL;
}

dt_status *dt_dataset_iterate(dt_iterator **out, dt_dataset *d) {
    DT_LIVE(d);
    dt_cursor *alone;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_dataset_iterate", "place for the iterator"));
    if (!d || !dt_dataset_pipe(d))
        return dt_fail(DT_E_PIPELINE, NULL,
                       d ? "a data set of dt_dataset_open must be distributed before it is "
                           "iterated; the default strategy will do"
                         : "dt_dataset_iterate got no data set");
    const uint64_t epoch = dt_dataset_begin(d);
    DT_TRY(dt_cursor_open(&alone, dt_dataset_pipe(d), epoch));
    start(out, &(dt_iterator){.from = d, .alone = alone, .epoch = (int64_t)epoch});
    return NULL;
}

static void forget_last(dt_iterator *it) {
    for (int i = 0; i < it->n_last; i++) dt_tensor_unref(it->last[i]);
    free(it->last);
    it->last = NULL;
    it->n_last = 0;
}

void dt_iterator_close(dt_iterator *it) {
    dt_feed_close(it->feed);
    dt_dist_cursors_close(it->cursors);
    dt_cursor_close(it->alone);
    forget_last(it);
    free(it->offsets);
}

void dt_iterator_unref(dt_iterator *it) {
    if (!DT_LAST(it)) return;
    dt_iterator_close(it);
    if (it->of && it->of->newest == it) it->of->newest = NULL;
    dt_dist_dataset_unref(it->of);
    dt_dataset_unref(it->from);
    DT_RETIRE(it);
}

static dt_status *take_element(const dt_iterator *it, const dt_element_spec *element,
                               const dt_view *v, dt_values *out) {
    dt_tensor *whole = NULL;

    DT_TRY(dt_tensor_new(&whole, &v->type));
    memcpy(whole->data, v->data, (size_t)dt_type_bytes(&v->type));
    dt_values_set_whole(out, element->name,
                        &(dt_whole){.tensor = whole,
                                    .spread = DT_ROWS,
                                    .strategy = it->of->strategy,
                                    .offsets = it->offsets});
    dt_tensor_unref(whole);
    return NULL;
}

static dt_status *next_of_job(dt_iterator *it, dt_values **batch) {
    const dt_element_spec *elements;
    int n = dt_dataset_elements(it->of->data, &elements);
    dt_values *out = NULL;
    dt_status *s = NULL;
    dt_batch b;

    DT_GO(s, dt_feed_next(it->feed, &b));
    if (b.rows == 0) goto out;
    if (b.offsets)
        memcpy(it->offsets, b.offsets,
               ((size_t)it->of->strategy->replicas + 1) * sizeof *it->offsets);
    else dt_cut_rows(b.rows, it->of->batch, it->of->strategy->replicas, it->offsets);
    DT_GO(s, dt_values_create(&out));
    for (int i = 0; i < n; i++) DT_GO(s, take_element(it, &elements[i], &b.element[i], out));
    *batch = out;
    out = NULL;
out:
    dt_values_unref(out);
    return s;
}

static dt_status *next_alone(dt_iterator *it, dt_values **batch) {
    dt_example example;

    DT_TRY(dt_cursor_next(it->alone, &example));
    dt_status *s = example.n ? dt_values_of_example(&it->alone->pipe->spec, &example, batch) : NULL;
    dt_example_release(&example);
    return s;
}

/* The tensors themselves: the caller may put others into the batch. */
static void keep_last(dt_iterator *it, const dt_values *batch) {
    int n = 0;

    forget_last(it);
    for (int i = 0; i < batch->n; i++) n += batch->entry[i].whole ? 1 : batch->entry[i].n;
    it->last = dt_alloc((size_t)n * sizeof(dt_tensor *));
    for (int i = 0; i < batch->n; i++) {
        const dt_value_entry *e = &batch->entry[i];
        for (int k = 0; k < (e->whole ? 1 : e->n); k++)
            it->last[it->n_last++] = dt_tensor_ref(e->whole ? e->whole : e->local[k]);
    }
}

dt_status *dt_iterator_read(dt_iterator *it, dt_values **batch) {
    if (it->ended) return NULL;
    DT_TRY(it->feed      ? next_of_job(it, batch)
           : it->cursors ? dt_dist_cursors_next(it->cursors, batch)
                         : next_alone(it, batch));
    it->ended = !*batch;
    it->steps += !it->ended;
    if (it->tracked && !it->ended) keep_last(it, *batch);
    return NULL;
}

static dt_status *check_context(void) {
    if (dt_context_now() == DT_OUTSIDE) return NULL;
    return dt_fail(DT_E_NEXT_IN_REPLICA, NULL,
                   "dt_iterator_next cannot be called in a step function: it returns the values of "
                   "all replicas");
}

dt_status *dt_iterator_next(dt_iterator *it, dt_values **batch) {
    DT_LIVE(it);
    dt_values *out = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(check_context());
    DT_TRY(dt_want(batch, "dt_iterator_next", "place for the batch"));
    if (!it) return dt_fail(DT_E_PIPELINE, NULL, "dt_iterator_next got no iterator");
    DT_TRY(dt_iterator_read(it, &out));
    dt_values_unref(*batch);
    *batch = out;
    return NULL;
}
