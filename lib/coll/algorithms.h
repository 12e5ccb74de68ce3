/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms of collectives: one file coll/NAME.c each. There is no include guard: each user
 * defines DT_ALGORITHM in its own way and includes this file. */
DT_ALGORITHM(ring)
DT_ALGORITHM(two_way_ring)
DT_ALGORITHM(line)
DT_ALGORITHM(halving)
#undef DT_ALGORITHM
