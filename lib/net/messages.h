/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes, over ZeroMQ: for workers without MPI, the control plane and the
 * parameter server. One process listens, others connect to it; one messenger may do both. Every
 * wait has a deadline, every peer has a name, and a peer that dies, closes or falls silent is
 * reported once. With a run's key all is encrypted, and only processes that have the key can
 * connect.
 *
 *     server                                                        client
 *     dt_messenger_open(&m, &(dt_messenger_spec){                   dt_messenger_open(&m,
 *                                                                   &(dt_messenger_spec){
 *         .key = &key, .name = "coordinator"});                         .key = &key, .name = "worker 3"});
 *     dt_messenger_listen(m, "10.0.0.1:2222");                      dt_messenger_connect(m,
 *                                                                   "10.0.0.1:2222", &server);
 *     for (;;) {                                                    for (;;) {
 *         dt_message *x;                                                dt_messenger_wait(m, 1.0, &x);      x->event is DT_PEER_JOINED once the server
 *         dt_messenger_wait(m, 1.0, &x);                                                                    has answered; send nothing before that
 *         if (!x) continue;                 a second has passed
 *         switch (x->event) {
 *         case DT_PEER_JOINED: dt_messenger_peer(m, x->peer) is "worker 3"
 *         case DT_PEER_MESSAGE: x->part[0 .. x->n)
 *         case DT_PEER_GONE: nothing more comes from x->peer
 *         }
 *         dt_message_free(x);
 *     }
 *     dt_messenger_send(m, peer, (dt_message_part[]){{&head, sizeof head}, {weights, bytes}}, 2);
 *     dt_messenger_close(m);
 *
 * Messages of a peer arrive whole and in order. A connection that breaks ends the peer: a process
 * that comes back is a new peer. Answering costs the application nothing: ZeroMQ's thread exchanges
 * heartbeats while it computes.
 *
 * Do not trust the contents of a message further than its sender: with a key any process of the
 * run, without one any process of this machine. Check n, the size of each part, and every number in
 * it; a part may have any size up to most_bytes, also none.
 */
#ifndef DT_NET_MESSAGES_H
#define DT_NET_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/run_key.h"

enum { DT_MESSAGE_PARTS = 8, DT_PEER_NAME = 40 };

typedef struct dt_messenger dt_messenger; /* belongs to one thread */
typedef struct dt_messenger_spec {
    /* copied; NULL: nothing is encrypted, and only the loopback interface is allowed */
    const dt_run_key *key;
    /* without a key: allows other interfaces, too; any process that can reach them can read and
     * join */
    bool open;
    /* its name at the peers that it connects to: 1 to 39 characters, ' ' to '~' without '/' */
    const char *name;
    double silence_s;  /* a peer from which not even a heartbeat came for so long is gone; 0: 10 */
    size_t most_bytes; /* of a part that is received, longer ones end the peer; 0: 1 GiB */
    /* called once it listens where strangers may join; NULL: not reported */
    void (*warn)(void *user, const char *text);
    void *user;
} dt_messenger_spec;

typedef enum dt_peer_event { DT_PEER_JOINED, DT_PEER_MESSAGE, DT_PEER_GONE } dt_peer_event;
typedef struct dt_message_part {
    const void *bytes;
    size_t n;
} dt_message_part;
typedef struct dt_message {
    dt_peer_event event;
    int peer, n;                            /* n: parts, 0 unless event is DT_PEER_MESSAGE */
    dt_message_part part[DT_MESSAGE_PARTS]; /* aligned to 8 bytes only if copied */
    struct dt_message *next;                /* the owner's, for queues */
} dt_message;

/* MESSAGES: ZeroMQ is not installed, or has no CURVE. */
dt_status *dt_messenger_open(dt_messenger **out, const dt_messenger_spec *spec) DT_MUST_USE;
/* waits up to 2 s until what was sent is on its way; takes NULL */
void dt_messenger_close(dt_messenger *m);
/* address: HOST:PORT (net/address.h), port 0 being any free one, host * all interfaces; once.
 * MESSAGES: the port is taken, or the address is not of this machine. SECRET: others could reach
 * it, and there is no key. */
dt_status *dt_messenger_listen(dt_messenger *m, const char *address) DT_MUST_USE;
/* The same for an address that others were told: on that interface, or, where `any` is allowed and
 * the address is not loopback, on all. */
dt_status *dt_messenger_listen_at(dt_messenger *m, const char *address, const char *interface,
                                  bool any) DT_MUST_USE;
/* Whether more processes may connect. True at the start; then connections are accepted while few of
 * the connected processes have not identified themselves. False: new connections take neither
 * descriptors nor time. Peers stay, and processes that connect meanwhile are admitted when it is
 * true again. */
void dt_messenger_admit(dt_messenger *m, bool more);
/* "HOST:PORT" with the port that was found; "": it does not listen. */
const char *dt_messenger_address(const dt_messenger *m);
/* Begins to connect, and retries without limit: the address need not have a listener yet. *peer:
 * the number of the peer that will join. Errors as of listen. */
dt_status *dt_messenger_connect(dt_messenger *m, const char *address, int *peer) DT_MUST_USE;

/* The next event, which the caller frees; NULL: there was none within so many seconds (0: does not
 * wait). Peers are numbers from 0 on, never used twice. */
dt_status *dt_messenger_wait(dt_messenger *m, double seconds, dt_message **out) DT_MUST_USE;
void dt_message_free(dt_message *x); /* takes NULL */
/* Copies the parts and does not wait. The peer must have joined. If it has left since, that is not
 * an error here: DT_PEER_GONE reports it. */
dt_status *dt_messenger_send(dt_messenger *m, int peer, const dt_message_part *part,
                             int n) DT_MUST_USE;

/* The name of a peer that connected; the address of one that this connected to. Lent. */
const char *dt_messenger_peer(const dt_messenger *m, int peer);
/* Connections to this messenger that ended before they had proved to be a peer. */
int64_t dt_messenger_turned_away(const dt_messenger *m);
/* How often a program answered there that does not have the same key, or is not dtrain. */
int dt_messenger_refusals(const dt_messenger *m, int peer);
/* Whether a connection to the peer was ever made. If not, no program listens there, or it takes no
 * more connections. */
bool dt_messenger_reached(const dt_messenger *m, int peer);

#endif
