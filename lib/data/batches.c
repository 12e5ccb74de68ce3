/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of a job's data set. Opening an iterator over them chooses the depth of its ring
 * and the number of threads, and lays out the batches in memory. See feed.c. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/thread.h"
#include "data/feed.h"

enum {
    /* bytes to read ahead by default, which should fit into the last-level cache */
    RING_BYTES = 4 << 20,
    LEAST_AHEAD = 2,
    MOST_AHEAD = 32,
    SMALL_FILE = 1 << 20,
    MOST_BY_THEMSELVES = 16,
};

int64_t dt_steps_per_epoch(int64_t n, int64_t batch, dt_last_batch last) {
    return n / batch + (last != DT_LAST_DROP && n % batch != 0);
}

/* Whether an element's rows are read one by one in the first f->depth batches. The first batch then
 * waits for its own rows only; the whole file may be read for the batches after these, when the
 * caller has earlier batches to use. This does not pay if the ring holds a large share of the data,
 * or if the file is small. */
static bool is_deferred(const dt_feed *f, int e) {
    int64_t rows = dt_rows_count(f->rows);
    return rows * dt_rows_bytes(f->rows, e) > SMALL_FILE && f->o.batch < rows / (4 * f->depth);
}

/* Sets f->most_threads, the largest number of reading threads, and returns how many to start with:
 * 1 if neither the options nor the job give a number, otherwise the largest number. */
static int choose_threads(dt_feed *f) {
    int wanted = f->o.threads > 0 ? f->o.threads : f->d->spec.parallel, cores = dt_cores();
    f->most_threads = wanted == 0 ? (cores < MOST_BY_THEMSELVES ? cores : MOST_BY_THEMSELVES)
                      : wanted < DT_FEED_MOST_THREADS ? wanted
                                                      : DT_FEED_MOST_THREADS;
    return wanted == 0 ? 1 : f->most_threads;
}

/* Returns the bytes that the reading threads need for decoding, besides the batches. */
static int64_t decoding_bytes(dt_feed *f) {
    const dt_examples *x = f->rows->x;
    choose_threads(f);
    return x && x->reader->decoding ? x->reader->decoding(x, f->most_threads) : 0;
}

/* Returns the bytes of a row of element e in a batch. */
static int64_t row_bytes(const dt_feed *f, int e) {
    return dt_type_bytes(dt_map_plan_type(f->rows->plan[e]));
}

static dt_status *batch_bytes(const dt_feed *f, int64_t *out) {
    *out = 0;
    for (int e = 0; e < f->d->n; e++) {
        int64_t bytes;
        if (!dt_mul_fits(row_bytes(f, e), f->most_rows, &bytes) || !dt_add_fits(*out, bytes, out) ||
            *out > INT64_MAX / 4096)
            return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at,
                           "a batch of %lld examples of '%s' does not fit in memory",
                           (long long)f->most_rows, f->d->element[e].name);
        *out += 64;
    }
    return NULL;
}

/* Returns the number of slots of the ring: batches of `bytes` bytes to read ahead, one that is
 * current, and those before it that the caller keeps. No more batches are read ahead than the feed
 * has. 1 if the caller's thread does the reading. */
static uint32_t choose_depth(const dt_feed *f, int64_t bytes) {
    int64_t ahead = f->d->spec.prefetch;
    if (f->by_caller) return 1;
    if (ahead == 0)
        ahead = RING_BYTES / (bytes + 1) < LEAST_AHEAD ? LEAST_AHEAD : RING_BYTES / (bytes + 1);
    if (f->d->spec.prefetch == 0 && ahead > MOST_AHEAD) ahead = MOST_AHEAD;
    return (uint32_t)(ahead > f->batches ? f->batches : ahead) + 1 + (uint32_t)f->o.keeps;
}

static void lay_out(dt_feed *f) {
    int64_t at = 0;
    f->slots = dt_arena_array(f->arena, dt_slot, f->depth);
    for (uint32_t i = 0; i < f->depth; i++) {
        dt_slot *s = &f->slots[i];
        atomic_init(&s->left, f->pieces);
        s->tensor = dt_arena_array(f->arena, dt_tensor *, f->d->n);
        for (int e = 0; e < f->d->n; e++) {
            const dt_type type = dt_type_at(&f->d->element[e].type, f->most_rows);
            s->tensor[e] =
                dt_tensor_part(f->memory, &type, at / (int64_t)dt_dtype_size(type.dtype));
            at += dt_aligned(row_bytes(f, e) * f->most_rows);
        }
    }
}

static dt_status *allocate(dt_feed *f) {
    int64_t bytes;
    DT_TRY(batch_bytes(f, &bytes));
    f->depth = choose_depth(f, bytes);
    f->pieces = f->rows->x && f->rows->x->encoded ? DT_FEED_MOST_PIECES : 1;
    const dt_type ring = dt_type_of(DT_UINT8, 1, (const int64_t[]){bytes * f->depth});
    dt_status *s = dt_tensor_new(&f->memory, &ring);
    if (s) {
        dt_status_free(s);
        return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at,
                       "out of memory (wanted %lld bytes for batches read ahead)",
                       (long long)ring.dim[0]);
    }
    f->deferred = dt_arena_array(f->arena, bool, f->d->n);
    for (int e = 0; e < f->d->n; e++) f->deferred[e] = !f->by_caller && is_deferred(f, e);
    lay_out(f);
    return NULL;
}

static int64_t count_batches(const dt_feed *f) {
    int64_t all, epochs = f->o.epochs ? f->o.epochs : 1;
    if (!dt_mul_fits(f->steps, epochs, &all) || all > INT64_MAX / DT_FEED_MOST_PIECES)
        all = INT64_MAX / DT_FEED_MOST_PIECES;
    return all > f->o.first_step ? all - f->o.first_step : 0;
}

static void init(dt_feed *f, const dt_dataset *data, const dt_batch_options *o) {
    dt_parts *d = dt_parts_of(data);
    memset(f, 0, sizeof *f);
    f->data = data;
    f->d = d;
    f->arena = dt_arena_create();
    f->o = *o;
    f->by_caller = o->by_number || dt_dataset_is_once(data);
    if (f->by_caller) f->o.threads = 1;
    f->opened_ns = dt_now_ns();
    f->rows = &d->rows[o->part];
    f->count = dt_dataset_count(data, o->part);
    f->workers = (dt_workers){.part = o->part,
                              .n = o->workers ? o->workers : 1,
                              .replicas = o->replicas ? o->replicas : 1,
                              .batch = o->batch,
                              .repeat = o->part == DT_PART_TRAIN ? d->spec.repeat : 1,
                              .last = o->last,
                              .shuffle = o->shuffle,
                              .even = o->even};
}

/* Prepares f->workers, which determines the examples of each batch, and allocates f->offsets if
 * there are input workers. Sets most_rows, steps and batches. */
static dt_status *divide(dt_feed *f) {
    dt_workers *w = &f->workers;
    DT_TRY(dt_workers_policy(f->data, f->o.policy, f->o.workers, &w->policy));
    DT_TRY(dt_workers_prepare(w, f->arena, f->data));
    const dt_type offsets = dt_type_of(DT_INT32, 1, (const int64_t[]){w->n * w->replicas + 1});
    if (f->o.workers) DT_TRY(dt_tensor_new(&f->offsets, &offsets));
    const bool full = f->o.batch < f->count || w->streams > 1 || dt_dataset_is_once(f->data);
    f->most_rows = full ? f->o.batch : f->count;
    f->steps = w->steps;
    f->batches = f->steps > 0 ? count_batches(f) : 0;
    return NULL;
}

/* Names the kinds of spans that a recording shows. */
static void make_marks(dt_feed *f) {
    dt_recorder *r = f->o.recorder;
    f->caller = dt_recorder_track(r, "main", DT_FEED_SPANS);
    f->fill_mark =
        dt_recorder_mark(r, &(dt_mark){"prepare data",
                                       "data",
                                       NULL,
                                       {"batch", "piece", "reading_ns", "decoding_ns", "map_ns"}});
    f->room_mark = dt_recorder_mark(r, &(dt_mark){"wait for room", "wait", NULL, {"batch"}});
    f->wait_mark = dt_recorder_mark(r, &(dt_mark){"wait for data", "wait", NULL, {"batch"}});
}

int64_t dt_batches_bytes(const dt_dataset *data, const dt_batch_options *o) {
    dt_parts *d = dt_parts_of(data);
    dt_feed f = {
        .d = d, .o = *o, .rows = &d->rows[o->part], .count = dt_dataset_count(data, o->part)};
    int64_t bytes, all;
    if (f.count == 0) return 0;
    f.most_rows = o->batch < f.count ? o->batch : f.count;
    f.steps = dt_steps_per_epoch(f.count, o->batch, o->last);
    f.batches = count_batches(&f);
    dt_status *s = batch_bytes(&f, &bytes);
    const bool known = !s && dt_mul_fits(bytes, choose_depth(&f, bytes), &all);
    dt_status_free(s); /* the error is reported when the feed is opened */
    return known && dt_add_fits(all, decoding_bytes(&f), &all) ? all : INT64_MAX;
}

static dt_status *prepare(dt_feed *f) {
    if (f->count == 0)
        return dt_fail(DT_E_DATASET_KEYS, &f->d->spec.at, "the data set has no '%s' part",
                       dt_part_name(f->o.part));
    DT_TRY(divide(f));
    DT_TRY(allocate(f));
    make_marks(f);
    for (int n = choose_threads(f); f->n_threads < n;) DT_TRY(dt_feed_add_thread(f));
    return NULL;
}

/* ---- closing ---- */

static void join_threads(dt_feed *f) {
    atomic_store(&f->stop, 1);
    /* a thread that is about to sleep on the old value will see the change and not sleep */
    atomic_fetch_add(&f->taken, 1);
    dt_futex_wake(&f->taken);
    for (int i = 0; i < f->n_threads; i++) {
        if (!f->by_caller) pthread_join(f->readers[i].thread, NULL);
        dt_filler_destroy(f->readers[i].filler);
    }
}

static void close_feed(dt_feed *f) {
    if (!f) return;
    join_threads(f);
    for (uint32_t i = 0; f->slots && i < f->depth; i++) {
        dt_feed_take_back(f, &f->slots[i]);
        dt_status_free(f->slots[i].refused);
        for (int k = 0; k < f->pieces; k++) dt_status_free(f->slots[i].piece[k].error);
        for (int e = 0; e < f->d->n; e++) dt_tensor_unref(f->slots[i].tensor[e]);
    }
    dt_workers_release(&f->workers);
    dt_tensor_unref(f->offsets);
    dt_tensor_unref(f->memory);
    dt_arena_destroy(f->arena);
    free(f);
}

/* ---- the data set of batches ---- */

static dt_status *open_feed(dt_feed **out, const dt_dataset *d, const dt_batch_options *options) {
    /* The memory must be aligned as the members of dt_feed require. */
    dt_feed *f = dt_try_alloc(sizeof *f);
    *out = NULL;
    if (!f) return dt_fail(DT_E_NO_MEMORY, &dt_parts_of(d)->spec.at, "out of memory to read data");
    init(f, d, options);
    dt_status *s = prepare(f);
    if (s) close_feed(f);
    else *out = f;
    return s;
}

static dt_status *open(dt_iterator *it) {
    dt_batch_options o = *(const dt_batch_options *)it->dataset->args;
    o.epoch = (int64_t)it->epoch;
    o.first_step = it->at;
    return open_feed(it->state, it->dataset->in[0], &o);
}

static dt_status *next(dt_iterator *it, dt_example *out) {
    dt_example batch;
    DT_TRY(dt_feed_next(dt_feed_of(it), &batch));
    if (batch.rows > 0) *out = dt_example_ref(&batch);
    return NULL;
}

static void close(dt_iterator *it) { close_feed(dt_feed_of(it)); }

static const dt_transform batches_row = {
    .name = "batches",
    .args_size = sizeof(dt_batch_options),
    .state_size = sizeof(dt_feed *),
    .opens_inputs = true,
    .seeks = true,
    .open = open,
    .next = next,
    .close = close,
};

dt_dataset *dt_dataset_batches(const dt_dataset *d, const dt_batch_options *o) {
    return dt_dataset_make(&(dt_dataset){
        .row = &batches_row, .in = &d, .n_in = 1, .args = o, .spec = dt_spec_copy(&d->spec)});
}

dt_status *dt_iterator_open_batches(dt_iterator **out, const dt_dataset *d,
                                    const dt_batch_options *o) {
    dt_dataset *batches = dt_dataset_batches(d, o);
    dt_status *s = dt_iterator_open(out, batches, (uint64_t)o->epoch, o->first_step);
    dt_dataset_unref(batches);
    return s;
}
