/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of `compile`, in three files: its keys (compile.c), settings per output
 * (compile_outputs.c), metrics (compile_metrics.c). */
#ifndef DT_MODEL_COMPILE_H
#define DT_MODEL_COMPILE_H

#include "model/model.h"

/* The outputs of a model. v NULL, n 0: the model has errors, so the names of its outputs are
 * unknown. */
typedef struct dt_outputs {
    int n;
    const dt_output_spec *v;
} dt_outputs;

/* Whether t maps outputs to settings, and is not a single kind with its arguments, {KIND: {...}}.
 * rows[n]: the kinds. A mapping maps outputs if it does not have exactly one key, if its key is the
 * name of an output or, in a model of several outputs, if its key is not the name of a kind. */
bool dt_is_by_output(const dt_outputs *o, const dt_tree *t, const dt_kind *const *rows, int n);
/* Splits t, a mapping by outputs or a list with an entry for each output, into of[o->n]; of[i] is
 * NULL if output i has no entry. Returns all errors. what: the key that has the value t. */
dt_status *dt_by_output(const dt_outputs *o, const dt_tree *t, const char *what,
                        const dt_tree **of) DT_MUST_USE;

/* The values of keys of `compile` that may map outputs to settings, as written in the job; NULL:
 * the job does not have the key. */
typedef struct dt_compile_trees {
    const dt_tree *loss, *loss_weights, *target, *sample_weight, *metrics, *weighted_metrics;
} dt_compile_trees;
/* Words for losses whose meaning depends on shapes: "crossentropy" and "ce". */
extern const char *const dt_fitting_losses[];
/* Reads the losses, their weights, and the names of the elements with targets and sample weights
 * into out->output. Returns all errors. */
dt_status *dt_compile_read_losses(dt_arena *arena, const dt_compile_trees *t, const dt_outputs *o,
                                  dt_compile_spec *out) DT_MUST_USE;
/* Reads metrics into out->metric. Losses must have been read. Returns all errors. */
dt_status *dt_compile_read_metrics(dt_arena *arena, const dt_compile_trees *t, const dt_outputs *o,
                                   dt_compile_spec *out) DT_MUST_USE;

/* The kinds that a short word such as `accuracy` can mean. The shapes of predictions and targets
 * decide which, as in Keras. */
typedef struct dt_fitting {
    dt_status *(*read)(dt_arena *arena, const dt_tree *t, dt_named *out);
    const char *binary; /* the kind's name if the last dimension of predictions is 1 */
    /* names of the kinds otherwise: for one-hot targets, and for class numbers */
    const char *categorical, *sparse;
} dt_fitting;
/* Reads the kind that fits the type of the output into *named, with its default arguments.
 * *if_sparse: the kind to use instead if targets are class numbers; NULL: *named fits them, too.
 * output NULL: the model has errors, and the output counts as one of several numbers. */
dt_status *dt_read_fitting(dt_arena *arena, const dt_fitting *fitting, const dt_type *output,
                           dt_named *named, const dt_named **if_sparse) DT_MUST_USE;

#endif
