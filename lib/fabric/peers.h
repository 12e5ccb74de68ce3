/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are processes: what they tell each other when they meet, and whether those of this
 * machine still live. */
#ifndef DT_FABRIC_PEERS_H
#define DT_FABRIC_PEERS_H

#include "fabric/fabric.h"

typedef struct dt_peer_card {
    char host[64];
    uint64_t space; /* of process numbers: containers have their own */
    int64_t pid;
} dt_peer_card;

typedef struct dt_peers {
    dt_peer_card *card; /* [ranks]; NULL: they have not met yet */
    int64_t looked_ns;
} dt_peers;

/* Every rank's card, by messages of m. */
dt_status *dt_peers_meet(dt_peers *p, dt_member *m) DT_MUST_USE;
void dt_peers_release(dt_peers *p);
/* Ranks of this machine, this one among them. */
int dt_peers_here(const dt_peers *p, const dt_member *m);
/* WORKER_GONE naming a rank of this machine that is dead; looks ten times a second, and not when it
 * is called sooner. peer: the rank that is awaited. */
dt_status *dt_peers_look(dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) DT_MUST_USE;
/* WORKER_LATE: the deadline has come; a rank of this machine that is stopped is named before the
 * one that is awaited. */
dt_status *dt_peers_late(const dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) DT_MUST_USE;
/* WORKER_GONE: this rank is known to be lost. */
dt_status *dt_peers_gone(const dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) DT_MUST_USE;

#endif
