/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of rows, in the order of the report: DT_ROW_KIND(name) is dt_row_kind_name. No include
 * guard. */
DT_ROW_KIND(compiler_estimate)
DT_ROW_KIND(measured_op)
DT_ROW_KIND(train_step)
DT_ROW_KIND(train_throughput)
DT_ROW_KIND(time_to_train)
DT_ROW_KIND(compiler_memory)
