/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a messenger: its sockets, and what ZeroMQ reports of their connections. */
#ifndef DT_NET_MESSENGER_H
#define DT_NET_MESSENGER_H

#include "net/address.h"
#include "net/door.h"
#include "net/messages.h"
#include "net/zmq_api.h"

enum { DT_ROUTING_MOST = DT_PEER_NAME + 20 }; /* NAME/16 hex digits, another one for each process */

typedef enum dt_peer_state {
    DT_PEER_COMES,
    DT_PEER_HERE,
    DT_PEER_ENDS,
    DT_PEER_PAST
} dt_peer_state;
typedef struct dt_peer {
    struct dt_link *link;
    char routing[DT_ROUTING_MOST]; /* of one that connected, as the server's socket calls it */
    char name[DT_ENDPOINT_MOST];
    int fd; /* of its connection; -1: not known */
    int refusals;
    dt_peer_state state;
} dt_peer;

/* A socket and its monitor: that of the server, or of one connection. */
typedef struct dt_link {
    void *socket, *monitor;
    int peer;       /* of a connection; -1: the server's */
    bool half_open; /* connected, and the handshake is not done */
    bool reached;   /* it was connected at least once */
} dt_link;

struct dt_messenger {
    dt_zmq z;
    void *context, *gate; /* gate: where ZeroMQ asks whether a key is welcome; NULL: no key */
    dt_messenger_spec spec;
    dt_run_key key;
    uint8_t known[DT_KEY_BYTES];  /* public key of processes that connect */
    uint8_t server[DT_KEY_BYTES]; /* public key of processes that listen */
    char routing[DT_ROUTING_MOST], address[DT_ENDPOINT_MOST];
    dt_link **link;
    dt_peer *peer;
    int links, links_cap, peers, peers_cap, next_link;
    dt_door door;             /* of the server */
    unsigned char *is_closed; /* [fds] of the server's connections */
    int fds, accepted;        /* accepted: connections of the server that are open */
    int64_t turned_away;      /* of those that are closed, the ones that never became a peer */
    void *spare;              /* a message without parts, for the next that comes; NULL: none */
};

#define DT_GREETING "dtrain messages 1"
dt_status *dt_peer_greet(dt_messenger *m, const dt_peer *p) DT_MUST_USE;
bool dt_peer_is_name(const char *name);
int dt_peer_add(dt_messenger *m, dt_link *l, const char *name);

/* A socket with its options, key and monitor, of type DT_ZMQ_ROUTER or DT_ZMQ_DEALER. */
dt_status *dt_link_open(dt_messenger *m, int type, int peer, dt_link **out) DT_MUST_USE;
/* Takes all reports of its monitor: sets states of peers. True: the server on the other end waits
 * for a greeting. */
bool dt_link_watch(dt_messenger *m, dt_link *l);
/* Lets others connect, or not: after reports were taken. */
void dt_link_mind_door(dt_messenger *m);
/* Before anything else listens. */
dt_status *dt_gate_open(dt_messenger *m) DT_MUST_USE;
/* Answers all that wait at the gate. */
void dt_gate_answer(dt_messenger *m);

#endif
