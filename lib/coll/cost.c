/*
 * What a schedule costs on links. Every message is routed, and what it carries is counted on each link it takes, in its direction.
 * A round lasts as long as its busiest link, or its longest way if the messages are small; rounds wait for each other.
 *
 * On a ring of N with wraparound this is the textbook's: all-gather one way max(h, V/N/w) * (N-1), both ways
 * max(h * N/2, V * (N-1)/N / 2w), on a line (N-1) * max(h, V/N/w).
 */
#include "coll/links.h"

dt_wires dt_wires_of(const dt_topology *t, const int *place)
{
    const dt_chip *c = t->slice->chip;
    const double inside = c->core_link_Bps > 0 ? c->core_link_Bps : c->core_hbm_Bps * c->cores / 2;
    return (dt_wires){.topology = t, .place = place, .link_Bps = c->link_Bps, .hop_s = c->hop_s, .chip_Bps = inside};
}

/* The busiest links over all rounds. */
static void note_links(const dt_loads *total, dt_wire_price *price)
{
    price->busiest_link = dt_loads_link(total);
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++)
            price->way[axis][up] = dt_loads_way(total, axis, up);
}

static void close_round(dt_loads *l, dt_loads *total, const dt_wires *wires, bool direct, dt_wire_price *price)
{
    for (int i = 0; i < l->links; i++)
        total->link[i] += l->link[i];
    price->seconds += dt_wires_round(wires, direct ? 0 : l->hops, dt_loads_link(l), dt_loads_chip(l)) + (direct ? l->hops * wires->hop_s : 0);
    price->latency_s += l->hops * wires->hop_s;
    dt_loads_clear(l);
}

dt_wire_price dt_schedule_cost(const dt_schedule *s, double bytes, const dt_wires *wires)
{
    const int groups = wires->groups ? wires->groups : 1;
    dt_loads l = dt_loads_create(wires->topology), total = dt_loads_create(wires->topology);
    dt_wire_price price = {0};
    for (int i = 0; i < s->moves; i++) {
        const dt_move *m = &s->move[i];
        for (int g = 0; g < groups; g++) {
            const int *place = &wires->place[4 * g * s->ranks];
            dt_loads_add(&l, &place[4 * m->from], &place[4 * m->to], bytes * m->chunks / s->chunks);
        }
        if (i + 1 == s->moves || m[1].round != m->round)
            close_round(&l, &total, wires, s->direct, &price);
    }
    note_links(&total, &price);
    dt_loads_release(&l);
    dt_loads_release(&total);
    return price;
}
