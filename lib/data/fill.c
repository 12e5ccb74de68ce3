/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fill.h. Elements whose rows lie in memory are gathered one after the other; the others
 * example by example: fetched, decoded once for all elements, straight into the cache if there
 * is room, or into the batch if `map` changes nothing.
 */
#include "data/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

enum {
    AHEAD_ROWS = 2,     /* rows are fetched into the cache so many before their turn, */
    AHEAD_BYTES = 1024, /* bytes of each: then the processor prefetches by itself */
};

/* One element on its way. */
typedef struct track {
    const dt_map_plan *plan;
    int index;                   /* in the format's own order */
    bool deferred, asked;        /* asked: whether it lies in memory */
    bool as_stored;              /* a batch has the stored values, which are decoded into it */
    const void *whole;           /* all stored rows, or NULL */
    int64_t stored_bytes, bytes; /* of a row as stored, in a batch */
    void *buffer;                /* a stored row */
} track;

struct dt_filler {
    dt_filler_options o;
    const dt_rows *rows;
    int n;
    track *tracks;          /* (n) */
    void **wanted;          /* (n) by the format's own order: where decoding puts elements */
    int64_t *chosen, *pass; /* (most_rows) examples, and passes that they are of */
    dt_workers workers;     /* o.workers with orders of the thread's own */
    void *scratch;
    dt_read_buffer record;
    dt_map_at at;
};

/* ---- making ---- */

static dt_status *no_memory(const dt_filler *f, int64_t bytes) {
    return dt_fail(DT_E_NO_MEMORY, &f->o.d->spec.at,
                   "out of memory (wanted %lld bytes to read data with)", (long long)bytes);
}

static dt_status *prepare_track(dt_filler *f, int e) {
    track *t = &f->tracks[e];
    *t = (track){.plan = f->rows->plan[e],
                 .index = f->rows->index[e],
                 .deferred = f->o.deferred[e],
                 .stored_bytes = dt_rows_bytes(f->rows, e),
                 .as_stored = dt_map_plan_is_empty(f->rows->plan[e]),
                 .bytes = dt_type_bytes(dt_map_plan_type(f->rows->plan[e]))};
    t->buffer = dt_try_alloc((size_t)t->stored_bytes);
    return t->buffer ? NULL : no_memory(f, t->stored_bytes);
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
    f->chosen = dt_try_alloc((size_t)f->o.most_rows * sizeof *f->chosen);
    f->pass = dt_try_alloc((size_t)f->o.most_rows * sizeof *f->pass);
    return f->scratch && f->chosen && f->pass ? NULL : no_memory(f, scratch);
}

dt_status *dt_filler_create(dt_filler **out, const dt_filler_options *o) {
    dt_filler *f = dt_alloc(sizeof *f);
    *f = (dt_filler){
        .o = *o,
        .rows = &o->d->rows[o->part],
        .n = o->d->n,
        .at = {.seed = o->d->spec.map_seed, .training = o->part == DT_PART_TRAIN && !o->looks}};
    if (o->workers) {
        f->workers = *o->workers;
        f->workers.order = dt_alloc((size_t)o->workers->streams * sizeof *o->workers->order);
        memcpy(f->workers.order, o->workers->order,
               (size_t)o->workers->streams * sizeof *o->workers->order);
    }
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
    for (int e = 0; f->tracks && e < f->n; e++) free(f->tracks[e].buffer);
    free(f->tracks);
    free(f->wanted);
    free(f->chosen);
    free(f->pass);
    free(f->workers.order);
    free(f->scratch);
    dt_str_release(&f->record.bytes);
    free(f);
}

/* ---- examples in memory ---- */

static dt_status *load(dt_filler *f, const dt_piece *p) {
    for (int e = 0; e < f->n; e++) {
        track *t = &f->tracks[e];
        if (t->asked || (t->deferred && !p->load)) continue;
        t->asked = true;
        DT_TRY(dt_rows_whole(f->rows, e, &t->whole));
    }
    return NULL;
}

static void choose(dt_filler *f, const dt_piece *p) {
    if (f->o.workers) {
        dt_workers_deal(&f->workers,
                        &(dt_dealt){p->epoch, p->step, p->into, p->rows, f->chosen, f->pass});
        return;
    }
    for (int64_t i = 0; i < p->rows; i++) {
        f->chosen[i] = dt_order_at(&f->o.order, p->epoch, p->first + i);
        f->pass[i] = dt_order_pass(&f->o.order, p->epoch, p->first + i);
    }
}

/* Where row i of a piece lies in its batch. */
static void *in_batch(const dt_filler *f, const dt_piece *p, int e, int64_t i) {
    return (char *)p->element[e].data + (p->into + i) * f->tracks[e].bytes;
}

/* Row i of a piece through the steps of `map`. */
static void turn(dt_filler *f, const dt_piece *p, int e, int64_t i, const void *row) {
    const track *t = &f->tracks[e];
    f->at.pass = f->pass[i];
    f->at.example = f->rows->first + f->chosen[i];
    if (row != in_batch(f, p, e, i))
        dt_map_run(t->plan, &f->at, row, in_batch(f, p, e, i), f->scratch);
}

static const char *row_at(const dt_filler *f, const track *t, int64_t i) {
    return (const char *)t->whole + (f->rows->first + f->chosen[i]) * t->stored_bytes;
}

/* Rows lie anywhere in memory: asking for the next ones while this one is turned makes the batch
 * twice as fast. The loop of prefetches is not a function, because gcc would consider that function
 * to have no effect, and remove calls of it. */
static void gather(dt_filler *f, const dt_piece *p, int e) {
    const track *t = &f->tracks[e];
    int64_t bytes = t->stored_bytes < AHEAD_BYTES ? t->stored_bytes : AHEAD_BYTES;
    for (int64_t i = 0; i < p->rows; i++) {
        const char *next = i + AHEAD_ROWS < p->rows ? row_at(f, t, i + AHEAD_ROWS) : NULL;
        for (int64_t k = 0; next && k < bytes; k += 64) __builtin_prefetch(next + k);
        turn(f, p, e, i, row_at(f, t, i));
    }
}

/* ---- examples that are read one by one ---- */

/* Adds what passed since *since, and begins anew. */
static void spend(int64_t *on, int64_t *since) {
    int64_t now = dt_now_ns();
    *on += now - *since;
    *since = now;
}

/* Row i of a piece, which is row `row` of the format's; kept: it was, or is now. */
typedef struct example {
    const dt_piece *piece;
    int64_t i, row;
    bool kept;
} example;

/* Where element e of an example is found when it was decoded: kept, in its batch, or in the
 * thread's own buffer. */
static void *place_of(const dt_filler *f, int e, const example *x) {
    const track *t = &f->tracks[e];
    void *place = x->kept ? dt_example_cache_place(f->rows->kept, t->index, x->row) : NULL;
    return place ? place : t->as_stored ? in_batch(f, x->piece, e, x->i) : t->buffer;
}

static dt_status *read_example(dt_filler *f, const example *x, int64_t spent_ns[DT_SPENT_KINDS],
                               int64_t *since) {
    dt_examples *from = f->rows->x;
    for (int e = 0; e < f->n; e++)
        f->wanted[f->tracks[e].index] = f->tracks[e].whole ? NULL : place_of(f, e, x);
    f->record.fetched_ns = 0;
    dt_status *s = from->reader->at(from, x->row, &f->record, f->wanted);
    if (f->record.fetched_ns) {
        spent_ns[DT_SPENT_READING] += f->record.fetched_ns - *since;
        *since = f->record.fetched_ns;
    }
    spend(&spent_ns[f->record.fetched_ns ? DT_SPENT_DECODING : DT_SPENT_READING], since);
    return s;
}

/* Where decoded examples are kept, the first thread that needs one decodes it. */
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
        example x = {.piece = p, .i = i, .row = f->rows->first + f->chosen[i]};
        DT_TRY(take_example(f, &x, spent_ns, &since));
        for (int e = 0; e < f->n; e++)
            if (!f->tracks[e].whole) turn(f, p, e, i, place_of(f, e, &x));
        spend(&spent_ns[DT_SPENT_MAP], &since);
    }
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
        if (f->tracks[e].whole) gather(f, p, e);
    }
    spend(&spent_ns[DT_SPENT_MAP], &since);
    return all ? NULL : read_examples(f, p, spent_ns);
}
