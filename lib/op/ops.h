/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ops: DT_OP(name), one row per file of lib/op. No include guard: expanded wherever a form of it is wanted. */
DT_OP(parameter) DT_OP(variable) DT_OP(constant) DT_OP(iota)
DT_OP(add) DT_OP(subtract) DT_OP(multiply) DT_OP(divide) DT_OP(maximum) DT_OP(minimum) DT_OP(power)
DT_OP(negate) DT_OP(exponential) DT_OP(log) DT_OP(sqrt) DT_OP(rsqrt) DT_OP(abs) DT_OP(sign) DT_OP(tanh) DT_OP(logistic) DT_OP(erf)
DT_OP(log_plus_one) DT_OP(exponential_minus_one) DT_OP(cosine) DT_OP(sine)
DT_OP(compare) DT_OP(select) DT_OP(convert) DT_OP(reduce_precision) DT_OP(stop_gradient) DT_OP(optimization_barrier)
DT_OP(broadcast_in_dim) DT_OP(reshape) DT_OP(transpose) DT_OP(reduce) DT_OP(dot_general) DT_OP(argmax) DT_OP(get_dimension_size)
DT_OP(pad) DT_OP(slice) DT_OP(concatenate) DT_OP(reverse) DT_OP(convolution) DT_OP(reduce_window) DT_OP(select_and_scatter)
DT_OP(softmax) DT_OP(softmax_cross_entropy) DT_OP(softmax_cross_entropy_grad)
DT_OP(attention) DT_OP(attention_grad) DT_OP(layer_norm) DT_OP(layer_norm_grad) DT_OP(layer_norm_scale_grad) DT_OP(gelu) DT_OP(gelu_grad)
DT_OP(gather) DT_OP(scatter_add)
DT_OP(replica_id) DT_OP(example_id) DT_OP(random) DT_OP(all_reduce) DT_OP(sharding)
DT_OP(segment_reduce) DT_OP(segment_dot_general) DT_OP(segment_convolution) DT_OP(segment_broadcast) DT_OP(segment_sizes) DT_OP(tree_sum)
