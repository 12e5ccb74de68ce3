/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what threads did, and when, as spans of time for trace viewers.
 *
 * Each thread has a track, a ring of spans that it alone writes: recording takes no lock and
 * allocates nothing, and a full ring drops its oldest span. A track that is NULL, or whose recorder
 * is switched off, costs almost nothing. A mark describes what a span measures; it is made in
 * advance.
 *
 *     int64_t since = dt_span_begin(track);
 *     work();
 *     dt_span_end(track, mark, since, (dt_numbers){{ piece }});
 *
 * One thread owns the recorder: only this thread creates tracks and marks, records samples,
 * switches recording on and off, and reads spans. Others may write spans meanwhile.
 */
#ifndef DT_BASE_RECORDER_H
#define DT_BASE_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"

enum { DT_SPAN_NUMBERS = 5 }; /* the most numbers of a span, so that a span fills a cache line */

typedef struct dt_recorder dt_recorder;

/* What all spans that measure the same thing have in common. */
typedef struct dt_mark {
    const char *name; /* name of the spans, such as "dot_general", "wait for data" */
    const char *kind; /* the category of these spans: "op", "wait", "data", "run", ... */
    /* facts that hold for all these spans, as members of a JSON object: "\"layer\": \"dense\"";
     * NULL: there are none */
    const char *facts;
    /* the names of a span's numbers; NULL: the number is not used */
    const char *number[DT_SPAN_NUMBERS];
} dt_mark;

typedef struct dt_numbers {
    int64_t at[DT_SPAN_NUMBERS];
} dt_numbers;

typedef struct dt_span {
    /* the beginning and the end of the span, by the monotonic clock in ns */
    int64_t begin_ns, end_ns;
    dt_numbers number;
    int mark;
} dt_span;

typedef struct dt_track {
    const char *name;
    const dt_recorder *recorder;
    int capacity;  /* number of spans that the ring has room for, a power of two */
    dt_span *span; /* [capacity] the spans; span number i is at i modulo capacity */
    /* number of spans that were written, including those that were overwritten */
    _Atomic uint64_t written;
} dt_track;

/* A number of the program, such as bytes in use, at one moment. */
typedef struct dt_sample {
    int64_t ns;
    /* texts that are valid until the program ends, such as string literals */
    const char *name, *unit;
    double value;
} dt_sample;

struct dt_recorder {
    atomic_bool on;
    struct dt_arena *arena;
    int n_tracks, cap_tracks, n_marks, cap_marks;
    dt_track **track;
    dt_mark *mark;
    int n_samples, cap_samples;
    dt_sample *sample;
};

dt_recorder *dt_recorder_create(void); /* creates a recorder that is switched off */
void dt_recorder_destroy(
    /* Destroys a recorder; r may be NULL. No thread may record during or after the call. */
    dt_recorder *r);
void dt_recorder_switch(dt_recorder *r, bool on);
/* Adds a copy of the mark *m, and returns its number. Does nothing and returns 0 if r is NULL. */
int dt_recorder_mark(dt_recorder *r, const dt_mark *m);
/* Returns the track of that name, which is made with room for at least `room` spans (2^20 at most)
 * if it does not exist. r NULL: returns NULL. Only one thread at a time may record in a track. */
dt_track *dt_recorder_track(dt_recorder *r, const char *name, int room);
/* Records a sample. Does nothing if r is NULL or recording is switched off, or after 2^20
 * samples. */
void dt_recorder_sample(dt_recorder *r, const char *name, const char *unit, double value);

/* Sets *first to the number of the track's oldest span, and returns the number after its newest
 * one. The oldest span of a full ring is left out, since it may be overwritten at any moment. */
uint64_t dt_track_spans(const dt_track *t, uint64_t *first);
static inline const dt_span *dt_track_span(const dt_track *t, uint64_t i) {
    return &t->span[i & (uint64_t)(t->capacity - 1)];
}

static inline bool dt_is_recording(const dt_track *t) {
    return t && atomic_load_explicit(&t->recorder->on, memory_order_relaxed);
}

/* Returns the current time in ns, or 0 if recording is switched off or t is NULL. */
static inline int64_t dt_span_begin(const dt_track *t) {
    return dt_is_recording(t) ? dt_now_ns() : 0;
}

/* Records the complete span *s, unless recording is switched off. Returns its end_ns. */
int64_t dt_span_until(dt_track *t, const dt_span *s);
/* Ends the span that dt_span_begin began at `since`, and records it if recording is still switched
 * on. Returns the end of the span in ns, where the next one may begin; since 0: does nothing and
 * returns 0. */
static inline int64_t dt_span_end(dt_track *t, int mark, int64_t since, dt_numbers number) {
    return since ? dt_span_until(t, &(dt_span){.begin_ns = since,
                                               .end_ns = dt_now_ns(),
                                               .number = number,
                                               .mark = mark})
                 : 0;
}

#endif
