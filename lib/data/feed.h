/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an iterator over batches, shared by the functions that open, fill and empty it;
 * feed.c describes it. */
#ifndef DT_DATA_FEED_H
#define DT_DATA_FEED_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/parts.h"

enum { DT_FEED_MOST_THREADS = 64, DT_FEED_MOST_PIECES = 8, DT_FEED_SPANS = 1 << 13 };

#define DT_FEED_AWAKE INT64_MAX

/* Fills pieces of batches for one thread, with its own buffers. All shared data is constant or
 * thread-safe (the format's rows, the cache). */
typedef struct dt_filler dt_filler;
/* A part of a batch: rows [into, into + rows) of the `all` rows that batch number `step` of an
 * epoch has. */
typedef struct dt_piece {
    int64_t epoch, step, rows, into, all;
    dt_tensor *const *tensor; /* [n] the batch's tensors, one per element */
    bool load;                /* files of deferred elements may be read as a whole for this piece */
} dt_piece;

/* The result of reading one piece of a batch. */
typedef struct dt_outcome {
    dt_status *error;
    int64_t spent_ns[DT_SPENT_KINDS];
} dt_outcome;

typedef struct dt_slot {
    /* number of the last batch that became ready in the slot, plus 1; 0: none yet */
    _Atomic uint32_t ready;
    _Atomic int left;   /* number of pieces of the batch that are not done yet */
    dt_tensor **tensor; /* [n] the tensors of the slot's batch, one per element */
    dt_outcome piece[DT_FEED_MOST_PIECES];
    void *lent; /* what the device returned when the slot's batch was lent to it; NULL: not lent */
    dt_status *refused; /* the error with which the device refused the batch; NULL: none */
} dt_slot;

typedef struct dt_reader {
    struct dt_feed *feed;
    dt_filler *filler;
    pthread_t thread;
    dt_track *track; /* recording of the thread's work; NULL if nothing is recorded */
    /* While the thread sleeps, it waits until the caller has finished with this many batches;
     * DT_FEED_AWAKE while it does not sleep. */
    _Atomic int64_t wants;
} dt_reader;

typedef struct dt_feed {
    /* number of the next piece to read, counted over all batches */
    _Alignas(64) _Atomic int64_t next;
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    _Alignas(64) _Atomic uint32_t caller_waits;
    /* The members below are used by the caller's thread, and each reader also by its own. */
    _Alignas(64) int64_t at; /* number of the batch that the caller takes next */
    int64_t lent;            /* number of batches before `at` that the caller still uses */
    bool ended;
    int64_t opened_ns, waited_ns, waited_first_ns;
    /* n_threads: number of reading threads, or 1 for the caller itself if by_caller is set;
     * most_threads: limit of this number */
    int n_threads, most_threads;
    /* The caller's thread does the reading: the feed reads by number, or the examples are read
     * once. */
    bool by_caller;
    dt_reader readers[DT_FEED_MOST_THREADS];
    /* The members below are used by all threads. */
    uint32_t depth;
    int pieces;     /* number of pieces that each batch has */
    dt_slot *slots; /* [depth] the ring of batches */
    /* [d->n] whether the rows of an element are read one by one in the first `depth` batches */
    bool *deferred;
    dt_arena *arena;
    const dt_dataset *data;
    dt_parts *d;       /* the opened parts (train, validation, test) of `data` */
    dt_tensor *memory; /* memory of the ring's batches */
    dt_batch_options o;
    const dt_rows *rows;
    dt_track *caller; /* recording of the time that the caller waits; NULL if nothing is recorded */
    int fill_mark, room_mark, wait_mark;
    /* count: number of examples per epoch, -1: unknown; steps: number of batches per epoch;
     * batches: number of batches that the iterator hands out in all its epochs. Steps and batches
     * are 0 if examples are read once. */
    int64_t count, steps, batches;
    int64_t most_rows;  /* largest number of rows in a batch */
    dt_workers workers; /* computes which examples each batch has */
    /* dt_example.offsets of the batch that the caller uses; NULL: none */
    dt_tensor *offsets;
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
void dt_filler_destroy(dt_filler *f); /* f may be NULL */
/* Fills a piece of a batch. If several examples of the piece have errors, returns one of these.
 * Adds to spent_ns[kind] the nanoseconds that each kind of work took. */
dt_status *dt_filler_run(dt_filler *f, const dt_piece *p,
                         int64_t spent_ns[DT_SPENT_KINDS]) DT_MUST_USE;
/* Fills a piece with examples that are read once: with all that are available without waiting, but
 * at least one. Sets *rows to their number, which is 0 at the end. */
dt_status *dt_filler_next(dt_filler *f, const dt_piece *p, int64_t *rows) DT_MUST_USE;

#endif
