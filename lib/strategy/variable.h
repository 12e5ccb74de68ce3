/* SPDX-License-Identifier: Apache-2.0 */
/* Internals that the files on variables share. The handle itself is graph.h's dt_variable. */
#ifndef DT_STRATEGY_VARIABLE_H
#define DT_STRATEGY_VARIABLE_H

#include "strategy/values.h"

static inline bool dt_variable_is_on_read(const dt_variable *v) {
    return v->strategy && v->synchronization == DT_SYNC_ON_READ;
}

/* Replica r's copy. */
dt_view dt_variable_copy(const dt_variable *v, int replica);
/* "NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA" */
const char *dt_aggregation_name(int aggregation);
/* Whether `call` may read or write v from outside of step functions: v is there, and no other
 * strategy's scope is open. */
dt_status *dt_variable_outside(const dt_variable *v, const char *call) DT_MUST_USE;
/* An error naming `call` when v is NULL. */
dt_status *dt_want_variable(const dt_variable *v, const char *call) DT_MUST_USE;

/*
 * A checkpoint's value: data[copies], one for each replica that there was if copies > 1, and the
 * aggregation of the variable that was saved. Preparing changes no value; CHECKPOINT_PARTS: the
 * copies cannot be combined for as many replicas as there are. Restoring uses data up.
 */
typedef struct dt_saved_copies {
    void *data;
    int64_t copies;
    int aggregation; /* dt_aggregation; NONE: v's own */
} dt_saved_copies;
dt_status *dt_variable_prepare_restore(dt_variable *v, const dt_saved_copies *from) DT_MUST_USE;
void dt_variable_restore(dt_variable *v, const dt_saved_copies *from);

#endif
