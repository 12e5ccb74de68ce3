/*
 * Reading ahead. One thread fills a ring of batches, the caller empties it:
 *
 *        taken                    filled            slots are counted on for ever; slot number modulo depth.
 *          v                        v               Slots [taken, filled) are ready, the first of them may be lent to
 *     |  o  |  o  |  o  |  o  |     |     |         the caller. Only the thread writes `filled`, only the caller `taken`.
 *
 * The thread fills until the ring is full, then sleeps until it is half empty: it wakes rarely and works in bursts, because on
 * a machine whose every core computes, each wake-up takes a core from somebody. The caller, finding a batch ready, makes no
 * system call and takes no lock.
 *
 * Sleeping is safe by the old rule for two sides: each writes its own word, then reads the other's, in sequentially consistent
 * order. Either the sleeper sees the change, or the other sees the sleeper.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"
#include "data/dataset.h"
#include "data/order.h"

enum {
    RING_BYTES = 4 << 20, /* how much is read ahead by itself: it should stay in the last-level cache */
    LEAST_AHEAD = 2,
    MOST_AHEAD = 32,
    SMALL_FILE = 1 << 20,
    AHEAD_ROWS = 2,     /* rows are fetched into the cache so many before their turn, */
    AHEAD_BYTES = 1024, /* and so much of them: the processor goes on by itself */
};

typedef struct slot {
    int64_t rows, epoch, step;
    double prepare_s;
    dt_view *element;  /* (n) */
    dt_status *error;  /* instead of rows */
} slot;

/* One element on its way: set once, then read by the thread only. */
typedef struct track {
    const void *whole;           /* all stored rows, or NULL */
    const dt_map_plan *plan;
    int64_t stored_bytes, bytes; /* of a row as stored, in a batch */
    void *buffer;                /* a stored row, where they are not in memory */
} track;

struct dt_feed {
    _Alignas(64) _Atomic uint32_t filled;
    _Atomic uint32_t caller_waits;
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t thread_sleeps;
    _Atomic uint32_t stop;
    /* The caller's. */
    _Alignas(64) bool lent; /* the slot `taken` is in the caller's hands */
    int64_t waited_ns;
    /* Both read these. */
    uint32_t depth;
    slot *slots; /* (depth) */
    dt_arena *arena;
    dt_dataset *d;
    pthread_t thread;
    bool running;
    void *memory, *scratch;
    /* The thread's. */
    dt_feed_options o;
    const dt_rows *rows;
    int64_t count, steps, end; /* examples and batches of an epoch, the epoch after the last */
    dt_order order;
    track *tracks;     /* (d->n) */
    int64_t *chosen; /* (batch) examples of the batch at hand */
};

int64_t dt_steps_per_epoch(int64_t n, int64_t batch, dt_last_batch last)
{
    return n / batch + (last != DT_LAST_DROP && n % batch != 0);
}

/* ---- filling ---- */

/* Whether the first ring is filled row by row: that makes the first batch wait for its own rows only, and the whole file is
 * read when the ring is full and the caller at work. Not where the ring is a good part of the data, or the file small. */
static bool is_deferred(const dt_feed *f, const track *t)
{
    int64_t rows = f->rows->count;
    return rows * t->stored_bytes > SMALL_FILE && f->o.batch < rows / (4 * f->depth);
}

static dt_status *load_rows(dt_feed *f, uint32_t filled)
{
    for (int e = 0; e < f->d->n; e++) {
        track *t = &f->tracks[e];
        if (filled == (is_deferred(f, t) ? f->depth : 0))
            DT_TRY(dt_rows_whole(f->d, f->rows, e, &t->whole));
    }
    return NULL;
}

static void choose(dt_feed *f, const slot *s)
{
    for (int64_t i = 0; i < s->rows; i++)
        f->chosen[i] = dt_order_at(&f->order, s->epoch, s->step * f->o.batch + i);
}

/* Where row i's bytes will be read from, as far as they are fetched ahead; nothing where rows are not in memory. */
static const char *ahead(const dt_feed *f, const track *t, const slot *s, int64_t i, int64_t *bytes)
{
    bool in_memory = t->whole && i + AHEAD_ROWS < s->rows;
    *bytes = !in_memory ? 0 : t->stored_bytes < AHEAD_BYTES ? t->stored_bytes : AHEAD_BYTES;
    return in_memory ? (const char *)t->whole + (f->rows->first + f->chosen[i + AHEAD_ROWS]) * t->stored_bytes : NULL;
}

/* Rows lie anywhere in memory: asking for the next ones while this one is turned makes the batch twice as fast. The loop of
 * prefetches stands here because gcc takes a function of nothing else for one without effect, and removes calls of it. */
static dt_status *gather(dt_feed *f, slot *s, int e)
{
    const track *t = &f->tracks[e];
    char *out = s->element[e].data;
    dt_map_at at = {.seed = f->d->spec.map_seed, .training = f->o.part == DT_PART_TRAIN};
    s->element[e].type.dim[0] = s->rows;
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t bytes;
        const char *next = ahead(f, t, s, i, &bytes);
        const void *row;
        for (int64_t k = 0; k < bytes; k += 64)
            __builtin_prefetch(next + k);
        DT_TRY(dt_rows_get(f->d, f->rows, e, f->chosen[i], t->whole, t->buffer, &row));
        at.example = f->rows->first + f->chosen[i];
        at.pass = dt_order_pass(&f->order, s->epoch, s->step * f->o.batch + i);
        dt_map_run(t->plan, &at, row, out + i * t->bytes, f->scratch);
    }
    return NULL;
}

static dt_status *fill(dt_feed *f, slot *s)
{
    choose(f, s);
    for (int e = 0; e < f->d->n; e++)
        DT_TRY(gather(f, s, e));
    return NULL;
}

/* Makes the slot ready; false when nobody wants more. */
static bool publish(dt_feed *f)
{
    atomic_fetch_add(&f->filled, 1);
    if (atomic_load(&f->caller_waits))
        dt_futex_wake(&f->filled);
    return !atomic_load(&f->stop);
}

/* A free slot; with the ring full, not before it is half empty. NULL: stop. */
static slot *free_slot(dt_feed *f)
{
    uint32_t filled = atomic_load(&f->filled), taken = atomic_load(&f->taken);
    if (filled - taken == f->depth) {
        atomic_store(&f->thread_sleeps, 1);
        while (taken = atomic_load(&f->taken), filled - taken > f->depth / 2 && !atomic_load(&f->stop))
            dt_futex_wait(&f->taken, taken);
        atomic_store(&f->thread_sleeps, 0);
    }
    return atomic_load(&f->stop) ? NULL : &f->slots[filled % f->depth];
}

/* Loads before it looks for a slot: with the first ring full, that is the time. */
static bool put_batch(dt_feed *f, int64_t epoch, int64_t step)
{
    dt_status *error = load_rows(f, atomic_load_explicit(&f->filled, memory_order_relaxed));
    slot *s = free_slot(f);
    int64_t left = f->count - step * f->o.batch;
    if (!s) {
        dt_status_free(error);
        return false;
    }
    s->epoch = epoch;
    s->step = step;
    s->rows = left < f->o.batch ? left : f->o.batch;
    int64_t since = dt_now_ns();
    s->error = error ? error : fill(f, s);
    s->prepare_s = dt_seconds_since(since);
    bool failed = s->error != NULL;
    if (failed)
        s->rows = 0;
    return publish(f) && !failed;
}

static void put_end(dt_feed *f)
{
    slot *s = free_slot(f);
    if (!s)
        return;
    s->rows = 0;
    publish(f);
}

static void *thread_main(void *argument)
{
    dt_feed *f = argument;
    bool more = true;
    int64_t step = f->o.first_step;
    for (int64_t epoch = f->o.epoch; more && epoch < f->end; epoch++, step = 0)
        for (; more && step < f->steps; step++)
            more = put_batch(f, epoch, step);
    if (more)
        put_end(f);
    return NULL;
}

/* ---- making ---- */

/* Rounded up, so that every element of every batch begins at a cache line. */
static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

static dt_status *batch_bytes(const dt_feed *f, int64_t rows, int64_t *out)
{
    *out = 0;
    for (int e = 0; e < f->d->n; e++) {
        int64_t bytes;
        if (!dt_mul_fits(f->tracks[e].bytes, rows, &bytes) || !dt_add_fits(*out, bytes, out) || *out > INT64_MAX / 4096)
            return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at, "a batch of %lld examples of '%s' has no room in memory",
                           (long long)rows, f->d->element[e].name);
        *out += 64;
    }
    return NULL;
}

/* Batches ahead of the caller, and the one in its hands. No more than there are. */
static uint32_t choose_depth(const dt_feed *f, int64_t bytes)
{
    int64_t ahead = f->d->spec.prefetch;
    if (ahead == 0)
        ahead = RING_BYTES / (bytes + 1) < LEAST_AHEAD ? LEAST_AHEAD : RING_BYTES / (bytes + 1);
    if (f->d->spec.prefetch == 0 && ahead > MOST_AHEAD)
        ahead = MOST_AHEAD;
    int64_t left = f->steps - f->o.first_step < 0 ? 0 : f->steps - f->o.first_step;
    if (f->end - f->o.epoch == 1 && ahead > left)
        ahead = left;
    return (uint32_t)ahead + 1;
}

static void lay_out(dt_feed *f, int64_t rows)
{
    char *at = f->memory;
    f->slots = dt_arena_array(f->arena, slot, f->depth);
    for (uint32_t i = 0; i < f->depth; i++) {
        f->slots[i].element = dt_arena_array(f->arena, dt_view, f->d->n);
        for (int e = 0; e < f->d->n; e++) {
            f->slots[i].element[e] = (dt_view){.type = dt_type_at(&f->d->element[e].type, rows), .data = at};
            at += aligned(f->tracks[e].bytes * rows);
        }
    }
}

static dt_status *no_memory(const dt_feed *f, int64_t bytes)
{
    return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at, "out of memory (wanted %lld bytes for batches read ahead)", (long long)bytes);
}

static dt_status *allocate(dt_feed *f)
{
    int64_t rows = f->o.batch < f->count ? f->o.batch : f->count, bytes, scratch = 0;
    DT_TRY(batch_bytes(f, rows, &bytes));
    f->depth = choose_depth(f, bytes);
    f->memory = dt_try_alloc((size_t)(bytes * f->depth));
    if (!f->memory)
        return no_memory(f, bytes * f->depth);
    for (int e = 0; e < f->d->n; e++) {
        int64_t needed = dt_map_plan_scratch(f->tracks[e].plan);
        scratch = needed > scratch ? needed : scratch;
        f->tracks[e].buffer = dt_try_alloc((size_t)f->tracks[e].stored_bytes);
        if (!f->tracks[e].buffer)
            return no_memory(f, f->tracks[e].stored_bytes);
    }
    f->scratch = dt_try_alloc((size_t)scratch + 1);
    f->chosen = dt_try_alloc((size_t)rows * sizeof *f->chosen);
    if (!f->scratch || !f->chosen)
        return no_memory(f, scratch);
    lay_out(f, rows);
    return NULL;
}

static void prepare_tracks(dt_feed *f)
{
    f->tracks = dt_arena_array(f->arena, track, f->d->n);
    for (int e = 0; e < f->d->n; e++)
        f->tracks[e] = (track){.plan = f->rows->plan[e], .stored_bytes = dt_rows_bytes(f->rows, e),
                             .bytes = dt_type_bytes(dt_map_plan_type(f->rows->plan[e]))};
}

/* Signals are the caller's business: the thread is born with all of them blocked. */
static dt_status *start(dt_feed *f)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&f->thread, NULL, thread_main, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return dt_fail(DT_E_NO_MEMORY, NULL, "cannot start the thread that reads data: the system has none left");
    f->running = true;
    return NULL;
}

static void init(dt_feed *f, dt_dataset *d, const dt_feed_options *o)
{
    memset(f, 0, sizeof *f);
    dt_dataset_ref(d);
    f->d = d;
    f->arena = dt_arena_create();
    f->o = *o;
    f->rows = &d->rows[o->part];
    f->count = dt_dataset_count(d, o->part);
    f->steps = dt_steps_per_epoch(f->count, o->batch, o->last);
    f->end = o->epoch + (o->epochs ? o->epochs : 1);
    f->order = dt_order_make(d->spec.shuffle_seed, f->rows->count, o->part == DT_PART_TRAIN ? d->spec.repeat : 1, o->shuffle,
                             d->spec.reshuffle);
}

static dt_status *prepare(dt_feed *f)
{
    if (f->count == 0)
        return dt_fail(DT_E_DATASET_KEYS, &f->d->spec.at, "the data set has no '%s' part", dt_part_name(f->o.part));
    prepare_tracks(f);
    DT_TRY(allocate(f));
    return start(f);
}

dt_status *dt_feed_open(dt_feed **out, dt_dataset *d, const dt_feed_options *options)
{
    dt_feed *f = dt_try_alloc(sizeof *f); /* aligned as its members want it */
    *out = NULL;
    if (!f)
        dt_out_of_memory();
    init(f, d, options);
    dt_status *s = prepare(f);
    if (s)
        dt_feed_close(f);
    else
        *out = f;
    return s;
}

void dt_feed_close(dt_feed *f)
{
    if (!f)
        return;
    if (f->running) {
        atomic_store(&f->stop, 1);
        atomic_fetch_add(&f->taken, 1); /* a thread about to sleep on the old value will not */
        dt_futex_wake(&f->taken);
        pthread_join(f->thread, NULL);
    }
    for (uint32_t i = 0; f->slots && i < f->depth; i++)
        dt_status_free(f->slots[i].error);
    for (int e = 0; f->tracks && e < f->d->n; e++)
        free(f->tracks[e].buffer);
    free(f->chosen);
    free(f->scratch);
    free(f->memory);
    dt_arena_destroy(f->arena);
    dt_dataset_unref(f->d);
    free(f);
}

/* ---- emptying ---- */

/* Gives the lent slot back, and wakes the thread when that leaves the ring half empty. */
static uint32_t give_back(dt_feed *f)
{
    uint32_t taken = atomic_load_explicit(&f->taken, memory_order_relaxed);
    if (!f->lent)
        return taken;
    f->lent = false;
    atomic_store(&f->taken, ++taken);
    if (atomic_load(&f->thread_sleeps) && atomic_load(&f->filled) - taken <= f->depth / 2)
        dt_futex_wake(&f->taken);
    return taken;
}

static void wait_for(dt_feed *f, uint32_t taken)
{
    int64_t from = dt_now_ns();
    atomic_store(&f->caller_waits, 1);
    while (atomic_load(&f->filled) == taken)
        dt_futex_wait(&f->filled, taken);
    atomic_store(&f->caller_waits, 0);
    f->waited_ns += dt_now_ns() - from;
}

dt_status *dt_feed_next(dt_feed *f, dt_batch *batch)
{
    uint32_t taken = give_back(f);
    if (atomic_load_explicit(&f->filled, memory_order_acquire) == taken)
        wait_for(f, taken);
    slot *s = &f->slots[taken % f->depth];
    dt_status *error = s->error;
    s->error = NULL;
    f->lent = s->rows > 0; /* the end stays where it is, for whoever asks again */
    *batch = (dt_batch){.rows = s->rows, .epoch = s->epoch, .step = s->step, .prepare_s = s->prepare_s, .n = f->d->n, .element = s->element};
    return error;
}

int64_t dt_feed_waited_ns(const dt_feed *f)
{
    return f->waited_ns;
}
