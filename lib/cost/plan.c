/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a plan: kernels, memory, the virtual clock, and the share of each layer. */
#include "cost/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

/* ---- layers ---- */

/* The name of a layer is that of a path up to the first "/": decoder_0 for
 * "decoder_0/self_attention/query", optimizer for "optimizer/decoder_0/...". */
dt_plan_layer *dt_plan_layer_of(dt_plan *p, const char *path) {
    size_t n = strcspn(path, "/");
    const uint64_t hash = dt_hash_bytes(0, path, n);
    for (int i = dt_hash_index_first(&p->layers_at, hash); i >= 0;
         i = dt_hash_index_next(&p->layers_at, i))
        if (strncmp(p->layer[i].path, path, n) == 0 && p->layer[i].path[n] == '\0')
            return &p->layer[i];
    dt_hash_index_add(&p->layers_at, hash);
    p->layer[p->n_layers] =
        (dt_plan_layer){.path = dt_arena_printf(p->arena, "%.*s", (int)n, path), .times = 1};
    return &p->layer[p->n_layers++];
}

/* ---- groups ---- */

static int by_seconds(const void *a, const void *b) {
    const dt_plan_layer *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Replaces the number in a name: "decoder_12" becomes "decoder_*", "conv2d_7" becomes "conv2d_*". A
 * number follows an underscore or is at the end. */
static const char *pattern_of(const char *path, dt_arena *arena) {
    char *out = dt_arena_strdup(arena, path), *to = out;
    for (const char *p = path; *p;) {
        size_t digits = strspn(p, "0123456789"), n = digits ? digits : 1;
        bool counts = digits && (p[digits] == '\0' || (p > path && p[-1] == '_'));
        if (counts) *to++ = '*';
        else to = (char *)memcpy(to, p, n) + n;
        p += n;
    }
    *to = '\0';
    return out;
}

static void add_layer(dt_plan_layer *to, const dt_plan_layer *l) {
    to->times += l->times;
    to->seconds += l->seconds;
    to->flops += l->flops;
    to->variables += l->variables;
    to->values += l->values;
    for (int b = 0; b < DT_BOUNDS; b++) to->by[b] += l->by[b];
}

static dt_plan_layer *groups_of(const dt_plan *p, dt_arena *arena, int *n) {
    dt_plan_layer *group = dt_arena_array(arena, dt_plan_layer, p->n_layers + 1);
    *n = 0;
    for (int i = 0; i < p->n_layers; i++) {
        const char *pattern = pattern_of(p->layer[i].path, arena);
        int k = 0;
        while (k < *n && strcmp(group[k].path, pattern) != 0) k++;
        if (k == *n) group[(*n)++] = (dt_plan_layer){.path = pattern};
        add_layer(&group[k], &p->layer[i]);
    }
    return group;
}

dt_plan_layer *dt_plan_layer_groups(const dt_plan *p, dt_arena *arena, int *n) {
    dt_plan_layer *group = groups_of(p, arena, n);
    qsort(group, (size_t)*n, sizeof *group, by_seconds);
    while (*n > 0 && group[*n - 1].seconds <= 0) --*n;
    return group;
}

/* ---- the layers with most memory ---- */

enum { LARGEST = 3 };

void dt_plan_put_largest(const dt_plan *p, bool values, dt_str *out) {
    dt_local_arena arena = dt_arena_create();
    int n;
    dt_plan_layer *group = groups_of(p, arena, &n);
    for (int i = 0; values && i < n; i++) group[i].variables = group[i].values;
    for (int shown = 0; shown < LARGEST && n > 0; shown++) {
        dt_plan_layer *most = group;
        for (int i = 1; i < n; i++)
            if (group[i].variables > most->variables) most = &group[i];
        if (most->variables <= 0) break;
        dt_str_printf(out, "%s%s ", shown ? ", " : "",
                      *most->path ? most->path : "(between layers)");
        if (most->times > 1) dt_str_printf(out, "x %g ", most->times);
        dt_str_bytes(out, most->variables);
        most->variables = 0;
    }
}

/* ---- mixed precision ---- */

/*
 * Mixed precision for estimates: finds the type in which each value of a program is stored with
 * Keras' policies. Layers cast what they read, so a weight is gathered from other replicas in the
 * narrow dtype; gradients of variables are cast back before they are summed. Both narrow types have
 * the same size. The program that is marked here was traced in float32. The conversions of a real
 * run (model/precision.c) cost nothing on a chip, since its compiler makes them part of the kernels
 * around them. Outputs are stored in float32, because the loss reads them so: libtpu 0.0.42.1 keeps
 * logits as one float32 array, which their gradient then overwrites (docs/simulator.md).
 */

/* Whether the loss or a metric computes a node. If only layers read such a node, it is a gradient,
 * and is converted where it is computed. */
static bool is_of_loss(const char *path) {
    return dt_path_is_within(path, "loss") || dt_path_is_within(path, "metrics");
}

/* Whether a node's path begins with a layer's name, not with optimizer, loss or metrics. Nodes with
 * an empty path work on gradients between the backward pass and the optimizer. */
static bool is_of_layers(const char *path) {
    return *path != '\0' && !is_of_loss(path) && !dt_path_is_within(path, "optimizer");
}

static bool is_float(const dt_graph *g, int i) { return g->node[i].type.dtype == DT_FLOAT32; }

/* Returns [nodes of the local graph] the dt_dtype of each node for estimates, in `arena`: `narrow`
 * for float32 values that layers compute, or that the loss computes for layers only, except outputs
 * that the loss reads; else the node's own. A collective has the type that its readers need: sums
 * of gradients are read by the optimizer, other sums by layers. */
static int8_t *mixed_dtypes(const dt_spmd *s, dt_dtype narrow, dt_arena *arena) {
    const dt_graph *g = s->local;
    int8_t *dtype = dt_arena_array(arena, int8_t, g->n_nodes + 1);
    bool *for_layers = dt_arena_array(arena, bool, g->n_nodes + 1);
    bool *for_others = dt_arena_array(arena, bool, g->n_nodes + 1);
    bool *for_loss = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_results; i++) for_others[g->result[i].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &g->node[i];
        const bool logits = for_loss[i] && is_of_layers(n->path) && !is_of_loss(n->path);
        bool passes = n->op->across || *n->path == '\0';
        bool layers = passes                ? for_layers[i]
                      : is_of_loss(n->path) ? for_layers[i] && !for_others[i]
                                            : is_of_layers(n->path);
        dtype[i] =
            (int8_t)(is_float(g, i) && layers && !logits && n->n_in > 0 ? narrow : n->type.dtype);
        for (int k = 0; k < n->n_in; k++) {
            for_layers[n->in[k]] |= layers;
            for_others[n->in[k]] |= !layers;
            for_loss[n->in[k]] |= is_of_loss(n->path);
        }
    }
    return dtype;
}

/* ---- plans ---- */

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

/* Adds the times and operations of one device's kernels in a step to the plan and to its layers. In
 * a pipeline these are means over devices. */
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
    p.dtype = r->program->how.mixed ? mixed_dtypes(r->program, DT_FLOAT16, arena) : NULL;
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
    /* There is room for one layer more, "(gradients)", and for layers whose variables no node
     * belongs to. */
    p->layer = dt_arena_array(arena, dt_plan_layer,
                              most_layers(r->program->local) + r->program->local->n_states + 2);
    dt_launches k = dt_launches_create(r, scratch);
    /* A chip receives the examples of its devices' replicas; if several logical devices need a part
     * of the batch, each of them receives it. */
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
