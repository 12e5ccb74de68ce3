/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops, each with the kernel that it must get: on shapes that a kernel takes, and on their
 * neighbours that it must leave to others ("eval"). Ops of integers, convolutions, attention,
 * normalization, pooling and segments are made here, the others in kernel_algebra.h. */
#ifndef TESTS_EXEC_KERNEL_ROWS_H
#define TESTS_EXEC_KERNEL_ROWS_H

#include "kernel_algebra.h"

/* ---- integers ---- */

static dt_value shifted_labels(setting *s) {
    return dt_multiply(dt_subtract(s->label, dt_like(s->label, 3)), dt_like(s->label, 1 << 30));
}
static dt_value wrapped_bytes(setting *s) { return dt_subtract(s->byte, dt_like(s->byte, 3)); }
static dt_value equal_bytes(setting *s) {
    return dt_compare(s->byte, dt_reverse(s->byte, 2), DT_EQ);
}
static dt_value chosen_bytes(setting *s) {
    return dt_select(dt_compare(s->byte, dt_like(s->byte, 2), DT_LE), s->byte, dt_like(s->byte, 9));
}
static dt_value far_apart(setting *s) {
    dt_value x = dt_subtract(s->wide_label, dt_like(s->wide_label, 2));
    return dt_sign(dt_maximum(dt_negate(x), dt_minimum(dt_abs(x), dt_like(x, 1))));
}
static dt_value whole_logits(setting *s) { return dt_convert(dt_sqrt(s->logits), DT_INT32); }
static dt_value bytes_of_logits(setting *s) {
    return dt_convert(dt_multiply(s->logits, dt_like(s->logits, 300)), DT_UINT8);
}
static dt_value wide_floats(setting *s) { return dt_convert(s->wide_label, DT_FLOAT32); }
static dt_value counted(setting *s, dt_dtype d, int axis) {
    dt_type t = dt_type_of(d, 3, (int64_t[]){-1, 3, 5});
    return dt_iota(s->t, &t, axis);
}
static dt_value rows_counted(setting *s) { return counted(s, DT_INT32, 0); }
static dt_value columns_counted(setting *s) { return counted(s, DT_INT64, 2); }
static dt_value floats_counted(setting *s) { return counted(s, DT_FLOAT32, 1); }

/* Images (B,3,4,1) under the matrix as a window (6,1), with room at the edges: several tiles of
 * rows. */
static dt_value convolved(setting *s, dt_window w, int64_t inputs) {
    dt_convolution_attr a = dt_convolution_channels_last(2);
    dt_value x = dt_reshape(s->cube, 4, (int64_t[]){-1, 3, 4 / inputs, inputs});
    a.window[0] = a.window[1] = w;
    return dt_convolution(x, dt_reshape(s->matrix, 4, (int64_t[]){6 / inputs, 1, inputs, 7}), &a);
}
static dt_value convolution(setting *s) { return convolved(s, (dt_window){1, 6, 6, 1, 1}, 1); }
static dt_value convolution_with_strides(setting *s) {
    return convolved(s, (dt_window){3, 4, 5, 1, 2}, 2);
}
static dt_value convolution_of_stretched(setting *s) {
    return convolved(s, (dt_window){1, -1, 4, 3, 1}, 1);
}
static dt_value convolution_in_groups(setting *s) {
    dt_convolution_attr a = dt_convolution_channels_last(1);
    a.feature_groups = 2;
    return dt_convolution(s->cube, dt_reshape(s->square, 3, (int64_t[]){3, 2, 6}), &a);
}
static dt_value convolution_outputs_first(setting *s) {
    dt_convolution_attr a = dt_convolution_channels_last(1);
    a.rhs_out = 0;
    a.rhs_spatial[0] = 2;
    return dt_convolution(s->cube, dt_reshape(s->square, 3, (int64_t[]){3, 4, 3}), &a);
}
/* As the gradient of a kernel: sums over examples and places, several tiles of both. */
static dt_convolution_attr over_rows(setting *s, dt_value in[2]) {
    dt_convolution_attr a = dt_convolution_channels_last(1);
    in[0] = dt_reshape(s->cube, 3, (int64_t[]){-1, 12, 1});
    in[1] =
        dt_multiply(dt_reshape(dt_tanh(s->cube), 3, (int64_t[]){-1, 12, 1}), dt_like(in[0], 0.125));
    a.lhs_batch = 2;
    a.lhs_feature = a.rhs_in = a.out_spatial[0] = 0;
    a.rhs_spatial[0] = a.out_batch = 1;
    a.window[0] = (dt_window){1, 60, 60, 1, 1};
    return a;
}
static dt_value convolution_over_rows(setting *s) {
    dt_value in[2];
    dt_convolution_attr a = over_rows(s, in);
    return dt_convolution(in[0], in[1], &a);
}
static dt_value part_of_convolution(setting *s) {
    dt_value in[2];
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.convolution = over_rows(s, in);
    a.cut = DT_CUT_TILES;
    a.count = 3;
    return dt_emit(s->t, &dt_op_segment_convolution, in, 2, &a);
}

/* Attention of 72 steps over 72: two blocks of queries. The steps of an example are its cube,
 * repeated and shifted. */
static dt_value steps(setting *s, double shift, int64_t size) {
    dt_type wide = dt_type_of(DT_FLOAT32, 5, (int64_t[]){-1, 24, 3, 2, 2}),
            number = dt_type_of(DT_FLOAT32, 5, (int64_t[]){-1, 24, 3, 2, 2});
    dt_value x = dt_reshape(s->cube, 4, (int64_t[]){-1, 3, 2, 2});
    x = dt_broadcast_in_dim(x, &wide, (int8_t[]){0, 2, 3, 4});
    number.dtype = DT_INT32;
    dt_value wave = dt_cosine(
        dt_multiply(dt_convert(dt_iota(s->t, &number, 1), DT_FLOAT32), dt_like(x, shift)));
    x = dt_reshape(dt_multiply(x, wave), 4, (int64_t[]){-1, 72, 2, 2});
    return size == 2 ? x : dt_concatenate((dt_value[]){x, dt_tanh(x)}, 2, 3);
}
static dt_value attended(setting *s, dt_attention_how how) {
    how.scale = 0.7;
    return dt_attention(steps(s, 0.3, 2), steps(s, 0.7, 2), steps(s, 1.1, 4), &how);
}
static dt_value attention(setting *s) { return attended(s, (dt_attention_how){0}); }
static dt_value causal_attention(setting *s) {
    return attended(s, (dt_attention_how){.causal = true});
}
static dt_value near_attention(setting *s) { return attended(s, (dt_attention_how){.window = 40}); }
static dt_value near_causal_attention(setting *s) {
    return attended(s, (dt_attention_how){.causal = true, .window = 3});
}
static dt_value near_attention_with_sinks(setting *s) {
    return attended(s, (dt_attention_how){.causal = true, .window = 3, .sinks = 2});
}
/* each query three steps ahead: the last ones see nothing */
static dt_value placed_attention(setting *s) {
    dt_value at = dt_positions(steps(s, 0.3, 2));
    return attended(s, (dt_attention_how){.window = 2, .position = dt_add(at, dt_like(at, 3))});
}
static dt_value one_head(dt_value x) { return dt_slice_axis(x, 2, 1, 1, 1); }
static dt_value grouped_attention(setting *s) /* one head of keys answers both of queries */
{
    dt_attention_how how = {.scale = 0.7, .causal = true};
    return dt_attention(steps(s, 0.3, 2), one_head(steps(s, 0.7, 2)), one_head(steps(s, 1.1, 4)),
                        &how);
}
static dt_value attention_of_one(setting *s) /* no dimension of examples: left alone */
{
    dt_value x = dt_reshape(s->square, 3, (int64_t[]){6, 2, 3});
    return dt_attention(x, x, x, &(dt_attention_how){.scale = 1});
}
static dt_value gradient_of_attention(setting *s, const dt_value *x, dt_attention_how how, int of) {
    dt_value dx[3];
    how.scale = 0.7;
    dt_value y = dt_attention(x[0], x[1], x[2], &how);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, dt_tanh(y)), DT_NO_AXIS), x, 3, dx);
    dt_return(s->t, "another", dx[(of + 1) % 3]); /* made at once with it */
    return dx[of];
}
static dt_value attention_grad_of(setting *s, dt_attention_how how, int of) {
    return gradient_of_attention(
        s, (dt_value[]){steps(s, 0.3, 2), steps(s, 0.7, 2), steps(s, 1.1, 4)}, how, of);
}
static dt_value grouped_grad_of(setting *s, int of) {
    const dt_value x[] = {steps(s, 0.3, 2), one_head(steps(s, 0.7, 2)), one_head(steps(s, 1.1, 4))};
    return gradient_of_attention(s, x, (dt_attention_how){.causal = true}, of);
}
static dt_value grouped_grad_of_query(setting *s) { return grouped_grad_of(s, 0); }
static dt_value grouped_grad_of_key(setting *s) { return grouped_grad_of(s, 1); }
static dt_value grouped_grad_of_value(setting *s) { return grouped_grad_of(s, 2); }
static dt_value attention_grad_of_query(setting *s) {
    return attention_grad_of(s, (dt_attention_how){.causal = true}, 0);
}
static dt_value attention_grad_of_key(setting *s) {
    return attention_grad_of(s, (dt_attention_how){.causal = true, .window = 90}, 1);
}
static dt_value attention_grad_of_value(setting *s) {
    return attention_grad_of(s, (dt_attention_how){0}, 2);
}
static dt_value grad_of_key_with_sinks(setting *s) {
    return attention_grad_of(s, (dt_attention_how){.causal = true, .window = 3, .sinks = 2}, 1);
}
static dt_value lonely_grad(setting *s) {
    dt_value x = steps(s, 0.3, 2), at = dt_positions(x), in[5] = {x, x, x, x, at};
    dt_attention_attr a;
    memset(&a, 0, sizeof a);
    a.scale = 0.3;
    a.of = 2;
    return dt_emit(s->t, &dt_op_attention_grad, in, 5, &a);
}
static dt_value four(setting *s) {
    return dt_reshape(dt_slice_axis(s->vector, 0, 1, 4, 1), 1, (int64_t[]){4});
}
static dt_value normed(setting *s) {
    return dt_layer_norm(s->cube, four(s), dt_tanh(four(s)), 1e-3);
}
static dt_value normed_rows(setting *s) {
    return dt_layer_norm(s->rows, s->vector, dt_tanh(s->vector), 1e-3);
}
static dt_value normed_vector(setting *s) {
    return dt_layer_norm(s->vector, s->vector, s->vector, 1e-3);
}
static dt_value normed_wide(setting *s) /* more features than chains of sums */
{
    dt_value x = dt_reshape(steps(s, 0.3, 2), 2, (int64_t[]){-6, 48}),
             one = dt_splat(s->t, &(dt_type){DT_FLOAT32, 1, {48}}, 1);
    return dt_layer_norm(x, one, one, 1e-3);
}
static dt_value norm_gradient(setting *s, int of) {
    dt_value x[3] = {s->cube, four(s), dt_tanh(four(s))}, dx[3],
             y = dt_layer_norm(x[0], x[1], x[2], 1e-3);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), x, 3, dx);
    return dx[of];
}
static dt_value norm_grad(setting *s) { return norm_gradient(s, 0); }
static dt_value norm_scale_grad(setting *s) {
    return dt_emit(s->t, &dt_op_layer_norm_scale_grad, (dt_value[]){s->rows, dt_tanh(s->rows)}, 2,
                   &(dt_norm_attr){1e-3});
}
static dt_value scattered(setting *s) { return dt_scatter_add(dt_tanh(s->rows), s->label, 5); }
static dt_value scattered_by_int64(setting *s) {
    return dt_scatter_add(dt_tanh(s->cube), s->wide_label, 4);
}
static dt_value scattered_bytes(setting *s) { return dt_scatter_add(s->byte, s->label, 4); }

static dt_value turned_round(setting *s) { return dt_reverse(s->cube, 4); }
static dt_value turned_over(setting *s) { return dt_reverse(s->cube, 6); }
static dt_value upside_down(setting *s) { return dt_reverse(s->matrix, 1); }

/* Images (B,3,2,2), windows of 2 x 2 that overlap, with room at the edges. */
static dt_reduce_window_attr windows(dt_reduce_kind kind, int64_t stride) {
    dt_reduce_window_attr a = dt_windows_of_one(kind, 4);
    a.size[1] = a.size[2] = 2;
    a.window[1] = (dt_window){stride, 1, 1, 1, 1};
    a.window[2] = (dt_window){1, 0, 2, 1, 1};
    return a;
}
static dt_value under_windows(setting *s, dt_reduce_kind kind, int64_t stride) {
    dt_reduce_window_attr a = windows(kind, stride);
    return dt_reduce_window(dt_reshape(s->cube, 4, (int64_t[]){-1, 3, 2, 2}), &a);
}
static dt_value pooled(setting *s) { return under_windows(s, DT_REDUCE_MAX, 2); }
static dt_value pooled_minima(setting *s) { return under_windows(s, DT_REDUCE_MIN, 1); }
static dt_value pooled_sums(setting *s) { return under_windows(s, DT_REDUCE_SUM, 1); }
static dt_value pooled_channels(setting *s) {
    dt_reduce_window_attr a = dt_windows_of_one(DT_REDUCE_MAX, 3);
    a.size[2] = 2;
    return dt_reduce_window(s->cube, &a);
}
static dt_value given_back(setting *s, dt_reduce_kind kind, bool ties) {
    dt_value x = dt_reshape(ties ? dt_sign(s->cube) : s->cube, 4, (int64_t[]){-1, 3, 2, 2});
    dt_reduce_window_attr a = windows(kind, 1);
    dt_value y = dt_reduce_window(x, &a);
    return dt_emit(s->t, &dt_op_select_and_scatter, (dt_value[]){x, dt_tanh(y)}, 2, &a);
}
static dt_value of_maxima(setting *s) { return given_back(s, DT_REDUCE_MAX, false); }
static dt_value of_tied_maxima(setting *s) { return given_back(s, DT_REDUCE_MAX, true); }
static dt_value of_minima(setting *s) { return given_back(s, DT_REDUCE_MIN, false); }

/* Images (B,3,4,37): more channels than the vectors of any processor have elements. Some have NaN
 * where x is negative. */
static dt_value many_channels(setting *s) {
    dt_value x = dt_reshape(s->cube, 4, (int64_t[]){-1, 3, 4, 1}), channel[37];
    for (int k = 0; k < 37; k++)
        channel[k] = k % 5 == 4   ? dt_sign(x)
                     : k % 7 == 6 ? dt_sqrt(x)
                                  : dt_multiply(x, dt_like(x, k % 3 - 1.5));
    return dt_concatenate(channel, 37, 3);
}
/* Windows of 3 x 2. Without `overlap`, each element is in one of them. */
static dt_reduce_window_attr without_padding(dt_reduce_kind kind, bool overlap) {
    dt_reduce_window_attr a = dt_windows_of_one(kind, 4);
    a.size[1] = 3, a.size[2] = 2;
    a.window[1] = (dt_window){3, 0, 0, 1, 1};
    a.window[2] = (dt_window){overlap ? 1 : 2, 0, 0, 1, 1};
    return a;
}
static dt_value pooled_many(setting *s, dt_reduce_kind kind, bool overlap) {
    dt_reduce_window_attr a = without_padding(kind, overlap);
    return dt_reduce_window(many_channels(s), &a);
}
static dt_value many_maxima(setting *s) { return pooled_many(s, DT_REDUCE_MAX, true); }
static dt_value many_minima(setting *s) { return pooled_many(s, DT_REDUCE_MIN, false); }
static dt_value many_sums(setting *s) { return pooled_many(s, DT_REDUCE_SUM, true); }
static dt_value given_many(setting *s, dt_reduce_kind kind, bool overlap) {
    dt_reduce_window_attr a = without_padding(kind, overlap);
    dt_value x = many_channels(s), y = dt_reduce_window(x, &a);
    return dt_emit(s->t, &dt_op_select_and_scatter, (dt_value[]){x, dt_tanh(y)}, 2, &a);
}
static dt_value of_many_maxima(setting *s) { return given_many(s, DT_REDUCE_MAX, true); }
static dt_value of_separate_maxima(setting *s) { return given_many(s, DT_REDUCE_MAX, false); }
static dt_value of_separate_minima(setting *s) { return given_many(s, DT_REDUCE_MIN, false); }

/* Fused, both of them. */
static dt_value spread_inside(setting *s) {
    dt_type to = dt_type_of(DT_FLOAT32, 4, (int64_t[]){-1, 3, 5, 6});
    return dt_tanh(dt_broadcast_in_dim(s->rows, &to, (int8_t[DT_MAX_RANK]){0, 3}));
}
static dt_value parts_of_sum(setting *s) {
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_TILES;
    a.count = 3;
    a.reduce = (dt_reduce_attr){DT_REDUCE_SUM, 3};
    dt_value x = dt_tanh(s->cube);
    return dt_emit(s->t, &dt_op_segment_reduce, &x, 1, &a);
}
static dt_value deviations_of(dt_value x, uint32_t dims) {
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_TILES;
    a.count = 3;
    a.reduce = (dt_reduce_attr){DT_REDUCE_SUM, dims};
    return dt_emit(x.trace, &dt_op_segment_deviations, &x, 1, &a);
}
static dt_value deviations(setting *s) { return deviations_of(dt_tanh(s->cube), 3); }
static dt_value deviations_of_rows(setting *s) { return deviations_of(s->rows, 1); }
static dt_value deviations_inside(setting *s) { return deviations_of(dt_tanh(s->cube), 5); }

/* (6) -> (B,6,7) */
static dt_value repeated_in(setting *s, dt_value x) {
    dt_type to = dt_type_of(dt_type_of_value(x).dtype, 3,
                            (int64_t[]){dt_type_of_value(s->rows).dim[0], 6, 7});
    return dt_broadcast_in_dim(x, &to, (int8_t[DT_MAX_RANK]){1});
}

static dt_value repeated_inside(setting *s) { return repeated_in(s, s->vector); }
static dt_value repeated_bytes(setting *s) {
    return repeated_in(s, dt_convert(s->vector, DT_UINT8));
}

/* (B,6) -> (B,50,30,6,2): a long item, and short ones within it. */
static dt_value repeated_around(setting *s) {
    const dt_type to =
        dt_type_of(DT_FLOAT32, 5, (int64_t[]){dt_type_of_value(s->rows).dim[0], 50, 30, 6, 2});
    return dt_broadcast_in_dim(s->rows, &to, (int8_t[DT_MAX_RANK]){0, 3});
}
/* (B,20,3) -> (B,3,4,20): turned, so that what repeats is not what follows it. */
static dt_value repeated_turned(setting *s) {
    const int64_t rows = dt_type_of_value(s->rows).dim[0];
    const dt_type of = dt_type_of(DT_FLOAT32, 3, (int64_t[]){rows, 20, 3}),
                  to = dt_type_of(DT_FLOAT32, 4, (int64_t[]){rows, 3, 4, 20});
    dt_value x = dt_add(dt_iota(s->t, &of, 1), dt_iota(s->t, &of, 2));
    return dt_broadcast_in_dim(x, &to, (int8_t[DT_MAX_RANK]){0, 3, 1});
}

/* Of each of five segments. */
static dt_value segments_of(dt_value x, dt_reduce_attr how) {
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_SHARDS;
    a.count = n_shards;
    a.reduce = how;
    return dt_emit(x.trace, &dt_op_segment_reduce, &x, 1, &a);
}
static dt_value segment_sums(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_SUM, 3});
}
static dt_value segment_totals(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_SUM, 7});
}
static dt_value segment_sums_inside(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_SUM, 5});
}
static dt_value segment_maxima(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_MAX, 3});
}
static dt_value segment_minima(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_MIN, 3});
}
static dt_value segment_least(setting *s) {
    return segments_of(s->cube, (dt_reduce_attr){DT_REDUCE_MIN, 7});
}
static dt_value repeated_segments(setting *s) {
    dt_value x = segment_sums(s);
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = DT_CUT_SHARDS;
    a.count = n_shards;
    a.type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){-3, 4});
    return dt_emit(s->t, &dt_op_segment_broadcast, &x, 1, &a);
}

typedef struct row {
    const char *kernel; /* that the result's node must get */
    maker make;
} row;

static const row rows[] = {
    {"reverse", turned_round},
    {"reverse", turned_over},
    {"reverse", upside_down},
    {"reduce_window", pooled},
    {"reduce_window", pooled_minima},
    {"reduce_window", pooled_sums},
    {"eval", pooled_channels},
    {"select_and_scatter", of_maxima},
    {"select_and_scatter", of_tied_maxima},
    {"select_and_scatter", of_minima},
    {"reduce_window", many_maxima},
    {"reduce_window", many_minima},
    {"reduce_window", many_sums},
    {"select_and_scatter", of_many_maxima},
    {"select_and_scatter", of_separate_maxima},
    {"select_and_scatter", of_separate_minima},
    {"eval", spread_inside},
    {"broadcast", repeated_inside},
    {"broadcast", repeated_bytes},
    {"broadcast", repeated_around},
    {"broadcast", repeated_turned},
    {"segment_reduce", parts_of_sum},
    {"segment_reduce", segment_sums},
    {"segment_reduce", segment_totals},
    {"segment_reduce", segment_sums_inside},
    {"segment_reduce", segment_maxima},
    {"segment_reduce", segment_minima},
    {"segment_reduce", segment_least},
    {"segment_repeat", repeated_segments},
    {"deviations", deviations},
    {"deviations", deviations_of_rows},
    {"eval", deviations_inside},
    {"attention", attention},
    {"attention", causal_attention},
    {"attention", near_attention},
    {"attention", near_causal_attention},
    {"attention", near_attention_with_sinks},
    {"attention", grouped_attention},
    {"attention_grad", grouped_grad_of_query},
    {"attention_grad", grouped_grad_of_key},
    {"attention_grad", grouped_grad_of_value},
    {"attention", placed_attention},
    {"eval", attention_of_one},
    {"attention_grad", attention_grad_of_query},
    {"attention_grad", attention_grad_of_key},
    {"attention_grad", attention_grad_of_value},
    {"attention_grad", grad_of_key_with_sinks},
    {"attention_grad", lonely_grad},
    {"layer_norm", normed},
    {"layer_norm", normed_rows},
    {"layer_norm", normed_wide},
    {"eval", normed_vector},
    {"layer_norm_grad", norm_grad},
    {"layer_norm_scale_grad", norm_scale_grad},
    {"scatter_add", scattered},
    {"scatter_add", scattered_by_int64},
    {"eval", scattered_bytes},
    {"convolution", convolution},
    {"convolution", convolution_with_strides},
    {"convolution", convolution_of_stretched},
    {"kernel_gradient", convolution_over_rows},
    {"convolution", convolution_in_groups},
    {"kernel_gradient_part", part_of_convolution},
    {"eval", convolution_outputs_first},
    {"dot", product},
    {"dot", product_of_cube},
    {"dot", product_at_both_ends},
    {"dot", product_of_columns},
    {"dot", gradient},
    {"dot", product_with_vector},
    {"eval", product_of_vectors},
    {"dot", product_in_the_middle},
    {"dot", product_inside_images},
    {"dot_batch", product_by_rows},
    {"random", uniform_numbers},
    {"random", uniform_cubes},
    {"random", normal_numbers},
    {"dot_batch", product_of_heads},
    {"dot_batch", product_of_scores},
    {"dot_batch", product_of_turned},
    {"dot_batch", product_of_experts},
    {"dot_batch", gradient_of_experts},
    {"dot", product_of_two},
    {"eval", product_of_two_crossed},
    {"reduce", sums},
    {"reduce", maxima},
    {"reduce", minima},
    {"reduce", sums_inside},
    {"reduce", maxima_inside},
    {"reduce", minima_inside},
    {"eval", of_bytes},
    {"reduce", column_sums},
    {"reduce", column_sums_of_cube},
    {"reduce", column_maxima},
    {"reduce", sums_around},
    {"reduce", minima_around},
    {"reduce", sums_around_rows},
    {"reduce", sums_between},
    {"reduce", sums_by_turns},
    {"reduce", maxima_by_turns},
    {"reduce", sums_of_groups},
    {"reduce", total},
    {"reduce", top},
    {"reduce", bottom},
    {"softmax", softmax},
    {"softmax", softmax_of_cube},
    {"eval", softmax_of_vector},
    {"entropy", entropy},
    {"entropy", sparse_entropy},
    {"entropy", sparse_entropy_of_int64},
    {"entropy", entropy_of_cube},
    {"entropy", sparse_entropy_of_cube},
    {"entropy_grad", entropy_grad_of_cube},
    {"entropy_grad", entropy_grad},
    {"entropy_grad", sparse_entropy_grad},
    {"entropy_grad", sparse_entropy_grad_of_int64},
    {"alias", reshaped},
    {"barrier", behind_a_barrier},
    {"tree", tree_of_product},
    {"tree_by_eval", tree_of_row_pairs},
    {"tree_by_eval", tree_of_cubes},
    {"tree", tree_of_rows},
    {"tree", tree_of_pixels},
    {"tree_by_eval", tree_of_outer_dims},
    {"tree", tree_of_all},
    {"tree", tree_of_regrouped},
    {"tree_by_eval", tree_of_stacked},
    {"eval", tree_of_variable},
    {"tree_part", parts_of_product},
    {"tree_part_by_eval", parts_of_cubes},
    {"tree_part", parts_of_rows},
    {"tree_part", parts_of_all},
    {"join", joined_parts},
    {"worker_rows", rows_of_workers},
    {"eval", tree_of_numbers},
    {"transpose", turned},
    {"transpose", turned_cube},
    {"transpose", turned_bytes},
    {"transpose", turned_squares},
    {"transpose", turned_apart},
    {"transpose", turned_back},
    {"slice", sliced},
    {"slice", sliced_twice},
    {"slice", sliced_rows},
    {"slice", sliced_bytes},
    {"concatenate", joined},
    {"concatenate", joined_at_the_end},
    {"concatenate", joined_below},
    {"pad", padded},
    {"pad", padded_below},
    {"pad", cut_off},
    {"pad", all_cut_off},
    {"rows_part", part_of_rows},
    {"rows_join", joined_rows},
    {"argmax", best},
    {"argmax", best_of_cube},
    {"argmax", best_of_ties},
    {"argmax", best_with_nan},
    {"argmax", best_inside},
    {"eval", best_of_vector},
    {"argmax", best_byte},
    {"argmax", best_label},
    {"integers", shifted_labels},
    {"integers", wrapped_bytes},
    {"integers", equal_bytes},
    {"integers", chosen_bytes},
    {"integers", far_apart},
    {"integers", whole_logits},
    {"integers", bytes_of_logits},
    {"integers", wide_floats},
    {"iota", rows_counted},
    {"iota", columns_counted},
    {"iota", floats_counted},
};

#endif
