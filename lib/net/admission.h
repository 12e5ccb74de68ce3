/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits who may connect to a messenger that listens. ZeroMQ accepts every connection, and each
 * takes a file descriptor until its handshake fails. A connection that has not yet proved to be a
 * peer is called a stranger. The listening socket takes no more connections while many strangers
 * are connected, and none at all once every expected peer is connected. Open connections are not
 * affected. While the socket is open, a few descriptors are kept in reserve, so that the run can
 * still open its files when it shuts.
 */
#ifndef DT_NET_ADMISSION_H
#define DT_NET_ADMISSION_H

#include <stdbool.h>

enum { DT_ADMISSION_RESERVE = 16, DT_ADMISSION_HANDSHAKE_MS = 2000 };

typedef struct dt_admission {
    int fd;          /* ZeroMQ's listening socket; -1: not known yet */
    bool is_shut;    /* the socket accepts no connections at the moment */
    bool stays_shut; /* the caller wants no connections, however many strangers there are */
    int most;        /* the number of strangers at which the socket shuts */
    /* length of the listen queue: so many connections may be accepted after the socket is shut */
    int queue;
    int reserve[DT_ADMISSION_RESERVE]; /* [reserved] descriptors of /dev/null */
    int reserved;
} dt_admission;

void dt_admission_init(dt_admission *d);
void dt_admission_release(dt_admission *d);
/* Shuts or opens the socket, depending on stays_shut and the number of strangers. */
void dt_admission_update(dt_admission *d, int strangers);

#endif
