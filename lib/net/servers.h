/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers: threads of one process that send weights to workers and receive their answers
 * over inherited sockets. Each thread moves its own slices of both. Weights are sent from a copy
 * that does not change, so all slices that a worker gets have the same version. An answer is
 * returned when all servers have received their slices.
 *
 *     coordinator                          worker                          coordinator
 *     give ──▶ server 0 ══ link 0 ══▶ ┐                       ┌ ══ link 0 ══▶ server 0 ──▶ next
 *              server 1 ══ link 1 ══▶ ┴ pull ── work ── push ─┴ ══ link 1 ══▶ server 1
 */
#ifndef DT_NET_SERVERS_H
#define DT_NET_SERVERS_H

#include "net/carrier.h"

/* Starts a thread for each server. `slices` is lent. Workers are numbered from 0 to workers - 1. */
dt_status *dt_servers_open(dt_carrier **out, const dt_byte_ranges *slices, int workers) DT_MUST_USE;
/* Adds a worker with its links: non-blocking streams, one for each server. They are closed at the
 * end. First waits until the links of an earlier process with this number are closed, and drops
 * arrivals of it that dt_carrier_next has not returned. */
void dt_servers_add(dt_carrier *servers, int worker, const int *link);

/* Makes the worker's end of the links that dt_servers_add takes. fd: one blocking stream for each
 * server; lent. */
dt_worker_link dt_links_join(int worker, const int *fd, const dt_byte_ranges *slices);

#endif
