/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data-centre network between slices. Every chip has a share of its rate (dt_chip.dcn_Bps) and
 * sends directly to the chips at the same place in other slices. The network is slow, so an
 * all-reduce over several slices sends little over it: the reduce-scatter and the all-gather use
 * the links of each slice, and in between each chip reduces only its part, V / chips, over the
 * network.
 *
 * The caller decides whether this overlaps with other work.
 */
#ifndef DT_COLL_DCN_H
#define DT_COLL_DCN_H

#include "coll/exchange.h"

/* The time in seconds of a collective between the chips at the same place of `slices` slices.
 * `bytes` is the size of each chip's buffer (for an all-gather, of the gathered buffer). False: the
 * network of this chip's slices is not known. */
bool dt_dcn_price(const dt_chip *chip, int slices, dt_collective c, double bytes, double *seconds);

#endif
