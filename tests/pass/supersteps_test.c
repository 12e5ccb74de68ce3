/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's program in supersteps: computed one after the other, with the exchanges between them,
 * they give the bits of the whole program; and what is exchanged comes from a superstep before it
 * and goes to one behind it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "op/workers.h"
#include "pass/supersteps.h"
#include "pass/workers_split.h"
#include "../support/outcome.h"
#include "../support/status.h"

/* The program of a worker that has all rows, of two shards; NULL: rows meet in another way than in
 * sums. */
static dt_graph *draw_worker(const random_graph *g, const feed *f, dt_folded *folded) {
    dt_graph *own = NULL;
    ok_for(dt_fold(g->graph, g->distributed, f->replicas, folded), g->seed);
    dt_status *s = dt_workers_split(
        folded->graph,
        &(dt_worker_share){.workers = 1, .shards = 2, .batch = f->total, .replicas = f->replicas},
        &own);
    dt_status_free(s);
    return own;
}

static dt_interpretation interpret(const dt_graph *g, const dt_env *env, dt_view *arg,
                                   uint64_t seed) {
    dt_interpretation out;
    ok_for(dt_interpret(g, env, 1, &env->batch, arg, &out), seed);
    return out;
}

/* As one worker alone does it. */
static void exchange(const dt_graph *g, const dt_supersteps *s, int after, const dt_env *env,
                     dt_view *value) {
    for (int i = 0; i < g->n_nodes; i++)
        if (s->exchange_after[i] == after) {
            const dt_node *n = &g->node[i];
            value[i] =
                (dt_view){.type = n->type, .data = malloc((size_t)dt_type_bytes(&n->type) + 1)};
            assert_non_null(value[n->in[0]].data);
            n->op->eval(&(dt_call){.node = n, .env = env, .in = &value[n->in[0]], .out = value[i]});
        }
}

/* Fills value[nodes]; the last superstep's variables are the outcome's. */
static void run_in_turn(const dt_graph *g, const dt_supersteps *s, const dt_env *env,
                        const dt_view *given, dt_view *value, dt_interpretation *made,
                        uint64_t seed) {
    dt_view *arg = calloc((size_t)g->n_nodes + 1, sizeof *arg);
    for (int i = 0; i < g->n_args; i++) value[g->arg[i].node] = given[i];
    for (int k = 0; k < s->n; k++) {
        const dt_superstep *step = &s->step[k];
        for (int i = 0; i < step->n_in; i++) {
            arg[i] = value[step->in[i]];
            assert_non_null(arg[i].data);
        }
        made[k] = interpret(step->graph, env, arg, seed);
        for (int i = 0; i < step->n_out; i++) value[step->out[i]] = made[k].result[i];
        for (int i = 0; k < s->n - 1 && i < step->graph->n_states; i++)
            assert_int_equal(step->graph->state[i].update, -1);
        exchange(g, s, k, env, value);
    }
    free(arg);
}

static const dt_view *update_of(const dt_graph *g, const dt_interpretation *of,
                                const dt_variable *v) {
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].variable == v) return of->update[i].data ? &of->update[i] : NULL;
    return NULL;
}

static void compare(const dt_graph *g, const dt_supersteps *s, const dt_interpretation *whole,
                    const dt_view *value, const dt_interpretation *last, uint64_t seed) {
    for (int i = 0; i < g->n_results; i++)
        if (!views_identical(&whole->result[i], &value[g->result[i].node]))
            fail_msg("seed %llu: another '%s'", (unsigned long long)seed, g->result[i].name);
    for (int i = 0; i < g->n_states; i++) {
        const dt_view *now = update_of(s->step[s->n - 1].graph, last, g->state[i].variable);
        if (!whole->update[i].data != !now || (now && !views_identical(&whole->update[i], now)))
            fail_msg("seed %llu: another '%s'", (unsigned long long)seed,
                     g->state[i].variable->path);
    }
}

static int check(const random_graph *g, const dt_graph *own, const feed *f,
                 const dt_folded *folded) {
    dt_supersteps s;
    dt_env env = feed_env(f);
    const int32_t border[] = {0, (int32_t)(f->total / 2), (int32_t)f->total};
    env.shards = border;
    env.n_shards = 2;
    ok_for(dt_supersteps_create(own, 0, &s), g->seed);
    dt_view *arg = feed_folded(f, folded), *value = calloc((size_t)own->n_nodes + 1, sizeof *value);
    dt_interpretation whole = interpret(own, &env, arg, g->seed),
                      *made = calloc((size_t)s.n, sizeof *made);
    run_in_turn(own, &s, &env, arg, value, made, g->seed);
    compare(own, &s, &whole, value, &made[s.n - 1], g->seed);
    const int n = s.n;
    for (int i = 0; i < own->n_nodes; i++)
        if (s.exchange_after[i] >= 0) free(value[i].data);
    for (int k = 0; k < n; k++) dt_interpretation_release(&made[k]);
    dt_interpretation_release(&whole);
    dt_supersteps_release(&s);
    views_release(arg, f->n_args);
    free(made);
    free(value);
    return n;
}

static void test_supersteps_are_the_whole(void **state) {
    int several = 0, refused = 0;
    (void)state;
    print_message("seeds 6000 to 6199\n");
    for (uint64_t seed = 6000; seed < 6200; seed++) {
        random_graph *g = random_graph_draw(seed % 2 ? RANDOM_FIT : RANDOM_SOUP, seed);
        feed f = feed_make(g, seed, 1 + (int)(seed % 3), (int64_t[]){4, seed % 5 ? 3 : 0, 4});
        dt_folded folded;
        dt_graph *own = draw_worker(g, &f, &folded);
        refused += !own;
        if (own && dt_has_exchanges(own)) several += check(g, own, &f, &folded) > 2;
        dt_graph_destroy(own);
        dt_graph_destroy(folded.graph);
        feed_release(&f);
        random_graph_destroy(g);
    }
    print_message("%d with more than two supersteps, %d refused\n", several, refused);
    assert_in_range(refused, 0, 100);
    assert_in_range(several, 10, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supersteps_are_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
