/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a module with one function: see stablehlo.h. Statements are in the order that order.c
 * chooses, and repeats are written as loops (loop.c) or over whole stacks (whole.c). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"

static const dt_node *node_of(const dt_hlo_writer *w, int item) {
    return &w->plan.o->g->node[w->plan.o->item[item].node];
}

/* ---- writing an item, and its value ---- */

void dt_hlo_set_value(dt_hlo_writer *w, int item, dt_hlo_value v) {
    if (w->in_body) {
        DT_GROW(w->undo, w->cap_undo, w->n_undo + 1);
        w->undo[w->n_undo].item = item;
        w->undo[w->n_undo++].before = w->value[item];
    }
    w->value[item] = v;
}

dt_status *dt_hlo_no_form(const dt_node *n) {
    const char *path = n->path[0] ? n->path : "the step";
    return dt_fail(DT_E_NO_STABLEHLO, NULL, "op %s in %s cannot be written as StableHLO",
                   n->op->name, path);
}

dt_status *dt_hlo_write_item(dt_hlo_writer *w, int item, const dt_hlo_value *in,
                             const dt_hlo_value *number) {
    const dt_node *n = node_of(w, item);
    dt_hlo_call c = {
        .hlo = &w->hlo, .node = n, .type = dt_hlo_type_of(&w->plan, item), .number = number};
    dt_hlo_value out;
    dt_hlo_pieces p;
    memcpy(c.in, in, (size_t)n->n_in * sizeof *in);
    w->hlo.layer = n->path;
    if (n->op->forms.stablehlo) out = n->op->forms.stablehlo(&c);
    else if (dt_hlo_pieces_of(w->plan.o->g, w->plan.o->item[item].node, &w->sizes, &p))
        DT_TRY(dt_hlo_write_pieces(&w->hlo, n, &p, &c, &out));
    else return dt_hlo_no_form(n);
    if (out.id < 0) return dt_hlo_no_form(n);
    dt_hlo_set_value(w, item, out);
    return NULL;
}

dt_hlo_value dt_hlo_value_of(dt_hlo_writer *w, int item) {
    const dt_hlo_item *at = &w->plan.o->item[item];
    dt_hlo_value in[DT_MAX_IN];
    if (w->value[item].id >= 0) return w->value[item];
    if (at->light) {
        for (int k = 0; k < node_of(w, item)->n_in; k++) in[k] = dt_hlo_value_of(w, at->in[k]);
        w->failed = w->failed ? w->failed : dt_hlo_write_item(w, item, in, NULL);
        return w->value[item];
    }
    assert(!w->in_body && w->plan.place[item].stack >= 0);
    dt_type t = dt_hlo_type_of(&w->plan, item);
    dt_hlo_value row = dt_hlo_slice(&w->hlo, dt_hlo_stack_now(w, w->plan.place[item].stack), 0,
                                    w->plan.place[item].row, 1);
    dt_hlo_set_value(w, item, dt_hlo_reshape(&w->hlo, row, t.rank, t.dim));
    return w->value[item];
}

/* ---- stacks ---- */

dt_type dt_hlo_stacked(const dt_type *row, int64_t n) {
    dt_type t = {.dtype = row->dtype, .rank = row->rank + 1, .dim = {n}};
    memcpy(t.dim + 1, row->dim, (size_t)row->rank * sizeof *row->dim);
    return t;
}

static dt_hlo_value as_row(dt_hlo *h, dt_hlo_value v) {
    dt_type t = dt_hlo_stacked(&v.type, 1);
    return dt_hlo_reshape(h, v, t.rank, t.dim);
}

dt_hlo_value dt_hlo_get_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value row) {
    dt_hlo_value y = dt_hlo_dynamic_slice(h, x, 0, row, 1);
    return dt_hlo_reshape(h, y, y.type.rank - 1, y.type.dim + 1);
}

static dt_hlo_value set_rows(dt_hlo *h, dt_hlo_value x, dt_hlo_value v, dt_hlo_value first) {
    dt_hlo_value in[2 + DT_MAX_RANK] = {x, v, first}, zero = dt_hlo_like(h, first, 0);
    for (int d = 1; d < x.type.rank; d++) in[2 + d] = zero;
    return dt_hlo_op(h, "dynamic_update_slice", in, 2 + x.type.rank, &x.type, "%s", "");
}

dt_hlo_value dt_hlo_set_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value v, dt_hlo_value row) {
    return set_rows(h, x, as_row(h, v), row);
}

dt_hlo_value dt_hlo_zeros(dt_hlo *h, const dt_type *type) {
    const dt_type scalar = dt_scalar_type(type->dtype);
    return dt_hlo_broadcast(h, dt_hlo_splat(h, &scalar, 0), type, NULL);
}

static dt_hlo_value joined(dt_hlo_writer *w, const int *item, int n) {
    DT_LOCAL dt_hlo_value *row = dt_alloc(dt_size_mul((size_t)n, sizeof *row));
    for (int i = 0; i < n; i++) row[i] = as_row(&w->hlo, dt_hlo_value_of(w, item[i]));
    return dt_hlo_concatenate(&w->hlo, row, n, 0);
}

dt_hlo_value dt_hlo_stack_now(dt_hlo_writer *w, int stack) {
    dt_hlo_stack *s = &w->plan.stack[stack];
    const dt_type t = dt_hlo_stacked(&s->type, s->n + s->scratch);
    if (s->value.id >= 0) return s->value;
    dt_hlo_value v = s->kind == DT_HLO_UPDATED ? dt_hlo_stack_now(w, s->of)
                     : s->kind == DT_HLO_KEPT  ? dt_hlo_zeros(&w->hlo, &t)
                                               : joined(w, s->item, s->n);
    s->value = v;
    return v;
}

void dt_hlo_set_rows(dt_hlo_writer *w, int stack, int first, dt_hlo_value v) {
    const dt_type index = dt_scalar_type(DT_INT32);
    const bool all = v.type.dim[0] == w->plan.stack[stack].n + w->plan.stack[stack].scratch;
    w->plan.stack[stack].value = all ? v
                                     : set_rows(&w->hlo, dt_hlo_stack_now(w, stack), v,
                                                dt_hlo_splat(&w->hlo, &index, first));
}

static void set_row(dt_hlo_writer *w, int stack, int row, dt_hlo_value v) {
    dt_hlo_set_rows(w, stack, row, as_row(&w->hlo, v));
}

void dt_hlo_put_row(dt_hlo_writer *w, int item) {
    int stack = w->plan.place[item].stack;
    if (stack >= 0 && !w->plan.covered[item])
        set_row(w, stack, w->plan.place[item].row, w->value[item]);
}

/* ---- statements ---- */

static bool is_fed(const dt_node *n) {
    return n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE;
}

static dt_status *write_statement(dt_hlo_writer *w, int item) {
    dt_hlo_value in[DT_MAX_IN];
    for (int k = 0; k < node_of(w, item)->n_in; k++)
        in[k] = dt_hlo_value_of(w, w->plan.o->item[item].in[k]);
    DT_TRY(dt_hlo_write_item(w, item, in, NULL));
    dt_hlo_put_row(w, item);
    return NULL;
}

static dt_status *write_body(dt_hlo_writer *w) {
    const dt_hlo_order *o = w->plan.o;
    int block, offset;
    dt_status *bad = NULL;
    for (int i = 0; i < o->n && !bad && !w->failed; i++) {
        int repeat = dt_hlo_repeat_of(&w->plan.repeats, i, &block, &offset);
        if (repeat >= 0) {
            bad = (dt_hlo_is_whole(w, repeat) ? dt_hlo_write_whole : dt_hlo_write_loop)(w, repeat);
            i += w->plan.repeats.repeat[repeat].n * w->plan.repeats.repeat[repeat].period - 1;
        } else if (!o->item[i].light && !is_fed(node_of(w, i))) bad = write_statement(w, i);
    }
    if (bad) dt_status_free(w->failed);
    else bad = w->failed;
    w->failed = NULL;
    return bad;
}

/* ---- arguments and results ---- */

static dt_hlo_port *add_port(dt_hlo_signature *s, dt_hlo_port *list, int *n, dt_hlo_port p) {
    p.alias = -1;
    list[*n] = p;
    if (p.state) list[*n].state = dt_arena_copy(s->arena, p.state, (size_t)p.n * sizeof *p.state);
    return &list[(*n)++];
}

/* Returns the stack that is the argument for state i; -1: the state is an argument by itself. */
static int stack_of_state(const dt_hlo_writer *w, int i) {
    int stack = w->plan.place[w->plan.o->state[i]].stack;
    return stack < 0 || w->plan.stack[stack].kind != DT_HLO_FED ? -1 : stack;
}

static int state_of_row(const dt_hlo_writer *w, int stack, int row) {
    const dt_index_attr *a = node_of(w, w->plan.stack[stack].item[row])->attr;
    return (int)a->index;
}

/* Describes the port of state i, or of its stack. Returns false if i is not the state in row 0 of
 * the stack, since the stack has one port. */
static bool port_of_state(const dt_hlo_writer *w, int i, int *state, dt_hlo_port *out) {
    const dt_graph *g = w->plan.o->g;
    int stack = stack_of_state(w, i);
    dt_type row = dt_hlo_type_of(&w->plan, w->plan.o->state[i]);
    *out = (dt_hlo_port){.type = row,
                         .name = dt_arena_printf(w->plan.arena, "@%s", g->state[i].variable->path),
                         .node = -1,
                         .n = 1,
                         .state = state};
    state[0] = i;
    if (stack < 0) return true;
    out->n = w->plan.stack[stack].n;
    out->stacked = true;
    out->type = dt_hlo_stacked(&row, out->n);
    for (int k = 0; k < out->n; k++) state[k] = state_of_row(w, stack, k);
    return state[0] == i;
}

static bool has_update(const dt_hlo_writer *w, const dt_hlo_port *p) {
    bool has = false;
    for (int i = 0; i < p->n; i++) has |= w->plan.o->update[p->state[i]] >= 0;
    return has;
}

static void list_ports(const dt_hlo_writer *w, dt_hlo_signature *s) {
    const dt_hlo_order *o = w->plan.o;
    const dt_graph *g = o->g;
    int *state = dt_arena_array(s->arena, int, g->n_states + 1);
    dt_hlo_port p;
    s->in = dt_arena_array(s->arena, dt_hlo_port, g->n_args + g->n_states + 1);
    s->out = dt_arena_array(s->arena, dt_hlo_port, g->n_results + g->n_states + 1);
    for (int i = 0; i < g->n_args; i++)
        add_port(s, s->in, &s->n_in,
                 (dt_hlo_port){.type = dt_hlo_type_of(&w->plan, o->arg[i]),
                               .name = dt_arena_strdup(s->arena, g->arg[i].name),
                               .node = i});
    for (int i = 0; i < g->n_results; i++)
        add_port(s, s->out, &s->n_out,
                 (dt_hlo_port){.type = dt_hlo_type_of(&w->plan, o->result[i]),
                               .name = dt_arena_strdup(s->arena, g->result[i].name),
                               .node = i});
    for (int i = 0; i < g->n_states; i++) {
        if (!port_of_state(w, i, state, &p)) continue;
        p.name = dt_arena_strdup(s->arena, p.name);
        dt_hlo_port *in = add_port(s, s->in, &s->n_in, p);
        if (!has_update(w, in)) continue;
        in->alias = s->n_out;
        add_port(s, s->out, &s->n_out, p);
    }
}

/* Returns the new values of a stack of states, as a stack. Those that loops have not put into it
 * are put there now. */
static dt_hlo_value updated_stack(dt_hlo_writer *w, int stack) {
    const dt_hlo_order *o = w->plan.o;
    int updated = w->plan.stack[stack].updated, n = w->plan.stack[stack].n;
    if (updated < 0) {
        int *item = dt_arena_array(w->plan.arena, int, n);
        for (int i = 0; i < n; i++) {
            int update = o->update[state_of_row(w, stack, i)];
            item[i] = update >= 0 ? update : w->plan.stack[stack].item[i];
        }
        return joined(w, item, n);
    }
    for (int i = 0; i < n; i++) {
        int update = o->update[state_of_row(w, stack, i)];
        if (w->plan.stack[updated].item[i] < 0 && update >= 0)
            set_row(w, updated, i, dt_hlo_value_of(w, update));
    }
    return dt_hlo_stack_now(w, updated);
}

static dt_hlo_value given(dt_hlo_writer *w, const dt_hlo_port *p) {
    if (p->node >= 0) return dt_hlo_value_of(w, w->plan.o->result[p->node]);
    int stack = stack_of_state(w, p->state[0]);
    return stack >= 0 ? updated_stack(w, stack)
                      : dt_hlo_value_of(w, w->plan.o->update[p->state[0]]);
}

/* ---- the module, and writing a graph ---- */

static void write_name(dt_str *out, const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80 || *name < ' ' || *name == '"' || *name == '\\')
            dt_str_printf(out, "\\%02X", (unsigned)(unsigned char)*name);
        else dt_str_putc(out, *name);
}

static void write_arguments(dt_hlo_writer *w, const dt_hlo_signature *s, dt_str *out) {
    for (int i = 0; i < s->n_in; i++) {
        const dt_hlo_port *p = &s->in[i];
        dt_hlo_value v = {.id = w->hlo.values++, .type = p->type};
        if (p->stacked) w->plan.stack[stack_of_state(w, p->state[0])].value = v;
        else w->value[p->node >= 0 ? w->plan.o->arg[p->node] : w->plan.o->state[p->state[0]]] = v;
        dt_str_printf(out, "%s\n      %%%d: ", i ? "," : "", i);
        dt_hlo_print_type(&p->type, out);
        if (p->alias >= 0) dt_str_printf(out, " {tf.aliasing_output = %d : i32}", p->alias);
        dt_str_puts(out, " loc(\"");
        write_name(out, p->name);
        dt_str_puts(out, p->stacked ? " and others\")" : "\")");
    }
}

static void write_result_types(const dt_hlo_signature *s, dt_str *out) {
    dt_str_putc(out, '(');
    for (int i = 0; i < s->n_out; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_hlo_print_type(&s->out[i].type, out);
    }
    dt_str_putc(out, ')');
}

static void write_return(dt_hlo_writer *w, const dt_hlo_signature *s, dt_str *out) {
    dt_hlo_value *v = dt_alloc(dt_size_mul((size_t)s->n_out + 1, sizeof *v));
    for (int i = 0; i < s->n_out; i++) v[i] = given(w, &s->out[i]);
    dt_str_puts(out, "    \"func.return\"(");
    for (int i = 0; i < s->n_out; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_hlo_print_value(v[i], out);
    }
    dt_str_puts(out, ") : ");
    write_result_types(s, out);
    dt_str_puts(out, " -> ()\n");
    free(v);
}

static dt_status *write_module(dt_hlo_writer *w, const dt_hlo_signature *s, dt_str *out) {
    dt_str_printf(out,
                  "module @%s attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : "
                  "i32} {\n  func.func public @main(",
                  w->plan.o->g->name, w->hlo.devices);
    write_arguments(w, s, out);
    dt_str_puts(out, ") -> ");
    write_result_types(s, out);
    dt_str_puts(out, " {\n");
    DT_TRY(write_body(w));
    write_return(w, s, out);
    dt_str_puts(out, "  }\n}\n");
    return w->failed;
}

/* Returns the number of blocks of the repeat that saves most text, among those whose blocks feed
 * each other; 0: there is none. */
static int blocks_of_largest(const dt_hlo_repeats *r) {
    int n = 0;
    long most = 0;
    for (int i = 0; i < r->n; i++) {
        const long saved = r->repeat[i].n_carries ? (r->repeat[i].n - 1L) * r->repeat[i].period : 0;
        n = saved > most ? r->repeat[i].n : n;
        most = saved > most ? saved : most;
    }
    return n;
}

static dt_hlo_sizes sizes_of(const dt_graph *g, const dt_hlo_request *q) {
    return (dt_hlo_sizes){.batch = q->batch / g->batch_parts,
                          .large = q->large ? q->large : DT_HLO_LARGE};
}

/* Removes from the list all repeats whose blocks read different states, since these would need
 * stacks of variables. */
static void keep_settled(dt_hlo_plan *p) {
    int n = 0;
    for (int i = 0; i < p->repeats.n; i++) {
        dt_hlo_repeat *r = &p->repeats.repeat[i];
        bool stacks = false;
        for (int l = 0; l < r->n_lists; l++)
            stacks |= p->o->g->node[p->o->item[r->list[l][0]].node].op->role == DT_ROLE_STATE;
        if (stacks) dt_hlo_repeat_release(r);
        else p->repeats.repeat[n++] = *r;
    }
    p->repeats.n = n;
}

static void begin(dt_hlo_writer *w, const dt_graph *g, const dt_hlo_request *q, dt_arena *arena) {
    w->plan = (dt_hlo_plan){.o = dt_hlo_order_create(g, arena),
                            .arena = arena,
                            .batch = w->hlo.batch,
                            .group = q->group,
                            .n_groups = q->n_groups};
    w->value = dt_arena_array(arena, dt_hlo_value, w->plan.o->n + 1);
    for (int i = 0; i < w->plan.o->n; i++) w->value[i].id = -1;
    if (q->loops) dt_hlo_find_repeats(w->plan.o, arena, &w->plan.repeats);
    if (q->settled) keep_settled(&w->plan);
    if (blocks_of_largest(&w->plan.repeats) < q->fewest_blocks)
        dt_hlo_repeats_release(&w->plan.repeats);
}

/* Whether at least half of the steps of sequences are put in place in loops. Outside of a loop,
 * each step would copy the whole sequence. */
static bool loops_over_steps(const dt_hlo_plan *p) {
    int inside = 0, outside = 0, block, offset;
    for (int i = 0; i < p->o->n; i++)
        if (dt_hlo_puts_step(&p->o->g->node[p->o->item[i].node]))
            ++*(dt_hlo_repeat_of(&p->repeats, i, &block, &offset) >= 0 ? &inside : &outside);
    return outside <= inside;
}

/* Writes a graph. numbered: g with numbered steps of sequences, which is written in place of g if
 * loops_over_steps; NULL: g is written. */
static dt_status *write_graph(const dt_graph *g, const dt_graph *numbered, const dt_hlo_request *q,
                              dt_str *out, dt_hlo_signature *s) {
    dt_local_arena arena = dt_arena_create();
    dt_hlo_writer w = {.hlo = {.out = out,
                               .batch = q->batch / g->batch_parts,
                               .devices = q->replicas,
                               .offsets = q->offsets,
                               .precision = q->precision,
                               .chain = q->chain,
                               .names_layers = q->names_layers},
                       .sizes = sizes_of(g, q)};
    begin(&w, numbered ? numbered : g, q, arena);
    if (numbered && !loops_over_steps(&w.plan)) {
        dt_hlo_repeats_release(&w.plan.repeats);
        begin(&w, g, q, arena);
    }
    dt_hlo_plan_create(&w.plan);
    *s = (dt_hlo_signature){.arena = dt_arena_create(), .loops = w.plan.repeats.n};
    list_ports(&w, s);
    dt_status *bad = write_module(&w, s, out);
    dt_hlo_plan_release(&w.plan);
    dt_hlo_repeats_release(&w.plan.repeats);
    free(w.undo);
    return bad;
}

void dt_hlo_signature_release(dt_hlo_signature *s) {
    dt_arena_destroy(s->arena);
    s->arena = NULL;
}

bool dt_hlo_has_form(const dt_op *op) { return op->forms.stablehlo != NULL; }

/* Prepares g for writing: sets barriers (dt_hlo_set_barriers), replaces ops that have no form by
 * others, and joins products (dt_hlo_join_products). */
static dt_status *prepare(const dt_graph *g, const dt_hlo_request *q, dt_graph **out) {
    const dt_hlo_sizes sizes = sizes_of(g, q);
    dt_graph *barred = NULL, *plain = NULL;
    DT_TRY(dt_hlo_set_barriers(g, q->scores_again, &barred));
    dt_status *bad = dt_decompose_but_pieces(barred, &sizes, &plain);
    if (!bad) bad = dt_hlo_join_products(plain, out);
    dt_graph_destroy(barred);
    dt_graph_destroy(plain);
    return bad;
}

dt_status *dt_stablehlo_write(const dt_graph *g, const dt_hlo_request *request, dt_str *out,
                              dt_hlo_signature *signature) {
    dt_graph *plain = NULL, *numbered = NULL;
    dt_hlo_signature s = {0};
    dt_status *bad = NULL;
    DT_TRY(prepare(g, request, &plain));
    if (request->loops) bad = dt_hlo_number_steps(plain, &numbered);
    if (!bad) bad = write_graph(plain, numbered, request, out, &s);
    dt_graph_destroy(numbered);
    dt_graph_destroy(plain);
    if (s.arena && (bad || !signature)) dt_hlo_signature_release(&s);
    if (signature) *signature = s;
    return bad;
}

static dt_status *check_places(const dt_spmd *s) {
    if (s->mesh.time)
        return dt_fail(
            DT_E_NO_STABLEHLO, NULL,
            "a pipeline of micro-batches cannot be written as one program for all devices");
    for (int i = 0; i < s->local->n_nodes; i++)
        if (s->layout[i].on)
            return dt_fail(DT_E_NO_STABLEHLO, NULL,
                           "ops placed on single devices cannot be written as one program for all "
                           "devices: %s is on logical device %d",
                           s->local->node[i].op->name, s->layout[i].on - 1);
    return NULL;
}

dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, const dt_hlo_request *request, dt_str *out,
                                   dt_hlo_signature *signature) {
    dt_hlo_request own = *request;
    own.batch = s->batch;
    own.replicas = dt_mesh_devices(&s->mesh);
    DT_TRY(check_places(s));
    return dt_stablehlo_write(s->local, &own, out, signature);
}
