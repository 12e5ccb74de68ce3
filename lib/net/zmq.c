/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric `zmq`: ranks are processes that were started one by one, on any machines, and know
 * where to meet (rendezvous.h). Each pair of ranks has one connection.
 *
 *     a message:   tag and size (wire.h)   bytes         two parts
 *
 * Messages of ranks that are not awaited at the moment are kept in a queue. An invalid message is
 * reported as an error of its sender, and nothing in it is used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/rendezvous.h"
#include "net/peers.h"
#include "net/wire.h"

typedef struct queue {
    dt_message *first, **last;
    bool gone; /* whether the rank has ended and sends nothing more */
} queue;

typedef struct zmq_group {
    dt_process_group base;
    dt_met met;
    queue *from; /* [ranks] the messages of each rank that were not received yet */
} zmq_group;

typedef struct zmq_member {
    dt_member base;
    dt_peers peers;
    bool leaves; /* whether this member is leaving, so that peers which are gone are no error */
} zmq_member;

static zmq_group *group_of(const dt_member *m) { return (zmq_group *)m->group; }

static int rank_of(const zmq_group *t, int peer) {
    int r = 0;
    while (r < t->base.ranks && (r == t->base.own || t->met.peer[r] != peer)) r++;
    return r < t->base.ranks ? r : -1;
}

/* Takes ownership of a message: appends it to the queue of its rank, or frees it if it does not
 * belong to the group. The event DT_PEER_GONE marks its rank as gone. */
static void store(zmq_group *t, dt_message *x) {
    const int rank = rank_of(t, x->peer);
    /* A message of one part belongs to the rendezvous. */
    if (rank < 0 || x->event != DT_PEER_MESSAGE || x->n == 1) {
        if (rank >= 0) t->from[rank].gone |= x->event == DT_PEER_GONE;
        dt_message_free(x);
        return;
    }
    x->next = NULL;
    *t->from[rank].last = x;
    t->from[rank].last = &x->next;
}

static dt_message *take_first(queue *q) {
    dt_message *x = q->first;
    q->first = x->next;
    if (!q->first) q->last = &q->first;
    return x;
}

static void close_group(dt_process_group *base) {
    zmq_group *t = (zmq_group *)base;
    /* Other ranks get 0.4 s to notice the error before they notice that this process has ended. */
    if (base->broken) nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    for (int r = 0; t->from && r < base->ranks; r++)
        while (t->from[r].first) dt_message_free(take_first(&t->from[r]));
    while (t->met.early) {
        dt_message *x = t->met.early;
        t->met.early = x->next;
        dt_message_free(x);
    }
    dt_messenger_close(t->met.m);
    free(t->from);
    free(t);
}

static dt_status *open_group(dt_process_group **out, int ranks, const dt_rendezvous *rendezvous) {
    if (!rendezvous)
        return dt_fail(DT_E_LAUNCH, NULL,
                       "fabric zmq connects ranks that know an address to meet at; none is known");
    zmq_group *t = dt_alloc(sizeof *t);
    t->base.ranks = ranks;
    t->base.own = rendezvous->own;
    dt_status *s = dt_rendezvous_hold(&t->met, rendezvous);
    t->from = dt_alloc((size_t)ranks * sizeof *t->from);
    for (int r = 0; r < ranks; r++) t->from[r].last = &t->from[r].first;
    while (t->met.early) {
        dt_message *x = t->met.early;
        t->met.early = x->next;
        store(t, x);
    }
    if (s) {
        close_group(&t->base);
        return s;
    }
    *out = &t->base;
    return NULL;
}

static dt_status *broken(zmq_member *m, dt_status *s) {
    m->base.group->broken = true;
    return s;
}

static dt_status *is_broken(const dt_member *m) {
    return m->group->broken
               ? dt_fail(DT_E_WORKER_GONE, NULL, "rank %d has already lost another rank", m->rank)
               : NULL;
}

/* Returns a rank that has ended; -1: no rank has. */
static int find_gone(const zmq_group *t) {
    for (int r = 0; r < t->base.ranks; r++)
        if (t->from[r].gone) return r;
    return -1;
}

/* Waits for the next message of rank `from`. The caller owns *out. */
static dt_status *next(zmq_member *m, int from, const dt_tag *tag, size_t n, dt_message **out) {
    zmq_group *t = group_of(&m->base);
    const int64_t since = dt_now_ns();
    for (;;) {
        if (t->from[from].first) {
            *out = take_first(&t->from[from]);
            return NULL;
        }
        const int gone = t->from[from].gone ? from : m->leaves ? -1 : find_gone(t);
        if (gone >= 0) return broken(m, dt_peers_gone(&m->peers, &m->base, gone, tag, n));
        dt_message *x = NULL;
        dt_status *s = dt_messenger_wait(t->met.m, 0.1, &x);
        if (x) store(t, x);
        if (!s && !t->from[from].first)
            s = dt_peers_wait(&m->peers, &m->base, &(dt_awaited){from, tag, n, since});
        if (s) return broken(m, s);
    }
}

static dt_status *send_message(dt_member *base, int to, const dt_tag *tag, const void *bytes,
                               size_t n) {
    zmq_group *t = group_of(base);
    unsigned char head[DT_WIRE_BYTES];
    DT_TRY(is_broken(base));
    dt_wire_write(head, tag, n);
    return dt_messenger_send(t->met.m, t->met.peer[to],
                             (const dt_message_part[]){{head, sizeof head}, {bytes, n}}, 2);
}

static dt_status *check(zmq_member *m, int from, const dt_tag *tag, size_t n, const dt_message *x) {
    dt_tag came;
    uint64_t bytes = 0;
    if (x->n != 2 || !dt_wire_read(&came, &bytes, x->part[0].bytes, x->part[0].n) ||
        bytes != x->part[1].n)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d sent an invalid message", from);
    m->base.flags |= came.flags;
    return bytes == n && dt_tag_same(&came, tag)
               ? NULL
               : dt_tags_differ(&m->base, from, tag, n, &came, (size_t)bytes);
}

static dt_status *recv_message(dt_member *base, int from, const dt_tag *tag, void *bytes,
                               size_t n) {
    zmq_member *m = (zmq_member *)base;
    dt_message *x = NULL;
    DT_TRY(is_broken(base));
    DT_TRY(next(m, from, tag, n, &x));
    dt_status *s = check(m, from, tag, n, x);
    if (!s && n) memcpy(bytes, x->part[1].bytes, n);
    dt_message_free(x);
    return s ? broken(m, s) : NULL;
}

static void leave(dt_member *base) {
    zmq_member *m = (zmq_member *)base;
    m->leaves = true;
    dt_peers_part(&m->peers, base);
    free(m);
}

static dt_status *join(dt_member **out, dt_process_group *base, int rank, double patience_s) {
    DT_TRY(dt_member_make(out, base, rank, patience_s, sizeof(zmq_member)));
    return dt_peers_meet(&((zmq_member *)*out)->peers, *out);
}

const dt_fabric dt_fabric_zmq = {
    .kind =
        {.name = "zmq",
         .about =
             "ranks are processes on any machines that know where to meet, connected by ZeroMQ"},
    .open = open_group,
    .close = close_group,
    .join = join,
    .leave = leave,
    .send = send_message,
    .recv = recv_message,
};
