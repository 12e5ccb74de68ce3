/* SPDX-License-Identifier: Apache-2.0 */
/* Steps lowered to executables, for the tests of the executor. */
#ifndef TESTS_EXEC_KIT_H
#define TESTS_EXEC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "exec/exec_impl.h"
#include "pass/pass.h"
#include "../support/outcome.h"
#include "../support/program_check.h"
#include "../support/status.h"

enum { MOST_SHARDS = 16 };

/* NULL when the library is not installed. */
static inline dt_engine *engine_with(int threads, dt_kernels kernels) {
    dt_engine *e = NULL;
    dt_status *s = dt_engine_open(&e, &(dt_engine_options){.threads = threads, .kernels = kernels});
    if (s) assert_int_equal(dt_status_number(s), DT_E_KERNELS);
    dt_status_free(s);
    return e;
}

/* ---- a random step, lowered ---- */

typedef struct lowered {
    random_graph *g;
    dt_folded folded;
    dt_graph *graph; /* simplified */
    int shards;
    int32_t border[MOST_SHARDS + 1];
} lowered;

static inline lowered lower(random_kind kind, uint64_t seed, int replicas, int shards) {
    lowered l = {.g = random_graph_draw(kind, seed), .shards = shards};
    dt_graph *sharded = NULL;
    ok_for(dt_fold(l.g->graph, l.g->distributed, replicas, &l.folded), seed);
    if (shards) ok_for(dt_shards(l.folded.graph, shards, &sharded), seed);
    ok_for(dt_simplify(shards ? sharded : l.folded.graph, &l.graph), seed);
    if (sharded) dt_graph_destroy(sharded);
    return l;
}

static inline void lowered_release(lowered *l) {
    dt_graph_destroy(l->graph);
    dt_graph_destroy(l->folded.graph);
    random_graph_destroy(l->g);
}

/* `rows` dealt out to `replicas` at random. */
static inline feed draw_feed(const random_graph *g, uint64_t seed, int replicas, int64_t rows) {
    dt_random r = dt_random_stream(seed, "dealing", (uint64_t)rows);
    int64_t batch[MOST_REPLICAS], left = rows;
    for (int i = 0; i < replicas; i++) {
        batch[i] = i == replicas - 1 ? left : (int64_t)dt_random_below(&r, (uint64_t)left + 1);
        left -= batch[i];
    }
    return feed_make(g, seed, replicas, batch);
}

/* Shards of ceil(rows / n) and floor(rows / n) examples. */
static inline void cut_shards(lowered *l, int64_t rows) {
    for (int i = 0, at = 0; i < l->shards; i++) {
        at += (int)(rows / l->shards + (i < rows % l->shards));
        l->border[i + 1] = at;
    }
}

static inline dt_env env_of(const lowered *l, const feed *f) {
    dt_env env = feed_env(f);
    env.shards = l->shards ? l->border : NULL;
    env.n_shards = l->shards;
    return env;
}

/* ---- an executable ---- */

typedef struct runnable {
    const lowered *l;
    dt_arena *arena;
    dt_program *program;
    dt_exec *exec;
    const feed *f;
    dt_view *arg, *result;
} runnable;

static inline runnable compile_split(const lowered *l, dt_engine *e, const feed *f,
                                     bool (*can_split)(const dt_graph *g, int node,
                                                       dt_division by)) {
    runnable r = {.l = l, .f = f, .arena = dt_arena_create(), .arg = feed_folded(f, &l->folded)};
    r.program = dt_partition(
        l->graph, &(dt_partition_options){.batch = f->total, .can_split = can_split}, r.arena);
    r.result = dt_arena_array(r.arena, dt_view, l->graph->n_results + 1);
    program_check(r.program, l->g->seed);
    ok_for(dt_exec_compile(&r.exec, e, r.program), l->g->seed);
    return r;
}

static inline runnable compile(const lowered *l, dt_engine *e, const feed *f) {
    return compile_split(l, e, f, dt_exec_can_split);
}

static inline void run_step(runnable *r) {
    dt_env env = env_of(r->l, r->f);
    ok_for(dt_exec_run(r->exec, &env, r->arg, r->result), r->l->g->seed);
}

static inline void runnable_release(runnable *r) {
    dt_exec_destroy(r->exec);
    views_release(r->arg, r->f->n_args);
    dt_arena_destroy(r->arena);
}

/* ---- what a run left behind ---- */

static inline size_t bytes_of(const dt_type *t) { return (size_t)dt_type_bytes(t); }

/* Results, then variables, one behind the other. The caller frees it. */
static inline unsigned char *outcome_bytes(const runnable *r, size_t *size) {
    const dt_graph *g = r->l->graph;
    unsigned char *all, *to;
    *size = 0;
    for (int i = 0; i < g->n_results; i++) *size += bytes_of(&r->result[i].type);
    for (int i = 0; i < g->n_states; i++) *size += bytes_of(&g->state[i].variable->type);
    all = to = calloc(*size + 1, 1);
    for (int i = 0; i < g->n_results; to += bytes_of(&r->result[i].type), i++)
        if (bytes_of(&r->result[i].type))
            memcpy(to, r->result[i].data, bytes_of(&r->result[i].type));
    for (int i = 0; i < g->n_states; to += bytes_of(&g->state[i].variable->type), i++)
        memcpy(to, g->state[i].variable->host_data, bytes_of(&g->state[i].variable->type));
    return all;
}

#endif
