/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric `sockets`: ranks are processes on one machine that one process has started (`fit
 * --workers`). They inherit a socket for each pair of ranks, so there are no names or ports,
 * nothing that another program could open, and nothing to clean up. The kernel reports when a
 * process ends.
 *
 *     a message:   header (its tag, its size)   bytes
 *
 * Sending never blocks: messages are queued, and a rank sends its queue while it waits. If a rank
 * is waited for, it is itself waiting (and sending) or computing, so there is no deadlock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/environment.h"
#include "net/peers.h"

typedef struct header {
    dt_tag tag;
    uint64_t bytes;
} header;

/* A message in the queue, of which `done` bytes (of header and bytes together) were sent. */
typedef struct message {
    struct message *next;
    header header;
    /* the message's bytes, in the caller's memory, which must not change before `settle` */
    const char *bytes;
    size_t done;
} message;

typedef struct link_ {
    int fd; /* the socket; -1: the entry of this rank itself */
    message *first, **last;
} link_;

typedef struct sockets_group {
    dt_process_group base;
    link_ *link; /* [ranks] the link to each rank */
} sockets_group;

typedef struct sockets_member {
    dt_member base;
    dt_peers peers;
    struct pollfd *poll; /* [ranks] memory for the sockets to poll */
    bool spins;
} sockets_member;

static sockets_group *group_of(const dt_member *m) { return (sockets_group *)m->group; }

/* ---- groups: DTRAIN_WORKER, "RANK FD FD ...", a descriptor for each rank, - for this one ---- */

static dt_status *not_inherited(const char *text) {
    return dt_fail(
        DT_E_LAUNCH, NULL,
        DT_SOCKETS_VARIABLE
        "=%.60s: 'dtrain fit --workers' sets it for the processes that it starts; unset it",
        text);
}

static dt_status *read_links(sockets_group *t, const char *text) {
    char *copy = dt_strdup(text), *rest = copy;
    const char *word = strsep(&rest, " ");
    int64_t own = -1, fd = -1;
    int n = 0;
    bool good = dt_parse_int64(word, &own) && own >= 0 && rest;
    while (good && rest && n <= DT_SOCKETS_RANKS) {
        int type = 0;
        socklen_t size = sizeof type;
        word = strsep(&rest, " ");
        const bool self = strcmp(word, "-") == 0;
        good = self ? n == own
                    : dt_parse_int64(word, &fd) && fd > 2 && fd < 1 << 20 &&
                          getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                          type == SOCK_STREAM;
        t->link[n++] = (link_){.fd = self ? -1 : (int)fd};
    }
    free(copy);
    if (!good || n < 2 || n > DT_SOCKETS_RANKS || own >= n || t->link[own].fd >= 0)
        return not_inherited(text);
    t->base.ranks = n;
    t->base.own = (int)own;
    return NULL;
}

/* Size of a socket's send buffer, if the kernel allows it. Gradients that fit into it are sent
 * without waiting for the receiver to read them. */
enum { BUFFER_BYTES = 8 << 20 };
static void prepare(link_ *l) {
    const int bytes = BUFFER_BYTES;
    l->last = &l->first;
    if (l->fd >= 0) setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static dt_status *open_group(dt_process_group **out, int ranks,
                             const struct dt_rendezvous *rendezvous) {
    (void)rendezvous;
    const char *text = dt_environment(DT_SOCKETS_VARIABLE);
    sockets_group *t = dt_alloc(sizeof *t);
    t->link = dt_alloc((DT_SOCKETS_RANKS + 1) * sizeof *t->link);
    dt_status *s = read_links(t, text ? text : "");
    if (!s && ranks && ranks != t->base.ranks)
        s = dt_fail(DT_E_WORKERS_DISAGREE, NULL, "%d workers were started, but %d were connected",
                    ranks, t->base.ranks);
    for (int r = 0; !s && r < t->base.ranks; r++) prepare(&t->link[r]);
    if (s) {
        free(t->link);
        free(t);
        return s;
    }
    *out = &t->base;
    return NULL;
}

static void close_group(dt_process_group *base) {
    sockets_group *t = (sockets_group *)base;
    /* Other ranks get 0.4 s to notice the error before they notice that this process has ended. */
    if (base->broken) nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    for (int r = 0; r < base->ranks; r++)
        if (t->link[r].fd >= 0) close(t->link[r].fd);
    free(t->link);
    free(t);
}

/* ---- moving bytes ---- */

static void drop_first(link_ *l) {
    message *x = l->first;
    l->first = x->next;
    if (!l->first) l->last = &l->first;
    free(x);
}

/* Sends as many queued bytes as the socket accepts. Returns false if the other end is gone. */
static bool push(link_ *l) {
    while (l->first) {
        message *x = l->first;
        const size_t head = sizeof x->header, all = head + (size_t)x->header.bytes,
                     body = x->done > head ? x->done - head : 0;
        struct iovec part[2] = {{(char *)&x->header + (x->done < head ? x->done : head),
                                 x->done < head ? head - x->done : 0},
                                {(char *)x->bytes + body, (size_t)x->header.bytes - body}};
        struct msghdr h = {.msg_iov = part, .msg_iovlen = 2};
        ssize_t n = sendmsg(l->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        x->done += (size_t)n;
        if (x->done < all) continue;
        drop_first(l);
    }
    return true;
}

static dt_status *broken(sockets_member *m, dt_status *s) {
    m->base.group->broken = true;
    return s;
}

static dt_status *is_broken(const dt_member *m) {
    return m->group->broken
               ? dt_fail(DT_E_WORKER_GONE, NULL, "rank %d has already lost another rank", m->rank)
               : NULL;
}

/* In this file, -1 as the peer of a dt_awaited means that no message is awaited, only that all
 * queued messages are sent. */

/* Sends as many queued bytes as all sockets accept. a: what is awaited, for error messages. */
static dt_status *push_all(sockets_member *m, const dt_awaited *a) {
    sockets_group *t = group_of(&m->base);
    for (int r = 0; r < t->base.ranks; r++)
        if (t->link[r].first && !push(&t->link[r]))
            return broken(m, dt_peers_gone(&m->peers, &m->base, r, a->tag, a->n));
    return NULL;
}

/* Sleeps until a socket is ready (100 ms at most), then sends queued bytes. An error names the
 * rank that is lost or late. The socket of a process that has ended stays readable, so
 * dt_peers_wait checks the other ranks' processes. */
static dt_status *wait(sockets_member *m, const dt_awaited *a) {
    sockets_group *t = group_of(&m->base);
    dt_awaited who = *a;
    int n = 0, first = 0;
    for (int r = 0; r < t->base.ranks; r++) {
        const short events =
            (short)((t->link[r].first ? POLLOUT : 0) | (r == a->peer ? POLLIN : 0));
        if (events) {
            first = n ? first : r;
            m->poll[n++] = (struct pollfd){.fd = t->link[r].fd, .events = events};
        }
    }
    poll(m->poll, (nfds_t)n, 100);
    DT_TRY(push_all(m, a));
    if (who.peer < 0) who.peer = first;
    dt_status *s = dt_peers_wait(&m->peers, &m->base, &who);
    return s ? broken(m, s) : NULL;
}

/* Nanoseconds to poll before sleeping, if there is a core for each rank: waking up takes longer
 * than most messages. */
enum { SPIN_NS = 300000 };
static dt_status *read_message(sockets_member *m, const dt_awaited *a, void *to, size_t n) {
    const int fd = group_of(&m->base)->link[a->peer].fd;
    /* The time (dt_now_ns) when the socket was first found empty; 0: bytes have just arrived. */
    int64_t idle_ns = 0;
    for (size_t done = 0; done < n;) {
        ssize_t got = recv(fd, (char *)to + done, n - done, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return broken(m, dt_peers_gone(&m->peers, &m->base, a->peer, a->tag, a->n));
        done += got > 0 ? (size_t)got : 0;
        if (got > 0) {
            idle_ns = 0;
            continue;
        }
        idle_ns = idle_ns ? idle_ns : dt_now_ns();
        const bool polls = m->spins && dt_now_ns() - idle_ns < SPIN_NS;
        /* If other programs use the cores, the awaited rank may be waiting for this one. */
        if (polls) sched_yield();
        DT_TRY(polls ? push_all(m, a) : wait(m, a));
    }
    return NULL;
}

/* ---- messages ---- */

static dt_status *send_message(dt_member *base, int to, const dt_tag *tag, const void *bytes,
                               size_t n) {
    sockets_member *m = (sockets_member *)base;
    link_ *l = &group_of(base)->link[to];
    DT_TRY(is_broken(base));
    message *x = dt_alloc(sizeof *x);
    x->header.tag = *tag;
    x->header.bytes = n;
    x->bytes = bytes;
    *l->last = x;
    l->last = &x->next;
    return push(l) ? NULL : broken(m, dt_peers_gone(&m->peers, base, to, tag, n));
}

static dt_status *finish_sending(dt_member *base) {
    sockets_member *m = (sockets_member *)base;
    sockets_group *t = group_of(base);
    const int64_t since = dt_now_ns();
    for (int r = 0; r < base->group->ranks; r++)
        while (t->link[r].first) {
            /* A copy, because the queued message may be freed when it has been sent. */
            const header h = t->link[r].first->header;
            DT_TRY(is_broken(base));
            DT_TRY(wait(m, &(dt_awaited){-1, &h.tag, (size_t)h.bytes, since}));
        }
    return NULL;
}

static dt_status *recv_message(dt_member *base, int from, const dt_tag *tag, void *bytes,
                               size_t n) {
    sockets_member *m = (sockets_member *)base;
    const dt_awaited a = {from, tag, n, dt_now_ns()};
    header h;
    DT_TRY(is_broken(base));
    DT_TRY(read_message(m, &a, &h, sizeof h));
    if (h.bytes != n || !dt_tag_same(&h.tag, tag))
        return broken(m, dt_tags_differ(base, from, tag, n, &h.tag, (size_t)h.bytes));
    base->flags |= h.tag.flags;
    return read_message(m, &a, bytes, n);
}

/* ---- members, and the fabric ---- */

static void leave(dt_member *base) {
    sockets_member *m = (sockets_member *)base;
    dt_peers_part(&m->peers, base);
    sockets_group *t = group_of(base);
    for (int r = 0; r < base->group->ranks; r++)
        while (t->link[r].first) drop_first(&t->link[r]);
    free(m->poll);
    free(m);
}

static dt_status *join(dt_member **out, dt_process_group *base, int rank, double patience_s) {
    DT_TRY(dt_member_make(out, base, rank, patience_s, sizeof(sockets_member)));
    sockets_member *m = (sockets_member *)*out;
    m->poll = dt_alloc((size_t)base->ranks * sizeof *m->poll);
    DT_TRY(dt_peers_meet(&m->peers, &m->base));
    m->spins = dt_peers_have_cores(&m->peers, &m->base);
    return NULL;
}

const dt_fabric dt_fabric_sockets = {
    .kind = {.name = "sockets",
             .about = "ranks are processes of this machine that were started together"},
    .open = open_group,
    .close = close_group,
    .join = join,
    .leave = leave,
    .send = send_message,
    .settle = finish_sending,
    .recv = recv_message,
};
