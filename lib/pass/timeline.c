/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See timeline.h. Makes a list schedule: of all runs whose dependencies are met, the one that can
 * start first is placed next. The two schedules, GPIPE and 1F1B, add dependencies, and decide which
 * of two runs comes first if both could start at the same time.
 */
#include "pass/timeline.h"

#include <string.h>

typedef struct placing {
    const dt_pipeline *p;
    /* [tasks][micro] the time in seconds at which the run of a task for a micro-batch ends; below
     * 0: it is not placed yet */
    double *end;
    double *free; /* [devices] the time in seconds from which the device is free */
    int stages;
    /* whether forward or backward work waits for a task that runs once; then 1F1B holds back no
     * forward work for its order */
    bool waits_once;
} placing;

static int runs_of(const placing *x, int task) {
    return x->p->task[task].kind == 'U' ? 1 : x->p->micro;
}

static double *end_of(const placing *x, int task, int micro) {
    return &x->end[task * x->p->micro + micro];
}

/* Raises *at to the time when runs `first` to `last` of a task have ended, plus `after` seconds.
 * Returns false if one of them is not placed yet. */
static bool wait_for(const placing *x, int task, int first, int last, double after, double *at) {
    for (int m = first; m <= last; m++) {
        double end = *end_of(x, task, m);
        if (end < 0) return false;
        *at = end + after > *at ? end + after : *at;
    }
    return true;
}

static bool needs_met(const placing *x, int task, int micro, double *at) {
    for (int e = 0; e < x->p->n_edges; e++) {
        const dt_task_edge *edge = &x->p->edge[e];
        bool all = runs_of(x, edge->from) == 1 || runs_of(x, task) == 1;
        int last = runs_of(x, edge->from) - 1;
        if (edge->to == task &&
            !wait_for(x, edge->from, all ? 0 : micro, all ? last : micro, edge->seconds, at))
            return false;
    }
    return true;
}

static bool order_allows(const placing *x, int task, int micro, double *at) {
    const dt_stage_task *t = &x->p->task[task];
    for (int i = 0; i < x->p->n_tasks; i++) {
        const dt_stage_task *o = &x->p->task[i];
        int before = micro - (x->stages - t->stage);
        bool all_forward =
            x->p->order == DT_GPIPE && t->kind == 'B' && o->kind == 'F' && o->device == t->device;
        bool held = x->p->order == DT_1F1B && t->kind == 'F' && o->kind == 'B' &&
                    o->stage == t->stage && before >= 0 && !x->waits_once;
        if (all_forward && !wait_for(x, i, 0, x->p->micro - 1, 0, at)) return false;
        if (held && !wait_for(x, i, before, before, 0, at)) return false;
    }
    return true;
}

/* Returns the rank of a run: of two runs that could start at the same time, the one with the lower
 * rank is placed first. */
static int rank_of(const placing *x, int task, int micro) {
    char first = x->p->order == DT_1F1B ? 'B' : 'F', kind = x->p->task[task].kind;
    return (kind == first ? 0 : kind == 'U' ? 2 : 1) * x->p->micro + micro;
}

/* Finds the run to place next on the timeline. Returns false if all are placed. */
static bool next_run(const placing *x, dt_run *best) {
    bool found = false;
    for (int task = 0; task < x->p->n_tasks; task++)
        for (int m = 0; m < runs_of(x, task); m++) {
            double at = x->free[x->p->task[task].device];
            if (*end_of(x, task, m) >= 0 || !needs_met(x, task, m, &at) ||
                !order_allows(x, task, m, &at))
                continue;
            if (!found || at < best->start ||
                (at <= best->start && rank_of(x, task, m) < rank_of(x, best->task, best->micro)))
                *best = (dt_run){task, m, at, at + x->p->task[task].seconds};
            found = true;
        }
    return found;
}

static void look_around(placing *x) {
    for (int i = 0; i < x->p->n_tasks; i++)
        if (x->p->task[i].kind == 'F' && x->p->task[i].stage >= x->stages)
            x->stages = x->p->task[i].stage + 1;
    for (int e = 0; e < x->p->n_edges; e++) {
        const dt_task_edge *edge = &x->p->edge[e];
        x->waits_once |= x->p->task[edge->from].kind == 'U' && x->p->task[edge->to].kind != 'U';
    }
}

dt_timeline dt_timeline_create(const dt_pipeline *p, dt_arena *arena) {
    int most = p->n_tasks * p->micro;
    placing x = {.p = p,
                 .end = dt_arena_array(arena, double, most + 1),
                 .free = dt_arena_array(arena, double, p->devices + 1)};
    dt_timeline t = {.run = dt_arena_array(arena, dt_run, most + 1)};
    double busy = 0;
    for (int i = 0; i < most; i++) x.end[i] = -1;
    look_around(&x);
    for (dt_run r; next_run(&x, &r);) {
        *end_of(&x, r.task, r.micro) = x.free[p->task[r.task].device] = r.end;
        t.run[t.n++] = r;
        t.seconds = r.end > t.seconds ? r.end : t.seconds;
        busy += r.end - r.start;
    }
    t.bubble = t.seconds > 0 ? 1 - busy / (t.seconds * p->devices) : 0;
    return t;
}

/* ---- the drawing ---- */

enum { COLUMNS = 96, WIDEST = 16 };

static void draw_run(const dt_pipeline *p, const dt_timeline *t, const dt_run *r, char *row) {
    char label[WIDEST];
    int from = (int)(r->start / t->seconds * COLUMNS + 0.5),
        to = (int)(r->end / t->seconds * COLUMNS + 0.5);
    int n = snprintf(label, sizeof label, p->task[r->task].kind == 'U' ? "U" : "%c%d",
                     p->task[r->task].kind, r->micro);
    for (int c = from; c < to; c++) row[c] = c - from < n ? label[c - from] : '-';
}

void dt_timeline_print(const dt_pipeline *p, const dt_timeline *t, dt_str *out) {
    for (int d = 0; d < p->devices; d++) {
        char row[COLUMNS + 1];
        memset(row, ' ', COLUMNS);
        row[COLUMNS] = 0;
        for (int i = 0; i < t->n && t->seconds > 0; i++)
            if (p->task[t->run[i].task].device == d) draw_run(p, t, &t->run[i], row);
        dt_str_printf(out, "device %d |%s|\n", d, row);
    }
}
