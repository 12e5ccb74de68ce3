/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models that Keras wrote: the text of `model.to_json()`, or the archive of
 * `model.save("model.keras")`. What such a file says is turned into the `type`, `layers` and
 * `outputs` that a job file has, so that layers' own tables read it, check it and find its faults;
 * nothing here knows what a layer is. Values keep their places, which are the file and the way to
 * them: "model.json: config.layers[3].config.units".
 *
 *     file.c     the file, as a tree with places
 *     value.c    what stands in a configuration: things with a class, wrapped values, defaults that
 *                need not be written
 *     layer.c    one layer
 *     call.c     how layers were called: what each takes from
 *     mask.c     masks, which Keras writes down as layers
 *     import.c   the whole
 */
#ifndef DT_KERAS_KERAS_H
#define DT_KERAS_KERAS_H

#include "model/model.h"

/* The key of `model`. */
#define DT_KERAS_KEY "keras_config"

/* Puts what the file under `keras_config` says in its place: type, layers, outputs. A relative path
 * is one in `directory`. Nothing happens where `model` has no such key. A file that is missing:
 * NO_INPUT at the value; other faults at places in the file, all that can be told apart. */
dt_status *dt_keras_import(dt_arena *arena, const char *directory, dt_tree *model) DT_MUST_USE;
/* Puts another model's type, layers and outputs there. */
void dt_keras_replace(dt_arena *arena, dt_tree *model, const dt_tree *by);

#endif
