/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds arguments and variables to a trace. Most of the functions are declared in graph.h, but they
 * use rows of the op table, which files of lib/graph must not include, so they are defined here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "graph/trace.h"
#include "op/op.h"
#include "op/shapes.h"

static const dt_value none = {0};

/* ---- arguments ---- */

/* Returns the value of an argument that is declared already. If `type` is not the type that it has,
 * fails the trace with NAME_TAKEN and returns no value. */
static dt_value declare_again(dt_trace *t, const dt_named_node *arg, const dt_type *type) {
    const dt_value v = dt_value_of(t, arg->node);
    if (dt_type_equal(&dt_node_of(v)->type, type)) return v;
    dt_trace_fail(t, dt_fail(DT_E_NAME_TAKEN, NULL,
                             "two arguments of different types are called '%s'", arg->name));
    return none;
}

dt_value dt_trace_declare(dt_trace *t, const char *name, const dt_type *type) {
    const dt_named_node *old = dt_named_find(t->arg, &t->args_at, name);
    if (old) return declare_again(t, old, type);
    dt_index_attr attr = {*type, t->n_args};
    dt_value v = dt_emit(t, &dt_op_parameter, NULL, 0, &attr);
    if (!v.trace) return none;
    dt_hash_index_add(&t->args_at, dt_name_hash(name));
    DT_GROW(t->arg, t->cap_args, t->n_args + 1);
    t->arg[t->n_args++] = (dt_named_node){dt_arena_strdup(t->arena, name), v.node};
    return v;
}

/* Returns an error that lists the arguments, such as "no argument 'imge'; the step takes image,
 * label", and suggests the most similar name. */
static dt_status *no_argument(const dt_trace *t, const char *name) {
    if (t->n_args == 0)
        return dt_fail(DT_E_NO_ARGUMENT, NULL, "no argument '%s'; the step takes no arguments",
                       name);
    dt_local_str known = {0};
    const char **names = dt_arena_array(t->arena, const char *, t->n_args);
    for (int i = 0; i < t->n_args; i++) {
        names[i] = t->arg[i].name;
        dt_str_printf(&known, "%s%s", i ? ", " : "", names[i]);
    }
    dt_status *s = dt_fail(DT_E_NO_ARGUMENT, NULL, "no argument '%s'; the step takes %s", name,
                           dt_str_text(&known));
    return dt_suggest_nearest(s, name, names, t->n_args);
}

dt_value dt_arg_at(dt_trace *t, int i) {
    if (!dt_trace_is_live(t) || t->error) return none;
    if (i >= 0 && i < t->n_args) return dt_value_of(t, t->arg[i].node);
    dt_trace_fail(t, dt_fail(DT_E_NO_ARGUMENT, NULL, "no argument %d; there %s %d", i,
                             t->n_args == 1 ? "is" : "are", t->n_args));
    return none;
}

dt_value dt_arg(dt_trace *t, const char *name) {
    if (!dt_trace_is_live(t) || t->error) return none;
    if (!name) {
        dt_trace_fail(t, dt_want(name, "dt_arg", "name"));
        return none;
    }
    const dt_named_node *arg = dt_named_find(t->arg, &t->args_at, name);
    if (arg) return dt_value_of(t, arg->node);
    dt_trace_fail(t, no_argument(t, name));
    return none;
}

/* ---- variables ---- */

/* Returns the trace's entry for v, created on first use; NULL if its node cannot be emitted, after
 * which the trace has failed. The pointer is valid until the next entry is created. */
static dt_trace_state *state_of(dt_trace *t, dt_variable *v) {
    const uint64_t hash = (uint64_t)(uintptr_t)v >> 4;
    for (int i = dt_hash_index_first(&t->states_at, hash); i >= 0;
         i = dt_hash_index_next(&t->states_at, i))
        if (t->state[i].variable == v) return &t->state[i];
    dt_index_attr attr = {v->type, t->n_states};
    /* without a layer's path, since the variable has a path of its own, which says more */
    const char *before = dt_trace_path(t, "");
    dt_value start = dt_emit(t, &dt_op_variable, NULL, 0, &attr);
    dt_trace_path(t, before);
    if (!start.trace) return NULL;
    dt_hash_index_add(&t->states_at, hash);
    DT_GROW(t->state, t->cap_states, t->n_states + 1);
    t->state[t->n_states] = (dt_trace_state){v, start.node, start.node};
    /* The trace holds a reference, since a step function may release variables that it created. */
    v->refs++;
    return &t->state[t->n_states++];
}

void dt_variable_annotate(dt_variable *v, const dt_sharding_attr *attr) {
    dt_sharding_attr *kept = attr ? dt_alloc(sizeof *attr) : NULL;
    if (kept) memcpy(kept, attr, sizeof *attr);
    free(v->sharding);
    v->sharding = kept;
    v->revision++;
}

/* Whether an annotation applies to replicas that have `logical` logical devices: it has as many
 * parts, or names one of the devices; REPLICATED, whose device is 0, always applies. */
static bool speaks_of(const dt_sharding_attr *a, int logical) {
    int64_t parts = 1;
    for (int d = 0; d < a->rank; d++) parts *= a->parts[d];
    return a->kind == DT_SHARDING_OTHER ? parts == logical : a->device < logical;
}

/* Returns the value of a variable at the start of the step: its node, or an annotation of it.
 * Traces of passes have no number of logical devices, since their graphs already contain the
 * annotations. */
static dt_value start_of(dt_trace *t, const dt_trace_state *s) {
    const dt_value own = dt_value_of(t, s->node);
    const dt_sharding_attr *sharding = s->variable->sharding;
    if (!sharding || t->logical <= 1 || !speaks_of(sharding, t->logical)) return own;
    const char *before = dt_trace_path(t, "");
    const dt_value noted = dt_annotate(own, sharding);
    dt_trace_path(t, before);
    return noted;
}

dt_value dt_read(dt_trace *t, dt_variable *v) {
    if (!dt_trace_is_live(t) || t->error) return none;
    const dt_trace_state *s = state_of(t, v);
    return !s ? none : s->now == s->node ? start_of(t, s) : dt_value_of(t, s->now);
}

dt_value dt_read_first(dt_trace *t, dt_variable *v) {
    if (!dt_trace_is_live(t) || t->error) return none;
    const dt_trace_state *s = state_of(t, v);
    return s ? start_of(t, s) : none;
}

static dt_status *bad_assignment(const dt_variable *v, const dt_type *type) {
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "cannot assign %s to the variable '%s' of type %s",
                   dt_text_of(type).s, v->path, dt_text_of(&v->type).s);
}

void dt_assign(dt_trace *t, dt_variable *v, dt_value value) {
    if (!dt_trace_is_live(t) || t->error || !dt_trace_owns(t, value, "dt_assign")) return;
    dt_trace_state *s = state_of(t, v);
    if (!s) return;
    const dt_type *type = &dt_node_of(value)->type;
    if (dt_type_equal(type, &v->type)) s->now = value.node;
    else dt_trace_fail(t, bad_assignment(v, type));
}

/* ---- whole graphs, for passes ---- */

void dt_trace_import(dt_trace *t, const dt_graph *g, dt_value *map) {
    dt_trace_set_batch_parts(t, g->batch_parts);
    for (int i = 0; i < g->n_args; i++)
        map[g->arg[i].node] = dt_trace_declare(t, g->arg[i].name, &g->node[g->arg[i].node].type);
    for (int i = 0; i < g->n_states; i++) map[g->state[i].node] = dt_read(t, g->state[i].variable);
}

void dt_trace_export(dt_trace *t, const dt_graph *g, const dt_value *map) {
    for (int i = 0; i < g->n_results; i++) dt_return(t, g->result[i].name, map[g->result[i].node]);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) dt_assign(t, g->state[i].variable, map[g->state[i].update]);
}
