/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares a step for one number of rows: turns it into the program that this machine runs. Nothing is compiled
 * here and no device is needed, so that running (compiled.c) and measuring (host.c) use the same program.
 */
#include "strategy/compiled.h"

bool dt_compiled_is_chip(const dt_compiled *c)
{
    return c->strategy->resolver && c->strategy->resolver->numerics == DT_NUMERICS_CHIP;
}

/* They are left out, too, where nothing says what they should hold. */
bool dt_compiled_uses_logical_devices(const dt_compiled *c)
{
    return c->annotated && c->strategy->logical > 1 && c->shards == 0;
}

int dt_compiled_micro_batches(const dt_compiled *c, int64_t rows)
{
    int64_t own = rows / c->strategy->replicas, micro = c->micro_batches < own ? c->micro_batches : own;
    while (micro > 1 && (rows % c->strategy->replicas || own % micro))
        micro--;
    return micro > 1 ? (int)micro : 1;
}

static dt_status *simplify_unrolled(dt_sized *z)
{
    dt_graph *out = NULL;
    DT_TRY(dt_simplify(z->unrolled, &out));
    dt_graph_destroy(z->unrolled);
    z->unrolled = out;
    return NULL;
}

static dt_status *cut_over_devices(const dt_compiled *c, dt_sized *z)
{
    if (!dt_compiled_uses_logical_devices(c) || !dt_compiled_is_chip(c))
        return NULL;
    DT_TRY(dt_spmd_create(&z->spmd, c->folded.graph, &(dt_spmd_options){
        .devices = c->strategy->logical, .batch = z->rows, .places = !c->strategy->spmd, .micro = dt_compiled_micro_batches(c, z->rows) }));
    DT_TRY(dt_spmd_expand(z->spmd, &z->unrolled));
    return simplify_unrolled(z);
}

static dt_graph *graph_to_run(const dt_compiled *c, const dt_sized *z)
{
    return z->chip ? z->chip : z->pieces ? z->pieces : z->wide ? z->wide : z->unrolled ? z->unrolled : z->bare ? z->bare : c->folded.graph;
}

static dt_status *cut_images(const dt_compiled *c, dt_sized *z)
{
    return dt_pieces(graph_to_run(c, z), z->rows, &z->pieces);
}

/* Before images are cut into pieces, whose sums have float32 to look for. */
static dt_status *widen(const dt_compiled *c, dt_sized *z)
{
    return dt_wide(graph_to_run(c, z), &z->wide);
}

static dt_status *round_products(const dt_compiled *c, dt_sized *z)
{
    return dt_compiled_is_chip(c) ? dt_chip_products(graph_to_run(c, z), &z->chip) : NULL;
}

static dt_status *cut(const dt_compiled *c, dt_sized *z)
{
    DT_TRY(cut_over_devices(c, z));
    if (!z->unrolled)
        DT_TRY(dt_bare(c->folded.graph, &z->bare));
    DT_TRY(widen(c, z));
    DT_TRY(cut_images(c, z));
    return round_products(c, z);
}

dt_status *dt_compiled_cut(const dt_compiled *c, int64_t rows, dt_sized *z)
{
    *z = (dt_sized){ .rows = rows, .arena = dt_arena_create() };
    dt_status *s = cut(c, z);
    if (s)
        dt_sized_release(z);
    else
        z->program = dt_partition(graph_to_run(c, z), &(dt_partition_options){ .batch = rows, .can_split = dt_exec_can_split }, z->arena);
    return s;
}

void dt_sized_release(dt_sized *z)
{
    dt_executable_release(&z->executable);
    dt_graph_destroy(z->unrolled);
    dt_graph_destroy(z->bare);
    dt_graph_destroy(z->wide);
    dt_graph_destroy(z->pieces);
    dt_graph_destroy(z->chip);
    dt_spmd_destroy(z->spmd);
    dt_spmd_destroy(z->priced);
    dt_arena_destroy(z->arena);
    *z = (dt_sized){ 0 };
}
