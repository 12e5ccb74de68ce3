/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a schedule costs on links. Every message is routed, and what it carries is counted on each
 * link it takes, in its direction. A round lasts as long as its busiest link, or its longest way if
 * the messages are small; rounds wait for each other.
 *
 * On a ring of N with wraparound this is the textbook's: all-gather one way max(h, V/N/w) * (N-1),
 * both ways max(h * N/2, V * (N-1)/N / 2w), on a line (N-1) * max(h, V/N/w).
 */
#include "schedules.h"

#include <string.h>

#include "coll/links.h"

/* The busiest links over all rounds. */
static void note_links(const dt_loads *total, dt_wire_price *price) {
    price->busiest_link = dt_loads_link(total);
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++) price->way[axis][up] = dt_loads_way(total, axis, up);
}

/* What is under way: each colour's round, all of the phase, all of the schedule. */
typedef struct meter {
    const dt_schedule *s;
    const dt_wires *wires;
    dt_loads round[DT_COLORS], phase, total;
    double seconds[DT_COLORS], latency_s[DT_COLORS]; /* of the phase, by colour */
    dt_wire_price price;
} meter;

static void add_loads(dt_loads *to, const dt_loads *l) {
    for (int i = 0; i < l->links; i++) to->link[i] += l->link[i];
    for (int i = 0; i < l->chips; i++) to->chip[i] += l->chip[i];
}

static void clear(dt_loads *l) {
    memset(l->link, 0, (size_t)l->links * sizeof *l->link);
    memset(l->chip, 0, (size_t)l->chips * sizeof *l->chip);
    l->hops = 0;
}

static void close_round(meter *m) {
    for (int c = 0; c < m->s->colors; c++) {
        dt_loads *l = &m->round[c];
        const double way = l->hops * m->wires->hop_s,
                     bytes = dt_wires_round(m->wires, 0, dt_loads_link(l), dt_loads_chip(l));
        m->seconds[c] += m->s->direct ? way + bytes : way > bytes ? way : bytes;
        m->latency_s[c] += way;
        add_loads(&m->phase, l);
        clear(l);
    }
}

static void close_phase(meter *m) {
    double seconds =
               dt_wires_round(m->wires, 0, dt_loads_link(&m->phase), dt_loads_chip(&m->phase)),
           latency = 0;
    for (int c = 0; c < m->s->colors; c++) {
        seconds = m->seconds[c] > seconds ? m->seconds[c] : seconds;
        latency = m->latency_s[c] > latency ? m->latency_s[c] : latency;
        m->seconds[c] = m->latency_s[c] = 0;
    }
    m->price.seconds += seconds;
    m->price.latency_s += latency;
    add_loads(&m->total, &m->phase);
    clear(&m->phase);
}

static void add_move(meter *m, const dt_schedule_move *move, double bytes) {
    for (int g = 0; g < (m->wires->groups ? m->wires->groups : 1); g++) {
        const int *place = &m->wires->place[4 * g * m->s->ranks];
        dt_loads_add(&m->round[move->color], &place[4 * move->from], &place[4 * move->to],
                     bytes * move->chunks / m->s->chunks);
    }
}

dt_wire_price dt_schedule_cost(const dt_schedule *s, double bytes, const dt_wires *wires) {
    meter m = {.s = s,
               .wires = wires,
               .phase = dt_loads_create(wires->topology),
               .total = dt_loads_create(wires->topology)};
    for (int c = 0; c < s->colors; c++) m.round[c] = dt_loads_create(wires->topology);
    for (int i = 0; i < s->moves; i++) {
        const dt_schedule_move *move = &s->move[i];
        add_move(&m, move, bytes);
        if (i + 1 == s->moves || move[1].round != move->round) close_round(&m);
        if (i + 1 == s->moves || move[1].phase != move->phase) close_phase(&m);
    }
    note_links(&m.total, &m.price);
    for (int c = 0; c < s->colors; c++) dt_loads_release(&m.round[c]);
    dt_loads_release(&m.phase);
    dt_loads_release(&m.total);
    return m.price;
}
