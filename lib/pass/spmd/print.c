/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a program over devices, and counts its bytes. It prints the layout of each value, the
 * bytes that a device receives by collectives, and where values are replicated because no split was
 * found. */
#include "pass/spmd/spmd_impl.h"

/* The memory of a device while it runs a program: variables and arguments are there throughout,
 * other values from their definition to their last use. */

/* Returns the bytes of a node on one device; 0 if only another device has the value. */
static int64_t bytes_of(const dt_spmd *s, int node, int device) {
    if (s->layout[node].on && s->layout[node].on - 1 != device) return 0;
    dt_type t = dt_type_at(&s->local->node[node].type, s->batch / s->local->batch_parts);
    return dt_type_bytes(&t);
}

/* Whether a node's value is counted as memory of its own. Arguments and variables are counted
 * elsewhere; a reshape shares memory; a constant is part of the program. */
static bool takes_room(const dt_node *n) {
    return n->op->role != DT_ROLE_ARGUMENT && n->op->role != DT_ROLE_STATE &&
           n->op->role != DT_ROLE_NAME && n->op->role != DT_ROLE_CONSTANT;
}

static void count_variables(const dt_spmd *s, int device, dt_spmd_bytes *b) {
    for (int i = 0; i < s->whole->n_states; i++) {
        int64_t bytes = bytes_of(s, s->local->state[i].node, device);
        *(s->whole->state[i].variable->slot ? &b->slots : &b->weights) += bytes;
    }
}

/* Returns [nodes] the last node that reads each value, after which its memory is free; n_nodes for
 * results and updates. */
static int *last_readers(const dt_graph *g, dt_arena *arena) {
    int *last = dt_arena_array(arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_results; i++) last[dt_named_by(g, g->result[i].node)] = g->n_nodes;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) last[dt_named_by(g, g->state[i].update)] = g->n_nodes;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            int *of = &last[dt_named_by(g, g->node[i].in[k])];
            *of = *of < i ? i : *of;
        }
    return last;
}

static void count_values(const dt_spmd *s, int device, dt_spmd_bytes *b) {
    const dt_graph *g = s->local;
    dt_local_arena arena = dt_arena_create();
    int *last = last_readers(g, arena);
    int64_t *dies = dt_arena_array(arena, int64_t, g->n_nodes + 2), now = 0;
    for (int i = 0; i < s->whole->n_args; i++) now += bytes_of(s, g->arg[i].node, device);
    b->values = now;
    for (int i = 0; i < g->n_nodes; i++) {
        if (takes_room(&g->node[i])) {
            now += bytes_of(s, i, device);
            dies[last[i]] += bytes_of(s, i, device);
        }
        if (now > b->values) {
            b->values = now;
            b->peak = i;
        }
        now -= dies[i];
    }
}

static dt_spmd_bytes count_on(const dt_spmd *s, int device) {
    dt_spmd_bytes b = {0};
    count_variables(s, device, &b);
    count_values(s, device, &b);
    return b;
}

dt_spmd_bytes dt_spmd_count_bytes(const dt_spmd *s) {
    dt_spmd_bytes most = {0};
    for (int device = 0; device < dt_mesh_logical(&s->mesh); device++) {
        dt_spmd_bytes b = count_on(s, device);
        if (b.weights + b.slots + b.values > most.weights + most.slots + most.values) most = b;
    }
    return most;
}

double dt_spmd_received(const dt_spmd *s, int i) {
    const dt_node *n = &s->local->node[i];
    if (n->n_in == 0) return 0;
    dt_type in = dt_type_at(&s->local->node[n->in[0]].type, s->batch / s->local->batch_parts);
    dt_across_attr a = *(const dt_across_attr *)n->attr;
    /* Micro-batches follow each other on the same devices, so a division along their axis sends
     * nothing. */
    a.axes &= ~s->mesh.time;
    return a.axes ? n->op->across->bytes(&a, &in) : 0;
}

static bool is_in_time(const dt_spmd *s, int i) {
    return ((const dt_across_attr *)s->local->node[i].attr)->axes == s->mesh.time;
}

static void print_place(const dt_graph *g, int i, dt_str *out, void *user) {
    const dt_spmd *s = user;
    if (s->layout[i].kind != DT_INSIDE) {
        dt_str_puts(out, "  {");
        dt_layout_print(&s->layout[i], g->node[i].type.rank, out);
        dt_str_putc(out, '}');
    }
    if (s->layout[i].on) dt_str_printf(out, " [on %d]", s->layout[i].on - 1);
    if (g->node[i].op->across && is_in_time(s, i)) dt_str_puts(out, " [in time]");
    else if (g->node[i].op->across) dt_str_printf(out, " [%.0f bytes]", dt_spmd_received(s, i));
    if (s->bucket[i] >= 0) dt_str_printf(out, " [bucket %d]", s->bucket[i]);
    if (s->note[i]) dt_str_printf(out, " [%s]", s->note[i]);
}

typedef struct total {
    int values, launches;
    double bytes;
} total;

static total total_of(const dt_spmd *s, const dt_op *op) {
    total t = {0};
    /* the highest number of a bucket so far; buckets are numbered in the order of their first
     * nodes, so a node with a higher number opens another bucket */
    int last = -1;
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->local->node[i].op == op) {
            t.values++;
            t.launches += s->bucket[i] > last;
            if (s->bucket[i] > last) last = s->bucket[i];
            t.bytes += dt_spmd_received(s, i);
        }
    return t;
}

static void print_totals(const dt_spmd *s, dt_str *out) {
    static const dt_op *const ops[] = {
#define DT_ACROSS(name) &dt_op_across_##name,
#include "op/acrosses.h"
#undef DT_ACROSS
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        total t = ops[k]->across ? total_of(s, ops[k]) : (total){0};
        if (t.bytes > 0)
            dt_str_printf(out, "  %-18s %5d in %d launch%s   %.0f bytes a device\n", ops[k]->name,
                          t.values, t.launches, t.launches == 1 ? "" : "es", t.bytes);
    }
}

static void print_bytes(const dt_spmd *s, dt_str *out) {
    dt_spmd_bytes b = dt_spmd_count_bytes(s);
    dt_str_printf(out,
                  "  bytes a device: weights %lld, optimizer slots %lld, other values %lld at the "
                  "peak (%%%d)\n",
                  (long long)b.weights, (long long)b.slots, (long long)b.values, b.peak);
}

static void print_mesh(const dt_mesh *m, dt_str *out) {
    dt_str_puts(out, "mesh [");
    for (int a = 0; a < m->n; a++)
        dt_str_printf(out, "%s%s%d", a ? ", " : "",
                      m->replicas >> a & 1 ? "replicas "
                      : m->time >> a & 1   ? "micro-batches "
                                           : "",
                      m->size[a]);
    dt_str_putc(out, ']');
}

void dt_spmd_print(const dt_spmd *s, dt_str *out) {
    int devices = dt_mesh_logical(&s->mesh), replicas = dt_mesh_parts(&s->mesh, s->mesh.replicas);
    dt_str_printf(out, "program for each of %d logical device%s", devices, devices == 1 ? "" : "s");
    if (replicas > 1) dt_str_printf(out, " of %d replicas", replicas);
    dt_str_puts(out, ", ");
    print_mesh(&s->mesh, out);
    dt_str_printf(out, ", B = %lld", (long long)s->batch);
    if (s->local->batch_parts > 1) dt_str_printf(out, " in %d parts", s->local->batch_parts);
    dt_str_puts(out, "\n");
    print_bytes(s, out);
    print_totals(s, out);
    dt_graph_print_notes(s->local, print_place, (void *)s, out);
}
