/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interleave: expands each element into a pipeline. Up to cycle_length pipelines are open at a
 * time, and block_length elements are taken from each in turn. When one ends, the pipeline of the
 * next element takes over its slot the next time it is that slot's turn. flat_map is interleave
 * with a cycle_length of 1.
 */
#include "data/pipeline/build.h"

#include <stdlib.h>

enum { LONGEST_CYCLE = 4096 };

struct state {
    dt_iterator **open; /* [cycle_length] iterators over the open pipelines; NULL: an empty slot */
    /* number of open pipelines, the slot whose turn it is, and the number of elements taken from it
     * in this turn */
    int64_t n_open, turn, taken;
    bool dry; /* the input has ended */
};

static dt_status *open(dt_iterator *it) {
    const dt_example_function *x = it->dataset->args;
    ((struct state *)it->state)->open = dt_alloc((size_t)x->cycle_length * sizeof(dt_iterator *));
    return NULL;
}

static void advance(const dt_example_function *x, struct state *s) {
    s->turn = (s->turn + 1) % x->cycle_length;
    s->taken = 0;
}

/* Opens the pipeline of the next element in the current slot; if there is no element, advances to
 * the next slot. */
static dt_status *fill(dt_iterator *it, const dt_example_function *x, struct state *s) {
    dt_example example = {0};
    dt_dataset *inner = NULL;
    if (!s->dry) DT_TRY(dt_iterator_next_example(it->in[0], &example));
    s->dry |= example.n == 0;
    if (s->dry) {
        advance(x, s);
        return NULL;
    }
    dt_status *bad = x->expand(&example, x->user, &inner);
    dt_example_release(&example);
    if (!bad) bad = dt_iterator_open(&s->open[s->turn], inner, it->epoch, 0);
    dt_dataset_unref(inner);
    s->n_open += bad == NULL;
    return bad;
}

static dt_status *take(dt_iterator *it, const dt_example_function *x, struct state *s,
                       dt_example *out) {
    DT_TRY(dt_iterator_next_example(s->open[s->turn], out));
    if (out->n > 0) {
        if (++s->taken == x->block_length) advance(x, s);
        return dt_spec_check(&it->dataset->spec, out, "interleave");
    }
    dt_iterator_close(s->open[s->turn]);
    s->open[s->turn] = NULL;
    s->n_open--;
    advance(x, s);
    return NULL;
}

static dt_status *next(dt_iterator *it, dt_example *out) {
    const dt_example_function *x = it->dataset->args;
    struct state *s = it->state;
    while (out->n == 0 && (!s->dry || s->n_open > 0))
        DT_TRY(s->open[s->turn] ? take(it, x, s, out) : fill(it, x, s));
    return NULL;
}

static void close(dt_iterator *it) {
    const dt_example_function *x = it->dataset->args;
    struct state *s = it->state;
    for (int64_t i = 0; s->open && i < x->cycle_length; i++) dt_iterator_close(s->open[i]);
    free(s->open);
}

static int64_t count(const dt_dataset *p) {
    int64_t n = dt_length_of_input(p);
    return n == 0 || n == DT_ENDLESS ? n : DT_UNCOUNTED;
}

#define INTERLEAVES                                                                                \
    .args_size = sizeof(dt_example_function), .state_size = sizeof(struct state), .count = count,  \
    .open = open, .next = next, .close = close, .release = dt_example_function_release
static const dt_transform interleave_row = {.name = "interleave", INTERLEAVES};
static const dt_transform read_files_row = {.name = "read_files", .reads_files = true, INTERLEAVES};

static dt_status *check(const dt_example_function *x) {
    if (x->cycle_length < 1 || x->cycle_length > LONGEST_CYCLE)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "interleave: cycle_length must be from 1 to %d, got %lld", LONGEST_CYCLE,
                       (long long)x->cycle_length);
    if (x->block_length < 1)
        return dt_fail(DT_E_PIPELINE, NULL, "interleave: block_length must be at least 1, got %lld",
                       (long long)x->block_length);
    return NULL;
}

dt_status *dt_dataset_build_interleave(dt_dataset **out, const dt_dataset *in,
                                       const dt_example_function *x, bool files,
                                       dt_example_spec spec) {
    const dt_transform *row = files ? &read_files_row : &interleave_row;
    dt_status *s = check(x);
    if (!s) return dt_dataset_build(out, row, in, x, spec);
    dt_example_function_release((void *)x);
    dt_spec_release(&spec);
    return s;
}
