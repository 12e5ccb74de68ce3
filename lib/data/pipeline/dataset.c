/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets and iterators: the code that all transformations share. */

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"

/* Limits on depth and size: an iterator pulls from its inputs recursively, and a walk over a
 * description visits a shared input once for each use. */
enum { DEEPEST = 1000, LARGEST = 100000 };

/* ---- data sets ---- */

static int depth_of(const dt_dataset *d) {
    int depth = 0;
    for (int i = 0; i < d->n_in; i++)
        if (d->in[i]->depth > depth) depth = d->in[i]->depth;
    return depth + 1;
}

static const dt_dataset *const *take_inputs(const dt_dataset *const *in, int n) {
    const dt_dataset **out = dt_alloc((size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) out[i] = dt_dataset_ref(in[i]);
    return out;
}

static int64_t size_of(const dt_dataset *d) {
    int64_t size = 1;
    for (int i = 0; i < d->n_in; i++) size += d->in[i]->size;
    return size;
}

/* Sets the members that follow from the row and the inputs (depth, size, length, indexed), and
 * takes references to the inputs. */
static dt_dataset *finish(dt_dataset *d) {
    d->refs = 1;
    d->in = take_inputs(d->in, d->n_in);
    d->depth = depth_of(d);
    d->size = size_of(d);
    d->length = d->row->count ? d->row->count(d) : DT_UNCOUNTED;
    d->indexed = (d->row->at || d->row->index) && d->length != DT_UNCOUNTED;
    for (int i = 0; i < d->n_in; i++) d->indexed &= d->in[i]->indexed;
    return d;
}

dt_dataset *dt_dataset_make(const dt_dataset *of) {
    dt_dataset *d = dt_alloc(sizeof *d);
    void *args = dt_alloc(of->row->args_size);
    if (of->row->args_size) memcpy(args, of->args, of->row->args_size);
    *d = *of;
    d->args = args;
    d->owner = d;
    return finish(d);
}

dt_status *dt_dataset_replace(dt_dataset **out, dt_dataset *made) {
    dt_dataset_unref(out ? *out : made);
    if (!out) return dt_want(out, "a call that makes a data set", "place for it");
    *out = made;
    return NULL;
}

dt_status *dt_dataset_build_of(dt_dataset **out, const dt_dataset *of) {
    dt_dataset *made = dt_dataset_make(of);
    if (made->depth <= DEEPEST && made->size <= LARGEST) return dt_dataset_replace(out, made);
    dt_dataset_unref(made);
    return dt_fail(DT_E_PIPELINE, NULL,
                   "the pipeline is too large: at most %d transformations, nested at most %d deep",
                   LARGEST, DEEPEST);
}

dt_status *dt_dataset_build(dt_dataset **out, const dt_transform *row, const dt_dataset *in,
                            const void *args, dt_example_spec spec) {
    return dt_dataset_build_of(
        out, &(dt_dataset){.row = row, .in = &in, .n_in = in != NULL, .args = args, .spec = spec});
}

dt_dataset *dt_dataset_rewrite(const dt_dataset *d, const dt_dataset *const *in) {
    dt_dataset *q = dt_alloc(sizeof *q);
    *q = (dt_dataset){.row = d->row,
                      .in = in,
                      .n_in = d->n_in,
                      .args = d->args,
                      .spec = dt_spec_copy(&d->spec),
                      .owner = dt_dataset_ref(d->owner)};
    return finish(q);
}

dt_dataset *dt_dataset_ref(const dt_dataset *d) {
    /* the reference count is not part of the description, so it may change */
    dt_dataset *q = (dt_dataset *)d;
    q->refs++;
    return q;
}

void dt_dataset_unref(dt_dataset *d) {
    if (!DT_LAST(d)) return;
    for (int i = 0; i < d->n_in; i++) dt_dataset_unref((dt_dataset *)d->in[i]);
    free((void *)d->in);
    dt_spec_release(&d->spec);
    if (d->owner != d) {
        dt_dataset_unref((dt_dataset *)d->owner);
    } else {
        if (d->row->release) d->row->release((void *)d->args);
        free((void *)d->args);
    }
    DT_RETIRE(d);
}

dt_status *dt_dataset_check_input(const dt_dataset *in, const char *what) {
    DT_TRY(dt_status_kept());
    if (!in) return dt_fail(DT_E_PIPELINE, NULL, "%s: no data set given", what);
    if (dt_dataset_has_parts(in))
        return dt_fail(DT_E_PIPELINE, NULL,
                       "%s: a data set read from a job file cannot be transformed; use its 'map', "
                       "'shuffle', 'take' and 'repeat' keys; "
                       "transformations work on data sets made by dt_dataset_range, _from_tensors, "
                       "_list_files, ...",
                       what);
    return NULL;
}

/* ---- facts and examples of a data set ---- */

int64_t dt_dataset_cardinality(const dt_dataset *d) {
    DT_LIVE(d);
    return d ? d->length : 0;
}

int64_t dt_length_of_input(const dt_dataset *d) { return d->in[0]->length; }

void dt_same_index(const dt_dataset *d, const dt_indices *q) { (void)d, (void)q; }

void dt_dataset_index(const dt_dataset *d, const dt_dataset *to, const dt_indices *q) {
    for (; d != to && d->row->index; d = d->in[0]) d->row->index(d, q);
}

static bool has(const dt_dataset *d, int64_t i) {
    return i >= 0 && (i < d->length || d->length == DT_ENDLESS);
}

dt_status *dt_dataset_at(const dt_dataset *d, int64_t i, dt_example *out) {
    int64_t pass = 0;
    *out = (dt_example){0};
    for (; has(d, i) && !d->row->at; d = d->in[0]) d->row->index(d, &(dt_indices){1, &i, &pass});
    if (!has(d, i)) return NULL;
    dt_status *s = d->row->at(d, i, NULL, out);
    if (s) dt_example_release(out);
    return s;
}

int dt_dataset_components(const dt_dataset *d) {
    DT_LIVE(d);
    return d ? d->spec.n : 0;
}

bool dt_dataset_element_spec(const dt_dataset *d, int i, dt_spec *out) {
    DT_LIVE(d);
    if (i < 0 || i >= dt_dataset_components(d) || !out) return false;
    dt_spec_public(d->spec.c[i].name, &d->spec.c[i].type, out);
    return true;
}

int64_t dt_dataset_search_batch(const dt_dataset *d) {
    return d->row->batch_size ? d->row->batch_size(d)
           : d->row->index    ? dt_batch_of_input(d)
                              : DT_UNKNOWN_DIM;
}

int64_t dt_batch_of_input(const dt_dataset *d) { return dt_dataset_search_batch(d->in[0]); }

/* Sets *size to the first dimension of all components in the spec, or to -1 if these dimensions
 * are known and differ. If any is unknown, the transformations determine the size
 * (dt_dataset_search_batch). Fails if a component is a scalar. */
static dt_status *batch_size(const dt_dataset *d, int64_t *size) {
    bool known = true;
    DT_TRY(dt_spec_rows(&d->spec, size));
    for (int i = 0; i < d->spec.n; i++) known &= d->spec.c[i].type.dim[0] >= 0;
    if (!known) *size = dt_dataset_search_batch(d);
    return NULL;
}

dt_status *dt_dataset_static_batch_size(const dt_dataset *d, int64_t *size) {
    DT_LIVE(d);
    DT_TRY(dt_dataset_check_input(d, "static_batch_size"));
    DT_TRY(dt_want(size, "dt_dataset_static_batch_size", "place for the size"));
    return batch_size(d, size);
}

int64_t dt_dataset_batch_size(const dt_dataset *d) {
    int64_t size = 0;
    DT_LIVE(d);
    if (d) dt_status_free(batch_size(d, &size));
    return size;
}

/* ---- iterators ---- */

static dt_status *drop(dt_iterator *it, int64_t n) {
    for (dt_example example; n > 0 && !it->ended; n--) {
        DT_TRY(dt_iterator_next_example(it, &example));
        dt_example_release(&example);
    }
    return NULL;
}

dt_status *dt_iterator_open(dt_iterator **out, const dt_dataset *d, uint64_t epoch, int64_t first) {
    dt_iterator *it = dt_alloc(sizeof *it);
    *it = (dt_iterator){.refs = 1,
                        .dataset = dt_dataset_ref(d),
                        .epoch = epoch,
                        .at = d->row->seeks || d->indexed ? first : 0,
                        .in = dt_alloc((size_t)d->n_in * sizeof *it->in),
                        .state = dt_alloc(d->row->state_size)};
    dt_status *s = NULL;
    if (d->indexed && d->length != DT_ENDLESS && first > d->length) it->at = d->length;
    for (int i = 0; i < d->n_in && !s && !d->row->opens_inputs && !d->indexed; i++)
        s = dt_iterator_open(&it->in[i], d->in[i], epoch, 0);
    if (!s && d->row->open && !d->indexed) s = d->row->open(it);
    if (!s) s = drop(it, first - it->at);
    if (s) {
        dt_iterator_close(it);
        it = NULL;
    }
    *out = it;
    return s;
}

/* Reads the only input up to the example that `index` chooses. */
static dt_status *next_chosen(const dt_iterator *it, dt_example *out) {
    int64_t chosen = it->at, pass = 0;
    it->dataset->row->index(it->dataset, &(dt_indices){1, &chosen, &pass});
    if (chosen < 0) return NULL;
    do {
        dt_example_release(out);
        DT_TRY(dt_iterator_next_example(it->in[0], out));
    } while (out->n > 0 && it->in[0]->at <= chosen);
    return NULL;
}

static dt_status *next(dt_iterator *it, dt_example *out) {
    const dt_dataset *d = it->dataset;
    if (d->indexed) return dt_dataset_at(d, it->at, out);
    if (d->row->next) return d->row->next(it, out);
    return d->row->at ? d->row->at(d, it->at, it, out) : next_chosen(it, out);
}

dt_status *dt_input_at(const dt_dataset *d, int input, int64_t i, const dt_iterator *it,
                       dt_example *out) {
    return it ? dt_iterator_next_example(it->in[input], out) : dt_dataset_at(d->in[input], i, out);
}

dt_status *dt_iterator_next_example(dt_iterator *it, dt_example *out) {
    *out = (dt_example){0};
    it->ended |= it->failed;
    if (it->ended) return NULL;
    dt_status *s = next(it, out);
    if (s) dt_example_release(out);
    it->failed = s != NULL;
    it->ended = !s && out->n == 0;
    it->at += out->n > 0;
    return s;
}

void dt_iterator_release(dt_iterator *it) {
    if (it->dataset->row->close) it->dataset->row->close(it);
    for (int i = 0; i < it->dataset->n_in; i++) dt_iterator_close(it->in[i]);
    free(it->in);
    free(it->state);
    dt_dataset_unref(it->dataset);
    dt_example_release(&it->last);
}

void dt_iterator_close(dt_iterator *it) {
    if (it) dt_iterator_release(it);
    free(it);
}
