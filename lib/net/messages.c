/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what messages.h declares. */
#include "net/messages.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/messenger.h"

static bool peer_is_name(const char *name) {
    const size_t n = name ? strlen(name) : 0;
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '/') return false;
    return n > 0 && n < DT_PEER_NAME;
}

dt_status *dt_messenger_open(dt_messenger **out, const dt_messenger_spec *spec) {
    dt_zmq z;
    uint64_t life = 0;
    assert(peer_is_name(spec->name));
    DT_TRY(dt_zmq_open(&z));
    if (getrandom(&life, sizeof life, 0) != sizeof life)
        return dt_fail_errno(DT_E_IO, "random numbers");
    dt_messenger *m = dt_alloc(sizeof *m);
    m->z = z;
    m->spec = *spec;
    m->admission.fd = -1;
    m->spec.silence_s = spec->silence_s > 0 ? spec->silence_s : 10;
    m->spec.most_bytes = spec->most_bytes ? spec->most_bytes : DT_MOST_PART;
    snprintf(m->routing, sizeof m->routing, "%s/%016llx", spec->name, (unsigned long long)life);
    m->context = z.context();
    dt_status *s = m->context ? NULL : dt_zmq_failed(&m->z, "cannot start", "ZeroMQ");
    if (!s && spec->key) {
        m->key = *spec->key;
        s = dt_gate_open(m);
    }
    if (s) {
        dt_messenger_close(m);
        return s;
    }
    *out = m;
    return NULL;
}

static void close_socket(dt_messenger *m, void **socket) {
    if (*socket) m->z.close(*socket);
    *socket = NULL;
}

void dt_messenger_close(dt_messenger *m) {
    if (!m) return;
    for (int i = 0; i < m->links; i++) {
        if (m->link[i]->socket && m->link[i]->monitor) m->z.monitor(m->link[i]->socket, NULL, 0);
        close_socket(m, &m->link[i]->monitor);
        close_socket(m, &m->link[i]->socket);
        free(m->link[i]);
    }
    close_socket(m, &m->gate);
    if (m->context) m->z.context_end(m->context);
    explicit_bzero(&m->key, sizeof m->key);
    dt_admission_release(&m->admission);
    free(m->link);
    free(m->peer);
    free(m->is_closed);
    free(m->spare);
    free(m);
}

/* Checks that it is safe to listen on this address, or to connect to it. Without a key only
 * loopback addresses are allowed, unless spec.open is set. */
static dt_status *check_reach(const dt_messenger *m, const char *address, bool loopback) {
    if (m->spec.key || m->spec.open || loopback) return NULL;
    return dt_suggest(dt_fail(DT_E_SECRET, NULL,
                              "%s can be reached from other machines, and this run has no secret",
                              address),
                      "put the same secret on every machine: DTRAIN_SECRET_FILE=FILE");
}

static void warn_if_open(const dt_messenger *m, const char *address, bool loopback) {
    char text[256];
    if (m->spec.key || loopback || !m->spec.warn) return;
    snprintf(text, sizeof text,
             "this run has no secret and listens on %s: everybody who can reach that address can "
             "join it, read its weights and change them",
             address);
    m->spec.warn(m->spec.user, text);
}

dt_status *dt_messenger_listen(dt_messenger *m, const char *address) {
    dt_address a;
    dt_socket *l = NULL;
    bool loopback = false;
    char endpoint[DT_ENDPOINT_MOST] = "";
    size_t n = sizeof endpoint;
    assert(!m->address[0]);
    DT_TRY(dt_address_read(&a, address));
    DT_TRY(dt_address_resolve(&a, true, &loopback));
    DT_TRY(check_reach(m, address, loopback));
    warn_if_open(m, address, loopback);
    DT_TRY(dt_link_open(m, DT_ZMQ_ROUTER, -1, &l));
    dt_admission_init(&m->admission);
    if (m->z.set(l->socket, DT_ZMQ_BACKLOG, &m->admission.queue, sizeof m->admission.queue))
        return dt_zmq_failed(&m->z, "cannot listen on", address);
    dt_address_endpoint(&a, endpoint);
    if (m->z.bind(l->socket, endpoint)) {
        const bool taken = m->z.last_error() == EADDRINUSE;
        dt_status *s = dt_zmq_failed(&m->z, "cannot listen on", address);
        return taken
                   ? dt_suggest(s, "another program has this port; end it, or choose another port")
                   : s;
    }
    if (m->z.get(l->socket, DT_ZMQ_ENDPOINT, endpoint, &n))
        return dt_zmq_failed(&m->z, "cannot listen on", address);
    const char *colon = strrchr(endpoint, ':');
    int64_t port = 0;
    if (colon && dt_parse_int64(colon + 1, &port)) a.port = (int)port;
    dt_address_text(&a, m->address);
    /* This reads the monitor's first event, which has the socket's descriptor. */
    dt_link_watch(m, l);
    return NULL;
}

void dt_messenger_admit(dt_messenger *m, bool more) {
    m->admission.stays_shut = !more;
    dt_link_update_admission(m);
}

static bool is_of_loopback(const char *host) {
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

/* With `any` and without an interface, listens on all interfaces, because a machine's own name may
 * resolve to a loopback address; but on loopback if the address is one. */
dt_status *dt_messenger_listen_at(dt_messenger *m, const char *address, const char *interface,
                                  bool any) {
    dt_address at;
    char text[DT_ENDPOINT_MOST];
    DT_TRY(dt_address_read(&at, address));
    if (interface) snprintf(at.host, sizeof at.host, "%s", interface);
    else if (any && !is_of_loopback(at.host)) strcpy(at.host, "*");
    dt_address_text(&at, text);
    return dt_messenger_listen(m, text);
}

const char *dt_messenger_address(const dt_messenger *m) { return m->address; }

static int peer_add(dt_messenger *m, dt_socket *l, const char *name) {
    DT_GROW(m->peer, m->peers_cap, m->peers + 1);
    m->peer[m->peers] = (dt_peer){.link = l, .fd = -1};
    snprintf(m->peer[m->peers].name, sizeof m->peer->name, "%s", name);
    return m->peers++;
}

dt_status *dt_messenger_connect(dt_messenger *m, const char *address, int *peer) {
    dt_address a;
    dt_socket *l = NULL;
    bool loopback = false;
    char endpoint[DT_ENDPOINT_MOST];
    DT_TRY(dt_address_read(&a, address));
    DT_TRY(dt_address_resolve(&a, false, &loopback));
    DT_TRY(check_reach(m, address, loopback));
    *peer = peer_add(m, NULL, address);
    DT_TRY(dt_link_open(m, DT_ZMQ_DEALER, *peer, &l));
    m->peer[*peer].link = l;
    dt_address_endpoint(&a, endpoint);
    return m->z.connect(l->socket, endpoint) ? dt_zmq_failed(&m->z, "cannot connect to", address)
                                             : NULL;
}

const char *dt_messenger_peer(const dt_messenger *m, int peer) { return m->peer[peer].name; }

int64_t dt_messenger_turned_away(const dt_messenger *m) { return m->turned_away; }

int dt_messenger_refusals(const dt_messenger *m, int peer) { return m->peer[peer].refusals; }

bool dt_messenger_reached(const dt_messenger *m, int peer) {
    return m->peer[peer].link && m->peer[peer].link->reached;
}

/* Sends one part of a message. Sets *lost if the peer is gone or is disconnecting. */
static dt_status *send_part(dt_messenger *m, void *socket, const dt_message_part *part, bool more,
                            bool *lost) {
    dt_zmq_msg msg;
    if (m->z.msg_init_size(&msg, part->n))
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for a message of %zu bytes", part->n);
    if (part->n) memcpy(m->z.msg_data(&msg), part->bytes, part->n);
    while (m->z.msg_send(&msg, socket, DT_ZMQ_DONT_WAIT | (more ? DT_ZMQ_SEND_MORE : 0)) < 0) {
        const int error = m->z.last_error();
        if (error == EINTR) continue;
        *lost = error == EHOSTUNREACH || error == EAGAIN;
        dt_status *s = *lost ? NULL : dt_zmq_failed(&m->z, "cannot send", "a message");
        m->z.msg_close(&msg);
        return s;
    }
    return NULL;
}

static dt_status *send_to(dt_messenger *m, const dt_peer *p, const dt_message_part *part, int n) {
    bool lost = false;
    if (p->link->peer < 0)
        DT_TRY(send_part(m, p->link->socket, &(dt_message_part){p->routing, strlen(p->routing)},
                         n > 0, &lost));
    for (int i = 0; i < n && !lost; i++)
        DT_TRY(send_part(m, p->link->socket, &part[i], i + 1 < n, &lost));
    return NULL;
}

dt_status *dt_messenger_send(dt_messenger *m, int peer, const dt_message_part *part, int n) {
    const dt_peer *p = &m->peer[peer];
    assert(n > 0 && n <= DT_MESSAGE_PARTS && p->state != DT_PEER_COMES);
    return p->state == DT_PEER_PAST ? NULL : send_to(m, p, part, n);
}

static dt_status *peer_greet(dt_messenger *m, const dt_peer *p) {
    return send_to(m, p, &(dt_message_part){DT_GREETING, sizeof DT_GREETING - 1}, 1);
}

/*
 * Receives messages (messages.h). On a new connection each side first sends a greeting, which names
 * the version of this protocol. The greeting is sent again if the connection is lost before the
 * answer. All later messages are for the caller.
 */

static const char greeting[] = DT_GREETING;
/* GREETING_KIND: the number of bytes with which the greetings of all versions begin */
enum { GREETING_KIND = 16, PEERS_MOST = 1 << 16 };
/* the number of characters of the "/" and 16 hex digits after the name in a routing id */
enum { LIFE = 17 };

/* A message with parts in ZeroMQ's memory. */
typedef struct held {
    dt_message base;
    /* ZeroMQ's function to free a part; libzmq stays loaded even after the messenger is closed */
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

/* A message that has come from a link. fd: the connection that it came through; routing: set on the
 * server's link only. */
typedef struct arrival {
    char routing[DT_ROUTING_MOST]; /* The routing id of the sender; "": the id is not valid. */
    int fd;
    held *message; /* the message; NULL: no message was waiting */
    bool too_long; /* whether the message has more than DT_MESSAGE_PARTS parts */
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
    DT_TRY(peer_greet(m, &guest));
    if (!is_greeting(x, sizeof greeting - 1)) return NULL;
    char name[DT_ROUTING_MOST];
    snprintf(name, sizeof name, "%.*s", (int)strlen(a->routing) - LIFE, a->routing);
    if (!peer_is_name(name)) return NULL;
    const int peer = peer_add(m, l, name);
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
    /* A peer ends if it sends too many parts, or if its connection was lost and made again. */
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

/* Takes one message from the link. Sets *more to whether a message was waiting, even if it does not
 * become an event in *out. */
static dt_status *take_from(dt_messenger *m, dt_socket *l, bool *more, dt_message **out) {
    bool is_wanted = false;
    arrival a = take_arrival(m, l);
    *more = a.message != NULL;
    if (!a.message) return NULL;
    /* The monitor is read first, because the kernel may have reused the descriptor of a closed
     * connection. */
    if (dt_link_watch(m, l) && l->peer >= 0) DT_TRY(peer_greet(m, &m->peer[l->peer]));
    dt_status *s = l->peer < 0 ? come_to_server(m, l, &a, &is_wanted, out)
                               : come_to_client(m, l, &a, &is_wanted, out);
    if (is_wanted && !s && a.message->base.n > 0 &&
        !is_greeting(&a.message->base, sizeof greeting - 1))
        *out = &a.message->base;
    else dt_message_free(&a.message->base);
    return s;
}

/* Returns the event that a peer has ended; NULL: no peer has. All messages of that peer have been
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
        if (dt_link_watch(m, m->link[i])) DT_TRY(peer_greet(m, &m->peer[m->link[i]->peer]));
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
