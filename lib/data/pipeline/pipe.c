/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions and iterators: the code that all transformations share. */
#include "data/pipeline/pipe.h"

#include <stdlib.h>
#include <string.h>

/* Limits on depth and size: an iterator pulls from its inputs recursively, and a walk over a
 * description visits a shared input once for each use. */
enum { DEEPEST = 1000, LARGEST = 100000 };

/* ---- descriptions ---- */

static void release_parts(const dt_pipe_parts *parts) {
    dt_example_spec spec = parts->spec;
    if (parts->row->release) parts->row->release((void *)parts->args);
    dt_spec_release(&spec);
}

static int depth_of(const dt_pipe_parts *parts) {
    int depth = 0;
    for (int i = 0; i < parts->n_in; i++)
        if (parts->in[i]->depth > depth) depth = parts->in[i]->depth;
    return depth + 1;
}

static dt_pipe **take_inputs(dt_pipe *const *in, int n) {
    dt_pipe **out = dt_alloc((size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) out[i] = dt_pipe_ref(in[i]);
    return out;
}

static int64_t size_of(const dt_pipe_parts *parts) {
    int64_t size = 1;
    for (int i = 0; i < parts->n_in; i++) size += parts->in[i]->size;
    return size;
}

dt_pipe *dt_pipe_make(const dt_pipe_parts *parts) {
    dt_pipe *p = dt_alloc(sizeof *p);
    *p = (dt_pipe){.refs = 1,
                   .row = parts->row,
                   .n_in = parts->n_in,
                   .depth = depth_of(parts),
                   .size = size_of(parts),
                   .in = take_inputs(parts->in, parts->n_in),
                   .spec = parts->spec,
                   .owner = p,
                   .args = dt_alloc(parts->row->args_size)};
    if (parts->row->args_size) memcpy(p->args, parts->args, parts->row->args_size);
    return p;
}

dt_status *dt_pipe_create(dt_pipe **out, const dt_pipe_parts *parts) {
    if (depth_of(parts) > DEEPEST || size_of(parts) > LARGEST) {
        release_parts(parts);
        return dt_fail(
            DT_E_PIPELINE, NULL,
            "the pipeline is too large: at most %d transformations, nested at most %d deep",
            LARGEST, DEEPEST);
    }
    *out = dt_pipe_make(parts);
    return NULL;
}

dt_pipe *dt_pipe_rewrite(const dt_pipe *p, dt_pipe *const *in) {
    dt_pipe *q = dt_alloc(sizeof *q);
    *q = (dt_pipe){.refs = 1,
                   .row = p->row,
                   .n_in = p->n_in,
                   .depth = p->depth,
                   .size = p->size,
                   .in = take_inputs(in, p->n_in),
                   .spec = dt_spec_copy(&p->spec),
                   .owner = dt_pipe_ref(p->owner),
                   .args = p->args};
    return q;
}

dt_pipe *dt_pipe_ref(const dt_pipe *p) {
    /* the reference count is not part of the description, so it may change */
    dt_pipe *q = (dt_pipe *)p;
    q->refs++;
    return q;
}

void dt_pipe_unref(dt_pipe *p) {
    if (!p || --p->refs > 0) return;
    for (int i = 0; i < p->n_in; i++) dt_pipe_unref(p->in[i]);
    free(p->in);
    dt_spec_release(&p->spec);
    if (p->owner != p) {
        dt_pipe_unref((dt_pipe *)p->owner);
    } else {
        if (p->row->release) p->row->release(p->args);
        free(p->args);
    }
    free(p);
}

int64_t dt_pipe_count(const dt_pipe *p) { return p->row->count ? p->row->count(p) : DT_UNCOUNTED; }

int64_t dt_count_of_input(const dt_pipe *p) { return dt_pipe_count(p->in[0]); }

/* ---- the static batch size ---- */

int64_t dt_pipe_search_batch(const dt_pipe *p) {
    return p->row->batch_size ? p->row->batch_size(p) : DT_UNKNOWN_DIM;
}

int64_t dt_batch_of_input(const dt_pipe *p) { return dt_pipe_search_batch(p->in[0]); }

/* Uses the batch size in the spec, if all components have it. If the spec does not have it, the
 * nearest `batch` among the inputs determines it. Components whose sizes are known and differ are
 * not a batch. */
dt_status *dt_pipe_batch_size(const dt_pipe *p, int64_t *size) {
    bool known = true;
    DT_TRY(dt_spec_rows(&p->spec, size));
    for (int i = 0; i < p->spec.n; i++) known &= p->spec.c[i].type.dim[0] >= 0;
    if (!known) *size = dt_pipe_search_batch(p);
    return NULL;
}

/* ---- iterators ---- */

static dt_status *drop(dt_iterator *it, int64_t n) {
    for (dt_example example; n > 0 && !it->ended; n--) {
        DT_TRY(dt_iterator_next_example(it, &example));
        dt_example_release(&example);
    }
    return NULL;
}

dt_status *dt_iterator_open(dt_iterator **out, const dt_pipe *p, uint64_t epoch, int64_t first) {
    dt_iterator *it = dt_alloc(sizeof *it);
    *it = (dt_iterator){.refs = 1,
                        .pipe = dt_pipe_ref(p),
                        .epoch = epoch,
                        .at = p->row->seeks ? first : 0,
                        .in = dt_alloc((size_t)p->n_in * sizeof *it->in),
                        .state = dt_alloc(p->row->state_size)};
    dt_status *s = NULL;
    for (int i = 0; i < p->n_in && !s && !p->row->opens_inputs; i++)
        s = dt_iterator_open(&it->in[i], p->in[i], epoch, 0);
    if (!s && p->row->open) s = p->row->open(it);
    if (!s) s = drop(it, first - it->at);
    if (s) {
        dt_iterator_close(it);
        it = NULL;
    }
    *out = it;
    return s;
}

dt_status *dt_iterator_next_example(dt_iterator *it, dt_example *out) {
    *out = (dt_example){0};
    it->ended |= it->failed;
    if (it->ended) return NULL;
    dt_status *s = it->pipe->row->next(it, out);
    if (s) dt_example_release(out);
    it->failed = s != NULL;
    it->ended = !s && out->n == 0;
    it->at += out->n > 0;
    return s;
}

void dt_iterator_release(dt_iterator *it) {
    if (it->pipe->row->close) it->pipe->row->close(it);
    for (int i = 0; i < it->pipe->n_in; i++) dt_iterator_close(it->in[i]);
    free(it->in);
    free(it->state);
    dt_pipe_unref((dt_pipe *)it->pipe);
    dt_example_release(&it->last);
}

void dt_iterator_close(dt_iterator *it) {
    if (it) dt_iterator_release(it);
    free(it);
}
