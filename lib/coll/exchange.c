/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coll/irregular.h"
#include "coll/torus.h"

/* ---- clusters ---- */

/*
 * Collectives on hosts that a switch joins, with devices that a switch joins. A group of d devices
 * on each of h hosts works in two tiers, one after the other:
 *
 *     inside    each device sends and receives, at the rate core_link_Bps of its chip
 *     between   each host sends and receives, at the rate link_Bps, for all groups with devices on
 *               it; data that its devices share is sent once
 *
 *                          inside, a device          between, a host           messages between
 *     all_gather           V (d - 1) / d             V (h - 1) / h             log2 h, rounded up
 *     reduce_scatter       V (d - 1) / d             V (h - 1) / h             the same
 *     all_reduce           2 V (d - 1) / d           2 V (h - 1) / h           twice as many
 *     all_to_all           V / (h d) (d - 1) / d     V / h (h - 1) / h         1
 *     permute, broadcast   V                         V                         1, log2 h
 *
 * The columns are bytes that a device, and a host, sends, and the messages that follow one another.
 * V is the bytes of the group's whole buffer, of a permute those that one rank sends. Between hosts
 * these are the bytes and rounds of the sums that workers make (net/tree.c). A message takes hop_s
 * before its first byte; inside a host that is left out.
 */
typedef struct tiers {
    /* hosts: number of hosts of a group; devices: number of its devices on the host that has the
     * most. */
    int hosts, devices;
    int sharing; /* number of groups that have devices on the host of group 0's rank 0 */
} tiers;

static int host_of(const dt_collective_request *x, int group, int rank) {
    return x->place[4 * (group * x->ranks + rank) + 1];
}

/* Returns the number of ranks of a group on a host. */
static int count_on(const dt_collective_request *x, int group, int host) {
    int n = 0;
    for (int k = 0; k < x->ranks; k++) n += host_of(x, group, k) == host;
    return n;
}

/* Finds hosts and devices of the first group, since all groups are alike. */
static tiers find_tiers(const dt_collective_request *x) {
    tiers t = {0};
    const int first = host_of(x, 0, 0);
    for (int k = 0; k < x->ranks; k++) {
        const int host = host_of(x, 0, k), n = count_on(x, 0, host);
        bool seen = false;
        for (int before = 0; before < k && !seen; before++) seen = host_of(x, 0, before) == host;
        t.hosts += !seen;
        t.devices = n > t.devices ? n : t.devices;
    }
    for (int g = 0; g < x->groups; g++) t.sharing += count_on(x, g, first) > 0;
    return t;
}

static double part(int n) { return (n - 1.0) / n; }

/* Returns the number of rounds of a reduction to one host, or of the spreading back: a sum over all
 * hosts is both. */
static double rounds_of(int hosts) { return ceil(log2(hosts)); }

/* Computes the cost of an exchange between devices and hosts that are joined by switches. ideal_s
 * and textbook_s are set to `seconds`, since there is only one algorithm. busiest_link is the bytes
 * that a host sends to others, 0 for one host; `way` stays 0, because there are no axes. */
static void switched_price(const dt_collective_request *x, dt_exchange_price *out) {
    const dt_chip *c = x->topology->slice->chip;
    const tiers t = find_tiers(x);
    const double d = t.devices, h = t.hosts, V = x->bytes;
    double inside = V * part(t.devices), between = V * part(t.hosts), rounds = rounds_of(t.hosts);
    switch (x->collective) {
    case DT_ALL_GATHER:
    case DT_REDUCE_SCATTER: break;
    case DT_ALL_REDUCE: inside *= 2, between *= 2, rounds *= 2; break;
    case DT_ALL_TO_ALL: inside /= h * d, between /= h, rounds = 1; break;
    case DT_COLLECTIVE_PERMUTE: inside = V, between = V, rounds = 1; break;
    case DT_COLLECTIVE_BROADCAST: inside = V, between = V, rounds = ceil(log2(h)); break;
    }
    out->busiest_link = t.hosts > 1 ? between * t.sharing : 0;
    out->latency_s = t.hosts > 1 ? rounds * c->hop_s : 0;
    out->seconds = out->latency_s + (t.hosts > 1 ? out->busiest_link / c->link_Bps : 0) +
                   (t.devices > 1 ? inside / c->core_link_Bps : 0);
    out->ideal_s = out->textbook_s = out->seconds;
    snprintf(out->schedule, sizeof out->schedule,
             t.hosts == 1     ? "inside hosts"
             : t.devices == 1 ? "between hosts"
                              : "inside, then between hosts");
}

/* ---- the network between slices ---- */

/* The latency in one direction between two machines of a data centre. It is an assumption, since no
 * published value is known. Base round trips of about 25 us are reported for Google's fabrics
 * (Swift, SIGCOMM 2020; from memory). */
static const double one_way_s = 12.5e-6;

/* What a collective sends over the network. steps: the number of messages that follow one another;
 * times: how often a chip sends its whole buffer or the part of it that `all` selects. */
static const struct {
    int steps;
    double times;
    /* whether a chip sends its whole buffer; false: the (slices - 1) / slices of it that belong to
     * other slices */
    bool all;
} dcn_shapes[DT_COLLECTIVES] = {
    [DT_ALL_GATHER] = {1, 1, false},        [DT_REDUCE_SCATTER] = {1, 1, false},
    [DT_ALL_REDUCE] = {2, 2, false},        [DT_ALL_TO_ALL] = {1, 1, false},
    [DT_COLLECTIVE_PERMUTE] = {1, 1, true}, [DT_COLLECTIVE_BROADCAST] = {1, 1, true},
};

static double sent(int slices, dt_collective c, double bytes) {
    return dcn_shapes[c].times * bytes * (dcn_shapes[c].all ? 1 : (slices - 1.0) / slices);
}

bool dt_dcn_price(const dt_chip *chip, int slices, dt_collective c, double bytes, double *seconds) {
    *seconds = 0;
    if (slices < 2 || !(bytes > 0)) return true;
    if (!(chip->dcn_Bps > 0)) return false;
    *seconds = dcn_shapes[c].steps * one_way_s + sent(slices, c, bytes) / chip->dcn_Bps;
    return true;
}

/* ---- slices ---- */

/* An exchange for which the costs of algorithms are compared. `best` has the fastest so far. */
typedef struct question {
    const dt_collective_request *x;
    dt_wires wires;      /* the links, with nominal rates */
    const dt_grid *grid; /* the grid that the groups form; NULL: they form no grid */
    /* The torus schedule whose cost is computed; NULL: another algorithm is considered. */
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

/* Whether the group is a whole twisted slice. All its links are then parts of rings; the rings of
 * short axes go round several times. */
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

/* Computes an algorithm's cost, and writes it to *q->best if it takes less time, at measured link
 * rates and with the time to start, than all before it. Lowers ideal_s if the algorithm takes less
 * at nominal rates. name: the algorithm in reports. */
static void weigh(const question *q, const char *name, pricing *price) {
    const dt_chip *chip = q->x->topology->slice->chip;
    const double ideal = price(q, &q->wires).seconds;
    dt_wires real = q->wires;
    real.link_Bps *= efficiency(q, chip);
    const dt_wire_price p = price(q, &real);
    dt_exchange_price *b = q->best;
    const bool first = !b->schedule[0];
    if (first || ideal < b->ideal_s) b->ideal_s = ideal;
    /* Of equally fast algorithms (up to 1e-6 of the time) the first one is chosen, as compilers
     * do. */
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

/* ---- textbook_s: the rule of "How to Scale Your Model" ---- */

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
        switched_price(x, out);
        return;
    }
    q.wires.groups = x->groups;
    q.grid = dt_grid_find(x->topology, x->groups, x->ranks, x->place, &grid) ? &grid : NULL;
    weigh_all(&q);
    out->textbook_s = textbook(&q);
}
