/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of custom loops: what the files that add, save and restore share.
 *
 *     model.safetensors       weights of models: "dense/kernel", of several models
 *                             "NAME/dense/kernel"
 *     optimizer.safetensors   "optimizer/iteration", "optimizer/dense/kernel/momentum", of several
 *                             optimizers "NAME/..."
 *     variables.safetensors   "NAME"; if replicas have copies of their own, the first dimension
 *                             counts them
 *     state.json              as a run's; "loop" has the names of all objects, the values of
 *                             counters, and positions
 */
#ifndef DT_TRAIN_CHECKPOINT_H
#define DT_TRAIN_CHECKPOINT_H

#include "strategy/iterators.h"
#include "train/train.h"

typedef enum dt_tracked_kind {
    DT_A_MODEL,
    DT_AN_OPTIMIZER,
    DT_A_VARIABLE,
    DT_A_COUNTER,
    DT_AN_ITERATOR,
    DT_A_DATA_SET,
    DT_TRACKED_KINDS
} dt_tracked_kind;

typedef struct dt_tracked {
    dt_tracked_kind kind;
    char *name;
    /* The tracked object: a dt_model, dt_optimizer, ..., to which the checkpoint holds a reference,
     * or an int64_t of the caller. */
    void *object;
} dt_tracked;

struct dt_checkpoint {
    int refs;
    int n, cap;
    dt_tracked *item;
    /* directory of the last save, locked; its path is NULL before the first save */
    dt_run_dir directory;
    /* the checkpoint that was saved or restored last, as a resolved path; NULL: none */
    char *stands_on;
    int64_t generation, step; /* generation and step of the checkpoint at `stands_on` */
};

/* Returns the word for a kind of object in messages: "model", "data set". */
const char *dt_tracked_word(dt_tracked_kind kind);

/* An optimizer that was added, or a compiled model's, whose name is "MODEL/optimizer". */
typedef struct dt_tracked_optimizer {
    const char *name;
    dt_optimizer *optimizer;
} dt_tracked_optimizer;
int dt_tracked_optimizers(const dt_checkpoint *c, dt_arena *arena, dt_tracked_optimizer **out);
dt_variable *dt_tracked_find(const dt_checkpoint *c, const char *path, dt_arena *arena);

/* Variables with the tensors of a file that they are saved to. */
typedef struct dt_bound {
    int n;
    dt_named_view *array; /* [n] the arrays, with their names */
    dt_variable **variable;
    /* [n] number of replicas' copies in each array; 1: the array has no dimension for them */
    int64_t *copies;
} dt_bound;
enum { DT_BOUND_WEIGHTS, DT_BOUND_SLOTS, DT_BOUND_VARIABLES, DT_BOUND_FILES };
/* Lists all tensors of a checkpoint, without values. n_copies: the number of copies of each object
 * of kind DT_A_VARIABLE, in the order in which they were added; NULL: the present numbers. An
 * optimizer without state has no tensors. Fails with CHECKPOINT_PARTS if an optimizer has state for
 * a variable that is not part of the checkpoint, or if a variable with copies has DT_MAX_RANK
 * dimensions. */
dt_status *dt_bound_list(const dt_checkpoint *c, dt_arena *arena, const int64_t *n_copies,
                         dt_bound out[DT_BOUND_FILES]) DT_MUST_USE;
dt_arrays dt_bound_arrays(const dt_bound *b);

typedef struct dt_loop_item {
    const char *name;
    int64_t number;  /* the value of a counter, or the number of a variable's copies */
    int aggregation; /* for a variable with several copies: a dt_aggregation, which combines them */
    bool built;      /* for an optimizer: whether it has created its state */
    dt_texts variables;   /* for an optimizer: names of the variables that it has state for */
    dt_position position; /* for an iterator or a data set: its position */
} dt_loop_item;
typedef struct dt_loop {
    int n[DT_TRACKED_KINDS];
    dt_loop_item *item[DT_TRACKED_KINDS];
} dt_loop;
const char *dt_loop_print(const dt_checkpoint *c, dt_arena *arena);
/* Reads the "loop" of a checkpoint that has one. Fails with CHECKPOINT if the JSON is malformed. */
dt_status *dt_loop_read(const dt_saved *saved, dt_arena *arena, dt_loop *out) DT_MUST_USE;
const dt_loop_item *dt_loop_find(const dt_loop *l, dt_tracked_kind kind, const char *name);

/* Returns an error if c is not a checkpoint, if a step function is being traced, or if an error is
 * stored (dt_status_kept). call: the name of the public function, for the message. */
dt_status *dt_checkpoint_check_call(const dt_checkpoint *c, const char *call) DT_MUST_USE;
/* Remembers the checkpoint at `path`, with the generation and step of *state, as the one that the
 * next save of c continues. */
void dt_checkpoint_stand_on(dt_checkpoint *c, const char *path, const dt_state_file *state);

#endif
