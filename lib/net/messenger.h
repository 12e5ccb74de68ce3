/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a messenger: its sockets, and the events that ZeroMQ reports about their
 * connections. */
#ifndef DT_NET_MESSENGER_H
#define DT_NET_MESSENGER_H

#include "net/address.h"
#include "net/messages.h"
#include "net/zmq_api.h"

/* The most bytes of a routing id, NAME/16 hex digits. The digits are random, so each process has an
 * id of its own. */
enum { DT_ROUTING_MOST = DT_PEER_NAME + 20 };

typedef enum dt_peer_state {
    DT_PEER_COMES,
    DT_PEER_HERE,
    DT_PEER_ENDS,
    DT_PEER_PAST
} dt_peer_state;
typedef struct dt_peer {
    struct dt_socket *link;
    char routing[DT_ROUTING_MOST]; /* the routing id of a peer that connected to this messenger */
    char name[DT_ENDPOINT_MOST];
    int fd; /* descriptor of the connection to the peer; -1: it is unknown */
    int refusals;
    dt_peer_state state;
} dt_peer;

/* A socket and its monitor: the socket on which the messenger listens, or that of one outgoing
 * connection. */
typedef struct dt_socket {
    void *socket, *monitor;
    /* The number of the peer at the other end of an outgoing connection; -1: this is the listening
     * socket. */
    int peer;
    bool half_open; /* whether the connection is made, but its handshake is not done */
    bool reached;   /* whether a connection was made at least once */
} dt_socket;

/*
 * Limits who may connect to a messenger that listens. ZeroMQ accepts every connection, and each
 * takes a file descriptor until its handshake fails. A connection that has not yet proved to be a
 * peer is called a stranger. The listening socket takes no more connections while many strangers
 * are connected, and none at all once every expected peer is connected. Open connections are not
 * affected. While the socket is open, a few descriptors are kept in reserve, so that the run can
 * still open its files when it shuts.
 */
enum { DT_ADMISSION_RESERVE = 16, DT_ADMISSION_HANDSHAKE_MS = 2000 };

typedef struct dt_admission {
    int fd;          /* descriptor of ZeroMQ's listening socket; -1: it is not known yet */
    bool is_shut;    /* whether the socket accepts no connections at the moment */
    bool stays_shut; /* whether the caller wants no connections, however many strangers there are */
    int most;        /* the number of strangers at which the socket stops accepting connections */
    /* The length of the listen queue: so many connections may still be accepted after the socket is
     * shut. */
    int queue;
    int reserve[DT_ADMISSION_RESERVE]; /* [reserved] descriptors of /dev/null */
    int reserved;
} dt_admission;

void dt_admission_init(dt_admission *d);
void dt_admission_release(dt_admission *d);

struct dt_messenger {
    dt_zmq z;
    /* gate: the socket on which ZeroMQ asks whether to accept a process's key; NULL: there is no
     * key */
    void *context, *gate;
    dt_messenger_spec spec;
    dt_run_key key;
    uint8_t known[DT_KEY_BYTES];  /* the public key of processes that connect */
    uint8_t server[DT_KEY_BYTES]; /* the public key of processes that listen */
    char routing[DT_ROUTING_MOST], address[DT_ENDPOINT_MOST];
    dt_socket **link;
    dt_peer *peer;
    int links, links_cap, peers, peers_cap, next_link;
    dt_admission admission; /* who may connect to the listening socket */
    /* [fds] for each descriptor: whether the connection to the listening socket that had it is
     * closed */
    unsigned char *is_closed;
    /* fds: length of is_closed; accepted: number of open connections of the listening socket */
    int fds, accepted;
    /* number of connections that were closed before their process became a peer */
    int64_t turned_away;
    /* an empty message, allocated in advance for the next arrival; NULL: it has been used */
    void *spare;
};

#define DT_GREETING "dtrain messages 1"

/* Opens a socket with its options, key and monitor. type: DT_ZMQ_ROUTER for the listening socket,
 * where peer is -1; DT_ZMQ_DEALER for the connection to the peer of this number. */
dt_status *dt_link_open(dt_messenger *m, int type, int peer, dt_socket **out) DT_MUST_USE;
/* Reads all waiting events of the link's monitor and updates the states of peers. Returns true if
 * the other end waits for a greeting. */
bool dt_link_watch(dt_messenger *m, dt_socket *l);
/* Opens the listening socket to new connections, or shuts it. To be called after dt_link_watch. */
void dt_link_update_admission(dt_messenger *m);
/* Opens the gate, which decides who may connect. Call this before any other socket listens. */
dt_status *dt_gate_open(dt_messenger *m) DT_MUST_USE;
/* Answers all requests at the gate that are waiting. */
void dt_gate_answer(dt_messenger *m);

#endif
