/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers exchange beside what they compute: random steps on several workers, each a thread
 * with an engine and variables of its own, whose sums travel in many buckets, in one, or as lanes
 * come to them. All have the bits of one process; and where a worker is lost, nobody waits for
 * ever.
 */
#include "../support/local_fabric.h"
#include "kit.h"

#include "base/sanitizer.h"
#include "base/thread.h"
#include "exec/exchange.h"
#include "net/fabric.h"
#include "op/cells.h"
#include "op/workers.h"
#include "pass/workers_split.h"

#if DT_ASAN || DT_TSAN
enum { SEEDS = 40 };
#else
enum { SEEDS = 160 };
#endif
enum { MOST_WORKERS = 4, STEPS = 3 };

/* A worker's program for its rows, or the one process's for all. */
typedef struct worker {
    lowered l;
    dt_engine *engine;
    feed f;
    dt_shard_range own;
    int32_t border[MOST_SHARDS + 1];
    int64_t first, rows;
    dt_arena *arena;
    dt_program *program;
    dt_exec *exec;
    dt_view *all, *arg, *result;
    dt_status *status;
} worker;

typedef struct group {
    uint64_t seed;
    int workers, shards;
    int64_t rows, bucket_bytes;
    dt_process_group *group;
    worker w[MOST_WORKERS];
    int lost; /* this rank leaves before its second step; -1: none */
} group;

/* Rows of several workers are no result of a step that is cut by shards. */
static void drop_rows(dt_graph *g) {
    dt_named_node *result = (dt_named_node *)g->result;
    int n = 0;
    for (int i = 0; i < g->n_results; i++)
        if (!dt_type_has_batch(&g->node[result[i].node].type)) result[n++] = result[i];
    g->n_results = n;
}

/* False: this step cannot be shared. */
static bool cut_graph(worker *w, const group *t, int rank) {
    drop_rows(w->l.graph);
    dt_graph *split = NULL, *simple = NULL;
    const dt_worker_share share = {
        .workers = t->workers, .rank = rank, .shards = t->shards, .batch = t->rows};
    dt_status *s = t->workers > 1 ? dt_workers_split(w->l.graph, &share, &split)
                                  : dt_shards(w->l.graph, t->shards, &split);
    if (s) {
        assert_int_equal(dt_status_number(s), DT_E_NOT_YET);
        dt_status_free(s);
        return false;
    }
    ok_for(dt_simplify(split, &simple), t->seed);
    dt_graph_destroy(split);
    dt_graph_destroy(w->l.graph);
    w->l.graph = simple;
    return true;
}

static void cut_rows(worker *w, const group *t, int rank) {
    w->l.shards = t->shards;
    cut_shards(&w->l, t->rows);
    w->own = t->workers > 1 ? dt_shards_of_worker(t->shards, t->workers, rank)
                            : (dt_shard_range){.count = t->shards};
    w->first = w->l.border[w->own.first];
    for (int i = 0; i <= w->own.count; i++)
        w->border[i] = w->l.border[w->own.first + i] - (int32_t)w->first;
    w->rows = w->border[w->own.count];
    w->all = feed_folded(&w->f, &w->l.folded);
    w->arg = calloc((size_t)w->f.n_args + 1, sizeof *w->arg);
    for (int i = 0; i < w->f.n_args; i++) {
        const dt_type *type = &w->l.graph->node[w->l.graph->arg[i].node].type;
        const int64_t k = type->rank && type->dim[0] < 0 ? -type->dim[0] : 0;
        w->arg[i] = k ? dt_view_rows(&w->all[i], w->first * k, w->rows * k) : w->all[i];
    }
}

static bool open_worker(group *t, int rank) {
    worker *w = &t->w[rank];
    *w = (worker){.l = lower(RANDOM_FIT, t->seed, 1, 0), .arena = dt_arena_create()};
    w->f = draw_feed(w->l.g, t->seed, 1, t->rows);
    cut_rows(w, t, rank);
    if (!cut_graph(w, t, rank)) return false;
    ok_for(dt_engine_open(&w->engine,
                          &(dt_engine_options){.threads = 1 + (int)((t->seed + (uint64_t)rank) % 2),
                                               .kernels = DT_KERNELS_OWN,
                                               .bucket_bytes = t->bucket_bytes}),
           t->seed);
    w->program = dt_partition(w->l.graph,
                              &(dt_partition_options){.batch = w->rows,
                                                      .cut = w->border,
                                                      .cuts = w->own.count,
                                                      .can_split = dt_exec_can_split},
                              w->arena);
    ok_for(dt_exec_compile(&w->exec, w->engine, w->program), t->seed);
    w->result = dt_arena_array(w->arena, dt_view, w->l.graph->n_results + 1);
    return true;
}

static void close_worker(worker *w) {
    dt_exec_destroy(w->exec);
    dt_engine_close(w->engine);
    free(w->arg);
    views_release(w->all, w->f.n_args);
    feed_release(&w->f);
    lowered_release(&w->l);
    dt_arena_destroy(w->arena);
    dt_status_free(w->status);
}

static void run_worker(int rank, void *user) {
    group *t = user;
    worker *w = &t->w[rank];
    dt_member *m = NULL;
    if (t->group) w->status = dt_process_group_join(t->group, rank, 20, &m);
    const dt_env env = {.batch = w->rows,
                        .first = w->first,
                        .replicas = 1,
                        .shards = w->border,
                        .n_shards = w->own.count,
                        .member = m};
    for (int s = 0; !w->status && s < STEPS && !(s == 1 && rank == t->lost); s++)
        w->status = dt_exec_run(w->exec, &env, w->arg, w->result);
    dt_member_leave(m);
}

static void run_group(group *t) {
    dt_pool *pool = NULL;
    ok_for(dt_pool_create(&pool, t->workers), t->seed);
    if (t->workers > 1)
        ok_for(dt_process_group_open(&t->group, &dt_fabric_local, t->workers), t->seed);
    dt_pool_run(pool, run_worker, t);
    dt_process_group_close(t->group);
    dt_pool_destroy(pool);
}

static void expect_bits(const group *t, int rank, const worker *one) {
    const worker *w = &t->w[rank];
    if (w->status)
        fail_msg("seed %llu, rank %d: %s", (unsigned long long)t->seed, rank,
                 dt_status_text(w->status));
    for (int i = 0; i < one->l.graph->n_results; i++)
        if (memcmp(w->result[i].data, one->result[i].data, bytes_of(&one->result[i].type)) != 0)
            fail_msg("seed %llu, rank %d of %d: other bits in '%s'", (unsigned long long)t->seed,
                     rank, t->workers, one->l.graph->result[i].name);
    for (int i = 0; i < one->l.g->n_variables; i++)
        if (memcmp(w->l.g->variable[i]->host_data, one->l.g->variable[i]->host_data,
                   bytes_of(&one->l.g->variable[i]->type)) != 0)
            fail_msg("seed %llu, rank %d of %d: other bits in '%s'", (unsigned long long)t->seed,
                     rank, t->workers, one->l.g->variable[i]->path);
}

/* A sum that travels beside other work is written before its segment begins: nothing else may lie
 * there. */
static void expect_room(const worker *w) {
    const dt_exec *x = w->exec;
    for (int i = 0; i < x->g->n_nodes; i++)
        if (dt_is_exchange(&x->g->node[i])) assert_true(x->slot[i].first < x->p->piece[i].segment);
}

static int exchange_nodes(const dt_exec *x) {
    int n = 0;
    for (int i = 0; i < x->g->n_nodes; i++) n += dt_is_exchange(&x->g->node[i]);
    return n;
}

/* The number of exchanges of a step; 0: it cannot be shared. */
static int open_group(group *t) {
    bool shared = true;
    for (int r = 0; r < t->workers; r++) shared &= open_worker(t, r);
    return shared ? exchange_nodes(t->w[0].exec) : 0;
}

static void close_group(group *t) {
    for (int r = 0; r < t->workers; r++) close_worker(&t->w[r]);
}

static group group_of(uint64_t seed) {
    static const int64_t rows[] = {9, 64, 33, 4, 257}, buckets[] = {1, 400, 1 << 20};
    return (group){.seed = seed,
                   .workers = 2 + (int)(seed % 3),
                   .shards = 4 + (int)(seed % 5),
                   .rows = rows[seed % 5],
                   .bucket_bytes = buckets[seed % 3],
                   .lost = -1};
}

static void test_workers_have_the_bits_of_one_process(void **state) {
    (void)state;
    int beside_others = 0;
    for (uint64_t seed = 4000; seed < 4000 + SEEDS; seed++) {
        group t = group_of(seed), one = t;
        one.workers = 1;
        if (open_group(&t)) {
            const bool beside = dt_exchanges_go_beside(t.w[0].exec);
            beside_others += beside;
            for (int r = 0; r < t.workers; r++) {
                assert_int_equal(exchange_nodes(t.w[0].exec), exchange_nodes(t.w[r].exec));
                if (beside) expect_room(&t.w[r]);
            }
            assert_true(open_worker(&one, 0));
            run_group(&t);
            run_group(&one);
            for (int r = 0; r < t.workers; r++) expect_bits(&t, r, &one.w[0]);
            close_worker(&one.w[0]);
        }
        close_group(&t);
    }
    print_message("seeds 4000 to %d, %d with exchanges beside other work\n", 4000 + SEEDS - 1,
                  beside_others);
    assert_true(beside_others >= SEEDS / 4);
}

static void test_a_lost_worker_ends_the_step_of_the_others(void **state) {
    (void)state;
    int tried = 0;
    for (uint64_t seed = 4500; seed < 4500 + SEEDS / 4; seed++) {
        group t = group_of(seed);
        t.lost = (int)(seed % (uint64_t)t.workers);
        if (open_group(&t)) {
            run_group(&t);
            for (int r = 0; r < t.workers; r++)
                if (r != t.lost &&
                    (!t.w[r].status || dt_status_number(t.w[r].status) != DT_E_WORKER_GONE))
                    fail_msg("seed %llu: rank %d does not tell that rank %d has left",
                             (unsigned long long)seed, r, t.lost);
            tried++;
        }
        close_group(&t);
    }
    print_message("seeds 4500 to %d, %d tried\n", 4500 + SEEDS / 4 - 1, tried);
    assert_true(tried >= SEEDS / 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_have_the_bits_of_one_process),
        cmocka_unit_test(test_a_lost_worker_ends_the_step_of_the_others),
    };
    return cmocka_run_group_tests_name("exec/exchange", tests, NULL, NULL);
}
