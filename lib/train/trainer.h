/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a trainer: step.c traces its steps, trainer.c runs them. */
#ifndef DT_TRAIN_TRAINER_H
#define DT_TRAIN_TRAINER_H

#include "train/results.h"

/* A step that has started. */
typedef struct dt_step_flight {
    const dt_tally *tally;
    dt_executable *executable; /* executable to be finished; NULL: the step has finished */
    int64_t rows;
    dt_view *result; /* space for the results of any step */
} dt_step_flight;

struct dt_trainer {
    dt_arena *arena;
    dt_trainer_options o;
    bool outlined; /* the trainer is an outline, see dt_trainer_outline */
    dt_match match;
    dt_class_weights class_weight; /* class weights of `fit`, or balanced ones */
    dt_compiled *train, *evaluate; /* the compiled steps; `train` is NULL without an optimizer */
    /* the step that only accumulates gradients; NULL: every step updates */
    dt_compiled *accumulate;
    dt_compiled *update; /* applies gradients that workers push; NULL: `train` updates itself */
    dt_compiled *gather; /* accumulates pushed gradients; NULL: every push updates */
    /* with a parameter server: row numbers that `train` looks up, of table[result]; NULL: none */
    dt_compiled *numbers;
    dt_variable **table; /* [results of numbers] the variable whose rows each result numbers */
    const char **key[2]; /* [DT_MAX_KEYS] history keys, plain and with val_ */
    /* [DT_MAX_KEYS] class names, for metrics with one value per class; NULL: none */
    const char **class_name;
    dt_sum_layout layout; /* layout of the sums of a step */
    dt_tally training, evaluation;
    dt_step_flight flight[2]; /* two steps may be in progress; flight[oldest] finishes next */
    int oldest, n_flying;
    int32_t *offsets; /* [replicas + 1] first row of each replica */
    dt_price price;   /* price of a step on a full batch */
    dt_price last_price;
    /* rows of the smaller last batch; 0: all batches are full, or the last one is dropped */
    int64_t last_rows;
    int64_t peak_bytes;
    int64_t evaluation_rows; /* number of rows that are evaluated at a time (evaluate.c) */
    dt_recorder *recorder;   /* where steps are recorded; NULL: nowhere */
};

/* Whether some steps only accumulate gradients for a later one. */
static inline bool dt_trainer_accumulates(const dt_trainer *t) {
    return t->o.fit && t->o.fit->gradient_accumulation_steps > 1;
}
/* The class weights to train with; NULL: all classes have weight 1. */
static inline const dt_class_weights *dt_trainer_class_weight(const dt_trainer *t) {
    return t->o.fit ? &t->class_weight : NULL;
}
/* Sets balanced class weights by counting the training part. Fails with LABELS if a target is not a
 * class. */
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
 * Its results, named in results.h, are sums over the examples of all replicas. With FORWARD, the
 * step returns no sums; it is meant for people to read. EXPLAIN is evaluation with results by
 * example, and with targets (dt_target_result). ACCUMULATE only adds gradients to those of earlier
 * steps. GRADIENT also returns gradients, and updates nothing. */
dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out) DT_MUST_USE;

/* The name of a variable's gradient among the results of GRADIENT and the arguments of the
 * update, in `arena`. */
const char *dt_gradient_name(dt_arena *arena, const dt_variable *v);
/* In a trainer that accumulates gradients: the name of the result of GRADIENT, and of the argument
 * of the update, that has the number of examples summed over. */
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
/* The class of a target: its number, or the index of the largest value of a one-hot vector. */
int64_t dt_target_class(const dt_view *target);
/* Starts a step of the trainer on a batch; dt_trainer_finish waits for it. */
dt_status *dt_trainer_start_batch(dt_trainer *t, dt_compiled *c,
                                  const dt_example *batch) DT_MUST_USE;
/* Computes the row numbers that a training step over this batch looks up: one array for each result
 * of `numbers`. */
dt_status *dt_trainer_find_rows(const dt_trainer *t, const dt_example *batch,
                                dt_view *result) DT_MUST_USE;
/* The results of the step that was finished last. They are valid until the next step starts. */
const dt_view *dt_trainer_results(const dt_trainer *t);
/* Chooses the number of rows that are evaluated at a time (evaluate.c). */
void dt_trainer_plan_evaluation(dt_trainer *t);
/* Sets the data set's global batch, which may depend on the number of replicas. */
void dt_trainer_set_batch(const dt_trainer *t);
/* The bytes of the arena of a training step with `rows` rows; 0: unknown. remakes: values are
 * recomputed instead of kept. */
dt_status *dt_trainer_step_bytes(const dt_trainer *t, int64_t rows, bool remakes,
                                 int64_t *bytes) DT_MUST_USE;
/* Notes in s, an error about memory, that the training step with `rows` rows would fit if it
 * recomputed values. Returns s unchanged if it is another error, if the step already recomputes
 * values, or if it would not fit either. */
dt_status *dt_trainer_would_fit(const dt_trainer *t, int64_t rows, dt_status *s) DT_MUST_USE;
/* The rows of a full training batch: at most the number of training examples. */
int64_t dt_trainer_full_batch(const dt_trainer *t);

/* Finds an example of a batch that may cause a loss that is not finite. False: there is none. */
typedef struct dt_not_finite {
    int element;
    /* true: the row is nothing but padding; false: it has a number that is not finite */
    bool padding;
    int64_t row;      /* index of the row in the batch */
    const char *what; /* what is wrong with the values, such as "contains NaN or infinity" */
} dt_not_finite;
bool dt_find_bad_example(const dt_dataset *d, const dt_model_spec *m, const dt_example *b,
                         dt_not_finite *out);

#endif
