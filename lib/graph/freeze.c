/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a finished trace into a graph: drops unused nodes, orders the others, and stores them in
 * one array.
 */
#include "graph/trace.h"

#include <stdlib.h>
#include <string.h>

/*
 * The order of a graph's nodes. It depends on the structure alone. C leaves open which of f(x) and
 * g(x) runs first in dt_add(f(x), g(x)), so the numbers that nodes get while tracing differ between
 * compilers; the printed text, its hash and the bits of results must not differ.
 *
 * Nodes are taken depth first from the roots, inputs from left to right. Two rules change that
 * order:
 *
 *     an update comes after the readers of the old value      so that it can be made in place
 *     updates run from the last variable to the first         a backward pass meets its layers in
 *                                                             that order, and a gradient is freed
 *                                                             as soon as its layer's weights have
 *                                                             used it
 *
 *     dz ---> dV = h' dz ---> V := V - dV        V may not be overwritten before dh = dz V', so
 *      \----> dh = dz V'  ---> ...               its update waits for dh as if it were an input
 */

/* Nodes that must precede a node besides its inputs: a list for each node, chained through
 * `list`. */
typedef struct wait {
    /* node: a node that must precede; next: index in `list` of the next entry; -1: this is the last
     * entry */
    int node, next;
} wait;
typedef struct wait_lists {
    /* [nodes] index in `list` of the first entry of a node; -1: the node has no entries */
    int *first;
    wait *list;
} wait_lists;

typedef struct walk {
    const dt_trace *trace;
    /* The lists of nodes that must precede others, which the walk consumes. NULL: nodes follow
     * their inputs only. */
    wait_lists *waits;
    int *next;  /* [nodes] index of the input to visit next; -1: the node was not visited yet */
    int *stack; /* the nodes on the path from the root to the current node */
    int *order;
    int depth, n;
} walk;

static int *ints(int n) { return dt_alloc(dt_size_mul((size_t)n, sizeof(int))); }

static int *minus_ones(int n) {
    int *list = ints(n);
    for (int i = 0; i < n; i++) list[i] = -1;
    return list;
}

/* Takes the next node that must come before `node`; -1: there are no more. */
static int next_input(walk *w, int node) {
    const dt_node *n = w->trace->node[node];
    if (w->next[node] < n->n_in) return n->in[w->next[node]++];
    int at = w->waits ? w->waits->first[node] : -1;
    if (at < 0) return -1;
    w->waits->first[node] = w->waits->list[at].next;
    return w->waits->list[at].node;
}

static void meet(walk *w, int node) {
    if (w->next[node] >= 0) return;
    w->next[node] = 0;
    w->stack[w->depth++] = node;
}

static void visit(walk *w, int root) {
    meet(w, root);
    while (w->depth > 0) {
        int top = w->stack[w->depth - 1], before = next_input(w, top);
        if (before >= 0) meet(w, before);
        else w->order[w->n++] = w->stack[--w->depth];
    }
}

static int order_from(const dt_trace *t, wait_lists *waits, const int *root, int n_roots,
                      int *order) {
    walk w = {.trace = t,
              .waits = waits,
              .next = minus_ones(t->n_nodes),
              .stack = ints(t->n_nodes),
              .order = order};
    for (int i = 0; i < n_roots; i++) visit(&w, root[i]);
    free(w.next);
    free(w.stack);
    return w.n;
}

int dt_trace_order(const dt_trace *t, const int *root, int n_roots, int *order) {
    return order_from(t, NULL, root, n_roots, order);
}

/* ---- updates after readers, and roots ---- */

/* Returns an array by[]: by[i] is the update that overwrites the variable whose old value is node
 * i; -1: none. The caller frees the array. */
static int *list_overwriting(const dt_trace *t) {
    int *by = minus_ones(t->n_nodes);
    for (int i = 0; i < t->n_states; i++)
        if (t->state[i].now != t->state[i].node) by[t->state[i].node] = t->state[i].now;
    return by;
}

/* Lists for each update the other nodes that read the value which it overwrites, in the given
 * order. The caller frees both members. */
static wait_lists find_waits(const dt_trace *t, const int *order, int n) {
    int *by = list_overwriting(t), count = 0;
    wait_lists w = {minus_ones(t->n_nodes),
                    dt_alloc(dt_size_mul((size_t)n, DT_MAX_IN * sizeof *w.list))};
    for (int i = n - 1; i >= 0; i--) {
        const dt_node *reader = t->node[order[i]];
        for (int k = 0; k < reader->n_in; k++) {
            int update = by[reader->in[k]];
            if (update < 0 || update == order[i]) continue;
            w.list[count] = (wait){order[i], w.first[update]};
            w.first[update] = count++;
        }
    }
    free(by);
    return w;
}

/* Whether every input precedes its readers. It does not if a reader of an old value needs the new
 * one, too. */
static bool is_ordered(const dt_trace *t, const int *order, int n) {
    bool *done = dt_alloc((size_t)t->n_nodes), good = true;
    for (int i = 0; i < n; i++) {
        const dt_node *node = t->node[order[i]];
        for (int k = 0; k < node->n_in; k++) good &= done[node->in[k]];
        done[order[i]] = true;
    }
    free(done);
    return good;
}

/* Orders nodes like dt_trace_order, with updates after the readers of the old values where that is
 * possible. */
static int trace_order_updates(const dt_trace *t, const int *root, int n_roots, int *order) {
    int *plain = ints(t->n_nodes), n = dt_trace_order(t, root, n_roots, plain);
    wait_lists w = find_waits(t, plain, n);
    if (order_from(t, &w, root, n_roots, order) != n || !is_ordered(t, order, n))
        for (int i = 0; i < n; i++) order[i] = plain[i];
    free(plain);
    free(w.first);
    free(w.list);
    return n;
}

/* Lists what the graph must keep: the nodes of arguments, variables, results, and then of updates,
 * from the last variable to the first; a node may occur several times. Returns the number of
 * entries. */
static int list_roots(const dt_trace *t, int *root) {
    int n = 0;
    for (int i = 0; i < t->n_args; i++) root[n++] = t->arg[i].node;
    for (int i = 0; i < t->n_states; i++) root[n++] = t->state[i].node;
    for (int i = 0; i < t->n_results; i++) root[n++] = t->result[i].node;
    for (int i = t->n_states - 1; i >= 0; i--) root[n++] = t->state[i].now;
    return n;
}

/* Inserts those nodes of t->early that a root needs into root[] (n entries), behind the arguments
 * and variables and before the results. Returns the new number of roots. order[]: room for all
 * nodes, overwritten. */
static int put_early(const dt_trace *t, int *root, int n, int *order) {
    int leaves = t->n_args + t->n_states, first = 0, needed = dt_trace_order(t, root, n, order);
    DT_LOCAL bool *is_needed = dt_alloc((size_t)t->n_nodes + 1);
    DT_LOCAL int *rest = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *rest));
    for (int i = 0; i < needed; i++) is_needed[order[i]] = true;
    memcpy(rest, root + leaves, (size_t)(n - leaves) * sizeof *rest);
    for (int i = 0; i < t->n_early; i++)
        if (is_needed[t->early[i]]) root[leaves + first++] = t->early[i];
    memcpy(root + leaves + first, rest, (size_t)(n - leaves) * sizeof *rest);
    return n + first;
}

/* ---- the graph; became[] maps the trace's numbers to its own ---- */

static const dt_node *freeze_nodes(const dt_trace *t, const int *order, int n, const int *became) {
    dt_node *node = dt_arena_array(t->arena, dt_node, n);
    for (int i = 0; i < n; i++) {
        node[i] = *t->node[order[i]];
        for (int k = 0; k < node[i].n_in; k++) node[i].in[k] = became[node[i].in[k]];
    }
    return node;
}

static const dt_named_node *freeze_named(const dt_trace *t, const dt_named_node *from, int n,
                                         const int *became) {
    dt_named_node *list = dt_arena_array(t->arena, dt_named_node, n);
    for (int i = 0; i < n; i++) list[i] = (dt_named_node){from[i].name, became[from[i].node]};
    return list;
}

static const dt_state *freeze_states(const dt_trace *t, const int *became) {
    dt_state *list = dt_arena_array(t->arena, dt_state, t->n_states);
    for (int i = 0; i < t->n_states; i++) {
        const dt_trace_state *s = &t->state[i];
        list[i] = (dt_state){s->variable, became[s->node], s->now == s->node ? -1 : became[s->now]};
    }
    return list;
}

static dt_graph *freeze(dt_trace *t) {
    DT_LOCAL int *root = dt_alloc(dt_size_mul((size_t)t->n_args + (size_t)t->n_early +
                                                  (size_t)t->n_results + 2 * (size_t)t->n_states,
                                              sizeof *root));
    DT_LOCAL int *order = dt_alloc(dt_size_mul((size_t)t->n_nodes, sizeof *order));
    int n_roots = list_roots(t, root);
    if (t->n_early > 0) n_roots = put_early(t, root, n_roots, order);
    int n = trace_order_updates(t, root, n_roots, order);
    int *became = dt_arena_array(t->arena, int, t->n_nodes);
    for (int i = 0; i < t->n_nodes; i++) became[i] = -1;
    for (int i = 0; i < n; i++) became[order[i]] = i;
    dt_graph *g = dt_arena_new(t->arena, dt_graph);
    *g = (dt_graph){
        .arena = t->arena,
        .name = t->name,
        .n_nodes = n,
        .n_args = t->n_args,
        .n_states = t->n_states,
        .n_results = t->n_results,
        .node = freeze_nodes(t, order, n, became),
        .arg = freeze_named(t, t->arg, t->n_args, became),
        .state = freeze_states(t, became),
        .result = freeze_named(t, t->result, t->n_results, became),
        .batch_parts = t->batch_parts,
        .n_values = t->n_nodes,
        .became = became,
    };
    t->arena = NULL;
    t->n_states = 0; /* The graph owns the variables now. */
    return g;
}

dt_status *dt_trace_end(dt_trace *t, dt_graph **out) {
    *out = NULL;
    dt_status *s = t->error;
    t->error = NULL;
    if (!s) {
        *out = freeze(t);
        s = dt_graph_verify(*out);
    }
    if (s) {
        dt_graph_destroy(*out);
        *out = NULL;
    }
    dt_trace_destroy(t);
    return s;
}
