/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A messenger's sockets. ZeroMQ reports the events of connections by file descriptor, and every
 * message tells the descriptor that it came through. So the end of a connection can be matched to a
 * peer. For authentication, ZeroMQ passes the key of each connecting process to the gate, a socket
 * inside this process that admits or refuses it.
 */
#include "net/messenger.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"

/*
 * Admission (dt_admission). ZeroMQ cannot stop listening: zmq_unbind ends accepted connections,
 * too. So the kernel is asked to drop every packet that arrives at the listening socket. A process
 * that connects meanwhile is not refused: it retries, and is accepted once others are admitted
 * again.
 */

/* Limits on strangers, the connections that have not yet proved to be peers: 1 / SHARE of the
 * process's descriptors, but at least LEAST and at most MOST. QUEUE is the longest listen queue. */
enum { MOST = 512, LEAST = 16, SHARE = 2, QUEUE = 100 };

static int most_strangers(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / SHARE > MOST) return MOST;
    return files.rlim_cur / SHARE < LEAST ? LEAST : (int)(files.rlim_cur / SHARE);
}

static void keep_descriptors(dt_admission *d) {
    while (d->reserved < DT_ADMISSION_RESERVE) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        /* Too many files are open. The next function that opens a file reports that. */
        if (fd < 0) return;
        d->reserve[d->reserved++] = fd;
    }
}

static void free_descriptors(dt_admission *d) {
    while (d->reserved > 0) close(d->reserve[--d->reserved]);
}

void dt_admission_init(dt_admission *d) {
    *d = (dt_admission){.fd = -1, .most = most_strangers()};
    d->queue = d->most / 4 < QUEUE ? d->most / 4 : QUEUE;
    keep_descriptors(d);
}

void dt_admission_release(dt_admission *d) {
    free_descriptors(d);
    d->fd = -1;
}

/* Makes the kernel drop all packets to the listening socket, or pass them again. Returns false if
 * the kernel does not support such filters; then only the handshake timeout limits connections. */
static bool set_filter(int fd, bool drops) {
    struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
    const struct sock_fprog program = {.len = 1, .filter = &nothing};
    const int unused = 0;
    return drops ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
                 : setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) == 0;
}

/* Shuts or opens the socket, depending on stays_shut and the number of strangers. */
static void admission_update(dt_admission *d, int strangers) {
    /* Once shut, reopen only when fewer than d->most / 2 strangers are left, so that the filter
     * does not change with every connection. */
    const bool many = strangers >= (d->is_shut ? d->most / 2 : d->most),
               shut = d->stays_shut || many;
    if (d->fd < 0 || shut == d->is_shut || !set_filter(d->fd, shut)) return;
    d->is_shut = shut;
    if (shut) free_descriptors(d);
    else keep_descriptors(d);
}

enum { LINGER_MS = 2000, CONNECT_MS = 5000 };
/* The longest time to live of a heartbeat in milliseconds: ZeroMQ sends it in 16 bits, as tenths of
 * a second. */
enum { BEAT_TTL_MS = 6553500 };

/* ---- sockets ---- */

static int set_int(dt_messenger *m, void *socket, int option, int value) {
    return m->z.set(socket, option, &value, sizeof value);
}

static int set_common(dt_messenger *m, void *socket) {
    const double silence_ms = m->spec.silence_s * 1000;
    const int silence = silence_ms < BEAT_TTL_MS ? (int)silence_ms : BEAT_TTL_MS;
    const int64_t most = (int64_t)m->spec.most_bytes;
    return set_int(m, socket, DT_ZMQ_IPV6, 1) || set_int(m, socket, DT_ZMQ_LINGER, LINGER_MS) ||
           set_int(m, socket, DT_ZMQ_SEND_MOST, 0) || set_int(m, socket, DT_ZMQ_RECV_MOST, 0) ||
           set_int(m, socket, DT_ZMQ_BEAT, silence / 4 + 1) ||
           set_int(m, socket, DT_ZMQ_BEAT_TIMEOUT, silence) ||
           set_int(m, socket, DT_ZMQ_BEAT_TTL, silence) ||
           m->z.set(socket, DT_ZMQ_MAX_MESSAGE, &most, sizeof most);
}

static int set_key(dt_messenger *m, void *socket, bool listens) {
    if (!m->gate) return 0;
    if (listens)
        return set_int(m, socket, DT_ZMQ_CURVE_SERVER, 1) ||
               m->z.set(socket, DT_ZMQ_CURVE_SECRET, m->key.listens, DT_KEY_BYTES) ||
               m->z.set(socket, DT_ZMQ_DOMAIN, "run", 3);
    return m->z.set(socket, DT_ZMQ_CURVE_SERVER_KEY, m->server, DT_KEY_BYTES) ||
           m->z.set(socket, DT_ZMQ_CURVE_PUBLIC, m->known, DT_KEY_BYTES) ||
           m->z.set(socket, DT_ZMQ_CURVE_SECRET, m->key.connects, DT_KEY_BYTES);
}

/* Sets options of a socket, but not ZeroMQ's IMMEDIATE: with it, messages received before a
 * connection ended would be dropped. */
static int set_kind(dt_messenger *m, void *socket, bool listens) {
    if (listens)
        return set_int(m, socket, DT_ZMQ_MANDATORY, 1) ||
               set_int(m, socket, DT_ZMQ_HANDSHAKE_MS, DT_ADMISSION_HANDSHAKE_MS);
    /* This sets how often to retry. The kernel would wait up to a minute between attempts, which is
     * too long if the server was full or shut only briefly. */
    return set_int(m, socket, DT_ZMQ_CONNECT_MS, CONNECT_MS) ||
           m->z.set(socket, DT_ZMQ_ROUTING_ID, m->routing, strlen(m->routing));
}

static int open_monitor(dt_messenger *m, dt_socket *l) {
    enum {
        EVENTS = DT_ZMQ_CONNECTED | DT_ZMQ_LISTENING | DT_ZMQ_ACCEPTED | DT_ZMQ_CLOSED |
                 DT_ZMQ_DISCONNECTED | DT_ZMQ_HANDSHAKE_DONE
    };
    char endpoint[60];
    snprintf(endpoint, sizeof endpoint, "inproc://monitor-%d", m->links);
    l->monitor = m->z.socket(m->context, DT_ZMQ_PAIR);
    return !l->monitor || m->z.monitor(l->socket, endpoint, EVENTS) ||
           set_int(m, l->monitor, DT_ZMQ_LINGER, 0) || m->z.connect(l->monitor, endpoint);
}

dt_status *dt_link_open(dt_messenger *m, int type, int peer, dt_socket **out) {
    const bool listens = type == DT_ZMQ_ROUTER;
    dt_socket *l = dt_alloc(sizeof *l);
    l->peer = peer;
    DT_GROW(m->link, m->links_cap, m->links + 1);
    m->link[m->links] = l;
    l->socket = m->z.socket(m->context, type);
    const bool bad = !l->socket || set_common(m, l->socket) || set_key(m, l->socket, listens) ||
                     set_kind(m, l->socket, listens) || open_monitor(m, l);
    m->links++;
    *out = l;
    return bad ? dt_zmq_failed(&m->z, "cannot open a", "socket") : NULL;
}

/* ---- events of connections ---- */

static void note_fd(dt_messenger *m, int fd, bool is_closed) {
    enum { MOST_DESCRIPTORS = 1 << 20 };
    if (fd < 0 || fd >= MOST_DESCRIPTORS) return;
    if (fd >= m->fds) {
        const int n = fd + 64;
        m->is_closed = dt_realloc(m->is_closed, (size_t)n);
        memset(m->is_closed + m->fds, 0, (size_t)(n - m->fds));
        m->fds = n;
    }
    m->is_closed[fd] = is_closed;
}

/* Returns the number of open connections that have not become peers. */
static int count_strangers(const dt_messenger *m) {
    int n = m->accepted;
    for (int i = 0; i < m->peers; i++)
        n -= m->peer[i].link->peer < 0 && m->peer[i].state == DT_PEER_HERE;
    return n;
}

void dt_link_update_admission(dt_messenger *m) {
    admission_update(&m->admission, m->admission.stays_shut ? 0 : count_strangers(m));
}

static void watch_server(dt_messenger *m, int event, int fd) {
    const bool ends = event & (DT_ZMQ_DISCONNECTED | DT_ZMQ_CLOSED);
    if (event & DT_ZMQ_LISTENING) m->admission.fd = fd;
    m->accepted += event & DT_ZMQ_ACCEPTED ? 1 : event & DT_ZMQ_DISCONNECTED ? -1 : 0;
    if (ends || event & DT_ZMQ_ACCEPTED) note_fd(m, fd, ends);
    bool is_peer = false;
    for (int i = 0; ends && i < m->peers; i++)
        if (m->peer[i].link->peer < 0 && m->peer[i].fd == fd && m->peer[i].state == DT_PEER_HERE) {
            m->peer[i].state = DT_PEER_ENDS;
            is_peer = true;
        }
    m->turned_away += event & DT_ZMQ_DISCONNECTED && !is_peer;
}

/* Handles an event of an outgoing connection. Returns true if the handshake is done, so that a
 * greeting can be sent. */
static bool watch_connection(dt_messenger *m, dt_socket *l, int event) {
    dt_peer *p = &m->peer[l->peer];
    if (event & DT_ZMQ_DISCONNECTED) {
        p->refusals += l->half_open && p->state == DT_PEER_COMES;
        if (p->state == DT_PEER_HERE) p->state = DT_PEER_ENDS;
    }
    l->half_open = (event & DT_ZMQ_CONNECTED) != 0;
    l->reached |= l->half_open;
    return event & DT_ZMQ_HANDSHAKE_DONE && p->state == DT_PEER_COMES;
}

/* Reads an event from a monitor: a part with two bytes of event and four of value, and a part with
 * an address. Returns false if no event is waiting. */
static bool read_report(dt_messenger *m, void *monitor, uint16_t *event, uint32_t *value) {
    dt_zmq_msg part;
    *event = 0;
    for (int i = 0, more = 1; more; i++) {
        m->z.msg_init(&part);
        if (m->z.msg_recv(&part, monitor, DT_ZMQ_DONT_WAIT) < 0) {
            m->z.msg_close(&part);
            return false;
        }
        const unsigned char *bytes = m->z.msg_data(&part);
        if (i == 0 && m->z.msg_size(&part) == sizeof *event + sizeof *value) {
            memcpy(event, bytes, sizeof *event);
            memcpy(value, bytes + sizeof *event, sizeof *value);
        }
        more = m->z.msg_get(&part, DT_ZMQ_MORE);
        m->z.msg_close(&part);
    }
    return true;
}

bool dt_link_watch(dt_messenger *m, dt_socket *l) {
    uint16_t event = 0;
    uint32_t value = 0;
    bool greets = false;
    while (read_report(m, l->monitor, &event, &value))
        if (l->peer < 0) watch_server(m, event, (int)value);
        else greets |= watch_connection(m, l, event);
    return greets;
}

/* ---- the gate: ZeroMQ's authentication protocol, version 1.0 ---- */

enum { ID = 1, MECHANISM = 5, KEY = 6, ID_MOST = 255 };

dt_status *dt_gate_open(dt_messenger *m) {
    char secret[DT_ZMQ_KEY_TEXT], text[DT_ZMQ_KEY_TEXT];
    if (!m->z.has("curve"))
        return dt_fail(DT_E_MESSAGES, NULL,
                       "the installed libzmq has no CURVE, so it cannot encrypt");
    m->gate = m->z.socket(m->context, DT_ZMQ_REP);
    if (!m->gate || set_int(m, m->gate, DT_ZMQ_LINGER, 0) ||
        m->z.bind(m->gate, "inproc://zeromq.zap.01"))
        return dt_zmq_failed(&m->z, "cannot check", "keys");
    if (!m->z.z85_encode(secret, m->key.connects, DT_KEY_BYTES) ||
        m->z.curve_public(text, secret) || !m->z.z85_decode(m->known, text) ||
        !m->z.z85_encode(secret, m->key.listens, DT_KEY_BYTES) || m->z.curve_public(text, secret) ||
        !m->z.z85_decode(m->server, text))
        return dt_zmq_failed(&m->z, "cannot derive", "keys");
    return NULL;
}

/* Reads an authentication request. Sets *welcome to whether the key is right. Returns false if no
 * request is waiting. */
static bool read_request(dt_messenger *m, char *id, size_t *id_size, bool *welcome) {
    dt_zmq_msg part;
    bool is_curve = false;
    *id_size = 0;
    *welcome = false;
    for (int i = 0, more = 1; more; i++) {
        m->z.msg_init(&part);
        const bool got = m->z.msg_recv(&part, m->gate, DT_ZMQ_DONT_WAIT) >= 0;
        const void *bytes = m->z.msg_data(&part);
        const size_t n = m->z.msg_size(&part);
        if (got && i == ID && n <= ID_MOST) memcpy(id, bytes, *id_size = n);
        if (got && i == MECHANISM) is_curve = n == 5 && memcmp(bytes, "CURVE", n) == 0;
        if (got && i == KEY)
            *welcome = is_curve && n == DT_KEY_BYTES && memcmp(bytes, m->known, n) == 0;
        more = got && m->z.msg_get(&part, DT_ZMQ_MORE);
        m->z.msg_close(&part);
        if (!got) return false;
    }
    return true;
}

void dt_gate_answer(dt_messenger *m) {
    char id[ID_MOST];
    size_t id_size = 0;
    bool welcome = false;
    while (m->gate && read_request(m, id, &id_size, &welcome)) {
        const dt_message_part reply[] = {{"1.0", 3},
                                         {id, id_size},
                                         {welcome ? "200" : "400", 3},
                                         {welcome ? "OK" : "unknown key", welcome ? 2 : 11},
                                         {"", 0},
                                         {"", 0}};
        enum { PARTS = sizeof reply / sizeof *reply };
        for (int i = 0; i < PARTS; i++) {
            dt_zmq_msg part;
            /* There is no memory for an answer. Without one, the process will connect again. */
            if (m->z.msg_init_size(&part, reply[i].n)) return;
            memcpy(m->z.msg_data(&part), reply[i].bytes, reply[i].n);
            if (m->z.msg_send(&part, m->gate, i + 1 < PARTS ? DT_ZMQ_SEND_MORE : 0) < 0)
                m->z.msg_close(&part);
        }
    }
}
