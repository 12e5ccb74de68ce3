/* SPDX-License-Identifier: Apache-2.0 */
/* A module with one function: see stablehlo.h. */
#include "stablehlo/stablehlo.h"

#include <stdlib.h>
#include <string.h>

#include "op/stablehlo.h"

/* What the function takes and gives: nodes of the graph. */
typedef struct ends {
    int n_in, n_out;
    const char **name; /* of what it takes: an argument's, "@path" of a variable */
    int *in, *out;
    int *gives;        /* by input: the result that lies in its memory; -1: none */
} ends;

typedef struct writing {
    dt_arena *arena;
    const dt_graph *g;
    dt_hlo hlo;
    ends ends;
    dt_hlo_value *value; /* by node */
} writing;

/* ---- what goes in and out ---- */

static void take(ends *e, const char *name, int node, int gives)
{
    e->name[e->n_in] = name;
    e->gives[e->n_in] = gives;
    e->in[e->n_in++] = node;
}

static void find_ends(writing *w)
{
    const dt_graph *g = w->g;
    int most = g->n_args + g->n_states + 1;
    ends *e = &w->ends;
    e->name = dt_arena_array(w->arena, const char *, most);
    e->in = dt_arena_array(w->arena, int, most);
    e->gives = dt_arena_array(w->arena, int, most);
    e->out = dt_arena_array(w->arena, int, g->n_results + g->n_states + 1);
    for (int i = 0; i < g->n_results; i++)
        e->out[e->n_out++] = g->result[i].node;
    for (int i = 0; i < g->n_args; i++)
        take(e, g->arg[i].name, g->arg[i].node, -1);
    for (int i = 0; i < g->n_states; i++) {
        const dt_state *s = &g->state[i];
        take(e, dt_arena_printf(w->arena, "@%s", s->variable->path), s->node, s->update >= 0 ? e->n_out : -1);
        if (s->update >= 0)
            e->out[e->n_out++] = s->update;
    }
}

/* ---- statements ---- */

static dt_type type_of(const writing *w, int node)
{
    return dt_type_at(&w->g->node[node].type, w->hlo.batch);
}

static dt_status *no_form(const dt_node *n)
{
    const char *path = n->path[0] ? n->path : "the step";
    return dt_fail(DT_E_NO_STABLEHLO, NULL, "op %s in %s cannot be written as StableHLO", n->op->name, path);
}

static dt_status *write_node(writing *w, int i)
{
    const dt_node *n = &w->g->node[i];
    dt_hlo_call c = { .hlo = &w->hlo, .node = n, .type = type_of(w, i) };
    if (!n->op->stablehlo)
        return no_form(n);
    for (int k = 0; k < n->n_in; k++)
        c.in[k] = w->value[n->in[k]];
    w->value[i] = n->op->stablehlo(&c);
    return NULL;
}

static dt_status *write_body(writing *w)
{
    for (int i = 0; i < w->g->n_nodes; i++)
        if (w->value[i].id < 0)
            DT_TRY(write_node(w, i));
    return NULL;
}

/* ---- around them ---- */

static void write_name(dt_str *out, const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80 || *name < ' ' || *name == '"' || *name == '\\')
            dt_str_printf(out, "\\%02X", (unsigned)(unsigned char)*name);
        else
            dt_str_putc(out, *name);
}

static void write_arguments(writing *w, dt_str *out)
{
    for (int i = 0; i < w->ends.n_in; i++) {
        dt_type t = type_of(w, w->ends.in[i]);
        w->value[w->ends.in[i]] = (dt_hlo_value){ .id = w->hlo.values++, .type = t };
        dt_str_printf(out, "%s\n      %%%d: ", i ? "," : "", i);
        dt_hlo_print_type(&t, out);
        if (w->ends.gives[i] >= 0)
            dt_str_printf(out, " {tf.aliasing_output = %d : i32}", w->ends.gives[i]);
        dt_str_puts(out, " loc(\"");
        write_name(out, w->ends.name[i]);
        dt_str_puts(out, "\")");
    }
}

static void write_result_types(const writing *w, dt_str *out)
{
    dt_str_putc(out, '(');
    for (int i = 0; i < w->ends.n_out; i++) {
        dt_type t = type_of(w, w->ends.out[i]);
        dt_str_puts(out, i ? ", " : "");
        dt_hlo_print_type(&t, out);
    }
    dt_str_putc(out, ')');
}

static void write_return(const writing *w, dt_str *out)
{
    dt_str_puts(out, "    \"func.return\"(");
    for (int i = 0; i < w->ends.n_out; i++)
        dt_str_printf(out, "%s%%%d", i ? ", " : "", w->value[w->ends.out[i]].id);
    dt_str_puts(out, ") : ");
    write_result_types(w, out);
    dt_str_puts(out, " -> ()\n");
}

static dt_status *write_module(writing *w, dt_str *out)
{
    dt_str_printf(out, "module @%s attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : i32} {\n  func.func public @main(", w->g->name,
                  w->hlo.devices);
    write_arguments(w, out);
    dt_str_puts(out, ") -> ");
    write_result_types(w, out);
    dt_str_puts(out, " {\n");
    DT_TRY(write_body(w));
    write_return(w, out);
    dt_str_puts(out, "  }\n}\n");
    return NULL;
}

static dt_status *write_graph(const dt_graph *g, int64_t batch, int devices, dt_str *out)
{
    writing w = { .arena = dt_arena_create(), .g = g, .hlo = { .out = out, .batch = batch, .devices = devices } };
    w.value = dt_arena_array(w.arena, dt_hlo_value, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++)
        w.value[i].id = -1;
    find_ends(&w);
    dt_status *bad = write_module(&w, out);
    dt_arena_destroy(w.arena);
    return bad;
}

static bool has_form(const dt_op *op)
{
    return op->stablehlo != NULL;
}

dt_status *dt_stablehlo_write(const dt_graph *g, int64_t batch, int replicas, dt_str *out)
{
    dt_graph *plain = NULL;
    DT_TRY(dt_decompose(g, has_form, &plain));
    dt_status *bad = write_graph(plain, batch / g->batch_parts, replicas, out);
    dt_graph_destroy(plain);
    return bad;
}

static dt_status *check_places(const dt_spmd *s)
{
    if (s->mesh.time)
        return dt_fail(DT_E_NO_STABLEHLO, NULL, "a pipeline of micro-batches cannot be written as one program for all devices");
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->layout[i].on)
            return dt_fail(DT_E_NO_STABLEHLO, NULL, "ops placed on single devices cannot be written as one program for all devices: %s is on logical device %d",
                           s->local->node[i].op->name, s->layout[i].on - 1);
    return NULL;
}

dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, dt_str *out)
{
    DT_TRY(check_places(s));
    return dt_stablehlo_write(s->local, s->batch, dt_mesh_devices(&s->mesh), out);
}
