/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a trace, for this room and for the builders in room op that add arguments and
 * variables (op/state.c). All other code uses graph.h.
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
    int node; /* the node of the variable's value at the start of the step */
    int now;  /* the node of the variable's value after the assignments so far */
} dt_trace_state;

struct dt_trace {
    dt_trace *below;     /* the previous trace of this thread that has not ended */
    unsigned generation; /* unique among the traces of a thread */
    dt_arena *arena;     /* the graph takes the arena over when the trace ends */
    const char *name;
    const char *path;
    dt_status *error; /* the first error */
    int replicas, logical, batch_parts;
    /* rows of all replicas together; -1: they differ from run to run */
    int64_t rows;
    dt_each *each; /* sizes of other replicas; NULL: one trace serves all replicas */
    const dt_deferral *deferral;
    bool merging; /* the trace is in a function called by dt_merge_call */
    int n_nodes, cap_nodes, n_args, cap_args, n_states, cap_states, n_results, cap_results;
    const dt_node **node;
    dt_named_node *arg;
    dt_trace_state *state;
    dt_named_node *result;
    int *early; /* [n_early] nodes to be ordered before results */
    int n_early, cap_early;
    /* Indexes of the lists above: arguments and results by name, states by variable. */
    dt_hash_index args_at, states_at, results_at;
    struct dt_trace_slot *slot; /* [n_slots] hash table that finds equal nodes */
    int n_slots;
};

/* The value of node i of t. */
dt_value dt_value_of(dt_trace *t, int i);
/* The entry of that name in a list with the index `at`, or NULL. */
const dt_named_node *dt_named_find(const dt_named_node *list, const dt_hash_index *at,
                                   const char *name);

#endif
