/*
 * What a schedule costs on links. Every message is routed, and what it carries is counted on each link it takes, in its direction.
 * A round lasts as long as its busiest link, or its longest way if the messages are small; rounds wait for each other.
 *
 * On a ring of N with wraparound this is the textbook's: all-gather one way max(h, V/N/w) * (N-1), both ways
 * max(h * N/2, V * (N-1)/N / 2w), on a line (N-1) * max(h, V/N/w).
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/coll.h"

/* The bytes of a round: on links (2 * (3 * lower chip + axis) + up), and within chips. */
typedef struct load {
    double *link, *chip, *total; /* total: links, over all rounds */
    int links, chips;
    dt_link *route;
    int hops; /* of the longest message */
} load;

dt_wires dt_wires_of(const dt_topology *t, const int *place)
{
    const dt_chip *c = t->slice->chip;
    return (dt_wires){.topology = t, .place = place, .link_Bps = c->link_Bps, .hop_s = c->hop_s, .chip_Bps = c->core_hbm_Bps * c->cores / 2};
}

static void carry(load *l, const dt_schedule *s, const dt_move *m, double bytes, const dt_wires *wires)
{
    const int *from = &wires->place[4 * m->from], *to = &wires->place[4 * m->to];
    double part = bytes * m->chunks / s->chunks;
    int hops = dt_topology_route(wires->topology, from, to, l->route);
    for (int i = 0; i < hops; i++)
        l->link[2 * (3 * (l->route[i].up ? l->route[i].from : l->route[i].to) + l->route[i].axis) + l->route[i].up] += part;
    if (hops == 0)
        l->chip[from[0] + wires->topology->mesh[0] * (from[1] + wires->topology->mesh[1] * from[2])] += part;
    if (hops > l->hops)
        l->hops = hops;
}

static double largest(const double *v, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

/* Ends a round: its seconds; the counts start again. */
static double close_round(load *l, const dt_wires *wires)
{
    double seconds = largest(l->link, l->links) / wires->link_Bps, latency = l->hops * wires->hop_s;
    double inside = wires->chip_Bps > 0 ? largest(l->chip, l->chips) / wires->chip_Bps : 0;
    for (int i = 0; i < l->links; i++)
        l->total[i] += l->link[i];
    memset(l->link, 0, (size_t)l->links * sizeof *l->link);
    memset(l->chip, 0, (size_t)l->chips * sizeof *l->chip);
    l->hops = 0;
    seconds = latency > seconds ? latency : seconds;
    return inside > seconds ? inside : seconds;
}

dt_wire_price dt_schedule_cost(const dt_schedule *s, double bytes, const dt_wires *wires)
{
    const int *mesh = wires->topology->mesh, chips = mesh[0] * mesh[1] * mesh[2];
    load l = {.links = 6 * chips, .chips = chips};
    l.link = dt_alloc((size_t)l.links * sizeof *l.link);
    l.total = dt_alloc((size_t)l.links * sizeof *l.total);
    l.chip = dt_alloc((size_t)chips * sizeof *l.chip);
    l.route = dt_alloc((size_t)(mesh[0] + mesh[1] + mesh[2]) * sizeof *l.route);
    dt_wire_price price = {0};
    for (int i = 0; i < s->moves; i++) {
        carry(&l, s, &s->move[i], bytes, wires);
        if (i + 1 == s->moves || s->move[i + 1].round != s->move[i].round)
            price.seconds += close_round(&l, wires);
    }
    price.busiest_link = largest(l.total, l.links);
    free(l.link);
    free(l.total);
    free(l.chip);
    free(l.route);
    return price;
}
