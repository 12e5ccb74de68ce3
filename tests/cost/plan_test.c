/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random steps: drawn, noted, cut over random numbers of devices and replicas, priced on
 * slices of all generations. What must hold of any of them whatever a constant says: parts add up,
 * nothing on the clock starts before what it needs has ended, no work is lost or done twice by
 * fusing it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "cost/cost_impl.h"
#include "pass/pass.h"
#include "../support/cut.h"
#include "../support/feed.h"
#include "../support/notes.h"
#include "../support/status.h"

/* ---- a step, cut and priced ---- */

typedef struct drawn {
    uint64_t seed;
    random_graph *g;
    dt_folded folded;
    dt_graph *noted;
    dt_spmd *spmd;
    dt_topology *topology;
    dt_priced_program priced;
    dt_plan *plan;
    dt_arena *arena;
    dt_launches kernels;
} drawn;

static dt_topology *topology_of(uint64_t seed, dt_random *r) {
    static const char *const names[] = {"v2-32",  "v3-32",  "v4-32",   "v5litepod-16",
                                        "v5p-32", "v6e-16", "tpu7x-32"};
    dt_slice slice;
    ok_for(dt_slice_find(names[dt_random_below(r, sizeof names / sizeof *names)],
                         DT_E_UNKNOWN_SLICE, NULL, &slice),
           seed);
    return dt_topology_of_slice(&slice);
}

static void cut_over_devices(drawn *d, dt_random *r, bool places) {
    static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};
    static const int64_t rows[] = {4, 8, 12, 6, 16, 24, 5};
    dt_spmd_options o = {.devices = sizes[dt_random_below(r, 8)],
                         .batch = rows[dt_random_below(r, 7)],
                         .replicas = 1,
                         .how = {.mixed = d->seed % 3 == 0, .slices = d->seed % 5 ? 1 : 2},
                         .places = places};
    if (o.devices <= 4 && !places) {
        o.replicas = 1 + (int)dt_random_below(r, 4);
        o.how.over_replicas = (dt_over_replicas)dt_random_below(r, 3);
    }
    for (int i = 0; i < d->g->n_variables; i++)
        *(i % 2 ? &d->g->variable[i]->slot : &d->g->variable[i]->trainable) = true;
    ok_for(dt_fold(d->g->graph, d->g->distributed, 1, &d->folded), d->seed);
    d->noted =
        (places ? notes_draw_places : notes_draw)(d->folded.graph, d->seed, o.batch, o.devices);
    ok_for(dt_spmd_create(&d->spmd, d->noted, &o), d->seed);
}

/* Every third in mixed precision, every fifth on two slices. */
static drawn draw(uint64_t seed, bool places) {
    static const random_kind kinds[] = {RANDOM_FIT, RANDOM_SOUP, RANDOM_IMAGES, RANDOM_SOUP};
    dt_random r = dt_random_stream(seed, "plan", 0);
    drawn d = {.seed = seed,
               .g = random_graph_draw(kinds[seed % 4], seed),
               .arena = dt_arena_create(),
               .topology = topology_of(seed, &r)};
    cut_over_devices(&d, &r, places);
    d.priced = (dt_priced_program){.program = d.spmd, .topology = d.topology};
    d.plan = dt_plan_create(&d.priced);
    d.priced = dt_priced_prepared(&d.priced, d.arena);
    d.kernels = dt_launches_create(&d.priced, d.arena);
    return d;
}

static void release(drawn *d) {
    dt_plan_destroy(d->plan);
    dt_spmd_destroy(d->spmd);
    dt_graph_destroy(d->noted);
    dt_graph_destroy(d->folded.graph);
    random_graph_destroy(d->g);
    dt_topology_unref(d->topology);
    dt_arena_destroy(d->arena);
}

static void expect_near(const drawn *d, const char *what, double is, double ought) {
    if (!(fabs(is - ought) <= 1e-9 * fabs(ought)))
        fail_msg("seed %llu: %s is %.17g, not %.17g", (unsigned long long)d->seed, what, is, ought);
}

static void expect(const drawn *d, bool good, const char *what) {
    if (!good) fail_msg("seed %llu: %s", (unsigned long long)d->seed, what);
}

/* ---- time ---- */

static void expect_sums(const drawn *d) {
    const dt_plan *p = d->plan;
    const dt_plan_parts *t = &p->parts;
    double kernels = 0, links = 0, layers = 0, end = 0;
    for (int i = 0; i < p->n_events; i++) {
        *(p->event[i].unit == DT_UNIT_CHIP ? &kernels : &links) +=
            p->event[i].end - p->event[i].start;
        end = fmax(end, p->event[i].end);
    }
    for (int i = 0; i < p->n_layers; i++) layers += p->layer[i].seconds;
    expect_near(d, "the sum of the step's parts",
                t->matrix + t->memory + t->vector + t->launch + t->links + t->dcn + t->bubble,
                p->seconds);
    expect_near(d, "the end of the last event", end, p->seconds);
    expect_near(d, "time of collectives", links, p->link_busy);
    expect_near(d, "time of kernels", kernels, t->matrix + t->memory + t->vector + t->launch);
    expect(d, layers <= p->seconds * (1 + 1e-9), "layers take longer than the step");
    expect(d, p->seconds >= kernels * (1 - 1e-9), "kernels take longer than the step");
}

/* The events in order of start, none of a unit before the one before it has ended. */
static void expect_one_at_a_time(const drawn *d) {
    double free_at[DT_UNITS] = {0};
    for (int i = 0; i < d->plan->n_events; i++) {
        const dt_plan_event *e = &d->plan->event[i];
        expect(d, e->start >= free_at[e->unit] && e->end >= e->start,
               "two events of one unit overlap");
        expect(d, i == 0 || e->start >= d->plan->event[i - 1].start,
               "events are not in order of start");
        free_at[e->unit] = e->end;
    }
}

/* The node that the launch of node i is called by; -1: it is in none. */
static int called_by(const drawn *d, int i) {
    const dt_spmd *s = d->spmd;
    if (d->kernels.of[i] >= 0) return d->kernels.kernel[d->kernels.of[i]].head;
    for (int k = 0; s->bucket[i] >= 0 && k < s->local->n_nodes; k++)
        if (s->bucket[k] == s->bucket[i] && d->kernels.of[k] < 0) return k;
    return -1;
}

/* Weights that are gathered twice have two events: the first end, the last start. */
static void expect_order(const drawn *d) {
    const dt_graph *g = d->spmd->local;
    double *end = dt_arena_array(d->arena, double, g->n_nodes + 1),
           *start = dt_arena_array(d->arena, double, g->n_nodes + 1);
    for (int i = d->plan->n_events - 1; i >= 0; i--)
        end[d->plan->event[i].node] = d->plan->event[i].end;
    for (int i = 0; i < d->plan->n_events; i++)
        start[d->plan->event[i].node] = d->plan->event[i].start;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            int from = called_by(d, dt_priced_source(&d->priced, g->node[i].in[k])),
                to = called_by(d, i);
            expect(d, from < 0 || to < 0 || from == to || start[to] >= end[from],
                   "an event starts before what it needs has ended");
        }
}

/* ---- work ---- */

/* All multiply-adds and operations are there once; borders are no more than what the ops would move
 * one by one. */
static void expect_work(const drawn *d) {
    dt_cost all = {0}, fused = {0};
    for (int i = 0; i < d->spmd->local->n_nodes; i++) {
        dt_cost one = dt_priced_cost(&d->priced, i);
        all.flops += d->kernels.of[i] >= 0 ? one.flops : 0;
        all.vector += d->kernels.of[i] >= 0 ? one.vector : 0;
    }
    for (int i = 0; i < d->kernels.n; i++) {
        fused.flops += d->kernels.kernel[i].work.flops;
        fused.vector += d->kernels.kernel[i].work.vector;
        expect(d, d->kernels.kernel[i].work.bytes >= 0 && d->kernels.kernel[i].price.seconds > 0,
               "a kernel is free");
    }
    expect_near(d, "multiply-adds of kernels", fused.flops, all.flops);
    expect_near(d, "operations of kernels", fused.vector, all.vector);
}

static void expect_traffic(const drawn *d) {
    double received = 0, links = 0;
    for (int i = 0; i < d->spmd->local->n_nodes; i++)
        received += d->spmd->bucket[i] >= 0 ? dt_spmd_received(d->spmd, i) : 0;
    for (int axis = 0; axis < 3; axis++)
        links += d->plan->link_bytes[axis][0] + d->plan->link_bytes[axis][1];
    expect_near(d, "received bytes", d->plan->received, received);
    expect(d, links == 0 || received > 0, "links carry bytes that no device receives");
}

/* ---- memory ---- */

static int64_t batch_bytes(const drawn *d) {
    int64_t bytes = 0;
    for (int i = 0; i < d->spmd->whole->n_args; i++) {
        dt_type t = dt_priced_type(&d->priced, d->spmd->local->arg[i].node);
        bytes += dt_type_bytes(&t);
    }
    return bytes;
}

static void expect_bytes(const drawn *d) {
    const dt_plan_bytes *b = &d->plan->bytes;
    double layers = 0;
    for (int i = 0; i < d->plan->n_layers; i++)
        layers += d->plan->layer[i].variables + d->plan->layer[i].values;
    expect_near(d, "bytes of all layers", layers, (double)(b->total + b->shared));
    const dt_spmd_bytes exact = dt_spmd_count_bytes(d->spmd);
    expect_near(d, "bytes of weights", (double)b->weights, (double)exact.weights);
    expect_near(d, "bytes of slots", (double)b->slots, (double)exact.slots);
    expect(d, b->gradients >= 0 && b->padding >= 0, "less than no memory");
    expect(d, b->activations >= batch_bytes(d), "activations are less than the batch");
    expect(d, b->total == b->weights + b->gradients + b->slots + b->activations + b->padding,
           "the kinds of memory do not add up");
    expect(d, b->usable > 0, "nothing is usable");
}

enum { FIRST = 1, SEEDS = 160 };

static void test_random_steps(void **state) {
    (void)state;
    print_message("seeds %d to %d\n", FIRST, FIRST + SEEDS - 1);
    for (uint64_t seed = FIRST; seed < FIRST + SEEDS; seed++) {
        drawn d = draw(seed, false);
        expect_sums(&d);
        expect_one_at_a_time(&d);
        expect_order(&d);
        expect_work(&d);
        expect_traffic(&d);
        expect_bytes(&d);
        release(&d);
    }
}

/* Devices of a program with places do different things: a kernel is on one, and the step is the
 * pipeline's. */
static void test_places(void **state) {
    (void)state;
    for (uint64_t seed = FIRST; seed < FIRST + SEEDS / 2; seed++) {
        drawn d = draw(seed, true);
        const dt_plan_parts *t = &d.plan->parts;
        for (int i = 0; i < d.spmd->local->n_nodes; i++) {
            int k = d.kernels.of[i];
            expect(&d, k < 0 || d.spmd->layout[i].on == d.spmd->layout[d.kernels.kernel[k].head].on,
                   "a kernel is in two places");
        }
        expect_near(&d, "the sum of the step's parts",
                    t->matrix + t->memory + t->vector + t->launch + t->links + t->dcn + t->bubble,
                    d.plan->seconds);
        expect_work(&d);
        release(&d);
    }
}

/* ---- what is one kernel ---- */

enum { ROWS = 8, WIDTH = 128, SIZE = ROWS * WIDTH * 4 };

static const dt_type wide = {.dtype = DT_FLOAT32, .rank = 2, .dim = {ROWS, WIDTH}};

static dt_value product(dt_value x, dt_value w) {
    return dt_dot_general(
        x, w, &(dt_dot_attr){.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {0}});
}

static void emit_chain(dt_trace *t, dt_value x) {
    dt_return(t, "y", dt_negate(dt_exponential(dt_tanh(x))));
}

static void emit_layer(dt_trace *t, dt_value x) {
    dt_type square = {.dtype = DT_FLOAT32, .rank = 2, .dim = {WIDTH, WIDTH}},
            bias = {.dtype = DT_FLOAT32, .rank = 1, .dim = {WIDTH}};
    dt_value w = dt_trace_declare(t, "w", &square), b = dt_trace_declare(t, "b", &bias);
    dt_return(t, "y", dt_tanh(dt_add(product(x, w), dt_broadcast_to(b, &wide))));
}

static void emit_siblings(dt_trace *t, dt_value x) {
    dt_return(t, "sum", dt_reduce(x, DT_REDUCE_SUM, 2));
    dt_return(t, "squares", dt_reduce(dt_multiply(x, x), DT_REDUCE_SUM, 2));
}

static void emit_two_products(dt_trace *t, dt_value x) {
    dt_type square = {.dtype = DT_FLOAT32, .rank = 2, .dim = {WIDTH, WIDTH}};
    dt_value w = dt_trace_declare(t, "w", &square), h = dt_tanh(product(x, w));
    dt_return(t, "y", product(h, w));
}

static void test_fusion(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*emit)(dt_trace *t, dt_value x);
        int kernels;
        double bytes;
    } cases[] = {
        {"a chain is one kernel, of its two ends", emit_chain, 1, 2 * SIZE},
        {"bias and activation go out with the product", emit_layer, 1,
         2 * SIZE + WIDTH * WIDTH * 4 + WIDTH * 4},
        {"sums over one array read it once", emit_siblings, 1, SIZE + 2 * ROWS * 4},
        {"two products are two kernels, what lies between is written and read", emit_two_products,
         2, 4 * SIZE + 2 * WIDTH * WIDTH * 4},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        dt_random r = dt_random_stream(0, "fusion", 0);
        drawn d = {.arena = dt_arena_create(), .topology = topology_of(0, &r)};
        dt_trace *t = dt_trace_create("step");
        cases[c].emit(t, dt_trace_declare(t, "x", &wide));
        ok_for(dt_trace_end(t, &d.noted), 0);
        ok_for(dt_spmd_create(&d.spmd, d.noted, &(dt_spmd_options){.devices = 1, .batch = ROWS}),
               0);
        d.priced = (dt_priced_program){.program = d.spmd, .topology = d.topology};
        d.kernels = dt_launches_create(&d.priced, d.arena);
        double bytes = 0;
        for (int i = 0; i < d.kernels.n; i++) bytes += d.kernels.kernel[i].work.bytes;
        if (d.kernels.n != cases[c].kernels || bytes != cases[c].bytes)
            fail_msg("%s: %d kernels of %g bytes, not %d of %g", cases[c].name, d.kernels.n, bytes,
                     cases[c].kernels, cases[c].bytes);
        dt_spmd_destroy(d.spmd);
        dt_graph_destroy(d.noted);
        dt_topology_unref(d.topology);
        dt_arena_destroy(d.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fusion),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_random_steps),
    };
    return cmocka_run_group_tests_name("cost/plan", tests, NULL, NULL);
}
