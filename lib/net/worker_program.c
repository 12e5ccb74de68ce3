/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See worker_launcher.h: the side of a worker that is this program, started again.
 * DTRAIN_POOL_WORKER is "WORKER WORKERS CALLER FD FD ...", where each FD is an inherited link.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/environment.h"
#include "base/str.h"
#include "net/worker_launcher.h"

enum { PATIENCE_S = 2 };

bool dt_inherited_write(const dt_inherited *x, char *text, size_t room) {
    int at = snprintf(text, room, DT_POOL_VARIABLE "=%d %d %lld", x->worker, x->workers,
                      (long long)x->caller);
    for (int i = 0; i < x->links && (size_t)at < room; i++)
        at += snprintf(text + at, room - (size_t)at, " %d", x->link[i]);
    return (size_t)at < room;
}

static bool is_socket(int64_t fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return fd > 2 && fd < 1 << 20 && getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

/* Reads the words, and sets close-on-exec on the links so that programs started from here do not
 * get them. */
static bool read_words(char *words, dt_inherited *out) {
    int64_t head[3] = {-1, -1, -1}, fd = -1;
    for (int i = 0; i < 3; i++)
        if (!words || !dt_parse_int64(strsep(&words, " "), &head[i])) return false;
    while (words && out->links < DT_LAUNCHER_LINKS) {
        if (!dt_parse_int64(strsep(&words, " "), &fd) || !is_socket(fd)) return false;
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
        out->link[out->links++] = (int)fd;
    }
    out->worker = (int)head[0];
    out->workers = (int)head[1];
    out->caller = (pid_t)head[2];
    return !words && out->links > 0 && head[0] >= 0 && head[0] < head[1] &&
           head[1] <= DT_LAUNCHER_WORKERS;
}

dt_status *dt_inherited_read(dt_inherited *out) {
    const char *text = dt_environment(DT_POOL_VARIABLE);
    *out = (dt_inherited){0};
    if (!text) return NULL;
    DT_LOCAL char *words = dt_strdup(text);
    const bool good = read_words(words, out);
    if (good) {
        /* until the worker serves, it can be killed without loss */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* the coordinator has ended already and has reported why, so this process ends as if by
         * PDEATHSIG */
        if (getppid() != out->caller) raise(SIGKILL);
        return NULL;
    }
    *out = (dt_inherited){0};
    return dt_fail(DT_E_LAUNCH, NULL,
                   DT_POOL_VARIABLE "=%.60s: the coordinator of a parameter server sets it for "
                                    "the workers that it starts; unset it",
                   text);
}

static void end_soon(int number) {
    (void)number;
    alarm(PATIENCE_S);
}

/* Prepares the process for computing. If the caller dies, a worker that waits finds its links
 * closed and reports that itself. The signal is for a worker that is computing. */
void dt_inherited_serve(const dt_inherited *x) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
    struct sigaction action = {.sa_handler = end_soon, .sa_flags = SA_RESTART};
    char name[16];
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR2);
    if (getppid() != x->caller) alarm(PATIENCE_S);
    snprintf(name, sizeof name, "dtrain-%d", x->worker);
    prctl(PR_SET_NAME, name);
}
