/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabrics sockets and zmq, between processes that this one forks: the sums of the local fabric,
 * large messages both ways at once, and ranks that die, stop or do something else, between
 * collectives and in the middle of each kind, named in time, and so is a network that carries
 * nothing any more. What the environment says is not believed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/collectives.h"
#include "../support/free_port.h"
#include "base/arena.h"
#include "base/clock.h"
#include "net/fabric.h"
#include "net/rendezvous.h"
#include "net/zmq_api.h"

enum { MOST = 4, N = 300007 };

typedef struct played {
    int code[MOST]; /* of each rank; -SIGNAL */
    char text[MOST][2000];
    double seconds;
} played;

static float value(int i, int rank) { return (float)((i * 37 + rank * 101) % 1000) / 7.0f - 60; }

/* Sums on all ranks; each compares its result with the sum to rounding. */
static dt_status *sum(dt_member *m, float *x) {
    for (int i = 0; i < N; i++) x[i] = value(i, m->rank);
    dt_status *bad = sum_floats(m, N, x);
    for (int i = 0; !bad && i < N; i++) {
        float all = 0;
        for (int r = 0; r < m->group->ranks; r++) all += value(i, r);
        if (x[i] - all > 1e-3f || all - x[i] > 1e-3f)
            bad = dt_fail(DT_E_INTERNAL, NULL, "element %d is %g, not %g", i, (double)x[i],
                          (double)all);
    }
    return bad;
}

/* Of this process's network namespace: where it is down, packets are dropped and nobody is told. */
static bool set_loopback(bool up) {
    struct ifreq of = {.ifr_name = "lo"};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool done = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &of) == 0;
    of.ifr_flags = (short)(up ? of.ifr_flags | IFF_UP : of.ifr_flags & ~IFF_UP);
    done = done && ioctl(fd, SIOCSIFFLAGS, &of) == 0;
    close(fd);
    return done;
}

static dt_status *play(dt_member *m, const char *what) {
    if (strstr(what, " in ")) return fault_in(m, what, N, sum);
    float *x = dt_alloc(N * sizeof *x);
    const bool last = m->rank == m->group->ranks - 1;
    dt_status *s = sum(m, x);
    m->step = 3;
    m->of = last && strcmp(what, "skips") == 0 ? "dense/bias" : "dense/kernel";
    if (last && strcmp(what, "dies") == 0) raise(SIGKILL);
    if (last && strcmp(what, "stops") == 0) raise(SIGSTOP);
    if (last && strcmp(what, "leaves") == 0) _exit(0);
    if (last && strcmp(what, "drops") == 0 && !set_loopback(false))
        s = dt_fail(DT_E_INTERNAL, NULL, "the network cannot be taken away");
    for (int i = 0; !s && i < 5; i++) s = sum(m, x);
    free(x);
    return s;
}

/* How processes are connected. */
typedef struct way {
    const dt_fabric *fabric;
    const char *host; /* zmq: where rank 0 listens */
    bool key, all;    /* zmq: all addresses are known */
} way;

static dt_status *meet(dt_process_group **out, const way *w, int ranks, int rank, const int *port) {
    char text[MOST][60];
    const char *address[MOST];
    dt_run_key key;
    for (int r = 0; r < ranks; r++) {
        snprintf(text[r], sizeof text[r], "%s:%d", w->host, port[r]);
        address[r] = text[r];
    }
    DT_TRY(dt_run_key_of(&key, "a secret of this test", 21));
    return dt_process_group_meet(out, w->fabric,
                                 &(dt_rendezvous){.ranks = ranks,
                                                  .own = rank,
                                                  .address = address,
                                                  .addresses = w->all ? ranks : 1,
                                                  .key = w->key ? &key : NULL,
                                                  .patience_s = 20,
                                                  .silence_s = 20});
}

static int be_rank(const way *w, int ranks, int rank, const int *port, const char *what, int to) {
    dt_process_group *group = NULL;
    dt_member *m = NULL;
    const bool soon = strncmp(what, "stops", 5) == 0 || strcmp(what, "drops") == 0;
    dt_status *s =
        w->host ? meet(&group, w, ranks, rank, port) : dt_process_group_open(&group, w->fabric, 0);
    if (!s) s = dt_process_group_join(group, group->own, soon ? 1 : 20, &m);
    if (!s) s = play(m, what);
    const int code = s ? dt_status_code(s) : 0;
    if (s) dprintf(to, "%s", dt_status_text(s));
    dt_status_free(s);
    dt_member_leave(m);
    if (group) dt_process_group_close(group);
    return code;
}

enum { AT_ONCE = 3 };

typedef struct running {
    const char *what;
    int ranks, out[MOST];
    pid_t pid[MOST];
    int64_t since;
} running;

static running start(const way *w, int ranks, const char *what) {
    int port[MOST];
    for (int r = 0; r < ranks; r++) port[r] = free_port();
    int fd[MOST][MOST];
    running run = {.what = what, .ranks = ranks, .since = dt_now_ns()};
    for (int a = 0; a < ranks; a++)
        for (int b = a + 1; b < ranks; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            fd[a][b] = pair[0], fd[b][a] = pair[1];
        }
    for (int r = 0; r < ranks; r++) {
        int out[2];
        assert_int_equal(pipe(out), 0);
        run.pid[r] = fork();
        if (run.pid[r] == 0) {
            char text[200];
            int at = snprintf(text, sizeof text, "%d", r);
            for (int b = 0; b < ranks; b++)
                at += b == r ? snprintf(text + at, sizeof text - (size_t)at, " -")
                             : snprintf(text + at, sizeof text - (size_t)at, " %d", fd[r][b]);
            for (int a = 0; a < ranks; a++)
                for (int b = 0; b < ranks; b++)
                    if (a != b && a != r) close(fd[a][b]);
            setenv(DT_SOCKETS_VARIABLE, text, 1);
            alarm(60);
            _exit(be_rank(w, ranks, r, port, what, out[1]));
        }
        close(out[1]);
        run.out[r] = out[0];
    }
    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < ranks; b++)
            if (a != b) close(fd[a][b]);
    return run;
}

static played finish(const running *run) {
    const bool stops = strncmp(run->what, "stops", 5) == 0;
    played p = {.seconds = 0};
    for (int r = 0; r < run->ranks; r++) {
        int status = 0;
        if (stops && r == run->ranks - 1) kill(run->pid[r], SIGKILL); /* the others have ended */
        assert_int_equal(waitpid(run->pid[r], &status, 0), run->pid[r]);
        p.code[r] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        ssize_t n = read(run->out[r], p.text[r], sizeof p.text[r] - 1);
        p.text[r][n > 0 ? n : 0] = '\0';
        close(run->out[r]);
    }
    p.seconds = dt_seconds_since(run->since);
    return p;
}

static const way ways[] = {
    {&dt_fabric_sockets, NULL, false, false},
    {&dt_fabric_zmq, "127.0.0.1", false, false},
    {&dt_fabric_zmq, "127.0.0.1", true, true},
    {&dt_fabric_zmq, "[::1]", true, false},
};

static const struct {
    const char *what;
    int ranks, code;  /* of all ranks but the last */
    const char *says; /* they, too */
} cases[] = {
    {"sums", 2, 0, ""},
    {"sums", 3, 0, ""},
    {"sums", 4, 0, ""},
    {"dies", 2, 69, "rank 1 left while rank 0 waited for "},
    {"dies", 4, 69, "rank 3 left while rank "},
    {"leaves", 3, 69, "rank 2 left while rank "},
    {"stops", 2, 69, "rank 1 is late: rank 0 waited 1 s for "},
    {"stops", 3, 69, "rank 2 is late: rank "},
    {"skips", 2, 76, "for dense/kernel in step 3, rank 1 in "},
};

static bool has_zeromq(void) {
    dt_zmq z;
    dt_status *s = dt_zmq_open(&z);
    dt_status_free(s);
    return !s;
}

static void test_what_ranks_do_and_say(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases && (!ways[k].host || has_zeromq());
             i++) {
            const running one = start(&ways[k], cases[i].ranks, cases[i].what);
            played p = finish(&one);
            for (int r = 0; r + 1 < cases[i].ranks; r++)
                if (p.code[r] != cases[i].code || !strstr(p.text[r], cases[i].says))
                    fail_msg("%s %s: %s, rank %d of %d: exit %d, '%s'", ways[k].fabric->kind.name,
                             ways[k].host ? ways[k].host : "", cases[i].what, r, cases[i].ranks,
                             p.code[r], p.text[r]);
            if (p.seconds > 20)
                fail_msg("%s %s took %.1f s", ways[k].fabric->kind.name, cases[i].what, p.seconds);
        }
}

static const struct {
    const char *what;
    int ranks, code; /* of all ranks but the last */
    const char *says;
    double within;
} faults[] = {
    {"dies", 3, 69, "rank 2 left while rank ", 5},
    {"stops", 3, 69, "rank 2 is late: rank ", 5},
    {"skips", 2, 76, "for dense/kernel in step 3, rank 1 in ", 2},
};

static void look_at_fault(const way *w, int f, const running *run) {
    const played p = finish(run);
    for (int r = 0; r + 1 < run->ranks; r++)
        if (p.code[r] != faults[f].code || !strstr(p.text[r], faults[f].says))
            fail_msg("%s: %s, rank %d: exit %d, '%s'", w->fabric->kind.name, run->what, r,
                     p.code[r], p.text[r]);
    if (p.seconds > faults[f].within)
        fail_msg("%s: %s took %.1f s", w->fabric->kind.name, run->what, p.seconds);
}

/* A few runs at once: most of the time they wait. */
static void fail_in_each_collective(const way *w, int f) {
    char what[AT_ONCE][40];
    running run[AT_ONCE];
    for (int c = 0; c < COLLECTIVES; c += AT_ONCE) {
        const int n = c + AT_ONCE < COLLECTIVES ? AT_ONCE : COLLECTIVES - c;
        for (int i = 0; i < n; i++) {
            snprintf(what[i], sizeof what[i], "%s in %s", faults[f].what, collectives[c + i].name);
            run[i] = start(w, faults[f].ranks, what[i]);
        }
        for (int i = 0; i < n; i++) look_at_fault(w, f, &run[i]);
    }
}

static void test_faults_in_each_collective(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++)
        for (size_t f = 0; f < sizeof faults / sizeof *faults && (!ways[k].host || has_zeromq());
             f++)
            fail_in_each_collective(&ways[k], (int)f);
}

static void test_the_environment_is_not_believed(void **state) {
    (void)state;
    static const char *const texts[] = {"",        "0",     "0 -",    "0 - 1",
                                        "0 - 999", "1 - -", "0 - x",  "2 5 -",
                                        "-1 - 5",  "0 5 6", "0  - 5", "99999999999999999999 - 5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_process_group *group = NULL;
        setenv(DT_SOCKETS_VARIABLE, texts[i], 1);
        dt_status *s = dt_process_group_open(&group, &dt_fabric_sockets, 0);
        if (!s) fail_msg("'%s' is taken", texts[i]);
        assert_int_equal(dt_status_code(s), 78);
        assert_non_null(strstr(dt_status_text(s), DT_SOCKETS_VARIABLE "="));
        dt_status_free(s);
    }
    unsetenv(DT_SOCKETS_VARIABLE);
}

/* The last test: from here on this process has a network of its own. */
static void test_a_network_that_drops_packets(void **state) {
    (void)state;
    if (!has_zeromq() ||
        (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ||
        !set_loopback(true)) {
        print_message("there is no ZeroMQ, or no network of our own to be had\n");
        skip();
    }
    for (int ranks = 2; ranks <= 3; ranks++) {
        const running run = start(&ways[2], ranks, "drops");
        const played p = finish(&run);
        for (int r = 0; r < ranks; r++)
            if (p.code[r] != 69 || !strstr(p.text[r], " is late: rank "))
                fail_msg("rank %d of %d: exit %d, '%s'", r, ranks, p.code[r], p.text[r]);
        if (p.seconds > 9) fail_msg("%d ranks took %.1f s", ranks, p.seconds);
        assert_true(set_loopback(true));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ranks_do_and_say),
        cmocka_unit_test(test_faults_in_each_collective),
        cmocka_unit_test(test_the_environment_is_not_believed),
        cmocka_unit_test(test_a_network_that_drops_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
