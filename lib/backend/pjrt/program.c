/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as a program of the plug-in's:
 *
 *     graph -> without annotations -> StableHLO text -> compiled        arguments: what is fed, then variables; results: what is returned, then their new values
 *
 * On several devices each runs the same text, as one of XLA's replicas: its part of what dt_spmd has cut (`over`), or all rows where they do not divide. A
 * variable and its new value share memory on the device (donation), so a step moves the batch up and its results down, and nothing else.
 *
 * Segments of a folded batch, such as the rows of each replica, have their borders in the text. It is compiled anew for other borders; uneven ones belong to the
 * whole batch, so each device then has all rows.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/pjrt/pjrt_impl.h"
#include "export/stablehlo/stablehlo.h"

/* Compiled for these borders. */
typedef struct variant {
    int32_t *offsets; /* NULL: for even ones, or any where nothing depends on them */
    dt_pjrt_loaded *loaded;
} variant;

typedef struct program {
    dt_pjrt_device *device;
    dt_arena *arena;
    const dt_graph *graph;    /* lent, or `made` */
    dt_graph *made;
    const dt_spmd *cut;       /* lent; NULL: all rows on each device */
    const dt_spmd *over;      /* of the run at hand: `cut`, or NULL */
    int64_t rows;
    bool exact;               /* products keep float32 */
    int segments;             /* whose borders are in the text; 0: none are */
    int n_variants;
    variant *variant;
    int n_checks, n_updates;
    dt_pjrt_check *check;
    dt_pjrt_copy **copy;      /* [states] of the run at hand */
    dt_pjrt_buffer ***argument, ***result; /* [device][..] */
    dt_pjrt_buffer **one;     /* [device] of the array at hand */
    dt_view *host;            /* [results] what the last run gave */
} program;

/* ---- how things lie ---- */

static dt_pjrt_lie lie_of(const program *x, const dt_layout *list, int i)
{
    return x->over ? (dt_pjrt_lie){ &x->over->mesh, list[i] } : (dt_pjrt_lie){ 0 };
}

static dt_pjrt_lie argument_lie(const program *x, int i)
{
    return lie_of(x, x->over ? x->over->arg : NULL, i);
}

static dt_pjrt_lie state_lie(const program *x, int i)
{
    return lie_of(x, x->over ? x->over->state : NULL, i);
}

static dt_pjrt_lie result_lie(const program *x, int i)
{
    return lie_of(x, x->over ? x->over->result : NULL, i);
}

/* ---- compiling ---- */

static dt_status *write_text(const program *x, const int32_t *offsets, dt_str *out)
{
    const dt_hlo_request q = { .batch = x->rows, .replicas = x->device->n, .blocks = DT_HLO_UNROLLED, .offsets = offsets, .exact = x->exact };
    return x->cut && !offsets ? dt_stablehlo_write_spmd_with(x->cut, &q, out, NULL) : dt_stablehlo_write(x->graph, &q, out, NULL);
}

/* "-:38:11: error: ..." names a line of the text; that line is worth more than its number. */
static dt_status *note_line(dt_status *s, const dt_str *text)
{
    const char *at = strstr(dt_status_text(s), "-:"), *line = dt_str_text(text);
    long number = at ? strtol(at + 2, NULL, 10) : 0;
    for (long i = 1; i < number && line; i++)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (number > 0 && line && *line)
        s = dt_note(s, "line %ld of the program: %.*s", number, (int)(strcspn(line, "\n") < 300 ? strcspn(line, "\n") : 300), line);
    return s;
}

/* What a step keeps on the devices besides what the plug-in itself needs. */
static dt_status *note_memory(dt_status *s, const dt_graph *g, int64_t rows)
{
    int64_t bytes[3] = { 0 };
    dt_str text = { 0 };
    for (int i = 0; i < g->n_states; i++)
        bytes[g->state[i].variable->slot] += dt_type_bytes(&g->state[i].variable->type);
    for (int i = 0; i < g->n_args; i++) {
        const dt_type t = dt_type_at(&g->node[g->arg[i].node].type, rows);
        bytes[2] += dt_type_bytes(&t);
    }
    for (int k = 0; k < 3; k++) {
        dt_str_puts(&text, k == 0 ? "weights " : k == 1 ? ", optimizer " : ", batch ");
        dt_str_bytes(&text, (double)bytes[k]);
    }
    s = dt_note(s, "the step has %s, besides gradients and activations", dt_str_text(&text));
    dt_str_release(&text);
    return s;
}

static dt_status *explain(const program *x, dt_status *s)
{
    return s && dt_status_number(s) == DT_E_DOES_NOT_FIT ? note_memory(s, x->graph, x->rows) : s;
}

static dt_status *check_dtypes(const program *x)
{
    if (strcasecmp(dt_pjrt_client_platform(x->device->client), "tpu") != 0)
        return NULL;
    for (int i = 0; i < x->graph->n_nodes; i++)
        if (x->graph->node[i].type.dtype == DT_FLOAT64)
            return dt_fail(DT_E_BACKEND, NULL, "float64 is not computed on a TPU, and %s in '%s' is float64; use float32", x->graph->node[i].op->name,
                           x->graph->node[i].path);
    return NULL;
}

static dt_status *add_variant(program *x, const int32_t *offsets, int segments)
{
    variant v = { 0 };
    dt_str text = { 0 };
    dt_status *s = write_text(x, offsets, &text);
    if (!s)
        s = dt_pjrt_load_program(x->device->client, &(dt_pjrt_text){ .text = text.data, .size = text.size, .device = x->device->ordinal,
                                 .n_devices = x->device->n, .n_results = x->graph->n_results + x->n_updates }, &v.loaded);
    if (s)
        s = note_line(s, &text);
    dt_str_release(&text);
    if (s)
        return explain(x, s);
    if (offsets)
        v.offsets = dt_arena_copy(x->arena, offsets, (size_t)(segments + 1) * sizeof *offsets);
    variant *more = dt_arena_array(x->arena, variant, x->n_variants + 1);
    if (x->n_variants)
        memcpy(more, x->variant, (size_t)x->n_variants * sizeof *more);
    more[x->n_variants++] = v;
    x->variant = more;
    return NULL;
}

static bool are_even(const int32_t *offsets, int segments)
{
    for (int i = 0; i < segments; i++)
        if (offsets[i + 1] - offsets[i] != offsets[1] - offsets[0])
            return false;
    return true;
}

static dt_status *find_variant(program *x, const dt_env *env, dt_pjrt_loaded **out)
{
    const int32_t *offsets = x->segments && env->offsets && !are_even(env->offsets, env->segments) ? env->offsets : NULL;
    const size_t bytes = (size_t)(env->segments + 1) * sizeof *offsets;

    x->over = offsets ? NULL : x->cut;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < x->n_variants; i++)
            if (!offsets ? !x->variant[i].offsets : x->variant[i].offsets && memcmp(x->variant[i].offsets, offsets, bytes) == 0) {
                *out = x->variant[i].loaded;
                return NULL;
            }
        DT_TRY(add_variant(x, offsets, env->segments));
    }
    return dt_fail(DT_E_INTERNAL, NULL, "a program that was compiled is not there");
}

/* The most segments that the batch is cut into; 0: none. */
static int count_segments(const dt_graph *g)
{
    int most = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_cut_of(&g->node[i]) >= 0 && dt_segment_count(&g->node[i]) > most)
            most = dt_segment_count(&g->node[i]);
    return most;
}

/* Room for what a run passes around, and for its results on the host. */
static dt_status *make_room(program *x)
{
    const dt_graph *g = x->graph;
    const int n = x->device->n, in = g->n_args + g->n_states + 1, out = g->n_results + g->n_states + 1;

    x->copy = dt_arena_array(x->arena, dt_pjrt_copy *, g->n_states + 1);
    x->argument = dt_arena_array(x->arena, dt_pjrt_buffer **, n);
    x->result = dt_arena_array(x->arena, dt_pjrt_buffer **, n);
    x->one = dt_arena_array(x->arena, dt_pjrt_buffer *, n);
    for (int i = 0; i < n; i++) {
        x->argument[i] = dt_arena_array(x->arena, dt_pjrt_buffer *, in);
        x->result[i] = dt_arena_array(x->arena, dt_pjrt_buffer *, out);
    }
    x->host = dt_arena_array(x->arena, dt_view, g->n_results + 1);
    for (int i = 0; i < g->n_results; i++) {
        x->host[i].type = dt_type_at(&g->node[g->result[i].node].type, x->rows);
        const int64_t bytes = dt_type_bytes(&x->host[i].type);
        x->host[i].data = bytes == INT64_MAX ? NULL : dt_try_alloc_dense((size_t)bytes + 1);
        if (!x->host[i].data)
            return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: a step's result needs %lld bytes", (long long)bytes);
    }
    return NULL;
}

static dt_status *make(program *x, const dt_compile_request *r)
{
    DT_TRY(dt_unannotate(r->graph, &x->made));
    x->graph = x->made ? x->made : r->graph;
    for (int i = 0; i < x->graph->n_states; i++)
        x->n_updates += x->graph->state[i].update >= 0;
    x->segments = count_segments(x->graph);
    x->n_checks = dt_pjrt_checks_of(x->graph, x->arena, &x->check);
    DT_TRY(check_dtypes(x));
    DT_TRY(make_room(x));
    return x->segments && x->rows % x->segments ? NULL : add_variant(x, NULL, 0);
}

dt_status *dt_pjrt_compile_graph(dt_device *d, const dt_compile_request *r, void **state)
{
    program *x = dt_alloc(sizeof *x);
    *x = (program){ .device = d->state, .arena = dt_arena_create(), .cut = r->over, .rows = r->rows, .exact = !r->chip_products };
    dt_status *s = make(x, r);
    if (s)
        dt_pjrt_release(x);
    else
        *state = x;
    return s;
}

void dt_pjrt_release(void *executable)
{
    program *x = executable;
    for (int i = 0; i < x->n_variants; i++)
        dt_pjrt_loaded_destroy(x->device->client, x->variant[i].loaded);
    for (int i = 0; x->host && i < x->graph->n_results; i++)
        free(x->host[i].data);
    dt_graph_destroy(x->made);
    dt_arena_destroy(x->arena);
    free(x);
}

/* ---- running ---- */

static dt_status *upload_arguments(program *x, const dt_view *arg)
{
    for (int i = 0; i < x->graph->n_args; i++) {
        const dt_pjrt_lie lie = argument_lie(x, i);
        DT_TRY(dt_pjrt_place(x->device, &arg[i], &lie, x->device->n, x->one));
        for (int k = 0; k < x->device->n; k++)
            x->argument[k][i] = x->one[k];
    }
    return NULL;
}

static dt_status *find_states(program *x)
{
    const dt_graph *g = x->graph;
    for (int i = 0; i < g->n_states; i++) {
        const dt_pjrt_lie lie = state_lie(x, i);
        DT_TRY(dt_pjrt_copy_of(x->device, g->state[i].variable, &x->copy[i]));
        DT_TRY(dt_pjrt_copy_ready(x->copy[i], &lie, x->device->n));
        for (int k = 0; k < x->device->n; k++)
            x->argument[k][g->n_args + i] = x->copy[i]->buffer[k];
    }
    return NULL;
}

static void take_updates(program *x)
{
    const dt_graph *g = x->graph;
    for (int i = 0, at = g->n_results; i < g->n_states; i++) {
        if (g->state[i].update < 0)
            continue;
        dt_pjrt_copy *c = x->copy[i];
        dt_pjrt_drop(x->device, c->buffer, c->n);
        for (int k = 0; k < x->device->n; k++)
            c->buffer[k] = x->result[k][at];
        c->variable->newer = &c->holder;
        at++;
    }
}

/* A plug-in that says nothing of an error has given all of them: none is left of an earlier run. */
static void clear_results(program *x)
{
    for (int k = 0; k < x->device->n; k++)
        for (int i = 0; i < x->graph->n_results + x->n_updates; i++)
            x->result[k][i] = NULL;
}

static dt_status *check_results(program *x)
{
    const int n = x->graph->n_results + x->n_updates;
    bool all = true;
    for (int k = 0; k < x->device->n; k++)
        for (int i = 0; i < n; i++)
            all = all && x->result[k][i];
    if (all)
        return NULL;
    for (int k = 0; k < x->device->n; k++)
        dt_pjrt_drop(x->device, x->result[k], n);
    return dt_fail(DT_E_ACCELERATOR, NULL, "running a step: the plug-in returned fewer than %d arrays", n);
}

static void lose_updates(program *x)
{
    for (int i = 0; i < x->graph->n_states; i++)
        if (x->graph->state[i].update >= 0)
            dt_pjrt_copy_lose(x->copy[i]);
}

static dt_status *collect_results(program *x)
{
    for (int i = 0; i < x->graph->n_results; i++) {
        const dt_pjrt_lie lie = result_lie(x, i);
        for (int k = 0; k < x->device->n; k++)
            x->one[k] = x->result[k][i];
        DT_TRY(dt_pjrt_collect(x->device, x->one, x->device->n, &lie, &x->host[i]));
    }
    return NULL;
}

static void drop_all(program *x)
{
    for (int k = 0; k < x->device->n; k++) {
        dt_pjrt_drop(x->device, x->argument[k], x->graph->n_args);
        dt_pjrt_drop(x->device, x->result[k], x->graph->n_results);
    }
}

/* From here on variables are on their way. */
static dt_status *execute(program *x, dt_pjrt_loaded *loaded)
{
    const dt_graph *g = x->graph;
    clear_results(x);
    dt_status *s = dt_pjrt_execute(x->device->client, loaded, x->device->n, (dt_pjrt_buffer *const *const *)x->argument, g->n_args + g->n_states, x->result);
    if (!s)
        s = check_results(x);
    if (!s) {
        take_updates(x);
        s = collect_results(x);
    }
    if (s)
        lose_updates(x);
    return s;
}

dt_status *dt_pjrt_run(void *executable, const dt_env *env, const dt_view *arg, dt_view *result)
{
    program *x = executable;
    dt_pjrt_loaded *loaded = NULL;

    for (int i = 0; env->refusal && !env->refusal->finders && i < x->n_checks; i++)
        dt_pjrt_check_rows(x->graph, &x->check[i], env, arg);
    if (env->refusal && env->refusal->finders)
        return NULL; /* the caller looks */
    DT_TRY(find_variant(x, env, &loaded));
    dt_status *s = find_states(x);
    if (!s)
        s = upload_arguments(x, arg);
    if (!s)
        s = execute(x, loaded);
    drop_all(x);
    s = explain(x, s);
    memcpy(result, x->host, (size_t)x->graph->n_results * sizeof *result);
    return s;
}

/* ---- answers ---- */

int64_t dt_pjrt_host_bytes(const void *executable)
{
    const program *x = executable;
    int64_t bytes = 0;
    for (int i = 0; i < x->graph->n_results; i++)
        bytes += dt_type_bytes(&x->host[i].type);
    return bytes;
}

void dt_pjrt_print(const void *executable, dt_str *out)
{
    const program *x = executable;
    dt_str_printf(out, "// %s, on %d device%s", dt_pjrt_client_describe(x->device->client), x->device->n, x->device->n == 1 ? "" : "s");
    if (x->n_variants)
        dt_str_printf(out, "; %lld bytes of a device besides arguments and results",
                      (long long)dt_pjrt_temporary_bytes(x->device->client, x->variant[0].loaded));
    dt_str_putc(out, '\n');
    if (x->n_variants)
        dt_status_free(write_text(x, x->variant[0].offsets, out));
}
