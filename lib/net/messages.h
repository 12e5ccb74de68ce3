/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes, over ZeroMQ. Workers without MPI and the parameter server use them.
 * One process listens, and others connect to it; one messenger may do both. Every wait has a
 * deadline, every peer has a name, and a peer that dies, closes its connection or falls silent is
 * reported once. With a run's key everything is encrypted, and only processes that have the key can
 * connect.
 *
 * A server:
 *
 *     dt_messenger_open(&m, &(dt_messenger_spec){.key = &key, .name = "coordinator"});
 *     dt_messenger_listen(m, "10.0.0.1:2222");
 *     for (;;) {
 *         dt_message *x;
 *         dt_messenger_wait(m, 1.0, &x);
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
 * A client does the same, except that it connects instead of listening. It may send when it has got
 * DT_PEER_JOINED, which means that the server has answered:
 *
 *     dt_messenger_open(&m, &(dt_messenger_spec){.key = &key, .name = "worker 3"});
 *     dt_messenger_connect(m, "10.0.0.1:2222", &server);
 *
 * Messages of a peer arrive whole and in order. When a connection breaks, its peer ends; a process
 * that connects again is a new peer. The application may compute for long between its calls:
 * ZeroMQ's thread answers heartbeats meanwhile.
 *
 * Do not trust the contents of a message more than its sender. With a key that may be any process
 * of the run, without one any process that can connect. Check n, the size of each part, and every
 * number in it. A part may have any size from 0 to most_bytes.
 */
#ifndef DT_NET_MESSAGES_H
#define DT_NET_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/run_key.h"

enum { DT_MESSAGE_PARTS = 8, DT_PEER_NAME = 40, DT_MOST_PART = 1 << 30 };

/* the connections of one process; only one thread may use it */
typedef struct dt_messenger dt_messenger;
typedef struct dt_messenger_spec {
    /* the run's key, which is copied; NULL: no encryption, and only the loopback interface is
     * allowed unless `open` is set */
    const dt_run_key *key;
    /* Without a key: also allow other interfaces. Any process that can reach them can then read all
     * messages and join. */
    bool open;
    /* The name under which peers see this messenger when it connects to them: 1 to 39 characters
     * from ' ' to '~', without '/'. */
    const char *name;
    /* Seconds of silence, without even a heartbeat, after which a peer counts as gone; 0: 10
     * seconds. More than 6553.5 counts as 6553.5. */
    double silence_s;
    /* The most bytes of a part. A peer that sends a larger part is disconnected. 0:
     * DT_MOST_PART. */
    size_t most_bytes;
    /* called with a warning if any process can join; may be NULL */
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
    /* peer: number of the peer; n: number of parts, 0 unless the event is DT_PEER_MESSAGE */
    int peer, n;
    /* The parts need not be aligned: copy the bytes before reading numbers from them. */
    dt_message_part part[DT_MESSAGE_PARTS];
    struct dt_message *next; /* the next message of a list, for the messenger's owner */
} dt_message;

/* Opens a messenger. Fails with MESSAGES if ZeroMQ is not installed or, with a key, if it was built
 * without its encryption (CURVE). */
dt_status *dt_messenger_open(dt_messenger **out, const dt_messenger_spec *spec) DT_MUST_USE;
/* Closes the messenger, after waiting up to 2 s for sent messages to leave this machine. m may be
 * NULL. */
void dt_messenger_close(dt_messenger *m);
/* Listens at an address HOST:PORT (net/address.h); port 0: any free port; host *: all interfaces.
 * Call this at most once. Fails with MESSAGES if the port is taken or the address does not belong
 * to this machine, with SECRET if other machines could reach it, unless there is a key or spec.open
 * is set. */
dt_status *dt_messenger_listen(dt_messenger *m, const char *address) DT_MUST_USE;
/* Listens like dt_messenger_listen, at the address that other processes use to reach this one.
 * interface: the name or address to listen on instead of the address's host; may be NULL. any:
 * without an interface, listen on all interfaces, unless the address is loopback. */
dt_status *dt_messenger_listen_at(dt_messenger *m, const char *address, const char *interface,
                                  bool any) DT_MUST_USE;
/* Sets whether new processes may connect. At the start they may, unless many of the connected
 * processes have not identified themselves. With `more` false, new connections cost neither
 * descriptors nor time. Peers stay connected. Processes that try to connect meanwhile are admitted
 * when it is true again. */
void dt_messenger_admit(dt_messenger *m, bool more);
/* Returns "HOST:PORT" with the actual port; "" if the messenger does not listen. */
const char *dt_messenger_address(const dt_messenger *m);
/* Starts to connect, and retries until it succeeds: nothing needs to listen at the address yet.
 * Sets *peer to the number of the peer that will join. Fails with MESSAGES if the text is no
 * address or its host is unknown, with SECRET if it is not a loopback address, unless there is a
 * key or spec.open is set. */
dt_status *dt_messenger_connect(dt_messenger *m, const char *address, int *peer) DT_MUST_USE;

/* Waits up to `seconds` (0: does not wait) for the next event, which the caller frees. Sets *out to
 * NULL if there was none. Peers are numbered from 0; numbers are never reused. */
dt_status *dt_messenger_wait(dt_messenger *m, double seconds, dt_message **out) DT_MUST_USE;
void dt_message_free(dt_message *x); /* frees a message; x may be NULL */
/* Sends a message to a peer that has joined. Copies the parts, and does not wait. If the peer has
 * left since, this succeeds, and a DT_PEER_GONE event reports the loss. */
dt_status *dt_messenger_send(dt_messenger *m, int peer, const dt_message_part *part,
                             int n) DT_MUST_USE;

/* Returns the name of a peer that connected to this messenger, or the address of a peer that
 * this messenger connected to. Lent. */
const char *dt_messenger_peer(const dt_messenger *m, int peer);
/* Returns how many connections to this messenger ended before they became a peer. */
int64_t dt_messenger_turned_away(const dt_messenger *m);
/* Returns how often the program at the peer's address had another key or was not dtrain. */
int dt_messenger_refusals(const dt_messenger *m, int peer);
/* Whether a connection to the peer was ever made. If not, probably no program listens at its
 * address, or the listener accepts no more connections. */
bool dt_messenger_reached(const dt_messenger *m, int peer);

#endif
