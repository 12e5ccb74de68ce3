/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a trace, for lib/graph and the few other files that need them: some builders in
 * lib/op, and pass/spmd/emit.c. All other code uses graph.h.
 *
 * Nodes do not move while the trace grows, so a `const dt_node *` stays valid until dt_trace_end,
 * which copies them into one array.
 */
#ifndef DT_GRAPH_TRACE_H
#define DT_GRAPH_TRACE_H

#include "base/hash_index.h"
#include "graph/graph.h"

typedef struct dt_trace_state {
    dt_variable *variable;
    int node; /* the node that is the variable's value at the start of the step */
    /* the node of the variable's value after the assignments so far; `node` before the first */
    int now;
} dt_trace_state;

struct dt_trace {
    dt_trace *below;     /* the previous trace of this thread that has not ended */
    unsigned generation; /* a number that no other trace of this thread has */
    dt_arena *arena; /* the arena of the nodes, which the graph takes over when the trace ends */
    const char *name;
    const char *path;
    dt_status *error; /* the first error, owned; NULL: no error so far */
    int replicas, logical, batch_parts;
    /* Number of rows of all replicas together; -1: it differs from run to run. */
    int64_t rows;
    /* the sizes of gathers in other replicas, if each replica is traced by itself; NULL: one trace
     * serves all replicas */
    dt_each *each;
    const dt_deferral *deferral;
    bool merging; /* whether the trace is in a function called by dt_merge_call */
    int n_nodes, cap_nodes, n_args, cap_args, n_states, cap_states, n_results, cap_results;
    const dt_node **node;
    dt_named_node *arg;
    dt_trace_state *state;
    dt_named_node *result;
    int *early; /* [n_early] nodes that come before those of results and updates, where possible */
    int n_early, cap_early;
    /* Indexes of the lists above: arguments and results by name, states by variable. */
    dt_hash_index args_at, states_at, results_at;
    struct dt_trace_slot *slot; /* [n_slots] a hash table that finds equal nodes */
    int n_slots;
};

/* Returns the value of node i of t. */
dt_value dt_value_of(dt_trace *t, int i);
/* Returns the entry of that name in a list with the index `at`, or NULL. */
const dt_named_node *dt_named_find(const dt_named_node *list, const dt_hash_index *at,
                                   const char *name);

#endif
