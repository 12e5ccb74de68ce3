/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual clock of a device. Kernels run on the chip while collectives run on its links and
 * between slices, as far as the data dependencies of the program allow. A unit that is free takes
 * the first item, in program order, whose inputs are ready. If there is none, it waits.
 *
 *     kernels   | F1 | F2 | F3 |       | B3 | B2 |    | B1 | U |
 *     links     | gather 2 | gather 3 | ...     | sum 3 | sum 2 | sum 1 |
 *                                  ^ waiting: time of links that nothing hides
 *
 * Weights that are gathered from other replicas for the forward pass are gathered again for the
 * backward pass. Values that are kept in the host's memory are sent over its bus, and are fetched
 * one rematerialized unit (a few layers) before the unit that reads them.
 *
 * If the job asks for it, a product runs together with the collective that gathers its operand, or
 * scatters its result, between the devices of a replica. Some compilers have an option for this.
 * One piece is sent while another is multiplied.
 *
 *     links     | gather 1 | gather 2 | gather 3 |
 *     kernels              | piece 1  | piece 2  | piece 3  |
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll/exchange.h"
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

/* ---- the queue of a unit ---- */

/*
 * The queue of a unit. It has the items (kernels, collectives, copies) whose inputs are computed or
 * have a known time of completion. It returns the first one in program order that is ready or, if
 * none is, the one that will be ready soonest. It has two heaps: items that are ready when the unit
 * becomes free, in program order; and items that will be ready later, by time. The time when the
 * unit is free only increases, so each item moves from the second heap to the first once.
 */

typedef struct queued {
    double ready;
    int place, item;
} queued;

typedef struct queue_heap {
    int n, cap;
    bool by_time; /* whether entries are ordered by time; false: by their position in the program */
    queued *entry;
} queue_heap;

/* The items that wait for a unit, in two heaps: those that will be ready later, and those that are
 * ready when the unit becomes free. Must be zeroed before use. */
typedef struct ready_queue {
    queue_heap later, due;
} ready_queue;

static bool is_before(const queued *a, const queued *b, bool by_time) {
    if (by_time && a->ready != b->ready) return a->ready < b->ready;
    return a->place != b->place ? a->place < b->place : a->item < b->item;
}

static void swap(queued *a, queued *b) {
    const queued was = *a;
    *a = *b;
    *b = was;
}

static void push(queue_heap *h, const queued *entry) {
    int at = h->n++;
    DT_GROW(h->entry, h->cap, h->n);
    h->entry[at] = *entry;
    for (; at > 0 && is_before(&h->entry[at], &h->entry[(at - 1) / 2], h->by_time);
         at = (at - 1) / 2)
        swap(&h->entry[at], &h->entry[(at - 1) / 2]);
}

static queued pop(queue_heap *h) {
    const queued first = h->entry[0];
    h->entry[0] = h->entry[--h->n];
    for (int at = 0, child = 1; child < h->n; at = child, child = 2 * at + 1) {
        child += child + 1 < h->n && is_before(&h->entry[child + 1], &h->entry[child], h->by_time);
        if (!is_before(&h->entry[child], &h->entry[at], h->by_time)) break;
        swap(&h->entry[child], &h->entry[at]);
    }
    return first;
}

static void queue_add(ready_queue *t, const queued *entry) {
    t->later.by_time = true;
    push(&t->later, entry);
}

/* Returns the item that the unit runs next if it becomes free at the time `now`, which must not
 * decrease between calls. The item stays in the queue. NULL: the queue is empty. */
static const queued *queue_next(ready_queue *t, double now) {
    while (t->later.n > 0 && t->later.entry[0].ready <= now) {
        const queued ready = pop(&t->later);
        push(&t->due, &ready);
    }
    return t->due.n > 0 ? t->due.entry : t->later.n > 0 ? t->later.entry : NULL;
}

/* Removes the item that the last call of queue_next returned. */
static void queue_take(ready_queue *t) { pop(t->due.n > 0 ? &t->due : &t->later); }

static void queue_release(ready_queue *t) {
    free(t->later.entry);
    free(t->due.entry);
}

/* ---- the clock ---- */

typedef struct item {
    int place, node;
    dt_plan_unit unit;
    double seconds, bytes;
    const char *schedule;
    dt_cost work;
    /* pieces in which a collective is sent while a product runs; 0: it is not sent so */
    int pieces;
    bool layers;  /* the item is a bucket with values of several layers */
    int waits;    /* number of edges to this item from items that have no time yet */
    double ready; /* time from which its inputs are available, of those that have a time */
    int behind;   /* the item that makes the input which is ready last; -1: none */
} item;

typedef struct edge {
    int to, next;
} edge;

typedef struct clock {
    const dt_priced_program *r;
    const dt_graph *g;
    const dt_launches *k;
    dt_arena *arena;
    dt_links *links;
    dt_plan *p;
    int n;
    /* [n] kernels, then collectives and copies; `place` is the item's position in the program */
    item *item;
    int *of;      /* [nodes] the item that computes, receives or fetches the node; -1: none */
    int *again;   /* [nodes] the item that gathers the node again for the backward pass; -1: none */
    int *bucket;  /* [buckets] the item that sends the bucket of collectives; -1: none yet */
    int *between; /* [items] the item that continues the sum between slices; -1: none */
    /* [nodes] for a node that is fetched from the host: sent, the item that sends it there;
     * waits_for, the node that must be computed before fetching begins; -1: none */
    int *sent, *waits_for;
    edge *edge;
    int n_edges, cap_edges;
    /* [items] index in `edge` of the item's first edge, to an item that waits for it; -1: none */
    int *first;
    int *reader; /* [nodes] the first node of the backward pass that reads the node; 0: none */
    /* [units] items that wait for the unit, and whose inputs are all done or have a time */
    ready_queue queue[DT_UNITS];
    const bool *forward; /* [nodes] whether the node belongs to the forward pass */
} clock;

/* ---- items ---- */

static bool is_link(const clock *c, int i) {
    const dt_node *n = &c->g->node[i];
    return n->op->across && n->n_in > 0 && c->k->of[i] < 0 && c->r->program->bucket[i] >= 0;
}

/* Returns the bytes that each device contributes to collective i: those of its operand, in the
 * dtype of the collective's result, because a cast of the operand is fused with the collective. */
static double put_in(const clock *c, int i) {
    dt_type t = dt_priced_type(c->r, c->g->node[i].in[0]);
    t.dtype = dt_priced_type(c->r, i).dtype;
    return (double)dt_type_bytes(&t);
}

/* Returns the number of pieces in which collective i can be sent while a product works on others:
 * the number of devices that take part, if i is an all-gather or reduce-scatter between the devices
 * of a replica and the job asks for collective products; otherwise 0. */
static int pieces_of(const clock *c, int i) {
    const dt_across_kind kind = dt_across_kind_of(&c->g->node[i]);
    const dt_mesh *mesh = &c->r->program->mesh;
    if (kind != DT_ACROSS_ALL_GATHER && kind != DT_ACROSS_REDUCE_SCATTER) return 0;
    const dt_mesh_axes axes = ((const dt_across_attr *)c->g->node[i].attr)->axes;
    return !c->r->program->how.collective_products || (axes & mesh->replicas)
               ? 0
               : dt_mesh_parts(mesh, axes);
}

static int add_item(clock *c, item it) {
    it.behind = -1;
    c->item[c->n] = it;
    return c->n++;
}

/* Whether node i is a sum over replicas that are in several slices. Links then sum it within each
 * slice, and the network adds up the slices' sums. If the mesh has no axis of replicas, all sums
 * over devices count as such. */
static bool goes_between(const clock *c, int i) {
    const dt_node *n = &c->g->node[i];
    return dt_across_sums(n) && c->r->program->how.slices > 1 &&
           (!c->r->program->mesh.replicas ||
            (((const dt_across_attr *)n->attr)->axes & c->r->program->mesh.replicas));
}

static void add_between(clock *c) {
    const int links = c->n;
    for (int i = 0; i < links; i++) c->between[i] = -1;
    for (int i = c->k->n; i < links; i++) {
        item *it = &c->item[i];
        double seconds = 0;
        if (!goes_between(c, it->node)) continue;
        int ranks = dt_mesh_parts(&c->r->program->mesh,
                                  ((const dt_across_attr *)c->g->node[it->node].attr)->axes);
        dt_dcn_price(c->r->topology->slice->chip, c->r->program->how.slices, DT_ALL_REDUCE,
                     it->bytes / ranks, &seconds);
        c->between[i] = add_item(c, (item){.node = it->node,
                                           .place = it->place,
                                           .unit = DT_UNIT_NETWORK,
                                           .layers = it->layers,
                                           .seconds = seconds,
                                           .bytes = it->bytes / ranks,
                                           .schedule = "network"});
        c->between[c->between[i]] = -1;
    }
}

/* ---- the host's memory, and all items ---- */

static double seconds_to_host(const clock *c, double bytes) {
    const dt_topology *t = c->r->topology;
    /* All devices of a chip share its bus to the host. */
    const double share = c->p->chip->pcie_Bps / t->mesh[3];
    return share > 0 ? bytes / share : 0;
}

static void add_copies(clock *c) {
    int out = c->n, now = -1, before = -1;
    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_node *n = &c->g->node[i];
        if (!dt_is_from_host(n)) continue;
        dt_type t = dt_priced_type(c->r, i);
        double bytes = (double)dt_type_bytes(&t);
        int from = dt_priced_source(c->r, n->in[0]), after = dt_priced_source(c->r, n->in[1]);
        item copy = {.node = i,
                     .place = from,
                     .unit = DT_UNIT_HOST,
                     .bytes = bytes,
                     .seconds = seconds_to_host(c, bytes),
                     .schedule = "to the host"};
        if (after != now) {
            before = now;
            now = after;
        }
        out = add_item(c, copy);
        copy.place = i;
        copy.schedule = "from the host";
        c->of[i] = add_item(c, copy);
        c->sent[i] = out;
        c->waits_for[i] = before;
        c->p->offloaded += bytes;
    }
}

static void find_readers(clock *c) {
    for (int j = c->g->n_nodes - 1; j > 0; j--)
        for (int k = 0; !c->forward[j] && k < c->g->node[j].n_in; k++)
            c->reader[dt_priced_source(c->r, c->g->node[j].in[k])] = j;
}

/* Returns the first position in the program at which backward work reads node i: that of the kernel
 * of the first reader or, if no kernel computes the reader, the reader's own index. Returns n_nodes
 * if no backward work reads it. */
static int read_again_at(const clock *c, int i) {
    int j = c->reader[i];
    return j == 0 ? c->g->n_nodes : c->k->of[j] >= 0 ? c->k->kernel[c->k->of[j]].at : j;
}

static bool same_layer(const char *a, const char *b) {
    size_t n = strcspn(a, "/");
    return n == strcspn(b, "/") && strncmp(a, b, n) == 0;
}

static void add_again(clock *c, int i) {
    int place = dt_priced_is_gathered_twice(c->r, i) ? read_again_at(c, i) : c->g->n_nodes;
    c->again[i] = -1;
    if (place < c->g->n_nodes && place != c->item[c->of[i]].place && c->forward[i])
        c->again[i] = add_item(c, (item){.node = i,
                                         .unit = DT_UNIT_LINKS,
                                         .place = place,
                                         .pieces = pieces_of(c, i),
                                         .bytes = put_in(c, i)});
}

static void price_link(clock *c, item *it) {
    dt_link_price price = dt_links_price(c->links, it->node, it->bytes);
    it->seconds = price.seconds;
    it->schedule = price.schedule;
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++) c->p->link_bytes[axis][up] += price.way[axis][up];
}

static void add_items(clock *c) {
    for (int i = 0; i < c->k->n; i++) {
        const dt_kernel_launch *k = &c->k->kernel[i];
        add_item(c, (item){.place = k->at,
                           .node = k->head,
                           .unit = DT_UNIT_CHIP,
                           .seconds = k->price.seconds * k->times,
                           .work = k->work});
    }
    for (int i = 0; i < c->g->n_nodes; i++) {
        c->of[i] = c->k->of[i];
        c->again[i] = -1;
        if (is_link(c, i)) {
            /* The members of a bucket are one item, which has the position of the last member. */
            int bucket = c->r->program->bucket[i];
            if (c->bucket[bucket] < 0)
                c->bucket[bucket] = add_item(c, (item){.node = i, .unit = DT_UNIT_LINKS});
            item *it = &c->item[c->bucket[bucket]];
            it->layers |= !same_layer(c->g->node[it->node].path, c->g->node[i].path);
            it->place = i;
            it->pieces = pieces_of(c, i);
            it->bytes += put_in(c, i);
            c->of[i] = c->bucket[bucket];
            add_again(c, i);
        }
    }
    for (int i = c->k->n; i < c->n; i++) price_link(c, &c->item[i]);
    add_between(c);
    const int links = c->n;
    add_copies(c);
    for (int i = links; i < c->n; i++) c->between[i] = -1;
}

/* ---- dependences between items ---- */

static void add_edge(clock *c, int from, int to) {
    if (from < 0 || from == to) return;
    DT_GROW(c->edge, c->cap_edges, c->n_edges + 1);
    c->edge[c->n_edges] = (edge){.to = to, .next = c->first[from]};
    c->first[from] = c->n_edges++;
    c->item[to].waits++;
}

static int last_item_of(const clock *c, int node) {
    int giver = c->of[node];
    return giver >= 0 && c->between[giver] >= 0 ? c->between[giver] : giver;
}

static void add_copy_edges(clock *c, int i) {
    int from = dt_priced_source(c->r, c->g->node[i].in[0]);
    add_edge(c, last_item_of(c, from), c->sent[i]);
    add_edge(c, c->sent[i], c->of[i]);
    if (c->waits_for[i] >= 0) add_edge(c, last_item_of(c, c->waits_for[i]), c->of[i]);
}

static void add_edges(clock *c) {
    for (int i = 0; i < c->n; i++) c->first[i] = -1;
    for (int i = 0; i < c->g->n_nodes; i++) {
        if (dt_is_from_host(&c->g->node[i])) {
            add_copy_edges(c, i);
            continue;
        }
        for (int k = 0; c->of[i] >= 0 && k < c->g->node[i].n_in; k++) {
            int from = dt_priced_source(c->r, c->g->node[i].in[k]);
            bool again = c->again[from] >= 0 && !c->forward[i];
            int giver = again ? c->again[from] : c->of[from];
            add_edge(c, giver >= 0 && c->between[giver] >= 0 ? c->between[giver] : giver, c->of[i]);
        }
    }
    for (int i = 0; i < c->n; i++)
        if (c->between[i] >= 0) add_edge(c, i, c->between[i]);
}

/* ---- running ---- */

static void wait_for_unit(clock *c, int i) {
    const item *it = &c->item[i];
    queue_add(&c->queue[it->unit], &(queued){.ready = it->ready, .place = it->place, .item = i});
}

static double *part_of(dt_plan *p, dt_plan_unit unit) {
    return unit == DT_UNIT_NETWORK ? &p->parts.dcn
           : unit == DT_UNIT_HOST  ? &p->parts.host
                                   : &p->parts.links;
}

/* Adds the seconds `wait` that a kernel waits to the plan's part of the unit that it waits for, and
 * to the layer whose input it waits for, or, if that input is in a bucket with several layers, to
 * the plan's layer "(gradients)". If no item made its inputs, they are added to parts.links and to
 * the kernel's own layer. Does nothing unless `wait` is positive. */
static void note_wait(clock *c, const item *it, double wait) {
    if (wait <= 0) return;
    *part_of(c->p, it->behind >= 0 ? c->item[it->behind].unit : DT_UNIT_LINKS) += wait;
    const item *behind = it->behind >= 0 ? &c->item[it->behind] : it;
    dt_plan_layer *l =
        dt_plan_layer_of(c->p, behind->layers ? "(gradients)" : c->g->node[behind->node].path);
    l->by[DT_BOUND_LINKS] += wait;
    l->seconds += wait;
}

/* Returns when item `to`, which waits for `it`, can start. `it` runs from `start` to `end`. If
 * one is a product and the other a collective that is sent in pieces, `to` starts after the
 * first piece, or so that only its last piece ends after `end`, whichever is later; otherwise at
 * `end`. */
static double ready_at(const item *it, double start, double end, const item *to) {
    const item *link = it->unit == DT_UNIT_LINKS ? it : to, *product = link == it ? to : it;
    const bool together = link->unit == DT_UNIT_LINKS && link->pieces > 1 &&
                          product->unit == DT_UNIT_CHIP && product->work.product[0].count > 0;
    if (!together) return end;
    const double first = start + it->seconds / link->pieces,
                 last = end - to->seconds * (link->pieces - 1) / link->pieces;
    return first > last ? first : last;
}

static void run_item(clock *c, int i, double *free_at) {
    item *it = &c->item[i];
    double start = it->ready > *free_at ? it->ready : *free_at, end = start + it->seconds;
    if (it->unit == DT_UNIT_CHIP) note_wait(c, it, start - *free_at);
    else if (it->unit != DT_UNIT_HOST) c->p->link_busy += it->seconds;
    c->p->event[c->p->n_events++] = (dt_plan_event){.start = start,
                                                    .end = end,
                                                    .unit = it->unit,
                                                    .node = it->node,
                                                    .bytes = it->bytes,
                                                    .schedule = it->schedule,
                                                    .work = it->work};
    *free_at = end;
    for (int e = c->first[i]; e >= 0; e = c->edge[e].next) {
        item *to = &c->item[c->edge[e].to];
        double ready = ready_at(it, start, end, to);
        if (ready >= to->ready) {
            to->ready = ready;
            to->behind = i;
        }
        if (--to->waits == 0) wait_for_unit(c, c->edge[e].to);
    }
}

/* Of the next items of all units, runs the one that can start first. Returns false if none is
 * left. */
static bool run_next(clock *c, double *free_at) {
    int best = -1, next = -1;
    double soonest = INFINITY;
    for (int unit = 0; unit < DT_UNITS; unit++) {
        const queued *next_on_unit = queue_next(&c->queue[unit], free_at[unit]);
        double start = !next_on_unit                         ? INFINITY
                       : next_on_unit->ready > free_at[unit] ? next_on_unit->ready
                                                             : free_at[unit];
        if (start < soonest) {
            soonest = start;
            best = unit;
            next = next_on_unit->item;
        }
    }
    if (best < 0) return false;
    queue_take(&c->queue[best]);
    run_item(c, next, &free_at[best]);
    return true;
}

static void run(clock *c) {
    double free_at[DT_UNITS] = {0};
    for (int i = 0; i < c->n; i++)
        if (c->item[i].waits == 0) wait_for_unit(c, i);
    while (run_next(c, free_at))
        ;
    assert(c->p->n_events == c->n); /* fails if items wait for each other in a circle */
    int last = DT_UNIT_CHIP;
    for (int unit = 0; unit < DT_UNITS; unit++) last = free_at[unit] > free_at[last] ? unit : last;
    c->p->seconds = free_at[last];
    *part_of(c->p, (dt_plan_unit)last) += free_at[last] - free_at[DT_UNIT_CHIP];
}

void dt_plan_run_clock(const dt_priced_program *r, const dt_launches *k, dt_plan *p) {
    dt_local_arena arena = dt_arena_create();
    const dt_graph *g = r->program->local;
    int most = k->n + 6 * g->n_nodes + 1;
    clock c = {.r = r,
               .g = g,
               .k = k,
               .arena = arena,
               .p = p,
               .links = dt_links_create(r, p->arena),
               .item = dt_arena_array(arena, item, most),
               .of = dt_arena_array(arena, int, g->n_nodes + 1),
               .again = dt_arena_array(arena, int, g->n_nodes + 1),
               .bucket = dt_arena_array(arena, int, g->n_nodes + 1),
               .first = dt_arena_array(arena, int, most),
               .between = dt_arena_array(arena, int, most),
               .sent = dt_arena_array(arena, int, g->n_nodes + 1),
               .waits_for = dt_arena_array(arena, int, g->n_nodes + 1),
               .forward = dt_priced_forward(r, arena)};
    c.reader = dt_arena_array(arena, int, g->n_nodes + 1);
    for (int i = 0; i <= g->n_nodes; i++) c.bucket[i] = -1;
    find_readers(&c);
    add_items(&c);
    add_edges(&c);
    p->event = dt_arena_array(p->arena, dt_plan_event, c.n + 1);
    run(&c);
    for (int unit = 0; unit < DT_UNITS; unit++) queue_release(&c.queue[unit]);
    free(c.edge);
    dt_links_destroy(c.links);
}
