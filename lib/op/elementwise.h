/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the rows of element-wise ops share: out[i] = f(in[0][i], in[1][i], ...).
 *
 * Their constraints are the same for all ops whose comment lists none. With two inputs: (C1) both
 * have one type, (C2) of a dtype that f is defined for. With one input the latter is (C1). Nothing
 * broadcasts; builders do that before.
 *
 * float32 and float64 are computed in double and rounded to the dtype once; 16-bit floats are
 * rounded from the result in float32 (interpret.c). Integers wrap.
 */
#ifndef DT_OP_ELEMENTWISE_H
#define DT_OP_ELEMENTWISE_H

#include "op/op.h"

/* Classes of dtypes that ops accept: any, numbers (all dtypes but bool), or floats. */
typedef enum dt_wanted { DT_WANT_ANY, DT_WANT_NUMBERS, DT_WANT_FLOATS } dt_wanted;

/* Checks constraint number c: the dtype of input i belongs to a class of dtypes. */
dt_status *dt_want_dtype(const dt_infer *q, int i, int c, dt_wanted wanted) DT_MUST_USE;
/* For `infer` of rows, one function for each class of dtypes: they check (C1) and (C2), and give
 * the result the type of the inputs. */
dt_status *dt_infer_any(dt_infer *q) DT_MUST_USE;
dt_status *dt_infer_numbers(dt_infer *q) DT_MUST_USE;
dt_status *dt_infer_floats(dt_infer *q) DT_MUST_USE;

/* The rule of element-wise ops: one factor for each dimension. */
void dt_rule_elementwise(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);

/* Evaluates with `floats` for float dtypes and with `ints` for the others (NULL where infer rejects
 * integers). */
void dt_eval_unary(const dt_call *c, double (*floats)(double), int64_t (*ints)(int64_t));
void dt_eval_binary(const dt_call *c, double (*floats)(double, double),
                    int64_t (*ints)(int64_t, int64_t));

/* Returns a value that is dy where `pred` is true, and 0 elsewhere. */
dt_value dt_placement(dt_value pred, dt_value dy);

#endif
