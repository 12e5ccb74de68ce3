/* SPDX-License-Identifier: Apache-2.0 */
/* Iterators for programs that use the library: over the steps of a distributed data set, or over
 * the elements of a pipeline. See iterators.h. */
#include <stdlib.h>

#include "data/pipeline/build.h"
#include "strategy/iterators.h"

/* ---- creating iterators ---- */

/* Sets *out to a new iterator, which holds a reference to what it iterates over. */
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

/* Whether component k of all pieces can be joined to one tensor for the step, because shapes are
 * equal except in the first dimension. If not, the step gets one tensor per replica. */
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

/* Keeps the tensors of the last batch. The list of values itself is not kept, because the caller
 * may change its contents. */
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

dt_status *dt_iterator_read(dt_iterator *it, dt_values **batch) {
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
    DT_TRY(dt_iterator_read(it, &out));
    dt_values_unref(*batch);
    *batch = out;
    return NULL;
}
