/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops for kernel_rows.h: products, parts of workers, random numbers, reductions, softmax,
 * trees, moved elements and argmax. */
#ifndef TESTS_EXEC_KERNEL_ALGEBRA_H
#define TESTS_EXEC_KERNEL_ALGEBRA_H

#include "op/across.h"
#include "op/cells.h"
#include "op/workers.h"

typedef struct setting {
    dt_trace *t;
    /* (B,6) (B,3,4) (6) (6,7) (6,6) (B) (B) (B,5) (B,6) (B,5) */
    dt_value rows, cube, vector, matrix, square, label, wide_label, target, byte, logits;
} setting;

typedef dt_value (*maker)(setting *s);

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
/* (B, C, E, D) x (E, D, F) over D, in order: (B, C, E, F) */
static dt_value product_of_experts(setting *s) {
    dt_dot_attr attr = {.in_order = 1,
                        .n_batch = 1,
                        .n_contract = 1,
                        .lhs_batch = {2},
                        .lhs_contract = {3},
                        .rhs_contract = {1}};
    dt_value numbers = dt_slice_axis(dt_reshape(s->square, 1, (int64_t[]){36}), 0, 0, 24, 1);
    return dt_dot_general(heads(s, 4), dt_reshape(numbers, 3, (int64_t[]){2, 4, 3}), &attr);
}
/* (B, C, E, D) x (B, C, E, D) over B and C: (E, D, D) */
static dt_value gradient_of_experts(setting *s) {
    dt_dot_attr attr = {.n_batch = 1,
                        .n_contract = 2,
                        .lhs_batch = {2},
                        .rhs_batch = {2},
                        .lhs_contract = {0, 1},
                        .rhs_contract = {0, 1}};
    dt_value x = heads(s, 4);
    return dt_dot_general(x, dt_negate(x), &attr);
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
/* (B,18,768), all different: long enough for whole squares, with a rest, and the lines of a column
 * in few sets of the cache. */
static dt_value numbered(setting *s) {
    const dt_type t =
        dt_type_of(DT_FLOAT32, 3, (int64_t[]){dt_type_of_value(s->rows).dim[0], 18, 768});
    dt_value row = dt_iota(s->t, &t, 1), column = dt_iota(s->t, &t, 2);
    return dt_add(dt_multiply(row, dt_like(row, 768)), column);
}
static dt_value turned_squares(setting *s) { return dt_transpose(numbered(s), (int[]){0, 2, 1}); }
static dt_value turned_apart(setting *s) {
    return dt_transpose(dt_reshape(numbered(s), 4, (int64_t[]){-1, 9, 2, 768}),
                        (int[]){0, 3, 1, 2});
}
static dt_value turned_back(setting *s) {
    return dt_transpose(dt_reshape(numbered(s), 4, (int64_t[]){-1, 18, 32, 24}),
                        (int[]){0, 3, 2, 1});
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

#endif
