/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of named values. A step's arguments and results stay whole, with all replicas' rows one
 * after the other; the tensor of a single replica is a part of the whole, created on demand.
 */
#ifndef DT_STRATEGY_VALUES_H
#define DT_STRATEGY_VALUES_H

#include "graph/tensor.h"
#include "op/shapes.h"
#include "strategy/strategy.h"

typedef struct dt_value_entry {
    char *name;
    bool per_replica;
    const char *kind; /* dt_values_kind */
    int n;            /* tensors: 1, or replicas */
    /* replicas whose step made this one value, a constant; 0: it is not such a value */
    int each;
    dt_tensor **local;     /* [n]; those not asked for yet are NULL when there is a whole */
    dt_tensor *whole;      /* NULL: only the locals */
    dt_replication spread; /* of the whole */
    int64_t *offsets;      /* ROWS: [n + 1], in rows of the whole */
    dt_strategy *strategy; /* whose devices the locals lie on; NULL: the host. Counted */
} dt_value_entry;

struct dt_values {
    int refs;
    int n, cap;
    dt_value_entry *entry;
};

/* All replicas' values in one tensor. */
typedef struct dt_whole {
    dt_tensor *tensor;
    dt_replication spread; /* UNIFORM: the same for each replica */
    dt_strategy *strategy; /* whose replicas; NULL: one value for all, UNIFORM */
    /* ROWS: [replicas + 1], in examples; one of them may have several rows */
    const int32_t *offsets;
} dt_whole;
/* Adds (or replaces) an entry; tensor and strategy are kept, offsets copied. */
void dt_values_set_whole(dt_values *v, const char *name, const dt_whole *whole);
/* The entry's one value is what each of so many replicas made. */
void dt_values_set_each(dt_values *v, const char *name, int replicas);
const dt_value_entry *dt_values_find(const dt_values *v, const char *name);
/* The tensor of one replica, made now if need be; lent. */
dt_tensor *dt_entry_local(const dt_value_entry *e, int replica);
/* Shown and given on as PerReplica. A step or a data set of one replica gives its value itself. */
bool dt_entry_is_distributed(const dt_value_entry *e);

#endif
