/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models as in Keras: create them from layers, compile, train and save them. For custom training
 * loops, see step.h.
 */
#ifndef DTRAIN_MODEL_H
#define DTRAIN_MODEL_H

#include "data.h"

DT_BEGIN_C

/* ---- models ---- */

typedef struct dt_model dt_model;
typedef struct dt_optimizer dt_optimizer;
typedef struct dt_loss dt_loss;
typedef struct dt_history dt_history;

/* Creates a model from a job file's `model`, {type: functional, layers: [...]}, or from a list of
 * layers alone, which is a sequential model. Its variables are created at once, in the current
 * scope. The model remembers this scope: compile, fit, evaluate, predict and save enter it. Initial
 * values depend on the seed, which is 0 unless you call dt_model_seed. */
DT_API dt_status *dt_model_create(dt_model **out, const char *format, ...) DT_CHECKED
    DT_FORMAT(2, 3);
DT_API void dt_model_unref(dt_model *m);
/* Initializes all weights again, from `seed`. */
DT_API dt_status *dt_model_seed(dt_model *m, uint64_t seed) DT_CHECKED;
/* Compiles the model, with keys as in the job file's `compile`: "{optimizer: Adam, loss:
 * CategoricalCrossentropy, metrics: [accuracy]}". */
DT_API dt_status *dt_model_compile(dt_model *m, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* Trains the model. Keys as in the job file's `fit`, plus `seed` for the shuffle: "{epochs: 5}".
 * history may be NULL; it gets a row per epoch and, with `steps` and `validation_freq`, one for
 * each validation in between. */
DT_API dt_status *dt_model_fit(dt_model *m, dt_dataset *data, dt_history **history,
                               const char *format, ...) DT_CHECKED DT_FORMAT(4, 5);
/* Computes loss and metrics over the validation part of `data`, or over the training part if it has
 * none. The history has one row. */
DT_API dt_status *dt_model_evaluate(dt_model *m, dt_dataset *data, dt_history **history) DT_CHECKED;
/* Computes the model's output, of shape (examples, ...), on the host, for the examples that
 * evaluate uses; they are never shuffled. The model need not be compiled. It gets the elements
 * named like its Inputs; the others are read, too, but not used. It is an error if the model has
 * several outputs. */
DT_API dt_status *dt_model_predict(dt_model *m, dt_dataset *data, dt_tensor **out) DT_CHECKED;
/* Like dt_model_predict, for a model with any number of outputs: one tensor for each, by the
 * output's name. */
DT_API dt_status *dt_model_predict_outputs(dt_model *m, dt_dataset *data,
                                           dt_values **out) DT_CHECKED;
/*
 * Saves layers, weights and, if the model is compiled, the compile settings and the optimizer's
 * state in the directory `path`, a checkpoint like those of runs. It is written under another name
 * and then renamed. An existing checkpoint at `path` is replaced; anything else there is an error.
 */
DT_API dt_status *dt_model_save(dt_model *m, const char *path) DT_CHECKED;
/* Creates a model in the current scope from a directory that dt_model_save or a run has written. If
 * it was saved compiled, it is compiled, and its optimizer's state is loaded too. */
DT_API dt_status *dt_model_load(dt_model **out, const char *path) DT_CHECKED;
/* the number of parameters, trainable or not */
DT_API int64_t dt_model_parameters(const dt_model *m);
/* The SHA-256 of all weights. For each variable, sorted by path, it covers path, dtype, shape and
 * little-endian data. NULL: the weights could not be copied from their device. */
DT_API const char *dt_model_weights_sha256(dt_model *m); /* lent until the next call */
/* These copy a weight, such as "dense/kernel", from the model or into it. */
DT_API dt_status *dt_model_get_weight(dt_model *m, const char *path, dt_tensor **out) DT_CHECKED;
DT_API dt_status *dt_model_set_weight(dt_model *m, const char *path,
                                      const dt_tensor *value) DT_CHECKED;

/* Creates an optimizer, or a loss, written as in the job file: "Adam: {learning_rate: 0.01}",
 * "CategoricalCrossentropy". */
DT_API dt_status *dt_optimizer_create(dt_optimizer **out, const char *format, ...) DT_CHECKED
    DT_FORMAT(2, 3);
DT_API void dt_optimizer_unref(dt_optimizer *o);
DT_API dt_status *dt_loss_create(dt_loss **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_loss_unref(dt_loss *l);
/*
 * The divisor of dt_loss_call and dt_loss_call_weighted in replica context, for reductions that are
 * means. DT_GLOBAL_AVERAGE, the default, divides by the number of examples (or samples, or the sum
 * of weights) of all replicas. DT_REPLICA_AVERAGE is Keras' formula: the mean over the replica's
 * examples, divided by num_replicas. Both are the same if all replicas have the same number of
 * examples; otherwise only the first is the mean over the batch. Set it before you run a step
 * function that calls the loss.
 */
typedef enum dt_loss_average { DT_GLOBAL_AVERAGE, DT_REPLICA_AVERAGE } dt_loss_average;
DT_API dt_status *dt_loss_set_average(dt_loss *l, dt_loss_average average) DT_CHECKED;

DT_API void dt_history_unref(dt_history *h);
DT_API int dt_history_epochs(const dt_history *h);
/* A value by its key in Keras' history: "loss", "accuracy", "val_loss", ...; of row `epoch`,
 * counted from 0, or of the last row. NaN: no such key or epoch. */
DT_API double dt_history_at(const dt_history *h, const char *key, int epoch);
DT_API double dt_history_last(const dt_history *h, const char *key);

DT_END_C

#endif
