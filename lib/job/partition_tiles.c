/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the part of images, sequences or volumes that each logical device has, and the part that
 * it gets from its neighbours, layer by layer, for the forward pass of one replica. If the
 * windows of a layer cannot be divided evenly, every device has the whole layer.
 *
 *     each of 8 logical devices has, and gets from its neighbours (before + behind):
 *       image   512 rows x 256 columns
 *       conv_0  256 rows x 128 columns  rows 0 + 1, columns 0 + 1
 */
#include <string.h>

#include "job/partition.h"
#include "op/across.h"
#include "pass/spmd.h"

/* ---- the forward pass, cut ---- */

static dt_status *trace_forward(const dt_model *m, dt_graph **out) {
    dt_trace *t = dt_trace_create("forward");
    dt_value x[DT_MAX_INPUTS], y[DT_MAX_OUTPUTS];

    dt_trace_set_logical(t, m->strategy->logical);
    for (int i = 0; i < m->spec.n_inputs; i++)
        x[i] = dt_trace_declare(t, m->spec.input[i].name, &m->spec.input[i].type);
    dt_model_emit_outputs(m, x, m->spec.n_inputs, DT_INFERENCE, y);
    for (int i = 0; i < m->spec.n_outputs; i++)
        dt_return(t, dt_output_result(dt_trace_arena(t), &m->spec, i), y[i]);
    return dt_trace_end(t, out);
}

static dt_status *make_outline(dt_job *j, dt_model **out) {
    dt_strategy *strategy = NULL;

    DT_TRY(dt_strategy_open(&strategy, &j->strategy));
    dt_status *s = dt_model_outline(out, &j->model, strategy);
    dt_strategy_unref(strategy);
    return s ? s : dt_job_annotate_model(j, *out);
}

/* ---- one layer ---- */

/* The part of a layer's output that one device computes. If rank is 0, the layer computes
 * nothing. */
typedef struct tile {
    dt_type type;
    dt_layout layout;
    /* by dimension: how many rows (or columns, ...) come from the neighbours before and behind */
    int64_t before[DT_MAX_RANK], behind[DT_MAX_RANK];
    bool gets; /* whether a node of the layer exchanges elements with neighbours */
} tile;

static bool is_of(const dt_node *n, const char *layer) {
    size_t length = strlen(layer);
    return strncmp(n->path, layer, length) == 0 &&
           (n->path[length] == '\0' || n->path[length] == '/');
}

static void add_halo(tile *t, const dt_across_attr *a) {
    t->before[a->dim] = a->low > t->before[a->dim] ? a->low : t->before[a->dim];
    t->behind[a->dim] = a->high > t->behind[a->dim] ? a->high : t->behind[a->dim];
    t->gets = true;
}

/* Returns the part that a device has of a layer's output. The last node of a layer is its output,
 * since in a forward pass all its other nodes lead to it. */
static tile tile_of(const dt_spmd *s, const char *layer) {
    tile t = {0};
    for (int i = 0; i < s->local->n_nodes; i++) {
        const dt_node *n = &s->local->node[i];
        if (!is_of(n, layer)) continue;
        if (dt_across_kind_of(n) == DT_ACROSS_COLLECTIVE_PERMUTE) {
            add_halo(&t, n->attr);
            continue;
        }
        t.type = n->type;
        t.layout = s->layout[i];
    }
    return t;
}

static tile tile_of_input(const dt_spmd *s, const char *name) {
    const int i = dt_graph_find_argument(s->local, name);
    return i >= 0 ? (tile){.type = s->local->node[s->local->arg[i].node].type, .layout = s->arg[i]}
                  : (tile){0};
}

/* ---- text ---- */

/* The words for the dimensions between the batch and the channels, by the rank of the value. */
static const char *const words[][3] = {
    [3] = {"steps"}, [4] = {"rows", "columns"}, [5] = {"planes", "rows", "columns"}};

static bool is_cut(const tile *t) {
    for (int d = 1; d < t->type.rank - 1; d++)
        if (t->layout.axes[d]) return true;
    return false;
}

static void print_tile(const tile *t, int width, const char *name, dt_str *out) {
    int rank = t->type.rank;
    dt_str_printf(out, "    %-*s", width, name);
    for (int d = 1; d < rank - 1; d++)
        dt_str_printf(out, "%s%lld %s", d > 1 ? " x " : "  ", (long long)t->type.dim[d],
                      words[rank][d - 1]);
    if (!is_cut(t)) dt_str_puts(out, ", whole");
    for (int d = 1; t->gets && d < rank - 1; d++)
        dt_str_printf(out, "%s%s %lld + %lld", d > 1 ? ", " : "  ", words[rank][d - 1],
                      (long long)t->before[d], (long long)t->behind[d]);
    dt_str_putc(out, '\n');
}

/* Prints the layers whose outputs have the rank of the first Input. */
static void print_tiles(const dt_job *j, const dt_spmd *s, dt_str *out) {
    const int rank = j->model.input[0].type.rank;
    int width = 0;
    for (int i = 0; i < j->model.n_layers; i++)
        if (j->model.layer[i].out.rank == rank && (int)strlen(j->model.layer[i].name) > width)
            width = (int)strlen(j->model.layer[i].name);
    dt_str_printf(
        out, "  each of %d logical devices has, and gets from its neighbours (before + behind):\n",
        dt_mesh_devices(&s->mesh));
    for (int i = 0; i < j->model.n_layers; i++) {
        const dt_layer_spec *layer = &j->model.layer[i];
        tile t = layer->n_in == 0 ? tile_of_input(s, layer->name) : tile_of(s, layer->name);
        if (t.type.rank == rank && layer->out.rank == rank) print_tile(&t, width, layer->name, out);
    }
}

/* ---- the description ---- */

/* Whether a value is split along a dimension other than its first and its last. */
static bool splits_images(const dt_job_partition *p) {
    for (int i = 0; i < p->n_values; i++)
        for (int d = 1; d < p->value[i].how.parts.n - 1; d++)
            if (p->value[i].how.parts.v[d] > 1) return true;
    return false;
}

static dt_status *describe(dt_job *j, int devices, dt_str *out) {
    dt_model *m = NULL;
    dt_graph *g = NULL;
    dt_spmd *s = NULL;
    int64_t each = j->dataset.per_replica_batch_size,
            replicas = dt_device_assignment_replicas(j->strategy.assignment);
    int64_t rows = each > 0 ? each : (j->dataset.global_batch_size + replicas - 1) / replicas;
    dt_status *bad = make_outline(j, &m);
    if (!bad) bad = trace_forward(m, &g);
    if (!bad) bad = dt_spmd_create(&s, g, &(dt_spmd_options){.devices = devices, .batch = rows});
    if (!bad) print_tiles(j, s, out);
    dt_spmd_destroy(s);
    dt_graph_destroy(g);
    dt_model_unref(m);
    return bad;
}

DT_API dt_status *dt_job_partition_text(dt_job *j, char **text) {
    dt_str out = {0};
    dt_status *bad = NULL;
    DT_REQUIRE({DT_LIVE(j), "job"}, {text, "place for the text"});
    int rank = j->model.n_inputs > 0 ? j->model.input[0].type.rank : 0;
    int devices =
        j->strategy.assignment ? dt_device_assignment_logical_devices(j->strategy.assignment) : 1;
    if (j->partition && j->has_dataset && devices > 1 && rank >= 3 && rank <= 5 &&
        splits_images(j->partition))
        bad = describe(j, devices, &out);
    if (j->uncounted)
        dt_str_puts(&out, "the number of replicas is unknown: the plug-in is opened by fit, "
                          "evaluate, predict and devices, or where --plugin names it; "
                          "checked as 1 replica\n");
    if (bad) dt_str_release(&out);
    else *text = dt_str_take(&out);
    return bad;
}
