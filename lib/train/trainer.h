/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer from the inside: its steps (step.c, forward.c, step_results.c) and what it does with
 * them (trainer.c). */
#ifndef DT_TRAIN_TRAINER_H
#define DT_TRAIN_TRAINER_H

#include "train/results.h"

/* A step that has started: whose results they will be. */
typedef struct dt_step_flight {
    const dt_tally *tally;
    dt_executable *executable; /* to be finished; NULL: it is done */
    int64_t rows;
    dt_view *result; /* room for any step's */
} dt_step_flight;

struct dt_trainer {
    dt_arena *arena;
    dt_trainer_options o;
    dt_match match;
    dt_compiled *train, *evaluate; /* train: NULL without an optimizer */
    dt_compiled *accumulate;       /* NULL: every step updates */
    dt_compiled *update; /* of gradients that `train` returned elsewhere; NULL: `train` updates */
    dt_compiled *gather; /* of such gradients that wait for others; NULL: every step updates */
    /* with a parameter server: row numbers that `train` looks up, of table[result]; NULL: none */
    dt_compiled *numbers;
    dt_variable **table; /* [results of numbers] */
    const char **key[2]; /* [DT_MAX_KEYS] history keys, plain and with val_ */
    /* [DT_MAX_KEYS] of metrics with a number for each class; NULL: it has none */
    const char **class_name;
    dt_sum_layout layout; /* of sums */
    dt_tally training, evaluation;
    dt_step_flight flight[2]; /* [oldest] finishes next */
    int oldest, n_flying;
    int32_t *offsets; /* [replicas + 1] */
    dt_price price;   /* of a full training step */
    int64_t peak_bytes;
    int64_t evaluation_rows; /* of a piece: see evaluate.c */
    dt_recorder *recorder;   /* NULL: nobody listens */
};

/* Some steps only add to the gradients of a later one. */
static inline bool dt_trainer_accumulates(const dt_trainer *t) {
    return t->o.fit && t->o.fit->gradient_accumulation_steps > 1;
}
/* NULL: all examples count 1. */
static inline const dt_class_weights *dt_trainer_class_weight(const dt_trainer *t) {
    return t->o.fit ? &t->o.fit->class_weight : NULL;
}

typedef enum dt_step_kind {
    DT_STEP_FORWARD,
    DT_STEP_EVALUATE,
    DT_STEP_TRAIN,
    DT_STEP_ACCUMULATE,
    DT_STEP_GRADIENT
} dt_step_kind;
/* The step of one replica, traced: arguments are the input and the target elements; results, which
 * results.h names, are sums over all examples of all replicas. FORWARD: without what is summed over
 * replicas, for people to read. ACCUMULATE: gradients are added to those of steps before. GRADIENT:
 * they are results as well, and nothing is updated. */
dt_status *dt_step_trace(const dt_trainer *t, dt_step_kind kind, dt_graph **out) DT_MUST_USE;

/* What a variable's gradient is called, as a result of the step GRADIENT and an argument of the
 * update; in `arena`. */
const char *dt_gradient_name(dt_arena *arena, const dt_variable *v);
/* Likewise the number of examples behind gradients, of a trainer that accumulates. */
extern const char dt_pushed_examples[];
/* The update of all variables by the gradients that such a step returns; not last, of a trainer
 * that accumulates: they are only added up. */
dt_status *dt_update_trace(const dt_trainer *t, const dt_graph *gradients, bool last,
                           dt_graph **out) DT_MUST_USE;

/* Traced and compiled for the strategy. */
dt_status *dt_step_compile(const dt_trainer *t, dt_step_kind kind, dt_compiled **out) DT_MUST_USE;
/* The class of a target: a number, or where a one-hot vector has its one. */
int64_t dt_target_class(const dt_view *target);
/* A batch through one of its steps; dt_trainer_finish is the second half. */
dt_status *dt_trainer_start_batch(dt_trainer *t, dt_compiled *c, const dt_batch *batch) DT_MUST_USE;
/* The row numbers that a training step over this batch looks up; result[results of numbers]. */
dt_status *dt_trainer_find_rows(const dt_trainer *t, const dt_batch *batch,
                                dt_view *result) DT_MUST_USE;
/* The results of the step that was finished last, until the next one starts. */
const dt_view *dt_trainer_results(const dt_trainer *t);
/* Decides how many examples are evaluated at a time. */
void dt_trainer_plan_evaluation(dt_trainer *t);
/* The global batch that the data set asks for, with replicas known. */
void dt_trainer_set_batch(const dt_trainer *t);
/* Bytes of a training step's arena over so many rows; remakes: with values made again in place of
 * kept. 0: it is not known. */
dt_status *dt_trainer_step_bytes(const dt_trainer *t, int64_t rows, bool remakes,
                                 int64_t *bytes) DT_MUST_USE;
/* Rows of a full training batch: less than asked for where there is less data. */
int64_t dt_trainer_full_batch(const dt_trainer *t);

/* What in a batch may make a loss that is not finite; false: nothing that can be seen. */
typedef struct dt_not_finite {
    int element;
    bool padding;     /* alone; else there is a number that is not finite */
    int64_t row;      /* of the batch */
    const char *what; /* "contains NaN or infinity" */
} dt_not_finite;
bool dt_find_bad_example(const dt_dataset *d, const dt_model_spec *m, const dt_batch *b,
                         dt_not_finite *out);

#endif
