/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels: DT_KERNEL(name), one row each, in lib/exec/kernel_*.c. The first that fits a node computes it. */
DT_KERNEL(dot) DT_KERNEL(dot_batch) DT_KERNEL(convolution) DT_KERNEL(kernel_gradient) DT_KERNEL(kernel_gradient_part)
DT_KERNEL(reduce_rows) DT_KERNEL(reduce_columns) DT_KERNEL(reduce_all) DT_KERNEL(deviations) DT_KERNEL(segment_sum) DT_KERNEL(segment_extreme) DT_KERNEL(segment_repeat) DT_KERNEL(argmax)
DT_KERNEL(slice) DT_KERNEL(concatenate) DT_KERNEL(pad) DT_KERNEL(transpose) DT_KERNEL(broadcast) DT_KERNEL(rows_part) DT_KERNEL(rows_join)
DT_KERNEL(reduce_inside) DT_KERNEL(reverse) DT_KERNEL(reduce_window) DT_KERNEL(select_and_scatter)
DT_KERNEL(softmax) DT_KERNEL(entropy) DT_KERNEL(entropy_grad) DT_KERNEL(attention) DT_KERNEL(attention_grad)
DT_KERNEL(layer_norm) DT_KERNEL(layer_norm_grad) DT_KERNEL(layer_norm_scale_grad) DT_KERNEL(scatter_add)
DT_KERNEL(random) DT_KERNEL(tree) DT_KERNEL(tree_by_eval) DT_KERNEL(tree_part) DT_KERNEL(tree_part_by_eval) DT_KERNEL(join) DT_KERNEL(worker_rows) DT_KERNEL(alias) DT_KERNEL(barrier)
