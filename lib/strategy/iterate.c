/* SPDX-License-Identifier: Apache-2.0 */
/* Iterators for programs that use the library: over the steps of a distributed data set, or over
 * the elements of a pipeline. See iterators.h. */
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"
#include "strategy/iterators.h"

/* ---- creating iterators ---- */

/* Completes a new iterator and sets *out to it. The iterator holds a reference to what it iterates
 * over, and is the newest one of a distributed data set. */
static void start(dt_iterator **out, dt_iterator *it) {
    it->refs = 1;
    if (it->of) {
        it->of->refs++;
        it->of->newest = it;
        it->of->epoch = (int64_t)it->epoch + 1;
        it->tracked = it->of->tracked;
    }
    dt_iterator_unref(*out);
    *out = it;
}

dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data) {
    DT_LIVE(data);
    dt_iterator *it;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_iterator_create", "place for the iterator"));
    if (!data)
        return dt_fail(DT_E_PIPELINE, NULL, "dt_iterator_create got no distributed data set");
    if (data->pending) it = data->pending;
    else DT_TRY(dt_dist_dataset_open_at(&it, data, &(dt_position){.epoch = data->epoch}));
    data->pending = NULL;
    start(out, it);
    return NULL;
}

dt_status *dt_dataset_iterate(dt_iterator **out, dt_dataset *d) {
    DT_LIVE(d);
    dt_iterator *it;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_dataset_iterate", "place for the iterator"));
    if (!d || dt_dataset_has_parts(d))
        return dt_fail(DT_E_PIPELINE, NULL,
                       d ? "a data set of dt_dataset_open must be distributed before it is "
                           "iterated; the default strategy will do"
                         : "dt_dataset_iterate got no data set");
    const dt_position at = {.epoch = (int64_t)d->iterations++};
    DT_TRY(dt_iterator_open_at(&it, &(dt_iterator){.dataset = d}, &at));
    start(out, it);
    return NULL;
}

void dt_iterator_unref(dt_iterator *it) {
    if (!DT_LAST(it)) return;
    dt_iterator_release(it);
    if (it->of && it->of->newest == it) it->of->newest = NULL;
    dt_dist_dataset_unref(it->of);
    DT_RETIRE(it);
}

/* ---- making a batch from pieces ---- */

/* Whether component k of all n pieces can be joined to one tensor for the step: all have a first
 * dimension, their types are equal except in it, and there are at most INT32_MAX rows. If not, the
 * step gets one tensor per replica. */
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

static dt_status *set_joined(dt_strategy *s, const dt_example *examples, int k, const char *name,
                             dt_values *out) {
    int n = s->replicas;
    dt_tensor *whole = NULL;

    DT_TRY(dt_examples_join_one(examples, n, k, &whole));
    DT_LOCAL int32_t *offsets = dt_alloc(((size_t)n + 1) * sizeof *offsets);
    for (int r = 0; r < n; r++)
        offsets[r + 1] = offsets[r] + (int32_t)examples[r].tensor[k]->type.dim[0];
    dt_values_set_whole(out, name, &(dt_whole){whole, DT_ROWS, s, offsets});
    dt_tensor_unref(whole);
    return NULL;
}

static dt_status *set_each(const dt_strategy *s, const dt_example *examples, int k,
                           const char *name, dt_values *out) {
    int n = s->replicas;
    dt_tensor **t = dt_alloc((size_t)n * sizeof(dt_tensor *));

    for (int r = 0; r < n; r++) t[r] = examples[r].tensor[k];
    dt_status *bad = dt_values_set_per_replica(out, name, t, n);
    free(t);
    return bad;
}

/* Sets component k of a batch from the pieces of all replicas. A job's data set returns whole
 * steps, so there is one piece. */
static dt_status *set_component(const dt_iterator *it, const dt_example *pieces, int k,
                                dt_values *out) {
    dt_strategy *s = it->of->strategy;
    const char *name = it->dataset->spec.c[k].name;

    if (!pieces[0].offsets)
        return can_join(pieces, s->replicas, k) ? set_joined(s, pieces, k, name, out)
                                                : set_each(s, pieces, k, name, out);
    const int32_t *offsets = (const int32_t *)pieces[0].offsets->data;
    dt_values_set_whole(out, name, &(dt_whole){pieces[0].tensor[k], DT_ROWS, s, offsets});
    return NULL;
}

static dt_status *make_batch(const dt_iterator *it, const dt_example *step, dt_values **batch) {
    const int n = it->dataset->spec.n, pieces = step->n / n;
    dt_values *v = NULL;

    if (!it->of) return dt_values_of_example(&it->dataset->spec, step, batch);
    DT_LOCAL dt_example *piece = dt_alloc((size_t)pieces * sizeof *piece);
    for (int i = 0; i < pieces; i++)
        piece[i] = (dt_example){.n = n, .offsets = step->offsets, .tensor = step->tensor + i * n};
    dt_status *s = dt_values_create(&v);
    for (int k = 0; k < n && !s; k++) s = set_component(it, piece, k, v);
    if (s) dt_values_unref(v);
    else *batch = v;
    return s;
}

/* ---- steps ---- */

/* Keeps the tensors of the last batch, for its digest. The list of values itself is not kept,
 * because the caller may change the list. */
static void keep_last(dt_iterator *it, const dt_values *batch) {
    int n = 0, k = 0;

    for (int i = 0; i < batch->n; i++) n += batch->entry[i].whole ? 1 : batch->entry[i].n;
    dt_example_release(&it->last);
    it->last = dt_example_make(n);
    for (int i = 0; i < batch->n; i++) {
        const dt_value_entry *e = &batch->entry[i];
        for (int r = 0; r < (e->whole ? 1 : e->n); r++)
            it->last.tensor[k++] = dt_tensor_ref(e->whole ? e->whole : e->local[r]);
    }
}

/* Reads the next batch. At the end of the data, leaves *batch as it is. */
static dt_status *iterator_read(dt_iterator *it, dt_values **batch) {
    dt_example step;

    DT_TRY(dt_iterator_next_example(it, &step));
    dt_status *s = step.n > 0 ? make_batch(it, &step, batch) : NULL;
    dt_example_release(&step);
    it->failed |= s != NULL;
    if (!s && it->tracked && !it->ended) keep_last(it, *batch);
    return s;
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
    DT_TRY(iterator_read(it, &out));
    dt_values_unref(*batch);
    *batch = out;
    return NULL;
}

/* ---- references and positions ---- */

dt_iterator *dt_iterator_ref(dt_iterator *it) {
    it->refs++;
    return it;
}

dt_dist_dataset *dt_dist_dataset_ref(dt_dist_dataset *d) {
    d->refs++;
    return d;
}

void dt_iterator_track(dt_iterator *it) { it->tracked = true; }

void dt_dist_dataset_track(dt_dist_dataset *d) {
    d->tracked = true;
    if (d->newest) d->newest->tracked = true;
}

/* Hashes the last batch. If the rows of all replicas are stored as one tensor, they are hashed as
 * one, so the digest then does not depend on the number of replicas. */
static dt_digest digest_of(const dt_iterator *it) {
    dt_sha256 *h = dt_sha256_create();
    dt_local_str type = {0};

    for (int i = 0; i < it->last.n; i++) {
        const dt_tensor *t = it->last.tensor[i];
        dt_str_clear(&type);
        dt_type_print(&t->type, &type);
        dt_sha256_add(h, type.data, type.size);
        dt_sha256_add(h, t->data, (size_t)dt_type_bytes(&t->type));
    }
    return dt_sha256_end(h);
}

dt_position dt_iterator_position(const dt_iterator *it) {
    dt_position p = {.epoch = (int64_t)it->epoch, .steps = it->at, .ended = it->ended};

    if (it->last.n > 0) p.last = digest_of(it);
    return p;
}

bool dt_iterator_is_replaced(const dt_iterator *it) {
    return it->refs == 1 && it->of && it->of->newest && it->of->newest != it;
}

static bool is_under_way(const dt_dist_dataset *d) { return d->newest && !d->newest->ended; }

dt_position dt_dist_dataset_position(const dt_dist_dataset *d) {
    if (is_under_way(d)) return dt_iterator_position(d->newest);
    return d->pending ? dt_iterator_position(d->pending) : (dt_position){.epoch = d->epoch};
}

int64_t dt_dist_dataset_epoch(const dt_dist_dataset *d) {
    DT_LIVE(d);
    return !d ? 0 : is_under_way(d) ? (int64_t)d->newest->epoch : d->epoch;
}

/* ---- opening an iterator at a position ---- */

static dt_status *check_last(const dt_iterator *it, const dt_position *p) {
    if (!*p->last.hex || strcmp(digest_of(it).hex, p->last.hex) == 0) return NULL;
    return dt_suggest(
        dt_fail(DT_E_CHECKPOINT_DATA, NULL,
                "batch %lld of iteration %lld is not the batch that was read when it was saved",
                (long long)p->steps, (long long)p->epoch + 1),
        "use the same files, transformations, seed, global batch size and sharding; functions of "
        "map, filter and interleave must depend on "
        "their element alone");
}

/* If a batch was read before the position, reads the last one (`it` was opened in front of it),
 * keeps it, and compares its digest with that of the position. Fails with CHECKPOINT_DATA if there
 * are fewer batches. */
static dt_status *read_last(dt_iterator *it, const dt_position *p) {
    dt_values *batch = NULL;

    if (p->steps > 0) DT_TRY(iterator_read(it, &batch));
    dt_values_unref(batch);
    if (it->at < p->steps)
        return dt_fail(
            DT_E_CHECKPOINT_DATA, NULL,
            "iteration %lld has fewer batches than the %lld that were read when it was saved",
            (long long)p->epoch + 1, (long long)p->steps);
    it->ended = p->ended;
    return check_last(it, p);
}

dt_status *dt_iterator_open_at(dt_iterator **out, const dt_iterator *of, const dt_position *p) {
    dt_iterator *it;

    DT_TRY(dt_iterator_open(&it, of->dataset, (uint64_t)p->epoch, p->steps > 0 ? p->steps - 1 : 0));
    it->of = of->of;
    it->tracked = of->tracked;
    dt_status *s = read_last(it, p);
    if (s) dt_iterator_close(it);
    else *out = it;
    return s;
}

dt_status *dt_dist_dataset_open_at(dt_iterator **out, dt_dist_dataset *of, const dt_position *p) {
    return dt_iterator_open_at(
        out, &(dt_iterator){.of = of, .dataset = of->dataset, .tracked = of->tracked}, p);
}

/* ---- restoring a position ---- */

void dt_iterator_resume(dt_iterator *it, dt_iterator *there) {
    const dt_iterator before = *it;

    dt_iterator_release(it);
    *it = *there;
    it->refs = before.refs;
    free(there);
    if (!it->of) {
        it->dataset->iterations = it->epoch + 1;
        return;
    }
    dt_iterator_close(it->of->pending);
    it->of->pending = NULL;
    it->of->newest = it;
    it->of->epoch = (int64_t)it->epoch + 1;
}

void dt_dist_dataset_resume(dt_dist_dataset *d, dt_iterator *there) {
    if (is_under_way(d)) {
        dt_iterator_resume(d->newest, there);
        return;
    }
    dt_iterator_close(d->pending);
    d->pending = there;
    d->epoch = (int64_t)there->epoch;
}
