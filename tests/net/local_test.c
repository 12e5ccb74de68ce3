/* SPDX-License-Identifier: Apache-2.0 */
/* The local fabric: order, deadlines, departures, and ranks that do different things. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/collectives.h"
#include "../support/local_fabric.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/fabric.h"

static const dt_tag tag = {
    .number = 7, .collective = DT_ALL_REDUCE, .round = 2, .dtype = DT_INT32, .elements = 1000};

/* A group of two; its members may be used by one thread in turn. */
typedef struct pair {
    dt_process_group *group;
    dt_member *member[2];
} pair;

static void meet(pair *p, double patience_s) {
    *p = (pair){0};
    assert_null(dt_process_group_open(&p->group, &dt_fabric_local, 2));
    for (int r = 0; r < 2; r++)
        assert_null(dt_process_group_join(p->group, r, patience_s, &p->member[r]));
}

static void part(pair *p) {
    for (int r = 0; r < 2; r++) dt_member_leave(p->member[r]);
    dt_process_group_close(p->group);
}

static void expect(dt_status *s, int number, int code, const char *text) {
    assert_non_null(s);
    assert_string_equal(dt_status_text(s), text);
    assert_int_equal(dt_status_number(s), number);
    assert_int_equal(dt_status_code(s), code);
    dt_status_free(s);
}

static void test_messages_arrive_in_order(void **state) {
    (void)state;
    pair p;
    meet(&p, 1);
    for (int i = 0; i < 100; i++) assert_null(dt_member_send(p.member[0], 1, &tag, &i, sizeof i));
    for (int i = 0, got; i < 100; i++) {
        assert_null(dt_member_recv(p.member[1], 0, &tag, &got, sizeof got));
        assert_int_equal(got, i);
    }
    assert_null(dt_member_send(p.member[0], 1, &tag, NULL, 0));
    assert_null(dt_member_recv(p.member[1], 0, &tag, NULL, 0));
    part(&p);
}

static void test_large_messages_arrive_whole(void **state) {
    (void)state;
    enum { N = 3 << 20 };
    pair p;
    unsigned char *a = dt_alloc(N), *b = dt_alloc(N);
    for (int i = 0; i < N; i++) a[i] = (unsigned char)(i * 31 + i / 251);
    meet(&p, 1);
    assert_null(dt_member_send(p.member[1], 0, &tag, a, N));
    assert_null(dt_member_recv(p.member[0], 1, &tag, b, N));
    assert_memory_equal(a, b, N);
    part(&p);
    free(a);
    free(b);
}

static void test_a_late_rank_is_named(void **state) {
    (void)state;
    pair p;
    int got = 0;
    meet(&p, 0.05);
    int64_t start = dt_now_ns();
    expect(
        dt_member_recv(p.member[0], 1, &tag, &got, sizeof got), 56, 69,
        "rank 1 is late: rank 0 waited 0.05 s for all_reduce 7, round 3, of 1000 int32 (4 bytes)");
    double waited = dt_seconds_since(start);
    assert_true(waited >= 0.049 && waited < 5);
    part(&p);
}

static void test_a_message_that_is_there_needs_no_patience(void **state) {
    (void)state;
    pair p;
    int got = 0, sent = 5;
    meet(&p, -0.5);
    assert_null(dt_member_send(p.member[1], 0, &tag, &sent, sizeof sent));
    assert_null(dt_member_recv(p.member[0], 1, &tag, &got, sizeof got));
    assert_int_equal(got, 5);
    dt_status *s = dt_member_recv(p.member[0], 1, &tag, &got, sizeof got);
    assert_int_equal(dt_status_number(s), 56);
    dt_status_free(s);
    part(&p);
}

static void test_what_was_sent_before_leaving_arrives(void **state) {
    (void)state;
    pair p;
    int got = 0, sent = 5;
    meet(&p, INFINITY);
    assert_null(dt_member_send(p.member[1], 0, &tag, &sent, sizeof sent));
    dt_member_leave(p.member[1]);
    p.member[1] = NULL;
    assert_null(dt_member_recv(p.member[0], 1, &tag, &got, sizeof got));
    assert_int_equal(got, 5);
    expect(dt_member_recv(p.member[0], 1, &tag, &got, sizeof got), 57, 69,
           "rank 1 left while rank 0 waited for all_reduce 7, round 3, of 1000 int32 (4 bytes)");
    expect(dt_member_send(p.member[0], 1, &tag, &sent, sizeof sent), 57, 69,
           "rank 1 left before rank 0 was done with it");
    part(&p);
}

static void test_other_messages_are_refused(void **state) {
    (void)state;
    const int sent = 5;
    static const struct {
        dt_tag tag;
        size_t n;
        const char *text;
    } rows[] = {
        {{7, DT_ALL_REDUCE, 2, DT_INT32, 1000, 0, "", 0},
         8,
         "rank 0 is in all_reduce 7, round 3, of 1000 int32 (8 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
        {{7, DT_ALL_REDUCE, 2, DT_FLOAT32, 1000, 0, "", 0},
         4,
         "rank 0 is in all_reduce 7, round 3, of 1000 float32 (4 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
        {{7, DT_ALL_REDUCE, 2, DT_INT32, 999, 0, "", 0},
         4,
         "rank 0 is in all_reduce 7, round 3, of 999 int32 (4 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
        {{7, DT_ALL_GATHER, 2, DT_INT32, 1000, 0, "", 0},
         4,
         "rank 0 is in all_gather 7, round 3, of 1000 int32 (4 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
        {{8, DT_ALL_REDUCE, 2, DT_INT32, 1000, 0, "", 0},
         4,
         "rank 0 is in all_reduce 8, round 3, of 1000 int32 (4 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
        {{7, DT_ALL_REDUCE, 1, DT_INT32, 1000, 0, "", 0},
         4,
         "rank 0 is in all_reduce 7, round 2, of 1000 int32 (4 bytes), rank 1 in all_reduce 7, "
         "round 3, of 1000 int32 (4 bytes)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pair p;
        char got[8] = "unread";
        meet(&p, 1);
        assert_null(dt_member_send(p.member[1], 0, &tag, &sent, sizeof sent));
        expect(dt_member_recv(p.member[0], 1, &rows[i].tag, got, rows[i].n), 58, 76, rows[i].text);
        assert_string_equal(got, "unread");
        part(&p);
    }
}

static void test_ranks_join_once(void **state) {
    (void)state;
    pair p;
    dt_member *other = NULL;
    meet(&p, 1);
    expect(dt_process_group_join(p.group, 1, 1, &other), 58, 76, "rank 1 joined twice");
    expect(dt_process_group_join(p.group, 2, 1, &other), 58, 76,
           "rank 2 joined a group of 2 ranks");
    expect(dt_process_group_join(p.group, -1, 1, &other), 58, 76,
           "rank -1 joined a group of 2 ranks");
    part(&p);
    dt_member_leave(NULL);
    dt_process_group_close(NULL);
}

static void test_unread_messages_go_with_the_group(void **state) {
    (void)state;
    pair p;
    meet(&p, 1);
    for (int i = 0; i < 10; i++) assert_null(dt_member_send(p.member[0], 1, &tag, &i, sizeof i));
    part(&p); /* the leak sanitizer looks */
}

/* ---- a rank that fails in the middle ---- */

typedef struct accident {
    dt_process_group *group;
    dt_status *status[4];
} accident;

static void all_but_two(int rank, void *user) {
    accident *a = user;
    dt_member *m = NULL;
    float data[64] = {0};
    if (dt_process_group_join(a->group, rank, 20, &m)) return;
    if (rank != 2) a->status[rank] = sum_floats(m, 64, data);
    dt_member_leave(m);
}

/* Whoever waits for the one that is gone says so at once and leaves, so that the others go too:
 * nobody waits out the deadline. */
static void test_one_failure_ends_all_at_once(void **state) {
    (void)state;
    accident a = {0};
    dt_pool *pool = NULL;
    assert_null(dt_process_group_open(&a.group, &dt_fabric_local, 4));
    assert_null(dt_pool_create(&pool, 4));
    int64_t start = dt_now_ns();
    dt_pool_run(pool, all_but_two, &a);
    assert_true(dt_seconds_since(start) < 10);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(dt_status_number(a.status[r]), r == 2 ? 0 : 57);
        dt_status_free(a.status[r]);
    }
    dt_pool_destroy(pool);
    dt_process_group_close(a.group);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_in_order),
        cmocka_unit_test(test_large_messages_arrive_whole),
        cmocka_unit_test(test_a_late_rank_is_named),
        cmocka_unit_test(test_a_message_that_is_there_needs_no_patience),
        cmocka_unit_test(test_what_was_sent_before_leaving_arrives),
        cmocka_unit_test(test_other_messages_are_refused),
        cmocka_unit_test(test_ranks_join_once),
        cmocka_unit_test(test_unread_messages_go_with_the_group),
        cmocka_unit_test(test_one_failure_ends_all_at_once),
    };
    return cmocka_run_group_tests_name("net/local", tests, NULL, NULL);
}
