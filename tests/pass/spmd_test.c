/*
 * Partition over devices: random steps with random notes over random numbers of devices give what the reference interpreter says of the whole
 * step, run both ways: the program of one device in lockstep on all, and all devices' work as one graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "pass/spmd.h"
#include "../support/notes.h"
#include "../support/outcome.h"

static void must(dt_status *s, uint64_t seed)
{
    if (s)
        fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(s));
}

/* ---- a step, cut ---- */

typedef struct cut {
    random_graph *g;
    dt_folded folded;
    dt_graph *noted, *expanded;
    dt_spmd *spmd;
    feed f;
    dt_view *arg;
} cut;

static cut make(random_kind kind, uint64_t seed)
{
    static const int sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 2, 4, 8 };
    static const int64_t rows[] = { 4, 8, 12, 6, 16, 24, 5 };
    dt_random r = dt_random_stream(seed, "devices", 0);
    int devices = sizes[dt_random_below(&r, 11)];
    int64_t batch[2] = { rows[dt_random_below(&r, 7)], 0 };
    cut c = { .g = random_graph_draw(kind, seed) };
    int replicas = 1 + (int)dt_random_below(&r, 2);
    if (replicas == 2)
        batch[1] = batch[0];
    must(dt_fold(c.g->graph, c.g->distributed, replicas, &c.folded), seed);
    c.f = feed_make(c.g, seed, replicas, batch);
    c.noted = notes_draw(c.folded.graph, seed, c.f.total, devices);
    must(dt_spmd_create(&c.spmd, c.noted, &(dt_spmd_options){ .devices = devices, .batch = c.f.total }), seed);
    must(dt_spmd_expand(c.spmd, &c.expanded), seed);
    c.arg = feed_folded(&c.f, &c.folded);
    return c;
}

static void release(cut *c)
{
    views_release(c->arg, c->f.n_args);
    feed_release(&c->f);
    dt_graph_destroy(c->expanded);
    dt_spmd_destroy(c->spmd);
    dt_graph_destroy(c->noted);
    dt_graph_destroy(c->folded.graph);
    random_graph_destroy(c->g);
}

static void expect_whole(const cut *c, const dt_interpretation *oracle)
{
    dt_env env = feed_env(&c->f);
    dt_interpretation is;
    must(dt_interpret(c->expanded, &env, 1, &c->f.total, c->arg, &is), c->g->seed);
    expect_outcome(c->g, &c->f, oracle, &(outcome){ .result = is.result, .update = is.update, .spread = c->folded.result }, 1e-4);
    dt_interpretation_release(&is);
}

/* ---- in lockstep: the program of one device, on all of them ---- */

static dt_view part_of(const cut *c, const dt_view *whole, const dt_layout *l, int device)
{
    dt_view part = { .type = whole->type };
    dt_block b = { 0 };
    for (int d = 0; d < whole->type.rank; d++) {
        b.size[d] = part.type.dim[d] /= dt_mesh_parts(&c->spmd->mesh, l->axes[d]);
        b.from[d] = b.size[d] * dt_mesh_rank(&c->spmd->mesh, device, l->axes[d]);
    }
    part.data = malloc((size_t)dt_type_bytes(&part.type) + 1);
    dt_copy_block(&part, whole, &b);
    return part;
}

static dt_view *parts_of_args(const cut *c, int devices)
{
    const dt_graph *g = c->noted;
    int n = g->n_args + g->n_states;
    dt_view *arg = calloc((size_t)(devices * n) + 1, sizeof *arg);
    for (int device = 0; device < devices; device++) {
        for (int i = 0; i < g->n_args; i++)
            arg[device * n + i] = part_of(c, &c->arg[i], &c->spmd->arg[i], device);
        for (int i = 0; i < g->n_states; i++) {
            dt_view whole = { g->state[i].variable->type, g->state[i].variable->data };
            arg[device * n + g->n_args + i] = part_of(c, &whole, &c->spmd->state[i], device);
        }
    }
    return arg;
}

static void expect_part(const cut *c, const dt_view *is, const dt_view *whole, const dt_layout *l, int device, const char *what)
{
    dt_view part = part_of(c, whole, l, device);
    double d = views_difference(is, &part);
    if (!(d < 1e-4))
        fail_msg("seed %llu, device %d: %s differs by %g from the expanded graph", (unsigned long long)c->g->seed, device, what, d);
    free(part.data);
}

static void expect_lockstep(const cut *c)
{
    const dt_graph *g = c->noted, *local = c->spmd->local;
    int devices = dt_mesh_devices(&c->spmd->mesh);
    dt_view *arg = parts_of_args(c, devices);
    int64_t batch[16];
    dt_env env = feed_env(&c->f);
    dt_interpretation is, whole;
    for (int i = 0; i < devices; i++)
        batch[i] = c->f.total;
    must(dt_interpret(local, &env, devices, batch, arg, &is), c->g->seed);
    must(dt_interpret(c->expanded, &env, 1, &c->f.total, c->arg, &whole), c->g->seed);
    for (int device = 0; device < devices; device++) {
        const dt_view *result = &is.result[device * local->n_results];
        for (int i = 0; i < g->n_results; i++)
            expect_part(c, result++, &whole.result[i], &c->spmd->result[i], device, g->result[i].name);
        for (int i = 0; i < g->n_states; i++)
            if (g->state[i].update >= 0)
                expect_part(c, result++, &whole.update[i], &c->spmd->state[i], device, g->state[i].variable->path);
    }
    dt_interpretation_release(&is);
    dt_interpretation_release(&whole);
    views_release(arg, devices * local->n_args);
}

/* SPMD_SEED=n runs that one and prints its program; SPMD_COUNT=m: m seeds from it on. */
static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    return getenv(name) ? strtoull(getenv(name), NULL, 10) : otherwise;
}

static void print_program(const cut *c)
{
    dt_str text = { 0 };
    dt_spmd_print(c->spmd, &text);
    puts(dt_str_text(&text));
    dt_str_release(&text);
}

/* What the programs had: each of these is to be met often. */
typedef struct met {
    const dt_op *op;
    int least, times; /* in 1,000 programs */
} met;

static void count(const cut *c, met *list, int n)
{
    for (int i = 0; i < c->spmd->local->n_nodes; i++)
        for (int k = 0; k < n; k++)
            list[k].times += c->spmd->local->node[i].op == list[k].op;
}

static void run_seed(uint64_t seed, bool print, met *list, int n)
{
    cut c = make(seed % 4 ? RANDOM_SOUP : RANDOM_FIT, seed);
    if (print)
        print_program(&c);
    dt_interpretation oracle = oracle_run(c.g, &c.f);
    expect_whole(&c, &oracle);
    expect_lockstep(&c);
    count(&c, list, n);
    dt_interpretation_release(&oracle);
    release(&c);
}

static void test_random_steps(void **state)
{
    (void)state;
    met list[] = { { &dt_op_across_all_reduce, 1000, 0 }, { &dt_op_across_all_gather, 1000, 0 },     { &dt_op_across_reduce_scatter, 100, 0 },
                   { &dt_op_across_all_to_all, 100, 0 },  { &dt_op_across_own_part, 1000, 0 }, { &dt_op_across_own_start, 100, 0 },
                   { &dt_op_across_gather_part, 10, 0 },  { &dt_op_attention, 50, 0 },         { &dt_op_attention_grad, 50, 0 } };
    enum { KINDS = sizeof list / sizeof *list };
    uint64_t first = from_environment("SPMD_SEED", 7000), n = from_environment("SPMD_COUNT", getenv("SPMD_SEED") ? 1 : 1000);
    for (uint64_t seed = first; seed < first + n; seed++)
        run_seed(seed, n == 1, list, KINDS);
    print_message("seeds %llu to %llu:", (unsigned long long)first, (unsigned long long)(first + n - 1));
    for (int k = 0; k < KINDS; k++)
        print_message(" %d %s", list[k].times, list[k].op->name);
    print_message("\n");
    for (int k = 0; k < KINDS && n == 1000; k++)
        assert_true(list[k].times >= list[k].least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
