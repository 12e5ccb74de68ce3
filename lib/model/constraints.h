/* SPDX-License-Identifier: Apache-2.0 */
/* The table of constraints: DT_CONSTRAINT_ROW(name), in files of lib/model/constraint. No include
 * guard. */
DT_CONSTRAINT_ROW(max_norm)
DT_CONSTRAINT_ROW(non_neg)
DT_CONSTRAINT_ROW(unit_norm)
DT_CONSTRAINT_ROW(min_max_norm)
