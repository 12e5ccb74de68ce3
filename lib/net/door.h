/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may connect to a messenger that listens. ZeroMQ accepts every connection, and each takes a
 * descriptor until its handshake has failed. So the listening socket takes no more connections
 * while many strangers are connected, and none at all once every expected peer is there; existing
 * connections are not touched. While others can connect, a few descriptors are kept for the files
 * of the run.
 */
#ifndef DT_NET_DOOR_H
#define DT_NET_DOOR_H

#include <stdbool.h>

enum { DT_DOOR_RESERVE = 16, DT_DOOR_HANDSHAKE_MS = 2000 };

typedef struct dt_door {
    int fd;          /* of the listening socket, ZeroMQ's; -1: not known */
    bool is_shut;    /* it takes no connections now */
    bool stays_shut; /* as the caller wants it */
    int most;        /* strangers at a time */
    /* connections that the kernel may keep for ZeroMQ, which takes them when it is shut, too */
    int queue;
    int reserve[DT_DOOR_RESERVE]; /* [reserved] descriptors */
    int reserved;
} dt_door;

void dt_door_init(dt_door *d);
void dt_door_release(dt_door *d);
/* Opens or shuts the door, by stays_shut and the number of strangers. */
void dt_door_mind(dt_door *d, int strangers);

#endif
