/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program whose price is estimated: that of one core of a pod in a step. Here all replicas
 * share one memory and are folded into one program. On a pod each replica computes its own rows, so
 * the step is divided over logical devices and replicas alike, for a batch that divides evenly.
 * This program is never run.
 */
#include "strategy/compiled.h"

/* The grid that replicas form on their slice; false: none is known. */
static bool grid_of(const dt_strategy *s, int grid[4]) {
    return s->assignment && s->assignment->replicas == s->replicas &&
           dt_assignment_grid(s->assignment, grid, NULL);
}

dt_status *dt_compiled_cut_for_pricing(const dt_compiled *c, int64_t rows, dt_spmd **out) {
    int replicas = c->strategy->replicas, grid[4];
    bool several = dt_compiled_uses_logical_devices(c);
    int64_t even = (rows + replicas - 1) / replicas * replicas;

    return dt_spmd_create(
        out, c->unsharded ? c->unsharded : c->folded.graph,
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

/* ---- what would fit ---- */

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
    dt_compiled other = *c; /* only to be looked at */

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
