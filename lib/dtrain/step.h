/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom steps: a function that is recorded once per input signature, its values, gradients and
 * variables, and the placement of values on a replica's logical devices. The operations on values
 * are in ops.h.
 */
#ifndef DTRAIN_STEP_H
#define DTRAIN_STEP_H

#include "model.h"

DT_BEGIN_C

/* ---- step functions ---- */

typedef struct dt_trace dt_trace;
typedef struct dt_function dt_function;
/* A value in a trace: one of its nodes. Pass it by value; it is valid as long as the trace. */
typedef struct dt_value {
    dt_trace *trace; /* trace of the value; NULL: the value of a failed call */
    int node;
    /* Number of the trace, which detects values that are used after their trace has ended. */
    unsigned generation;
} dt_value;
/* A list of variables: the trainable ones of a model in creation order, or your own. */
typedef struct dt_variables dt_variables;
/* The gradients of a loss in a trace, one per variable. */
typedef struct dt_gradients {
    const dt_variables *variables;
    /* one gradient per variable; its trace is NULL if the loss does not depend on the variable */
    const dt_value *value;
    dt_trace *trace; /* the trace of the loss */
} dt_gradients;

/* Creates a function from `step`. `user` is passed to `step` each time it is recorded, and must
 * outlive the function. */
DT_API dt_status *dt_function_create(dt_function **out, void (*step)(dt_trace *t, void *user),
                                     void *user) DT_CHECKED;
DT_API void dt_function_unref(dt_function *f);
/* run(): runs the function on every replica. If an entry of `args` has a tensor per replica, each
 * replica gets its own; all replicas get the same single tensors. args NULL: no arguments. Values
 * that the function returns become entries of *results; results may be NULL. */
DT_API dt_status *dt_strategy_run(dt_strategy *s, dt_function *f, const dt_values *args,
                                  dt_values **results) DT_CHECKED;
/* RunOptions. fixed_batch_size (the opposite of experimental_enable_dynamic_batch_size) records the
 * function for the current sizes, so that the first dimension of arguments is a known number; all
 * replicas must have equal shapes. Without it, this is done only for steps that need it. */
typedef struct dt_step_options {
    bool fixed_batch_size;
} dt_step_options;
DT_API dt_status *dt_strategy_run_with(dt_strategy *s, dt_function *f, const dt_values *args,
                                       const dt_step_options *options,
                                       dt_values **results) DT_CHECKED;

/* Most of the functions below are called in a step function. */
#define DT_TRAINING true
#define DT_INFERENCE false
DT_API dt_value dt_arg(dt_trace *t, const char *name); /* the argument of that name */
DT_API dt_value dt_arg_at(dt_trace *t, int i);         /* the argument at that position */
/* makes a value a result of the step, under a name */
DT_API void dt_return(dt_trace *t, const char *name, dt_value value);
DT_API dt_value dt_model_call(dt_model *m, dt_value input, bool training);
/* Like dt_model_call, for a model with n Inputs, given in the order of its layers. */
DT_API dt_value dt_model_call_inputs(dt_model *m, const dt_value *inputs, int n, bool training);
/* The loss of this replica's examples. For reductions that are means it is the sum of their losses
 * divided by the number of examples in the global batch (those of all replicas). The sum over
 * replicas is then the mean over the batch, even if replicas have different numbers of examples. It
 * is a scalar, unless the loss has `reduction: none`. See dt_loss_set_average. */
DT_API dt_value dt_loss_call(dt_loss *l, dt_value target, dt_value prediction);
DT_API const dt_variables *dt_model_trainable(const dt_model *m);
/* The gradients of a loss. Here and in dt_gradient_values, a loss that is not a scalar is replaced
 * by the sum of its elements, as in GradientTape. */
DT_API dt_gradients dt_gradient(dt_value loss, const dt_variables *variables);
/* Like dt_gradient, with respect to any n values of the loss's trace. out[i].trace is NULL if the
 * loss does not depend on of[i]. */
DT_API void dt_gradient_values(dt_value loss, const dt_value *of, int n, dt_value *out);
DT_API int dt_variables_count(const dt_variables *v);
/* path of a variable: "dense/kernel"; lent; NULL: no such variable */
DT_API const char *dt_variables_path(const dt_variables *v, int i);
/* The value of a weight by its path, trainable or not. ValueError (in the trace): no such
 * weight. */
DT_API dt_value dt_model_weight(dt_trace *t, dt_model *m, const char *path);
/* Sums the gradients over replicas and updates the variables, except those without a gradient.
 * ValueError (in the trace): no variable has a gradient, or a variable was not in the optimizer's
 * first call. */
DT_API void dt_optimizer_apply(dt_optimizer *o, dt_gradients gradients);

DT_API dt_value dt_num_replicas(dt_trace *t); /* num_replicas_in_sync: an int32 scalar */
/* Makes the step fail with your own error, which run returns; only the first error of a trace is
 * kept. The trace takes ownership of s. */
DT_API void dt_trace_fail(dt_trace *t, dt_status *s);
/*
 * merge_call: calls `fn` in cross-replica context, once for all replicas. in[i] holds the values
 * that the replicas passed. In fn, use dt_merge_reduce for reduce; dt_variable_read and
 * dt_variable_assign act as in cross-replica context. fn sets out[0 .. n_out - 1], which every
 * replica gets back.
 */
typedef struct dt_merge {
    dt_trace *trace;
    int n_in, n_out;
    const dt_value *in;
    dt_value *out;
    void *user;
} dt_merge;
DT_API void dt_merge_call(const dt_merge *merge, void (*fn)(const dt_merge *m));
/* Reduces the replicas' values to one value for all: their sum or mean, also along `axis` unless it
 * is DT_NO_AXIS. */
DT_API dt_value dt_merge_reduce(dt_reduce_op op, dt_value x, int axis);
/* size of a dimension; -1: the batch dimension, use dt_dim_value */
DT_API int64_t dt_dim(dt_value x, int axis);

/*
 * Variables in step functions. Values that replicas assign to a MirroredVariable are aggregated
 * first. With DT_AGGREGATE_NONE, each copy gets its own replica's value, and the copies may differ
 * from then on. The copies of a SyncOnReadVariable are aggregated only when it is read in a
 * function called by dt_merge_call. A plain variable is changed by one replica after the other.
 * Assignments return the value after the assignment.
 */
DT_API dt_value dt_variable_read(dt_trace *t, dt_variable *v);
DT_API dt_value dt_variable_assign(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_add(dt_trace *t, dt_variable *v, dt_value value);
DT_API dt_value dt_variable_assign_sub(dt_trace *t, dt_variable *v, dt_value value);
/* Writes a number that is the same for all replicas. In replica context and with several replicas,
 * a mirrored variable with aggregation SUM gives an error, because the number is not meant to be
 * summed. */
DT_API dt_value dt_variable_write_number(dt_trace *t, dt_variable *v, dt_write how, double number);
/* Creates a list of variables for dt_gradient and dt_optimizer_apply. The list keeps references to
 * them. */
DT_API dt_status *dt_variables_create(dt_variables **out, dt_variable *const *v, int n) DT_CHECKED;
DT_API void dt_variables_unref(dt_variables *list);
/* a variable of the list, lent; NULL: no such variable */
DT_API dt_variable *dt_variables_at(const dt_variables *list, int i);

/* ---- logical devices ---- */

/*
 * The placement of a value on the logical devices of a replica, in step functions of a TPU strategy
 * whose device assignment gives a replica several of them. Use the returned value, which is x with
 * an annotation, in place of x. Errors make the trace fail, and run returns them. Outside of step
 * functions there is no graph to annotate, so the next public call returns a ValueError.
 */
/* Splits x into tiles: partition_dimensions[d] equal parts along dimension d, with tile i on
 * logical device i (last dimension fastest). Requirements: one number per dimension, known sizes
 * divisible by them, and their product equal to the number of logical devices. */
DT_API dt_value dt_strategy_split_to_logical_devices(dt_strategy *s, dt_value x,
                                                     const int64_t *partition_dimensions, int n);
/* Puts the whole value on each logical device. */
DT_API dt_value dt_strategy_replicate_to_logical_devices(dt_strategy *s, dt_value x);
/* Puts the whole value on one logical device. An error with SPMD partitioning. */
DT_API dt_value dt_strategy_assign_to_logical_device(dt_strategy *s, dt_value x,
                                                     int logical_device_id);

/*
 * The placement of a variable, which is set outside of step functions. It applies to every step of
 * the strategy that reads the variable from now on, and to the optimizer's state for it. The
 * variable must belong to the strategy or be plain, as the weights of models are. A later call
 * replaces the placement.
 */
DT_API dt_status *dt_strategy_split_variable(dt_strategy *s, dt_variable *v,
                                             const int64_t *partition_dimensions, int n) DT_CHECKED;
DT_API dt_status *dt_strategy_replicate_variable(dt_strategy *s, dt_variable *v) DT_CHECKED;
DT_API dt_status *dt_strategy_assign_variable(dt_strategy *s, dt_variable *v,
                                              int logical_device_id) DT_CHECKED;

/* The recorded placement of a value. Kinds are those of XLA's OpSharding. */
typedef enum dt_sharding_kind {
    DT_SHARDING_NONE,
    DT_SHARDING_OTHER,
    DT_SHARDING_MAXIMAL,
    DT_SHARDING_REPLICATED
} dt_sharding_kind;
typedef struct dt_sharding {
    dt_sharding_kind kind;
    int rank; /* OTHER: number of dimensions of the value; MAXIMAL: 1; else 0 */
    /* [rank]: for OTHER, the number of parts of each dimension; for MAXIMAL, 1 */
    int64_t tile_dimensions[8];
    /* the devices with tiles: n_devices devices from first_device on; n_devices is 0 for
     * REPLICATED, since the value is on all */
    int n_devices, first_device;
} dt_sharding;
/* The placement of a value that was split, replicated or assigned to a logical device, or was read
 * from a variable with a placement. For any other value returns false, and kind is NONE. */
DT_API bool dt_sharding_of(dt_value x, dt_sharding *out);
/* The tile of a value on a logical device, for a value of which dt_sharding_of returns true: for
 * each dimension the first index and the size of the tile. The size is -1 if it is not known until
 * the step runs; so is the first index, unless the dimension is whole, where it is 0. False: the
 * device has no tile, or dt_sharding_of returns false. */
DT_API bool dt_tile_of(dt_value x, int logical_device, int64_t begin[8], int64_t size[8]);

DT_END_C

#endif
