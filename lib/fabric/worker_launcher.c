/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_launcher.h. The caller and the launcher share a pair of sockets: requests carry the
 * worker's links as descriptors, answers its process number. */
#define _GNU_SOURCE
#include "fabric/worker_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

enum { LOOK_MS = 50, PATIENCE_MS = 2000 };

struct dt_worker_launcher {
    int control;
    pid_t pid;
};

typedef struct request {
    int worker, links;
} request;

/* State of the launcher process. */
typedef struct launcher_state {
    int control;
    dt_worker_main body;
    void *user;
    const char *last_words;
    int n;
    pid_t pid[4 * DT_LAUNCHER_WORKERS]; /* of workers that have not ended */
} launcher_state;

/* ---- descriptors in messages ---- */

typedef union packet {
    struct cmsghdr head;
    char room[CMSG_SPACE(DT_LAUNCHER_LINKS * sizeof(int))];
} packet;

static bool send_request(int control, const request *q, const int *link) {
    packet p = {0};
    struct iovec part = {.iov_base = (void *)q, .iov_len = sizeof *q};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = p.room,
                       .msg_controllen = CMSG_SPACE((size_t)q->links * sizeof(int))};
    p.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS,
                              .cmsg_len = CMSG_LEN((size_t)q->links * sizeof(int))};
    memcpy(CMSG_DATA(&p.head), link, (size_t)q->links * sizeof(int));
    return sendmsg(control, &m, MSG_NOSIGNAL) == (ssize_t)sizeof *q;
}

/* False: the caller is gone. */
static bool receive_request(int control, request *q, int *link) {
    packet p = {0};
    struct iovec part = {.iov_base = q, .iov_len = sizeof *q};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = p.room, .msg_controllen = sizeof p.room};
    ssize_t got;
    do got = recvmsg(control, &m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *q || q->links < 0 || q->links > DT_LAUNCHER_LINKS) return false;
    memcpy(link, CMSG_DATA(&p.head), (size_t)q->links * sizeof(int));
    return true;
}

/* ---- the launcher ---- */

static void close_links(const int *link, int n) {
    for (int i = 0; i < n; i++) close(link[i]);
}

static void become_worker(const launcher_state *n, const request *q, const int *link) {
    char name[16];
    snprintf(name, sizeof name, "dtrain-%d", q->worker);
    prctl(PR_SET_NAME, name);
    close(n->control);
    _exit(n->body(q->worker, link, n->user));
}

static void start(launcher_state *n, const request *q, const int *link) {
    pid_t pid = n->n < (int)(sizeof n->pid / sizeof *n->pid) ? fork() : -1;
    if (pid == 0) become_worker(n, q, link);
    close_links(link, q->links);
    if (pid > 0) n->pid[n->n++] = pid;
    if (send(n->control, &pid, sizeof pid, MSG_NOSIGNAL) < 0)
        return; /* the caller is gone, which the next look finds */
}

static void reap(launcher_state *n) {
    for (int i = 0; i < n->n;)
        if (waitpid(n->pid[i], NULL, WNOHANG) == n->pid[i]) n->pid[i] = n->pid[--n->n];
        else i++;
}

static void end_all(launcher_state *n) {
    for (int waited = 0; n->n > 0 && waited < PATIENCE_MS; waited += LOOK_MS) {
        reap(n);
        if (n->n > 0) nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
    }
    for (int i = 0; i < n->n; i++) kill(n->pid[i], SIGKILL);
    while (n->n > 0) waitpid(n->pid[--n->n], NULL, 0);
}

static int keep(launcher_state *n) {
    for (;;) {
        request q;
        int link[DT_LAUNCHER_LINKS];
        struct pollfd p = {.fd = n->control, .events = POLLIN};
        const int found = poll(&p, 1, LOOK_MS * 10);
        reap(n);
        if (found <= 0) continue;
        if (!receive_request(n->control, &q, link)) break;
        if (q.links == 0) { /* the caller needs no more */
            end_all(n);
            return 0;
        }
        start(n, &q, link);
    }
    fprintf(stderr, "%s\n", n->last_words);
    end_all(n);
    return DT_EXIT_ALONE;
}

static int be_launcher(const launcher_state *of) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGPIPE};
    launcher_state *n = dt_alloc(sizeof *n);
    *n = *of;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "dtrain-launcher");
    return keep(n);
}

/* ---- the caller ---- */

dt_status *dt_worker_launcher_open(dt_worker_launcher **out, dt_worker_main body, void *user,
                                   const char *last_words) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return dt_fail(DT_E_WORKER_GONE, NULL, "workers cannot be started: %s", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        _exit(be_launcher(&(launcher_state){
            .control = pair[1], .body = body, .user = user, .last_words = last_words}));
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return dt_fail(DT_E_NO_MEMORY, NULL, "workers cannot be started: %s", strerror(errno));
    }
    dt_worker_launcher *n = dt_alloc(sizeof *n);
    *n = (dt_worker_launcher){.control = pair[0], .pid = pid};
    *out = n;
    return NULL;
}

static bool connect_links(int links, int *own, int *other) {
    for (int i = 0; i < links; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            close_links(own, i);
            close_links(other, i);
            return false;
        }
        fcntl(pair[0], F_SETFL, O_NONBLOCK);
        own[i] = pair[0];
        other[i] = pair[1];
    }
    return true;
}

static bool ask(dt_worker_launcher *n, const request *q, const int *link, pid_t *pid) {
    ssize_t got = -1;
    if (!send_request(n->control, q, link)) return false;
    do got = recv(n->control, pid, sizeof *pid, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *pid && *pid > 0;
}

dt_status *dt_worker_launcher_start(dt_worker_launcher *n, int worker, int links, int *link,
                                    pid_t *pid) {
    int other[DT_LAUNCHER_LINKS];
    if (!connect_links(links, link, other))
        return dt_fail(DT_E_WORKER_GONE, NULL, "worker %d cannot be started: %s", worker,
                       strerror(errno));
    const bool started = ask(n, &(request){worker, links}, other, pid);
    close_links(other, links);
    if (started) return NULL;
    close_links(link, links);
    return dt_fail(DT_E_WORKER_GONE, NULL,
                   "worker %d cannot be started: the system has no more processes, or the process "
                   "that starts workers is gone",
                   worker);
}

void dt_worker_launcher_close(dt_worker_launcher *n) {
    if (!n) return;
    if (send(n->control, &(request){0}, sizeof(request), MSG_NOSIGNAL) < 0)
        kill(n->pid, SIGKILL); /* it does not answer */
    waitpid(n->pid, NULL, 0);
    close(n->control);
    free(n);
}
