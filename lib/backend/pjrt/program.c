/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as a program of the plug-in:
 *
 *     graph -> without annotations -> StableHLO text -> compiled
 *
 * Its arguments are the graph's, then variables; its results the graph's, then new values of
 * variables.
 *
 * Several devices run the same text, each as one of XLA's replicas: on its part of values that
 * dt_spmd has divided (`cut`), or on all rows if these do not divide evenly. A variable and its
 * new value share memory on the device (donation). Repeated blocks are one loop over stacks of
 * their variables (export/stablehlo): a stack is one argument, and stays stacked between steps.
 *
 * Segments of a folded batch, such as the rows of each replica, have their borders in the text,
 * which is compiled again for other borders. With uneven borders each device computes all rows.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/pjrt/pjrt_impl.h"
#include "pass/supersteps.h"

/* ---- compiling and releasing ---- */

typedef struct program_text {
    dt_str text;
    dt_hlo_signature takes;
} program_text;

/* Lists the stacks of variables that are fixed (dt_pjrt_copy_settle) and whose variables the graph
 * has all; number[states] gets the indices of their states. Returns their number. Sets *any to true
 * if the graph has variables, stacked or single, that are fixed. */
static int list_settled(const dt_pjrt_program *x, dt_hlo_group *group, int *number, bool *any) {
    const dt_graph *g = x->graph;
    int n = 0;
    for (int i = 0; i < g->n_states; i++) {
        const dt_pjrt_copy *c = dt_pjrt_settled(x->device, g->state[i].variable);
        const bool begins = c && c->stacked && c->member[0].variable == g->state[i].variable;
        int found = 0;
        *any = *any || c;
        for (int k = 0; begins && k < c->n_members; k++)
            for (int j = 0; j < g->n_states && found == k; j++)
                if (g->state[j].variable == c->member[k].variable) number[found++] = j;
        if (!begins || found < c->n_members) continue;
        group[n++] = (dt_hlo_group){found, number};
        number += found;
    }
    return n;
}

/* Returns the precision of products for dt_hlo_request. NULL, the compiler's default, if x->exact
 * is false, as for `numerics: chip`. */
static const char *precision_of(const dt_pjrt_program *x) {
    static const char *const words[] = {
        [DT_PJRT_FLOAT32] = "HIGHEST", [DT_PJRT_TENSORFLOAT32] = "HIGH"};
    return x->exact ? words[x->device->products] : NULL;
}

static dt_status *write_as(const dt_pjrt_program *x, const int32_t *offsets, dt_hlo_request *q,
                           program_text *out) {
    q->batch = x->rows;
    q->replicas = x->device->n;
    q->offsets = offsets;
    q->precision = precision_of(x);
    return x->cut && !offsets ? dt_stablehlo_write_spmd(x->cut, q, &out->text, &out->takes)
                              : dt_stablehlo_write(x->graph, q, &out->text, &out->takes);
}

/* Whether all variables of each stack are divided in the same way. */
static bool lie_alike(const dt_pjrt_program *x, const int32_t *offsets,
                      const dt_hlo_signature *takes) {
    const dt_spmd *over = offsets ? NULL : x->cut;
    for (int i = x->graph->n_args; over && i < takes->n_in; i++)
        for (int k = 1; k < takes->in[i].n; k++) {
            const dt_pjrt_lie a = dt_pjrt_lie_of(over, over->state, takes->in[i].state[0]),
                              b = dt_pjrt_lie_of(over, over->state, takes->in[i].state[k]);
            if (!dt_pjrt_lies_alike(&a, &b, takes->in[i].type.rank - 1)) return false;
        }
    return true;
}

static void release_text(program_text *t) {
    dt_str_release(&t->text);
    if (t->takes.arena) dt_hlo_signature_release(&t->takes);
    *t = (program_text){0};
}

/* Writes the program as text. Repeats become loops where that agrees with the layouts that
 * variables already have. */
static dt_status *write_text(const dt_pjrt_program *x, const int32_t *offsets, bool names_layers,
                             program_text *out) {
    dt_local_arena arena = dt_arena_create();
    dt_hlo_group *group = dt_arena_array(arena, dt_hlo_group, x->graph->n_states + 1);
    dt_hlo_request q = {.names_layers = names_layers, .group = group};
    bool any = false;
    dt_hlo_aim(&q, dt_pjrt_client_platform(x->device->client), x->device->memory);
    q.n_groups = list_settled(x, group, dt_arena_array(arena, int, x->graph->n_states + 1), &any);
    q.loops = true;
    q.settled = any && !q.n_groups;
    const int fewest = q.fewest_blocks;
    if (q.n_groups) q.fewest_blocks = 0;
    *out = (program_text){0};
    dt_status *s = write_as(x, offsets, &q, out);
    if (!s && !lie_alike(x, offsets, &out->takes)) {
        release_text(out);
        q.settled = true;
        q.fewest_blocks = fewest;
        q.n_groups = 0;
        s = write_as(x, offsets, &q, out);
    }
    return s;
}

/* Adds the line of the text, and its layer, to the error. */
static dt_status *note_text(dt_status *s, long number, const char *line) {
    const size_t n = strcspn(line, "\n");
    const char *end = line + n, *layer = end;
    while (layer > line && strncmp(layer, " // ", 4) != 0) layer--;
    if (layer > line) s = dt_note(s, "layer '%.*s'", (int)(end - layer - 4), layer + 4);
    const size_t words = layer > line ? (size_t)(layer - line) : n;
    return dt_note(s, "line %ld of the program: %.*s", number, (int)(words < 300 ? words : 300),
                   line);
}

/* Adds the layer to an error such as "-:38:11: error: ...", which names a line of the text. The
 * text is written again with the names of layers to find it. */
static dt_status *note_line(const dt_pjrt_program *x, const int32_t *offsets, dt_status *s) {
    const char *at = strstr(dt_status_text(s), "-:");
    long number = at ? strtol(at + 2, NULL, 10) : 0;
    program_text again = {0};
    if (number <= 0) return s;
    dt_status_free(write_text(x, offsets, true, &again));
    const char *line = dt_str_text(&again.text);
    for (long i = 1; i < number && line; i++)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (line && *line) s = note_text(s, number, line);
    release_text(&again);
    return s;
}

/* Adds to an error the bytes of the variables of a graph, divided into weights and slots of the
 * optimizer, and of its arguments with `rows` rows. */
static dt_status *note_memory(dt_status *s, const dt_graph *g, int64_t rows) {
    int64_t bytes[3] = {0};
    for (int i = 0; i < g->n_states; i++)
        bytes[g->state[i].variable->slot] += dt_type_bytes(&g->state[i].variable->type);
    for (int i = 0; i < g->n_args; i++) {
        const dt_type t = dt_type_at(&g->node[g->arg[i].node].type, rows);
        bytes[2] += dt_type_bytes(&t);
    }
    return dt_note(
        s, "the step has weights %s, optimizer %s, batch %s, besides gradients and activations",
        dt_text_of_bytes((double)bytes[0]).s, dt_text_of_bytes((double)bytes[1]).s,
        dt_text_of_bytes((double)bytes[2]).s);
}

dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s) {
    return s && dt_status_number(s) == DT_E_DOES_NOT_FIT ? note_memory(s, x->graph, x->rows) : s;
}

static dt_status *check_dtypes(const dt_pjrt_program *x) {
    if (strcasecmp(dt_pjrt_client_platform(x->device->client), "tpu") != 0) return NULL;
    for (int i = 0; i < x->graph->n_nodes; i++)
        if (x->graph->node[i].type.dtype == DT_FLOAT64)
            return dt_fail(
                DT_E_BACKEND, NULL,
                "float64 is not computed on a TPU, and %s in '%s' is float64; use float32",
                x->graph->node[i].op->name, x->graph->node[i].path);
    return NULL;
}

/* Sets v->variable. If the program changes variables, also fixes for all variables that it takes
 * whether they are stacked. Programs that are compiled later take them so if they can, so that
 * nothing is transferred when programs alternate. */
static dt_status *fix_layouts(dt_pjrt_program *x, dt_pjrt_variant *v) {
    const int args = x->graph->n_args;
    v->variable = dt_arena_array(x->arena, dt_variable **, v->takes.n_in - args + 1);
    for (int i = args; i < v->takes.n_in; i++) {
        const dt_hlo_port *p = &v->takes.in[i];
        dt_variable **list = v->variable[i - args] = dt_arena_array(x->arena, dt_variable *, p->n);
        dt_pjrt_copy *copy = NULL;
        for (int k = 0; k < p->n; k++) list[k] = x->graph->state[p->state[k]].variable;
        if (x->n_updates == 0) continue;
        DT_TRY(dt_pjrt_copy_of(x->device, list, p->n, p->stacked, &copy));
        dt_pjrt_copy_settle(copy);
    }
    return NULL;
}

static dt_status *load(dt_pjrt_program *x, const int32_t *offsets, dt_pjrt_variant *v,
                       const program_text *t) {
    dt_status *s = dt_pjrt_load_program(x->device->client,
                                        &(dt_pjrt_text){.text = t->text.data,
                                                        .size = t->text.size,
                                                        .device = x->device->ordinal,
                                                        .n_devices = x->device->n,
                                                        .n_results = t->takes.n_out},
                                        &v->loaded);
    return s ? note_line(x, offsets, s) : fix_layouts(x, v);
}

static void release_variant(const dt_pjrt_program *x, dt_pjrt_variant *v) {
    dt_pjrt_loaded_destroy(x->device->client, v->loaded);
    dt_hlo_signature_release(&v->takes);
}

static dt_status *add_variant(dt_pjrt_program *x, const int32_t *offsets, int segments) {
    dt_pjrt_variant *v = dt_arena_array(x->arena, dt_pjrt_variant, x->n_variants + 1);
    program_text t = {0};
    DT_TRY(write_text(x, offsets, false, &t));
    if (x->n_variants) memcpy(v, x->variant, (size_t)x->n_variants * sizeof *v);
    x->variant = v;
    v += x->n_variants++;
    *v = (dt_pjrt_variant){.over = offsets ? NULL : x->cut, .takes = t.takes};
    if (offsets)
        v->offsets = dt_arena_copy(x->arena, offsets, (size_t)(segments + 1) * sizeof *offsets);
    dt_status *s = load(x, offsets, v, &t);
    dt_str_release(&t.text);
    if (s) release_variant(x, &x->variant[--x->n_variants]);
    return dt_pjrt_explain(x, s);
}

static bool are_even(const int32_t *offsets, int segments) {
    for (int i = 0; i < segments; i++)
        if (offsets[i + 1] - offsets[i] != offsets[1] - offsets[0]) return false;
    return true;
}

dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env, dt_pjrt_variant **out) {
    const int32_t *offsets =
        x->segments && env->offsets && !are_even(env->offsets, env->segments) ? env->offsets : NULL;
    const size_t bytes = (size_t)(env->segments + 1) * sizeof *offsets;

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < x->n_variants; i++)
            if (!offsets
                    ? !x->variant[i].offsets
                    : x->variant[i].offsets && memcmp(x->variant[i].offsets, offsets, bytes) == 0) {
                *out = &x->variant[i];
                return NULL;
            }
        DT_TRY(add_variant(x, offsets, env->segments));
    }
    return dt_fail(DT_E_INTERNAL, NULL, "a program that was compiled is not there");
}

/* Returns the largest number of segments that the batch is cut into; 0: none. */
static int count_segments(const dt_graph *g) {
    int most = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_cut_of(&g->node[i]) >= 0 && dt_segment_count(&g->node[i]) > most)
            most = dt_segment_count(&g->node[i]);
    return most;
}

static dt_status *make(dt_pjrt_program *x, const dt_compile_request *r) {
    DT_TRY(dt_unannotate(r->graph, &x->made));
    x->graph = x->made ? x->made : r->graph;
    for (int i = 0; i < x->graph->n_states; i++) x->n_updates += x->graph->state[i].update >= 0;
    x->segments = count_segments(x->graph);
    x->n_checks = dt_pjrt_checks_of(x->graph, x->arena, &x->check);
    DT_TRY(check_dtypes(x));
    if (dt_has_exchanges(x->graph) || r->first)
        return dt_pjrt_meetings_create(x, r->first, &x->meetings);
    DT_TRY(dt_pjrt_make_room(x));
    return x->segments && x->rows % x->segments ? NULL : add_variant(x, NULL, 0);
}

dt_status *dt_pjrt_make_program(dt_pjrt_device *d, const dt_compile_request *r, const bool *stays,
                                void **state) {
    dt_pjrt_program *x = dt_alloc(sizeof *x);
    *x = (dt_pjrt_program){.device = d,
                           .stays = stays,
                           .arena = dt_arena_create(),
                           .cut = r->over,
                           .rows = r->rows,
                           .exact = !r->chip_products};
    dt_status *s = make(x, r);
    if (s) dt_pjrt_release(x);
    else *state = x;
    return s;
}

dt_status *dt_pjrt_compile_graph(dt_device *d, const dt_compile_request *r, void **state) {
    return dt_pjrt_make_program(d->state, r, NULL, state);
}

void dt_pjrt_release(void *executable) {
    dt_pjrt_program *x = executable;
    dt_pjrt_meetings_destroy(x->meetings);
    dt_pjrt_release_room(x);
    for (int i = 0; i < x->n_variants; i++) release_variant(x, &x->variant[i]);
    dt_graph_destroy(x->made);
    dt_arena_destroy(x->arena);
    free(x);
}

/* ---- questions about a program ---- */

int64_t dt_pjrt_host_bytes(const void *executable) {
    const dt_pjrt_program *x = executable;
    int64_t bytes = 0;
    if (x->meetings) return dt_pjrt_meetings_bytes(x->meetings);
    for (int i = 0; i < x->graph->n_results; i++)
        bytes += x->stays && x->stays[i] ? 0 : dt_type_bytes(&x->flight[0].host[i].type);
    return bytes;
}

void dt_pjrt_print(const void *executable, dt_str *out) {
    const dt_pjrt_program *x = executable;
    if (x->meetings) {
        dt_pjrt_meetings_print(x->meetings, out);
        return;
    }
    dt_str_printf(out, "// %s, on %d device%s", dt_pjrt_client_describe(x->device->client),
                  x->device->n, x->device->n == 1 ? "" : "s");
    if (x->n_variants)
        dt_str_printf(out, "; %lld bytes of a device besides arguments and results",
                      (long long)dt_pjrt_temporary_bytes(x->device->client, x->variant[0].loaded));
    dt_str_putc(out, '\n');
    program_text t = {0};
    if (x->n_variants) dt_status_free(write_text(x, x->variant[0].offsets, false, &t));
    dt_str_puts(out, dt_str_text(&t.text));
    release_text(&t);
}
