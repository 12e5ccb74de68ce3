/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a trainer, and functions that its files share. */
#ifndef DT_TRAIN_TRAINER_H
#define DT_TRAIN_TRAINER_H

#include "train/results.h"

/* A step of the trainer that has started and is not finished. */
typedef struct dt_step_flight {
    const dt_tally *tally;
    dt_executable *executable; /* the executable that runs the step; NULL: the step has finished */
    int64_t rows;
    dt_view *result; /* space for the results of any step */
} dt_step_flight;

struct dt_trainer {
    dt_arena *arena;
    dt_trainer_options o;
    bool outlined; /* whether the trainer is an outline (dt_trainer_outline) */
    dt_match match;
    dt_class_weights class_weight; /* the class weights of `fit`, given or computed from the data */
    dt_compiled *train, *evaluate; /* the compiled steps; NULL: not compiled (yet) */
    /* The step that only accumulates gradients, without an update. NULL: there is none. */
    dt_compiled *accumulate;
    /* applies gradients that workers push; NULL: there is no parameter server */
    dt_compiled *update;
    /* accumulates pushed gradients; NULL: every push leads to an update, or nothing is pushed */
    dt_compiled *gather;
    /* With a parameter server: computes the numbers of the rows that `train` looks up in
     * table[result]. NULL: it looks up none. */
    dt_compiled *numbers;
    dt_variable **table; /* [results of `numbers`] the variable whose rows each result selects */
    /* [number of keys] the keys of the history, without and with the prefix val_ */
    const char **key[2];
    /* [number of keys] for the keys of metrics that have a value per class: the name of the class.
     * Entry NULL: the key is not about a class, or the class has no name. */
    const char **class_name;
    dt_sum_layout layout; /* the order of a step's sums */
    dt_tally training, evaluation;
    dt_step_flight flight[2]; /* the steps in progress, at most two; flight[oldest] finishes next */
    int oldest, n_flying;
    int32_t *offsets; /* [replicas + 1] first row of each replica */
    dt_price price;   /* the price of a step with a full batch, on a simulated slice */
    dt_price last_price;
    /* The rows of the smaller last batch. 0: all batches are full, or the last one is dropped. */
    int64_t last_rows;
    int64_t peak_bytes;
    int64_t evaluation_rows; /* number of rows that are evaluated at a time (evaluate.c) */
    dt_recorder *recorder;   /* where evaluations record their reading of data; NULL: nowhere */
};

/* Whether fit.gradient_accumulation_steps makes some steps only accumulate gradients. */
static inline bool dt_trainer_accumulates(const dt_trainer *t) {
    return t->o.fit && t->o.fit->gradient_accumulation_steps > 1;
}
/* Returns the class weights to train with. NULL: all classes have weight 1. */
static inline const dt_class_weights *dt_trainer_class_weight(const dt_trainer *t) {
    return t->o.fit ? &t->class_weight : NULL;
}
/* If class_weight is balanced, sets the weights by counting the classes of the training part. Fails
 * with LABELS if a target is not a class, or if no examples are stored. */
dt_status *dt_trainer_balance(dt_trainer *t) DT_MUST_USE;

typedef enum dt_step_kind {
    DT_STEP_FORWARD,
    DT_STEP_EVALUATE,
    DT_STEP_TRAIN,
    DT_STEP_ACCUMULATE,
    DT_STEP_GRADIENT,
    DT_STEP_EXPLAIN
} dt_step_kind;
/* Traces the step of one replica. Its arguments are the elements for inputs, targets and weights.
 * Its results, named in results.h, are mostly sums over the examples of all replicas. FORWARD and
 * EXPLAIN return outputs and the loss of each example instead of sums; FORWARD computes them as
 * training does and is printed for people to read, EXPLAIN computes them as evaluation does and
 * also returns targets (dt_target_result). TRAIN updates the weights. ACCUMULATE adds gradients to
 * those of earlier steps, without an update. GRADIENT also returns gradients, without an update. */
dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out) DT_MUST_USE;

/* Returns the name, in `arena`, that a variable's gradient has among the results of GRADIENT and
 * the arguments of the update. */
const char *dt_gradient_name(dt_arena *arena, const dt_variable *v);
/* In a trainer that accumulates gradients: the name of the result of GRADIENT, and of the argument
 * of the update, that has the number of examples summed over, or the sum of their weights. */
extern const char dt_pushed_examples[];
/* Records the update of variables v by the gradients of a step. With last false, gradients are only
 * accumulated, and variables are not updated. */
dt_status *dt_update_trace(const dt_trainer *t, const dt_variables *v, const dt_graph *gradients,
                           bool last, dt_graph **out) DT_MUST_USE;
/* Compiles an update, or a part of one. Takes ownership of the graph. `last` has the same meaning
 * as in dt_update_trace. */
dt_status *dt_trainer_compile_update(dt_trainer *t, dt_graph *g, bool last,
                                     dt_compiled **out) DT_MUST_USE;

/* Traces and compiles a step for the strategy. */
dt_status *dt_step_compile(const dt_trainer *t, dt_step_kind kind, dt_compiled **out) DT_MUST_USE;
/* Returns the class of a target: its number, or the index of the largest value of a one-hot
 * vector. */
int64_t dt_target_class(const dt_view *target);
/* Starts a step of the trainer on a batch; dt_trainer_finish waits for it. */
dt_status *dt_trainer_start_batch(dt_trainer *t, dt_compiled *c,
                                  const dt_example *batch) DT_MUST_USE;
/* Computes the row numbers that a training step over this batch looks up: one array for each result
 * of `numbers`. */
dt_status *dt_trainer_find_rows(const dt_trainer *t, const dt_example *batch,
                                dt_view *result) DT_MUST_USE;
/* Returns the results of the step that was finished last. They are valid until the next step
 * starts. */
const dt_view *dt_trainer_results(const dt_trainer *t);
/* Chooses the number of rows that are evaluated at a time (evaluate.c). */
void dt_trainer_plan_evaluation(dt_trainer *t);
/* With per_replica_batch_size, sets the data set's global batch to that times the number of
 * replicas; else does nothing. */
void dt_trainer_set_batch(const dt_trainer *t);
/* Computes the bytes of the arena of a training step with `rows` rows; 0: unknown. remakes: values
 * are recomputed instead of kept. */
dt_status *dt_trainer_step_bytes(const dt_trainer *t, int64_t rows, bool remakes,
                                 int64_t *bytes) DT_MUST_USE;
/* Notes in s, an error about memory, that the training step with `rows` rows would fit if it
 * recomputed values. Returns s unchanged if it is another error, if the step already recomputes
 * values, or if it would not fit either. */
dt_status *dt_trainer_would_fit(const dt_trainer *t, int64_t rows, dt_status *s) DT_MUST_USE;
/* Returns the number of rows of a full training batch: at most the number of training examples, if
 * that is known. */
int64_t dt_trainer_full_batch(const dt_trainer *t);

/* An example of a batch that may have caused a loss that is not finite. dt_find_bad_example returns
 * false if it finds none. */
typedef struct dt_not_finite {
    int element;
    /* true: the row contains only padding; false: it contains a number that is not finite */
    bool padding;
    int64_t row;      /* the index of the example's row in the batch */
    const char *what; /* what is wrong with the values, such as "contains NaN or infinity" */
} dt_not_finite;
bool dt_find_bad_example(const dt_dataset *d, const dt_model_spec *m, const dt_example *b,
                         dt_not_finite *out);

#endif
