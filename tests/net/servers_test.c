/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter servers and workers, from a launcher and over ZeroMQ: slices of three servers, workers
 * that end, and invalid messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/free_port.h"
#include "base/clock.h"
#include "net/worker_launcher.h"
#include "net/zmq_carrier.h"
#include "net/servers.h"

enum { SERVERS = 3, NUMBERS = 100000, LIMIT_S = 30 };

static const dt_byte_range first[] = {{0, 40000}, {120000, 4}}, second[] = {{40000, 80000}},
                           third[] = {{120004, NUMBERS * 4 - 120004}};
static const dt_byte_ranges extents = {
    .servers = SERVERS,
    .n = (const int[]){2, 1, 1},
    .slice = (const dt_byte_range *const[]){first, second, third},
    .bytes = NUMBERS * 4,
};

/* Adds 1 to each number; worker 2 ends at once, worker 3 sends noise, worker 4 waits for ever. */
static int work(int worker, const int *fd, void *user) {
    static int32_t numbers[NUMBERS];
    const int noise[32] = {0};
    dt_worker_link link = dt_links_join(worker, fd, &extents);
    dt_frame m;
    char *more = NULL;
    (void)user;
    if (worker == 2) return 3;
    if (worker == 3 && write(fd[1], noise, sizeof noise) > 0) pause();
    if (worker == 4) pause();
    for (;;) {
        dt_status *s = dt_link_pull(&link, &m, numbers, &more);
        if (s || m.kind == DT_FRAME_END) return s != NULL;
        for (int i = 0; i < NUMBERS; i++) numbers[i]++;
        m.kind = DT_FRAME_PUSH;
        s = dt_link_push(&link, &m, numbers, more);
        free(more);
        if (s) return 1;
    }
}

static void begin(dt_worker_launcher **launcher, dt_carrier **servers, pid_t *pid, int workers) {
    int link[SERVERS];
    assert_null(dt_worker_launcher_open(
        launcher, &(dt_worker_launcher_spec){.body = work, .last_words = "the test is gone"}));
    assert_null(dt_servers_open(servers, &extents, workers));
    for (int w = 0; w < workers; w++) {
        assert_null(dt_worker_launcher_start(*launcher, w, SERVERS, link, &pid[w]));
        dt_servers_add(*servers, w, link);
    }
}

static dt_arrival next(dt_carrier *servers) {
    dt_arrival a;
    assert_true(dt_carrier_next(servers, dt_now_ns() + LIMIT_S * INT64_C(1000000000), &a));
    return a;
}

static void give(dt_carrier *servers, int worker, int64_t number) {
    dt_shared *weights = NULL;
    assert_null(dt_shared_new(&weights, extents.bytes));
    for (int i = 0; i < NUMBERS; i++) ((int32_t *)(void *)weights->data)[i] = (int32_t)(i + number);
    dt_carrier_give(
        servers, worker,
        &(dt_frame){.kind = DT_FRAME_WORK, .number = number, .version = 2 * number, .more = 5},
        weights, "hello");
    dt_shared_unref(weights);
}

static void slices_come_back(void **state) {
    dt_worker_launcher *launcher = NULL;
    dt_carrier *servers = NULL;
    pid_t pid[2];
    (void)state;
    begin(&launcher, &servers, pid, 2);
    for (int64_t n = 0; n < 20; n++) {
        give(servers, 0, n);
        give(servers, 1, n + 100);
        for (int k = 0; k < 2; k++) {
            const dt_arrival a = next(servers);
            assert_false(a.gone);
            assert_int_equal(a.message.number, a.worker ? n + 100 : n);
            assert_int_equal(a.message.version, 2 * a.message.number);
            assert_string_equal(a.more, "hello");
            for (int i = 0; i < NUMBERS; i += 7)
                assert_int_equal(((int32_t *)a.slices)[i], i + a.message.number + 1);
            dt_carrier_recycle(servers, a.slices);
            free(a.more);
        }
    }
    dt_carrier_close(servers, true);
    dt_worker_launcher_close(launcher);
}

static void lost_ones_are_told_once(void **state) {
    dt_worker_launcher *launcher = NULL;
    dt_carrier *servers = NULL;
    pid_t pid[5];
    dt_arrival a;
    int link[SERVERS], lost[5] = {0};
    (void)state;
    begin(&launcher, &servers, pid, 5);
    give(servers, 4, 1);
    kill(pid[4], SIGKILL);
    for (int k = 0; k < 3; k++) {
        a = next(servers);
        assert_true(a.gone);
        lost[a.worker]++;
        dt_carrier_drop(servers, a.worker);
    }
    assert_true(lost[2] == 1 && lost[3] == 1 && lost[4] == 1);
    assert_false(dt_carrier_next(servers, dt_now_ns() + 50000000, &a));
    /* another one in its place */
    assert_null(dt_worker_launcher_start(launcher, 0, SERVERS, link, &pid[4]));
    dt_servers_add(servers, 4, link);
    give(servers, 4, 7);
    a = next(servers);
    assert_true(!a.gone && a.worker == 4 && a.message.number == 7);
    dt_carrier_recycle(servers, a.slices);
    free(a.more);
    kill(pid[3], SIGKILL); /* it waits for signals */
    dt_carrier_close(servers, true);
    dt_worker_launcher_close(launcher);
}

/* A push that nobody has taken, and the end of its worker, are not those of the next one. */
static void the_next_one_begins_anew(void **state) {
    dt_worker_launcher *launcher = NULL;
    dt_carrier *servers = NULL;
    pid_t pid[1];
    int link[SERVERS];
    (void)state;
    begin(&launcher, &servers, pid, 1);
    give(servers, 0, 1);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    kill(pid[0], SIGKILL);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    dt_carrier_drop(servers, 0);
    assert_null(dt_worker_launcher_start(launcher, 0, SERVERS, link, &pid[0]));
    dt_servers_add(servers, 0, link);
    give(servers, 0, 7);
    const dt_arrival a = next(servers);
    assert_true(!a.gone && a.message.number == 7);
    dt_carrier_recycle(servers, a.slices);
    free(a.more);
    dt_carrier_close(servers, true);
    dt_worker_launcher_close(launcher);
}

/* ---- workers that come by themselves, over ZeroMQ ---- */

static const char fingerprint[] = "a fingerprint";

static dt_zmq_carrier_spec place(const char *address, const char *with) {
    return (dt_zmq_carrier_spec){
        .address = address, .silence_s = 10, .slices = &extents, .fingerprint = with};
}

/* Worker 0 works, worker 1 has another fingerprint, worker 2 works and then sends messages that are
 * none. The exit code says how it went. */
static int come(int worker, const char *address) {
    static int32_t numbers[NUMBERS];
    const dt_zmq_carrier_spec at =
        place(address, worker == 1 ? "another fingerprint" : fingerprint);
    dt_worker_link l = {0};
    dt_frame m;
    char *more = NULL;
    unsigned seed = 7;
    dt_status *s = dt_zmq_link_connect(&l, &at, worker, &(dt_link_wait){.patience_s = LIMIT_S});
    while (!s && !(s = dt_link_pull(&l, &m, numbers, &more)) && m.kind == DT_FRAME_WORK) {
        for (int i = 0; i < NUMBERS; i++) numbers[i]++;
        m.kind = DT_FRAME_PUSH;
        s = dt_link_push(&l, &m, numbers, more);
        free(more);
        for (int k = 0; worker == 2 && !s && k < 200; k++) {
            unsigned char noise[sizeof m];
            for (size_t i = 0; i < sizeof noise; i++) {
                seed = seed * 1103515245u + 12345u;
                noise[i] = (unsigned char)(seed >> 16);
            }
            const dt_message_part part[] = {
                {k % 3 ? (const void *)noise : (const void *)&m, sizeof m - (size_t)(k % 5 == 4)},
                {numbers, (size_t)(k * 37)},
                {noise, (size_t)(k % 9)}};
            s = dt_messenger_send(l.m, l.peer, part, 1 + k % 3);
        }
    }
    const int code = s ? dt_status_code(s) : 0;
    dt_status_free(s);
    dt_link_close(&l);
    return code;
}

static int code_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool next_arrival(dt_carrier *p, dt_arrival *a) {
    return dt_carrier_next(p, dt_now_ns() + LIMIT_S * INT64_C(1000000000), a);
}

static void test_zmq_carrier(void **state) {
    char address[40];
    dt_carrier *p = NULL;
    pid_t pid[3];
    dt_arrival a;
    int came = 0, pushed = 0, gone = 0, status = 0;
    bool refused = false;
    (void)state;
    snprintf(address, sizeof address, "127.0.0.1:%d", free_port());
    for (int w = 0; w < 3; w++)
        if ((pid[w] = fork()) == 0) _exit(come(w, address));
    const dt_zmq_carrier_spec at = place(address, fingerprint);
    dt_status *s = dt_zmq_carrier_open(&p, &at, 3);
    if (s) { /* ZeroMQ is not here, or the port is taken */
        dt_status_free(s);
        for (int w = 0; w < 3; w++) kill(pid[w], SIGKILL), waitpid(pid[w], NULL, 0);
        skip();
    }
    dt_shared *weights = NULL;
    assert_null(dt_shared_new(&weights, extents.bytes));
    for (int i = 0; i < NUMBERS; i++) ((int32_t *)(void *)weights->data)[i] = i;
    while (gone < 1 || pushed < 21 || !refused) { /* worker 0 pushes all the while */
        refused = refused || waitpid(pid[1], &status, WNOHANG) == pid[1];
        assert_true(next_arrival(p, &a));
        came += a.came;
        gone += a.gone;
        if (a.gone) {
            assert_int_equal(a.worker, 2); /* what it sent is none; it is told nothing more */
            dt_carrier_drop(p, a.worker);
            continue;
        }
        if (!a.came) {
            pushed++;
            for (int i = 0; i < NUMBERS; i += 7) assert_int_equal(((int32_t *)a.slices)[i], i + 1);
            assert_string_equal(a.more, "hello");
            free(a.slices);
            free(a.more);
        }
        if (a.worker == 0 || a.came)
            dt_carrier_give(p, a.worker,
                            &(dt_frame){.kind = DT_FRAME_WORK, .number = pushed, .more = 5},
                            weights, "hello");
    }
    assert_int_equal(came, 2);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 76); /* which has another fingerprint */
    dt_carrier_close(p, true);
    dt_shared_unref(weights);
    assert_int_equal(code_of(pid[0]), 0);
    kill(pid[2], SIGKILL);
    waitpid(pid[2], NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_come_back), cmocka_unit_test(lost_ones_are_told_once),
        cmocka_unit_test(the_next_one_begins_anew), cmocka_unit_test(test_zmq_carrier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
