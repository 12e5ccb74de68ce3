/* SPDX-License-Identifier: Apache-2.0 */
/* For fabrics whose ranks are processes. Ranks exchange their host names and process ids at the
 * start, so that each can check whether the others on its machine are alive. */
#ifndef DT_NET_PEERS_H
#define DT_NET_PEERS_H

#include "net/fabric.h"

typedef struct dt_peers {
    /* [ranks] the identity of each rank's process; NULL: they have not been exchanged yet */
    struct identity *identity;
    int64_t looked_ns;
    /* The length of the wait when it was last reported, in seconds; 0: it was not reported. */
    double told_s;
} dt_peers;

/* A message that a rank waits for. */
typedef struct dt_awaited {
    int peer;
    const dt_tag *tag;
    size_t n;
    int64_t since_ns;
} dt_awaited;

/* Exchanges identities with all ranks, by messages of m. */
dt_status *dt_peers_meet(dt_peers *p, dt_member *m) DT_MUST_USE;
void dt_peers_release(dt_peers *p);
/* Waits until all ranks have called this function, so that a rank that ends earlier counts as
 * failed. Does not wait, or stops waiting, if a rank is lost or late. Then does what
 * dt_peers_release does. */
void dt_peers_part(dt_peers *p, dt_member *m);
/* Whether this machine has at least as many cores as ranks of the group run on it. */
bool dt_peers_have_cores(const dt_peers *p, const dt_member *m);
/* Call this repeatedly while waiting for a message. At most ten times a second it checks the
 * processes on this machine, and fails with WORKER_GONE if that of a rank is dead, which the error
 * names. Fails with WORKER_LATE if m->patience_s seconds have passed. Calls m->say to report the
 * silent rank after 5 s, and again whenever the wait has doubled. If a rank on this machine is
 * stopped, it is named instead of the awaited one. */
dt_status *dt_peers_wait(dt_peers *p, const dt_member *m, const dt_awaited *a) DT_MUST_USE;
/* Returns a WORKER_GONE error for a rank that is known to be lost. */
dt_status *dt_peers_gone(const dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) DT_MUST_USE;

#endif
