/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models that Keras wrote: the text of `model.to_json()`, or the archive of
 * `model.save("model.keras")`. Such a file is converted to the `type`, `layers` and `outputs` of a
 * job file, so that the tables of layers read and check it. Locations of values are the file and
 * their path: "model.json: config.layers[3].config.units".
 *
 *     file.c         the file, as a tree with locations
 *     value.c        values of a configuration: objects with a class, wrapped values, defaults
 *     inline.c       models within the model, and layers that are called several times
 *     layer.c        one layer
 *     call.c         the calls of layers, which give their inputs
 *     mask.c         masks, whose operations Keras writes as layers
 *     operation.c    operators and functions, which Keras writes as layers
 *     augment.c      layers that prepare data, as steps of dataset.map
 *     import.c       the whole model
 *
 * and a model is saved as such an archive:
 *
 *     write_config.c     config.json, by the tables of fields
 *     write_weights.c    where Keras looks for each weight
 */
#ifndef DT_KERAS_KERAS_H
#define DT_KERAS_KERAS_H

#include "format/format.h"
#include "model/model.h"

/* The key of `model` in a job that names Keras' file. */
#define DT_KERAS_KEY "keras_config"

/* Replaces `keras_config` by the type, layers and outputs of the file that it names. Relative paths
 * begin in `directory`. Does nothing if `model` has no such key, or null. Error NO_INPUT at the
 * value if the file is missing. Errors in the file's model are located in the file, and all
 * independent ones are returned. */
dt_status *dt_keras_import(dt_arena *arena, const char *directory, dt_tree *model) DT_MUST_USE;
/* Replaces the model's type, layers and outputs by those of another model, and removes
 * `keras_config`. */
void dt_keras_replace(dt_arena *arena, dt_tree *model, const dt_tree *by);

/* Writes a .keras archive that keras.saving.load_model reads: the model without `compile`, with the
 * given values of all its weights, in their order. Error KERAS_MODEL for each layer that Keras
 * cannot represent. */
dt_status *dt_keras_save(const dt_model *m, const dt_arrays *weights, const char *name,
                         const char *path) DT_MUST_USE;
/* Writes only the model.weights.h5 of that archive, for Keras' load_weights. */
dt_status *dt_keras_save_weights(const dt_model *m, const dt_arrays *weights,
                                 const char *path) DT_MUST_USE;

/* Removes layers that prepare data, such as RandomFlip, from an imported model, if only such layers
 * and Rescaling stand between them and an Input: see augment.c. Returns them as steps of
 * dataset.map, {INPUT: [random_flip: {...}]}; an empty mapping: there are none; NULL: the model has
 * no list of layers. */
dt_tree *dt_keras_take_steps(dt_arena *arena, dt_tree *model);

#endif
