/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a feed, shared by the functions that open, fill and empty it; feed.c describes
 * it. */
#ifndef DT_DATA_FEED_H
#define DT_DATA_FEED_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/fill.h"

enum { DT_FEED_MOST_THREADS = 64, DT_FEED_MOST_PIECES = 8, DT_FEED_SPANS = 1 << 13 };

#define DT_FEED_AWAKE INT64_MAX

/* The result of reading one piece of a batch. */
typedef struct dt_outcome {
    dt_status *error;
    int64_t spent_ns[DT_SPENT_KINDS];
} dt_outcome;

typedef struct dt_slot {
    _Atomic uint32_t ready; /* the batch that it holds, plus 1 */
    _Atomic int left;       /* pieces that are not done */
    dt_view *element;       /* (n) */
    dt_outcome piece[DT_FEED_MOST_PIECES];
    void *lent;         /* the handle of the slot's memory while a device may read it; NULL: none */
    dt_status *refused; /* why the device could not take it */
} dt_slot;

typedef struct dt_reader {
    struct dt_feed *feed;
    dt_filler *filler;
    pthread_t thread;
    dt_track *track; /* NULL: none */
    /* while it sleeps: the number of batches to be taken before it continues; else DT_FEED_AWAKE */
    _Atomic int64_t wants;
} dt_reader;

struct dt_feed {
    _Alignas(64) _Atomic int64_t next; /* the next piece to take */
    _Alignas(64) _Atomic uint32_t taken;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    _Alignas(64) _Atomic uint32_t caller_waits;
    /* The caller's thread uses these. */
    _Alignas(64) int64_t at; /* the batch that comes next */
    int64_t lent;            /* number of batches before `at` that the caller still uses */
    bool ended;
    int64_t opened_ns, waited_ns, waited_first_ns;
    int n_threads, most_threads; /* by_number: 1, the caller */
    dt_reader readers[DT_FEED_MOST_THREADS];
    /* All threads read these. */
    uint32_t depth;
    int pieces;     /* of a batch */
    dt_slot *slots; /* (depth) */
    bool *deferred; /* (d->n) */
    dt_arena *arena;
    dt_dataset *d;
    void *memory;
    dt_feed_options o;
    const dt_rows *rows;
    dt_track *caller; /* records the caller's waits; NULL: none */
    int fill_mark, room_mark, wait_mark;
    int64_t count, steps, batches; /* examples and batches of an epoch; batches in all */
    int64_t most_rows;             /* of a batch */
    dt_order order;
    dt_workers *workers; /* that share the examples; NULL: one worker, which reads all in `order` */
    int32_t *offsets;    /* of the batch that the caller uses */
};

/* Ends the device's use of the slot's memory; no effect on a slot that is not lent. */
void dt_feed_take_back(const dt_feed *f, dt_slot *s);
/* Starts one more thread; by_number: makes the caller the only reader. */
dt_status *dt_feed_add_thread(dt_feed *f) DT_MUST_USE;

#endif
