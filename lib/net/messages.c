/* SPDX-License-Identifier: Apache-2.0 */
/* See messages.h: listening, connecting and sending. messages_wait.c receives. */
#include "net/messages.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/str.h"
#include "net/messenger.h"

/* ---- opening and closing ---- */

bool dt_peer_is_name(const char *name) {
    const size_t n = name ? strlen(name) : 0;
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~' || name[i] == '/') return false;
    return n > 0 && n < DT_PEER_NAME;
}

dt_status *dt_messenger_open(dt_messenger **out, const dt_messenger_spec *spec) {
    dt_zmq z;
    uint64_t life = 0;
    assert(dt_peer_is_name(spec->name));
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

/* Checks that a listening messenger is safe. Without a key only loopback addresses are allowed,
 * unless spec.open is set. */
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
    dt_link_watch(m, l); /* reads the monitor's first event, which has the socket's descriptor */
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

/* Listens on all interfaces if `any` is set, because a machine's own name may resolve to a
 * loopback address. Listens on loopback if the address is loopback. */
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

int dt_peer_add(dt_messenger *m, dt_socket *l, const char *name) {
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
    *peer = dt_peer_add(m, NULL, address);
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

/* ---- sending ---- */

/* Sends one part of a message. Sets *lost to whether the peer is gone or is disconnecting. */
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

dt_status *dt_peer_greet(dt_messenger *m, const dt_peer *p) {
    return send_to(m, p, &(dt_message_part){DT_GREETING, sizeof DT_GREETING - 1}, 1);
}
