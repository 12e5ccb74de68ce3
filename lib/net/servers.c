/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what servers.h declares. While servers run, a link is read and written by its server's
 * thread only. The coordinator may set the message to send while none is being sent, and may set
 * `closing`. One lock guards these members and the arrivals. Bytes are moved without holding it. */
#define _GNU_SOURCE
#include "net/servers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/frame.h"

enum { NO_LINK = -1 };

typedef struct link_ {
    int fd;
    /* sending: a message is being sent; closing: the coordinator wants the link closed; dead: the
     * other end was found closed, or has sent an invalid frame */
    bool sending, closing, dead;
    dt_frame_io out, in;
    dt_shared *weights;
} link_;

typedef struct worker {
    /* whether one of the worker's links was found closed, or has brought an invalid frame */
    bool gone;
    /* The number of parts of the worker's push that have arrived, one for each server that has
     * received its slices. */
    int parts;
    char *slices; /* the memory into which the worker's push is received */
    dt_frame head;
    char *more;
} worker;

typedef struct servers servers;
typedef struct server {
    servers *all;
    int number, wake; /* number: of the server; wake: an eventfd that wakes its thread from poll */
    pthread_t thread;
    link_ *link;         /* [workers] this server's link to each worker */
    struct pollfd *poll; /* [1 + workers] for poll: the eventfd, then the links */
} server;

struct servers {
    dt_carrier carrier;
    const dt_byte_ranges *slices;
    int workers, started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
    worker *worker;      /* [workers] the state of each worker */
    server *server;      /* [slices->servers] the state of each server */
    dt_arrival *arrival; /* [n] the arrivals that dt_carrier_next has not returned yet */
    int n, cap, spare_n, spare_cap;
    void **spare; /* memory for slices of pushes that is not in use */
};

static servers *of(dt_carrier *c) { return (servers *)c; }

/* ---- a server ---- */

static void add_arrival(servers *a, const dt_arrival *x) {
    DT_GROW(a->arrival, a->cap, a->n + 1);
    a->arrival[a->n++] = *x;
    pthread_cond_signal(&a->changed);
}

static void report_gone(servers *a, int w, link_ *l) {
    pthread_mutex_lock(&a->lock);
    l->dead = true;
    pthread_cond_broadcast(&a->changed);
    if (!a->worker[w].gone && !l->closing) add_arrival(a, &(dt_arrival){.worker = w, .gone = true});
    a->worker[w].gone = true;
    pthread_mutex_unlock(&a->lock);
}

/* Records that a server has received its part of a message. After the last part, which for a
 * message without slices is that of server 0, the message becomes an arrival. */
static void add_part(servers *a, int server_, int w, link_ *l) {
    worker *x = &a->worker[w];
    pthread_mutex_lock(&a->lock);
    if (server_ == 0) {
        x->head = l->in.head;
        x->more = l->in.more;
    } else {
        free(l->in.more);
    }
    l->in = (dt_frame_io){.part = -1};
    x->parts++;
    const bool bare = server_ == 0 && !dt_frame_has_slices(&x->head);
    if (bare || x->parts == a->slices->servers) {
        add_arrival(a, &(dt_arrival){.worker = w,
                                     .message = x->head,
                                     .slices = bare ? NULL : x->slices,
                                     .more = x->more});
        x->slices = bare ? x->slices : NULL;
        x->more = NULL;
        x->parts = 0;
    }
    pthread_mutex_unlock(&a->lock);
}

static void finish_sending(servers *a, link_ *l) {
    pthread_mutex_lock(&a->lock);
    l->sending = false;
    dt_shared_unref(l->weights);
    l->weights = NULL;
    free(l->out.more);
    l->out.more = NULL;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void close_link(servers *a, link_ *l) {
    finish_sending(a, l);
    pthread_mutex_lock(&a->lock);
    close(l->fd);
    free(l->in.more);
    *l = (link_){.fd = NO_LINK};
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static char *slices_of(servers *a, int w) {
    pthread_mutex_lock(&a->lock);
    char *slices = a->worker[w].slices;
    pthread_mutex_unlock(&a->lock);
    return slices;
}

static void serve(server *s, int w, short events) {
    servers *a = s->all;
    link_ *l = &s->link[w];
    pthread_mutex_lock(&a->lock);
    const bool sending = l->sending;
    pthread_mutex_unlock(&a->lock);
    const int sent = sending ? dt_frame_send(&l->out, l->fd, a->slices, s->number,
                                             l->weights ? l->weights->data : NULL)
                             : 0;
    if (sent == 1) finish_sending(a, l);
    int got = 0;
    while (events & (POLLIN | POLLHUP | POLLERR) &&
           (got = dt_frame_receive(&l->in, l->fd, a->slices, s->number, slices_of(a, w))) == 1)
        add_part(a, s->number, w, l);
    if (sent < 0 || got < 0) report_gone(a, w, l);
}

/* Lists the descriptors to poll, and closes links that are marked for it. Returns false if the
 * thread must stop. */
static bool prepare_poll(server *s) {
    servers *a = s->all;
    s->poll[0] = (struct pollfd){.fd = s->wake, .events = POLLIN};
    for (int w = 0; w < a->workers; w++) {
        link_ *l = &s->link[w];
        pthread_mutex_lock(&a->lock);
        const bool closing = l->closing, open = l->fd >= 0 && !l->dead, sending = l->sending;
        const int fd = l->fd;
        pthread_mutex_unlock(&a->lock);
        if (closing) close_link(a, l);
        s->poll[1 + w] = (struct pollfd){.fd = open && !closing ? fd : -1,
                                         .events = (short)(POLLIN | (sending ? POLLOUT : 0))};
    }
    pthread_mutex_lock(&a->lock);
    const bool stop = a->stop;
    pthread_mutex_unlock(&a->lock);
    return !stop;
}

static void *server_main(void *argument) {
    server *s = argument;
    uint64_t times;
    while (prepare_poll(s)) {
        /* A signal has interrupted the wait. */
        if (poll(s->poll, (nfds_t)(1 + s->all->workers), -1) < 0) continue;
        if (s->poll[0].revents && read(s->wake, &times, sizeof times) < 0)
            continue; /* The eventfd has been read already. */
        for (int w = 0; w < s->all->workers; w++)
            if (s->poll[1 + w].revents) serve(s, w, s->poll[1 + w].revents);
    }
    return NULL;
}

/* ---- the coordinator ---- */

static void wake_all(const servers *a) {
    const uint64_t once = 1;
    for (int i = 0; i < a->started; i++)
        if (write(a->server[i].wake, &once, sizeof once) < 0)
            continue; /* Writing fails if the counter is full. The server is awake then anyway. */
}

static dt_status *start_server(servers *a, int number) {
    server *s = &a->server[number];
    *s = (server){.all = a, .number = number, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    s->link = dt_alloc((size_t)a->workers * sizeof *s->link);
    s->poll = dt_alloc((size_t)(a->workers + 1) * sizeof *s->poll);
    for (int w = 0; w < a->workers; w++) s->link[w].fd = NO_LINK;
    if (s->wake >= 0 && dt_thread_start(&s->thread, server_main, s) == 0) {
        a->started++;
        return NULL;
    }
    if (s->wake >= 0) close(s->wake);
    free(s->link);
    free(s->poll);
    return dt_fail(DT_E_NO_MEMORY, NULL,
                   "cannot start a parameter server: the system has no more threads or files");
}

static bool is_closed(const servers *a, int w) {
    bool closed = true;
    for (int i = 0; i < a->started; i++) closed &= a->server[i].link[w].fd == NO_LINK;
    return closed;
}

/* Returns memory for the slices of a push. NULL: there is no memory. A worker that then pushes
 * slices counts as lost. */
static void *find_room(servers *a) {
    if (a->spare_n > 0) return a->spare[--a->spare_n];
    return dt_try_alloc((size_t)a->slices->bytes);
}

static void release_arrival(const dt_arrival *x) {
    free(x->slices);
    free(x->more);
}

/* Drops arrivals of an earlier process that had this worker's number. */
static void forget_arrivals(servers *a, int w) {
    int kept = 0;
    for (int i = 0; i < a->n; i++)
        if (a->arrival[i].worker == w) release_arrival(&a->arrival[i]);
        else a->arrival[kept++] = a->arrival[i];
    a->n = kept;
}

void dt_servers_add(dt_carrier *c, int w, const int *link) {
    servers *a = of(c);
    pthread_mutex_lock(&a->lock);
    while (!is_closed(a, w)) pthread_cond_wait(&a->changed, &a->lock);
    forget_arrivals(a, w);
    free(a->worker[w].more);
    free(a->worker[w].slices);
    a->worker[w] = (worker){0};
    for (int i = 0; i < a->started; i++)
        a->server[i].link[w] = (link_){.fd = link[i], .in = {.part = -1}};
    pthread_mutex_unlock(&a->lock);
    wake_all(a);
}

static void drop(dt_carrier *c, int w) {
    servers *a = of(c);
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < a->started; i++)
        a->server[i].link[w].closing = a->server[i].link[w].fd != NO_LINK;
    pthread_mutex_unlock(&a->lock);
    wake_all(a);
}

/* Waits until the link's previous message is marked as sent. A worker that has answered has
 * received all of it, but the thread that sent a part may not have recorded that yet. */
static void wait_for_sent(servers *a, const link_ *l) {
    while (l->sending && !l->dead && !l->closing) pthread_cond_wait(&a->changed, &a->lock);
}

static void give(dt_carrier *c, int w, const dt_frame *m, dt_shared *weights, const void *more) {
    servers *a = of(c);
    pthread_mutex_lock(&a->lock);
    if (!a->worker[w].slices) a->worker[w].slices = find_room(a);
    for (int i = 0; i < a->started; i++) {
        link_ *l = &a->server[i].link[w];
        if (i > 0 && !dt_frame_has_slices(m)) continue;
        wait_for_sent(a, l);
        if (l->fd == NO_LINK || l->closing || l->dead) continue;
        l->out = (dt_frame_io){.head = *m, .part = -1};
        l->out.head.magic = DT_FRAME_MAGIC;
        l->out.head.more = i == 0 ? m->more : 0;
        l->out.more = dt_alloc((size_t)l->out.head.more + 1);
        if (l->out.head.more > 0) memcpy(l->out.more, more, (size_t)m->more);
        l->weights = weights ? dt_shared_ref(weights) : NULL;
        l->sending = true;
    }
    pthread_mutex_unlock(&a->lock);
    wake_all(a);
}

static bool wait_until(servers *a, int64_t deadline_ns) {
    const struct timespec t = {.tv_sec = deadline_ns / 1000000000,
                               .tv_nsec = deadline_ns % 1000000000};
    while (a->n == 0)
        if (pthread_cond_timedwait(&a->changed, &a->lock, &t) == ETIMEDOUT) break;
    return a->n > 0;
}

static bool next(dt_carrier *c, int64_t deadline_ns, dt_arrival *out) {
    servers *a = of(c);
    pthread_mutex_lock(&a->lock);
    const bool any = wait_until(a, deadline_ns);
    if (any) {
        *out = a->arrival[0];
        memmove(a->arrival, a->arrival + 1, (size_t)--a->n * sizeof *a->arrival);
    }
    pthread_mutex_unlock(&a->lock);
    return any;
}

static void recycle(dt_carrier *c, void *slices) {
    servers *a = of(c);
    if (!slices) return;
    pthread_mutex_lock(&a->lock);
    DT_GROW(a->spare, a->spare_cap, a->spare_n + 1);
    a->spare[a->spare_n++] = slices;
    pthread_mutex_unlock(&a->lock);
}

/* ---- closing and opening ---- */

static void stop_threads(servers *a) {
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_mutex_unlock(&a->lock);
    wake_all(a);
    for (int i = 0; i < a->started; i++) pthread_join(a->server[i].thread, NULL);
}

/* Sends END, unless a message is being sent: the worker would read END as a part of that message.
 * Then the worker only finds the link closed. */
static void say_end(link_ *l) {
    const dt_frame end = {.magic = DT_FRAME_MAGIC, .kind = DT_FRAME_END};
    if (!l->sending && !l->dead && send(l->fd, &end, sizeof end, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* The worker is gone, or will find the link closed. */
}

static void release_server(servers *a, server *s) {
    for (int w = 0; w < a->workers; w++) {
        if (s->link[w].fd == NO_LINK) continue;
        if (s->number == 0) say_end(&s->link[w]);
        close_link(a, &s->link[w]);
    }
    close(s->wake);
    free(s->link);
    free(s->poll);
}

/* Closes the carrier. END is sent to all workers, whether `well` or not, because they are child
 * processes of the coordinator. */
static void close_all(dt_carrier *c, bool well) {
    servers *a = of(c);
    (void)well;
    stop_threads(a);
    for (int i = 0; i < a->started; i++) release_server(a, &a->server[i]);
    for (int w = 0; w < a->workers; w++) {
        free(a->worker[w].more);
        free(a->worker[w].slices);
    }
    for (int i = 0; i < a->n; i++) release_arrival(&a->arrival[i]);
    for (int i = 0; i < a->spare_n; i++) free(a->spare[i]);
    free(a->arrival);
    free(a->spare);
    free(a->worker);
    free(a->server);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

dt_status *dt_servers_open(dt_carrier **out, const dt_byte_ranges *slices, int workers) {
    static const dt_carrier_row row = {
        .give = give, .next = next, .recycle = recycle, .drop = drop, .close = close_all};
    servers *a = dt_alloc(sizeof *a);
    pthread_condattr_t monotonic;
    *a = (servers){.carrier = {&row}, .slices = slices, .workers = workers};
    a->worker = dt_alloc((size_t)workers * sizeof *a->worker);
    a->server = dt_alloc((size_t)slices->servers * sizeof *a->server);
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    dt_status *s = NULL;
    for (int i = 0; !s && i < slices->servers; i++) s = start_server(a, i);
    if (s) close_all(&a->carrier, false);
    else *out = &a->carrier;
    return s;
}
