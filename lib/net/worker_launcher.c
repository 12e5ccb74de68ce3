/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what worker_launcher.h declares. The caller and a forked launcher share a pair of
 * sockets. A request carries the worker's links as descriptors; the answer is its process id. */
#define _GNU_SOURCE
#include "net/worker_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/environment.h"
#include "base/str.h"

enum { LOOK_MS = 50, PATIENCE_MS = 2000, CHILDREN = 4 * DT_LAUNCHER_WORKERS };

/* The processes that were started and have not ended yet. */
typedef struct children {
    int n;
    pid_t pid[CHILDREN];
} children;

struct dt_worker_launcher {
    dt_worker_launcher_spec spec;
    children children; /* the workers that are programs */
    int control;       /* socket to the forked launcher; -1: workers are programs */
    pid_t pid;
};

typedef struct request {
    int worker, links;
} request;

/* The state of the forked launcher process. */
typedef struct launcher_state {
    int control;
    dt_worker_main body;
    void *user;
    const char *last_words;
    children children;
} launcher_state;

/* Removes children that have ended from the list. If SIGCHLD is ignored, a setting that may be
 * inherited, waitpid fails for them. */
static void reap(children *n) {
    for (int i = 0; i < n->n;)
        if (waitpid(n->pid[i], NULL, WNOHANG) != 0) n->pid[i] = n->pid[--n->n];
        else i++;
}

static void end_all(children *n) {
    for (int waited = 0; n->n > 0 && waited < PATIENCE_MS; waited += LOOK_MS) {
        reap(n);
        if (n->n > 0) nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
    }
    for (int i = 0; i < n->n; i++) kill(n->pid[i], SIGKILL);
    while (n->n > 0) waitpid(n->pid[--n->n], NULL, 0);
}

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

/* Receives a request with its descriptors. Returns false if the caller is gone, or if descriptors
 * are missing. */
static bool receive_request(int control, request *q, int *link) {
    packet p = {0};
    struct iovec part = {.iov_base = q, .iov_len = sizeof *q};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = p.room, .msg_controllen = sizeof p.room};
    ssize_t got;
    do got = recvmsg(control, &m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *q || q->links < 0 || q->links > DT_LAUNCHER_LINKS) return false;
    /* If this process has too many files open, the kernel passes fewer descriptors, or none. */
    if (q->links > 0 && p.head.cmsg_len != CMSG_LEN((size_t)q->links * sizeof(int))) return false;
    memcpy(link, CMSG_DATA(&p.head), (size_t)q->links * sizeof(int));
    return true;
}

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
    pid_t pid = n->children.n < CHILDREN ? fork() : -1;
    if (pid == 0) become_worker(n, q, link);
    close_links(link, q->links);
    if (pid > 0) n->children.pid[n->children.n++] = pid;
    if (send(n->control, &pid, sizeof pid, MSG_NOSIGNAL) < 0)
        return; /* The caller is gone, which the next call of receive_request notices. */
}

static int serve_requests(launcher_state *n) {
    for (;;) {
        request q;
        int link[DT_LAUNCHER_LINKS];
        struct pollfd p = {.fd = n->control, .events = POLLIN};
        const int found = poll(&p, 1, LOOK_MS * 10);
        reap(&n->children);
        if (found <= 0) continue;
        if (!receive_request(n->control, &q, link)) break;
        if (q.links == 0) { /* A request without links asks the launcher to end. */
            end_all(&n->children);
            return 0;
        }
        start(n, &q, link);
    }
    fprintf(stderr, "%s\n", n->last_words);
    end_all(&n->children);
    return DT_EXIT_ALONE;
}

static int be_launcher(const launcher_state *of) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGPIPE};
    launcher_state *n = dt_alloc(sizeof *n);
    *n = *of;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "dtrain-launcher");
    return serve_requests(n);
}

static dt_status *cannot_start(dt_error error) {
    return dt_fail(error, NULL, "workers cannot be started: %s", strerror(errno));
}

static dt_status *fork_launcher(dt_worker_launcher *n) {
    int pair[2];
    const dt_worker_launcher_spec *q = &n->spec;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return cannot_start(DT_E_WORKER_GONE);
    fflush(NULL);
    n->pid = fork();
    if (n->pid == 0) {
        close(pair[0]);
        _exit(be_launcher(&(launcher_state){
            .control = pair[1], .body = q->body, .user = q->user, .last_words = q->last_words}));
    }
    close(pair[1]);
    n->control = pair[0];
    if (n->pid > 0) return NULL;
    close(pair[0]);
    return cannot_start(DT_E_NO_MEMORY);
}

dt_status *dt_worker_launcher_open(dt_worker_launcher **out, const dt_worker_launcher_spec *spec) {
    dt_worker_launcher *n = dt_alloc(sizeof *n);
    *n = (dt_worker_launcher){.spec = *spec, .control = -1};
    dt_status *s = spec->program ? NULL : fork_launcher(n);
    if (s) free(n);
    else *out = n;
    return s;
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

/* Asks the forked launcher to start a worker, and sets *pid. Returns false if the launcher could
 * not start it or is gone. */
static bool ask(const dt_worker_launcher *n, const request *q, const int *link, pid_t *pid) {
    ssize_t got = -1;
    if (!send_request(n->control, q, link)) return false;
    do got = recv(n->control, pid, sizeof *pid, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *pid && *pid > 0;
}

/* Returns the environment of a worker: that of this process, with `own` in place of its
 * DTRAIN_POOL_WORKER. The caller frees the list but not its strings. */
static char **environment_with(char *own) {
    const size_t name = strlen(DT_POOL_VARIABLE "=");
    int n = 0, kept = 0;
    while (environ[n]) n++;
    char **all = dt_alloc((size_t)(n + 2) * sizeof *all);
    for (int i = 0; i < n; i++)
        if (strncmp(environ[i], DT_POOL_VARIABLE "=", name) != 0) all[kept++] = environ[i];
    all[kept++] = own;
    return all;
}

/* Writes DTRAIN_POOL_WORKER=... to text[room]. Returns false if it does not fit. */
static bool inherited_write(const dt_inherited *x, char *text, size_t room) {
    int at = snprintf(text, room, DT_POOL_VARIABLE "=%d %d %lld", x->worker, x->workers,
                      (long long)x->caller);
    for (int i = 0; i < x->links && (size_t)at < room; i++)
        at += snprintf(text + at, room - (size_t)at, " %d", x->link[i]);
    return (size_t)at < room;
}

/* Starts a worker that runs this program. It gets its links at the same descriptors, reads the
 * caller's input from the beginning (/dev/null if there is none), and has no standard output. It is
 * in a separate process group, so the terminal's signals reach only the caller. Returns 0, or an
 * errno number. */
static int spawn(const dt_worker_launcher *n, const request *q, const int *link, pid_t *pid) {
    char own[32 * DT_LAUNCHER_LINKS], input[32] = "/dev/null";
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    dt_inherited told = {
        .worker = q->worker, .workers = n->spec.workers, .caller = getpid(), .links = q->links};
    memcpy(told.link, link, (size_t)q->links * sizeof *link);
    if (!inherited_write(&told, own, sizeof own)) return E2BIG;
    if (n->spec.input >= 0) snprintf(input, sizeof input, "/proc/self/fd/%d", n->spec.input);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < q->links; i++)
        /* This clears close-on-exec, so that the program inherits the link. */
        posix_spawn_file_actions_adddup2(&files, link[i], link[i]);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&how, 0);
    char **environment = environment_with(own);
    const int error = posix_spawn(pid, "/proc/self/exe", &files, &how,
                                  (char *const *)(uintptr_t)n->spec.program, environment);
    free(environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static bool start_program(dt_worker_launcher *n, const request *q, const int *link, pid_t *pid) {
    reap(&n->children);
    errno = n->children.n < CHILDREN ? spawn(n, q, link, pid) : EAGAIN;
    if (errno) return false;
    n->children.pid[n->children.n++] = *pid;
    return true;
}

dt_status *dt_worker_launcher_start(dt_worker_launcher *n, int worker, int links, int *link,
                                    pid_t *pid) {
    int other[DT_LAUNCHER_LINKS];
    const request q = {worker, links};
    if (!connect_links(links, link, other))
        return dt_fail(DT_E_WORKER_GONE, NULL, "worker %d cannot be started: %s", worker,
                       strerror(errno));
    const bool started =
        n->spec.program ? start_program(n, &q, other, pid) : ask(n, &q, other, pid);
    const int error = errno;
    close_links(other, links);
    if (started) return NULL;
    close_links(link, links);
    if (n->spec.program)
        return dt_fail(DT_E_WORKER_GONE, NULL, "worker %d cannot be started: %s", worker,
                       strerror(error));
    return dt_fail(DT_E_WORKER_GONE, NULL,
                   "worker %d cannot be started: the system has no more processes, or the process "
                   "that starts workers is gone",
                   worker);
}

static void end_launcher(const dt_worker_launcher *n) {
    if (send(n->control, &(request){0}, sizeof(request), MSG_NOSIGNAL) < 0)
        kill(n->pid, SIGKILL); /* The launcher cannot be asked to end. */
    waitpid(n->pid, NULL, 0);
    close(n->control);
}

void dt_worker_launcher_close(dt_worker_launcher *n) {
    if (!n) return;
    if (n->spec.program) end_all(&n->children);
    else end_launcher(n);
    free(n);
}

/*
 * See worker_launcher.h: the side of a worker that is this program, started again.
 * DTRAIN_POOL_WORKER is "WORKER WORKERS CALLER FD FD ...", where each FD is an inherited link.
 */

enum { PATIENCE_S = 2 };

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
        /* Until the worker serves, it can be killed without loss. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The coordinator has ended already and has reported why, so this process ends as if by
         * PDEATHSIG. */
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
 * closed and reports that itself; the signal set here ends a worker that is computing. */
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
