/* SPDX-License-Identifier: Apache-2.0 */
/* See batches.h. What a batch holds is a function of its number (fill.h), so nothing is remembered
 * between two of them. */
#include "data/batches.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "data/fill.h"

struct dt_batches {
    dt_arena *arena;
    dt_dataset *d;
    dt_filler *filler;
    int64_t batch, count, steps; /* examples and batches of an epoch */
    dt_view *element;
    bool *deferred; /* all false: a worker reads files whole when it first needs them */
    void *memory;
};

static dt_status *allocate(dt_batches *b) {
    int64_t bytes = 0, most = b->batch < b->count ? b->batch : b->count;
    b->element = dt_arena_array(b->arena, dt_view, b->d->n);
    b->deferred = dt_arena_array(b->arena, bool, b->d->n);
    for (int e = 0; e < b->d->n; e++) {
        b->element[e].type = dt_type_at(&b->d->element[e].type, most);
        bytes += (dt_type_bytes(&b->element[e].type) + 63) / 64 * 64;
    }
    b->memory = dt_try_alloc((size_t)bytes);
    if (!b->memory)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for a batch (%lld bytes)",
                       (long long)bytes);
    char *at = b->memory;
    for (int e = 0; e < b->d->n; e++) {
        b->element[e].data = at;
        at += (dt_type_bytes(&b->element[e].type) + 63) / 64 * 64;
    }
    return NULL;
}

dt_status *dt_batches_open(dt_batches **out, dt_dataset *d, int64_t batch) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(d);
    dt_batches *b = dt_alloc(sizeof *b);
    *b = (dt_batches){.arena = dt_arena_create(),
                      .d = d,
                      .batch = batch,
                      .count = dt_dataset_count(d, DT_PART_TRAIN)};
    b->steps = dt_steps_per_epoch(b->count, batch, spec->last_batch);
    dt_status *s = allocate(b);
    if (!s)
        s = dt_filler_create(
            &b->filler, &(dt_filler_options){
                            .d = d,
                            .part = DT_PART_TRAIN,
                            .most_rows = batch,
                            .deferred = b->deferred,
                            .order = dt_order_make(spec->shuffle_seed, d->rows[DT_PART_TRAIN].count,
                                                   spec->repeat, spec->shuffle, spec->reshuffle)});
    if (s) dt_batches_close(b);
    else *out = b;
    return s;
}

dt_status *dt_batches_read(dt_batches *b, int64_t number, dt_batch *out) {
    int64_t spent[DT_SPENT_KINDS] = {0};
    const int64_t step = number % b->steps, left = b->count - step * b->batch,
                  rows = left < b->batch ? left : b->batch, since = dt_now_ns();
    for (int e = 0; e < b->d->n; e++) b->element[e].type.dim[0] = rows;
    DT_TRY(dt_filler_run(b->filler,
                         &(dt_piece){.epoch = number / b->steps,
                                     .step = step,
                                     .first = step * b->batch,
                                     .rows = rows,
                                     .element = b->element,
                                     .load = true},
                         spent));
    *out = (dt_batch){.rows = rows,
                      .epoch = number / b->steps,
                      .step = step,
                      .n = b->d->n,
                      .element = b->element,
                      .waited_s = dt_seconds_since(since)};
    for (int i = 0; i < DT_SPENT_KINDS; i++) out->spent_s[i] = 1e-9 * (double)spent[i];
    return NULL;
}

void dt_batches_close(dt_batches *b) {
    if (!b) return;
    dt_filler_destroy(b->filler);
    free(b->memory);
    dt_arena_destroy(b->arena);
    free(b);
}
