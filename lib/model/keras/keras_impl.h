/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share; for them only. */
#ifndef DT_KERAS_KERAS_IMPL_H
#define DT_KERAS_KERAS_IMPL_H

#include "model/keras/keras.h"

/* ---- file.c ---- */

/* The model's object; its values have places. */
dt_status *dt_keras_file_read(dt_arena *arena, const char *path, dt_tree **out) DT_MUST_USE;

/* ---- value.c ---- */

/* A member of an object that must be there and be of that kind; `what` is the object in
 * messages. */
dt_status *dt_keras_member(const dt_tree *object, const char *key, dt_tree_kind kind,
                           dt_tree **out) DT_MUST_USE;
/* The class of a thing: "Dense" of {"module": "keras.layers", "class_name": "Dense", "config":
 * {...}}. Refuses what is not Keras' own. */
dt_status *dt_keras_class(const dt_tree *thing, const dt_tree **name) DT_MUST_USE;
/* Whether the thing is an operation (keras.ops) and no class of keras.layers. */
bool dt_keras_is_operation(const dt_tree *thing);
/* A value of a configuration as a job file has it. */
dt_status *dt_keras_value(dt_arena *arena, const dt_tree *value, dt_tree **out) DT_MUST_USE;
/* All of a configuration that says more than the defaults of the table; fields may be NULL. */
dt_status *dt_keras_arguments(dt_arena *arena, const dt_field *fields, const dt_tree *config,
                              dt_tree **out) DT_MUST_USE;
/* The row of that name; NULL: there is none. */
const dt_kind *dt_keras_find_row(const dt_kind *const *rows, int n, const char *name);
/* The name of a policy, which may be an object; NULL: none. */
const dt_tree *dt_keras_policy(const dt_tree *config);

/* Trees. */
dt_tree *dt_keras_scalar(dt_arena *arena, const dt_location *at, const char *text);
/* with room for that many entries, and a few that a layer gets */
dt_tree *dt_keras_map(dt_arena *arena, const dt_location *at, int most);
void dt_keras_put(dt_tree *map, const char *key, const dt_location *key_at, dt_tree *value);
void dt_keras_drop(dt_tree *map, const char *key);
bool dt_keras_is_true(const dt_tree *map, const char *key);

/* ---- layer.c ---- */

typedef struct dt_keras_layer {
    const dt_tree *raw; /* as Keras wrote it */
    const char *name;
    const dt_tree *class_name;
    const dt_layer *row;   /* NULL: dtrain has no such layer */
    const dt_tree *policy; /* what it computes in; NULL: not said */
    dt_tree *arguments;    /* a map */
    /* its activation as a layer of its own, {LeakyReLU: {name: dense_activation}}; NULL: none */
    dt_tree *behind;
    const char *mask; /* see mask.c; of what it gives, NULL: none */
    bool is_mask;     /* an operation that computes a mask: no layer of a job */
} dt_keras_layer;

dt_status *dt_keras_layer_read(dt_arena *arena, const dt_tree *raw,
                               dt_keras_layer *out) DT_MUST_USE;
/* As an item of a list of layers. */
dt_tree *dt_keras_layer_item(dt_arena *arena, const dt_keras_layer *l);
/* What others take from it under: the name of the layer behind it. */
const dt_tree *dt_keras_layer_output(const dt_keras_layer *l, const dt_tree *name);

/* ---- call.c, mask.c ---- */

typedef struct dt_keras_model {
    dt_arena *arena;
    int n;
    dt_keras_layer *layer; /* [n] */
} dt_keras_model;

typedef struct dt_keras_tensors {
    int n, cap;
    const dt_tree **name; /* lent; freed by who called */
} dt_keras_tensors;

/* The layer of that name among the first n; NULL: there is none. */
dt_keras_layer *dt_keras_find(const dt_keras_model *m, int n, const char *name);
/* The name in [NAME, NODE, TENSOR], the only node and tensor of a layer. */
dt_status *dt_keras_tensor_name(const dt_tree *history, const dt_tree **name) DT_MUST_USE;
/* The history of a tensor among arguments; NULL: the value is no tensor. */
const dt_tree *dt_keras_history(const dt_tree *value);
/* Adds the names of all tensors in a value, in order; what is neither a tensor, a list nor null is
 * refused. */
dt_status *dt_keras_tensors_in(const dt_tree *value, dt_keras_tensors *out) DT_MUST_USE;
/* What layer i takes from and how it was called, into its arguments. */
dt_status *dt_keras_call_read(const dt_keras_model *m, int i) DT_MUST_USE;

/* Whether the operation computes a mask; its canonical text then goes into l->mask. */
dt_status *dt_keras_mask_read(const dt_keras_model *m, int i, bool *is_mask) DT_MUST_USE;
/* KERAS_MODEL where layer i is an operation, which gives no mask in Keras, and takes from what has
 * one. */
dt_status *dt_keras_mask_lost(const dt_keras_model *m, int i,
                              const dt_keras_tensors *from) DT_MUST_USE;
/* The mask of what layer i gives, from those of what it takes from, as dtrain will find it. */
void dt_keras_mask_pass(const dt_keras_model *m, int i, const dt_keras_tensors *from);
/* Refuses a mask among the arguments that is another than what comes with the layer's inputs. */
dt_status *dt_keras_mask_check(const dt_keras_model *m, int i, const dt_tree *mask,
                               const dt_keras_tensors *from) DT_MUST_USE;

#endif
