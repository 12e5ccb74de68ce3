/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an iterator over batches, shared by the functions that open, fill and empty it;
 * feed.c describes it. */
#ifndef DT_DATA_FEED_H
#define DT_DATA_FEED_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/parts.h"
#include "data/workers.h"

enum { DT_FEED_MOST_THREADS = 64, DT_FEED_MOST_PIECES = 8, DT_FEED_SPANS = 1 << 13 };

#define DT_FEED_AWAKE INT64_MAX

/* Fills pieces of batches for one thread, with its own buffers. All shared data is constant or
 * thread-safe (the format's rows, the cache). */
typedef struct dt_filler dt_filler;
/* A part of a batch: rows [into, into + rows) of the batch number `step` of an epoch, which has
 * `all` rows. */
typedef struct dt_piece {
    int64_t epoch, step, rows, into, all;
    dt_tensor *const *tensor; /* [n] */
    bool load;                /* files may now be read into memory as a whole */
} dt_piece;

/* The result of reading one piece of a batch. */
typedef struct dt_outcome {
    dt_status *error;
    int64_t spent_ns[DT_SPENT_KINDS];
} dt_outcome;

typedef struct dt_slot {
    _Atomic uint32_t ready; /* number of the batch in the slot, plus 1 */
    _Atomic int left;       /* pieces of the batch that are not done */
    dt_tensor **tensor;     /* [n] */
    dt_outcome piece[DT_FEED_MOST_PIECES];
    void *lent; /* handle of the slot's memory while it is lent to a device; NULL: not lent */
    dt_status *refused; /* why the device refused the batch */
} dt_slot;

typedef struct dt_reader {
    struct dt_feed *feed;
    dt_filler *filler;
    pthread_t thread;
    dt_track *track; /* recording of the thread's work; NULL: none */
    /* while the thread sleeps: it continues when the caller has taken this many batches; otherwise
     * DT_FEED_AWAKE */
    _Atomic int64_t wants;
} dt_reader;

typedef struct dt_feed {
    /* number of the next piece to read, counted over all batches */
    _Alignas(64) _Atomic int64_t next;
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    _Alignas(64) _Atomic uint32_t caller_waits;
    /* The members below are used by the caller's thread. */
    _Alignas(64) int64_t at; /* number of the next batch */
    int64_t lent;            /* number of batches before `at` that the caller still uses */
    bool ended;
    int64_t opened_ns, waited_ns, waited_first_ns;
    int n_threads, most_threads; /* most_threads: 1 if by_caller */
    /* The caller's thread does the reading: the feed reads by number, or the examples are read
     * once. */
    bool by_caller;
    dt_reader readers[DT_FEED_MOST_THREADS];
    /* The members below are used by all threads. */
    uint32_t depth;
    int pieces;     /* pieces per batch */
    dt_slot *slots; /* [depth] */
    /* [d->n] rows are read one by one until the first ring is full, see batches.c */
    bool *deferred;
    dt_arena *arena;
    const dt_dataset *data;
    dt_parts *d;       /* of data */
    dt_tensor *memory; /* memory of the ring's batches */
    dt_batch_options o;
    const dt_rows *rows;
    dt_track *caller; /* records the caller's waits; NULL: none */
    int fill_mark, room_mark, wait_mark;
    int64_t count, steps, batches; /* examples per epoch; batches per epoch; batches in all */
    int64_t most_rows;             /* largest number of rows in a batch */
    dt_workers workers;            /* which examples a batch has */
    dt_tensor *offsets;            /* dt_example.offsets of the caller's batch; NULL: none */
} dt_feed;

static inline dt_feed *dt_feed_of(const dt_iterator *batches) {
    return *(dt_feed **)batches->state;
}
/* Like dt_iterator_next_batch; does not move the iterator's position. */
dt_status *dt_feed_next(dt_feed *f, dt_example *batch) DT_MUST_USE;

/* Ends the device's use of the slot's memory; no effect on a slot that is not lent. */
void dt_feed_take_back(const dt_feed *f, dt_slot *s);
/* Starts one more thread; if by_caller, prepares the caller as the only reader. */
dt_status *dt_feed_add_thread(dt_feed *f) DT_MUST_USE;

/* ---- fill.c ---- */

dt_status *dt_filler_create(dt_filler **out, const dt_feed *feed) DT_MUST_USE;
void dt_filler_destroy(dt_filler *f); /* takes NULL */
/* Fills a piece of a batch. An error is that of the first example in the piece that has one.
 * spent_ns: receives the time by kind of work. */
dt_status *dt_filler_run(dt_filler *f, const dt_piece *p,
                         int64_t spent_ns[DT_SPENT_KINDS]) DT_MUST_USE;
/* Fills a piece with examples that are read once: all that are available without waiting, but at
 * least one. *rows 0: the end. */
dt_status *dt_filler_next(dt_filler *f, const dt_piece *p, int64_t *rows) DT_MUST_USE;

#endif
