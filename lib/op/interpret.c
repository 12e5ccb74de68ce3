/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference interpreter: runs a graph with nothing but the ops' own definitions. It allocates
 * every value, frees it after its last use, and is deliberately slow and simple: passes, kernels
 * and back ends are tested against it.
 *
 * Replicas run one after the other up to their next collective, which runs when all of them have
 * reached it. Each replica has a graph; usually it is the same one. Arguments and variables are
 * lent; everything else is owned.
 */
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "op/op.h"
#include "op/shapes.h"

typedef enum owner { UNOWNED, LENT, OWNED } owner;

typedef struct value {
    dt_view view;
    owner owner;
} value;

/* One replica, as far as it has been computed. */
typedef struct lane {
    const dt_graph *graph;
    dt_env env;
    value *value; /* [nodes] the value of each node */
    /* [nodes] number of later reads of the value, by nodes and as a result or an update; a value
     * with no read left is freed */
    int *uses;
    int at; /* index of the next node to compute */
} lane;

typedef struct machine {
    /* the graph of replica 0; arguments, results and variables are the same in the graphs of all
     * replicas */
    const dt_graph *graph;
    int replicas;
    lane *lane;      /* [replicas] the state of each replica */
    dt_view *shared; /* [replicas] inputs of the collective that all replicas have reached */
} machine;

static value *value_at(const machine *m, int node, int replica) {
    return &m->lane[replica].value[node];
}

/* Allocates memory for a value of the concrete type `type`. It is not zeroed. */
static dt_status *view_create(dt_view *out, const dt_type *type) {
    int64_t bytes = dt_type_bytes(type);
    *out =
        (dt_view){*type, bytes == INT64_MAX ? NULL : dt_try_alloc((size_t)(bytes > 0 ? bytes : 1))};
    return out->data ? NULL
                     : dt_fail(DT_E_NO_MEMORY, NULL, "no memory for a value of type %s",
                               dt_text_of(type).s);
}

static dt_status *view_copy(dt_view *out, const dt_view *from) {
    DT_TRY(view_create(out, &from->type));
    memcpy(out->data, from->data, (size_t)dt_type_bytes(&from->type));
    return NULL;
}

/* ---- setting up ---- */

static dt_status *bind_argument(machine *m, int arg, int replica, const dt_view *given) {
    const dt_graph *g = m->lane[replica].graph;
    const dt_named_node *a = &g->arg[arg];
    dt_type type = dt_type_at(&g->node[a->node].type, m->lane[replica].env.batch / g->batch_parts);
    if (!dt_type_equal(&type, &given->type))
        return dt_fail(DT_E_MODEL_SHAPE, NULL,
                       "argument '%s' of replica %d is %s, the graph takes %s", a->name, replica,
                       dt_text_of(&given->type).s, dt_text_of(&type).s);
    *value_at(m, a->node, replica) = (value){*given, LENT};
    return NULL;
}

static dt_status *bind_inputs(machine *m, const dt_view *arg) {
    for (int r = 0; r < m->replicas; r++) {
        const dt_graph *g = m->lane[r].graph;
        for (int i = 0; i < g->n_args; i++) DT_TRY(bind_argument(m, i, r, &arg[r * g->n_args + i]));
        for (int i = 0; i < g->n_states; i++) {
            const dt_variable *v = g->state[i].variable;
            DT_TRY(dt_variable_fetch(v));
            char *data = (char *)dt_host_data(v) + (v->stack ? r * dt_type_bytes(&v->type) : 0);
            *value_at(m, g->state[i].node, r) = (value){{v->type, data}, LENT};
        }
    }
    return NULL;
}

static void machine_init(machine *m, dt_arena *arena, const dt_graph *const *g, const dt_env *env,
                         const int64_t *batch) {
    m->lane = dt_arena_array(arena, lane, m->replicas);
    m->shared = dt_arena_array(arena, dt_view, m->replicas);
    for (int r = 0; r < m->replicas; r++) {
        lane *l = &m->lane[r];
        *l = (lane){.graph = g[r],
                    .value = dt_arena_array(arena, value, g[r]->n_nodes),
                    .uses = dt_graph_uses(g[r], arena)};
        if (env) l->env = *env;
        l->env.batch = batch[r];
        l->env.first = r ? l[-1].env.first + batch[r - 1] : 0;
        l->env.replica = r;
        l->env.replicas = m->replicas;
    }
}

/* ---- running ---- */

static const dt_node *next_of(const lane *l) {
    return l->at < l->graph->n_nodes ? &l->graph->node[l->at] : NULL;
}

static dt_status *share_inputs(machine *m) {
    for (int r = 0; r < m->replicas; r++)
        m->shared[r] = value_at(m, next_of(&m->lane[r])->in[0], r)->view;
    for (int r = 1; r < m->replicas; r++)
        if (m->lane[r].graph != m->graph && !dt_type_equal(&m->shared[r].type, &m->shared[0].type))
            return dt_fail(
                DT_E_REDUCE_TYPE, NULL,
                "values that replicas add up differ in shape: %s on replica 0 and %s on replica %d",
                dt_text_of(&m->shared[0].type).s, dt_text_of(&m->shared[r].type).s, r);
    return NULL;
}

/* ---- nodes and collectives, with float16 and bfloat16 ---- */

/*
 * An op on 16-bit floats is the op on float32 with its result rounded, so the functions `eval` of
 * ops need not support them. The op convert is evaluated directly, since it changes one dtype into
 * another. Operands of products inside an op on bfloat16, such as attention weights, are rounded to
 * bfloat16, too, as in matrix units.
 */
static dt_type widened(const dt_type *t) {
    dt_type wide = *t;
    if (dt_dtype_is_narrow(t->dtype)) wide.dtype = DT_FLOAT32;
    return wide;
}

static bool has_narrow(const dt_call *c, int n_in) {
    bool any = dt_dtype_is_narrow(c->out.type.dtype);
    for (int k = 0; k < n_in; k++) any |= dt_dtype_is_narrow(c->in[k].type.dtype);
    return any;
}

static void convert_view(const dt_view *from, const dt_view *to) {
    for (int64_t i = 0, n = dt_type_elements(&from->type); i < n; i++)
        dt_cell_set_double(to, i, dt_cell_double(from, i));
}

/* Makes *wide a view of x in float32: x itself unless x holds 16-bit floats, which are converted
 * into *memory. */
static dt_status *widen_view(const dt_view *x, dt_view *wide, void **memory) {
    dt_type type = widened(&x->type);
    *wide = *x;
    if (dt_type_equal(&type, &x->type)) return NULL;
    DT_TRY(view_create(wide, &type));
    *memory = wide->data;
    convert_view(x, wide);
    return NULL;
}

void dt_op_widen(const dt_node *n, void *attr) {
    const int64_t yes = 1;
    dt_type type;
    if (n->op->attr.type) {
        memcpy(&type, (const char *)n->attr + n->op->attr.type - 1, sizeof type);
        type = widened(&type);
        memcpy((char *)attr + n->op->attr.type - 1, &type, sizeof type);
    }
    if (n->op->attr.rounds && n->type.dtype == DT_BFLOAT16)
        memcpy((char *)attr + n->op->attr.rounds - 1, &yes, sizeof yes);
}

/* Returns the node with float32 in place of 16-bit floats. attr: memory for a copy of its
 * attributes, which is made if they include a type or a flag for rounding. */
static dt_node widened_node(const dt_node *n, void *attr) {
    dt_node wide = *n;
    wide.type = widened(&n->type);
    if (n->op->attr.type || n->op->attr.rounds) {
        memcpy(attr, n->attr, n->op->attr.size);
        dt_op_widen(n, attr);
        wide.attr = attr;
    }
    return wide;
}

static dt_status *eval_wide(const dt_call *c, dt_view *wide, void **memory, int n_in) {
    int64_t attr[64] = {0};
    dt_view out;
    for (int k = 0; k < n_in; k++) DT_TRY(widen_view(&c->in[k], &wide[k], &memory[k]));
    dt_type type = widened(&c->out.type);
    DT_TRY(view_create(&out, &type));
    memory[n_in] = out.data;
    const dt_node node = widened_node(c->node, attr);
    dt_call call = *c;
    call.node = &node;
    call.in = wide;
    call.out = out;
    c->node->op->eval(&call);
    if (!dt_type_equal(&type, &c->out.type)) convert_view(&out, &c->out);
    else memcpy(c->out.data, out.data, (size_t)dt_type_bytes(&type));
    return NULL;
}

static dt_status *eval(const dt_call *c, int n_in) {
    if (c->node->op->role == DT_ROLE_CONVERT || !has_narrow(c, n_in)) {
        c->node->op->eval(c);
        return NULL;
    }
    DT_LOCAL dt_view *wide = dt_alloc(dt_size_mul((size_t)n_in + 1, sizeof *wide));
    DT_LOCAL void **memory = dt_alloc(dt_size_mul((size_t)n_in + 1, sizeof *memory));
    dt_status *s = eval_wide(c, wide, memory, n_in);
    for (int k = 0; k <= n_in; k++) free(memory[k]);
    return s;
}

static dt_status *evaluate(machine *m, int replica) {
    lane *l = &m->lane[replica];
    const dt_node *n = next_of(l);
    value *out = &l->value[l->at];
    dt_type type = dt_type_at(&n->type, l->env.batch / l->graph->batch_parts);
    dt_view in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) in[k] = value_at(m, n->in[k], replica)->view;
    DT_TRY(view_create(&out->view, &type));
    out->owner = OWNED;
    dt_call call = {.node = n,
                    .env = &l->env,
                    .in = n->op->traits.collective ? m->shared : in,
                    .out = out->view};
    return eval(&call, n->op->traits.collective ? m->replicas : n->n_in);
}

static void release_value(value *v) {
    if (v->owner == OWNED) free(v->view.data);
    *v = (value){0};
}

/* Counts down the remaining uses of the inputs of the node that has run, frees values that have
 * none left, and goes to the next node. */
static void step_on(lane *l) {
    const dt_node *n = next_of(l);
    for (int k = 0; k < n->n_in; k++)
        if (--l->uses[n->in[k]] <= 0) release_value(&l->value[n->in[k]]);
    if (l->uses[l->at] == 0) release_value(&l->value[l->at]);
    l->at++;
}

/* Runs a replica up to its next collective, or to the end. */
static dt_status *run_alone(machine *m, int replica) {
    lane *l = &m->lane[replica];
    for (const dt_node *n = next_of(l); n && !n->op->traits.collective; n = next_of(l)) {
        /* Arguments and variables have their values from the start. */
        if (l->value[l->at].owner == LENT) {
            l->at++;
            continue;
        }
        DT_TRY(evaluate(m, replica));
        step_on(l);
    }
    return NULL;
}

static bool is_same_call(const dt_node *a, const dt_node *b) {
    return a && b ? a->op == b->op && memcmp(a->attr, b->attr, a->op->attr.size) == 0 : a == b;
}

/* Runs a collective that all replicas have reached. */
static dt_status *run_together(machine *m) {
    for (int r = 1; r < m->replicas; r++)
        if (m->lane[r].graph != m->graph &&
            !is_same_call(next_of(&m->lane[0]), next_of(&m->lane[r])))
            return dt_fail(DT_E_REDUCE_TYPE, NULL,
                           "replicas 0 and %d make different calls of all_reduce or all_gather", r);
    if (!next_of(&m->lane[0])) return NULL;
    DT_TRY(share_inputs(m));
    for (int r = 0; r < m->replicas; r++) DT_TRY(evaluate(m, r));
    for (int r = 0; r < m->replicas; r++) step_on(&m->lane[r]);
    return NULL;
}

/* ---- results and updates, and whole runs ---- */

/* Sets *out to a new array (replicas, ...) of the values that the replicas assign to a variable
 * that has a copy for each replica. */
static dt_status *collect_each(const machine *m, const dt_state *s, dt_view *out) {
    int64_t bytes = dt_type_bytes(&s->variable->type);

    DT_TRY(view_create(out, &s->variable->stack->type));
    for (int r = 0; r < m->replicas; r++)
        memcpy((char *)out->data + r * bytes,
               value_at(m, m->lane[r].graph->state[s - m->graph->state].update, r)->view.data,
               (size_t)bytes);
    return NULL;
}

/* Whether replicas with graphs of their own assign different values to a variable. A size is a
 * constant in each graph, so an analysis of one graph cannot show that it differs in another. */
static bool updates_differ(const machine *m, int state) {
    const dt_view *first = &value_at(m, m->graph->state[state].update, 0)->view;
    bool differ = false;
    for (int r = 1; r < m->replicas && m->lane[r].graph != m->graph; r++)
        differ |= memcmp(value_at(m, m->lane[r].graph->state[state].update, r)->view.data,
                         first->data, (size_t)dt_type_bytes(&first->type)) != 0;
    return differ;
}

static dt_status *collect_update(const machine *m, const dt_state *s, dt_view *out) {
    if (s->update < 0) return NULL;
    return s->variable->stack ? collect_each(m, s, out)
                              : view_copy(out, &value_at(m, s->update, 0)->view);
}

static dt_status *collect(const machine *m, dt_interpretation *out) {
    const dt_graph *g = m->graph;
    for (int r = 0; r < m->replicas; r++)
        for (int i = 0; i < g->n_results; i++)
            DT_TRY(view_copy(&out->result[r * g->n_results + i],
                             &value_at(m, m->lane[r].graph->result[i].node, r)->view));
    for (int i = 0; i < g->n_states; i++) {
        DT_TRY(collect_update(m, &g->state[i], &out->update[i]));
        if (out->differs < 0 && g->state[i].update >= 0 && !g->state[i].variable->stack &&
            updates_differ(m, i))
            out->differs = i;
    }
    return NULL;
}

static dt_status *run(machine *m, const dt_view *arg, dt_interpretation *out) {
    DT_TRY(bind_inputs(m, arg));
    do {
        for (int r = 0; r < m->replicas; r++) DT_TRY(run_alone(m, r));
        DT_TRY(run_together(m));
    } while (next_of(&m->lane[0]));
    for (int r = 0; r < m->replicas; r++) DT_TRY(run_alone(m, r));
    return collect(m, out);
}

dt_status *dt_interpret(const dt_graph *g, const dt_env *env, int replicas, const int64_t *batch,
                        const dt_view *arg, dt_interpretation *out) {
    DT_LOCAL const dt_graph **all = dt_alloc(dt_size_mul((size_t)replicas, sizeof *all));
    for (int r = 0; r < replicas; r++) all[r] = g;
    return dt_interpret_each(all, env, replicas, batch, arg, out);
}

dt_status *dt_interpret_each(const dt_graph *const *g, const dt_env *env, int replicas,
                             const int64_t *batch, const dt_view *arg, dt_interpretation *out) {
    dt_local_arena arena = dt_arena_create();
    machine m = {.graph = g[0], .replicas = replicas};
    machine_init(&m, arena, g, env, batch);
    *out = (dt_interpretation){.replicas = replicas,
                               .n_results = g[0]->n_results,
                               .n_states = g[0]->n_states,
                               .differs = -1};
    out->result = dt_alloc(
        dt_size_mul(dt_size_mul((size_t)replicas, (size_t)g[0]->n_results), sizeof *out->result));
    out->update = dt_alloc(dt_size_mul((size_t)g[0]->n_states, sizeof *out->update));
    dt_status *s = run(&m, arg, out);
    for (int r = 0; r < replicas; r++)
        for (int i = 0; i < g[r]->n_nodes; i++) release_value(&m.lane[r].value[i]);
    if (s) dt_interpretation_release(out);
    return s;
}

void dt_interpretation_release(dt_interpretation *r) {
    for (int i = 0; i < r->replicas * r->n_results; i++) free(r->result[i].data);
    for (int i = 0; i < r->n_states; i++) free(r->update[i].data);
    free(r->result);
    free(r->update);
    *r = (dt_interpretation){0};
}
