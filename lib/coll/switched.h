/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of collectives on a cluster (topo/cluster.c). */
#ifndef DT_COLL_SWITCHED_H
#define DT_COLL_SWITCHED_H

#include "coll/exchange.h"

/* dt_exchange_price_of for hosts and devices that are joined by switches. ideal_s and textbook_s
 * are set to `seconds`, since only one algorithm is priced. */
void dt_switched_price(const dt_exchange *x, dt_exchange_price *out);

#endif
