/* SPDX-License-Identifier: Apache-2.0 */
/* The table of collectives over devices: DT_ACROSS(name), one row per file of lib/op/across. No
 * include guard. */
DT_ACROSS(all_reduce)
DT_ACROSS(all_gather)
DT_ACROSS(reduce_scatter)
DT_ACROSS(all_to_all)
DT_ACROSS(collective_permute)
DT_ACROSS(own_part)
DT_ACROSS(transfer)
DT_ACROSS(own_start)
DT_ACROSS(gather_part)
DT_ACROSS(rows_part)
DT_ACROSS(rows_join)
