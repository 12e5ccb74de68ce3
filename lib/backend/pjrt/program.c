/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as a program of the plug-in's:
 *
 *     graph -> without annotations -> StableHLO text -> compiled        arguments: what is fed, then variables; results: what is returned, then their new values
 *
 * On several devices each runs the same text, as one of XLA's replicas: its part of what dt_spmd has cut (`cut`), or all rows where they do not divide. A
 * variable and its new value share memory on the device (donation).
 *
 * Segments of a folded batch, such as the rows of each replica, have their borders in the text. It is compiled anew for other borders; uneven ones belong to the
 * whole batch, so each device then has all rows.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/pjrt/program.h"
#include "export/stablehlo/stablehlo.h"

/* ---- compiling ---- */

static dt_status *write_text(const dt_pjrt_program *x, const int32_t *offsets, bool names_layers, dt_str *out)
{
    const dt_hlo_request q = { .batch = x->rows, .replicas = x->device->n, .blocks = DT_HLO_UNROLLED, .offsets = offsets, .exact = x->exact,
                               .names_layers = names_layers };
    return x->cut && !offsets ? dt_stablehlo_write_spmd_with(x->cut, &q, out, NULL) : dt_stablehlo_write(x->graph, &q, out, NULL);
}

/* What the line says, and of which layer it is. */
static dt_status *note_text(dt_status *s, long number, const char *line)
{
    const size_t n = strcspn(line, "\n");
    const char *end = line + n, *layer = end;
    while (layer > line && strncmp(layer, " // ", 4) != 0)
        layer--;
    if (layer > line)
        s = dt_note(s, "layer '%.*s'", (int)(end - layer - 4), layer + 4);
    const size_t words = layer > line ? (size_t)(layer - line) : n;
    return dt_note(s, "line %ld of the program: %.*s", number, (int)(words < 300 ? words : 300), line);
}

/* "-:38:11: error: ..." names a line of the text, which is written again with the names of layers. */
static dt_status *note_line(const dt_pjrt_program *x, const int32_t *offsets, dt_status *s)
{
    const char *at = strstr(dt_status_text(s), "-:");
    long number = at ? strtol(at + 2, NULL, 10) : 0;
    dt_str text = { 0 };
    if (number <= 0)
        return s;
    dt_status_free(write_text(x, offsets, true, &text));
    const char *line = dt_str_text(&text);
    for (long i = 1; i < number && line; i++)
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (line && *line)
        s = note_text(s, number, line);
    dt_str_release(&text);
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

dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s)
{
    return s && dt_status_number(s) == DT_E_DOES_NOT_FIT ? note_memory(s, x->graph, x->rows) : s;
}

static dt_status *check_dtypes(const dt_pjrt_program *x)
{
    if (strcasecmp(dt_pjrt_client_platform(x->device->client), "tpu") != 0)
        return NULL;
    for (int i = 0; i < x->graph->n_nodes; i++)
        if (x->graph->node[i].type.dtype == DT_FLOAT64)
            return dt_fail(DT_E_BACKEND, NULL, "float64 is not computed on a TPU, and %s in '%s' is float64; use float32", x->graph->node[i].op->name,
                           x->graph->node[i].path);
    return NULL;
}

static dt_status *add_variant(dt_pjrt_program *x, const int32_t *offsets, int segments)
{
    dt_pjrt_variant v = { .over = offsets ? NULL : x->cut };
    dt_str text = { 0 };
    dt_status *s = write_text(x, offsets, false, &text);
    if (!s)
        s = dt_pjrt_load_program(x->device->client, &(dt_pjrt_text){ .text = text.data, .size = text.size, .device = x->device->ordinal,
                                 .n_devices = x->device->n, .n_results = x->graph->n_results + x->n_updates }, &v.loaded);
    if (s)
        s = note_line(x, offsets, s);
    dt_str_release(&text);
    if (s)
        return dt_pjrt_explain(x, s);
    if (offsets)
        v.offsets = dt_arena_copy(x->arena, offsets, (size_t)(segments + 1) * sizeof *offsets);
    dt_pjrt_variant *more = dt_arena_array(x->arena, dt_pjrt_variant, x->n_variants + 1);
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

dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env, dt_pjrt_variant **out)
{
    const int32_t *offsets = x->segments && env->offsets && !are_even(env->offsets, env->segments) ? env->offsets : NULL;
    const size_t bytes = (size_t)(env->segments + 1) * sizeof *offsets;

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < x->n_variants; i++)
            if (!offsets ? !x->variant[i].offsets : x->variant[i].offsets && memcmp(x->variant[i].offsets, offsets, bytes) == 0) {
                *out = &x->variant[i];
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

static dt_status *make(dt_pjrt_program *x, const dt_compile_request *r)
{
    DT_TRY(dt_unannotate(r->graph, &x->made));
    x->graph = x->made ? x->made : r->graph;
    for (int i = 0; i < x->graph->n_states; i++)
        x->n_updates += x->graph->state[i].update >= 0;
    x->segments = count_segments(x->graph);
    x->n_checks = dt_pjrt_checks_of(x->graph, x->arena, &x->check);
    DT_TRY(check_dtypes(x));
    DT_TRY(dt_pjrt_make_room(x));
    return x->segments && x->rows % x->segments ? NULL : add_variant(x, NULL, 0);
}

dt_status *dt_pjrt_compile_graph(dt_device *d, const dt_compile_request *r, void **state)
{
    dt_pjrt_program *x = dt_alloc(sizeof *x);
    *x = (dt_pjrt_program){ .device = d->state, .arena = dt_arena_create(), .cut = r->over, .rows = r->rows, .exact = !r->chip_products };
    dt_status *s = make(x, r);
    if (s)
        dt_pjrt_release(x);
    else
        *state = x;
    return s;
}

void dt_pjrt_release(void *executable)
{
    dt_pjrt_program *x = executable;
    dt_pjrt_release_room(x);
    for (int i = 0; i < x->n_variants; i++)
        dt_pjrt_loaded_destroy(x->device->client, x->variant[i].loaded);
    dt_graph_destroy(x->made);
    dt_arena_destroy(x->arena);
    free(x);
}

/* ---- answers ---- */

int64_t dt_pjrt_host_bytes(const void *executable)
{
    const dt_pjrt_program *x = executable;
    int64_t bytes = 0;
    for (int i = 0; i < x->graph->n_results; i++)
        bytes += dt_type_bytes(&x->flight[0].host[i].type);
    return bytes;
}

void dt_pjrt_print(const void *executable, dt_str *out)
{
    const dt_pjrt_program *x = executable;
    dt_str_printf(out, "// %s, on %d device%s", dt_pjrt_client_describe(x->device->client), x->device->n, x->device->n == 1 ? "" : "s");
    if (x->n_variants)
        dt_str_printf(out, "; %lld bytes of a device besides arguments and results",
                      (long long)dt_pjrt_temporary_bytes(x->device->client, x->variant[0].loaded));
    dt_str_putc(out, '\n');
    if (x->n_variants)
        dt_status_free(write_text(x, x->variant[0].offsets, false, out));
}
