/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers: threads of one process that send weights to workers and receive their answers
 * over inherited sockets. Each thread moves its slices of both. Weights are
 * sent from a copy that does not change, so the slices that a worker gets are always of the same
 * version, and an answer is handed over when all servers have received their slices.
 *
 *     coordinator ── dt_carrier_give ──▶ server 0 ══ link 0 ══▶ ┐                       ┌ ══ link 0 ══▶ server 0 ── dt_carrier_next ──▶ coordinator
 *                                        server 1 ══ link 1 ══▶ ┴ pull ── work ── push ─┴ ══ link 1 ══▶ server 1
 */
#ifndef DT_NET_SERVERS_H
#define DT_NET_SERVERS_H

#include "net/carrier.h"

/* Slices are lent. Workers have numbers below `workers`. */
dt_status *dt_servers_open(dt_carrier **out, const dt_extents *slices, int workers) DT_MUST_USE;
/* Takes the links, one for each server: non-blocking streams. Drops the arrivals of an earlier
 * process of that number that dt_carrier_next has not returned. */
void dt_servers_add(dt_carrier *servers, int worker, const int *link);

/* The worker's side of such links, which are blocking streams and lent. */
dt_worker_link dt_links_join(int worker, const int *fd, const dt_extents *slices);

#endif
