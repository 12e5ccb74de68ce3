/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What replicas do in a step of one's own: a function that is recorded once per signature, its values, gradients and variables, and
 * where values lie when a replica has several devices.
 */
#ifndef DTRAIN_STEP_H
#define DTRAIN_STEP_H

#include "model.h"

DT_BEGIN_C

/* ---- step functions ----------------------------------------------------------------------------------------------- */

typedef struct dt_trace dt_trace;
typedef struct dt_function dt_function;
/* A value while tracing: a node of the trace. Pass it by value; it lives as long as the trace. */
typedef struct dt_value {
    dt_trace *trace; /* NULL: the value of a failed call */
    int node;
    unsigned generation; /* of the trace: a value that outlives it is found out */
} dt_value;
/* A list of variables: the trainable ones of a model, in creation order, or the caller's own. */
typedef struct dt_variables dt_variables;
/* Gradients of a loss, one per variable, within a trace. */
typedef struct dt_gradients {
    const dt_variables *variables;
    const dt_value *value; /* variables' count of them; trace NULL where the loss does not depend on the variable */
    dt_trace *trace;       /* of the loss */
} dt_gradients;

/* `user` is burnt into the trace and must outlive the function. */
DT_API dt_status *dt_function_create(dt_function **out, void (*step)(dt_trace *t, void *user), void *user) DT_CHECKED;
DT_API void dt_function_unref(dt_function *f);
/* run(): `step` on every replica, each with its own entry of `args` (NULL: none). Results become entries of *results (may be NULL). */
DT_API dt_status *dt_strategy_run(dt_strategy *s, dt_function *f, const dt_values *args, dt_values **results) DT_CHECKED;
/* RunOptions. fixed_batch_size (the opposite of experimental_enable_dynamic_batch_size): the function is recorded for the sizes at hand, so that the first
 * dimension of arguments is a number; all replicas must have equal shapes. Otherwise that happens by itself where a step needs it. */
typedef struct dt_step_options {
    bool fixed_batch_size;
} dt_step_options;
DT_API dt_status *dt_strategy_run_with(dt_strategy *s, dt_function *f, const dt_values *args, const dt_step_options *options, dt_values **results) DT_CHECKED;

/* In a step function. */
#define DT_TRAINING true
#define DT_INFERENCE false
DT_API dt_value dt_arg(dt_trace *t, const char *name);               /* the argument of that name */
DT_API dt_value dt_arg_at(dt_trace *t, int i);                       /* the argument at that position */
DT_API void dt_return(dt_trace *t, const char *name, dt_value value); /* names a result */
DT_API dt_value dt_model_call(dt_model *m, dt_value input, bool training);
/* The same of a model with n Inputs, in the order of its layers. */
DT_API dt_value dt_model_call_inputs(dt_model *m, const dt_value *inputs, int n, bool training);
/* A scalar (or what the loss's `reduction` says): the sum of the losses of this replica's examples, divided by the number of examples of the global
 * batch, which is added up over replicas. So the sum over replicas is the mean over the batch, whatever the parts. See dt_loss_set_average. */
DT_API dt_value dt_loss_call(dt_loss *l, dt_value target, dt_value prediction);
DT_API const dt_variables *dt_model_trainable(const dt_model *m);
/* A loss that is no scalar counts as its sum, here and below, as with GradientTape. */
DT_API dt_gradients dt_gradient(dt_value loss, const dt_variables *variables);
/* The same with respect to any n values of the loss's trace: out[i], trace NULL where the loss does not depend on of[i]. */
DT_API void dt_gradient_values(dt_value loss, const dt_value *of, int n, dt_value *out);
DT_API int dt_variables_count(const dt_variables *v);
DT_API const char *dt_variables_path(const dt_variables *v, int i); /* "dense/kernel"; NULL: there is no such variable */
/* A weight's value in a step function, trainable or not, by path; NotFoundError in the trace when there is none. */
DT_API dt_value dt_model_weight(dt_trace *t, dt_model *m, const char *path);
/* Sums the gradients over replicas and updates the variables; those without a gradient are left alone. ValueError (in the trace) when none has one,
 * and for a variable that was not among those of its first call. */
DT_API void dt_optimizer_apply(dt_optimizer *o, dt_gradients gradients);

DT_API dt_value dt_constant(dt_trace *t, double value); /* float32 scalar */
DT_API dt_value dt_scalar(dt_trace *t, dt_dtype dtype, double value);
DT_API dt_value dt_convert(dt_value x, dt_dtype dtype); /* x itself when it has that dtype */
DT_API dt_value dt_add(dt_value a, dt_value b);         /* element-wise; shapes broadcast as in NumPy */
DT_API dt_value dt_subtract(dt_value a, dt_value b);
DT_API dt_value dt_multiply(dt_value a, dt_value b);
DT_API dt_value dt_divide(dt_value a, dt_value b);
DT_API dt_value dt_matmul(dt_value a, dt_value b);      /* (..., m, k), (k, n) */
DT_API dt_value dt_reduce_sum(dt_value x, int axis);    /* DT_NO_AXIS: over all */
DT_API dt_value dt_reduce_mean(dt_value x, int axis);
DT_API dt_value dt_all_reduce(dt_reduce_op op, dt_value x); /* over replicas */
DT_API dt_value dt_all_reduce_named(const char *op, dt_value x); /* "sum", "MEAN", as dt_reduce_op_named */
DT_API dt_value dt_all_gather(dt_value x, int axis);    /* the replicas' values joined along an axis; they may differ in rows along axis 0 */
DT_API dt_value dt_replica_id(dt_trace *t);             /* replica_id_in_sync_group: int32 scalar */
DT_API dt_value dt_num_replicas(dt_trace *t);           /* num_replicas_in_sync: int32 scalar */
/* The step fails with an error of its own, which run returns; the first one counts. s is the trace's. */
DT_API void dt_trace_fail(dt_trace *t, dt_status *s);
/*
 * merge_call: `fn` runs in cross-replica context, once for all replicas, with their values: in[i] is what each of them gave as values[i]. There
 * dt_merge_reduce stands for reduce, and dt_variable_read and dt_variable_assign are those of cross-replica context. It sets out[0 .. n_out - 1],
 * which every replica gets back.
 */
typedef struct dt_merge {
    dt_trace *trace;
    int n_in, n_out;
    const dt_value *in;
    dt_value *out;
    void *user;
} dt_merge;
DT_API void dt_merge_call(const dt_merge *merge, void (*fn)(const dt_merge *m));
/* One value for all replicas: their sum or mean; with an axis (or DT_NO_AXIS) also along it. */
DT_API dt_value dt_merge_reduce(dt_reduce_op op, dt_value x, int axis);
DT_API int64_t dt_dim(dt_value x, int axis);            /* -1: the batch dimension, see dt_dim_value */
DT_API dt_value dt_dim_value(dt_value x, int axis);     /* int32 scalar: the size, known when the step runs */

/*
 * In step functions. What replicas assign to a MirroredVariable is aggregated first; with DT_AGGREGATE_NONE each copy gets its own
 * replica's value, and is its own from then on. A SyncOnReadVariable's copies are never aggregated here. A plain variable is changed by one replica
 * after the other. The result is the value after the assignment.
 */
DT_API dt_value dt_variable_read(dt_trace *t, dt_variable *v);
DT_API dt_value dt_variable_assign(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_add(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_sub(dt_trace *t, dt_variable *v, dt_value value);
/* A number that is the same for all replicas: it cannot be summed over them, and needs no averaging. */
DT_API dt_value dt_variable_write_number(dt_trace *t, dt_variable *v, dt_write how, double number);
/* A list of variables for dt_gradient and dt_optimizer_apply; keeps them. */
DT_API dt_status *dt_variables_create(dt_variables **out, dt_variable *const *v, int n) DT_CHECKED;
DT_API void dt_variables_unref(dt_variables *list);
DT_API dt_variable *dt_variables_at(const dt_variables *list, int i); /* lent; NULL: none */

/* ---- logical devices ---------------------------------------------------------------------------------------------- */

/*
 * In step functions of a TPU strategy whose device assignment gives a replica several logical devices: how a value lies on them. The value
 * returned is x; use it instead. ValueErrors, in this order, are the trace's, and run returns them. Outside of step functions there is nothing
 * to annotate: that is a ValueError of the next public call.
 */
/* Cut into tiles, parts[d] of dimension d, tile i on logical device i (the last dimension fastest). One number for each dimension; sizes that
 * are known divisible by them; their product the number of logical devices. */
DT_API dt_value dt_strategy_split_to_logical_devices(dt_strategy *s, dt_value x, const int64_t *partition_dimensions, int n);
/* Whole, on each of them. */
DT_API dt_value dt_strategy_replicate_to_logical_devices(dt_strategy *s, dt_value x);
/* Whole, on one of them; never with SPMD partitioning. */
DT_API dt_value dt_strategy_assign_to_logical_device(dt_strategy *s, dt_value x, int logical_device_id);

/*
 * The same said of a variable, once and outside of step functions: every step of the strategy that reads it from now on has it lie like that. What
 * an optimizer keeps of it follows. The variable is the strategy's, or a plain one, as the weights of models are; the last word counts.
 */
DT_API dt_status *dt_strategy_split_variable(dt_strategy *s, dt_variable *v, const int64_t *partition_dimensions, int n) DT_CHECKED;
DT_API dt_status *dt_strategy_replicate_variable(dt_strategy *s, dt_variable *v) DT_CHECKED;
DT_API dt_status *dt_strategy_assign_variable(dt_strategy *s, dt_variable *v, int logical_device_id) DT_CHECKED;

/* What was recorded, in the words of XLA's OpSharding. */
typedef enum dt_sharding_kind { DT_SHARDING_NONE, DT_SHARDING_OTHER, DT_SHARDING_MAXIMAL, DT_SHARDING_REPLICATED } dt_sharding_kind;
typedef struct dt_sharding {
    dt_sharding_kind kind;
    int rank;
    int64_t tile_dimensions[8]; /* rank numbers: parts of each dimension; of MAXIMAL: 1 */
    int n_devices, first_device; /* that hold tiles: n_devices from this one on; none for REPLICATED, which is on all */
} dt_sharding;
/* Of a value that one of the calls above returned; false, and NONE: of any other. */
DT_API bool dt_sharding_of(dt_value x, dt_sharding *out);
/* The part of such a value that lies on a logical device, per dimension its first index and its size (-1 for both: not known before the step
 * runs); false: no part lies there. */
DT_API bool dt_tile_of(dt_value x, int logical_device, int64_t begin[8], int64_t size[8]);

DT_END_C

#endif
