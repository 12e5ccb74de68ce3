/* SPDX-License-Identifier: Apache-2.0 */
/* See cut.h. */
#include "cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "feed.h"

enum { MOST_DEVICES = 64 };

static void must(dt_status *s, const char *name) {
    if (s) fail_msg("%s: %s", name, dt_status_text(s));
}

cut cut_make(const dt_graph *noted, const dt_spmd_options *o, const char *name) {
    cut c = {.name = name, .noted = noted};
    must(dt_spmd_create(&c.spmd, noted, o), name);
    must(dt_spmd_expand(c.spmd, &c.expanded), name);
    return c;
}

void cut_release(cut *c) {
    dt_graph_destroy(c->expanded);
    dt_spmd_destroy(c->spmd);
}

int cut_count(const cut *c, const dt_op *op) {
    int n = 0;
    for (int i = 0; i < c->spmd->local->n_nodes; i++) {
        const dt_op *is = c->spmd->local->node[i].op;
        n += op ? is == op : is->across != NULL;
    }
    return n;
}

/* ---- places ---- */

/* Made of constants alone: the same node may be the whole of one value and a part of another. */
static bool is_constant(const dt_graph *g, int i, const bool *constant) {
    bool is = g->node[i].op != &dt_op_parameter && !g->node[i].op->across;
    for (int k = 0; k < g->node[i].n_in; k++) is = is && constant[g->node[i].in[k]];
    return is;
}

/* A broadcast is what it is made of: parts of it may be the whole of another. */
static int source_of(const dt_graph *g, int i) {
    while (g->node[i].op == &dt_op_broadcast_in_dim) i = g->node[i].in[0];
    return i;
}

/* What runs on one device reads what that device has; what runs on all, what all have. */
static void expect_places(const cut *c) {
    const dt_graph *g = c->spmd->local;
    const dt_mesh *m = &c->spmd->mesh;
    bool *constant = calloc((size_t)g->n_nodes + 1, sizeof *constant);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_layout *out = &c->spmd->layout[i];
        constant[i] = is_constant(g, i, constant);
        for (int k = 0; k < g->node[i].n_in && g->node[i].op != &dt_op_across_transfer; k++) {
            const dt_layout *in = &c->spmd->layout[source_of(g, g->node[i].in[k])];
            bool is_cut = (dt_layout_axes(in) & ~(m->time | m->replicas)) != 0;
            if (!constant[g->node[i].in[k]] && (in->on ? in->on != out->on : out->on && is_cut))
                fail_msg("%s: node %d on %d reads what %d has", c->name, i, out->on - 1,
                         in->on - 1);
        }
    }
    free(constant);
}

/* ---- in lockstep ---- */

static bool has(const cut *c, const dt_layout *l, int device) {
    const dt_mesh *m = &c->spmd->mesh;
    return l->on == 0 || l->on - 1 == dt_mesh_rank(m, device, ~(m->time | m->replicas));
}

static dt_view part_of(const cut *c, const dt_view *whole, const dt_layout *l, int device) {
    dt_view part = {.type = whole->type};
    dt_block b = {0};
    for (int d = 0; d < whole->type.rank; d++) {
        b.size[d] = part.type.dim[d] /= dt_mesh_parts(&c->spmd->mesh, l->axes[d]);
        b.from[d] = b.size[d] * dt_mesh_rank(&c->spmd->mesh, device, l->axes[d]);
    }
    part.data = calloc((size_t)dt_type_bytes(&part.type) + 1, 1);
    if (has(c, l, device)) dt_copy_block(&part, whole, &b);
    return part;
}

static dt_view *parts_of_args(const cut *c, const dt_view *whole, int devices) {
    int n = c->noted->n_args;
    dt_view *arg = calloc((size_t)(devices * n) + 1, sizeof *arg);
    for (int device = 0; device < devices; device++)
        for (int i = 0; i < n; i++)
            arg[device * n + i] = part_of(c, &whole[i], &c->spmd->arg[i], device);
    return arg;
}

/* The program's variables hold each device's part: a stack of (devices, ...). */
static void fill_states(const cut *c, int devices) {
    for (int i = 0; i < c->noted->n_states; i++) {
        const dt_variable *of = c->noted->state[i].variable;
        const dt_view whole = {of->type, of->host_data};
        dt_variable *v = c->spmd->local->state[i].variable;
        dt_type stacked = {.dtype = v->type.dtype, .rank = v->type.rank + 1, .dim = {devices}};
        size_t bytes = (size_t)dt_type_bytes(&v->type);
        memcpy(stacked.dim + 1, v->type.dim, (DT_MAX_RANK - 1) * sizeof *stacked.dim);
        must(dt_variable_alloc(&v->stack, v->path, &stacked, v->trainable), c->name);
        v->host_data = v->stack->host_data;
        for (int device = 0; device < devices; device++) {
            dt_view part = part_of(c, &whole, &c->spmd->state[i], device);
            assert_true(dt_type_equal(&part.type, &v->type));
            memcpy((char *)v->stack->host_data + (size_t)device * bytes, part.data, bytes);
            free(part.data);
        }
    }
}

static dt_view view_of_device(const dt_view *stack, int device) {
    dt_view one = *stack;
    memmove(one.type.dim, one.type.dim + 1, (DT_MAX_RANK - 1) * sizeof *one.type.dim);
    one.type.dim[--one.type.rank] = 0;
    one.data = (char *)stack->data + (size_t)device * (size_t)dt_type_bytes(&one.type);
    return one;
}

typedef struct expectation {
    const cut *c;
    int device;
    double tolerance;
} expectation;

static void expect_part(const expectation *e, const dt_view *is, const dt_view *whole,
                        const dt_layout *l, const char *what) {
    if (!has(e->c, l, e->device)) return;
    dt_view part = part_of(e->c, whole, l, e->device);
    double d = views_difference(is, &part);
    if (!(d < e->tolerance))
        fail_msg("%s, device %d: %s differs by %g", e->c->name, e->device, what, d);
    free(part.data);
}

static void expect_device(const expectation *e, const dt_interpretation *is, const dt_view *result,
                          const dt_view *update) {
    const dt_graph *g = e->c->noted;
    for (int i = 0; i < g->n_results; i++)
        expect_part(e, &is->result[e->device * g->n_results + i], &result[i],
                    &e->c->spmd->result[i], g->result[i].name);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) {
            assert_true(e->c->spmd->local->state[i].update >= 0);
            dt_view part = view_of_device(&is->update[i], e->device);
            expect_part(e, &part, &update[i], &e->c->spmd->state[i], g->state[i].variable->path);
        }
}

void cut_expect_lockstep(const cut *c, const dt_env *env, const dt_view *arg, const dt_view *result,
                         const dt_view *update, double tolerance) {
    const dt_graph *local = c->spmd->local;
    int devices = dt_mesh_devices(&c->spmd->mesh);
    dt_view *part = parts_of_args(c, arg, devices);
    fill_states(c, devices);
    int64_t batch[MOST_DEVICES];
    dt_interpretation is;
    assert_in_range(devices, 1, MOST_DEVICES);
    expect_places(c);
    for (int i = 0; i < devices; i++) batch[i] = c->spmd->batch;
    must(dt_interpret(local, env, devices, batch, part, &is), c->name);
    for (int i = 0; i < devices; i++)
        expect_device(&(expectation){c, i, tolerance}, &is, result, update);
    dt_interpretation_release(&is);
    views_release(part, devices * local->n_args);
}
