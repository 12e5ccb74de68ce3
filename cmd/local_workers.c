/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what local_workers.h declares. Each pair of workers shares a pair of connected
 * sockets, which the workers inherit. The variable DTRAIN_WORKER has a worker's rank and the
 * descriptors of its sockets (lib/net/sockets.c). Signals go to this parent process, which passes
 * them on to the workers. If the parent ends, the kernel ends the workers. */
#define _GNU_SOURCE
#include "local_workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stop.h"

enum { LOST = 69, GRACE_MS = 5000, LOOK_MS = 20 };

struct workers {
    struct out *out;
    int n;
    pid_t pid[MOST_WORKERS]; /* [n] the process of each worker; 0: the worker has ended */
    /* fd[a][b]: the socket by which worker a reaches worker b; -1: not open */
    int fd[MOST_WORKERS][MOST_WORKERS];
    /* exit code of the run so far (note_end); 0: no worker has failed */
    int code;
    /* value of the stop flag when it was last passed to the workers */
    int passed;
    /* whether the remaining workers are being killed, because one has failed or the first one has
     * ended, and they have not ended in time */
    bool ending;
};

static void close_sockets(struct workers *c) {
    for (int a = 0; a < c->n; a++)
        for (int b = 0; b < c->n; b++)
            if (c->fd[a][b] >= 0) close(c->fd[a][b]);
}

static bool connect_workers(struct workers *c) {
    memset(c->fd, -1, sizeof c->fd);
    for (int a = 0; a < c->n; a++)
        for (int b = a + 1; b < c->n; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
            c->fd[a][b] = pair[0];
            c->fd[b][a] = pair[1];
        }
    return true;
}

/* Makes this process worker `rank`: keeps its own sockets, closes those of the others, and sets
 * DTRAIN_WORKER. From then on the kernel kills it when the parent ends. */
static void become_worker(struct workers *c, int rank, pid_t parent) {
    char text[16 * (MOST_WORKERS + 1)];
    int at = snprintf(text, sizeof text, "%d", rank);
    for (int b = 0; b < c->n; b++)
        at += b == rank ? snprintf(text + at, sizeof text - (size_t)at, " -")
                        : snprintf(text + at, sizeof text - (size_t)at, " %d", c->fd[rank][b]);
    for (int a = 0; a < c->n; a++)
        for (int b = 0; b < c->n; b++)
            if (a != rank && c->fd[a][b] >= 0) close(c->fd[a][b]);
    /* Each worker has a process group of its own. Otherwise the terminal would send it Ctrl-C
     * directly, and the parent would pass the same signal on again. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(LOST);
    setenv("DTRAIN_WORKER", text, 1);
}

/* Forks the workers. Returns true in each of them, false in the parent. If a fork fails, starts no
 * further workers and sets the exit code. */
static bool start_processes(struct workers *c) {
    const pid_t parent = getpid();
    for (int r = 0; r < c->n; r++) {
        fflush(NULL);
        c->pid[r] = fork();
        if (c->pid[r] == 0) {
            become_worker(c, r, parent);
            return true;
        }
        if (c->pid[r] < 0) {
            out_note(c->out, "worker %d could not be started: %s", r, strerror(errno));
            c->pid[r] = 0;
            c->code = EXIT_MEMORY;
            break;
        }
    }
    close_sockets(c);
    return false;
}

static void signal_all(const struct workers *c, int number) {
    for (int r = 0; r < c->n; r++)
        if (c->pid[r] > 0) kill(c->pid[r], number);
}

/* Records the end of a worker with this `status` of waitpid. The run's exit code is that of the
 * first worker that failed; one that this process has killed does not count. The code LOST, which
 * only reports that another worker is gone, is replaced by that of a worker that fails later,
 * unless that is EXIT_STOPPED. */
static void note_end(struct workers *c, int rank, int status) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : LOST;
    if (c->ending && WIFSIGNALED(status)) code = 0;
    else if (WIFSIGNALED(status))
        out_note(c->out, "worker %d, process %ld, was ended by signal %d (%s)", rank,
                 (long)c->pid[rank], WTERMSIG(status), strsignal(WTERMSIG(status)));
    c->pid[rank] = 0;
    if (code && (c->code == 0 || (c->code == LOST && code != EXIT_STOPPED))) c->code = code;
}

static bool reap(struct workers *c) {
    bool any = false;
    for (int r = 0; r < c->n; r++) {
        int status;
        if (c->pid[r] > 0 && waitpid(c->pid[r], &status, WNOHANG) == c->pid[r])
            note_end(c, r, status);
        any |= c->pid[r] > 0;
    }
    return any;
}

static void pass_on(struct workers *c) {
    const int stop = *stop_flag();
    if (stop > c->passed) {
        c->passed = stop;
        signal_all(c, SIGTERM);
    }
    if (stop_save_asked()) signal_all(c, SIGUSR1);
}

/* Waits until all workers have ended, and passes signals on to them. When one worker has failed, or
 * the first worker has ended, whose result is the result of the run, the others have GRACE_MS
 * milliseconds to end. Then they are killed, even stopped ones. */
static void watch_all(struct workers *c) {
    int waited = 0;
    while (reap(c)) {
        const bool failed = c->code && c->code != EXIT_STOPPED, over = failed || c->pid[0] == 0;
        pass_on(c);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
        waited += over ? LOOK_MS : 0;
        if (waited > GRACE_MS && !c->ending)
            out_note(c->out, "a worker does not end by itself: it is killed");
        c->ending |= waited > GRACE_MS;
        if (c->ending) signal_all(c, SIGKILL);
    }
}

bool workers_start(struct out *out, int n, int64_t restarts, bool *again, int *code) {
    stop_steps_begin();
    for (int64_t started = 0;; started++) {
        struct workers c = {.out = out, .n = n};
        *again = started > 0;
        out_share_errors(out);
        if (!connect_workers(&c)) {
            close_sockets(&c);
            out_note(out, "the workers cannot be connected: %s", strerror(errno));
            *code = EXIT_MEMORY;
            return false;
        }
        if (start_processes(&c)) return true;
        watch_all(&c);
        *code = c.code;
        if (c.code != LOST || started == restarts || *stop_flag()) return false;
        out_note(out, "starting the workers again, %lld of %lld times", (long long)started + 1,
                 (long long)restarts);
        nanosleep(&(struct timespec){.tv_sec = started < 5 ? 1 << started : 32}, NULL);
    }
}

dt_status *workers_check(const struct call *call, int64_t n) {
    if (n > 1 && call->operands.n && strcmp(call->operands.at[0], "-") == 0)
        return usage_error(
            call,
            "--workers: a job on standard input can be read by one process only; give a file");
    return NULL;
}

bool workers_begin(const struct call *call, int64_t n, int *code) {
    bool again;
    dt_status *s = workers_check(call, n);
    if (!s) return n < 2 || workers_start(call->out, (int)n, 0, &again, code);
    *code = out_error(call->out, s);
    return false;
}

void workers_take_rank(dt_job_source *source, int64_t rank) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)rank);
    const char *variable = getenv("DTRAIN_RANK");
    source->has_rank = rank >= 0 && !(variable && strcmp(variable, text) == 0);
    source->rank = (int)rank;
}
