/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabrics sockets and zmq, between processes that this one forks: the sums of the local fabric, large messages both ways at once, and ranks that die,
 * stop or do something else, each named in time. What the environment says is not believed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/sums.h"
#include "base/arena.h"
#include "base/clock.h"
#include "fabric/fabric.h"
#include "fabric/meeting.h"
#include "fabric/zmq_api.h"

enum { MOST = 4, N = 300007 };

typedef struct played {
    int code[MOST]; /* of each rank; -SIGNAL */
    char text[MOST][2000];
    double seconds;
} played;

static float value(int i, int rank)
{
    return (float)((i * 37 + rank * 101) % 1000) / 7.0f - 60;
}

/* The sum as the ring of `ranks` adds it is checked by all ranks having one, and one rank's being right to rounding. */
static dt_status *sum(dt_member *m, float *x)
{
    dt_schedule *s = NULL;
    for (int i = 0; i < N; i++)
        x[i] = value(i, m->rank);
    dt_status *bad = dt_schedule_create(&s, &(dt_schedule_spec){.collective = DT_ALL_REDUCE, .algorithm = dt_algorithm_find("ring"), .ranks = m->team->ranks});
    if (!bad)
        bad = run_on(s, m, DT_FLOAT32, N, x);
    dt_schedule_destroy(s);
    for (int i = 0; !bad && i < N; i++) {
        float all = 0;
        for (int r = 0; r < m->team->ranks; r++)
            all += value(i, r);
        if (x[i] - all > 1e-3f || all - x[i] > 1e-3f)
            bad = dt_fail(DT_E_INTERNAL, NULL, "element %d is %g, not %g", i, (double)x[i], (double)all);
    }
    return bad;
}

static dt_status *play(dt_member *m, const char *what)
{
    float *x = dt_alloc(N * sizeof *x);
    const bool last = m->rank == m->team->ranks - 1;
    dt_status *s = sum(m, x);
    m->step = 3;
    m->of = last && strcmp(what, "skips") == 0 ? "dense/bias" : "dense/kernel";
    if (last && strcmp(what, "dies") == 0)
        raise(SIGKILL);
    if (last && strcmp(what, "stops") == 0)
        raise(SIGSTOP);
    if (last && strcmp(what, "leaves") == 0)
        _exit(0);
    for (int i = 0; !s && i < 5; i++)
        s = sum(m, x);
    free(x);
    return s;
}

/* How processes are connected. */
typedef struct way {
    const char *fabric, *host; /* zmq: where rank 0 listens */
    bool key, all; /* zmq: all addresses are known */
} way;

/* Rank r listens on the port after that of rank r - 1. */
static dt_status *meet(dt_team **out, const way *w, int ranks, int rank, int port)
{
    char text[MOST][60];
    const char *address[MOST];
    dt_run_key key;
    for (int r = 0; r < ranks; r++) {
        snprintf(text[r], sizeof text[r], "%s:%d", w->host, port + r);
        address[r] = text[r];
    }
    DT_TRY(dt_run_key_of(&key, "a secret of this test", 21));
    return dt_team_meet(out, dt_fabric_find(w->fabric), &(dt_meeting){ .ranks = ranks, .own = rank, .address = address, .addresses = w->all ? ranks : 1,
                                                                       .key = w->key ? &key : NULL, .patience_s = 20, .silence_s = 20 });
}

static int be_rank(const way *w, int ranks, int rank, int port, const char *what, int to)
{
    dt_team *team = NULL;
    dt_member *m = NULL;
    dt_status *s = w->host ? meet(&team, w, ranks, rank, port) : dt_team_open(&team, dt_fabric_find(w->fabric), 0);
    if (!s)
        s = dt_team_join(team, team->own, strcmp(what, "stops") == 0 ? 1 : 20, &m);
    if (!s)
        s = play(m, what);
    const int code = s ? dt_status_code(s) : 0;
    if (s)
        dprintf(to, "%s", dt_status_text(s));
    dt_status_free(s);
    dt_member_leave(m);
    if (team)
        dt_team_close(team);
    return code;
}

/* The first of a few ports that nobody listens on. */
static int free_ports(void)
{
    for (int port = 20000 + (int)getpid() % 20000; port < 60000; port += 16) {
        int free = 0;
        for (int i = 0; i < MOST; i++) {
            const struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)(port + i)), .sin6_addr = IN6ADDR_ANY_INIT };
            const int fd = socket(AF_INET6, SOCK_STREAM, 0);
            free += fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
            close(fd);
        }
        if (free == MOST)
            return port;
    }
    fail_msg("no free ports");
    return 0;
}

static played run(const way *w, int ranks, const char *what)
{
    const int port = w->host ? free_ports() : 0;
    int fd[MOST][MOST], out[MOST][2];
    pid_t pid[MOST];
    played p = {.seconds = 0};
    const int64_t since = dt_now_ns();
    for (int a = 0; a < ranks; a++)
        for (int b = a + 1; b < ranks; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            fd[a][b] = pair[0], fd[b][a] = pair[1];
        }
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(pipe(out[r]), 0);
        pid[r] = fork();
        if (pid[r] == 0) {
            char text[200];
            int at = snprintf(text, sizeof text, "%d", r);
            for (int b = 0; b < ranks; b++)
                at += b == r ? snprintf(text + at, sizeof text - (size_t)at, " -") : snprintf(text + at, sizeof text - (size_t)at, " %d", fd[r][b]);
            for (int a = 0; a < ranks; a++)
                for (int b = 0; b < ranks; b++)
                    if (a != b && a != r)
                        close(fd[a][b]);
            setenv(DT_SOCKETS_VARIABLE, text, 1);
            alarm(60);
            _exit(be_rank(w, ranks, r, port, what, out[r][1]));
        }
    }
    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < ranks; b++)
            if (a != b)
                close(fd[a][b]);
    const bool stops = strcmp(what, "stops") == 0;
    for (int r = 0; r < ranks; r++) {
        int status = 0;
        if (stops && r == ranks - 1)
            kill(pid[r], SIGKILL); /* the others have ended */
        assert_int_equal(waitpid(pid[r], &status, 0), pid[r]);
        p.code[r] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        close(out[r][1]);
        ssize_t n = read(out[r][0], p.text[r], sizeof p.text[r] - 1);
        p.text[r][n > 0 ? n : 0] = '\0';
        close(out[r][0]);
    }
    p.seconds = dt_seconds_since(since);
    return p;
}

static const way ways[] = {
    { "sockets", NULL, false, false }, { "zmq", "127.0.0.1", false, false }, { "zmq", "127.0.0.1", true, true }, { "zmq", "[::1]", true, false },
};

static const struct {
    const char *what;
    int ranks, code; /* of all ranks but the last */
    const char *says; /* they, too */
} cases[] = {
    {"sums", 2, 0, ""}, {"sums", 3, 0, ""}, {"sums", 4, 0, ""},
    {"dies", 2, 69, "rank 1 left while rank 0 waited for "}, {"dies", 4, 69, "rank 3 left while rank "},
    {"leaves", 3, 69, "rank 2 left while rank "},
    {"stops", 2, 69, "rank 1 is late: rank 0 waited 1 s for "}, {"stops", 3, 69, "rank 2 is late: rank "},
    {"skips", 2, 76, "for dense/kernel in step 3, rank 1 in "},
};

static bool has_zeromq(void)
{
    dt_zmq z;
    dt_status *s = dt_zmq_open(&z);
    dt_status_free(s);
    return !s;
}

static void test_what_ranks_do_and_say(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases && (!ways[k].host || has_zeromq()); i++) {
            played p = run(&ways[k], cases[i].ranks, cases[i].what);
            for (int r = 0; r + 1 < cases[i].ranks; r++)
                if (p.code[r] != cases[i].code || !strstr(p.text[r], cases[i].says))
                    fail_msg("%s %s: %s, rank %d of %d: exit %d, '%s'", ways[k].fabric, ways[k].host ? ways[k].host : "", cases[i].what, r, cases[i].ranks,
                             p.code[r], p.text[r]);
            if (p.seconds > 20)
                fail_msg("%s %s took %.1f s", ways[k].fabric, cases[i].what, p.seconds);
        }
}

static void test_the_environment_is_not_believed(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "0", "0 -", "0 - 1", "0 - 999", "1 - -", "0 - x", "2 5 -", "-1 - 5", "0 5 6", "0  - 5", "99999999999999999999 - 5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_team *team = NULL;
        setenv(DT_SOCKETS_VARIABLE, texts[i], 1);
        dt_status *s = dt_team_open(&team, &dt_fabric_sockets, 0);
        if (!s)
            fail_msg("'%s' is taken", texts[i]);
        assert_int_equal(dt_status_code(s), 78);
        assert_non_null(strstr(dt_status_text(s), DT_SOCKETS_VARIABLE "="));
        dt_status_free(s);
    }
    unsetenv(DT_SOCKETS_VARIABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ranks_do_and_say),
        cmocka_unit_test(test_the_environment_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
