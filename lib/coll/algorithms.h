/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms of collectives: one file coll/NAME.c each. No include guard: expanded wherever a form
 * of the table is wanted. */
DT_ALGORITHM(ring)
DT_ALGORITHM(two_way_ring)
DT_ALGORITHM(line)
DT_ALGORITHM(halving)
#undef DT_ALGORITHM
