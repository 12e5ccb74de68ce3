/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A torus schedule written out. The buffer is cut into equal parts, one for each colour, and each
 * of these as its phases say: the first phase of a reduce-scatter leaves the i-th rank of a row
 * with the i-th part, the next phase with a part of that. So the first chunk of a phase follows
 * from the rank's coordinates along the axes of the earlier phases:
 *
 *     4 x 2, phases x y:   8 chunks     row of x: all 8, rank i is left chunks 2 i .. 2 i + 1     row of y at x = i: rank j is left 2 i + j
 *
 * Phases begin and end together for all colours.
 */
#include "schedules.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/torus.h"

/* Where a chip of a view stands. */
static void unview(const dt_torus *s, int view, const int seen[DT_GRID_AXES],
                   int at[DT_GRID_AXES]) {
    const int axis = s->twisted[view];
    memcpy(at, seen, DT_GRID_AXES * sizeof *at);
    if (axis < 0) return;
    const int k = s->view[0].axis[axis].size, lap = seen[axis] / k;
    at[axis] = seen[axis] % k;
    for (int a = 0; a < DT_CORE_AXIS; a++)
        if (s->view[0].axis[a].size > k) at[a] = (seen[a] + lap * k) % s->view[0].axis[a].size;
}

/* A colour while it is written. */
typedef struct writer {
    const dt_torus *s;
    const int *rank_at;  /* [x][y][z][core] of the grid: the rank */
    const dt_grid *view; /* how the colour in hand sees it */
    int color;
    /* chunks that a rank owns of a colour: as many as an algorithm of the schedule cuts its own
     * part into */
    int parts;
    dt_draft *out;
} writer;

static int axis_ranks(const writer *w, int axis) { return w->view->axis[axis].ranks; }

static int rank_of(const writer *w, const int at[DT_GRID_AXES]) {
    int index = 0, really[DT_GRID_AXES];
    unview(w->s, w->s->color[w->color].view, at, really);
    for (int a = 0; a < DT_GRID_AXES; a++) index = index * w->s->view[0].axis[a].ranks + really[a];
    return w->rank_at[index];
}

static void take_color(writer *w, int color) {
    w->color = color;
    w->view = &w->s->view[w->s->color[color].view];
}

/* Where a rank stands in the order of a phase. */
static int turn_of(const writer *w, const dt_phase *p, int at) {
    return p->down ? axis_ranks(w, p->axis) - 1 - at : at;
}

/* Chunks that are in hand before a phase; after the last one those that a rank owns. */
static int in_hand(const writer *w, const dt_color *c, int phase) {
    int n = w->view->ranks * w->parts;
    for (int i = 0; i < phase; i++) n /= axis_ranks(w, c->phase[i].axis);
    return n;
}

/* The first of them, for those who stand at `at`. */
static int first_in_hand(const writer *w, int color, int phase, const int at[DT_GRID_AXES]) {
    const dt_color *c = &w->s->color[color];
    int first = color * w->view->ranks * w->parts;
    for (int i = 0; i < phase; i++)
        first += turn_of(w, &c->phase[i], at[c->phase[i].axis]) * in_hand(w, c, i + 1);
    return first;
}

/* The moves of an all-gather along one row; `at` is anywhere in it. */
static void write_row(writer *w, int color, int phase, int round, int at[DT_GRID_AXES],
                      const dt_moves *moves) {
    const dt_phase *p = &w->s->color[color].phase[phase];
    const int first = first_in_hand(w, color, phase, at);
    const int each =
        in_hand(w, &w->s->color[color], phase) / axis_ranks(w, p->axis) / p->algorithm->chunks;
    for (int i = 0; i < moves->n; i++) {
        const dt_move *along = &moves->at[i];
        dt_schedule_move m = {.round = round + along->round,
                              .first = first + along->first * each,
                              .chunks = along->chunks * each,
                              .color = color,
                              .phase = w->s->color[color].phases - 1 - phase};
        at[p->axis] = turn_of(w, p, along->from);
        m.from = rank_of(w, at);
        at[p->axis] = turn_of(w, p, along->to);
        m.to = rank_of(w, at);
        dt_draft_add(w->out, m);
    }
}

/* All rows of a colour's phase; the number of rounds. */
static int write_rows(writer *w, int color, int phase, int round) {
    const dt_grid_axis *x = w->view->axis;
    const dt_phase *p = &w->s->color[color].phase[phase];
    dt_moves moves = {0};
    p->algorithm->gather(axis_ranks(w, p->axis), &moves);
    for (int i = 0; i < w->view->ranks; i++) {
        int at[DT_GRID_AXES];
        for (int a = 0, rest = i; a < DT_GRID_AXES; rest /= x[a++].ranks) at[a] = rest % x[a].ranks;
        if (at[p->axis] == 0) write_row(w, color, phase, round, at, &moves);
    }
    const int rounds = moves.n ? moves.at[moves.n - 1].round + 1 : 0;
    free(moves.at);
    return rounds;
}

static void write_colors(writer *w) {
    int round = 0;
    for (int phase = w->s->color[0].phases - 1; phase >= 0; phase--) {
        int most = 0;
        for (int c = 0; c < w->s->colors; c++) {
            take_color(w, c);
            const int rounds = write_rows(w, c, phase, round);
            most = rounds > most ? rounds : most;
        }
        round += most;
    }
}

static void set_owners(writer *w) {
    for (int c = 0; c < w->s->colors; c++) {
        take_color(w, c);
        const dt_grid_axis *x = w->view->axis;
        for (int i = 0; i < w->view->ranks; i++) {
            int at[DT_GRID_AXES];
            for (int a = 0, rest = i; a < DT_GRID_AXES; rest /= x[a++].ranks)
                at[a] = rest % x[a].ranks;
            const int first = first_in_hand(w, c, w->s->color[c].phases, at);
            for (int k = 0; k < w->parts; k++) w->out->owner[first + k] = rank_of(w, at);
        }
    }
}

/* ---- where ranks stand ---- */

static int place_in_grid(const dt_grid *g, const int *place, const int *base) {
    int index = 0;
    for (int a = 0; a < DT_GRID_AXES; a++)
        index = index * g->axis[a].ranks +
                (g->axis[a].ranks > 1 ? (place[a] - base[a]) / g->axis[a].stride : 0);
    return index;
}

static int *ranks_by_place(const dt_grid *g, const int *place) {
    int base[DT_GRID_AXES] = {place[0], place[1], place[2], place[3]};
    int *rank_at = dt_alloc((size_t)g->ranks * sizeof *rank_at);
    for (int r = 0; r < g->ranks; r++)
        for (int a = 0; a < DT_GRID_AXES; a++)
            base[a] = place[4 * r + a] < base[a] ? place[4 * r + a] : base[a];
    for (int r = 0; r < g->ranks; r++) rank_at[place_in_grid(g, &place[4 * r], base)] = r;
    return rank_at;
}

static int most_parts(const dt_torus *s) {
    int parts = 1;
    for (int c = 0; c < s->colors; c++)
        for (int i = 0; i < s->color[c].phases; i++)
            parts = s->color[c].phase[i].algorithm->chunks > parts
                        ? s->color[c].phase[i].algorithm->chunks
                        : parts;
    return parts; /* algorithms cut into 1 or 2 */
}

dt_schedule *dt_torus_schedule(const dt_torus *s, dt_collective c, const int *place) {
    const int parts = most_parts(s), chunks = s->colors * s->view[0].ranks * parts;
    int *rank_at = ranks_by_place(&s->view[0], place);
    dt_draft d = {.name = s->name,
                  .collective = c,
                  .ranks = s->view[0].ranks,
                  .chunks = chunks,
                  .colors = s->colors};
    d.owner = dt_alloc((size_t)chunks * sizeof *d.owner);
    writer w = {.s = s, .rank_at = rank_at, .view = &s->view[0], .parts = parts, .out = &d};
    set_owners(&w);
    write_colors(&w);
    free(rank_at);
    return dt_schedule_of_draft(&d);
}
