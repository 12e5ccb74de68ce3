/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what recorder.h declares. A writer fills the next entry of its ring and then increases
 * `written`; readers read entries below `written` only. */
#include "base/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { LEAST_ROOM = 64, MOST_ROOM = 1 << 20, MOST_SAMPLES = 1 << 20 };

dt_recorder *dt_recorder_create(void) {
    dt_recorder *r = dt_alloc(sizeof *r);
    r->arena = dt_arena_create();
    return r;
}

void dt_recorder_destroy(dt_recorder *r) {
    if (!r) return;
    for (int i = 0; i < r->n_tracks; i++) free(r->track[i]->span);
    free(r->track);
    free(r->mark);
    free(r->sample);
    dt_arena_destroy(r->arena);
    free(r);
}

void dt_recorder_switch(dt_recorder *r, bool on) { atomic_store(&r->on, on); }

static const char *copy_of(dt_recorder *r, const char *text) {
    return text ? dt_arena_strdup(r->arena, text) : NULL;
}

int dt_recorder_mark(dt_recorder *r, const dt_mark *m) {
    if (!r) return 0;
    DT_GROW(r->mark, r->cap_marks, r->n_marks + 1);
    dt_mark *copy = &r->mark[r->n_marks];
    *copy = (dt_mark){
        .name = copy_of(r, m->name), .kind = copy_of(r, m->kind), .facts = copy_of(r, m->facts)};
    for (int i = 0; i < DT_SPAN_NUMBERS; i++) copy->number[i] = copy_of(r, m->number[i]);
    return r->n_marks++;
}

static dt_track *add_track(dt_recorder *r, const char *name, int room) {
    dt_track *t = dt_arena_new(r->arena, dt_track);
    *t = (dt_track){.name = copy_of(r, name), .recorder = r, .capacity = LEAST_ROOM};
    while (t->capacity < room && t->capacity < MOST_ROOM) t->capacity *= 2;
    t->span = dt_alloc(dt_size_mul((size_t)t->capacity, sizeof *t->span));
    DT_GROW(r->track, r->cap_tracks, r->n_tracks + 1);
    return r->track[r->n_tracks++] = t;
}

dt_track *dt_recorder_track(dt_recorder *r, const char *name, int room) {
    if (!r) return NULL;
    for (int i = 0; i < r->n_tracks; i++)
        if (strcmp(r->track[i]->name, name) == 0) return r->track[i];
    return add_track(r, name, room);
}

void dt_recorder_sample(dt_recorder *r, const char *name, const char *unit, double value) {
    if (!r || !atomic_load(&r->on) || r->n_samples == MOST_SAMPLES) return;
    DT_GROW(r->sample, r->cap_samples, r->n_samples + 1);
    r->sample[r->n_samples++] = (dt_sample){dt_now_ns(), name, unit, value};
}

int64_t dt_span_until(dt_track *t, const dt_span *s) {
    uint64_t n = atomic_load_explicit(&t->written, memory_order_relaxed);
    if (atomic_load_explicit(&t->recorder->on, memory_order_acquire)) {
        t->span[n & (uint64_t)(t->capacity - 1)] = *s;
        atomic_store_explicit(&t->written, n + 1, memory_order_release);
    }
    return s->end_ns;
}

uint64_t dt_track_spans(const dt_track *t, uint64_t *first) {
    uint64_t n = atomic_load_explicit(&t->written, memory_order_acquire),
             room = (uint64_t)t->capacity - 1;
    *first = n > room ? n - room : 0;
    return n;
}
