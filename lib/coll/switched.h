/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective costs on a cluster (topo/cluster.c). */
#ifndef DT_COLL_SWITCHED_H
#define DT_COLL_SWITCHED_H

#include "coll/exchange.h"

/* dt_exchange_price_of on hosts and devices that switches join. Nothing is known of other ways to
 * do it: ideal_s and textbook_s are `seconds`. */
void dt_switched_price(const dt_exchange *x, dt_exchange_price *out);

#endif
