/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See feed.h. Elements whose rows are all in memory are gathered one element after the other. The
 * others are read example by example: each example is decoded once for all elements, straight into
 * the cache if there is one, or else into the batch if `map` has no steps for the element.
 *
 * Where a step of `map` combines examples, each one has a partner in its batch, by a permutation of
 * the rows of the global batch that is drawn from the seed, the epoch and the batch. The partner is
 * read from the data set again, whichever piece, thread or process prepares its own row.
 */
#include "data/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/random.h"

enum {
    AHEAD_ROWS = 2,     /* rows to prefetch ahead of the current one */
    AHEAD_BYTES = 1024, /* bytes to prefetch of each row; the processor continues by itself */
};

/* What a thread knows of one element. */
typedef struct track {
    const dt_map_plan *plan;
    int index; /* position in the format's own order of elements */
    /* asked: the format was asked for `whole`; deferred: it is asked only at a piece whose `load`
     * is set */
    bool deferred, asked;
    bool combined; /* a step combines the element with that of a partner */
    /* no step of `map` applies */
    bool as_stored;
    const void *whole;           /* all stored rows, lent; NULL if examples are read one by one */
    int64_t stored_bytes, bytes; /* bytes of a row as stored, and in a batch */
    /* memory for one stored row each: of an example, and of its partner; `other` is NULL if there
     * are no partners */
    void *buffer, *other;
} track;

struct dt_filler {
    const dt_feed *feed;
    const dt_rows *rows;
    int n;
    track *tracks; /* [n] one per element */
    void **wanted; /* [n] where each element is decoded to, in the format's own order */
    bool pairs;    /* a step combines each example with another one, its partner */
    /* [2 * most_rows] the numbers that the examples of a piece have in their source and, from index
     * most_rows on, those of their partners; and the pass over the data that each belongs to */
    int64_t *chosen, *pass;
    int64_t taken; /* number of examples read so far, for examples that are read once */
    bool ended;    /* all examples have been read */
    void *scratch;
    dt_read_buffer record;
    dt_map_at at;
};

/* ---- creating a filler ---- */

static dt_status *no_memory(const dt_filler *f, int64_t bytes) {
    return dt_fail(DT_E_NO_MEMORY, &f->feed->d->spec.at,
                   "out of memory (wanted %lld bytes to read data with)", (long long)bytes);
}

static dt_status *prepare_track(dt_filler *f, int e) {
    track *t = &f->tracks[e];
    *t = (track){.plan = f->rows->plan[e],
                 .index = f->rows->index[e],
                 .deferred = f->feed->deferred[e],
                 .combined = f->at.training && dt_map_plan_combines(f->rows->plan[e]),
                 .stored_bytes = dt_rows_bytes(f->rows, e),
                 .as_stored = dt_map_plan_is_empty(f->rows->plan[e]),
                 .bytes = dt_type_bytes(dt_map_plan_type(f->rows->plan[e]))};
    f->pairs |= t->combined;
    t->buffer = dt_try_alloc((size_t)t->stored_bytes);
    if (t->combined) t->other = dt_try_alloc((size_t)t->stored_bytes);
    return t->buffer && (t->other || !t->combined) ? NULL : no_memory(f, t->stored_bytes);
}

static dt_status *allocate(dt_filler *f) {
    int64_t scratch = 0;
    f->tracks = dt_alloc((size_t)f->n * sizeof *f->tracks);
    f->wanted = dt_alloc((size_t)f->n * sizeof *f->wanted);
    for (int e = 0; e < f->n; e++) {
        int64_t needed = dt_map_plan_scratch(f->rows->plan[e]);
        scratch = needed > scratch ? needed : scratch;
        DT_TRY(prepare_track(f, e));
    }
    f->scratch = dt_try_alloc((size_t)scratch + 1);
    f->chosen = dt_try_alloc((size_t)f->feed->most_rows * 2 * sizeof *f->chosen);
    f->pass = dt_try_alloc((size_t)f->feed->most_rows * 2 * sizeof *f->pass);
    return f->scratch && f->chosen && f->pass ? NULL : no_memory(f, scratch);
}

dt_status *dt_filler_create(dt_filler **out, const dt_feed *feed) {
    dt_filler *f = dt_alloc(sizeof *f);
    *f = (dt_filler){.feed = feed,
                     .rows = feed->rows,
                     .n = feed->d->n,
                     .at = {.seed = feed->d->spec.map_seed,
                            .training = feed->o.part == DT_PART_TRAIN && !feed->o.looks}};
    dt_status *s = allocate(f);
    if (s) {
        dt_filler_destroy(f);
        f = NULL;
    }
    *out = f;
    return s;
}

void dt_filler_destroy(dt_filler *f) {
    if (!f) return;
    for (int e = 0; f->tracks && e < f->n; e++) {
        free(f->tracks[e].buffer);
        free(f->tracks[e].other);
    }
    free(f->tracks);
    free(f->wanted);
    free(f->chosen);
    free(f->pass);
    free(f->scratch);
    dt_str_release(&f->record.bytes);
    free(f);
}

/* ---- choosing examples, and examples in memory ---- */

static dt_status *load(dt_filler *f, const dt_piece *p) {
    for (int e = 0; e < f->n; e++) {
        track *t = &f->tracks[e];
        if (t->asked || (t->deferred && !p->load)) continue;
        t->asked = true;
        DT_TRY(dt_rows_whole(f->rows, e, &t->whole));
    }
    return NULL;
}

/* Returns the index, in `chosen` and `pass`, of the partner of row i of a piece. */
static int64_t partner(const dt_filler *f, int64_t i) { return f->feed->most_rows + i; }

static void choose(dt_filler *f, const dt_piece *p) {
    dt_workers_deal(&f->feed->workers, p->epoch, p->step, p->into,
                    &(dt_indices){p->rows, f->chosen, f->pass});
    if (!f->pairs) return;
    const uint64_t batch = (uint64_t)(p->epoch * f->feed->steps + p->step);
    const dt_permutation rows = dt_permutation_make(f->at.seed, "partner", batch, (uint64_t)p->all);
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t row = (int64_t)dt_permutation_at(&rows, (uint64_t)(p->into + i)),
                      k = partner(f, i);
        dt_workers_deal(&f->feed->workers, p->epoch, p->step, row,
                        &(dt_indices){1, f->chosen + k, f->pass + k});
    }
}

/* Returns the address of row i of a piece in its batch. */
static void *in_batch(const dt_filler *f, const dt_piece *p, int e, int64_t i) {
    return p->tensor[e]->data + (p->into + i) * f->tracks[e].bytes;
}

/* Tells the steps of `map` the partner of row i of a piece, for an element that is combined. */
static void pair(dt_filler *f, int e, int64_t i, const void *other) {
    f->at.other = f->tracks[e].combined ? other : NULL;
    if (!f->at.other) return;
    f->at.other_pass = f->pass[partner(f, i)];
    f->at.other_example = f->chosen[partner(f, i)];
    f->at.other_group = f->rows->single ? dt_rows_group(f->rows, f->at.other_example) : 0;
}

/* Runs row i of a piece through the steps of `map` into its batch. */
static dt_status *turn(dt_filler *f, const dt_piece *p, int e, int64_t i, const void *row) {
    const track *t = &f->tracks[e];
    f->at.pass = f->pass[i];
    f->at.example = f->chosen[i];
    f->at.group = f->rows->single ? dt_rows_group(f->rows, f->at.example) : 0;
    if (row != in_batch(f, p, e, i))
        return dt_map_run(t->plan, &f->at, row, in_batch(f, p, e, i), f->scratch);
    return NULL;
}

static const char *row_at(const dt_filler *f, const track *t, int64_t i) {
    return (const char *)t->whole + f->chosen[i] * t->stored_bytes;
}

/* Returns how many rows, from row i of a piece on, lie one after the other in memory. */
static int64_t run_at(const dt_filler *f, const dt_piece *p, int64_t i) {
    int64_t n = 1;
    while (i + n < p->rows && f->chosen[i + n] == f->chosen[i] + n) n++;
    return n;
}

/* Maps the rows of an element that is in memory, or copies them. The rows lie anywhere in memory;
 * prefetching the next ones while one is mapped makes a batch twice as fast. The prefetch loop is
 * not a function of its own, because gcc would consider that function to have no effect and remove
 * calls of it. */
static dt_status *gather(dt_filler *f, const dt_piece *p, int e) {
    const track *t = &f->tracks[e];
    int64_t bytes = t->stored_bytes < AHEAD_BYTES ? t->stored_bytes : AHEAD_BYTES, n = 1;
    for (int64_t i = 0; i < p->rows; i += n) {
        const char *next = i + AHEAD_ROWS < p->rows ? row_at(f, t, i + AHEAD_ROWS) : NULL;
        for (int64_t k = 0; next && k < bytes; k += 64) __builtin_prefetch(next + k);
        if (t->as_stored) {
            n = run_at(f, p, i);
            memcpy(in_batch(f, p, e, i), row_at(f, t, i), (size_t)(n * t->bytes));
            continue;
        }
        pair(f, e, i, t->combined ? row_at(f, t, partner(f, i)) : NULL);
        DT_TRY(turn(f, p, e, i, row_at(f, t, i)));
    }
    return NULL;
}

/* ---- examples that are read one by one ---- */

/* Adds the time since *since to *on, and sets *since to now. */
static void spend(int64_t *on, int64_t *since) {
    int64_t now = dt_now_ns();
    *on += now - *since;
    *since = now;
}

/* The example of row i of a piece, or its partner. row: the example's number in its source; kept:
 * it is in the cache, or this thread decodes it into the cache. */
typedef struct example {
    const dt_piece *piece;
    int64_t i, row;
    bool kept, is_partner;
} example;

/* Returns where element e of an example is decoded to: the cache, the batch, or the thread's own
 * buffer. Returns NULL for an element of a partner that is not needed. */
static void *destination_of(const dt_filler *f, int e, const example *x) {
    const track *t = &f->tracks[e];
    void *place = x->kept ? dt_example_cache_place(f->rows->kept, t->index, x->row) : NULL;
    return place           ? place
           : x->is_partner ? t->other
           : t->as_stored  ? in_batch(f, x->piece, e, x->i)
                           : t->buffer;
}

static dt_status *read_example(dt_filler *f, const example *x, int64_t spent_ns[DT_SPENT_KINDS],
                               int64_t *since) {
    dt_examples *from = f->rows->x;
    for (int e = 0; e < f->n; e++)
        f->wanted[f->tracks[e].index] = f->tracks[e].whole ? NULL : destination_of(f, e, x);
    f->record.fetched_ns = 0;
    dt_status *s = from->reader->at(from, x->row, &f->record, f->wanted);
    if (f->record.fetched_ns) {
        spent_ns[DT_SPENT_READING] += f->record.fetched_ns - *since;
        *since = f->record.fetched_ns;
    }
    spend(&spent_ns[f->record.fetched_ns ? DT_SPENT_DECODING : DT_SPENT_READING], since);
    return s;
}

/* Reads an example unless the cache has it. The first thread that needs an example decodes it into
 * the cache. */
static dt_status *take_example(dt_filler *f, example *x, int64_t spent_ns[DT_SPENT_KINDS],
                               int64_t *since) {
    dt_example_cache *k = f->rows->kept;
    x->kept = k && dt_example_cache_has(k, x->row);
    if (x->kept) return NULL;
    x->kept = k && dt_example_cache_claim(k, x->row);
    dt_status *s = read_example(f, x, spent_ns, since);
    if (x->kept) dt_example_cache_filled(k, x->row, !s);
    return s;
}

static dt_status *read_examples(dt_filler *f, const dt_piece *p, int64_t spent_ns[DT_SPENT_KINDS]) {
    int64_t since = dt_now_ns();
    for (int64_t i = 0; i < p->rows; i++) {
        example x = {.piece = p, .i = i, .row = f->chosen[i]},
                other = {.piece = p, .i = i, .is_partner = true};
        DT_TRY(take_example(f, &x, spent_ns, &since));
        if (f->pairs) {
            other.row = f->chosen[partner(f, i)];
            DT_TRY(take_example(f, &other, spent_ns, &since));
        }
        for (int e = 0; e < f->n; e++) {
            if (f->tracks[e].whole) continue;
            pair(f, e, i, destination_of(f, e, &other));
            DT_TRY(turn(f, p, e, i, destination_of(f, e, &x)));
        }
        spend(&spent_ns[DT_SPENT_MAP], &since);
    }
    return NULL;
}

/* ---- examples that are read once ---- */

static dt_status *take_next(dt_filler *f, const dt_piece *p, int64_t i, bool *more) {
    for (int e = 0; e < f->n; e++) f->wanted[f->tracks[e].index] = f->tracks[e].buffer;
    dt_status *bad = f->rows->x->reader->next(f->rows->x, f->wanted, more);
    f->ended = !*more;
    if (f->ended) return bad;
    f->chosen[i] = f->taken++;
    f->pass[i] = 0;
    for (int e = 0; e < f->n && !bad; e++)
        bad = dt_rows_check_row(f->rows, e, f->chosen[i], f->tracks[e].buffer);
    for (int e = 0; e < f->n && !bad; e++) bad = turn(f, p, e, i, f->tracks[e].buffer);
    for (int e = 0; e < f->n && bad; e++)
        memset(in_batch(f, p, e, i), 0, (size_t)f->tracks[e].bytes);
    return dt_rows_keep_row(f->feed->d, bad);
}

dt_status *dt_filler_next(dt_filler *f, const dt_piece *p, int64_t *rows) {
    const dt_examples *x = f->rows->x;
    bool more = true;
    for (*rows = 0; *rows < p->rows && !f->ended && !(*rows > 0 && x->reader->waits(x));
         *rows += more)
        DT_TRY(take_next(f, p, *rows, &more));
    return NULL;
}

/* ---- a piece ---- */

dt_status *dt_filler_run(dt_filler *f, const dt_piece *p, int64_t spent_ns[DT_SPENT_KINDS]) {
    int64_t since = dt_now_ns();
    bool all = true;
    DT_TRY(load(f, p));
    spend(&spent_ns[DT_SPENT_READING], &since);
    choose(f, p);
    for (int e = 0; e < f->n; e++) {
        all &= f->tracks[e].whole != NULL;
        if (f->tracks[e].whole) DT_TRY(gather(f, p, e));
    }
    spend(&spent_ns[DT_SPENT_MAP], &since);
    return all ? NULL : read_examples(f, p, spent_ns);
}
