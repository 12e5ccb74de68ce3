/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all devices in one memory space: the program is unrolled over the devices, node by node, and
 * each collective becomes ops on the values of all devices. A device counts once for each
 * micro-batch. A trace numbers values, so what several devices compute in the same way is computed
 * once: values that are not divided cost nothing extra, and a sum over devices is computed once for
 * all.
 */
#include "pass/spmd/spmd_impl.h"

typedef struct expansion {
    const dt_spmd *s;
    dt_trace *t;
    int devices;
    /* [node][device] value of each node on each device, in the trace of the single program */
    dt_value *value;
} expansion;

static dt_value *values_of(const expansion *x, int node) {
    return &x->value[(size_t)node * (size_t)x->devices];
}

static dt_value part_for(const expansion *x, dt_value whole, const dt_layout *l, int rank,
                         int device) {
    const dt_mesh *m = &x->s->mesh;
    for (int d = 0; d < rank; d++)
        whole =
            dt_part_of(whole, d, dt_mesh_rank(m, device, l->axes[d]), dt_mesh_parts(m, l->axes[d]));
    return whole;
}

/* Joins the parts of all devices to the whole value, from the last dimension to the first. */
static dt_value join(expansion *x, dt_value *part, const dt_layout *l, int rank) {
    const dt_mesh *m = &x->s->mesh;
    dt_value *now = dt_arena_copy(dt_trace_arena(x->t), part, (size_t)x->devices * sizeof *part);
    for (int d = rank - 1; d >= 0; d--) {
        dt_value *next = dt_arena_array(dt_trace_arena(x->t), dt_value, x->devices),
                 *row = dt_arena_array(dt_trace_arena(x->t), dt_value, x->devices);
        int n = dt_mesh_parts(m, l->axes[d]);
        for (int device = 0; device < x->devices; device++) {
            for (int r = 0; r < n; r++) row[r] = now[dt_mesh_peer(m, device, l->axes[d], r)];
            next[device] = dt_join_parts(row, n, d);
        }
        now = next;
    }
    return now[0];
}

static dt_type whole_type(const expansion *x, int node) {
    static const dt_layout whole = {0};
    return dt_layout_type(&x->s->whole->node[node].type, &whole, &x->s->mesh,
                          x->s->local->batch_parts);
}

static void place(expansion *x, int node, dt_value whole, const dt_layout *l, int rank) {
    dt_value *v = values_of(x, node);
    for (int device = 0; device < x->devices; device++)
        v[device] = part_for(x, whole, l, rank, device);
}

static void place_all(expansion *x) {
    const dt_graph *g = x->s->whole, *local = x->s->local;
    for (int i = 0; i < g->n_args; i++) {
        dt_type type = whole_type(x, g->arg[i].node);
        place(x, local->arg[i].node, dt_trace_declare(x->t, g->arg[i].name, &type), &x->s->arg[i],
              type.rank);
    }
    for (int i = 0; i < g->n_states; i++)
        place(x, local->state[i].node, dt_read_first(x->t, g->state[i].variable), &x->s->state[i],
              g->state[i].variable->type.rank);
}

static dt_value on_device(const expansion *x, int i, int device) {
    const dt_node *n = &x->s->local->node[i];
    dt_value in[DT_MAX_IN];
    if (n->op->across)
        return n->op->across->plain(
            &(dt_plain_call){x->t, n, n->n_in > 0 ? values_of(x, n->in[0]) : NULL, device});
    for (int k = 0; k < n->n_in; k++) in[k] = values_of(x, n->in[k])[device];
    return dt_emit(x->t, n->op, in, n->n_in, n->attr);
}

static void unroll(expansion *x) {
    for (int i = 0; i < x->s->local->n_nodes; i++) {
        const dt_node *n = &x->s->local->node[i];
        if (n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE) continue;
        const char *before = dt_trace_path(x->t, n->path);
        for (int device = 0; device < x->devices; device++)
            values_of(x, i)[device] = on_device(x, i, device);
        dt_trace_path(x->t, before);
    }
}

static void export(expansion *x) {
    const dt_graph *g = x->s->whole, *local = x->s->local;
    for (int i = 0; i < g->n_results; i++) {
        int rank = g->node[g->result[i].node].type.rank;
        dt_return(x->t, g->result[i].name,
                  join(x, values_of(x, local->result[i].node), &x->s->result[i], rank));
    }
    for (int i = 0; i < g->n_states; i++)
        if (local->state[i].update >= 0) {
            dt_variable *v = g->state[i].variable;
            dt_assign(x->t, v,
                      join(x, values_of(x, local->state[i].update), &x->s->state[i], v->type.rank));
        }
}

dt_status *dt_spmd_expand(const dt_spmd *s, dt_graph **out) {
    dt_local_arena scratch = dt_arena_create();
    expansion x = {
        .s = s, .t = dt_trace_create(s->whole->name), .devices = dt_mesh_devices(&s->mesh)};

    x.value = dt_arena_array(scratch, dt_value,
                             dt_size_mul((size_t)s->local->n_nodes + 1, (size_t)x.devices));
    dt_trace_set_batch_parts(x.t, s->local->batch_parts);
    place_all(&x);
    unroll(&x);
    export(&x);
    return dt_trace_end(x.t, out);
}
