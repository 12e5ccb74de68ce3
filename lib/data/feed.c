/*
 * Reading ahead. Threads fill a ring of batches, the caller empties it:
 *
 *        taken              next                    slots are counted on for ever; slot number modulo depth.
 *          v                 v                      Batches before `taken` were given to the caller. Threads take pieces of batches in
 *     |  o  |  o  |  o  | :. |     |     |          order, each the next one that nobody has; a batch is ready when all its pieces are.
 *
 * A batch whose examples are decoded has several pieces, so that threads share the one that is waited for. What a piece holds follows from its
 * number, so neither batches nor their order depend on who fills what; the caller takes batch after batch, and meets errors where their examples stand.
 *
 * A thread fills until the ring is full, then sleeps until it is half empty: it wakes rarely and works in bursts, because on a machine whose every core
 * computes, each wake-up takes a core from somebody. For the same reason there is one thread to begin with; another one is started when the caller
 * stood still for data a good part of the time. The caller, finding a batch ready, makes no system call and takes no lock.
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
#include "data/fill.h"

enum {
    RING_BYTES = 4 << 20, /* how much is read ahead by itself: it should stay in the last-level cache */
    LEAST_AHEAD = 2,
    MOST_AHEAD = 32,
    SMALL_FILE = 1 << 20,
    MOST_THREADS = 64,
    MOST_BY_THEMSELVES = 16,
    MOST_PIECES = 8,
    PATIENCE_NS = 5000000, /* waits in all before another thread is started, */
    PATIENCE_PART = 20,    /* and what part of the time they are then */
};

static const int64_t AWAKE = INT64_MAX;

/* A piece of a batch, as it came out. */
typedef struct outcome {
    dt_status *error;
    int64_t spent_ns[DT_SPENT_KINDS];
} outcome;

typedef struct slot {
    _Atomic uint32_t ready;  /* the batch that it holds, plus 1 */
    _Atomic int left;        /* pieces that are not done */
    dt_view *element;        /* (n) */
    outcome piece[MOST_PIECES];
} slot;

typedef struct reader {
    struct dt_feed *feed;
    dt_filler *filler;
    pthread_t thread;
    _Atomic int64_t wants;   /* while it sleeps: how many batches must be taken before it goes on; else AWAKE */
} reader;

/* What batch number b is. */
typedef struct header {
    int64_t epoch, step, rows;
} header;

struct dt_feed {
    _Alignas(64) _Atomic int64_t next;  /* the piece that nobody has taken yet */
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    _Alignas(64) _Atomic uint32_t caller_waits;
    /* The caller's. */
    _Alignas(64) int64_t at;  /* the batch that comes next */
    bool lent;                /* the one before it is in the caller's hands */
    bool ended;
    int64_t opened_ns, waited_ns, waited_first_ns;
    int n_threads, most_threads;
    reader readers[MOST_THREADS];
    /* All read these. */
    uint32_t depth;
    int pieces;               /* of a batch */
    slot *slots;              /* (depth) */
    bool *deferred;           /* (d->n) */
    dt_arena *arena;
    dt_dataset *d;
    void *memory;
    dt_feed_options o;
    const dt_rows *rows;
    int64_t count, steps, batches; /* examples and batches of an epoch; batches in all */
    int64_t most_rows;        /* of a batch */
    dt_order order;
};

int64_t dt_steps_per_epoch(int64_t n, int64_t batch, dt_last_batch last)
{
    return n / batch + (last != DT_LAST_DROP && n % batch != 0);
}

/* ---- what a batch is ---- */

static header header_of(const dt_feed *f, int64_t batch)
{
    int64_t i = f->o.first_step + batch, step = i % f->steps, left = f->count - step * f->o.batch;
    return (header){.epoch = f->o.epoch + i / f->steps, .step = step, .rows = left < f->o.batch ? left : f->o.batch};
}

/* Piece k of a batch: a batch of few rows has empty ones. */
static dt_piece piece_of(const dt_feed *f, int64_t batch, int k, const slot *s)
{
    header h = header_of(f, batch);
    int64_t from = h.rows * k / f->pieces, to = h.rows * (k + 1) / f->pieces;
    return (dt_piece){.epoch = h.epoch, .first = h.step * f->o.batch + from, .rows = to - from, .into = from, .element = s->element,
                      .load = batch >= f->depth};
}

/* Whether the first ring is filled row by row: that makes the first batch wait for its own rows only, and the whole file is
 * read when the ring is full and the caller at work. Not where the ring is a good part of the data, or the file small. */
static bool is_deferred(const dt_feed *f, int e)
{
    int64_t rows = f->rows->count;
    return rows * dt_rows_bytes(f->rows, e) > SMALL_FILE && f->o.batch < rows / (4 * f->depth);
}

/* ---- filling ---- */

/* A free slot for that batch; with the ring full, not before it is half empty. False: stop. */
static bool wait_for_room(dt_feed *f, reader *r, int64_t batch)
{
    uint32_t b = (uint32_t)batch, taken = atomic_load(&f->taken);
    if (b - taken >= f->depth) {
        atomic_store(&r->wants, batch - f->depth / 2);
        atomic_fetch_add(&f->sleepers, 1);
        while (taken = atomic_load(&f->taken), b - taken > f->depth / 2 && !atomic_load(&f->stop))
            dt_futex_wait(&f->taken, taken);
        atomic_fetch_sub(&f->sleepers, 1);
        atomic_store(&r->wants, AWAKE);
    }
    return !atomic_load(&f->stop);
}

/* A piece is done; with the last one of its batch, that is ready. */
static void publish(dt_feed *f, slot *s, int64_t batch)
{
    if (atomic_fetch_sub(&s->left, 1) > 1)
        return;
    atomic_store(&s->ready, (uint32_t)batch + 1);
    if (atomic_load(&f->caller_waits))
        dt_futex_wake(&s->ready);
}

static void *thread_main(void *argument)
{
    reader *r = argument;
    dt_feed *f = r->feed;
    for (;;) {
        int64_t number = atomic_fetch_add(&f->next, 1), batch = number / f->pieces;
        int k = (int)(number % f->pieces);
        if (batch >= f->batches || !wait_for_room(f, r, batch))
            return NULL;
        slot *s = &f->slots[batch % f->depth];
        dt_piece p = piece_of(f, batch, k, s);
        s->piece[k] = (outcome){0};
        s->piece[k].error = dt_filler_run(r->filler, &p, s->piece[k].spent_ns);
        publish(f, s, batch);
    }
}

/* ---- threads ---- */

/* Signals are the caller's business: the thread is born with all of them blocked. */
static dt_status *start_thread(reader *r)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&r->thread, NULL, thread_main, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? dt_fail(DT_E_NO_MEMORY, NULL, "cannot start the thread that reads data: the system has none left") : NULL;
}

static dt_status *add_thread(dt_feed *f)
{
    reader *r = &f->readers[f->n_threads];
    *r = (reader){.feed = f, .wants = AWAKE};
    DT_TRY(dt_filler_create(&r->filler, &(dt_filler_options){.d = f->d, .part = f->o.part, .looks = f->o.looks, .order = f->order, .most_rows = f->most_rows,
                                                             .deferred = f->deferred}));
    dt_status *s = start_thread(r);
    if (s)
        dt_filler_destroy(r->filler);
    else
        f->n_threads++;
    return s;
}

/* A second thread that cannot be had is done without. */
static void add_thread_if_needed(dt_feed *f)
{
    int64_t waited = f->waited_ns - f->waited_first_ns, all = dt_now_ns() - f->opened_ns - f->waited_first_ns;
    if (f->n_threads < f->most_threads && waited > PATIENCE_NS && waited > all / PATIENCE_PART)
        dt_status_free(add_thread(f));
}

/* How many at once, and at most. */
static int choose_threads(dt_feed *f)
{
    int told = f->o.threads > 0 ? f->o.threads : f->d->spec.parallel, cores = dt_cores();
    f->most_threads = told == 0 ? (cores < MOST_BY_THEMSELVES ? cores : MOST_BY_THEMSELVES) : told < MOST_THREADS ? told : MOST_THREADS;
    return told == 0 ? 1 : f->most_threads;
}

/* ---- making ---- */

/* Rounded up, so that every element of every batch begins at a cache line. */
static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

static int64_t row_bytes(const dt_feed *f, int e)
{
    return dt_type_bytes(dt_map_plan_type(f->rows->plan[e]));
}

static dt_status *batch_bytes(const dt_feed *f, int64_t *out)
{
    *out = 0;
    for (int e = 0; e < f->d->n; e++) {
        int64_t bytes;
        if (!dt_mul_fits(row_bytes(f, e), f->most_rows, &bytes) || !dt_add_fits(*out, bytes, out) || *out > INT64_MAX / 4096)
            return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at, "a batch of %lld examples of '%s' has no room in memory",
                           (long long)f->most_rows, f->d->element[e].name);
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
    return (uint32_t)(ahead > f->batches ? f->batches : ahead) + 1;
}

static void lay_out(dt_feed *f)
{
    char *at = f->memory;
    f->slots = dt_arena_array(f->arena, slot, f->depth);
    for (uint32_t i = 0; i < f->depth; i++) {
        slot *s = &f->slots[i];
        atomic_init(&s->left, f->pieces);
        s->element = dt_arena_array(f->arena, dt_view, f->d->n);
        for (int e = 0; e < f->d->n; e++) {
            s->element[e] = (dt_view){.type = dt_type_at(&f->d->element[e].type, f->most_rows), .data = at};
            at += aligned(row_bytes(f, e) * f->most_rows);
        }
    }
}

static dt_status *allocate(dt_feed *f)
{
    int64_t bytes;
    DT_TRY(batch_bytes(f, &bytes));
    f->depth = choose_depth(f, bytes);
    f->pieces = f->d->spec.format->unpack ? MOST_PIECES : 1;
    f->memory = dt_try_alloc((size_t)(bytes * f->depth));
    if (!f->memory)
        return dt_fail(DT_E_NO_MEMORY, &f->d->spec.at, "out of memory (wanted %lld bytes for batches read ahead)", (long long)(bytes * f->depth));
    f->deferred = dt_arena_array(f->arena, bool, f->d->n);
    for (int e = 0; e < f->d->n; e++)
        f->deferred[e] = is_deferred(f, e);
    lay_out(f);
    return NULL;
}

static int64_t count_batches(const dt_feed *f)
{
    int64_t all, epochs = f->o.epochs ? f->o.epochs : 1;
    if (!dt_mul_fits(f->steps, epochs, &all) || all > INT64_MAX / MOST_PIECES)
        all = INT64_MAX / MOST_PIECES;
    return all > f->o.first_step ? all - f->o.first_step : 0;
}

static void init(dt_feed *f, dt_dataset *d, const dt_feed_options *o)
{
    memset(f, 0, sizeof *f);
    dt_dataset_ref(d);
    f->d = d;
    f->arena = dt_arena_create();
    f->o = *o;
    f->opened_ns = dt_now_ns();
    f->rows = &d->rows[o->part];
    f->count = dt_dataset_count(d, o->part);
    f->most_rows = o->batch < f->count ? o->batch : f->count;
    f->steps = dt_steps_per_epoch(f->count, o->batch, o->last);
    f->batches = count_batches(f);
    f->order = dt_order_make(d->spec.shuffle_seed, f->rows->count, o->part == DT_PART_TRAIN ? d->spec.repeat : 1, o->shuffle,
                             d->spec.reshuffle);
}

static dt_status *prepare(dt_feed *f)
{
    if (f->count == 0)
        return dt_fail(DT_E_DATASET_KEYS, &f->d->spec.at, "the data set has no '%s' part", dt_part_name(f->o.part));
    DT_TRY(allocate(f));
    for (int n = choose_threads(f); f->n_threads < n;)
        DT_TRY(add_thread(f));
    return NULL;
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

/* ---- ending ---- */

static void join_threads(dt_feed *f)
{
    atomic_store(&f->stop, 1);
    atomic_fetch_add(&f->taken, 1); /* a thread about to sleep on the old value will not */
    dt_futex_wake(&f->taken);
    for (int i = 0; i < f->n_threads; i++) {
        pthread_join(f->readers[i].thread, NULL);
        dt_filler_destroy(f->readers[i].filler);
    }
}

void dt_feed_close(dt_feed *f)
{
    if (!f)
        return;
    join_threads(f);
    for (uint32_t i = 0; f->slots && i < f->depth; i++)
        for (int k = 0; k < f->pieces; k++)
            dt_status_free(f->slots[i].piece[k].error);
    free(f->memory);
    dt_arena_destroy(f->arena);
    dt_dataset_unref(f->d);
    free(f);
}

/* ---- emptying ---- */

/* Whether a thread that sleeps may go on. It may have slept over its piece for long, while others took later ones. */
static bool somebody_has_room(dt_feed *f)
{
    for (int i = 0; i < f->n_threads; i++)
        if (atomic_load(&f->readers[i].wants) <= f->at)
            return true;
    return false;
}

/* Gives the lent slot back, and wakes threads when that leaves the ring half empty. */
static void give_back(dt_feed *f)
{
    if (!f->lent)
        return;
    f->lent = false;
    atomic_store(&f->slots[(f->at - 1) % f->depth].left, f->pieces);
    atomic_store(&f->taken, (uint32_t)f->at);
    if (atomic_load(&f->sleepers) && somebody_has_room(f))
        dt_futex_wake(&f->taken);
}

static int64_t wait_for(dt_feed *f, slot *s, uint32_t ready)
{
    int64_t from = dt_now_ns();
    uint32_t seen;
    bool first = f->at == 1;
    if (!first)
        add_thread_if_needed(f);
    atomic_store(&f->caller_waits, 1);
    while (seen = atomic_load(&s->ready), seen != ready)
        dt_futex_wait(&s->ready, seen);
    atomic_store(&f->caller_waits, 0);
    int64_t waited = dt_now_ns() - from;
    f->waited_ns += waited;
    if (first)
        f->waited_first_ns = waited;
    return waited;
}

/* Adds up the pieces; the first error is taken, the others are dropped. */
static dt_status *collect(const dt_feed *f, slot *s, dt_batch *out)
{
    dt_status *first = NULL;
    for (int k = 0; k < f->pieces; k++) {
        outcome *o = &s->piece[k];
        for (int i = 0; i < DT_SPENT_KINDS; i++)
            out->spent_s[i] += 1e-9 * (double)o->spent_ns[i];
        if (first)
            dt_status_free(o->error);
        else
            first = o->error;
        o->error = NULL;
    }
    return first;
}

dt_status *dt_feed_next(dt_feed *f, dt_batch *batch)
{
    *batch = (dt_batch){.n = f->d->n};
    give_back(f);
    if (f->ended || f->at == f->batches)
        return NULL;
    slot *s = &f->slots[f->at % f->depth];
    header h = header_of(f, f->at++);
    uint32_t ready = (uint32_t)f->at;
    int64_t waited = atomic_load_explicit(&s->ready, memory_order_acquire) == ready ? 0 : wait_for(f, s, ready);
    dt_status *error = collect(f, s, batch);
    f->ended = error != NULL;
    f->lent = !error;
    for (int e = 0; e < f->d->n; e++)
        s->element[e].type.dim[0] = h.rows;
    batch->rows = error ? 0 : h.rows;
    batch->epoch = h.epoch;
    batch->step = h.step;
    batch->waited_s = 1e-9 * (double)waited;
    batch->element = s->element;
    return error;
}

int64_t dt_feed_waited_ns(const dt_feed *f)
{
    return f->waited_ns;
}

int dt_feed_threads(const dt_feed *f)
{
    return f->n_threads;
}
