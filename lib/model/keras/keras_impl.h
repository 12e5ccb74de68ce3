/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the import and export of Keras' models. */
#ifndef DT_KERAS_KERAS_IMPL_H
#define DT_KERAS_KERAS_IMPL_H

#include "format/hdf5.h"
#include "model/keras/keras.h"

/* ---- file.c ---- */

/* Reads the object that describes the model from the JSON or .keras file `path`; its values have
 * locations. */
dt_status *dt_keras_file_read(dt_arena *arena, const char *path, dt_tree **out) DT_MUST_USE;

/* ---- value.c ---- */

/* Sets *out to the member `key` of an object. Error KERAS_MODEL if it is missing; it is also an
 * error if it is of another kind. */
dt_status *dt_keras_member(const dt_tree *object, const char *key, dt_tree_kind kind,
                           dt_tree **out) DT_MUST_USE;
/* Sets *name to the class of an object: "Dense" of {"module": "keras.layers", "class_name":
 * "Dense", "config": {...}}. Refuses classes that are neither Keras' nor KerasHub's. */
dt_status *dt_keras_class(const dt_tree *thing, const dt_tree **name) DT_MUST_USE;
/* Whether the object is an operation (keras.ops) and not a class of keras.layers. */
bool dt_keras_is_operation(const dt_tree *thing);
/* Converts a value of a configuration to its form in a job file. */
dt_status *dt_keras_value(dt_arena *arena, const dt_tree *value, dt_tree **out) DT_MUST_USE;
/* Sets *out to a map of the entries of a configuration, except `dtype` and values that are known to
 * equal the defaults of a table of fields; `fields` may be NULL. For nulls, see value.c. */
dt_status *dt_keras_arguments(dt_arena *arena, const dt_field *fields, const dt_tree *config,
                              dt_tree **out) DT_MUST_USE;
/* Returns the row of a table with this name; NULL: no row has it. */
const dt_kind *dt_keras_find_row(const dt_kind *const *rows, int n, const char *name);
/* Returns the name of a layer's dtype policy, which Keras writes as a name or an object; NULL:
 * none. Returns an object as it is if it has no name. */
const dt_tree *dt_keras_policy(const dt_tree *config);

/* Functions of trees: scalars and maps with a location in the file. */
dt_tree *dt_keras_scalar(dt_arena *arena, const dt_location *at, const char *text);
/* Returns an empty map with room for `most` entries, and for the entries that are added to any
 * layer. */
dt_tree *dt_keras_map(dt_arena *arena, const dt_location *at, int most);
void dt_keras_put(dt_tree *map, const char *key, const dt_location *key_at, dt_tree *value);
void dt_keras_drop(dt_tree *map, const char *key);
bool dt_keras_is_true(const dt_tree *map, const char *key);

/* ---- inline.c ---- */

/* Replaces *root by a functional model that contains no models and calls each layer once. A
 * functional or Sequential model that contains no models and calls no layer several times is not
 * changed. */
dt_status *dt_keras_inline(dt_arena *arena, const dt_tree **root) DT_MUST_USE;

/* ---- layer.c ---- */

typedef struct dt_keras_layer {
    /* the layer in Keras' form: as it was read, or rewritten by inline.c, layer.c or operation.c */
    const dt_tree *raw;
    const char *name;
    const dt_tree *class_name;
    const dt_layer *row;   /* the row of dtrain's layer; NULL: dtrain has no such layer */
    const dt_tree *policy; /* dtype policy; NULL: none, or an Input */
    dt_tree *arguments;    /* a map of the layer's arguments */
    /* a layer that must follow this one: its activation, {LeakyReLU: {name: dense_activation}}, or
     * an Add of its first input and its result; NULL: none */
    dt_tree *behind;
    /* the mask of the layer's output, or the one that an operation computes, as a text that
     * identifies it (mask.c); NULL: no mask, or an unknown one */
    const char *mask;
    /* the reason why the output has no mask in Keras although it has one in dtrain; NULL: both
     * agree */
    const char *unmasked;
    /* whether the layer is an operation that computes a mask, which is not a layer of a job */
    bool is_mask;
} dt_keras_layer;

/* ---- augment.c ---- */

/* Whether the layer prepares data, and dataset.map has such a step. */
bool dt_keras_is_step(const char *kind);

/* ---- layer.c ---- */

/* Reads a layer as Keras wrote it: all members of *out but the masks. Fails with KERAS_MODEL. A
 * class that dtrain does not have gets a row of NULL here, and the job is refused later unless the
 * layer becomes a step of dataset.map. But an operation that no layer of dtrain computes is an
 * error. */
dt_status *dt_keras_layer_read(dt_arena *arena, const dt_tree *raw,
                               dt_keras_layer *out) DT_MUST_USE;
/* Returns the layer as an item of a job's list of layers. */
dt_tree *dt_keras_layer_item(dt_arena *arena, const dt_keras_layer *l);
/* Returns the name by which other layers read the output `name` of l: that of the layer `behind`,
 * if l has one and `name` is not a further output, "NAME/1"; otherwise `name`. */
const dt_tree *dt_keras_layer_output(const dt_keras_layer *l, const dt_tree *name);

/* ---- operation.c ---- */

/* Sets the row and the arguments of an operation of keras.ops. If it becomes a Rescaling or a
 * Multiply of x with itself, also replaces its call by one with tensors only. Error KERAS_MODEL if
 * no layer computes the same. */
dt_status *dt_keras_operation_read(dt_arena *arena, dt_keras_layer *l,
                                   const dt_tree *config) DT_MUST_USE;

/* ---- call.c, mask.c ---- */

typedef struct dt_keras_model {
    dt_arena *arena;
    int n;
    dt_keras_layer *layer; /* [n] the layers, in the order of the file or, if it changed the model,
                            * of inline.c */
} dt_keras_model;

typedef struct dt_keras_tensors {
    dt_arena *arena;
    int n, cap;
    const dt_tree **name; /* names; the caller frees the array only */
} dt_keras_tensors;

/* Returns the layer with this name among the first n, or the layer that has the output "NAME/1";
 * NULL: neither exists. */
dt_keras_layer *dt_keras_find(const dt_keras_model *m, int n, const char *name);
/* Sets *name to the NAME of [NAME, 0, TENSOR], or to "NAME/1" for a layer's second output. Fails
 * for another node, which would be a later call of the layer. */
dt_status *dt_keras_tensor_name(dt_arena *arena, const dt_tree *history,
                                const dt_tree **name) DT_MUST_USE;
/* Returns the history, [LAYER, CALL, OUTPUT], of a tensor among arguments, or the tensor itself if
 * it has none; NULL: the value is not a tensor. */
const dt_tree *dt_keras_history(const dt_tree *value);
/* Adds the inputs and the arguments of the call of layer i to the layer's arguments, and sets its
 * masks. */
dt_status *dt_keras_call_read(const dt_keras_model *m, int i) DT_MUST_USE;

/* Whether the layer uses the masks of its inputs while Keras runs the model, instead of as
 * arguments. */
bool dt_keras_reads_masks(const dt_layer *row);
/* Sets *is_mask to whether layer i is an operation of a class that computes masks. If it is, sets
 * the layer's `name`, `is_mask` and `mask`, the text that identifies it, or NULL for a mask that
 * dtrain does not compute. *is_mask must be false before. Fails with KERAS_MODEL if it has no
 * name. */
dt_status *dt_keras_mask_read(const dt_keras_model *m, int i, bool *is_mask) DT_MUST_USE;
/* Returns the error KERAS_MODEL if one of the inputs has a mask that is lost in Keras: if layer i
 * is an operation, whose output has no mask in Keras, or if it uses masks and does not get one in
 * Keras. given: the mask is an argument of the call. */
dt_status *dt_keras_mask_lost(const dt_keras_model *m, int i, const dt_keras_tensors *from,
                              bool given) DT_MUST_USE;
/* Sets the mask of layer i's output from the masks of its inputs, as dtrain derives it. Unless the
 * mask is given as an argument, also marks the masks that MultiHeadAttention removes in Keras. */
void dt_keras_mask_pass(const dt_keras_model *m, int i, const dt_keras_tensors *from, bool given);
/* Fails with KERAS_MODEL if layer i does not support masks, or `mask`, an argument of the call,
 * differs from the mask that the first of the layer's inputs `from` has. If `mask` is a list, it
 * must have one mask for each input, equal to the input's. */
dt_status *dt_keras_mask_check(const dt_keras_model *m, int i, const dt_tree *mask,
                               const dt_keras_tensors *from) DT_MUST_USE;

/* ---- write_config.c, write_weights.c ---- */

/* Whether Keras' Sequential can represent the model: it has one input, its only output is that of
 * the last layer, each layer after the Input reads only the previous layer's first output, and none
 * has `weights_of`, needs several inputs or is an attention with heads. */
bool dt_keras_is_sequential(const dt_model_spec *m);
/* Whether the layer is a MultiHeadAttention or GroupQueryAttention, which are called with query,
 * value and key, not with a list. */
bool dt_keras_has_heads(const dt_layer *row);
/* Prints config.json. Error KERAS_MODEL for each layer that Keras cannot represent. */
dt_status *dt_keras_config_print(dt_arena *arena, const dt_model *model, const char *name,
                                 dt_str *out) DT_MUST_USE;
/* Lists the groups and arrays of model.weights.h5, in the arena. The values of weights are not
 * copied. */
dt_status *dt_keras_weights_list(dt_arena *arena, const dt_model_spec *m, const dt_arrays *weights,
                                 dt_hdf5_item **item, int *n) DT_MUST_USE;

#endif
