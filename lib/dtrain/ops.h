/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on values in step functions, with StableHLO's names and NumPy's rules: shapes of two values broadcast, and a negative axis
 * counts from the end. Each returns a new value of the same trace. Inputs that do not fit are a ValueError of the trace, which run returns.
 */
#ifndef DTRAIN_OPS_H
#define DTRAIN_OPS_H

#include "step.h"

DT_BEGIN_C

/* ---- element by element ------------------------------------------------------------------------------------------- */

/* Of x's shape and dtype, which must be a float; dt_negate, dt_abs and dt_sign take integers, too. Gradients in brackets, with y the result. */
DT_API dt_value dt_negate(dt_value x);                  /* -x [-1] */
DT_API dt_value dt_abs(dt_value x);                     /* [sign(x)] */
DT_API dt_value dt_sign(dt_value x);                    /* -1, 0 or 1 [0] */
DT_API dt_value dt_exponential(dt_value x);             /* e^x [y] */
DT_API dt_value dt_exponential_minus_one(dt_value x);   /* e^x - 1, exact near 0 [y + 1] */
DT_API dt_value dt_log(dt_value x);                     /* natural logarithm [1 / x] */
DT_API dt_value dt_log_plus_one(dt_value x);            /* log(1 + x), exact near 0 [1 / (1 + x)] */
DT_API dt_value dt_sqrt(dt_value x);                    /* [1 / (2 y)] */
DT_API dt_value dt_rsqrt(dt_value x);                   /* 1 / sqrt(x) [-y^3 / 2] */
DT_API dt_value dt_sine(dt_value x);                    /* [cos(x)] */
DT_API dt_value dt_cosine(dt_value x);                  /* [-sin(x)] */
DT_API dt_value dt_tanh(dt_value x);                    /* [1 - y^2] */
DT_API dt_value dt_logistic(dt_value x);                /* 1 / (1 + e^-x), also called sigmoid [y (1 - y)] */
DT_API dt_value dt_erf(dt_value x);                     /* [2 / sqrt(pi) e^(-x^2)] */

/* Two values of one dtype. Where a = b, the gradient of maximum and minimum goes to b: relu is maximum(x, 0), and its slope at 0 is 0. */
DT_API dt_value dt_maximum(dt_value a, dt_value b);
DT_API dt_value dt_minimum(dt_value a, dt_value b);
DT_API dt_value dt_power(dt_value a, dt_value b);       /* a^b [b a^(b - 1), y log(a)] */
DT_API dt_value dt_clamp(dt_value x, double low, double high); /* minimum(maximum(x, low), high) */

/* A comparison of two values of one dtype; the result is bool and has no gradient. */
typedef enum dt_direction { DT_EQ, DT_NE, DT_LT, DT_LE, DT_GT, DT_GE } dt_direction;
DT_API dt_value dt_compare(dt_value a, dt_value b, dt_direction direction);
/* a where pred (bool) is true, b elsewhere, as tf.where: the gradient goes to the one that was chosen. */
DT_API dt_value dt_select(dt_value pred, dt_value a, dt_value b);
/* x itself, through which no gradient flows. */
DT_API dt_value dt_stop_gradient(dt_value x);

/* ---- random numbers ----------------------------------------------------------------------------------------------- */

/*
 * Floats of x's shape, whose first dimension is the batch, and of its dtype; no gradient. They depend on the seed, the counter, the example's number in
 * the global batch and the place in the example, and so not on the number of replicas. `counter` is an int64 scalar that you increase from step to
 * step, such as a variable; with a constant, each step has the same numbers.
 */
DT_API dt_value dt_stateless_uniform(dt_value x, dt_value counter, uint64_t seed); /* in [0, 1) */
DT_API dt_value dt_stateless_normal(dt_value x, dt_value counter, uint64_t seed);  /* mean 0, standard deviation 1 */

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

/* x in a shape with the same number of elements: dim[rank]. A size of -k stands for k times the batch, so -1 is what dt_dim returns for it. */
DT_API dt_value dt_reshape(dt_value x, int rank, const int64_t *dim);
/* Dimension d of the result is dimension perm[d] of x; perm has one entry per dimension of x. */
DT_API dt_value dt_transpose(dt_value x, const int *perm);
/* `size` elements along one axis, from `start` on, `stride` apart. The gradient is zero elsewhere. Not along the batch. */
DT_API dt_value dt_slice_axis(dt_value x, int axis, int64_t start, int64_t size, int64_t stride);
/* Joins n values that are equal but for their sizes along `axis`. Not along the batch. */
DT_API dt_value dt_concatenate(const dt_value *x, int n, int axis);
/* Rows of a table: (V, ...) and integers (i...) give (i..., ...). A number outside of 0 .. V - 1 is an error when the step runs. The gradient is
 * added to the rows that were read. */
DT_API dt_value dt_gather(dt_value table, dt_value index);
/* A new last axis of size `depth`: 1 at the index (an integer), 0 elsewhere, and only 0 for an index outside. No gradient. */
DT_API dt_value dt_one_hot(dt_value index, int64_t depth, dt_dtype dtype);

/* ---- over an axis ------------------------------------------------------------------------------------------------- */

/* The largest and the smallest element along an axis; DT_NO_AXIS: of all. Equal extremes share the gradient. See dt_reduce_sum. */
DT_API dt_value dt_reduce_max(dt_value x, int axis);
DT_API dt_value dt_reduce_min(dt_value x, int axis);
/* The index (int32) of the largest element along an axis, the first of equals. No gradient. */
DT_API dt_value dt_argmax(dt_value x, int axis);
/* e^x / sum(e^x) over the last axis of a float value. */
DT_API dt_value dt_softmax(dt_value x);

DT_END_C

#endif
