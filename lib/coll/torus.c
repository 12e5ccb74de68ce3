/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to use a grid. The numbers of colours of rings are those of the compiler of real TPUs:
 * for large buffers one-way rings, with a colour for each rotation of the axes and each direction;
 * for small buffers two-way rings ("pincer"), which have about half the hops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/links.h"
#include "coll/coll.h"
#include "coll/torus.h"

static void add_phase(dt_color *c, dt_phase phase) { c->phase[c->phases++] = phase; }

static dt_color *add_color(dt_torus *s) {
    dt_color *c = &s->color[s->colors++];
    memset(c, 0, sizeof *c);
    if (s->view[0].axis[DT_CORE_AXIS].ranks > 1)
        add_phase(c, (dt_phase){dt_algorithm_find("line"), DT_CORE_AXIS, false});
    return c;
}

static void name_it(dt_torus *s, const char *what, int axes) {
    const int phases = s->color[0].phases;
    if (axes > 1)
        snprintf(s->name, sizeof s->name, "%s %d colours %d phases", what, s->colors, phases);
    else snprintf(s->name, sizeof s->name, "%s", what);
}

/* Makes a schedule of n rings, each used in both directions: the buffer has 2 n parts (colours),
 * each of which takes the axes in another order or the other direction. Returns false if some axis
 * is not a ring, or the ranks of a group are on one chip. */
static bool one_way(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    for (int i = 0; i < n; i++)
        if (!g->axis[axes[i]].ring) return false;
    for (int down = 0; down < 2; down++)
        for (int turn = 0; turn < n; turn++) {
            dt_color *c = add_color(s);
            for (int i = 0; i < n; i++)
                add_phase(c, (dt_phase){dt_algorithm_find("ring"), axes[(turn + i) % n], down});
        }
    name_it(s, n > 1 ? "torus" : "ring", n);
    return n > 0;
}

/* Makes a schedule of two-way rings and lines: n colours on n axes. Returns false if the ranks of a
 * group are on one chip. */
static bool pincer(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    bool rings = false;
    for (int turn = 0; turn < n; turn++) {
        dt_color *c = add_color(s);
        for (int i = 0; i < n; i++) {
            const int axis = axes[(turn + i) % n];
            const bool ring = g->axis[axis].ring;
            rings = rings || ring;
            add_phase(c,
                      (dt_phase){dt_algorithm_find(ring ? "two_way_ring" : "line"), axis, false});
        }
    }
    name_it(s, n > 1 ? (rings ? "pincer" : "mesh") : rings ? "pincer ring" : "line", n);
    return n > 0;
}

/* Makes a schedule of partners at doubling distances, axis after axis. Returns false if the ranks
 * of a group are on one chip, or their number along some axis is not a power of two. */
static bool halving(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    dt_color *c = add_color(s);
    for (int i = 0; i < n; i++) {
        if (g->axis[axes[i]].ranks & (g->axis[axes[i]].ranks - 1)) return false;
        add_phase(c, (dt_phase){dt_algorithm_find("halving"), axes[i], false});
    }
    name_it(s, "halving", 1);
    return n > 0;
}

/* Makes a schedule of the links between the cores of a chip. Returns false if a group has several
 * chips. */
static bool in_chip(const dt_grid *g, dt_torus *s) {
    int axes[3];
    if (dt_grid_axes(g, axes) > 0) return false;
    add_color(s);
    name_it(s, "in the chip", 1);
    return true;
}

int dt_torus_ways(const dt_topology *t, const dt_grid *g, dt_torus out[DT_TORUS_WAYS]) {
    static bool (*const makers[])(const dt_grid *, dt_torus *) = {one_way, pincer, in_chip,
                                                                  halving};
    /* In a twisted slice, distant partners use other links than those along the axis, so `halving`,
     * which is last in the list, is left out. */
    const bool twisted = t->slice && t->slice->twisted;
    int n = dt_torus_twisted(t, g, &out[0]);
    for (size_t i = 0; i < sizeof makers / sizeof *makers - twisted; i++) {
        out[n] = (dt_torus){.view = {*g}, .twisted = {-1}, .views = 1};
        n += makers[i](g, &out[n]);
    }
    return n;
}

/*
 * The cost of a torus schedule, computed from one row of each axis: all rows of a phase do the same
 * at the same time, so the links of all rows carry the same bytes in a round.
 *
 * `profile` counts the chunks that an algorithm moves over each link of a row, for all groups in
 * it. Their size in bytes follows from the part of the buffer that a colour still has. Rounds,
 * phases and their costs are the same as for schedules whose moves are listed
 * (tests/support/schedule_cost.c).
 */

/* The chunks on the links of a row in each round of an algorithm. */
typedef struct profile {
    int rounds, size;
    int *hops; /* [rounds] number of links on the longest way of a message */
    /* [rounds][2][size] chunks on each link in both directions, [0] down; a link belongs to the end
     * from which it leads up. Of the axis of cores: the load of the chip, at index 0. */
    double *link;
} profile;

static double *row_of(const profile *p, int round, bool up) {
    return &p->link[(size_t)(2 * round + up) * (size_t)p->size];
}

static void add_way(profile *p, int round, int from, int steps, bool up, double chunks) {
    double *row = row_of(p, round, up);
    for (int i = 0, at = from; i < steps; i++) {
        const int next = (at + (up ? 1 : p->size - 1)) % p->size;
        row[up ? at : next] += chunks;
        at = next;
    }
}

/* Counts a message on the links along an axis. If the axis wraps around, the message takes the
 * shorter direction; if both are equally long, half of it takes each. */
static void add_message(profile *p, const dt_grid_axis *x, const dt_move *m, int from, int to) {
    const int ahead = (to - from + p->size) % p->size, behind = p->size - ahead;
    const bool up = x->wrap ? ahead <= behind : to > from, both = x->wrap && ahead == behind;
    const int hops = up ? ahead : behind;
    if (up) add_way(p, m->round, from, ahead, true, both ? m->chunks / 2.0 : m->chunks);
    if (!up || both) add_way(p, m->round, from, behind, false, both ? m->chunks / 2.0 : m->chunks);
    if (hops > p->hops[m->round]) p->hops[m->round] = hops;
}

static int position(const dt_grid_axis *x, const dt_phase *p, int base, int rank) {
    return base + x->stride * (p->down ? x->ranks - 1 - rank : rank);
}

static void play(profile *out, const dt_moves *moves, const dt_grid_axis *x, const dt_phase *p,
                 bool backwards) {
    for (int base = 0; base < x->size; base++)
        for (int i = 0; x->based[base] && i < moves->n; i++) {
            const dt_move *m = &moves->at[i];
            const int a = position(x, p, base, m->from), b = position(x, p, base, m->to);
            if (p->axis == DT_CORE_AXIS)
                out->link[(size_t)m->round * 2 * (size_t)out->size] += m->chunks;
            else add_message(out, x, m, backwards ? b : a, backwards ? a : b);
        }
}

static profile profile_of(const dt_grid *g, const dt_phase *p, bool backwards) {
    const dt_grid_axis *x = &g->axis[p->axis];
    dt_moves moves = {0};
    p->algorithm->gather(x->ranks, &moves);
    profile out = {.size = x->size, .rounds = moves.n ? moves.at[moves.n - 1].round + 1 : 0};
    out.hops = dt_alloc((size_t)(out.rounds + 1) * sizeof *out.hops);
    out.link = dt_alloc((size_t)(out.rounds + 1) * 2 * (size_t)out.size * sizeof *out.link);
    play(&out, &moves, x, p, backwards);
    free(moves.at);
    return out;
}

static void profile_release(profile *p) {
    free(p->hops);
    free(p->link);
}

/* The bytes on the links of a row, by axis and direction, added over all colours, since they share
 * the links. */
typedef struct rows {
    double link[DT_GRID_AXES][2][DT_GRID_SIDE];
} rows;

typedef struct bill {
    const dt_torus *s;
    const dt_wires *wires;
    rows phase, total;
    dt_wire_price price;
} bill;

static double most(const double *v, int n) {
    double m = 0;
    for (int i = 0; i < n; i++) m = v[i] > m ? v[i] : m;
    return m;
}

static double most_of(const dt_grid *g, const rows *r) {
    double m = 0;
    for (int a = 0; a < DT_CORE_AXIS; a++)
        for (int up = 0; up < 2; up++) {
            double way = most(r->link[a][up], g->axis[a].size);
            m = way > m ? way : m;
        }
    return m;
}

/* Adds the bytes of one round to b->phase, and returns the seconds that the round takes by itself.
 * chunk: bytes of a chunk; along x, y and z added over all participating cores of a chip, which
 * share its links; along the axis of cores of one core. */
static double price_round(bill *b, const profile *p, int axis, int round, double chunk) {
    /* Only the first lap of a ring with several laps is counted, since all laps are alike. */
    const int size = b->s->view[0].axis[axis].size;
    double busiest = 0;
    for (int up = 0; up < 2; up++)
        for (int i = 0; i < p->size && i < size; i++) {
            const double bytes = chunk * row_of(p, round, up)[i];
            b->phase.link[axis][up][i] += bytes;
            busiest = bytes > busiest ? bytes : busiest;
        }
    return axis == DT_CORE_AXIS ? dt_wires_round(b->wires, 0, 0, busiest)
                                : dt_wires_round(b->wires, p->hops[round], busiest, 0);
}

/* Returns the bytes of one chunk in a phase of a colour whose part of the buffer is `bytes`: that
 * part, divided by the number of ranks along the axes of this phase and of those before it, and by
 * the algorithm's chunks per rank. */
static double chunk_bytes(const dt_torus *s, const dt_color *c, int phase, double bytes) {
    for (int i = 0; i <= phase; i++) bytes /= s->view[c->view].axis[c->phase[i].axis].ranks;
    return bytes / c->phase[phase].algorithm->chunks;
}

static void larger(double *most_so_far, double v) {
    *most_so_far = v > *most_so_far ? v : *most_so_far;
}

/* Raises *slowest to the seconds, and *latency to the seconds of the hops, of one phase of a colour
 * without interference from other colours. bytes: the colour's part of the buffer. */
static void price_color(bill *b, int color, int phase, bool backwards, double bytes,
                        double *slowest, double *latency) {
    const dt_color *c = &b->s->color[color];
    const int axis = c->phase[phase].axis;
    profile p = profile_of(&b->s->view[c->view], &c->phase[phase], backwards);
    const double chunk =
        chunk_bytes(b->s, c, phase, bytes) * (axis == DT_CORE_AXIS ? 1 : b->s->view[0].cores);
    double seconds = 0, way = 0;
    for (int round = 0; round < p.rounds; round++) {
        seconds += price_round(b, &p, axis, round, chunk);
        way += p.hops[round] * b->wires->hop_s;
    }
    larger(slowest, seconds);
    larger(latency, way);
    profile_release(&p);
}

static void price_phase(bill *b, int phase, bool backwards, double bytes) {
    const dt_grid *g = &b->s->view[0];
    double slowest = 0, latency = 0;
    for (int c = 0; c < b->s->colors; c++)
        price_color(b, c, phase, backwards, bytes / b->s->colors, &slowest, &latency);
    larger(&slowest,
           dt_wires_round(b->wires, 0, most_of(g, &b->phase), b->phase.link[DT_CORE_AXIS][0][0]));
    b->price.seconds += slowest;
    b->price.latency_s += latency;
    for (int a = 0; a < DT_CORE_AXIS; a++)
        for (int up = 0; up < 2; up++)
            for (int i = 0; i < g->axis[a].size; i++)
                b->total.link[a][up][i] += b->phase.link[a][up][i];
    memset(&b->phase, 0, sizeof b->phase);
}

/* Returns an empty bill. It has over 32 KiB, too much for the stacks of some threads. */
static bill *bill_open(const dt_torus *s, const dt_wires *wires) {
    bill *b = dt_alloc(sizeof *b);
    b->s = s;
    b->wires = wires;
    return b;
}

/* Frees the bill, and returns its price. */
static dt_wire_price bill_close(bill *b) {
    const dt_wire_price price = b->price;
    free(b);
    return price;
}

static void note_links(bill *b) {
    const dt_grid *g = &b->s->view[0];
    b->price.busiest_link = most_of(g, &b->total);
    for (int a = 0; a < DT_CORE_AXIS; a++)
        for (int up = 0; up < 2; up++)
            b->price.way[a][up] = most(b->total.link[a][up], g->axis[a].size);
}

dt_wire_price dt_torus_cost(const dt_torus *s, dt_collective c, double bytes,
                            const dt_wires *wires) {
    bill *b = bill_open(s, wires);
    const int phases = s->colors ? s->color[0].phases : 0;
    for (int i = 0; c != DT_ALL_GATHER && i < phases; i++) price_phase(b, i, true, bytes);
    for (int i = phases - 1; c != DT_REDUCE_SCATTER && i >= 0; i--) price_phase(b, i, false, bytes);
    note_links(b);
    return bill_close(b);
}

/* ---- all to all ---- */

/* Writes the moves of an all-to-all along a row: a message from each rank to each other rank, all
 * in one round. */
static void gather_all_pairs(int ranks, dt_moves *out) {
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++)
            if (from != to) dt_moves_add(out, (dt_move){.from = from, .to = to, .chunks = 1});
}

/* Returns the cost of an all-to-all whose messages go along one axis after the other. bytes: what a
 * group holds, so that each pair of ranks exchanges bytes / ranks^2. All rows of an axis carry the
 * same, so one row is priced. In it, the coordinates of any two ranks of a group exchange bytes /
 * ranks^2 * (ranks / axis.ranks) * cores, where `cores` counts the cores of a chip in all groups,
 * which share its links. Along the axis of cores, only messages within a chip count: bytes /
 * ranks^2 for each pair of cores. */
dt_wire_price dt_grid_all_to_all_cost(const dt_grid *g, double bytes, const dt_wires *wires) {
    static const dt_algorithm all_pairs = {.chunks = 1, .gather = gather_all_pairs};
    const dt_torus s = {.view = {*g}, .twisted = {-1}, .views = 1, .colors = 1};
    bill *b = bill_open(&s, wires);
    const double each = bytes / g->ranks / g->ranks;
    int hops = 0;
    for (int a = 0; a < DT_GRID_AXES; a++) {
        const dt_phase phase = {&all_pairs, a, false};
        profile p = profile_of(g, &phase, false);
        hops += p.hops[0];
        if (g->axis[a].ranks > 1)
            price_round(b, &p, a, 0,
                        a == DT_CORE_AXIS ? each : each * g->ranks / g->axis[a].ranks * g->cores);
        profile_release(&p);
    }
    b->price.latency_s = hops * wires->hop_s;
    b->price.seconds = b->price.latency_s + dt_wires_round(wires, 0, most_of(g, &b->phase),
                                                           b->phase.link[DT_CORE_AXIS][0][0]);
    b->total = b->phase;
    note_links(b);
    return bill_close(b);
}
