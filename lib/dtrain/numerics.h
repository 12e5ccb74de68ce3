/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The building blocks of a model, for separate use: activations, losses, metrics, optimizers,
 * learning-rate schedules and initializers.
 */
#ifndef DTRAIN_NUMERICS_H
#define DTRAIN_NUMERICS_H

#include "step.h"

DT_BEGIN_C

/* ---- activations, losses, metrics, optimizers, schedules and initialisers by themselves ---- */

/* Applies one of Keras' activations, by name and arguments: "relu", "leaky_relu: {negative_slope:
 * 0.1}", "softmax: {axis: 1}". x must be floating-point. The result has its shape, except that glu
 * halves an axis. ValueError: an unknown name or argument. */
DT_API dt_value dt_activation_call(dt_value x, const char *format, ...) DT_FORMAT(2, 3);

/* The loss with sample weights, of shape (B) or the shape of the per-sample losses. The loss's
 * `reduction` combines them: "none" keeps their shape, "mean_with_sample_weight" divides by the sum
 * of weights, "sum_over_batch_size" by the number of samples, including those of weight 0. */
DT_API dt_value dt_loss_call_weighted(dt_loss *l, dt_value target, dt_value prediction,
                                      dt_value weight);

/*
 * A metric for separate use, written as in `metrics`: "AUC: {curve: PR}", "TopKCategoricalAccuracy:
 * {k: 3}", "Mean". It accumulates over all updates, in double. For Mean and Sum, pass the values as
 * the prediction and NULL as the target.
 */
typedef struct dt_meter dt_meter;
DT_API dt_status *dt_meter_create(dt_meter **out, const char *format, ...) DT_CHECKED
    DT_FORMAT(2, 3);
DT_API void dt_meter_unref(dt_meter *m);
/* Adds examples. weight has shape (B) or the shape of the outputs; NULL: all weights are 1. */
DT_API dt_status *dt_meter_update(dt_meter *m, const dt_tensor *target, const dt_tensor *prediction,
                                  const dt_tensor *weight) DT_CHECKED;
/* The result as float32: a scalar, or one number per threshold or class. It is 0 before the first
 * update. */
DT_API dt_status *dt_meter_result(const dt_meter *m, dt_tensor **out) DT_CHECKED;
DT_API dt_status *dt_meter_reset(dt_meter *m) DT_CHECKED;

/* A learning-rate schedule, written as in an optimizer's `learning_rate`: "CosineDecay:
 * {initial_learning_rate: 0.1, decay_steps: 1000}". */
typedef struct dt_rate_schedule dt_rate_schedule;
DT_API dt_status *dt_rate_schedule_create(dt_rate_schedule **out, const char *format,
                                          ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_rate_schedule_unref(dt_rate_schedule *r);
/* The rate at a step, counted from 0, computed in float32 as in training. */
DT_API dt_status *dt_rate_schedule_at(const dt_rate_schedule *r, int64_t step,
                                      double *rate) DT_CHECKED;
/* Like dt_rate_schedule_at, in a step function. `step` is an int64 scalar, the rate a float32
 * scalar. */
DT_API dt_value dt_rate_schedule_call(const dt_rate_schedule *r, dt_value step);
/* The arguments of a schedule as JSON, with Keras' names. The caller frees *json. */
DT_API dt_status *dt_rate_schedule_config(const dt_rate_schedule *r, char **json) DT_CHECKED;

/* The arguments of an optimizer, including learning_rate, as JSON, with Keras' names. The caller
 * frees *json. */
DT_API dt_status *dt_optimizer_config(const dt_optimizer *o, char **json) DT_CHECKED;
/* The number of tensors in an optimizer's state: "iteration", those of loss scaling and of
 * accumulated gradients if it has any, and for each variable "dense/kernel/momentum" and so on. 0
 * before its first step is recorded. */
DT_API int dt_optimizer_slots(const dt_optimizer *o);
/* name of a slot, lent; NULL: no such slot */
DT_API const char *dt_optimizer_slot_name(const dt_optimizer *o, int i);
/* The value of a slot, or the current "learning_rate". NotFoundError: no slot has this name. */
DT_API dt_status *dt_optimizer_get_slot(const dt_optimizer *o, const char *name,
                                        dt_tensor **out) DT_CHECKED;
/* With use_ema, sets the variables to their running means (finalize_variable_values). Without it,
 * does nothing. */
DT_API dt_status *dt_optimizer_finalize(dt_optimizer *o, const dt_variables *variables) DT_CHECKED;

/* Describes what an initializer generates. Initializers are written as in `kernel_initializer`:
 * "GlorotUniform", "RandomNormal: {stddev: 0.1}". */
typedef struct dt_drawing {
    uint64_t seed;
    dt_dtype dtype; /* dtype of the result: DT_FLOAT32 or DT_FLOAT64 */
    int rank;
    const int64_t *shape;
} dt_drawing;
/* Generates a tensor. The same seed and shape give the same values. */
DT_API dt_status *dt_initializer_draw(dt_tensor **out, const dt_drawing *what, const char *format,
                                      ...) DT_CHECKED DT_FORMAT(3, 4);
/* Facts about an initializer for this shape, as JSON: "fan_in", "fan_out", ...; for
 * variance-scaling initializers also "mode", "scale", "distribution" and "limit" (uniform) or
 * "target_stddev", "underlying_stddev" and "cut_at" (normal, truncated at 2 standard deviations).
 * The caller frees *json. */
DT_API dt_status *dt_initializer_facts(char **json, const dt_drawing *what, const char *format,
                                       ...) DT_CHECKED DT_FORMAT(3, 4);
/* The arguments of an initializer as JSON, with Keras' names. The caller frees *json. */
DT_API dt_status *dt_initializer_config(char **json, const char *format, ...) DT_CHECKED
    DT_FORMAT(2, 3);

DT_END_C

#endif
