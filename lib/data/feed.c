/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading ahead. Threads fill a ring of batches, and the caller empties it:
 *
 *             taken              next
 *               v                 v
 *     |    |    | o  | o  | o  | :. |    |    |      o: ready, :. partly filled
 *
 * Batches are numbered without end; a batch uses the slot with its number modulo depth. The caller
 * has finished with the batches before `taken`. Threads take pieces of batches in order, always the
 * next free one (`next`); a batch is ready when all its pieces are.
 *
 * A batch whose examples have to be decoded has several pieces, so that all threads work on the
 * batch that the caller waits for. The contents of a piece follow from its number, so neither
 * batches nor their order depend on threads. The caller takes batch after batch, and gets an error
 * with the batch of the example that caused it.
 *
 * A thread works until the ring is full, then sleeps until it is half empty. So it wakes rarely and
 * works in bursts: on a machine whose cores are all busy, each wake-up takes a core from another
 * thread. For the same reason there is one thread at first, if no number is given; another one is
 * started when the caller has spent a good part of its time waiting for data. A caller that finds a
 * batch ready takes no lock, and makes a system call only to wake sleeping threads.
 *
 * Going to sleep is safe because each side writes its own word and then reads the other side's, in
 * sequentially consistent order. Either the sleeper sees the change, or the other side sees the
 * sleeper.
 */
#include "data/feed.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "base/thread.h"

enum {
    /* Another thread is started when the caller has waited for more than PATIENCE_NS in all and for
     * more than 1 / PATIENCE_PART of the time, both without the wait for the first batch. */
    PATIENCE_NS = 5000000,
    PATIENCE_PART = 20,
};

/* ---- batches and their pieces ---- */

/* Describes batch number `batch`, which lies in slot s. */
static dt_example batch_of(const dt_feed *f, int64_t batch, const dt_slot *s) {
    const int64_t i = f->o.first_step + batch, step = i % f->steps,
                  rows = dt_workers_cut(&f->workers, step, NULL);
    dt_example b = {.n = f->d->n,
                    .tensor = s->tensor,
                    .rows = rows,
                    .to = rows,
                    .epoch = f->o.epoch + i / f->steps,
                    .step = step};
    if (f->o.own) f->o.own(f->o.own_user, batch, rows, &b.from, &b.to);
    return b;
}

/* Returns the rows of piece k of a batch. If the batch has few rows, pieces may be empty. */
static dt_piece piece_of(const dt_feed *f, int64_t batch, int k, const dt_slot *s) {
    const dt_example b = batch_of(f, batch, s);
    int64_t own = b.to - b.from, from = b.from + own * k / f->pieces,
            to = b.from + own * (k + 1) / f->pieces;
    return (dt_piece){.epoch = b.epoch,
                      .step = b.step,
                      .rows = to - from,
                      .into = from,
                      .all = b.rows,
                      .tensor = s->tensor,
                      .load = batch >= f->depth};
}

/* ---- filling ---- */

/* Returns the number of a batch's step as `fit` counts steps, from 1. */
static int64_t number_of(const dt_feed *f, int64_t batch) {
    return f->o.epoch * f->steps + f->o.first_step + batch + 1;
}

/* Waits until the slot for a batch is free. If the ring is full, it waits until the ring is half
 * empty, so that the thread wakes rarely. Returns false if the feed is closing. */
static bool wait_for_room(dt_feed *f, dt_reader *r, int64_t batch) {
    uint32_t b = (uint32_t)batch, taken = atomic_load(&f->taken);
    if (b - taken >= f->depth) {
        int64_t since = dt_span_begin(r->track);
        atomic_store(&r->wants, batch - f->depth / 2);
        atomic_fetch_add(&f->sleepers, 1);
        while (taken = atomic_load(&f->taken), b - taken > f->depth / 2 && !atomic_load(&f->stop))
            dt_futex_wait(&f->taken, taken);
        atomic_fetch_sub(&f->sleepers, 1);
        atomic_store(&r->wants, DT_FEED_AWAKE);
        dt_span_end(r->track, f->room_mark, since, (dt_numbers){{number_of(f, batch)}});
    }
    return !atomic_load(&f->stop);
}

static void set_rows(const dt_example *batch) {
    for (int e = 0; e < batch->n; e++) batch->tensor[e]->type.dim[0] = batch->rows;
}

/* Lends a complete batch to the device, unless one of its pieces has an error. */
static void lend(const dt_feed *f, dt_slot *s, int64_t batch) {
    const dt_example b = batch_of(f, batch, s);
    for (int k = 0; k < f->pieces; k++)
        if (s->piece[k].error) return;
    set_rows(&b);
    s->refused = f->o.lend.lend(f->o.lend.user, &b, &s->lent);
}

/* Reports that a piece is done. If it is the last piece of its batch, lends the batch to the
 * device, marks it ready, and wakes the caller if it waits. */
static void publish(dt_feed *f, dt_slot *s, int64_t batch) {
    if (atomic_fetch_sub(&s->left, 1) > 1) return;
    if (f->o.lend.lend) lend(f, s, batch);
    atomic_store(&s->ready, (uint32_t)batch + 1);
    if (atomic_load(&f->caller_waits)) dt_futex_wake(&s->ready);
}

static void fill(dt_feed *f, dt_reader *r, int64_t batch, int k) {
    dt_slot *s = &f->slots[batch % f->depth];
    dt_piece p = piece_of(f, batch, k, s);
    atomic_fetch_add_explicit(&f->d->preparing, 1, memory_order_relaxed);
    int64_t since = dt_span_begin(r->track), *ns = s->piece[k].spent_ns;
    s->piece[k] = (dt_outcome){0};
    s->piece[k].error = dt_filler_run(r->filler, &p, ns);
    dt_span_end(r->track, f->fill_mark, since,
                (dt_numbers){{number_of(f, batch), k, ns[DT_SPENT_READING], ns[DT_SPENT_DECODING],
                              ns[DT_SPENT_MAP]}});
    publish(f, s, batch);
    atomic_fetch_sub_explicit(&f->d->preparing, 1, memory_order_relaxed);
}

static void *thread_main(void *argument) {
    dt_reader *r = argument;
    dt_feed *f = r->feed;
    for (;;) {
        int64_t number = atomic_fetch_add(&f->next, 1), batch = number / f->pieces;
        int k = (int)(number % f->pieces);
        if (batch >= f->batches || !wait_for_room(f, r, batch)) return NULL;
        fill(f, r, batch, k);
    }
}

/* ---- threads ---- */

static dt_status *start_thread(dt_reader *r) {
    return dt_thread_start(&r->thread, thread_main, r)
               ? dt_fail(DT_E_NO_MEMORY, NULL,
                         "cannot start a thread to read data: the system's limit is reached")
               : NULL;
}

static dt_track *reader_track(const dt_feed *f) {
    char name[64];
    snprintf(name, sizeof name, "%s data %d", dt_part_name(f->o.part), f->n_threads + 1);
    return dt_recorder_track(f->o.recorder, name, DT_FEED_SPANS);
}

dt_status *dt_feed_add_thread(dt_feed *f) {
    dt_reader *r = &f->readers[f->n_threads];
    *r = (dt_reader){.feed = f, .wants = DT_FEED_AWAKE, .track = reader_track(f)};
    DT_TRY(dt_filler_create(&r->filler, f));
    dt_status *s = f->by_caller ? NULL : start_thread(r);
    if (s) dt_filler_destroy(r->filler);
    else f->n_threads++;
    return s;
}

/* Starts another thread if the caller has waited too much. If the thread cannot be started, the
 * feed works without it. */
static void add_thread_if_needed(dt_feed *f) {
    int64_t waited = f->waited_ns - f->waited_first_ns,
            all = dt_now_ns() - f->opened_ns - f->waited_first_ns;
    if (f->n_threads < f->most_threads && waited > PATIENCE_NS && waited > all / PATIENCE_PART)
        dt_status_free(dt_feed_add_thread(f));
}

/* ---- handing batches out ---- */

/* Whether any sleeping thread has room for its piece. A thread may have slept long while others
 * took later pieces. */
static bool any_reader_has_room(dt_feed *f) {
    for (int i = 0; i < f->n_threads; i++)
        if (atomic_load(&f->readers[i].wants) <= f->at) return true;
    return false;
}

void dt_feed_take_back(const dt_feed *f, dt_slot *s) {
    if (s->lent) f->o.lend.take_back(f->o.lend.user, s->lent);
    s->lent = NULL;
}

/* Replaces a tensor by a new one, because the caller still refers to the old one, which must
 * therefore not be written to. */
static dt_status *replace(dt_tensor **t, dt_type type) {
    dt_tensor *fresh;
    DT_TRY(dt_tensor_new(&fresh, &type));
    dt_tensor_unref(*t);
    *t = fresh;
    return NULL;
}

static dt_status *replace_kept(const dt_feed *f, const dt_slot *s) {
    for (int e = 0; e < f->d->n; e++)
        if (s->tensor[e]->refs > 1)
            DT_TRY(replace(&s->tensor[e], dt_type_at(&f->d->element[e].type, f->most_rows)));
    return NULL;
}

/* Returns the caller's oldest slot to the ring, unless the caller may still use its batch
 * (o.keeps). Tensors that the caller refers to are replaced by new ones. Wakes the sleeping threads
 * if one of them has room for its batch. */
static dt_status *give_back(dt_feed *f) {
    dt_slot *s = &f->slots[(f->at - f->lent) % f->depth];
    if (f->lent <= f->o.keeps) return NULL;
    DT_TRY(replace_kept(f, s));
    dt_feed_take_back(f, s);
    atomic_store(&s->left, f->pieces);
    f->lent--;
    atomic_store(&f->taken, (uint32_t)(f->at - f->lent));
    if (atomic_load(&f->sleepers) && any_reader_has_room(f)) dt_futex_wake(&f->taken);
    return NULL;
}

static int64_t wait_for(dt_feed *f, dt_slot *s, uint32_t ready) {
    int64_t from = dt_now_ns();
    uint32_t seen;
    bool first = f->at == 1;
    if (!first) add_thread_if_needed(f);
    atomic_store(&f->caller_waits, 1);
    while (seen = atomic_load(&s->ready), seen != ready) dt_futex_wait(&s->ready, seen);
    atomic_store(&f->caller_waits, 0);
    int64_t waited = dt_now_ns() - from;
    if (dt_is_recording(f->caller))
        dt_span_end(f->caller, f->wait_mark, from, (dt_numbers){{number_of(f, f->at - 1)}});
    f->waited_ns += waited;
    if (first) f->waited_first_ns = waited;
    return waited;
}

/* Adds up the times of the pieces. Returns the first error of a piece or, if there is none, that of
 * lending the batch to the device; further errors are dropped. */
static dt_status *collect(const dt_feed *f, dt_slot *s, dt_example *out) {
    dt_status *first = NULL;
    for (int k = 0; k < f->pieces; k++) {
        dt_outcome *o = &s->piece[k];
        for (int i = 0; i < DT_SPENT_KINDS; i++) out->spent_s[i] += 1e-9 * (double)o->spent_ns[i];
        if (first) dt_status_free(o->error);
        else first = o->error;
        o->error = NULL;
    }
    dt_status *refused = s->refused;
    s->refused = NULL;
    return first ? first : refused;
}

/* Returns the number of rows that a short batch is padded to: a power of two, at most a full batch.
 * A training step is compiled for each size, so there must be few sizes. */
static int64_t filled_up(int64_t rows, int64_t batch) {
    int64_t n = 1;
    while (n < rows) n *= 2;
    return n < batch ? n : batch;
}

/* Reads the next batch of examples that are read once, in the caller's thread. */
static dt_status *read_next(dt_feed *f, dt_example *batch) {
    const dt_slot *s = &f->slots[0];
    int64_t rows;
    *batch = (dt_example){.n = f->d->n, .tensor = s->tensor, .step = f->at};
    DT_TRY(replace_kept(f, s));
    DT_TRY(dt_filler_next(f->readers[0].filler,
                          &(dt_piece){.rows = f->o.batch, .tensor = s->tensor}, &rows));
    if (rows == 0) return NULL;
    f->at++;
    batch->rows = batch->to = rows;
    for (int e = 0; e < f->d->n; e++) {
        dt_tensor *t = s->tensor[e];
        const int64_t bytes = dt_type_bytes(&t->type) / t->type.dim[0];
        t->type.dim[0] = filled_up(rows, f->o.batch);
        memset(t->data + rows * bytes, 0, (size_t)((t->type.dim[0] - rows) * bytes));
    }
    return NULL;
}

/* Sets batch->offsets, the first row of each replica in this step, if the feed has offsets. Makes a
 * new tensor if someone still holds that of the last batch. */
static dt_status *cut(dt_feed *f, dt_example *batch) {
    if (!f->offsets) return NULL;
    if (f->offsets->refs > 1) DT_TRY(replace(&f->offsets, f->offsets->type));
    dt_workers_cut(&f->workers, batch->step, (int32_t *)f->offsets->data);
    batch->offsets = f->offsets;
    return NULL;
}

dt_status *dt_feed_next(dt_feed *f, dt_example *batch) {
    assert(!f->o.by_number);
    if (f->by_caller) return read_next(f, batch);
    *batch = (dt_example){.n = f->d->n};
    DT_TRY(give_back(f));
    if (f->ended || f->at == f->batches) return NULL;
    DT_TRY(dt_reserve_check());
    dt_slot *s = &f->slots[f->at % f->depth];
    *batch = batch_of(f, f->at++, s);
    uint32_t ready = (uint32_t)f->at;
    int64_t waited =
        atomic_load_explicit(&s->ready, memory_order_acquire) == ready ? 0 : wait_for(f, s, ready);
    dt_status *error = collect(f, s, batch);
    if (!error) error = cut(f, batch);
    f->ended = error != NULL;
    f->lent += !error;
    set_rows(batch);
    batch->rows = error ? 0 : batch->rows;
    batch->waited_s = 1e-9 * (double)waited;
    return error;
}

dt_status *dt_iterator_next_batch(dt_iterator *it, dt_example *batch) {
    dt_status *s = dt_feed_next(dt_feed_of(it), batch);
    it->at += batch->rows > 0;
    return s;
}

dt_status *dt_iterator_read_batch(dt_iterator *it, int64_t number, dt_example *batch) {
    dt_feed *f = dt_feed_of(it);
    assert(f->o.by_number);
    if (number < 0 || number > INT64_MAX / DT_FEED_MOST_PIECES || f->steps == 0)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "there is no batch number %lld in the data",
                       (long long)number);
    const int64_t since = dt_now_ns();
    dt_slot *s = &f->slots[0];
    *batch = batch_of(f, number, s);
    DT_TRY(replace_kept(f, s));
    atomic_store(&s->left, f->pieces);
    for (int k = 0; k < f->pieces; k++) fill(f, &f->readers[0], number, k);
    set_rows(batch);
    batch->waited_s = dt_seconds_since(since);
    return collect(f, s, batch);
}

int dt_batches_ready(const dt_iterator *it) {
    const dt_feed *f = dt_feed_of(it);
    int64_t n = 0;
    while (n < f->depth && f->at + n < f->batches &&
           atomic_load(&f->slots[(f->at + n) % f->depth].ready) == (uint32_t)(f->at + n + 1))
        n++;
    return (int)n;
}
