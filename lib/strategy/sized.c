/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares a step for one number of rows: builds the graph that a back end compiles. Nothing is
 * compiled here and no device is needed, so running (compiled.c) and measuring memory (priced.c)
 * use the same graph.
 */
#include <stdlib.h>

#include "pass/workers_split.h"
#include "strategy/cluster.h"
#include "strategy/compiled.h"
#include "strategy/divided.h"

bool dt_compiled_is_chip(const dt_compiled *c) {
    return c->strategy->resolver && c->strategy->resolver->numerics == DT_NUMERICS_CHIP;
}

bool dt_compiled_uses_logical_devices(const dt_compiled *c) {
    return c->annotated && c->strategy->logical > 1 && c->how.shards == 0;
}

int dt_compiled_micro_batches(const dt_compiled *c, int64_t rows) {
    int64_t own = rows / c->strategy->replicas,
            micro = c->how.micro_batches < own ? c->how.micro_batches : own;
    while (micro > 1 && (rows % c->strategy->replicas || own % micro)) micro--;
    return micro > 1 ? (int)micro : 1;
}

static dt_status *simplify_unrolled(dt_sized *z) {
    dt_graph *out = NULL;
    DT_TRY(dt_simplify(z->unrolled, &out));
    dt_graph_destroy(z->unrolled);
    z->unrolled = out;
    return NULL;
}

static dt_status *cut_over_devices(const dt_compiled *c, dt_sized *z) {
    if (!dt_compiled_uses_logical_devices(c) || !dt_compiled_is_chip(c)) return NULL;
    DT_TRY(dt_spmd_create(&z->spmd, c->folded.graph,
                          &(dt_spmd_options){.devices = c->strategy->logical,
                                             .batch = z->rows,
                                             .places = !c->strategy->spmd,
                                             .micro = dt_compiled_micro_batches(c, z->rows)}));
    DT_TRY(dt_spmd_expand(z->spmd, &z->unrolled));
    return simplify_unrolled(z);
}

/* ---- dividing work, and the request ---- */

static void take_share_of_replicas(const dt_compiled *c, dt_sized *z) {
    const int first = c->cluster->rank * c->own_replicas;
    z->share = (dt_share){.first = c->offsets[first],
                          .rows = c->offsets[first + c->own_replicas] - c->offsets[first],
                          .shards = 1};
    z->share.border = dt_alloc(2 * sizeof *z->share.border);
    z->share.border[1] = (int32_t)z->share.rows;
}

static void take_share(const dt_compiled *c, dt_sized *z) {
    if (c->own_replicas) {
        take_share_of_replicas(c, z);
        return;
    }
    const dt_cluster *group = c->cluster;
    const dt_shard_range own = group ? dt_shards_of_worker(c->shards, group->workers, group->rank)
                                     : (dt_shard_range){.count = c->shards};
    z->share = (dt_share){.rows = z->rows, .shards = own.count};
    if (c->shards == 0) return;
    DT_LOCAL int32_t *all = dt_alloc(dt_size_mul((size_t)c->shards + 1, sizeof *all));
    dt_cut_rows(z->rows, z->rows, c->shards, all);
    z->share.border = dt_alloc(dt_size_mul((size_t)own.count + 1, sizeof *all));
    for (int i = 0; i <= own.count; i++) z->share.border[i] = all[own.first + i] - all[own.first];
    z->share.first = all[own.first];
    z->share.rows = z->share.border[own.count];
}

static dt_variable *part_of(void *user, dt_variable *whole) {
    const dt_compiled *c = user;
    for (int i = 0; i < c->n_parts; i++)
        if (dt_divided_whole(c->part[i]) == whole) return dt_divided_own(c->part[i]);
    return NULL;
}

static dt_status *split_over_workers(const dt_compiled *c, dt_sized *z) {
    dt_graph *split = NULL, *divided = NULL;
    take_share(c, z);
    if (!c->cluster) return NULL;
    const dt_worker_share share = {.workers = c->cluster->workers,
                                   .rank = c->cluster->rank,
                                   .shards = c->shards,
                                   .plain = c->how.shards == 0,
                                   .batch = z->rows,
                                   .replicas = c->own_replicas};
    DT_TRY(dt_workers_split(c->unsharded, &share, &split));
    dt_status *s = c->n_parts ? dt_workers_divide(split, &share,
                                                  &(dt_worker_parts){part_of, (void *)c}, &divided)
                              : NULL;
    if (!s) s = dt_simplify(divided ? divided : split, &z->own);
    dt_graph_destroy(split);
    dt_graph_destroy(divided);
    return s;
}

dt_status *dt_compiled_cut(const dt_compiled *c, int64_t rows, dt_sized *z) {
    *z = (dt_sized){.rows = rows};
    dt_status *s = cut_over_devices(c, z);
    if (!s) s = split_over_workers(c, z);
    if (s) dt_sized_release(z);
    return s;
}

/*
 * If the back end has a device for each logical device of each replica, and partitioning is SPMD,
 * each device runs the program of its logical device. Otherwise the batch, if it can be divided
 * evenly, is divided among the devices without regard to replicas, because the graph computes all
 * replicas, and contains everything that depends on them.
 */
dt_status *dt_compiled_cut_over(const dt_compiled *c, int devices, dt_sized *z) {
    const bool logical = dt_compiled_uses_logical_devices(c) && c->strategy->spmd &&
                         devices == c->strategy->replicas * c->strategy->logical;
    const int parts = logical ? c->strategy->replicas : devices;

    if (devices == 1 || c->cluster || dt_compiled_is_chip(c) || z->rows % c->strategy->replicas ||
        z->rows % parts)
        return NULL;
    if (!logical) DT_TRY(dt_unannotate(c->folded.graph, &z->bare));
    return dt_spmd_create(&z->over, z->bare ? z->bare : c->folded.graph,
                          &(dt_spmd_options){.devices = logical ? c->strategy->logical : 1,
                                             .batch = z->rows,
                                             .replicas = parts,
                                             .arg = c->arg,
                                             .how = c->how,
                                             .micro = 1});
}

dt_compile_request dt_compiled_request(const dt_compiled *c, const dt_sized *z) {
    dt_graph *whole = z->unrolled ? z->unrolled : c->folded.graph;
    return (dt_compile_request){.graph = z->own ? z->own : whole,
                                .rows = z->share.rows,
                                .first = z->share.first,
                                .cut = z->share.border,
                                .cuts = z->share.shards,
                                .replicas = z->even ? c->strategy->replicas : 0,
                                .chip_products = dt_compiled_is_chip(c),
                                .on_device = z->priced,
                                .over = z->over,
                                .assignment = c->strategy->assignment};
}

void dt_sized_release(dt_sized *z) {
    dt_executable_destroy(z->executable);
    dt_graph_destroy(z->unrolled);
    dt_graph_destroy(z->own);
    free(z->share.border);
    dt_spmd_destroy(z->spmd);
    dt_spmd_destroy(z->priced);
    dt_spmd_destroy(z->over);
    dt_graph_destroy(z->bare);
    *z = (dt_sized){0};
}
