/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models as Keras has them: made of layers, compiled, trained, saved. Loops of one's own are in step.h.
 */
#ifndef DTRAIN_MODEL_H
#define DTRAIN_MODEL_H

#include "data.h"

DT_BEGIN_C

/* ---- models ------------------------------------------------------------------------------------------------------- */

typedef struct dt_model dt_model;
typedef struct dt_optimizer dt_optimizer;
typedef struct dt_loss dt_loss;
typedef struct dt_history dt_history;

/* A model from a job file's `model`, {type: functional, layers: [...]}, or from the list of layers alone, which is a sequential one. Variables are created at once, in the current scope, which the
 * model captures: compile, fit, evaluate enter it by themselves. Initial values depend on the seed (0 unless dt_model_seed). */
DT_API dt_status *dt_model_create(dt_model **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_model_unref(dt_model *m);
/* Draws all weights anew from `seed`. */
DT_API dt_status *dt_model_seed(dt_model *m, uint64_t seed) DT_CHECKED;
/* "{optimizer: Adam, loss: CategoricalCrossentropy, metrics: [accuracy]}" */
DT_API dt_status *dt_model_compile(dt_model *m, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* "{epochs: 5}", keys as in the job file's `fit`, plus `seed` of the shuffle. history may be NULL; it has a row an epoch, and with `steps` and
 * `validation_freq` one for each validation between. */
DT_API dt_status *dt_model_fit(dt_model *m, dt_dataset *data, dt_history **history, const char *format, ...) DT_CHECKED DT_FORMAT(4, 5);
/* Loss and metrics over the validation part of `data`, or over all of it when it has none; history with one row. */
DT_API dt_status *dt_model_evaluate(dt_model *m, dt_dataset *data, dt_history **history) DT_CHECKED;
/* The outputs for the same examples as evaluate, in their order whatever the shuffle: (examples, ...), on the host. Needs no compile; of the
 * data set only the elements of the Inputs' names are looked at. A model of several outputs is refused. */
DT_API dt_status *dt_model_predict(dt_model *m, dt_dataset *data, dt_tensor **out) DT_CHECKED;
/* The same of a model of any number of outputs: a tensor of each, by the output's name. */
DT_API dt_status *dt_model_predict_outputs(dt_model *m, dt_dataset *data, dt_values **out) DT_CHECKED;
/* Layers, weights and, when compiled, the compile settings and the optimizer's state, as the directory `path`: a checkpoint like those of
 * runs. Written aside and renamed; an older one of that name is replaced, anything else is not. */
DT_API dt_status *dt_model_save(dt_model *m, const char *path) DT_CHECKED;
/* A model from what dt_model_save or a run has written, made in the current scope: training goes on where it was. */
DT_API dt_status *dt_model_load(dt_model **out, const char *path) DT_CHECKED;
DT_API int64_t dt_model_parameters(const dt_model *m);
/* SHA-256 of all weights: per variable, sorted by path: path, dtype, shape, little-endian data. */
DT_API const char *dt_model_weights_sha256(dt_model *m); /* lent until the next call */
/* Copies a weight ("dense/kernel") out, or in. */
DT_API dt_status *dt_model_get_weight(dt_model *m, const char *path, dt_tensor **out) DT_CHECKED;
DT_API dt_status *dt_model_set_weight(dt_model *m, const char *path, const dt_tensor *value) DT_CHECKED;

DT_API dt_status *dt_optimizer_create(dt_optimizer **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_optimizer_unref(dt_optimizer *o);
DT_API dt_status *dt_loss_create(dt_loss **out, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
DT_API void dt_loss_unref(dt_loss *l);
/*
 * What dt_loss_call and dt_loss_call_weighted divide by in replica context, for the reductions that are means. DT_GLOBAL_AVERAGE, the default: the
 * examples (or samples, or weights) of all replicas. DT_REPLICA_AVERAGE: Keras' own formula, the mean over the replica's examples / num_replicas.
 * Both are the same where all replicas have equally many; only the first is the mean over the batch where they do not. Set it before a step
 * function that calls the loss runs.
 */
typedef enum dt_loss_average { DT_GLOBAL_AVERAGE, DT_REPLICA_AVERAGE } dt_loss_average;
DT_API dt_status *dt_loss_set_average(dt_loss *l, dt_loss_average average) DT_CHECKED;

DT_API void dt_history_unref(dt_history *h);
DT_API int dt_history_epochs(const dt_history *h);
/* Keras' history keys: "loss", "accuracy", "val_loss", ...; NaN when there is no such key or epoch. */
DT_API double dt_history_at(const dt_history *h, const char *key, int epoch);
DT_API double dt_history_last(const dt_history *h, const char *key);

DT_END_C

#endif
