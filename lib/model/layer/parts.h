/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers built from other layers. A part is what Keras calls a sub-layer: any dt_layer, with
 * arguments in Keras' words, a name below the layer's own (decoder/self_attention) and its weights
 * among the layer's (decoder/self_attention/query/kernel).
 *
 *     build:  dt_part_build(b, &(dt_part_request){ .row = &dt_layer_dense, .name =
 *             "feedforward_output_dense", .in = wide,
 *                                .arg = { { "units", dt_part_int(b, 384) } } }, &parts->narrow)
 *     call:   y = dt_part_call(c, &parts->narrow, x)
 */
#ifndef DT_MODEL_LAYER_PARTS_H
#define DT_MODEL_LAYER_PARTS_H

#include "model/model.h"

enum { DT_PART_ARGS = 12 };

typedef struct dt_part_request {
    const dt_layer *row;
    const char *name;
    dt_type in;
    /* arguments of the part. A list of fewer than DT_PART_ARGS ends with name NULL; an argument
     * with value NULL is left out */
    struct {
        const char *name;
        const dt_tree *value;
    } arg[DT_PART_ARGS];
} dt_part_request;

/* A layer that is part of another layer, after it was built; stored in that layer's `made`. */
typedef struct dt_layer_part {
    const dt_layer *row;
    const void *args, *made;
    const char *name; /* name of the part: LAYER/name */
    dt_type out;
    /* the part's weights are the layer's weights first to first + n_weights - 1 */
    int first, n_weights;
} dt_layer_part;

/* These return values of arguments, made from a number or word that the layer computed or read. */
const dt_tree *dt_part_int(const dt_layer_build *b, int64_t value);
const dt_tree *dt_part_real(const dt_layer_build *b, double value);
const dt_tree *dt_part_word(const dt_layer_build *b, const char *value);
/* Returns an argument of the form {kind: {argument: value}}. */
const dt_tree *dt_part_kind(const dt_layer_build *b, const char *kind, const char *argument,
                            const dt_tree *value);

/* Reads the arguments and builds the part. Its weights come after those that the layer already has.
 * If the layer is not trained, the part is not either. */
dt_status *dt_part_build(dt_layer_build *b, const dt_part_request *q,
                         dt_layer_part *out) DT_MUST_USE;
/* Reads `layer`, the layer that a layer of kind `who` wraps. Error MODEL_INPUTS if it names its
 * inputs in `inputs`, MODEL_LAYERS if it is an Input, needs more than one input or wraps a layer
 * itself. */
dt_status *dt_part_within(dt_arena *arena, const char *who, const dt_tree *layer,
                          dt_named *out) DT_MUST_USE;
/* Builds b->within as a part, for values of type `in`. Error MODEL_LAYERS if it has an activity
 * regularizer or further outputs. */
dt_status *dt_part_wrap(dt_layer_build *b, const dt_type *in, dt_layer_part *out) DT_MUST_USE;
/* Returns the name of the first weight of the part that is state: a `fixed` one
 * without a role (dt_layer_role), such as moving statistics or a counter of random numbers; NULL:
 * the part has no state. */
const char *dt_part_state(const dt_weight_spec *weight, const dt_layer_part *p);
/* Calls the part with x as its input. */
dt_value dt_part_call(const dt_layer_call *c, const dt_layer_part *p, dt_value x);

#endif
