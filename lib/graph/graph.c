/* SPDX-License-Identifier: Apache-2.0 */
/* Finished graphs: destroys, searches, verifies and prints them, and counts the uses of nodes. Also
 * the rule for ops that cannot be split, and the error about a dt_refusal. */
#include "graph/graph.h"

#include <string.h>

void dt_graph_destroy(dt_graph *g) {
    if (!g) return;
    for (int i = 0; i < g->n_states; i++) dt_variable_unref(g->state[i].variable);
    dt_arena_destroy(g->arena); /* The graph itself is allocated in its arena. */
}

static int find(const dt_named_node *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

int dt_graph_find_argument(const dt_graph *g, const char *name) {
    return find(g->arg, g->n_args, name);
}

int dt_graph_find_result(const dt_graph *g, const char *name) {
    return find(g->result, g->n_results, name);
}

int *dt_graph_uses(const dt_graph *g, dt_arena *arena) {
    int *uses = dt_arena_array(arena, int, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) uses[g->node[i].in[k]]++;
    for (int i = 0; i < g->n_results; i++) uses[g->result[i].node]++;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) uses[g->state[i].update]++;
    return uses;
}

void dt_rule_whole(dt_rule *rule) {
    *rule = (dt_rule){.shared_out = 0};
    memset(rule->in, -1, sizeof rule->in);
    memset(rule->out, -1, sizeof rule->out);
}

static dt_status *verify_inputs(const dt_graph *g, int i) {
    const dt_node *n = &g->node[i];
    if (n->n_in != n->op->n_in)
        return dt_fail(DT_E_INTERNAL, NULL, "node %%%d of graph '%s' has %d inputs, %s has %d", i,
                       g->name, n->n_in, n->op->name, n->op->n_in);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] < 0 || n->in[k] >= i)
            return dt_fail(DT_E_INTERNAL, NULL,
                           "node %%%d (%s) of graph '%s' reads %%%d, which does not come before it",
                           i, n->op->name, g->name, n->in[k]);
    return NULL;
}

static dt_status *verify_named(const dt_graph *g, const char *what, const dt_named_node *list,
                               int n) {
    for (int i = 0; i < n; i++)
        if (list[i].node < 0 || list[i].node >= g->n_nodes)
            return dt_fail(DT_E_INTERNAL, NULL, "%s '%s' of graph '%s' is %%%d of %d nodes", what,
                           list[i].name, g->name, list[i].node, g->n_nodes);
    return NULL;
}

static dt_status *verify_state(const dt_graph *g, const dt_state *s) {
    const dt_type *type = &s->variable->type;
    if (s->node < 0 || s->node >= g->n_nodes || s->update >= g->n_nodes)
        return dt_fail(DT_E_INTERNAL, NULL,
                       "variable '%s' of graph '%s' refers to a node that does not exist",
                       s->variable->path, g->name);
    if (!dt_type_equal(&g->node[s->node].type, type))
        return dt_fail(DT_E_INTERNAL, NULL,
                       "the type of node %%%d of graph '%s' differs from that of its variable '%s'",
                       s->node, g->name, s->variable->path);
    if (s->update >= 0 && !dt_type_equal(&g->node[s->update].type, type))
        return dt_fail(DT_E_INTERNAL, NULL,
                       "node %%%d of graph '%s' cannot update '%s', whose type differs", s->update,
                       g->name, s->variable->path);
    return NULL;
}

dt_status *dt_graph_verify(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++) DT_TRY(verify_inputs(g, i));
    DT_TRY(verify_named(g, "argument", g->arg, g->n_args));
    DT_TRY(verify_named(g, "result", g->result, g->n_results));
    for (int i = 0; i < g->n_states; i++) DT_TRY(verify_state(g, &g->state[i]));
    return NULL;
}

dt_status *dt_refusal_status(const dt_refusal *r) {
    if (r->finders == 0) return NULL;
    dt_status *s =
        dt_fail(DT_E_ROW_NUMBER, NULL, "row number %lld at %s is not in [0, %lld)",
                (long long)r->number, dt_text_of_numbers(r->at, r->rank).s, (long long)r->rows);
    return *r->layer ? dt_note(s, "in layer '%s'", r->layer) : s;
}

/*
 * Graphs as text, for `dtrain lower` and golden tests:
 *
 *     graph step(image: f32[B,784], label: f32[B,10])
 *     state dense/kernel: f32[784,128]
 *      %0 = parameter image                          : f32[B,784]
 *      %2 = variable dense/kernel                    : f32[784,128]
 *      %3 = dot_general(%0, %2) contracting [1]x[0]  : f32[B,128]  // dense
 *     return loss = %12
 *     update dense/kernel = %30
 *
 * The text depends on the graph alone. Numbers are aligned to the right. Types are in one column,
 * except in lines with over 56 characters before the ':'.
 */

enum { WIDEST = 56 };

/* Returns for each node the name that it is printed with, if it is an argument or a variable; else
 * NULL. */
static const char **name_nodes(const dt_graph *g, dt_arena *arena) {
    const char **name = dt_arena_array(arena, const char *, g->n_nodes);
    for (int i = 0; i < g->n_args; i++) name[g->arg[i].node] = g->arg[i].name;
    for (int i = 0; i < g->n_states; i++) name[g->state[i].node] = g->state[i].variable->path;
    return name;
}

static int digits(int n) {
    int count = 1;
    for (; n >= 10; n /= 10) count++;
    return count;
}

/* Prints the left half of a node's line: `%3 = dot_general(%0, %2) contracting [1]x[0]`. */
static void print_head(const dt_graph *g, int i, const char *name, dt_str *out) {
    const dt_node *n = &g->node[i];
    dt_str_printf(out, "%*s%%%d = %s", digits(g->n_nodes - 1) - digits(i), "", i, n->op->name);
    for (int k = 0; k < n->n_in; k++) dt_str_printf(out, "%s%%%d", k ? ", " : "(", n->in[k]);
    if (n->n_in > 0) dt_str_putc(out, ')');
    if (name || n->op->attr.print) dt_str_putc(out, ' ');
    if (name) dt_str_puts(out, name);
    else if (n->op->attr.print) n->op->attr.print(n->attr, out);
}

/* Returns the width in characters to which heads are padded: that of the widest head with at most
 * WIDEST characters; 0: all heads are wider. */
static int type_column(const dt_graph *g, const char *const *name) {
    int column = 0;
    dt_local_str head = {0};
    for (int i = 0; i < g->n_nodes; i++) {
        dt_str_clear(&head);
        print_head(g, i, name[i], &head);
        int width = (int)dt_utf8_count(dt_str_text(&head), head.size);
        if (width > column && width <= WIDEST) column = width;
    }
    return column;
}

static void print_header(const dt_graph *g, dt_str *out) {
    dt_str_printf(out, "graph %s(", g->name);
    for (int i = 0; i < g->n_args; i++) {
        dt_str_printf(out, "%s%s: ", i ? ", " : "", g->arg[i].name);
        dt_type_print(&g->node[g->arg[i].node].type, out);
    }
    dt_str_puts(out, ")\n");
    for (int i = 0; i < g->n_states; i++) {
        const dt_variable *v = g->state[i].variable;
        dt_str_printf(out, "state %s: ", v->path);
        dt_type_print(&v->type, out);
        dt_str_putc(out, '\n');
    }
}

static void print_footer(const dt_graph *g, dt_str *out) {
    for (int i = 0; i < g->n_results; i++)
        dt_str_printf(out, "return %s = %%%d\n", g->result[i].name, g->result[i].node);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0)
            dt_str_printf(out, "update %s = %%%d\n", g->state[i].variable->path,
                          g->state[i].update);
}

void dt_graph_print_notes(const dt_graph *g, void (*note)(const dt_graph *, int, dt_str *, void *),
                          void *user, dt_str *out) {
    dt_local_arena scratch = dt_arena_create();
    const char **name = name_nodes(g, scratch);
    int column = type_column(g, name);
    print_header(g, out);
    for (int i = 0; i < g->n_nodes; i++) {
        size_t start = out->size;
        print_head(g, i, name[i], out);
        dt_str_pad(out, start, column);
        dt_str_puts(out, " : ");
        dt_type_print(&g->node[i].type, out);
        if (*g->node[i].path) dt_str_printf(out, "  // %s", g->node[i].path);
        if (note) note(g, i, out, user);
        dt_str_putc(out, '\n');
    }
    print_footer(g, out);
}

void dt_graph_print(const dt_graph *g, dt_str *out) { dt_graph_print_notes(g, NULL, NULL, out); }
