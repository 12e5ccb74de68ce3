/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of named values. The results of compiled steps, and batches of data sets if their
 * pieces can be joined, are stored whole, with the rows of all replicas one after the other. The
 * tensor of a single replica is then a part of the whole, and is created on demand.
 */
#ifndef DT_STRATEGY_VALUES_H
#define DT_STRATEGY_VALUES_H

#include "graph/tensor.h"
#include "op/shapes.h"
#include "strategy/strategy.h"

typedef struct dt_value_entry {
    char *name;
    bool per_replica;
    const char *kind; /* the word that dt_values_kind returns, such as "PerReplica" */
    int n;            /* number of tensors: 1, or the number of replicas */
    /* The number of replicas, if each of them returned this same constant; else 0. */
    int each;
    /* [n] The tensor of each replica. If `whole` is set, each is made when it is first needed. */
    dt_tensor **local;
    /* The values of all replicas in one tensor. NULL: only `local` has tensors. */
    dt_tensor *whole;
    dt_replication spread; /* how `whole` is spread over replicas */
    int64_t *offsets;      /* if spread is ROWS: [n + 1] the first row of each replica in `whole` */
    /* The strategy on whose devices the tensors made from `whole` are; a counted reference. NULL:
     * they are on the host. */
    dt_strategy *strategy;
} dt_value_entry;

struct dt_values {
    int refs;
    int n, cap;
    dt_value_entry *entry;
};

/* The values of all replicas in one tensor. */
typedef struct dt_whole {
    dt_tensor *tensor;
    /* how the rows are spread over replicas; UNIFORM: each replica has the same value */
    dt_replication spread;
    /* The strategy of the replicas. NULL: the value is the same for all replicas, and spread is
     * UNIFORM. */
    dt_strategy *strategy;
    /* If spread is ROWS: [replicas + 1] first example of each replica. An example may have
     * several rows. */
    const int32_t *offsets;
} dt_whole;
/* Adds or replaces an entry. Keeps references to the tensor and the strategy, and copies the
 * offsets. */
void dt_values_set_whole(dt_values *v, const char *name, const dt_whole *whole);
/* Marks the entry's value as a constant that each of the replicas returned. */
void dt_values_set_each(dt_values *v, const char *name, int replicas);
const dt_value_entry *dt_values_find(const dt_values *v, const char *name);
/* Returns the tensor of one replica, which is created if needed. Lent. NULL: there is no such
 * replica. */
dt_tensor *dt_entry_local(const dt_value_entry *e, int replica);
/* Whether the entry counts as PerReplica for the caller. A value that a step or data set returned
 * for a single replica does not count. */
bool dt_entry_is_distributed(const dt_value_entry *e);

#endif
