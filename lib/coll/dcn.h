/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data-centre network between slices. Every chip has a part of it (dt_chip.dcn_Bps), and sends
 * straight to the chips at the same place of other slices; there is no torus. So what goes over it
 * is best as small as can be: of an all-reduce over several slices the reduce-scatter and the
 * all-gather stay on the links of each slice, and only what a chip is left with in between, V /
 * chips, goes over the network.
 *
 * The caller decides whether this overlaps with other work.
 */
#ifndef DT_COLL_DCN_H
#define DT_COLL_DCN_H

#include "coll/exchange.h"

/* Seconds of a collective between chips at the same place of `slices` slices, each with `bytes` of
 * its own (of an all-gather: of all). False: nothing is known of such a network for this chip. */
bool dt_dcn_price(const dt_chip *chip, int slices, dt_collective c, double bytes, double *seconds);

#endif
