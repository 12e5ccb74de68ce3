/* SPDX-License-Identifier: Apache-2.0 */
/* The table of constraints: DT_CONSTRAINT_ROW(name), in files of lib/model/constraint. Included
 * several times, with DT_CONSTRAINT_ROW defined by each user. */
DT_CONSTRAINT_ROW(max_norm)
DT_CONSTRAINT_ROW(non_neg)
DT_CONSTRAINT_ROW(unit_norm)
DT_CONSTRAINT_ROW(min_max_norm)
