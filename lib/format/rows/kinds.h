/* SPDX-License-Identifier: Apache-2.0 */
/* The table of forms in which rows are written: DT_ROW_KIND(name), dt_row_<name>. */
DT_ROW_KIND(csv) DT_ROW_KIND(npy) DT_ROW_KIND(npz) DT_ROW_KIND(jsonl)
