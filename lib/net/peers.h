/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are processes: the identities that they exchange at the start, and whether those of
 * this machine are still alive. */
#ifndef DT_NET_PEERS_H
#define DT_NET_PEERS_H

#include "net/fabric.h"

typedef struct dt_peer_identity {
    char host[64];
    uint64_t space; /* of process numbers: containers have their own */
    int64_t pid;
} dt_peer_identity;

typedef struct dt_peers {
    dt_peer_identity *identity; /* [ranks]; NULL: they have not met yet */
    int64_t looked_ns;
    double told_s; /* the wait that was reported last; 0: none yet */
} dt_peers;

/* A message that is awaited. */
typedef struct dt_awaited {
    int peer;
    const dt_tag *tag;
    size_t n;
    int64_t since_ns;
} dt_awaited;

/* Every rank's identity, by messages of m. */
dt_status *dt_peers_meet(dt_peers *p, dt_member *m) DT_MUST_USE;
void dt_peers_release(dt_peers *p);
/* Ranks of this machine, this one among them. */
int dt_peers_here(const dt_peers *p, const dt_member *m);
/* Called repeatedly while a message is awaited. WORKER_GONE naming a rank of this machine that is
 * dead, for which it looks ten times a second; WORKER_LATE after m->patience_s. From 5 s on, each
 * time that the wait has doubled, m->say reports the silent rank. A rank of this machine that is
 * stopped is named before the one that is awaited. */
dt_status *dt_peers_wait(dt_peers *p, const dt_member *m, const dt_awaited *a) DT_MUST_USE;
/* WORKER_GONE: this rank is known to be lost. */
dt_status *dt_peers_gone(const dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) DT_MUST_USE;

#endif
