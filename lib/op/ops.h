/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of ops: the names of rows of lib/op, under the headings of the public header
 * (scripts/op-header). There is no include guard: each user defines the macros that it needs, of
 * those below, and includes this file; undefined ones expand to nothing.
 *
 *   DT_OP(name)           an op
 *   DT_UNARY(name)        an op with one input and no attributes: build.c makes dt_name(x)
 *   DT_BINARY(name)       one with two inputs: dt_name(a, b), which broadcasts as NumPy does
 *   DT_LOOP(name, y)      the executor's loop of an element-wise op over float32: y is an element
 *                         of the result as an expression in the inputs' elements X, Y and Z;
 *                         functions in it are those of exec/simd/math.h
 *   DT_VARIANT(name, y)   one more loop of the op of the preceding DT_LOOP, for other attributes;
 *                         forms.loop of the op's row chooses the loop
 *   DT_WHOLE(name, y)     like DT_LOOP, for integers and bools as int64: I, J and K are the inputs'
 *                         elements; DT_WHOLE_VARIANT(name, y) is like DT_VARIANT
 */
#ifndef DT_OP
#define DT_OP(name)
#endif
#ifndef DT_UNARY
#define DT_UNARY(name) DT_OP(name)
#endif
#ifndef DT_BINARY
#define DT_BINARY(name) DT_OP(name)
#endif
#ifndef DT_LOOP
#define DT_LOOP(name, y)
#endif
#ifndef DT_VARIANT
#define DT_VARIANT(name, y)
#endif
#ifndef DT_WHOLE
#define DT_WHOLE(name, y)
#endif
#ifndef DT_WHOLE_VARIANT
#define DT_WHOLE_VARIANT(name, y)
#endif

/* An op and its loop are kept on one line. */
/* clang-format off */
/* ---- numbers ---- */
DT_OP(parameter) DT_OP(variable) DT_OP(constant) DT_OP(iota)

/* ---- element by element ---- */
DT_BINARY(add) DT_LOOP(add, X + Y) DT_WHOLE(add, dt_int_add(I, J))
DT_BINARY(subtract) DT_LOOP(subtract, X - Y) DT_WHOLE(subtract, dt_int_subtract(I, J))
DT_BINARY(multiply) DT_LOOP(multiply, X * Y) DT_WHOLE(multiply, dt_int_multiply(I, J))
DT_BINARY(divide) DT_LOOP(divide, X / Y)
DT_BINARY(maximum) DT_LOOP(maximum, max_one(X, Y)) DT_WHOLE(maximum, larger(I, J))
DT_BINARY(minimum) DT_LOOP(minimum, min_one(X, Y)) DT_WHOLE(minimum, smaller(I, J))
DT_BINARY(power) DT_LOOP(power, power_one(X, Y))
DT_UNARY(negate) DT_LOOP(negate, -X) DT_WHOLE(negate, dt_int_subtract(0, I))
DT_UNARY(exponential) DT_LOOP(exponential, exp_one(X))
DT_UNARY(log) DT_LOOP(log, log_one(X))
DT_UNARY(sqrt) DT_LOOP(sqrt, sqrtf(X))
DT_UNARY(rsqrt) DT_LOOP(rsqrt, 1.0f / sqrtf(X))
DT_UNARY(abs) DT_LOOP(abs, fabsf(X)) DT_WHOLE(abs, I < 0 ? dt_int_subtract(0, I) : I)
DT_UNARY(sign) DT_LOOP(sign, X > 0 ? 1.0f : X < 0 ? -1.0f : X) DT_WHOLE(sign, (I > 0) - (I < 0))
DT_UNARY(tanh) DT_LOOP(tanh, tanh_one(X))
DT_UNARY(logistic) DT_LOOP(logistic, logistic_one(X))
DT_UNARY(erf) DT_LOOP(erf, erf_one(X))
DT_UNARY(log_plus_one) DT_LOOP(log_plus_one, log1p_one(X))
DT_UNARY(exponential_minus_one) DT_LOOP(exponential_minus_one, expm1_one(X))
DT_UNARY(cosine) DT_LOOP(cosine, cosine_one(X))
DT_UNARY(sine) DT_LOOP(sine, sine_one(X))
/* The variants of the loop are in the order of dt_direction. */
DT_OP(compare) DT_LOOP(compare, X == Y ? 1.0f : 0.0f)
DT_VARIANT(unequal, X != Y ? 1.0f : 0.0f) DT_VARIANT(less, X < Y ? 1.0f : 0.0f)
DT_VARIANT(less_equal, X <= Y ? 1.0f : 0.0f)
DT_VARIANT(greater, X > Y ? 1.0f : 0.0f) DT_VARIANT(greater_equal, X >= Y ? 1.0f : 0.0f)
DT_WHOLE(compare, I == J) DT_WHOLE_VARIANT(unequal, I != J) DT_WHOLE_VARIANT(less, I < J)
DT_WHOLE_VARIANT(less_equal, I <= J) DT_WHOLE_VARIANT(greater, I > J)
DT_WHOLE_VARIANT(greater_equal, I >= J)
DT_OP(select) DT_LOOP(select, X != 0 ? Y : Z) DT_WHOLE(select, I ? J : K)
DT_OP(convert) DT_WHOLE(convert, I)
DT_OP(reduce_precision) DT_LOOP(reduce_precision, bfloat16_one(X))
DT_VARIANT(float16_precision, float16_one(X))
DT_UNARY(stop_gradient) DT_OP(optimization_barrier)
DT_OP(gelu) DT_LOOP(gelu, gelu_one(X)) DT_VARIANT(near_gelu, near_gelu_one(X))
DT_OP(gelu_grad) DT_LOOP(gelu_grad, gelu_slope(X) * Y)
DT_VARIANT(near_gelu_grad, near_gelu_slope(X) * Y)

/* ---- shapes ---- */
DT_OP(broadcast_in_dim) DT_OP(reshape) DT_OP(transpose) DT_OP(get_dimension_size) DT_OP(pad)
DT_OP(slice) DT_OP(concatenate) DT_OP(reverse)

/* ---- over dimensions ---- */
DT_OP(reduce) DT_OP(argmax) DT_OP(reduce_window) DT_OP(select_and_scatter)
DT_UNARY(softmax) DT_OP(softmax_cross_entropy) DT_OP(softmax_cross_entropy_grad)
DT_OP(layer_norm) DT_OP(layer_norm_grad) DT_OP(layer_norm_scale_grad)

/* ---- products ---- */
DT_OP(dot_general) DT_OP(convolution) DT_OP(attention) DT_OP(attention_grad)

/* ---- rows of tables ---- */
DT_OP(gather) DT_OP(scatter_add)

/* ---- random numbers ---- */
DT_OP(example_id) DT_OP(random)

/* ---- replicas ---- */
DT_OP(replica_id) DT_OP(all_reduce) DT_OP(sharding)
DT_OP(segment_reduce) DT_OP(segment_deviations) DT_OP(segment_dot_general)
DT_OP(segment_convolution) DT_OP(segment_broadcast) DT_OP(segment_sizes)
DT_OP(tree_sum)

/* clang-format on */
#undef DT_OP
#undef DT_UNARY
#undef DT_BINARY
#undef DT_LOOP
#undef DT_VARIANT
#undef DT_WHOLE
#undef DT_WHOLE_VARIANT
