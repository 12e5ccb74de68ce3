/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on hosts that a switch joins, with devices that a switch joins. A group of d devices
 * on each of h hosts works in two tiers, one after the other:
 *
 *     inside    each device sends and receives its own rate
 *     between   each host does, for all groups with devices on it; data that its devices share is
 *               sent once
 *
 *                          inside, a device          between, a host           messages between
 *     all_gather           V (d - 1) / d             V (h - 1) / h             log2 h, rounded up
 *     reduce_scatter       V (d - 1) / d             V (h - 1) / h             the same
 *     all_reduce           2 V (d - 1) / d           2 V (h - 1) / h           twice as many
 *     all_to_all           V / (h d) (d - 1) / d     V / h (h - 1) / h         1
 *     permute, broadcast   V                         V                         1, log2 h
 *
 * V is the group's whole buffer, of a permute what one rank sends. Between hosts these are the
 * bytes and rounds of the sums that workers make (net/tree.c). A message takes hop_s before its
 * first byte; inside a host that is left out.
 */
#include "coll/switched.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tiers {
    /* hosts: number of hosts of a group; devices: number of its devices on the host that has the
     * most. */
    int hosts, devices;
    int sharing; /* number of groups that have devices on the busiest host */
} tiers;

static int host_of(const dt_collective_request *x, int group, int rank) {
    return x->place[4 * (group * x->ranks + rank) + 1];
}

/* The number of ranks of a group on a host. */
static int count_on(const dt_collective_request *x, int group, int host) {
    int n = 0;
    for (int k = 0; k < x->ranks; k++) n += host_of(x, group, k) == host;
    return n;
}

/* Finds the tiers from the first group, since all groups are alike. */
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

/* The number of rounds, in one direction, of a sum over all hosts. */
static double rounds_of(int hosts) { return ceil(log2(hosts)); }

void dt_switched_price(const dt_collective_request *x, dt_exchange_price *out) {
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
