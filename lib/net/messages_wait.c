/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives messages (messages.h). On a new connection each side first sends a greeting, which names
 * the version of this protocol. The greeting is sent again if the connection is lost before the
 * answer. All later messages are for the caller.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/messenger.h"

static const char greeting[] = DT_GREETING;
/* GREETING_KIND: length of the prefix that the greetings of all versions share */
enum { GREETING_KIND = 16, PEERS_MOST = 1 << 16 };
enum { LIFE = 17 }; /* length of the "/" and 16 hex digits after the name in a routing id */

/* A message with parts in ZeroMQ's memory. */
typedef struct held {
    dt_message base;
    /* ZeroMQ's function to free a part; libzmq stays loaded when the messenger is closed */
    int (*close)(dt_zmq_msg *m);
    dt_zmq_msg msg[DT_MESSAGE_PARTS];
} held;

void dt_message_free(dt_message *x) {
    held *h = (held *)x;
    for (int i = 0; h && i < x->n; i++) h->close(&h->msg[i]);
    free(h);
}

static held *event_of(const dt_messenger *m, dt_peer_event event, int peer) {
    held *h = dt_alloc(sizeof *h);
    h->close = m->z.msg_close;
    h->base.event = event;
    h->base.peer = peer;
    return h;
}

/* A message from a link: fd is the connection that it came through; routing is set on the
 * server's link only. */
typedef struct arrival {
    char routing[DT_ROUTING_MOST]; /* routing id of the sender; "": it is not valid */
    int fd;
    held *message; /* the message that was waiting; NULL if there was none */
    bool too_long; /* the message has more than DT_MESSAGE_PARTS parts */
} arrival;

static void take_routing(const dt_messenger *m, dt_zmq_msg *part, arrival *a) {
    const size_t n = m->z.msg_size(part);
    const char *bytes = m->z.msg_data(part);
    if (n > LIFE && n < DT_ROUTING_MOST && !memchr(bytes, '\0', n) && bytes[n - LIFE] == '/')
        memcpy(a->routing, bytes, n);
}

/* Receives part i directly into its final place, because ZeroMQ's messages must not be moved.
 * Returns false if that was the last part, or if no part has arrived. */
static bool take_part(dt_messenger *m, dt_socket *l, arrival *a, int i) {
    held *h = m->spare = m->spare ? m->spare : event_of(m, DT_PEER_MESSAGE, 0);
    const bool is_routing = i == 0 && l->peer < 0,
               is_kept = !is_routing && h->base.n < DT_MESSAGE_PARTS;
    dt_zmq_msg other, *part = is_kept ? &h->msg[h->base.n] : &other;
    m->z.msg_init(part);
    if (m->z.msg_recv(part, l->socket, DT_ZMQ_DONT_WAIT) < 0) {
        m->z.msg_close(part);
        return false;
    }
    a->message = h;
    a->fd = m->z.msg_get(part, DT_ZMQ_FD);
    a->too_long |= !is_routing && !is_kept;
    const bool more = m->z.msg_get(part, DT_ZMQ_MORE) > 0;
    if (is_kept)
        h->base.part[h->base.n++] = (dt_message_part){m->z.msg_data(part), m->z.msg_size(part)};
    else if (is_routing) take_routing(m, part, a);
    if (!is_kept) m->z.msg_close(part);
    return more;
}

static arrival take_arrival(dt_messenger *m, dt_socket *l) {
    arrival a = {.fd = -1};
    for (int i = 0; take_part(m, l, &a, i);) i++;
    if (a.message) {
        a.message->base.peer = l->peer;
        m->spare = NULL;
    }
    return a;
}

static int find_peer(const dt_messenger *m, const char *routing) {
    for (int i = 0; i < m->peers; i++)
        if (strcmp(m->peer[i].routing, routing) == 0) return i;
    return -1;
}

static bool is_greeting(const dt_message *x, size_t n) {
    return x->n == 1 && x->part[0].n >= n && memcmp(x->part[0].bytes, greeting, n) == 0 &&
           (n < sizeof greeting - 1 || x->part[0].n == n);
}

/* Answers the first message of an unknown process. If it is our greeting, adds a peer and sets
 * *out to DT_PEER_JOINED. A process with another version gets our greeting, so that it can
 * report the difference; *out stays NULL. */
static dt_status *admit(dt_messenger *m, dt_socket *l, const arrival *a, dt_message **out) {
    const dt_message *x = &a->message->base;
    dt_peer guest = {.link = l, .fd = a->fd};
    memcpy(guest.routing, a->routing, sizeof guest.routing);
    if (!a->routing[0] || !is_greeting(x, GREETING_KIND) || m->peers >= PEERS_MOST) return NULL;
    DT_TRY(dt_peer_greet(m, &guest));
    if (!is_greeting(x, sizeof greeting - 1)) return NULL;
    char name[DT_ROUTING_MOST];
    snprintf(name, sizeof name, "%.*s", (int)strlen(a->routing) - LIFE, a->routing);
    if (!dt_peer_is_name(name)) return NULL;
    const int peer = dt_peer_add(m, l, name);
    memcpy(m->peer[peer].routing, a->routing, sizeof a->routing);
    m->peer[peer].fd = a->fd;
    m->peer[peer].state =
        a->fd >= 0 && a->fd < m->fds && m->is_closed[a->fd] ? DT_PEER_ENDS : DT_PEER_HERE;
    *out = &event_of(m, DT_PEER_JOINED, peer)->base;
    return NULL;
}

static dt_status *come_to_server(dt_messenger *m, dt_socket *l, const arrival *a, bool *is_wanted,
                                 dt_message **out) {
    const int peer = a->routing[0] ? find_peer(m, a->routing) : -1;
    if (peer < 0) return admit(m, l, a, out);
    dt_peer *p = &m->peer[peer];
    /* a peer is disconnected if it sends too many parts, or if its connection was lost and made
     * again */
    if (a->too_long || (a->fd >= 0 && p->fd != a->fd))
        p->state = p->state == DT_PEER_PAST ? DT_PEER_PAST : DT_PEER_ENDS;
    else *is_wanted = p->state != DT_PEER_PAST;
    a->message->base.peer = peer;
    return NULL;
}

static dt_status *come_to_client(dt_messenger *m, const dt_socket *l, const arrival *a,
                                 bool *is_wanted, dt_message **out) {
    dt_peer *p = &m->peer[l->peer];
    const dt_message *x = &a->message->base;
    if (p->state != DT_PEER_COMES) {
        *is_wanted = p->state != DT_PEER_PAST && !a->too_long;
        if (a->too_long && p->state == DT_PEER_HERE) p->state = DT_PEER_ENDS;
        return NULL;
    }
    if (!is_greeting(x, GREETING_KIND)) {
        p->refusals++;
        return NULL;
    }
    if (!is_greeting(x, sizeof greeting - 1))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "%s speaks another version of dtrain's messages ('%.*s', here '%s')",
                       p->name, x->part[0].n < 40 ? (int)x->part[0].n : 40,
                       (const char *)x->part[0].bytes, greeting);
    p->state = DT_PEER_HERE;
    *out = &event_of(m, DT_PEER_JOINED, l->peer)->base;
    return NULL;
}

/* Takes one message from the link. Sets *more to whether there was one, even if it does not become
 * an event in *out. */
static dt_status *take_from(dt_messenger *m, dt_socket *l, bool *more, dt_message **out) {
    bool is_wanted = false;
    arrival a = take_arrival(m, l);
    *more = a.message != NULL;
    if (!a.message) return NULL;
    /* reads the monitor first, because the kernel may have reused the descriptor of a closed
     * connection */
    if (dt_link_watch(m, l) && l->peer >= 0) DT_TRY(dt_peer_greet(m, &m->peer[l->peer]));
    dt_status *s = l->peer < 0 ? come_to_server(m, l, &a, &is_wanted, out)
                               : come_to_client(m, l, &a, &is_wanted, out);
    if (is_wanted && !s && a.message->base.n > 0 &&
        !is_greeting(&a.message->base, sizeof greeting - 1))
        *out = &a.message->base;
    else dt_message_free(&a.message->base);
    return s;
}

/* Returns the event that a peer has ended; NULL: none has. All messages of the peer have been
 * returned before. */
static dt_message *find_ended(dt_messenger *m) {
    for (int i = 0; i < m->peers; i++)
        if (m->peer[i].state == DT_PEER_ENDS) {
            m->peer[i].state = DT_PEER_PAST;
            return &event_of(m, DT_PEER_GONE, i)->base;
        }
    return NULL;
}

static dt_status *receive(dt_messenger *m, dt_message **out) {
    dt_gate_answer(m);
    for (int i = 0; i < m->links; i++)
        if (dt_link_watch(m, m->link[i])) DT_TRY(dt_peer_greet(m, &m->peer[m->link[i]->peer]));
    dt_link_update_admission(m);
    for (int i = 0, quiet = 0; quiet < m->links && !*out; i++) {
        bool more = false;
        m->next_link = (m->next_link + 1) % m->links;
        DT_TRY(take_from(m, m->link[m->next_link], &more, out));
        quiet = more ? 0 : quiet + 1;
    }
    if (!*out) *out = find_ended(m);
    return NULL;
}

static void sleep_until(dt_messenger *m, double seconds) {
    DT_LOCAL dt_zmq_item *item = dt_alloc((size_t)(2 * m->links + 1) * sizeof *item);
    int n = 0;
    for (int i = 0; i < m->links; i++) {
        item[n++] = (dt_zmq_item){.socket = m->link[i]->socket, .events = DT_ZMQ_READABLE};
        item[n++] = (dt_zmq_item){.socket = m->link[i]->monitor, .events = DT_ZMQ_READABLE};
    }
    if (m->gate) item[n++] = (dt_zmq_item){.socket = m->gate, .events = DT_ZMQ_READABLE};
    m->z.poll(item, n, (long)(seconds * 1000) + 1);
}

dt_status *dt_messenger_wait(dt_messenger *m, double seconds, dt_message **out) {
    const int64_t since = dt_now_ns();
    for (*out = NULL; m->links;) {
        DT_TRY(receive(m, out));
        const double left = seconds - dt_seconds_since(since);
        if (*out || left <= 0) return NULL;
        sleep_until(m, left);
    }
    return NULL;
}
