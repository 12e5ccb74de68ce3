/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: ranks are threads of one process. Each rank has an inbox with a queue per sender, one
 * lock, and one condition on which its owner sleeps:
 *
 *     rank 1 --send--> inbox 0: from 1 [..][..]  <--recv-- rank 0
 *     rank 2 --send-->          from 2 [..]
 *
 * A message is a copy, so a sender never waits. Receivers sleep instead of spinning, since there
 * may be more threads than cores.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "local_fabric.h"

typedef struct message {
    struct message *next;
    dt_tag tag;
    size_t n;
    _Alignas(16) unsigned char bytes[];
} message;

/* Messages of one sender, oldest first. */
typedef struct queue {
    message *first, **last;
    bool gone; /* the sender has left: no more will come */
} queue;

typedef struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t news;
    queue *from; /* [ranks] */
    enum { EXPECTED, THERE, LEFT } owner;
} inbox;

typedef struct local_group {
    dt_process_group base;
    inbox *inboxes; /* [ranks] */
} local_group;

static inbox *inbox_of(const dt_process_group *t, int rank) {
    return &((const local_group *)t)->inboxes[rank];
}

/* ---- groups ---- */

static void open_inbox(inbox *b, int ranks) {
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&b->news, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&b->lock, NULL);
    b->from = dt_alloc((size_t)ranks * sizeof *b->from);
    for (int r = 0; r < ranks; r++) b->from[r].last = &b->from[r].first;
}

static dt_status *open_group(dt_process_group **out, int ranks,
                             const struct dt_rendezvous *rendezvous) {
    (void)rendezvous;
    local_group *t = dt_alloc(sizeof *t);
    t->base.ranks = ranks;
    t->base.own = -1;
    t->inboxes = dt_alloc((size_t)ranks * sizeof *t->inboxes);
    for (int r = 0; r < ranks; r++) open_inbox(&t->inboxes[r], ranks);
    *out = &t->base;
    return NULL;
}

static void drop(queue *q) {
    while (q->first) {
        message *m = q->first;
        q->first = m->next;
        free(m);
    }
}

static void close_group(dt_process_group *base) {
    local_group *t = (local_group *)base;
    for (int r = 0; r < base->ranks; r++) {
        for (int from = 0; from < base->ranks; from++) drop(&t->inboxes[r].from[from]);
        free(t->inboxes[r].from);
        pthread_cond_destroy(&t->inboxes[r].news);
        pthread_mutex_destroy(&t->inboxes[r].lock);
    }
    free(t->inboxes);
    free(t);
}

static dt_status *join(dt_member **out, dt_process_group *t, int rank, double patience_s) {
    (void)patience_s;
    inbox *b = inbox_of(t, rank);
    pthread_mutex_lock(&b->lock);
    bool first = b->owner == EXPECTED;
    if (first) b->owner = THERE;
    pthread_mutex_unlock(&b->lock);
    if (!first) return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "rank %d joined twice", rank);
    *out = dt_alloc(sizeof **out);
    return NULL;
}

static void leave(dt_member *m) {
    for (int r = 0; r < m->group->ranks; r++) {
        inbox *b = inbox_of(m->group, r);
        pthread_mutex_lock(&b->lock);
        b->from[m->rank].gone = true;
        if (r == m->rank) b->owner = LEFT;
        pthread_cond_signal(&b->news);
        pthread_mutex_unlock(&b->lock);
    }
    free(m);
}

/* ---- messages ---- */

static dt_status *make_message(const dt_tag *tag, const void *bytes, size_t n, message **out) {
    message *m = n < SIZE_MAX - sizeof *m ? malloc(sizeof *m + n) : NULL;
    if (!m) return dt_fail(DT_E_NO_MEMORY, NULL, "no memory for a message of %zu bytes", n);
    m->next = NULL;
    m->tag = *tag;
    m->n = n;
    if (n) memcpy(m->bytes, bytes, n);
    *out = m;
    return NULL;
}

static dt_status *send(dt_member *m, int to, const dt_tag *tag, const void *bytes, size_t n) {
    inbox *b = inbox_of(m->group, to);
    message *new = NULL;
    DT_TRY(make_message(tag, bytes, n, &new));
    pthread_mutex_lock(&b->lock);
    bool left = b->owner == LEFT;
    if (!left) {
        queue *q = &b->from[m->rank];
        *q->last = new;
        q->last = &new->next;
        pthread_cond_signal(&b->news);
    }
    pthread_mutex_unlock(&b->lock);
    if (!left) return NULL;
    free(new);
    return dt_fail(DT_E_WORKER_GONE, NULL, "rank %d left before rank %d was done with it", to,
                   m->rank);
}

static struct timespec after(double seconds) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    seconds = seconds < 0 ? 0 : seconds < 1e9 ? seconds : 1e9; /* for ever, in a form that fits */
    t.tv_sec += (time_t)seconds;
    t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* The oldest message of a sender; NULL when its patience ends first (*late) or none will come. */
static message *await(inbox *b, int from, double patience_s, bool *late) {
    const struct timespec deadline = after(patience_s);
    queue *q = &b->from[from];
    pthread_mutex_lock(&b->lock);
    while (!q->first && !q->gone && !*late)
        *late = pthread_cond_timedwait(&b->news, &b->lock, &deadline) == ETIMEDOUT;
    message *m = q->first;
    if (m) {
        q->first = m->next;
        if (!q->first) q->last = &q->first;
    }
    pthread_mutex_unlock(&b->lock);
    return m;
}

static dt_status *recv(dt_member *m, int from, const dt_tag *tag, void *bytes, size_t n) {
    bool late = false;
    dt_status *s = NULL;
    message *got = await(inbox_of(m->group, m->rank), from, m->patience_s, &late);
    if (!got) return dt_message_missing(m, from, tag, n, late);
    if (got->n != n || !dt_tag_same(&got->tag, tag))
        s = dt_tags_differ(m, from, tag, n, &got->tag, got->n);
    else if (n) memcpy(bytes, got->bytes, n);
    m->flags |= got->tag.flags;
    free(got);
    return s;
}

const dt_fabric dt_fabric_local = {
    .kind = {.name = "local", .about = "ranks are threads of one process"},
    .open = open_group,
    .close = close_group,
    .join = join,
    .leave = leave,
    .send = send,
    .recv = recv,
};
