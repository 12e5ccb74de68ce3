/* The table of ops: DT_OP(name), one row per file of lib/op. No include guard: expanded wherever a form of it is wanted. */
DT_OP(parameter) DT_OP(variable) DT_OP(constant) DT_OP(iota)
DT_OP(add) DT_OP(subtract) DT_OP(multiply) DT_OP(divide) DT_OP(maximum) DT_OP(minimum) DT_OP(power)
DT_OP(negate) DT_OP(exponential) DT_OP(log) DT_OP(sqrt) DT_OP(rsqrt) DT_OP(abs) DT_OP(sign) DT_OP(tanh) DT_OP(logistic)
DT_OP(compare) DT_OP(select) DT_OP(convert)
DT_OP(broadcast_in_dim) DT_OP(reshape) DT_OP(transpose) DT_OP(reduce) DT_OP(dot_general) DT_OP(argmax) DT_OP(get_dimension_size)
DT_OP(softmax) DT_OP(softmax_cross_entropy) DT_OP(softmax_cross_entropy_grad)
DT_OP(replica_id) DT_OP(all_reduce)
DT_OP(segment_reduce) DT_OP(segment_dot_general) DT_OP(segment_broadcast) DT_OP(segment_sizes) DT_OP(tree_sum)
