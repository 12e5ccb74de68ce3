/* SPDX-License-Identifier: Apache-2.0 */
/* Internals shared by the files about variables. The handle is dt_variable in graph.h. */
#ifndef DT_STRATEGY_VARIABLE_H
#define DT_STRATEGY_VARIABLE_H

#include "strategy/values.h"

static inline bool dt_variable_is_on_read(const dt_variable *v) {
    return v->strategy && v->synchronization == DT_SYNC_ON_READ;
}

/* Returns a view of a replica's copy of a variable. */
dt_view dt_variable_copy(const dt_variable *v, int replica);
/* Returns "NONE", "SUM", "MEAN" or "ONLY_FIRST_REPLICA". */
const char *dt_aggregation_name(int aggregation);
/* Checks that the public function `call` may read or write v now: v is not NULL, no step function
 * is running, and no other strategy's scope is open. */
dt_status *dt_variable_outside(const dt_variable *v, const char *call) DT_MUST_USE;
/* Returns an error that names the function `call` if v is NULL. */
dt_status *dt_want_variable(const dt_variable *v, const char *call) DT_MUST_USE;

/*
 * A variable's value in a checkpoint. If copies > 1, data has one copy per replica. aggregation is
 * the one that the variable was saved with. dt_variable_prepare_restore changes no value; it fails
 * with CHECKPOINT_PARTS if the copies cannot be combined for the current number of replicas.
 * dt_variable_restore may overwrite data.
 */
typedef struct dt_saved_copies {
    void *data;
    int64_t copies;
    int aggregation; /* a dt_aggregation; NONE: the aggregation of the restored variable is used */
} dt_saved_copies;
dt_status *dt_variable_prepare_restore(dt_variable *v, const dt_saved_copies *from) DT_MUST_USE;
void dt_variable_restore(dt_variable *v, const dt_saved_copies *from);

/* text.c: appends an array as in TensorFlow's documentation, "shape=(2,) dtype=float32,
 * numpy=array([1., 2.], dtype=float32)". comma: "" or ",", which follows the shape. */
void dt_text_array(const dt_view *v, const char *comma, dt_str *out);

#endif
