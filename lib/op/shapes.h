/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows (`infer`, `rule`, `stack`, `cost`, `print`) that many ops share, and what these
 * use. */
#ifndef DT_OP_SHAPES_H
#define DT_OP_SHAPES_H

#include "op/op.h"

/* Checks the rules for all results, as constraint `c` of q->op: at most DT_MAX_RANK dimensions, and
 * B only as dimension 0. (dt_emit refuses sizes that are too large to count.) */
dt_status *dt_check_result(const dt_infer *q, int c) DT_MUST_USE;

/* Whether dimension i of t is a multiple of B. */
bool dt_is_batch(const dt_type *t, int i);
/* Returns the type of `count` stacked values of type `entry`: (count, ...). */
dt_type dt_stack_type(int count, const dt_type *entry);
uint32_t dt_all_dims(int rank); /* a set with the bits of dimensions 0 .. rank - 1 */

/* For `infer`: the result has the type of the first input. */
dt_status *dt_infer_same(dt_infer *q) DT_MUST_USE;

/* For `rule`: the op cannot be divided. */
void dt_rule_none(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
/* For `rule`: one factor for each dimension of the first input but the last, shared by all inputs
 * and the output. */
void dt_rule_rows(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);

/* For `stack` of ops that accept any leading dimensions: emits the same node over the stacked
 * inputs. */
dt_value dt_stack_same(const dt_fold_call *c);

/* The cost of ops that move no data, or that exist only while compiling. */
void dt_cost_none(const dt_call *c, dt_cost *cost);
/* Returns the cost of reading and writing all values, and `operations` of the vector unit. */
dt_cost dt_cost_vector(const dt_call *c, double operations);
/* Returns the cost of reading all inputs and writing the result, and of the products in product[n],
 * whose operands have the first input's dtype. */
dt_cost dt_cost_products(const dt_call *c, const dt_matrix_work *product, int n);
/* Turns the cost of a product over all rows into that of products over `count` segments. The
 * flops stay, since each row is in one segment. */
void dt_cost_segments(dt_cost *cost, int count);

/* prints the label and the dimensions: for the label "dims=" for example "dims=[0,2]" */
void dt_print_dims(dt_str *out, const char *label, const int8_t *dims, int n);
void dt_print_axis(const void *attr, dt_str *out);  /* prints a dt_axis_attr: "axis=1" */
void dt_print_index(const void *attr, dt_str *out); /* prints a dt_index_attr: "1" */

#endif
