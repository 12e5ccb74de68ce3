/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums by the tree of `reproducible`, over workers that are threads: for every number of workers
 * and shards the bits are those of the op tree_sum over all shards, which knows nothing of workers;
 * and what each worker has are nodes of that tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/local_fabric.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/thread.h"
#include "net/fabric.h"
#include "op/workers.h"

enum { MOST_WORKERS = 9, MOST_SHARDS = 40, ITEMS = 5, MOST_RANKS = 16 };
/* Short ones, which travel packed together; and long ones among them, which do not. */
static const int64_t shorts[ITEMS][2] = {{5, 3}, {1, 1}, {2, 0}, {7, 2}, {1, 1}},
                     longs[ITEMS][2] = {{3, 9000}, {1, 1}, {7, 2}, {2, 0}, {2, 12001}};

typedef struct sharing {
    const int64_t (*size)[2]; /* [ITEMS]: rows, width */
    dt_process_group *group;
    int32_t shards;
    dt_dtype dtype;
    char *all[ITEMS]; /* (shards, rows, width) */
    char *sum[MOST_WORKERS][ITEMS];
} sharing;

static size_t bytes_of(const sharing *x, int i) {
    return (size_t)(x->size[i][0] * x->size[i][1]) * dt_dtype_size(x->dtype);
}

static dt_type type_of(const sharing *x, int i, int32_t shards) {
    return (dt_type){.dtype = x->dtype, .rank = 3, .dim = {shards, x->size[i][0], x->size[i][1]}};
}

/* What tree_part makes of a worker's shards. */
static char *part_of(const sharing *x, int i, const dt_shard_range *own) {
    dt_tree_node node[DT_TREE_NODES];
    const int nodes = dt_tree_nodes(own, node);
    dt_view in = {.type = type_of(x, i, own->count),
                  .data = x->all[i] + (size_t)own->first * bytes_of(x, i)};
    dt_view out = {
        .type = {.dtype = x->dtype, .rank = 2, .dim = {x->size[i][0], nodes * x->size[i][1]}},
        .data = dt_alloc((size_t)nodes * bytes_of(x, i))};
    dt_node n = {.op = &dt_op_tree_part, .attr = own, .type = out.type};
    dt_op_tree_part.eval(&(dt_call){.node = &n, .in = &in, .out = out});
    return out.data;
}

static void work(int rank, void *user) {
    sharing *x = user;
    dt_member *m = NULL;
    dt_tree_item item[ITEMS];
    dt_status *s = dt_process_group_join(x->group, rank, 20, &m);
    const dt_shard_range own = dt_shards_of_worker(x->shards, x->group->ranks, rank);
    for (int i = 0; i < ITEMS; i++)
        item[i] = (dt_tree_item){.parts = part_of(x, i, &own),
                                 .sum = x->sum[rank][i] = dt_alloc(bytes_of(x, i)),
                                 .rows = x->size[i][0],
                                 .width = x->size[i][1]};
    /* room and schedule are kept from the first time */
    for (int again = 0; !s && again < 2; again++)
        s = dt_tree_all_reduce(m, x->shards, x->dtype, item, ITEMS);
    assert_null(s);
    for (int i = 0; i < ITEMS; i++) free((void *)item[i].parts);
    dt_member_leave(m);
}

static void fill(sharing *x, dt_random *r) {
    for (int i = 0; i < ITEMS; i++) {
        const int64_t n = x->shards * x->size[i][0] * x->size[i][1];
        x->all[i] = dt_alloc((size_t)x->shards * bytes_of(x, i));
        for (int64_t k = 0; k < n; k++)
            if (x->dtype == DT_FLOAT32)
                ((float *)x->all[i])[k] = (float)(dt_random_normal(r) * (k % 3 ? 1 : 1e4));
            else if (x->dtype == DT_FLOAT64)
                ((double *)x->all[i])[k] = dt_random_normal(r) * (k % 3 ? 1 : 1e4);
            else ((int32_t *)x->all[i])[k] = (int32_t)dt_random_u32(r);
    }
}

static void check(sharing *x, int workers) {
    for (int i = 0; i < ITEMS; i++) {
        dt_view in = {.type = type_of(x, i, x->shards), .data = x->all[i]};
        dt_view out = {
            .type = {.dtype = x->dtype, .rank = 2, .dim = {x->size[i][0], x->size[i][1]}},
            .data = dt_alloc(bytes_of(x, i))};
        dt_node n = {.op = &dt_op_tree_sum, .type = out.type};
        dt_op_tree_sum.eval(&(dt_call){.node = &n, .in = &in, .out = out});
        for (int w = 0; w < workers; w++) {
            if (memcmp(out.data, x->sum[w][i], bytes_of(x, i)) != 0)
                fail_msg("%d shards over %d workers: item %d of worker %d has other bits",
                         (int)x->shards, workers, i, w);
            free(x->sum[w][i]);
        }
        free(out.data);
        free(x->all[i]);
    }
}

static void share(sharing *x, dt_pool *pool, int workers, dt_random *r) {
    fill(x, r);
    assert_null(dt_process_group_open(&x->group, &dt_fabric_local, workers));
    dt_pool_run(pool, work, x);
    dt_process_group_close(x->group);
    check(x, workers);
}

static void test_any_number_of_workers_has_the_bits_of_one(void **state) {
    (void)state;
    const uint64_t seed = 19;
    dt_random r = dt_random_stream(seed, "tree", 0);
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        dt_pool *pool = NULL;
        assert_null(dt_pool_create(&pool, workers));
        for (int32_t shards = workers; shards <= MOST_SHARDS; shards++)
            share(&(sharing){.size = shorts,
                             .shards = shards,
                             .dtype = shards % 4 ? DT_FLOAT32 : DT_INT32},
                  pool, workers, &r);
        for (int32_t shards = workers; shards <= 2 * workers; shards++)
            share(&(sharing){.size = longs,
                             .shards = shards,
                             .dtype = shards % 2 ? DT_FLOAT32 : DT_FLOAT64},
                  pool, workers, &r);
        dt_pool_destroy(pool);
    }
}

/* The shards of workers are all shards, in order, and each worker's nodes cover its own. */
static void test_nodes_cover_the_shards_of_a_worker(void **state) {
    (void)state;
    for (int workers = 1; workers <= 64; workers++)
        for (int32_t shards = workers; shards <= 300; shards += 7) {
            int32_t at = 0;
            for (int w = 0; w < workers; w++) {
                const dt_shard_range own = dt_shards_of_worker(shards, workers, w);
                dt_tree_node node[DT_TREE_NODES];
                assert_int_equal(own.first, at);
                assert_true(own.count > 0);
                const int n = dt_tree_nodes(&own, node);
                for (int k = 0; k < n; k++) {
                    int32_t from, to;
                    dt_tree_leaves(shards, node[k], &from, &to);
                    assert_int_equal(from, at);
                    assert_true(to > from && to <= own.first + own.count);
                    at = to;
                }
                assert_int_equal(at, own.first + own.count);
            }
            assert_int_equal(at, shards);
        }
}

/* ---- messages ---- */

/* What a rank has sent; the row of the local fabric with a `send` that counts. */
typedef struct traffic {
    dt_fabric row;
    dt_process_group *group;
    int64_t messages[MOST_RANKS], bytes[MOST_RANKS];
    uint32_t flags[MOST_RANKS];
    int64_t n;
} traffic;

static dt_status *send_counted(dt_member *m, int to, const dt_tag *tag, const void *bytes,
                               size_t n) {
    traffic *t = (traffic *)m->group->fabric;
    t->messages[m->rank]++;
    t->bytes[m->rank] += (int64_t)n;
    return dt_fabric_local.send(m, to, tag, bytes, n);
}

static void sum_and_count(int rank, void *user) {
    traffic *t = user;
    dt_member *m = NULL;
    float *x = dt_alloc((size_t)t->n * sizeof *x);
    dt_status *s = dt_process_group_join(t->group, rank, 20, &m);
    m->flags = 1u << rank % 8;
    const dt_tree_item item = {.parts = x, .sum = x, .rows = 1, .width = t->n};
    if (!s) s = dt_tree_all_reduce(m, t->group->ranks, DT_FLOAT32, &item, 1);
    assert_null(s);
    assert_int_equal(m->flag_sums, 1);
    t->flags[rank] = m->flags;
    free(x);
    dt_member_leave(m);
}

static traffic count_traffic(dt_pool *pool, int ranks, int64_t n) {
    traffic t = {.row = dt_fabric_local, .n = n};
    t.row.send = send_counted;
    assert_null(dt_process_group_open(&t.group, &dt_fabric_local, ranks));
    t.group->fabric = &t.row;
    dt_pool_run(pool, sum_and_count, &t);
    t.group->fabric = &dt_fabric_local;
    dt_process_group_close(t.group);
    return t;
}

/* The most messages of one worker, by the number of workers: 2 log2 of it where that is a whole
 * number, never more than a ring's 2 (n - 1). */
static const int64_t most_messages[MOST_RANKS + 1] = {[2] = 2, 4,  4, 8,  6,  8,  6, 16,
                                                      10,      12, 8, 16, 10, 14, 8};

static void test_no_worker_sends_more_than_its_share(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
        dt_pool *pool = NULL;
        assert_null(dt_pool_create(&pool, ranks));
        const int64_t n = 720720 / 10; /* what 2 to 16 divide */
        const traffic t = count_traffic(pool, ranks, n);
        int64_t messages = 0, bytes = 0, all = 0;
        for (int r = 0; r < ranks; r++) {
            messages = t.messages[r] > messages ? t.messages[r] : messages;
            bytes = t.bytes[r] > bytes ? t.bytes[r] : bytes;
            all += t.bytes[r];
        }
        assert_true(messages <= 2 * (ranks - 1));
        assert_int_equal(messages, most_messages[ranks]);
        assert_true(bytes < 2 * 4 * n);
        assert_int_equal(all, 2 * (ranks - 1) * 4 * n);
        dt_pool_destroy(pool);
    }
}

static void test_flags_of_all_travel_with_a_sum(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
        dt_pool *pool = NULL;
        assert_null(dt_pool_create(&pool, ranks));
        for (int64_t n = 1; n <= 20; n++) {
            const traffic t = count_traffic(pool, ranks, n);
            for (int r = 0; r < ranks; r++)
                assert_int_equal(t.flags[r], ranks < 8 ? (1 << ranks) - 1 : 255);
        }
        dt_pool_destroy(pool);
    }
}

typedef struct gathering {
    dt_process_group *group;
    int64_t got[MOST_WORKERS][MOST_WORKERS];
} gathering;

static void gather(int rank, void *user) {
    gathering *g = user;
    dt_member *m = NULL;
    dt_status *s = dt_process_group_join(g->group, rank, 20, &m);
    const int64_t own = 100 + rank;
    if (!s) s = dt_member_gather(m, &own, sizeof own, g->got[rank]);
    assert_null(s);
    dt_member_leave(m);
}

static void test_what_all_say_is_gathered_in_order(void **state) {
    (void)state;
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        gathering g = {0};
        dt_pool *pool = NULL;
        assert_null(dt_pool_create(&pool, workers));
        assert_null(dt_process_group_open(&g.group, &dt_fabric_local, workers));
        dt_pool_run(pool, gather, &g);
        dt_process_group_close(g.group);
        dt_pool_destroy(pool);
        for (int w = 0; w < workers; w++)
            for (int k = 0; k < workers; k++) assert_int_equal(g.got[w][k], 100 + k);
    }
}

/* ---- types ---- */

typedef struct typed_sum {
    dt_process_group *group;
    dt_dtype dtype;
    _Alignas(8) unsigned char value[3][8];
    dt_status *status[3];
} typed_sum;

static void sum_one(int rank, void *user) {
    typed_sum *t = user;
    dt_member *m = NULL;
    const dt_tree_item item = {
        .parts = t->value[rank], .sum = t->value[rank], .rows = 1, .width = 1};
    assert_null(dt_process_group_join(t->group, rank, 20, &m));
    t->status[rank] = dt_tree_all_reduce(m, 3, t->dtype, &item, 1);
    dt_member_leave(m);
}

static void test_every_type_is_added_as_itself(void **state) {
    (void)state;
    /* x and x + x + x, little-endian */
    static const struct {
        dt_dtype dtype;
        unsigned char one[8], three[8];
    } rows[] = {
        {DT_UINT8, {0x60}, {0x20}},
        {DT_INT8, {0x7f}, {0x7d}},
        {DT_INT16, {0xff, 0x7f}, {0xfd, 0x7f}},
        {DT_INT32, {0xff, 0xff, 0xff, 0xff}, {0xfd, 0xff, 0xff, 0xff}},
        {DT_INT64, {0, 0, 0, 0, 0, 0, 0, 0x40}, {0, 0, 0, 0, 0, 0, 0, 0xc0}},
        {DT_FLOAT32, {0, 0, 0x80, 0x3f}, {0, 0, 0x40, 0x40}},
        {DT_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0x08, 0x40}},
        /* the second sum lies between two numbers and is rounded to the even one */
        {DT_FLOAT16, {0x01, 0x3c}, {0x02, 0x42}},
        {DT_BFLOAT16, {0x81, 0x3f}, {0x42, 0x40}},
        {DT_BOOL, {1}, {1}}, /* refused */
    };
    dt_pool *pool = NULL;
    assert_null(dt_pool_create(&pool, 3));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        typed_sum t = {.dtype = rows[i].dtype};
        for (int r = 0; r < 3; r++) memcpy(t.value[r], rows[i].one, 8);
        assert_null(dt_process_group_open(&t.group, &dt_fabric_local, 3));
        dt_pool_run(pool, sum_one, &t);
        dt_process_group_close(t.group);
        for (int r = 0; r < 3; r++) {
            assert_memory_equal(t.value[r], rows[i].three, dt_dtype_size(rows[i].dtype));
            assert_int_equal(dt_status_number(t.status[r]), rows[i].dtype == DT_BOOL ? 55 : 0);
            if (t.status[r])
                assert_string_equal(dt_status_text(t.status[r]), "bool cannot be summed");
            dt_status_free(t.status[r]);
        }
    }
    dt_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_workers_has_the_bits_of_one),
        cmocka_unit_test(test_nodes_cover_the_shards_of_a_worker),
        cmocka_unit_test(test_no_worker_sends_more_than_its_share),
        cmocka_unit_test(test_flags_of_all_travel_with_a_sum),
        cmocka_unit_test(test_what_all_say_is_gathered_in_order),
        cmocka_unit_test(test_every_type_is_added_as_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
