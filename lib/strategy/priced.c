/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the program whose time, memory and price are estimated: what one core of a pod does in a
 * step. On this machine all replicas share one memory and are folded into one program. On a pod
 * each replica computes its own rows, so here the step is divided over replicas as well as logical
 * devices, for a batch that divides evenly. This program is never run.
 */
#include "strategy/compiled.h"

/* Finds the grid that the replicas form on their slice. Returns false if it is unknown. */
static bool grid_of(const dt_strategy *s, int grid[4]) {
    return s->assignment && s->assignment->replicas == s->replicas &&
           dt_assignment_grid(s->assignment, grid, NULL);
}

/* Returns the graph to estimate. It has no shards: these make sums on this machine reproducible or
 * divide the batch among workers, which a slice does not need. */
static const dt_graph *priced_graph(const dt_compiled *c) {
    const dt_compiled *of = c->stands_for ? c->stands_for : c;
    if (of->apart) return of->apart;
    return of->unsharded ? of->unsharded : of->folded.graph;
}

dt_status *dt_compiled_cut_for_pricing(const dt_compiled *c, int64_t rows, dt_spmd **out) {
    const dt_graph *g = priced_graph(c);
    int replicas = c->strategy->replicas, grid[4];
    bool several = c->strategy->logical > 1 && dt_spmd_is_annotated(g);
    const int slices = c->how.slices > 1 ? c->how.slices : 1;
    int64_t even = ((rows + slices - 1) / slices + replicas - 1) / replicas * replicas;

    return dt_spmd_create(
        out, g,
        &(dt_spmd_options){.devices = several ? c->strategy->logical : 1,
                           .batch = even,
                           .replicas = replicas,
                           .grid = grid_of(c->strategy, grid) ? grid : NULL,
                           .arg = c->arg,
                           .how = c->how,
                           .places = !c->strategy->spmd,
                           .micro = several ? dt_compiled_micro_batches(c, even) : 1});
}

dt_status *dt_compiled_priced(dt_compiled *c, int64_t rows, const dt_spmd **out) {
    if (!c->folded.graph)
        return dt_fail(DT_E_CANNOT_FOLD, NULL,
                       "this step runs replica by replica, so it has no program to price");
    for (int i = 0; i < c->n_priced; i++)
        if (c->priced[i].rows == rows) {
            *out = c->priced[i].spmd;
            return NULL;
        }
    if (c->n_priced == DT_SIZES) dt_spmd_destroy(c->priced[--c->n_priced].spmd);
    dt_spmd *made = NULL;
    DT_TRY(dt_compiled_cut_for_pricing(c, rows, &made));
    c->priced[c->n_priced++] = (dt_priced){rows, made};
    *out = made;
    return NULL;
}

/* ---- memory ---- */

static dt_status *check(const dt_compiled *c, int64_t rows, const dt_device *d) {
    dt_spmd *program = NULL;
    DT_TRY(dt_compiled_cut_for_pricing(c, rows, &program));
    dt_status *s = dt_device_check(
        d, &(dt_compile_request){.on_device = program, .assignment = c->strategy->assignment});
    dt_spmd_destroy(program);
    return s;
}

static bool fits(const dt_compiled *c, int64_t rows, const dt_device *d) {
    dt_status *bad = check(c, rows, d);
    bool yes = !bad;

    dt_status_free(bad);
    return yes;
}

bool dt_compiled_fits(const dt_compiled *c, int64_t rows) {
    dt_device *device = NULL;
    dt_status *bad = dt_strategy_device_of(c->strategy, &device);
    bool yes = !bad && (!dt_device_is_priced(device) || fits(c, rows, device));

    dt_status_free(bad);
    return yes;
}

static dt_status *try_dividing(const dt_compiled *c, int64_t rows, const dt_device *d,
                               dt_status *s) {
    dt_compiled other = *c; /* a copy of the compiled step, for trying other settings */

    while (c->strategy->replicas > 1 && other.how.over_replicas < DT_OVER_WEIGHTS) {
        other.how.over_replicas++;
        if (fits(&other, rows, d))
            return dt_note(s, "partition: {over_replicas: %s} would fit",
                           dt_over_replicas_names[other.how.over_replicas]);
    }
    return s;
}

dt_status *dt_compiled_what_fits(const dt_compiled *c, int64_t rows, const dt_device *d,
                                 dt_status *s) {
    s = try_dividing(c, rows, d, s);
    for (int64_t less = rows / 2; less >= c->strategy->replicas; less /= 2)
        if (fits(c, less, d))
            return dt_note(s, "a global batch of %lld instead of %lld would fit", (long long)less,
                           (long long)rows);
    return s;
}

dt_status *dt_compiled_check_fits(const dt_compiled *c, int64_t rows) {
    dt_device *device = NULL;
    DT_TRY(dt_strategy_device_of(c->strategy, &device));
    dt_status *s = dt_device_is_priced(device) ? check(c, rows, device) : NULL;
    return s && dt_status_number(s) == DT_E_DOES_NOT_FIT ? dt_compiled_what_fits(c, rows, device, s)
                                                         : s;
}

/*
 * Estimates how much of this machine's memory a step needs. The step is prepared and compiled as
 * for a run, and the executable reports how much memory it will need. An executable allocates
 * nothing before it runs. No device is opened, so no chip's memory limit applies and no time is
 * estimated.
 */

/*
 * Compile time grows with the square of the number of nodes: 0.3 s for 12,000 nodes (Llama 3 8B), 7
 * s for 49,000 (Llama 3.1 405B). Larger graphs than this are not compiled just for the estimate.
 * With numerics: chip, the program repeats the work for each logical device and each micro-batch,
 * so these multiply the number of nodes.
 */
enum { MOST_NODES = 32768 };

static bool is_small(const dt_compiled *c, int64_t rows) {
    double times = dt_compiled_uses_logical_devices(c) && dt_compiled_is_chip(c)
                       ? (double)c->strategy->logical * dt_compiled_micro_batches(c, rows)
                       : 1;
    return c->folded.graph && c->folded.graph->n_nodes * times <= MOST_NODES;
}

dt_status *dt_compiled_host_bytes(const dt_compiled *c, int64_t rows, int64_t *bytes) {
    dt_sized z = {0};

    *bytes = 0;
    if (!is_small(c, rows)) return NULL;
    DT_TRY(dt_compiled_cut(c, rows, &z));
    const dt_compile_request r = dt_compiled_request(c, &z);
    dt_status *s = dt_host_bytes(
        &(dt_device_options){.threads = c->strategy->threads, .kernels = c->strategy->kernels}, &r,
        bytes);
    dt_sized_release(&z);
    return s;
}
