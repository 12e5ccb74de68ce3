/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/exchange.h"

#include <stdio.h>
#include <string.h>

#include "coll/irregular.h"
#include "coll/switched.h"
#include "coll/torus.h"

/* An exchange, for which the costs of several algorithms are compared. */
typedef struct question {
    const dt_collective_request *x;
    dt_wires wires;      /* links at their nominal rates, without the time to start */
    const dt_grid *grid; /* grid of the groups; NULL: they do not form a grid */
    /* The torus schedule whose cost is computed; NULL: it is another algorithm. */
    const dt_torus *torus;
    dt_exchange_price *best;
} question;
typedef dt_wire_price pricing(const question *q, const dt_wires *w);

static dt_wire_price price_torus(const question *q, const dt_wires *w) {
    return dt_torus_cost(q->torus, q->x->collective, q->x->bytes, w);
}

static dt_wire_price price_ring(const question *q, const dt_wires *w) {
    return dt_ring_cost(q->x, false, w);
}

static dt_wire_price price_both_ways(const question *q, const dt_wires *w) {
    return dt_ring_cost(q->x, true, w);
}

static dt_wire_price price_doubling(const question *q, const dt_wires *w) {
    return dt_doubling_cost(q->x, w);
}

static dt_wire_price price_direct(const question *q, const dt_wires *w) {
    return dt_direct_cost(q->x, w);
}

/* In a twisted slice all links are parts of rings, those of short axes of several laps. */
static bool is_twisted_whole(const question *q) {
    return q->grid && q->x->topology->slice->twisted && dt_grid_is_whole(q->grid);
}

static dt_wire_price price_grid_all_to_all(const question *q, const dt_wires *w) {
    if (q->x->topology->slice->twisted)
        return is_twisted_whole(q)
                   ? dt_twisted_all_to_all_cost(q->x->topology, q->grid, q->x->bytes, w)
                   : dt_direct_cost(q->x, w);
    return dt_grid_all_to_all_cost(q->grid, q->x->bytes, w);
}

static dt_wire_price price_tree(const question *q, const dt_wires *w) {
    int pieces;
    return dt_spread_cost(q->x, q->grid, w, &pieces);
}

static bool all_rings(const dt_grid *g) {
    for (int a = 0; g && a < DT_CORE_AXIS; a++)
        if (g->axis[a].ranks > 1 && !g->axis[a].ring) return false;
    return g;
}

static double efficiency(const question *q, const dt_chip *chip) {
    const bool rings = all_rings(q->grid) || is_twisted_whole(q);
    const double links = rings ? chip->ring_efficiency : chip->line_efficiency;
    const double sum = q->x->collective == DT_ALL_REDUCE ? chip->sum_efficiency : 0;
    return (links > 0 ? links : 1) * (sum > 0 ? sum : 1);
}

/* Chooses this algorithm if it is the fastest so far. */
static void weigh(const question *q, const char *name, pricing *price) {
    const dt_chip *chip = q->x->topology->slice->chip;
    const double ideal = price(q, &q->wires).seconds;
    dt_wires real = q->wires;
    real.link_Bps *= efficiency(q, chip);
    const dt_wire_price p = price(q, &real);
    dt_exchange_price *b = q->best;
    const bool first = !b->schedule[0];
    if (first || ideal < b->ideal_s) b->ideal_s = ideal;
    /* of equally fast algorithms the first is chosen, as compilers do */
    if (!first && p.seconds + chip->collective_s >= b->seconds * (1 - 1e-6)) return;
    b->seconds = p.seconds + chip->collective_s;
    b->latency_s = p.latency_s + chip->collective_s;
    b->busiest_link = p.busiest_link;
    memcpy(b->way, p.way, sizeof b->way);
    snprintf(b->schedule, sizeof b->schedule, "%s", name);
}

static void weigh_tori(question *q) {
    dt_torus ways[DT_TORUS_WAYS];
    int n = dt_torus_ways(q->x->topology, q->grid, ways);
    for (int i = 0; i < n; i++) {
        q->torus = &ways[i];
        weigh(q, ways[i].name, price_torus);
    }
}

static void weigh_all(question *q) {
    const dt_collective c = q->x->collective;
    if (c == DT_ALL_TO_ALL) weigh(q, "direct", q->grid ? price_grid_all_to_all : price_direct);
    else if (c == DT_COLLECTIVE_PERMUTE) weigh(q, "direct", price_direct);
    else if (c == DT_COLLECTIVE_BROADCAST) weigh(q, "tree", price_tree);
    else if (q->grid) weigh_tori(q);
    else {
        weigh(q, "ring through places", price_ring);
        weigh(q, "ring through places both ways", price_both_ways);
        weigh(q, "doubling", price_doubling);
    }
}

/* ---- the formula of the book ---- */

static double textbook(const question *q) {
    const dt_collective_request *x = q->x;
    const dt_wires *w = &q->wires;
    int axes = 0, hops = 0;
    for (int a = 0; q->grid && a < DT_CORE_AXIS; a++) {
        axes += q->grid->axis[a].ranks > 1;
        hops += q->grid->axis[a].ranks > 1 ? q->grid->axis[a].ranks / 2 : 0;
    }
    if (axes == 0) return q->best->ideal_s;
    const double latency = hops * w->hop_s, travel = x->bytes / (2 * w->link_Bps * axes),
                 gather = latency > travel ? latency : travel;
    switch (x->collective) {
    case DT_ALL_GATHER:
    case DT_REDUCE_SCATTER: return gather;
    case DT_ALL_REDUCE: return 2 * gather;
    case DT_ALL_TO_ALL: return x->bytes / (8 * w->link_Bps * axes);
    default: return q->best->ideal_s;
    }
}

void dt_exchange_price_of(const dt_collective_request *x, dt_exchange_price *out) {
    dt_grid grid;
    question q = {.x = x, .wires = dt_wires_of(x->topology, x->place), .best = out};
    *out = (dt_exchange_price){.seconds = 0};
    if (x->ranks < 2 || x->groups < 1 || !(x->bytes > 0)) return;
    if (x->topology->slice->chip->is_host) {
        dt_switched_price(x, out);
        return;
    }
    q.wires.groups = x->groups;
    q.grid = dt_grid_find(x->topology, x->groups, x->ranks, x->place, &grid) ? &grid : NULL;
    weigh_all(&q);
    out->textbook_s = textbook(&q);
}
