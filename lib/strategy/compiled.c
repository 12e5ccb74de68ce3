/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled steps. The parts that depend on the number of rows (tiles, memory, matrix products) are
 * compiled once for each batch size. A few sizes are kept: a full batch, the last batch, those of
 * evaluation.
 *
 *     traced step -> simplify (-> remat) -> fold -> steps -> shards -> simplify          once
 *                    (-> spmd -> expand, on several logical devices with numerics: chip)
 *                    -> the back end                                                  per size
 *
 * Here `fold` makes one graph that computes all replicas, `steps` joins the operations of a
 * sequence's time steps, and `shards` divides the batch. Placement does not change results: a value
 * that a replica splits over its logical devices is computed here as a whole, with the same bits as
 * on one device, and the program of a single device is built only to estimate its cost. The
 * exception is numerics: chip, which sums the parts that the devices compute.
 */
#include "strategy/compiled.h"

#include <stdlib.h>
#include <string.h>

#include "op/cells.h"
#include "strategy/cluster.h"
#include "strategy/divided.h"

/* ---- creating ---- */

/* Replaces a graph by the result `by` of a pass, and frees the old graph. Does nothing if s is
 * an error. Returns s. */
static dt_status *replaced(dt_graph **g, dt_graph *by, dt_status *s) {
    if (!s) {
        dt_graph_destroy(*g);
        *g = by;
    }
    return s;
}

static dt_status *simplify(dt_graph **g) {
    dt_graph *out = NULL;
    dt_status *s = dt_simplify(*g, &out);
    return replaced(g, out, s);
}

static dt_status *rematerialize(dt_graph **g, const dt_layer_units *units) {
    dt_graph *out = NULL;
    dt_status *s = dt_remat(*g, units, &out);
    return replaced(g, out, s);
}

/* Joins the operations of a sequence's time steps into larger ones (dt_join_steps), unless the back
 * end is a plug-in or numerics is `chip`. c->apart keeps the graph with separate time steps,
 * because estimates count them as the loop that a chip's compiler makes of equal steps. Placement
 * must not change bits, so the time steps are joined in the same way whether or not values are
 * placed on devices. */
static dt_status *join_steps(dt_compiled *c) {
    dt_graph *bare = NULL, *out = NULL;
    if (dt_compiled_is_chip(c) || dt_backend_takes_plugin(dt_strategy_backend(c->strategy)))
        return NULL;
    DT_TRY(dt_unannotate(c->folded.graph, &bare));
    dt_status *s = dt_join_steps(bare ? bare : c->folded.graph, &out);
    dt_graph_destroy(bare);
    if (s || !out) return s;
    c->apart = c->folded.graph;
    c->folded.graph = out;
    return simplify(&c->folded.graph);
}

/* Divides the batch into shards. Keeps the graph before that for estimates: a slice has no shards,
 * which make sums on this machine reproducible or divide the batch among workers. */
static dt_status *cut_shards(dt_compiled *c) {
    c->unsharded = c->folded.graph;
    c->folded.graph = NULL;
    DT_TRY(dt_shards(c->unsharded, c->shards, &c->folded.graph));
    return simplify(&c->folded.graph);
}

/* Copies how arguments and results are spread over replicas. The original is in the arena of the
 * graph that dt_fold made, which the next pass frees. */
static void keep_spreads(dt_compiled *c) {
    c->arg = dt_arena_copy(c->arena, c->folded.arg, (size_t)c->step->n_args * sizeof *c->arg);
    c->result =
        dt_arena_copy(c->arena, c->folded.result, (size_t)c->step->n_results * sizeof *c->result);
}

static dt_status *fold(dt_compiled *c, const bool *distributed) {
    DT_TRY(dt_fold(c->step, distributed, c->strategy->replicas, &c->folded));
    keep_spreads(c);
    DT_TRY(simplify(&c->folded.graph));
    c->annotated = dt_spmd_is_annotated(c->folded.graph);
    DT_TRY(join_steps(c));
    if (c->shards > 0) DT_TRY(cut_shards(c));
    return NULL;
}

/* For a step that cannot be made one graph for all replicas: finds only how arguments and results
 * are spread over replicas. Fails with CANNOT_FOLD if a result has no room for a dimension of
 * replicas. */
static dt_status *spread_only(dt_compiled *c, const bool *distributed) {
    dt_replication *spread = NULL,
                   *arg = dt_arena_array(c->arena, dt_replication, c->step->n_args + 1);
    dt_replication *result = dt_arena_array(c->arena, dt_replication, c->step->n_results + 1);

    DT_TRY(dt_replication_of(c->step, distributed, c->arena, &spread));
    for (int i = 0; i < c->step->n_args; i++) arg[i] = spread[c->step->arg[i].node];
    for (int i = 0; i < c->step->n_results; i++) {
        int node = c->step->result[i].node;
        result[i] = spread[node];
        if (spread[node] == DT_STACKED && c->step->node[node].type.rank == DT_MAX_RANK)
            return dt_fail(DT_E_CANNOT_FOLD, NULL,
                           "result '%s' has %d dimensions, too many to add one for the replicas",
                           c->step->result[i].name, DT_MAX_RANK);
    }
    c->arg = arg;
    c->result = result;
    return NULL;
}

/* Remembers the revisions of variables. If a later trace gives a variable one copy per replica,
 * or another sharding, this step must be compiled again. */
static void note_revisions(dt_compiled *c) {
    c->revision = dt_arena_array(c->arena, unsigned, c->step->n_states + 1);
    for (int i = 0; i < c->step->n_states; i++)
        c->revision[i] = c->step->state[i].variable->revision;
}

bool dt_compiled_is_stale(const dt_compiled *c) {
    for (int i = 0; i < c->step->n_states; i++)
        if (c->revision[i] != c->step->state[i].variable->revision) return true;
    return false;
}

/* If how.over_replicas requires it, divides the optimizer's state, or weights as well, over the
 * workers. Does nothing if this process computes alone. */
static dt_status *make_parts(dt_compiled *c) {
    if (!c->cluster || c->how.over_replicas == DT_OVER_NONE) return NULL;
    c->part = dt_arena_array(c->arena, dt_divided *, c->step->n_states + 1);
    for (int i = 0; i < c->step->n_states; i++)
        if (dt_divided_fits(c->step->state[i].variable, c->how.over_replicas, c->cluster->workers))
            DT_TRY(dt_divided_make(&c->part[c->n_parts++], c->step->state[i].variable,
                                   (dt_cluster *)c->cluster));
    return NULL;
}

/* Compiles o->priced, a graph whose cost is estimated in place of the step's. Takes ownership of
 * it. */
static dt_status *create_priced(dt_compiled *c, const dt_compile_options *o) {
    dt_compile_options priced = *o;
    priced.priced = NULL;
    priced.alone = true;
    priced.by_replica = false;
    return dt_compiled_create(&c->stands_for, c->strategy, o->priced, &priced);
}

dt_status *dt_compiled_create(dt_compiled **out, dt_strategy *strategy, dt_graph *step,
                              const dt_compile_options *o) {
    dt_compiled *c = dt_alloc(sizeof *c);
    dt_status *s;

    *c = (dt_compiled){.strategy = dt_strategy_ref(strategy),
                       .arena = dt_arena_create(),
                       .step = step,
                       .how = o->how,
                       .beside = o->beside};
    c->cluster = o->alone ? NULL : strategy->cluster;
    c->shards = o->how.shards > 0 ? o->how.shards : c->cluster ? c->cluster->workers : 0;
    if (c->cluster && o->by_replica) {
        c->own_replicas = strategy->replicas / c->cluster->workers;
        c->own_offsets = dt_arena_array(c->arena, int32_t, c->own_replicas + 1);
        c->gathered = dt_arena_array(c->arena, void *, step->n_results + 1);
    }
    s = simplify(&c->step);
    if (!s && o->units) s = rematerialize(&c->step, o->units);
    if (!s) s = dt_diverge_variables(c->step, o->distributed, strategy->replicas);
    note_revisions(c);
    c->own_arg = dt_arena_array(c->arena, dt_view, c->step->n_args + 1);
    if (!s) s = fold(c, o->distributed);
    if (s && dt_status_number(s) == DT_E_CANNOT_FOLD && c->own_replicas) {
        dt_status_free(s);
        s = dt_fail(DT_E_NOT_YET, NULL,
                    "this step runs replica by replica, which workers in separate processes cannot "
                    "share yet");
    }
    if (s && dt_status_number(s) == DT_E_CANNOT_FOLD && c->shards == 0) {
        dt_status_free(s);
        s = spread_only(c, o->distributed);
        if (!s && dt_compiled_is_chip(c)) s = dt_chip_products(c->step, &c->alone);
    }
    if (!s) s = make_parts(c);
    if (o->priced && s) dt_graph_destroy(o->priced);
    if (o->priced && !s) s = create_priced(c, o);
    if (s) {
        dt_compiled_destroy(c);
        return s;
    }
    *out = c;
    return NULL;
}

void dt_compiled_destroy(dt_compiled *c) {
    if (!c) return;
    dt_compiled_destroy(c->stands_for);
    for (int i = 0; i < c->n; i++) dt_sized_release(&c->size[i]);
    for (int i = 0; i < c->n_priced; i++) dt_spmd_destroy(c->priced[i].spmd);
    for (int i = 0; c->gathered && i < c->step->n_results; i++) free(c->gathered[i]);
    for (int i = 0; c->joined && i < c->step->n_results; i++) free(c->joined[i]);
    free(c->joined);
    dt_graph_destroy(c->step);
    dt_graph_destroy(c->folded.graph);
    dt_graph_destroy(c->unsharded);
    dt_graph_destroy(c->apart);
    dt_graph_destroy(c->alone);
    dt_arena_destroy(c->arena);
    dt_strategy_unref(c->strategy);
    free(c);
}

/* ---- sizes ---- */

/* Whether estimates and listings need no program besides the one that this machine runs. Always
 * true if workers in separate processes share the step. */
static bool runs_as_priced(const dt_compiled *c) {
    return c->cluster || (!dt_compiled_uses_logical_devices(c) &&
                          (c->how.over_replicas == DT_OVER_NONE || c->strategy->replicas == 1));
}

static dt_status *cut_for_pricing(const dt_compiled *c, const dt_device *device, dt_sized *z) {
    return dt_device_is_priced(device) || !runs_as_priced(c)
               ? dt_compiled_cut_for_pricing(c, z->rows, &z->priced)
               : NULL;
}

static dt_status *make_size(dt_compiled *c, int64_t rows, bool even, dt_sized *z) {
    dt_device *device = NULL;

    DT_TRY(dt_strategy_device_of(c->strategy, &device));
    DT_TRY(dt_compiled_cut(c, rows, z));
    z->even = even;
    dt_status *s = cut_for_pricing(c, device, z);
    if (!s) s = dt_compiled_cut_over(c, dt_device_count(device), z);
    const dt_compile_request r = dt_compiled_request(c, z);
    if (!s) s = dt_device_compile(device, &r, &z->executable);
    if (s && dt_status_number(s) == DT_E_DOES_NOT_FIT && dt_device_is_priced(device))
        s = dt_compiled_what_fits(c, rows, device, s);
    if (s) dt_sized_release(z);
    return s;
}

/* Whether all replicas have the same number of rows, and all are in this process. With offsets
 * NULL: whether `rows` can be divided so. */
static bool is_even(const dt_compiled *c, int64_t rows, const int32_t *offsets) {
    const int64_t replicas = c->strategy->replicas, each = rows / replicas;
    bool even = rows % replicas == 0 && !c->cluster;
    for (int64_t r = 0; r < replicas && even && offsets; r++) even = offsets[r] == r * each;
    return even;
}

/* Whether z can run a batch of this many rows. If each worker computes the rows of its own
 * replicas, these rows must also be those that z was compiled for. */
static bool is_size(const dt_compiled *c, const dt_sized *z, int64_t rows, bool even) {
    if (z->rows != rows || z->even != even || !c->own_replicas)
        return z->rows == rows && z->even == even;
    const int first = c->cluster->rank * c->own_replicas;
    return z->share.first == c->offsets[first] &&
           z->share.rows == c->offsets[first + c->own_replicas] - c->offsets[first];
}

static dt_status *find_size(dt_compiled *c, int64_t rows, const int32_t *offsets, dt_sized **out) {
    const bool even = is_even(c, rows, offsets);
    dt_sized made;

    for (int i = 0; i < c->n; i++)
        if (is_size(c, &c->size[i], rows, even)) {
            *out = &c->size[i];
            return NULL;
        }
    DT_TRY(make_size(c, rows, even, &made));
    int at = c->n < DT_SIZES ? c->n++ : c->next++ % DT_SIZES;
    while (dt_executable_flies(c->size[at].executable)) at = c->next++ % DT_SIZES;
    dt_sized_release(&c->size[at]);
    c->size[at] = made;
    *out = &c->size[at];
    return NULL;
}

void dt_compiled_forget(dt_compiled *c) {
    for (; c->n > 0; c->n--) dt_sized_release(&c->size[c->n - 1]);
    c->next = 0;
}

dt_status *dt_compiled_prepare(dt_compiled *c, int64_t rows, dt_executable **x) {
    dt_sized *z = NULL;

    if (c->folded.graph) DT_TRY(find_size(c, rows, NULL, &z));
    if (x) *x = z ? z->executable : NULL;
    return NULL;
}

/* ---- running and listing ---- */

/* Returns views of the arguments. The view of an argument with a batch dimension has only this
 * worker's rows. */
static const dt_view *own_rows(dt_compiled *c, const dt_sized *z, const dt_view *arg) {
    for (int i = 0; i < c->step->n_args; i++) {
        const dt_type *t = &c->step->node[c->step->arg[i].node].type;
        const int64_t k = t->rank > 0 && t->dim[0] < 0 ? -t->dim[0] : 0;
        c->own_arg[i] = k ? dt_view_rows(&arg[i], z->share.first * k, z->share.rows * k) : arg[i];
    }
    return c->own_arg;
}

static void see_own_replicas(dt_compiled *c, dt_env *env) {
    const int first = c->cluster->rank * c->own_replicas;
    for (int r = 0; r <= c->own_replicas; r++)
        c->own_offsets[r] = c->offsets[first + r] - c->offsets[first];
    env->offsets = c->own_offsets;
    env->segments = c->own_replicas;
}

/* Collects the rows of a result from all workers on every worker. Each worker has computed the rows
 * of its own replicas. */
static dt_status *gather_result(dt_compiled *c, int i, dt_view *result) {
    const int workers = c->cluster->workers, each = c->own_replicas;
    const int64_t k = -c->step->node[c->step->result[i].node].type.dim[0],
                  all = c->offsets[workers * each] * k;
    const dt_type one = dt_type_at(&c->step->node[c->step->result[i].node].type, 1);
    const size_t row_bytes = (size_t)(dt_type_bytes(&one) / k);
    DT_LOCAL size_t *n = dt_alloc((size_t)workers * sizeof *n);
    for (int w = 0; w < workers; w++)
        n[w] = (size_t)((c->offsets[(w + 1) * each] - c->offsets[w * each]) * k) * row_bytes;
    free(c->gathered[i]);
    c->gathered[i] = dt_try_alloc((size_t)all * row_bytes + 1);
    dt_status *s = c->gathered[i]
                       ? dt_cluster_spread((dt_cluster *)c->cluster, c->step->result[i].name,
                                           result->data, n, c->gathered[i])
                       : dt_fail(DT_E_NO_MEMORY, NULL, "no memory for %lld rows of '%s'",
                                 (long long)all, c->step->result[i].name);
    result->data = c->gathered[i];
    result->type.dim[0] = all;
    return s;
}

static dt_status *gather_rows(dt_compiled *c, dt_view *result) {
    for (int i = 0; i < c->step->n_results; i++)
        if (dt_type_has_batch(&c->step->node[c->step->result[i].node].type))
            DT_TRY(gather_result(c, i, &result[i]));
    return NULL;
}

dt_status *dt_compiled_start(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                             dt_view *result, dt_executable **x) {
    int replicas = c->strategy->replicas;
    dt_sized *z = NULL;

    *x = NULL;
    if (!c->folded.graph) return dt_unfolded_run(c, offsets, arg, result);
    c->offsets = offsets;
    DT_TRY(find_size(c, offsets[replicas], offsets, &z));
    dt_refusal refusal = {0};
    dt_env env = {.batch = z->share.rows,
                  .first = z->share.first,
                  .replicas = 1,
                  .offsets = offsets,
                  .segments = replicas,
                  .shards = z->share.border,
                  .n_shards = z->share.shards,
                  .refusal = &refusal,
                  .beside = c->beside,
                  .member = c->cluster ? c->cluster->member : NULL};
    bool flies = false;
    if (c->own_replicas) see_own_replicas(c, &env);
    for (int i = 0; i < c->n_parts; i++) dt_divided_ready(c->part[i]);
    DT_TRY(dt_executable_start(z->executable, &env, c->cluster ? own_rows(c, z, arg) : arg, result,
                               &flies));
    *x = flies ? z->executable : NULL;
    for (int i = 0; i < c->n_parts; i++) dt_divided_changed(c->part[i]);
    if (c->own_replicas) DT_TRY(gather_rows(c, result));
    return dt_refusal_status(&refusal);
}

bool dt_compiled_runs_ahead(const dt_compiled *c) {
    dt_device *device = NULL;
    if (c->strategy->cluster || !c->folded.graph) return false;
    dt_status *s = dt_strategy_device_of(c->strategy, &device);
    dt_status_free(s); /* The same error is reported again when the step runs. */
    return !s && dt_device_runs_ahead(device);
}

void dt_compiled_own_rows(const void *compiled, int64_t batch, int64_t rows, int64_t *from,
                          int64_t *to) {
    const dt_compiled *c = compiled;
    (void)batch;
    *from = 0;
    *to = rows;
    if (c->cluster) dt_cluster_rows(c->cluster, c->shards, rows, from, to);
}

dt_status *dt_compiled_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) {
    dt_executable *x = NULL;
    DT_TRY(dt_compiled_start(c, offsets, arg, result, &x));
    return x ? dt_executable_finish(x) : NULL;
}

const dt_replication *dt_compiled_results(const dt_compiled *c) { return c->result; }

const dt_graph *dt_compiled_step(const dt_compiled *c) { return c->step; }

const dt_graph *dt_compiled_folded(const dt_compiled *c) { return c->folded.graph; }

/* Prints the program of each device. */
static dt_status *print_priced(dt_compiled *c, int64_t rows, dt_str *out) {
    const dt_assignment *a = c->strategy->assignment;
    const dt_spmd *priced = NULL;

    DT_TRY(dt_compiled_priced(c, rows, &priced));
    if (a)
        dt_plan_print_stages(
            &(dt_priced_program){.program = priced, .topology = a->topology, .assignment = a}, out);
    dt_spmd_print(priced, out);
    return NULL;
}

/* Prints the program without compiling it, so that it works for variables without memory, too. */
static dt_status *print_program(dt_compiled *c, int64_t rows, dt_str *out) {
    dt_sized z;

    if (!runs_as_priced(c)) return print_priced(c, rows, out);
    DT_TRY(dt_compiled_cut(c, rows, &z));
    const dt_compile_request r = dt_compiled_request(c, &z);
    dt_status *s = dt_host_print_program(&r, out);
    dt_sized_release(&z);
    return s;
}

dt_status *dt_compiled_lower(dt_compiled *c, const char *stage, int64_t rows, dt_str *out) {
    dt_sized *z = NULL;

    if (!c->folded.graph)
        return dt_fail(DT_E_CANNOT_FOLD, NULL, "this step runs replica by replica, so it has no %s",
                       stage);
    if (strcmp(stage, "program") == 0) return print_program(c, rows, out);
    DT_TRY(find_size(c, rows, NULL, &z));
    dt_executable_print(z->executable, out);
    return NULL;
}
