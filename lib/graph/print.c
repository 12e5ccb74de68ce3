/* SPDX-License-Identifier: Apache-2.0 */
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
 * The text depends on the graph alone. Numbers are aligned to the right and types in one column,
 * which begins at most 56 characters from the left; longer lines exceed it.
 */
#include "graph/graph.h"

enum { WIDEST = 56 };

/* The names that argument and variable nodes are printed with, by node; NULL for others. */
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

/* The left half of a node's line: `%3 = dot_general(%0, %2) contracting [1]x[0]`. */
static void print_head(const dt_graph *g, int i, const char *name, dt_str *out) {
    const dt_node *n = &g->node[i];
    dt_str_printf(out, "%*s%%%d = %s", digits(g->n_nodes - 1) - digits(i), "", i, n->op->name);
    for (int k = 0; k < n->n_in; k++) dt_str_printf(out, "%s%%%d", k ? ", " : "(", n->in[k]);
    if (n->n_in > 0) dt_str_putc(out, ')');
    if (name || n->op->attr.print) dt_str_putc(out, ' ');
    if (name) dt_str_puts(out, name);
    else if (n->op->attr.print) n->op->attr.print(n->attr, out);
}

/* The column of the types, right of the longest head that is not too long. */
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
