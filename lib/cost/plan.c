/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a plan: kernels, memory, the virtual clock, and the share of each layer. */
#include "cost/plan.h"

#include <string.h>

#include "cost/cost_impl.h"
#include "op/across.h"

const char *dt_plan_bound_name(dt_plan_bound b) {
    static const char *const names[] = {"matrix units", "memory", "vector units", "launches",
                                        "links"};
    return names[b];
}

static dt_plan_bound bound_of(const dt_core_price *k) {
    if (k->launch_s >= k->matrix_s && k->launch_s >= k->memory_s && k->launch_s >= k->vector_s)
        return DT_BOUND_LAUNCH;
    if (k->matrix_s >= k->memory_s && k->matrix_s >= k->vector_s) return DT_BOUND_MATRIX;
    return k->memory_s >= k->vector_s ? DT_BOUND_MEMORY : DT_BOUND_VECTOR;
}

/* Counts the work of one device in a step. In a pipeline this is the mean over devices. */
static void count_kernels(const dt_priced_program *r, const dt_launches *kernels, dt_plan *p) {
    double *part[] = {&p->parts.matrix, &p->parts.memory, &p->parts.vector, &p->parts.launch};
    for (int i = 0; i < kernels->n; i++) {
        const dt_kernel_launch *k = &kernels->kernel[i];
        dt_plan_bound bound = bound_of(&k->price);
        double times = k->times * k->share, seconds = k->price.seconds * times;
        dt_plan_layer *l = dt_plan_layer_of(p, r->program->local->node[k->head].path);
        *part[bound] += seconds;
        l->by[bound] += seconds;
        l->seconds += seconds;
        l->times = k->times > l->times ? k->times : l->times;
        l->flops += k->work.flops * times;
        p->flops += k->work.flops * times;
        p->model_flops += k->work.flops * (k->times - k->again) * k->share;
    }
}

static int most_layers(const dt_graph *g) {
    int n = 1;
    for (int i = 1; i < g->n_nodes; i++) n += strcmp(g->node[i].path, g->node[i - 1].path) != 0;
    return n;
}

dt_priced_program dt_priced_prepared(const dt_priced_program *r, dt_arena *arena) {
    dt_priced_program p = *r;
    p.dtype = r->program->how.mixed ? dt_mixed_dtypes(r->program, DT_FLOAT16, arena) : NULL;
    p.made_of = dt_duplicated_values(&p, false, arena);
    return p;
}

dt_plan *dt_plan_create(const dt_priced_program *program) {
    dt_arena *arena = dt_arena_create(), *scratch = dt_arena_create();
    const dt_priced_program prepared = dt_priced_prepared(program, scratch), *r = &prepared;
    dt_plan *p = dt_arena_new(arena, dt_plan);
    const dt_chip *chip = r->topology->slice->chip;

    *p = (dt_plan){.arena = arena,
                   .chip = chip,
                   .devices = dt_mesh_devices(&r->program->mesh),
                   .peak_flops = dt_topology_device_cores(r->topology) * chip->core_flops};
    /* has room for the row "(gradients)", and for layers of variables that no node belongs to */
    p->layer = dt_arena_array(arena, dt_plan_layer,
                              most_layers(r->program->local) + r->program->local->n_states + 2);
    dt_launches k = dt_launches_create(r, scratch);
    /* a chip receives the rows of its devices' replicas; if several logical devices need a part of
     * the batch, each of them receives it */
    const dt_spmd *s = r->program;
    for (int i = 0; i < s->whole->n_args; i++) {
        dt_type t = dt_type_at(&s->local->node[s->local->arg[i].node].type,
                               s->batch / s->local->batch_parts);
        p->infeed_bytes += (double)dt_type_bytes(&t);
    }
    p->infeed_bytes *= r->topology->mesh[3];
    p->infeed_s = p->chip->pcie_Bps > 0 ? p->infeed_bytes / p->chip->pcie_Bps : 0;
    if (dt_plan_has_places(r->program)) {
        dt_plan_run_stages(r, &k, p);
        count_kernels(r, &k, p);
    } else {
        count_kernels(r, &k, p);
        for (int i = 0; i < r->program->local->n_nodes; i++)
            if (r->program->bucket[i] >= 0) p->received += dt_spmd_received(r->program, i);
        dt_plan_run_clock(r, &k, p);
    }
    dt_plan_count_hbm(r, &k, p);
    dt_arena_destroy(scratch);
    return p;
}

void dt_plan_destroy(dt_plan *p) {
    if (!p) return;
    dt_hash_index_release(&p->layers_at);
    dt_arena_destroy(p->arena);
}

double dt_plan_mfu(const dt_plan *p) {
    return p->seconds > 0 ? p->model_flops / (p->seconds * p->peak_flops) : 0;
}
