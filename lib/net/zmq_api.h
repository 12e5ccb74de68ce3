/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of ZeroMQ that dtrain calls, loaded from libzmq when a messenger is opened. They
 * are declared here from ZeroMQ's documented interface, which has not changed since 4.2, so neither
 * its headers nor the library are needed to build or start the program.
 */
#ifndef DT_NET_ZMQ_API_H
#define DT_NET_ZMQ_API_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct dt_zmq_msg {
    unsigned char opaque[64];
} __attribute__((aligned(8))) dt_zmq_msg;
typedef struct dt_zmq_item {
    void *socket;
    int fd;
    short events, revents;
} dt_zmq_item;

/* types of sockets */
enum { DT_ZMQ_PAIR = 0, DT_ZMQ_REP = 4, DT_ZMQ_DEALER = 5, DT_ZMQ_ROUTER = 6 };
enum { /* options of sockets; those of a key take 32 bytes */
       DT_ZMQ_ROUTING_ID = 5,
       DT_ZMQ_LINGER = 17,
       DT_ZMQ_BACKLOG = 19,
       DT_ZMQ_MAX_MESSAGE = 22,
       DT_ZMQ_SEND_MOST = 23,
       DT_ZMQ_RECV_MOST = 24,
       DT_ZMQ_ENDPOINT = 32,
       DT_ZMQ_MANDATORY = 33,
       DT_ZMQ_IPV6 = 42,
       DT_ZMQ_CURVE_SERVER = 47,
       DT_ZMQ_CURVE_PUBLIC = 48,
       DT_ZMQ_CURVE_SECRET = 49,
       DT_ZMQ_CURVE_SERVER_KEY = 50,
       DT_ZMQ_DOMAIN = 55,
       DT_ZMQ_HANDSHAKE_MS = 66,
       DT_ZMQ_BEAT = 75,
       DT_ZMQ_BEAT_TTL = 76,
       DT_ZMQ_BEAT_TIMEOUT = 77,
       DT_ZMQ_CONNECT_MS = 79,
};
enum {
    DT_ZMQ_MORE = 1,
    DT_ZMQ_FD = 2,
    DT_ZMQ_DONT_WAIT = 1,
    DT_ZMQ_SEND_MORE = 2,
    DT_ZMQ_READABLE = 1
};
enum { DT_ZMQ_KEY_TEXT = 41 }; /* length of a key as text, including the zero byte at its end */
enum dt_zmq_event {            /* events of a socket's monitor */
                    DT_ZMQ_CONNECTED = 0x1,
                    DT_ZMQ_LISTENING = 0x8,
                    DT_ZMQ_ACCEPTED = 0x20,
                    DT_ZMQ_CLOSED = 0x80,
                    DT_ZMQ_DISCONNECTED = 0x200,
                    DT_ZMQ_HANDSHAKE_DONE = 0x1000,
};

typedef struct dt_zmq {
    int (*last_error)(void);
    const char *(*words)(int error);
    int (*has)(const char *what);
    void *(*context)(void);
    int (*context_end)(void *context);
    void *(*socket)(void *context, int type);
    int (*close)(void *socket);
    int (*set)(void *socket, int option, const void *value, size_t n);
    int (*get)(void *socket, int option, void *value, size_t *n);
    int (*bind)(void *socket, const char *endpoint);
    int (*connect)(void *socket, const char *endpoint);
    int (*monitor)(void *socket, const char *endpoint, int events);
    int (*poll)(dt_zmq_item *item, int n, long ms);
    int (*msg_init)(dt_zmq_msg *m);
    int (*msg_init_size)(dt_zmq_msg *m, size_t n);
    int (*msg_close)(dt_zmq_msg *m);
    int (*msg_send)(dt_zmq_msg *m, void *socket, int flags);
    int (*msg_recv)(dt_zmq_msg *m, void *socket, int flags);
    void *(*msg_data)(dt_zmq_msg *m);
    size_t (*msg_size)(const dt_zmq_msg *m);
    int (*msg_get)(const dt_zmq_msg *m, int property);
    char *(*z85_encode)(char *text, const uint8_t *bytes, size_t n);
    uint8_t *(*z85_decode)(uint8_t *bytes, const char *text);
    int (*curve_public)(char *public_text, const char *secret_text);
} dt_zmq;

/* Loads libzmq, which stays loaded. Fails with MESSAGES if it is not installed or too old. */
dt_status *dt_zmq_open(dt_zmq *out) DT_MUST_USE;
/* Returns a MESSAGES error "WHAT OF: REASON" with ZeroMQ's text for its last error in this thread,
 * such as "cannot listen on 10.0.0.1:2222: Address already in use". */
dt_status *dt_zmq_failed(const dt_zmq *z, const char *what, const char *of) DT_MUST_USE;

#endif
