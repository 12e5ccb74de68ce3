/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu: the executor on the cores of this machine. A request's graph becomes a program first:
 *
 *     graph -> without annotations -> upcast -> sums over images in tiles
 *           (-> products as on chips) -> partition -> executor
 */
#include <stdlib.h>

#include "backend/backend_impl.h"
#include "exec/exec.h"

enum { PASSES = 5 };

typedef struct cpu_program {
    dt_arena *arena;
    dt_graph *made[PASSES]; /* [n] graphs that passes made, each from the one before */
    int n;
    dt_program *program;
} cpu_program;

static void release_program(cpu_program *p) {
    for (int i = 0; i < p->n; i++) dt_graph_destroy(p->made[i]);
    dt_arena_destroy(p->arena);
    *p = (cpu_program){0};
}

/* Replaces a graph by the result of a pass. `made` is NULL if the pass changed nothing. */
static dt_status *took(cpu_program *p, dt_graph **g, dt_graph *made, dt_status *s) {
    if (s || !made) return s;
    p->made[p->n++] = *g = made;
    return NULL;
}

/* Runs the passes over a graph. Upcasting comes before sums are divided, which expects float32. */
static dt_status *run_passes(cpu_program *p, const dt_compile_request *r, dt_graph **g) {
    dt_graph *out = NULL;
    dt_status *s = dt_unannotate(*g, &out);
    DT_TRY(took(p, g, out, s));
    s = dt_upcast(*g, &out);
    DT_TRY(took(p, g, out, s));
    s = dt_split_sums(*g, &out);
    DT_TRY(took(p, g, out, s));
    s = dt_tile_batch(*g, r->rows, r->replicas, &out);
    DT_TRY(took(p, g, out, s));
    if (!r->chip_products) return NULL;
    s = dt_chip_products(*g, &out);
    return took(p, g, out, s);
}

static dt_status *create_program(cpu_program *p, const dt_compile_request *r) {
    dt_graph *g = r->graph;
    *p = (cpu_program){.arena = dt_arena_create()};
    dt_status *s = run_passes(p, r, &g);
    if (s) release_program(p);
    else
        p->program = dt_partition(
            g,
            &(dt_partition_options){
                .batch = r->rows, .cut = r->cut, .cuts = r->cuts, .can_split = dt_exec_can_split},
            p->arena);
    return s;
}

dt_status *dt_host_print_program(const dt_compile_request *r, dt_str *out) {
    cpu_program p;
    DT_TRY(create_program(&p, r));
    dt_program_print(p.program, out);
    release_program(&p);
    return NULL;
}

typedef struct cpu_executable {
    cpu_program program;
    dt_exec *exec;
} cpu_executable;

static dt_status *open_engine(dt_engine **e, const dt_device_options *o) {
    return dt_engine_open(e, &(dt_engine_options){.threads = o->threads, .kernels = o->kernels});
}

static dt_status *open(dt_device *d, const dt_device_options *o) {
    dt_engine *e = NULL;
    DT_TRY(open_engine(&e, o));
    d->state = e;
    return NULL;
}

static void close(dt_device *d) { dt_engine_close(d->state); }

static void release(void *executable) {
    cpu_executable *x = executable;
    dt_exec_destroy(x->exec);
    release_program(&x->program);
    free(x);
}

static dt_status *compile(dt_device *d, const dt_compile_request *r, void **state) {
    cpu_executable *x = dt_alloc(sizeof *x);
    dt_status *s = create_program(&x->program, r);
    if (!s) s = dt_exec_compile(&x->exec, d->state, x->program.program);
    if (s) release(x);
    else *state = x;
    return s;
}

/* Runs a whole step. The executor reads and writes the variables' memory on the host. */
static dt_status *start(void *executable, const dt_env *env, const dt_view *arg, dt_view *result) {
    const cpu_executable *x = executable;
    const dt_graph *g = x->program.program->graph;

    for (int i = 0; i < g->n_states; i++)
        DT_TRY(g->state[i].update >= 0 ? dt_variable_edit(g->state[i].variable)
                                       : dt_variable_fetch(g->state[i].variable));
    return dt_exec_run(x->exec, env, arg, result);
}

static int64_t host_bytes(const void *executable) {
    return dt_exec_arena_bytes(((const cpu_executable *)executable)->exec);
}

static const char *largest_layer(const void *executable, dt_arena *arena, int64_t *bytes) {
    return dt_exec_largest_layer(((const cpu_executable *)executable)->exec, arena, bytes);
}

static void print(const void *executable, dt_str *out) {
    dt_exec_print(((const cpu_executable *)executable)->exec, out);
}

static dt_device_facts facts(const dt_device *d) {
    return (dt_device_facts){.kernels = dt_engine_describe(d->state),
                             .threads = dt_engine_threads(d->state),
                             .held = dt_engine_held(d->state)};
}

static void record(dt_device *d, dt_recorder *r) { dt_engine_record(d->state, r); }

const dt_backend dt_backend_cpu = {
    .kind = {.name = "cpu", .about = "the cores of this machine"},
    .open = open,
    .close = close,
    .compile = compile,
    .release = release,
    .start = start,
    .host_bytes = host_bytes,
    .largest_layer = largest_layer,
    .print = print,
    .facts = facts,
    .record = record,
};

dt_status *dt_host_bytes(const dt_device_options *o, const dt_compile_request *r, int64_t *bytes) {
    dt_device *d = NULL;
    dt_executable *x = NULL;

    DT_TRY(dt_device_open(&d, &dt_backend_cpu, o));
    dt_status *s = dt_device_compile(d, r, &x);
    *bytes = s ? 0 : dt_executable_host_bytes(x);
    dt_executable_destroy(x);
    dt_device_close(d);
    return s;
}
