/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle(buffer_size, seed): keeps a buffer of buffer_size elements, and hands out a random one
 * for each element that comes in; after the last one, those that are left. The choices depend only
 * on the seed and, if each iteration uses another order, on its number.
 *
 * A job shuffles all examples of a pass. They can be read in any order, so this needs no buffer:
 * example i is element i of a permutation that is computed, not stored.
 */
#include "data/pipeline/build.h"

#include "base/random.h"

struct shuffle {
    int64_t buffer;
    uint64_t seed;
    bool anew; /* each iteration uses another order */
};

struct state {
    dt_example_list buffer;
    dt_random random;
    bool dry; /* the input has ended */
};

static dt_status *open(dt_iterator *it) {
    const struct shuffle *a = it->dataset->args;
    ((struct state *)it->state)->random =
        dt_random_stream(a->seed, "pipeline/shuffle", a->anew ? it->epoch : 0);
    return NULL;
}

static dt_status *fill(dt_iterator *it, struct state *x, int64_t most) {
    while (!x->dry && x->buffer.n < most) {
        dt_example example;
        DT_TRY(dt_iterator_next_example(it->in[0], &example));
        x->dry = example.n == 0;
        if (!x->dry) dt_example_list_push(&x->buffer, &example);
    }
    return NULL;
}

static dt_status *next(dt_iterator *it, dt_example *out) {
    struct state *x = it->state;
    DT_TRY(fill(it, x, ((const struct shuffle *)it->dataset->args)->buffer));
    if (x->buffer.n == 0) return NULL;
    uint64_t i = dt_random_below(&x->random, (uint64_t)x->buffer.n);
    *out = x->buffer.v[i];
    x->buffer.v[i] = x->buffer.v[--x->buffer.n];
    return NULL;
}

static void close(dt_iterator *it) { dt_example_list_clear(&((struct state *)it->state)->buffer); }

static const dt_transform shuffle_row = {
    .name = "shuffle",
    .args_size = sizeof(struct shuffle),
    .state_size = sizeof(struct state),
    .batch_size = dt_batch_of_input,
    .count = dt_length_of_input,
    .open = open,
    .next = next,
    .close = close,
};

dt_status *dt_dataset_shuffle(dt_dataset **out, const dt_dataset *in, int64_t buffer_size,
                              uint64_t seed, bool reshuffle_each_iteration) {
    DT_LIVE(in);
    const struct shuffle args = {buffer_size, seed, reshuffle_each_iteration};
    DT_TRY(dt_dataset_check_input(in, "shuffle"));
    if (buffer_size < 1 || buffer_size > INT32_MAX)
        return dt_fail(DT_E_PIPELINE, NULL, "shuffle: buffer_size must be from 1 to %d, got %lld",
                       INT32_MAX, (long long)buffer_size);
    return dt_dataset_build(out, &shuffle_row, in, &args, dt_spec_copy(&in->spec));
}

/* ---- all examples ---- */

static void index_permuted(const dt_dataset *d, const dt_indices *q) {
    const struct shuffle *a = d->args;
    dt_permutation p = {0};
    for (int64_t i = 0, pass = -1; i < q->n; i++) {
        const int64_t of = a->anew ? q->pass[i] : 0;
        if (of != pass)
            p = dt_permutation_make(a->seed, "shuffle", (uint64_t)of, (uint64_t)d->length);
        q->example[i] = (int64_t)dt_permutation_at(&p, (uint64_t)q->example[i]);
        pass = of;
    }
}

static const dt_transform permute_row = {
    .name = "shuffle",
    .args_size = sizeof(struct shuffle),
    .count = dt_length_of_input,
    .index = index_permuted,
};

dt_status *dt_dataset_add_shuffle(dt_dataset **out, const dt_dataset *in, uint64_t seed,
                                  bool reshuffle_each_iteration) {
    const struct shuffle args = {in->length, seed, reshuffle_each_iteration};
    return dt_dataset_build(out, &permute_row, in, &args, dt_spec_copy(&in->spec));
}
