/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops, each with the kernel that it must get: on shapes that a kernel takes, and on their
 * neighbours that it must leave to others ("eval"). */
#ifndef TESTS_EXEC_KERNEL_ROWS_H
#define TESTS_EXEC_KERNEL_ROWS_H

#include "op/across.h"
#include "op/cells.h"
#include "op/workers.h"

typedef struct setting {
    dt_trace *t;
    /* (B,6) (B,3,4) (6) (6,7) (6,6) (B) (B) (B,5) (B,6) (B,5) */
    dt_value rows, cube, vector, matrix, square, label, wide_label, target, byte, logits;
} setting;

typedef dt_value (*maker)(setting *s);

typedef struct row {
    const char *kernel; /* that the result's node must get */
    maker make;
} row;

static dt_value dot(dt_value a, dt_value b, int left, int right) {
    dt_dot_attr attr = {
        .n_contract = 1, .lhs_contract = {(int8_t)left}, .rhs_contract = {(int8_t)right}};
    return dt_dot_general(a, b, &attr);
}

static dt_value dot_pairs(dt_value a, dt_value b, int left, int right) {
    dt_dot_attr attr = {.n_batch = 1,
                        .n_contract = 1,
                        .lhs_contract = {(int8_t)left},
                        .rhs_contract = {(int8_t)right}};
    return dt_dot_general(a, b, &attr);
}

static int n_shards = 5;

static dt_value shards_of(dt_value x, const dt_op *op, dt_value y, dt_segment_attr a) {
    dt_segment_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.cut = DT_CUT_SHARDS;
    attr.count = n_shards;
    attr.reduce = a.reduce;
    attr.dot = a.dot;
    dt_value partial = dt_emit(x.trace, op, (dt_value[]){x, y}, op->n_in, &attr);
    return dt_emit(x.trace, &dt_op_tree_sum, &partial, 1, NULL);
}

/* What a worker with shards 5 to 9 of 12 has: three nodes of their tree; and one that has all makes
 * of them. */
static dt_value parts_of(dt_value x, const dt_op *op, dt_value y, dt_segment_attr a) {
    const dt_shard_range own = {.shards = n_shards + 7, .first = n_shards, .count = n_shards};
    dt_segment_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.cut = DT_CUT_SHARDS;
    attr.count = n_shards;
    attr.reduce = a.reduce;
    attr.dot = a.dot;
    dt_value partial = dt_emit(x.trace, op, (dt_value[]){x, y}, op->n_in, &attr);
    return dt_emit(x.trace, &dt_op_tree_part, &partial, 1, &own);
}
static dt_value parts_of_product(setting *s) {
    return parts_of(s->rows, &dt_op_segment_dot_general, s->logits,
                    (dt_segment_attr){.dot = {.n_contract = 1}});
}
static dt_value parts_of_cubes(setting *s) {
    return parts_of(s->cube, &dt_op_segment_dot_general, s->rows,
                    (dt_segment_attr){.dot = {.n_contract = 1}});
}
static dt_value parts_of_rows(setting *s) {
    return parts_of(s->cube, &dt_op_segment_reduce, s->cube,
                    (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 1}});
}
static dt_value parts_of_all(setting *s) {
    return parts_of(s->rows, &dt_op_segment_reduce, s->rows,
                    (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 3}});
}
static dt_value joined_parts(setting *s) {
    const dt_shard_range all = {.shards = n_shards, .count = n_shards};
    dt_segment_attr attr;
    dt_tree_join_attr join;
    memset(&attr, 0, sizeof attr);
    memset(&join, 0, sizeof join);
    attr.cut = DT_CUT_SHARDS;
    attr.count = n_shards;
    attr.dot.n_contract = 1;
    dt_value x = dt_emit(s->rows.trace, &dt_op_segment_dot_general,
                         (dt_value[]){s->rows, s->logits}, 2, &attr);
    join.type = (dt_type){.dtype = DT_FLOAT32, .rank = 2, .dim = {6, 5}};
    join.shards = n_shards;
    join.nodes = 1;
    x = dt_emit(x.trace, &dt_op_tree_part, &x, 1, &all);
    return dt_emit(x.trace, &dt_op_tree_join, &x, 1, &join);
}

static dt_value product(setting *s) { return dt_matmul(s->rows, s->matrix); }
/* (3,4,3,4): rows of both */
static dt_value product_of_cube(setting *s) { return dot(s->cube, s->cube, 0, 0); }
static dt_value product_at_both_ends(setting *s) { return dot(s->rows, s->square, 1, 1); }
static dt_value product_of_columns(setting *s) { return dot(s->square, s->matrix, 0, 0); }
static dt_value gradient(setting *s) { return dot(s->rows, s->logits, 0, 0); }
static dt_value rows_of_workers(setting *s) {
    dt_value x = gradient(s);
    dt_worker_rows_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = dt_type_of_value(x);
    attr.workers = 1;
    return dt_emit(s->t, &dt_op_worker_rows, &x, 1, &attr);
}
static dt_value product_with_vector(setting *s) { return dot(s->rows, s->vector, 1, 0); }
/* no dimension is left */
static dt_value product_of_vectors(setting *s) { return dot(s->vector, s->vector, 0, 0); }
static dt_value product_in_the_middle(setting *s) {
    return dot(s->cube, dt_reshape(s->vector, 2, (int64_t[]){3, 2}), 1, 0);
}
static dt_value product_inside_images(setting *s) { /* two dimensions before, two contracted */
    dt_value x = dt_reshape(s->cube, 6, (int64_t[]){-1, 3, 1, 2, 1, 2});
    dt_dot_attr a = {.n_contract = 2, .lhs_contract = {2, 3}, .rhs_contract = {1, 2}};
    return dt_dot_general(x, dt_reshape(s->square, 3, (int64_t[]){18, 1, 2}), &a);
}
static dt_value product_by_rows(setting *s) { return dot_pairs(s->rows, s->rows, 1, 1); }
static dt_value numbers(setting *s, dt_random_kind kind, dt_value like) {
    dt_random_attr attr;
    memset(&attr, 0, sizeof attr);
    attr = (dt_random_attr){dt_type_of_value(like), kind, 0x123456789abcdef0u};
    return dt_random_numbers(dt_scalar(s->t, DT_INT64, 7e9), &attr);
}
static dt_value uniform_numbers(setting *s) { return numbers(s, DT_RANDOM_UNIFORM, s->rows); }
static dt_value uniform_cubes(setting *s) { return numbers(s, DT_RANDOM_UNIFORM, s->cube); }
static dt_value normal_numbers(setting *s) { return numbers(s, DT_RANDOM_NORMAL, s->rows); }
static dt_value heads(setting *s, int64_t n) {
    return dt_reshape(dt_concatenate((dt_value[]){s->cube, dt_tanh(s->cube)}, 2, 2), 4,
                      (int64_t[]){-1, 3, 8 / n, n});
}
static dt_value product_of_heads(setting *s) /* (B, T, N, H) x (B, S, N, H) over H: (B, N, T, S) */
{
    dt_dot_attr attr = {.n_batch = 2,
                        .n_contract = 1,
                        .lhs_batch = {0, 2},
                        .rhs_batch = {0, 2},
                        .lhs_contract = {3},
                        .rhs_contract = {3}};
    dt_value x = heads(s, 4);
    return dt_dot_general(x, dt_negate(x), &attr);
}
static dt_value product_of_scores(setting *s) /* (B, N, T, S) x (B, S, N, H) over S: (B, N, T, H) */
{
    dt_dot_attr attr = {.n_batch = 2,
                        .n_contract = 1,
                        .lhs_batch = {0, 1},
                        .rhs_batch = {0, 2},
                        .lhs_contract = {3},
                        .rhs_contract = {1}};
    return dt_dot_general(product_of_heads(s), heads(s, 4), &attr);
}
/* batch dimensions in another order, the first operand contracted at its front */
static dt_value product_of_turned(setting *s) {
    dt_dot_attr attr = {.n_batch = 2,
                        .n_contract = 1,
                        .lhs_batch = {1, 0},
                        .rhs_batch = {2, 0},
                        .lhs_contract = {2},
                        .rhs_contract = {1}};
    return dt_dot_general(dt_reshape(s->matrix, 4, (int64_t[]){1, 2, 3, 7}),
                          dt_reshape(s->square, 4, (int64_t[]){1, 3, 2, 6}), &attr);
}
static dt_value product_of_two(setting *s) {
    dt_dot_attr attr = {.n_contract = 2, .lhs_contract = {1, 2}, .rhs_contract = {0, 1}};
    return dt_dot_general(
        s->cube, dt_reshape(dt_multiply(s->square, s->square), 3, (int64_t[]){3, 4, 3}), &attr);
}
static dt_value product_of_two_crossed(setting *s) {
    dt_dot_attr attr = {.n_contract = 2, .lhs_contract = {2, 1}, .rhs_contract = {0, 1}};
    return dt_dot_general(
        s->cube, dt_reshape(dt_multiply(s->square, s->square), 3, (int64_t[]){4, 3, 3}), &attr);
}
static dt_value sums(setting *s) { return dt_reduce(s->rows, DT_REDUCE_SUM, 2); }
static dt_value maxima(setting *s) { return dt_reduce(s->cube, DT_REDUCE_MAX, 6); }
static dt_value minima(setting *s) { return dt_reduce(s->rows, DT_REDUCE_MIN, 2); }
static dt_value minima_inside(setting *s) { return dt_reduce(s->cube, DT_REDUCE_MIN, 2); }
static dt_value sums_inside(setting *s) { return dt_reduce(s->cube, DT_REDUCE_SUM, 2); }
static dt_value maxima_inside(setting *s) {
    return dt_reduce(dt_reshape(s->cube, 4, (int64_t[]){-1, 2, 2, 3}), DT_REDUCE_MAX, 4);
}
static dt_value column_sums(setting *s) { return dt_reduce(s->rows, DT_REDUCE_SUM, 1); }
static dt_value column_sums_of_cube(setting *s) { return dt_reduce(s->cube, DT_REDUCE_SUM, 3); }
static dt_value column_maxima(setting *s) { return dt_reduce(s->rows, DT_REDUCE_MAX, 1); }
/* (B,3,4,70): no element is like its neighbours */
static dt_value volume(setting *s) {
    dt_type wide = dt_type_of(DT_FLOAT32, 4, (int64_t[]){-1, 3, 4, 70});
    dt_value place = dt_iota(s->t, &wide, 3);
    return dt_multiply(dt_broadcast_in_dim(s->cube, &wide, (int8_t[]){0, 1, 2}),
                       dt_multiply(place, dt_like(place, 0.03125)));
}
static dt_value sums_around(setting *s) { return dt_reduce(s->cube, DT_REDUCE_SUM, 5); }
static dt_value minima_around(setting *s) { return dt_reduce(s->cube, DT_REDUCE_MIN, 5); }
static dt_value sums_around_rows(setting *s) { return dt_reduce(volume(s), DT_REDUCE_SUM, 9); }
static dt_value sums_between(setting *s) { return dt_reduce(volume(s), DT_REDUCE_SUM, 5); }
static dt_value sums_by_turns(setting *s) { return dt_reduce(volume(s), DT_REDUCE_SUM, 10); }
static dt_value maxima_by_turns(setting *s) { return dt_reduce(volume(s), DT_REDUCE_MAX, 10); }
static dt_value sums_of_groups(setting *s) {
    return dt_reduce(dt_reshape(s->cube, 5, (int64_t[]){-1, 3, 1, 2, 2}), DT_REDUCE_SUM, 22);
}
static dt_value total(setting *s) { return dt_reduce_sum(s->cube, DT_NO_AXIS); }
static dt_value top(setting *s) { return dt_reduce(s->rows, DT_REDUCE_MAX, 3); }
static dt_value bottom(setting *s) { return dt_reduce(s->rows, DT_REDUCE_MIN, 3); }
static dt_value of_bytes(setting *s) { return dt_reduce(s->byte, DT_REDUCE_SUM, 2); }
static dt_value softmax(setting *s) { return dt_softmax(s->logits); }
static dt_value softmax_of_cube(setting *s) { return dt_softmax(s->cube); }
static dt_value softmax_of_vector(setting *s) { return dt_softmax(s->vector); }
static dt_value entropy(setting *s) { return dt_softmax_cross_entropy(s->logits, s->target); }
static dt_value sparse_entropy(setting *s) { return dt_softmax_cross_entropy(s->logits, s->label); }
static dt_value sparse_entropy_of_int64(setting *s) {
    return dt_softmax_cross_entropy(s->logits, s->wide_label);
}
static dt_value entropy_of_cube(setting *s) {
    return dt_softmax_cross_entropy(s->cube, dt_softmax(s->cube));
}
static dt_value entropy_grad_of(setting *s, dt_value target) {
    dt_value dy = dt_reduce(s->rows, DT_REDUCE_SUM, 2);
    return dt_emit(s->t, &dt_op_softmax_cross_entropy_grad, (dt_value[]){s->logits, target, dy}, 3,
                   NULL);
}
static dt_value sparse_entropy_of_cube(setting *s) {
    dt_value target =
        dt_reshape(dt_argmax(dt_reshape(s->cube, 2, (int64_t[]){-3, 4}), 1), 2, (int64_t[]){-1, 3});
    return dt_softmax_cross_entropy(s->cube, target);
}
static dt_value entropy_grad_of_cube(setting *s) {
    dt_value dy = dt_reduce(s->cube, DT_REDUCE_SUM, 4);
    return dt_emit(s->t, &dt_op_softmax_cross_entropy_grad,
                   (dt_value[]){s->cube, dt_softmax(s->cube), dy}, 3, NULL);
}
static dt_value entropy_grad(setting *s) { return entropy_grad_of(s, s->target); }
static dt_value sparse_entropy_grad(setting *s) { return entropy_grad_of(s, s->label); }
static dt_value sparse_entropy_grad_of_int64(setting *s) {
    return entropy_grad_of(s, s->wide_label);
}
static dt_value reshaped(setting *s) { return dt_reshape(dt_tanh(s->cube), 2, (int64_t[]){-3, 4}); }
static dt_value behind_a_barrier(setting *s) {
    const dt_value in[] = {dt_tanh(s->cube), s->rows};
    return dt_emit(in[0].trace, &dt_op_optimization_barrier, in, 2, NULL);
}
static dt_value tree_of_product(setting *s) {
    return shards_of(s->rows, &dt_op_segment_dot_general, s->logits,
                     (dt_segment_attr){.dot = {.n_contract = 1}});
}
static dt_value tree_of_row_pairs(setting *s) {
    dt_dot_attr d = {.n_batch = 1, .n_contract = 1, .lhs_batch = {1}, .rhs_batch = {1}};
    return shards_of(s->rows, &dt_op_segment_dot_general, s->rows, (dt_segment_attr){.dot = d});
}
static dt_value tree_of_cubes(setting *s) {
    return shards_of(s->cube, &dt_op_segment_dot_general, s->rows,
                     (dt_segment_attr){.dot = {.n_contract = 1}});
}
static dt_value tree_of_rows(setting *s) {
    return shards_of(s->cube, &dt_op_segment_reduce, s->cube,
                     (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 1}});
}
static dt_value tree_of_pixels(setting *s) {
    return shards_of(s->cube, &dt_op_segment_reduce, s->cube,
                     (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 3}});
}
static dt_value tree_of_outer_dims(setting *s) {
    return shards_of(s->cube, &dt_op_segment_reduce, s->cube,
                     (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 5}});
}
static dt_value tree_of_all(setting *s) {
    return shards_of(s->rows, &dt_op_segment_reduce, s->rows,
                     (dt_segment_attr){.reduce = {DT_REDUCE_SUM, 3}});
}
static dt_value tree_of_regrouped(setting *s) {
    dt_value x = dt_reshape(s->cube, 2, (int64_t[]){-3, 4});
    return shards_of(x, &dt_op_segment_dot_general, x, (dt_segment_attr){.dot = {.n_contract = 1}});
}
static dt_value tree_of_stacked(setting *s) {
    dt_value x = dt_tanh(s->matrix);
    /* one reader: absorbed, but made by no segment op */
    return dt_emit(s->t, &dt_op_tree_sum, &x, 1, NULL);
}
static dt_value tree_of_variable(setting *s) {
    return dt_emit(s->t, &dt_op_tree_sum, &s->matrix, 1, NULL);
}
static dt_value tree_of_numbers(setting *s) {
    dt_type t = dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 4});
    dt_value x = dt_iota(s->t, &t, 1);
    return dt_emit(s->t, &dt_op_tree_sum, &x, 1, NULL);
}
static dt_value turned(setting *s) { return dt_transpose(s->matrix, (int[]){1, 0}); }
static dt_value turned_cube(setting *s) { return dt_transpose(s->cube, (int[]){0, 2, 1}); }
static dt_value turned_bytes(setting *s) {
    return dt_transpose(dt_reshape(s->byte, 3, (int64_t[]){-1, 2, 3}), (int[]){0, 2, 1});
}
static dt_value sliced(setting *s) { return dt_slice_axis(s->cube, 1, 1, 2, 1); }
static dt_value sliced_twice(setting *s) {
    return dt_slice_axis(dt_slice_axis(s->cube, 2, 1, 2, 2), 1, 0, 2, 2);
}
static dt_value sliced_rows(setting *s) { return dt_slice_axis(s->matrix, 0, 1, 2, 3); }
static dt_value sliced_bytes(setting *s) { return dt_slice_axis(s->byte, 1, 3, 2, 1); }
static dt_value joined(setting *s) {
    return dt_concatenate((dt_value[]){s->cube, sliced(s)}, 2, 1);
}
static dt_value joined_at_the_end(setting *s) {
    return dt_concatenate((dt_value[]){s->rows, s->logits}, 2, 1);
}
static dt_value joined_below(setting *s) {
    return dt_concatenate((dt_value[]){s->square, s->square}, 2, 0);
}
static dt_value padded_by(dt_value x, int d, int64_t low, int64_t high, int64_t interior) {
    dt_pad_attr a = {.value = -2.5};
    a.dim[d].low = low;
    a.dim[d].high = high;
    a.dim[d].interior = interior;
    return dt_pad(x, &a);
}
static dt_value padded(setting *s) { return padded_by(padded_by(s->cube, 1, 1, 2, 0), 2, 0, 3, 1); }
static dt_value padded_below(setting *s) { return padded_by(s->square, 0, 2, 1, 2); }
static dt_value cut_off(setting *s) {
    return padded_by(padded_by(s->square, 0, -2, 3, 2), 1, 2, -4, 1);
}
static dt_value all_cut_off(setting *s) { return padded_by(s->square, 0, -7, 9, 0); }
static dt_value part_of_rows(setting *s) {
    return dt_part_of(dt_reshape(s->cube, 2, (int64_t[]){-3, 4}), 0, 1, 3);
}
static dt_value joined_rows(setting *s) {
    return dt_join_parts((dt_value[]){s->logits, s->target}, 2, 0);
}
static dt_value best(setting *s) { return dt_argmax(s->logits, 1); }
static dt_value best_of_cube(setting *s) { return dt_argmax(s->cube, 2); }
static dt_value best_of_ties(setting *s) {
    return dt_argmax(dt_maximum(s->logits, dt_like(s->logits, 0.5)), 1);
}
static dt_value best_with_nan(setting *s) { return dt_argmax(dt_sqrt(s->logits), 1); }
static dt_value best_inside(setting *s) { return dt_argmax(s->cube, 1); }
static dt_value best_of_vector(setting *s) { return dt_argmax(s->vector, 0); }
static dt_value best_byte(setting *s) { return dt_argmax(s->byte, 1); }

static dt_value best_label(setting *s) {
    return dt_argmax(dt_convert(dt_reshape(s->byte, 3, (int64_t[]){-1, 2, 3}), DT_INT32), 1);
}

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
    {"eval", spread_inside},
    {"broadcast", repeated_inside},
    {"broadcast", repeated_bytes},
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
    {"attention", grouped_attention},
    {"attention_grad", grouped_grad_of_query},
    {"attention_grad", grouped_grad_of_key},
    {"attention_grad", grouped_grad_of_value},
    {"attention", placed_attention},
    {"eval", attention_of_one},
    {"attention_grad", attention_grad_of_query},
    {"attention_grad", attention_grad_of_key},
    {"attention_grad", attention_grad_of_value},
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
