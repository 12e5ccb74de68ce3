/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of collectives on a cluster (topo/cluster.c). */
#ifndef DT_COLL_SWITCHED_H
#define DT_COLL_SWITCHED_H

#include "coll/exchange.h"

/* Computes the cost of an exchange between devices and hosts that are joined by switches. ideal_s
 * and textbook_s are set to `seconds`, since there is only one algorithm. */
void dt_switched_price(const dt_collective_request *x, dt_exchange_price *out);

#endif
