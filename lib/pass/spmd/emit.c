/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the program that every device runs. For each node of the whole graph: conversions of the
 * inputs to the layouts that the op needs (convert.c), the op on the device's parts, and sums of
 * partial results (sums.c).
 *
 * Its arguments, states and results are a device's parts of those of the whole graph, in the same
 * order. The variable of a state has no memory, and the type of the part of the whole variable that
 * a device holds.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/trace.h"
#include "op/placement.h"
#include "pass/spmd/spmd_impl.h"

/* ---- placement ---- */

/*
 * Without the SPMD mode every op is placed on one logical device, or on all (op/placement.h says
 * which). The graph has annotations where values move between devices, also in the gradient, so one
 * forward walk finds most placements. Nodes that depend on variables but on no argument are placed,
 * in a backward walk, with their earliest reader: weights with their layer, an optimizer's slots
 * with their weights.
 *
 * The placement is part of the layout: values on one device are split only over time
 * (micro-batches).
 */

typedef struct places {
    const dt_graph *g;
    dt_placement *at; /* [nodes] the device on which each node is placed */
    bool *state;      /* [nodes] whether the node depends on a variable's value */
    /* [nodes] the device of the node's earliest reader that is placed; ANYWHERE: no reader is */
    int *reader;
} places;

static void follow(places *p, int i) {
    const dt_node *n = &p->g->node[i];
    dt_placement in[DT_MAX_IN];
    p->state[i] |= n->op->role == DT_ROLE_STATE;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = p->at[n->in[k]];
        p->state[i] |= p->state[n->in[k]] && n->op->role != DT_ROLE_SIZE;
    }
    if (p->at[i].device == DT_ANYWHERE) p->at[i] = dt_placement_of(n, in);
}

/* Places an argument that has an annotation where the annotation says. */
static void place_arguments(places *p) {
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &p->g->node[i];
        if (n->op->role == DT_ROLE_NOTE && p->g->node[n->in[0]].op->role == DT_ROLE_ARGUMENT)
            p->at[n->in[0]] = dt_placement_of(n, &(dt_placement){0});
    }
}

static void follow_readers(places *p) {
    for (int i = 0; i < p->g->n_nodes; i++) p->reader[i] = DT_ANYWHERE;
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        if (p->at[i].device == DT_ANYWHERE && p->state[i]) p->at[i].device = p->reader[i];
        for (int k = 0; k < p->g->node[i].n_in && p->at[i].device != DT_ANYWHERE; k++)
            p->reader[p->g->node[i].in[k]] = p->at[i].device;
    }
}

static void find(places *p) {
    for (int i = 0; i < p->g->n_nodes; i++) p->at[i] = (dt_placement){.device = DT_ANYWHERE};
    place_arguments(p);
    for (int i = 0; i < p->g->n_nodes; i++) follow(p, i);
    follow_readers(p);
    /* The nodes that no placed node reads follow their inputs, or go to device 0 if they depend on
     * a variable. */
    for (int i = 0; i < p->g->n_nodes; i++) {
        follow(p, i);
        if (p->at[i].device == DT_ANYWHERE && p->state[i]) p->at[i].device = 0;
    }
}

/* Sets w->layout and w->only of nodes that run on a single device. */
static void place(dt_spmd_work *w) {
    int n = w->g->n_nodes + 1;
    places p = {.g = w->g,
                .at = dt_arena_array(w->arena, dt_placement, n),
                .state = dt_arena_array(w->arena, bool, n),
                .reader = dt_arena_array(w->arena, int, n)};
    find(&p);
    for (int i = 0; i < w->g->n_nodes; i++)
        if (p.at[i].device >= 0 && !w->free[i]) {
            w->layout[i] = (dt_layout){.on = 1 + p.at[i].device};
            w->only[i] = w->mesh.time;
        }
}

/* ---- buckets, and layouts of values ---- */

/*
 * Buckets: collectives that are sent in one launch. Sums that are neighbours in the program's
 * sequence of collectives share a bucket if they have the same kind, axes and dtype, and none
 * depends on another one's result:
 *
 *     %8 = all_reduce(dw2)      bucket 3
 *     %9 = update of w2         waits for the bucket, as all its readers do
 *     %12 = all_reduce(dw1)     bucket 3: does not depend on %8
 *
 * A bucket is sent when its last member is ready. Readers of a member come later, and other
 * collectives come before or after the whole bucket, so an order always exists. This is an
 * analysis: the program itself does not change. Every other collective, such as a gather, has a
 * bucket of its own, since gathered values would stay in memory from the first use to the last.
 *
 * Collectives of the optimizer, which only updates wait for, need not be neighbours. Their gathers,
 * which are of new weights that stay in memory anyway, may share a bucket, too. A bucket has those
 * that wait for the same number of earlier collectives: first all norms of updates, then all new
 * weights. So none of them depends on another one. A device receives at most 30 MiB by such a
 * bucket, unless that has a single, larger collective. This is the limit of XLA's combiner of
 * gathers (xla_gpu_all_gather_combine_threshold_bytes; that for TPUs is not published), so that
 * gathers of a large model overlap with its other updates.
 */
enum { MOST_LATE_BYTES = 30 << 20 };

typedef struct packing {
    const dt_spmd *s;
    /* [nodes] bucket: number of the launch that sends the node's collective; needs: the last bucket
     * that the node waits for, apart from the optimizer's. -1: none */
    int *bucket, *needs;
    int open; /* the latest bucket that later sums may join, apart from the optimizer's; -1: none */
    int last; /* the node that joined bucket `open` last; -1: there is no such bucket yet */
    int n;    /* number of buckets so far */
    /* [nodes] whether the node belongs to the optimizer, and only other nodes of the optimizer and
     * updates wait for it */
    bool *ends;
    /* [nodes] the most collectives that must be made one after the other before the node's value is
     * known, its own included */
    int *depth;
    /* [n_late] the first node of each bucket of the optimizer that later collectives may still
     * join: the latest bucket of each depth and each kind, axes and dtype */
    int n_late, *late;
    double *late_bytes; /* [n_late] bytes that a device receives by each of these buckets */
} packing;

static bool travels(const dt_node *n, dt_mesh_axes time) {
    return n->op->across && n->op->role == DT_ROLE_COLLECTIVE &&
           ((const dt_across_attr *)n->attr)->axes != time;
}

static bool are_alike(const dt_node *a, const dt_node *b) {
    const dt_across_attr *x = a->attr, *y = b->attr;
    return a->op == b->op && a->type.dtype == b->type.dtype && x->axes == y->axes &&
           x->kind == y->kind;
}

static void pack(packing *p, int i) {
    const dt_node *n = &p->s->local->node[i];
    bool joins = dt_across_sums(n) && p->last >= 0 && p->needs[i] < p->open &&
                 are_alike(n, &p->s->local->node[p->last]);
    if (!joins) p->open = p->n++;
    p->last = i;
    p->bucket[i] = p->needs[i] = p->open;
}

static void pack_late(packing *p, int i) {
    const dt_node *node = p->s->local->node;
    const double bytes = dt_spmd_received(p->s, i);
    int k = 0;
    while (k < p->n_late &&
           (p->depth[p->late[k]] != p->depth[i] || !are_alike(&node[p->late[k]], &node[i])))
        k++;
    const bool is_new = k == p->n_late;
    p->n_late += is_new;
    if (is_new || p->late_bytes[k] + bytes > MOST_LATE_BYTES) {
        p->late_bytes[k] = 0;
        p->late[k] = i;
        p->bucket[i] = p->n++;
    }
    p->bucket[i] = p->bucket[p->late[k]];
    p->late_bytes[k] += bytes;
}

bool dt_is_of_optimizer(const dt_node *n) {
    static const char optimizer[] = "optimizer/";
    return strncmp(n->path, optimizer, sizeof optimizer - 1) == 0;
}

static void find_ends(packing *p) {
    const dt_graph *g = p->s->local;
    for (int i = 0; i < g->n_nodes; i++) p->ends[i] = dt_is_of_optimizer(&g->node[i]);
    for (int i = 0; i < g->n_results; i++) p->ends[g->result[i].node] = false;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; !p->ends[i] && k < g->node[i].n_in; k++) p->ends[g->node[i].in[k]] = false;
}

static int *find_launches(const dt_spmd *s, dt_arena *arena) {
    int n = s->local->n_nodes;
    packing p = {.s = s,
                 .bucket = dt_arena_array(arena, int, n + 1),
                 .needs = dt_arena_array(arena, int, n + 1),
                 .open = -1,
                 .last = -1,
                 .ends = dt_arena_array(arena, bool, n + 1),
                 .depth = dt_arena_array(arena, int, n + 1),
                 .late = dt_arena_array(arena, int, n + 1),
                 .late_bytes = dt_arena_array(arena, double, n + 1)};
    find_ends(&p);
    for (int i = 0; i < n; i++) {
        const dt_node *node = &s->local->node[i];
        p.bucket[i] = p.needs[i] = -1;
        for (int k = 0; k < node->n_in; k++) {
            if (p.needs[node->in[k]] > p.needs[i]) p.needs[i] = p.needs[node->in[k]];
            if (p.depth[node->in[k]] > p.depth[i]) p.depth[i] = p.depth[node->in[k]];
        }
        if (!travels(node, s->mesh.time)) continue;
        p.depth[i]++;
        (p.ends[i] ? pack_late : pack)(&p, i);
    }
    return p.bucket;
}

void dt_spmd_lies(dt_spmd_work *w, dt_value v, const dt_layout *l) {
    if (!v.trace) return;
    for (int had = w->cap; had <= v.node;) {
        DT_GROW(w->lies, w->cap, v.node + 1);
        DT_GROW(w->note, w->cap_notes, w->cap);
        for (; had < w->cap; had++) {
            w->note[had] = NULL;
            w->lies[had] = (dt_layout){.kind = DT_INSIDE};
        }
    }
    w->lies[v.node] = *l;
}

/* ---- one op ---- */

static const dt_node *node_at(const dt_spmd_work *w, int i) { return &w->g->node[i]; }

static dt_value lying(dt_spmd_work *w, int i, const dt_layout *as);

static bool was_split(const dt_spmd_work *w, int i) {
    dt_mesh_axes any = dt_layout_axes(&w->layout[i]);
    for (int k = 0; k < node_at(w, i)->n_in; k++)
        any |= dt_layout_axes(&w->made[node_at(w, i)->in[k]].layout);
    return any != 0;
}

static dt_partition_call call_of(dt_spmd_work *w, int i, const dt_mesh_axes *factor) {
    const dt_node *n = node_at(w, i);
    dt_partition_call c = {
        .trace = w->t, .node = n, .mesh = &w->mesh, .batch = w->batch, .parts = w->parts};
    dt_mesh_axes partial = dt_spmd_handed_on(w, i);
    memcpy(c.factor, factor, sizeof c.factor);
    for (int k = 0; k < n->n_in; k++) {
        c.type[k] = node_at(w, n->in[k])->type;
        c.in_layout[k] = dt_spmd_by_factors(w, i, k, factor);
        c.in_layout[k].partial = partial;
        c.in_layout[k].on = w->layout[i].on;
        c.in[k] = lying(w, n->in[k], &c.in_layout[k]);
    }
    c.out = dt_spmd_by_factors(w, i, -1, factor);
    c.out.on = w->layout[i].on;
    c.out.partial = partial | dt_spmd_summed(w, i, factor);
    c.out.kind = dt_reduce_kind_of(n);
    return c;
}

/* Whether every device can compute the value by itself: it is constant, or depends on constants
 * only. A size is constant once the batch is known. */
static bool is_anywhere(const dt_spmd_work *w, int i, dt_value v) {
    bool all = true;
    for (int k = 0; k < node_at(w, i)->n_in; k++)
        all &= w->made[node_at(w, i)->in[k]].anywhere || w->free[node_at(w, i)->in[k]];
    return all || !v.trace || dt_node_of(v)->n_in == 0;
}

static dt_value emit_call(dt_spmd_work *w, int i, dt_partition_call *c) {
    const dt_partition_row *row = c->node->op->over_devices;
    int first = dt_trace_count(w->t);
    dt_value v = row && row->emit ? row->emit(c) : dt_partition_same(c);
    /* nodes that the op's `emit` has added are placed on the same device as the op */
    for (int k = first; k < dt_trace_count(w->t) && c->out.on; k++)
        dt_spmd_lies(w, (dt_value){.trace = w->t, .node = k},
                     &(dt_layout){.kind = DT_INSIDE, .on = c->out.on});
    if (is_anywhere(w, i, v)) c->out.on = 0;
    dt_spmd_lies(w, v, &c->out);
    return v;
}

/* Emits node i again for one reader, in the layout that the reader needs. */
static dt_value remade(dt_spmd_work *w, int i, const dt_layout *as) {
    dt_mesh_axes factor[DT_MAX_FACTORS] = {0};
    const char *before = dt_trace_path(w->t, node_at(w, i)->path);
    dt_spmd_add_factors(w, i, -1, as, factor);
    dt_partition_call c = call_of(w, i, factor);
    dt_value v = emit_call(w, i, &c);
    dt_trace_path(w->t, before);
    return v;
}

/* Returns the value of node i in the layout `as`, converting it if necessary. */
static dt_value lying(dt_spmd_work *w, int i, const dt_layout *as) {
    return w->free[i] ? remade(w, i, as)
                      : dt_spmd_convert(w, &w->made[i], &node_at(w, i)->type, as);
}

static void emit_op(dt_spmd_work *w, int i) {
    const dt_node *n = node_at(w, i);
    dt_mesh_axes factor[DT_MAX_FACTORS], any = 0;
    dt_spmd_choose(w, i, factor);
    dt_partition_call c = call_of(w, i, factor);
    dt_value v = emit_call(w, i, &c);
    w->made[i] = (dt_made){.value = v, .layout = c.out, .anywhere = is_anywhere(w, i, v)};
    for (int f = 0; f < DT_MAX_FACTORS; f++) any |= factor[f];
    if (v.trace && !any && n->n_in > 0 && was_split(w, i) && !c.out.partial &&
        n->op->role != DT_ROLE_SIZE)
        w->note[v.node] = "replicated, then computed";
}

static void emit_note(dt_spmd_work *w, int i) {
    int of = node_at(w, i)->in[0];
    bool anywhere = (w->made[of].anywhere || w->free[of]) && !dt_layout_axes(&w->layout[i]);
    dt_layout as = w->layout[i];
    as.on = anywhere ? 0 : as.on;
    w->made[i] = (dt_made){.value = lying(w, of, &as), .layout = as, .anywhere = anywhere};
}

/* ---- the program ---- */

static dt_type held_type(const dt_spmd_work *w, int i) {
    return dt_layout_type(&node_at(w, i)->type, &w->layout[i], &w->mesh, w->parts);
}

static void hold(dt_spmd_work *w, int i, dt_value v) {
    w->made[i] = (dt_made){.value = v, .layout = w->layout[i]};
    dt_spmd_lies(w, v, &w->layout[i]);
}

static void declare(dt_spmd_work *w) {
    for (int i = 0; i < w->g->n_args; i++) {
        dt_type type = held_type(w, w->g->arg[i].node);
        hold(w, w->g->arg[i].node, dt_trace_declare(w->t, w->g->arg[i].name, &type));
    }
    for (int i = 0; i < w->g->n_states; i++) {
        const dt_variable *whole = w->g->state[i].variable;
        dt_type type = held_type(w, w->g->state[i].node);
        w->variable[i] = dt_variable_declare(whole->path, &type, whole->trainable);
        w->variable[i]->slot = whole->slot;
        hold(w, w->g->state[i].node, dt_read(w->t, w->variable[i]));
    }
}

static void emit_nodes(dt_spmd_work *w) {
    for (int i = 0; i < w->g->n_nodes; i++) {
        const char *before = dt_trace_path(w->t, node_at(w, i)->path);
        if (w->made[i].value.trace || w->free[i]) continue;
        if (node_at(w, i)->op->role == DT_ROLE_NOTE) emit_note(w, i);
        else if (!dt_spmd_emit_sum(w, i)) emit_op(w, i);
        dt_spmd_settle(w, i);
        dt_trace_path(w->t, before);
    }
}

static void export(dt_spmd_work *w, dt_spmd *s) {
    for (int i = 0; i < w->g->n_results; i++) {
        s->result[i] = w->made[w->g->result[i].node].layout;
        s->result[i].partial = 0;
        dt_return(w->t, w->g->result[i].name, lying(w, w->g->result[i].node, &s->result[i]));
    }
    for (int i = w->g->n_states - 1; i >= 0; i--)
        if (w->g->state[i].update >= 0)
            dt_assign(w->t, w->variable[i], lying(w, w->g->state[i].update, &s->state[i]));
}

static void keep_layouts(const dt_spmd_work *w, dt_spmd *s) {
    s->layout = dt_arena_array(s->arena, dt_layout, s->local->n_nodes + 1);
    s->note = dt_arena_array(s->arena, const char *, s->local->n_nodes + 1);
    for (int v = 0; v < s->local->n_values && v < w->cap; v++)
        if (s->local->became[v] >= 0) {
            s->layout[s->local->became[v]] = w->lies[v];
            s->note[s->local->became[v]] = w->note[v];
        }
}

static dt_status *emit_program(dt_spmd_work *w, dt_spmd *s) {
    w->t = dt_trace_create(w->g->name);
    dt_trace_set_batch_parts(w->t, (int)w->parts);
    w->alike = dt_spmd_memo_create();
    declare(w);
    emit_nodes(w);
    export(w, s);
    dt_spmd_order_gradients(w);
    dt_status *bad = dt_trace_end(w->t, &s->local);
    if (!bad) {
        keep_layouts(w, s);
        s->bucket = find_launches(s, s->arena);
    }
    for (int i = 0; i < w->g->n_states; i++)
        /* The program holds its own references to the variables, so those of this list are
         * released. */
        dt_variable_unref(w->variable[i]);
    dt_spmd_memo_destroy(w->alike);
    free(w->lies);
    free(w->note);
    return bad;
}

/* ---- creating and destroying ---- */

/* Whether node i costs nothing to compute again for each reader: constants, counters, element-wise
 * ops on these, and repetitions of these or of a scalar. */
static bool is_free(const dt_spmd_work *w, int i) {
    const dt_node *n = node_at(w, i);
    dt_role role = n->op->role;
    bool repeats = role == DT_ROLE_REPEAT, all = true;
    for (int k = 0; k < n->n_in; k++)
        all = all && (w->free[n->in[k]] || (repeats && node_at(w, n->in[k])->type.rank == 0));
    return all && (role == DT_ROLE_CONSTANT || role == DT_ROLE_COUNTER || repeats ||
                   dt_is_elementwise(n->op));
}

static void read_graph(dt_spmd_work *w) {
    int n = w->g->n_nodes + 1;
    w->rule = dt_arena_array(w->arena, dt_rule, n);
    w->layout = dt_arena_array(w->arena, dt_layout, n);
    w->fixed = dt_arena_array(w->arena, bool, n);
    w->changed = dt_arena_array(w->arena, unsigned, n);
    w->visited[false] = dt_arena_array(w->arena, unsigned, n);
    w->visited[true] = dt_arena_array(w->arena, unsigned, n);
    w->only = dt_arena_array(w->arena, dt_mesh_axes, n);
    w->free = dt_arena_array(w->arena, bool, n);
    w->made = dt_arena_array(w->arena, dt_made, n);
    w->variable = dt_arena_array(w->arena, dt_variable *, w->g->n_states + 1);
    w->reader = dt_arena_array(w->arena, int, n);
    w->uses = dt_graph_uses(w->g, w->arena);
    for (int i = 0; i < w->g->n_nodes; i++) {
        const dt_node *node = node_at(w, i);
        dt_type in[DT_MAX_IN];
        w->reader[i] = -1;
        w->changed[i] = 1;
        w->only[i] = ~(dt_mesh_axes)0;
        for (int k = 0; k < node->n_in; k++) {
            in[k] = node_at(w, node->in[k])->type;
            w->reader[node->in[k]] = i;
        }
        dt_partition_rule(node, in, &w->rule[i]);
        w->free[i] = is_free(w, i);
    }
}

static void keep_ends(const dt_spmd_work *w, dt_spmd *s) {
    s->arg = dt_arena_array(s->arena, dt_layout, w->g->n_args + 1);
    s->state = dt_arena_array(s->arena, dt_layout, w->g->n_states + 1);
    s->result = dt_arena_array(s->arena, dt_layout, w->g->n_results + 1);
    for (int i = 0; i < w->g->n_args; i++) s->arg[i] = w->layout[w->g->arg[i].node];
    for (int i = 0; i < w->g->n_states; i++) s->state[i] = w->layout[w->g->state[i].node];
}

/* Finds the layouts of all values. Returns false if replicas must form several axes of the mesh, in
 * which case the search starts again. */
static bool lay_out(dt_spmd_work *w, bool apart) {
    w->mesh = dt_spmd_mesh(w->g, w->o);
    dt_spmd_add_replicas(&w->mesh, w->o, apart);
    w->batch_axes = 0;
    w->now = w->batch_changed = 1;
    read_graph(w);
    if (w->o->places && w->o->devices > 1) place(w);
    dt_spmd_read_notes(w);
    dt_spmd_cut_time(w);
    dt_spmd_deal_rows(w);
    dt_spmd_place_slots(w);
    dt_spmd_propagate_updates(w);
    dt_spmd_propagate(w);
    dt_spmd_place_states(w);
    if (!apart && dt_spmd_wants_replicas_apart(w)) return false;
    dt_spmd_propagate(w);
    w->parts = dt_mesh_parts(&w->mesh, w->batch_axes);
    return true;
}

/* Fails if the mesh would need more axes than a dt_mesh can hold. The axes beyond that are missing
 * in w->mesh, so it has fewer devices than were requested. */
static dt_status *check_mesh(const dt_spmd_work *w) {
    int replicas = w->o->replicas > 1 ? w->o->replicas : 1,
        devices = w->o->devices > 1 ? w->o->devices : 1;
    if (dt_mesh_logical(&w->mesh) == devices &&
        dt_mesh_parts(&w->mesh, w->mesh.replicas) == replicas)
        return NULL;
    return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                   "%d replicas of %d logical devices need a mesh of more than %d axes", replicas,
                   devices, DT_MAX_AXES);
}

static dt_status *create(dt_spmd_work *w, dt_spmd *s) {
    if (!lay_out(w, false)) lay_out(w, true);
    DT_TRY(check_mesh(w));
    s->mesh = w->mesh;
    keep_ends(w, s);
    dt_spmd_count_undivided(w, s);
    return emit_program(w, s);
}

dt_status *dt_spmd_create(dt_spmd **out, const dt_graph *g, const dt_spmd_options *o) {
    dt_arena *arena = dt_arena_create();
    dt_spmd *s = dt_arena_new(arena, dt_spmd);
    dt_spmd_work w = {.g = g, .arena = dt_arena_create(), .batch = o->batch, .o = o};

    *s = (dt_spmd){.arena = arena, .whole = g, .how = o->how, .batch = o->batch};
    dt_status *bad = create(&w, s);
    dt_arena_destroy(w.arena);
    if (bad) dt_spmd_destroy(s);
    else *out = s;
    return bad;
}

void dt_spmd_destroy(dt_spmd *s) {
    if (!s) return;
    dt_graph_destroy(s->local);
    dt_arena_destroy(s->arena);
}
