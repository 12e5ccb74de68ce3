/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes weights where Keras expects them in model.weights.h5. A layer is found by its class,
 * counted in the order of the model's layers, and within it by the names of attributes:
 *
 *     fc/kernel                               layers/dense_1/vars/0
 *     both/forward_lstm/lstm_cell/kernel      layers/bidirectional/forward_layer/cell/vars/0
 *
 * The layers of a functional model are in Keras' order, not in that of the job file: by their
 * distance from the outputs, and at equal distance in the order in which a walk from the outputs
 * reaches them. The operations that compute masks count as layers of that graph.
 */
#include <stdlib.h>
#include <string.h>

#include "model/keras/keras_impl.h"

bool dt_keras_has_heads(const dt_layer *row) {
    return row == &dt_layer_multi_head_attention || row == &dt_layer_group_query_attention;
}

/* Whether Keras' Sequential can call layer i, with the output of layer i - 1 as its only input. */
static bool follows(const dt_model_spec *m, int i) {
    const dt_layer_spec *l = &m->layer[i];
    return l->n_in == 1 && l->from[0] == i - 1 && l->row->least <= 1 && !l->taken &&
           !dt_keras_has_heads(l->row);
}

bool dt_keras_is_sequential(const dt_model_spec *m) {
    for (int i = 1; i < m->n_layers; i++)
        if (!follows(m, i) || m->layer[i].owner != i) return false;
    return m->n_inputs == 1 && m->n_outputs == 1 && m->output[0].layer == m->n_layers - 1;
}

/* ---- the order of layers ---- */

typedef struct place {
    int layer;
    int depth; /* length of the longest path from a call of the layer to an output, with the
                * operations that compute masks; a LayerOutput does not count */
    /* depth of the operation that computes the mask of the layer's output, counted like `depth`; 0:
     * the mask is not used */
    int mask_depth;
    /* 1 + the place of the layer in the order in which the walk from the outputs reaches layers; 0:
     * it is not part of the model */
    int met;
} place;

static void walk(const dt_model_spec *m, int i, place *all, int *n) {
    if (all[i].met) return;
    all[i].met = ++*n;
    for (int k = 0; k < m->layer[i].n_in; k++) walk(m, m->layer[i].from[k], all, n);
}

/* Whether Keras passes the mask of the input as an argument to this layer. */
static bool takes_mask(const dt_layer *row) {
    const dt_layer *const rows[] = {
        &dt_layer_lstm,
        &dt_layer_gru,
        &dt_layer_simple_rnn,
        &dt_layer_bidirectional,
        &dt_layer_time_distributed,
        &dt_layer_softmax,
        &dt_layer_batch_normalization,
        &dt_layer_global_average_pooling1d,
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i] == row) return true;
    return false;
}

static void reach(int *depth, int at_least) {
    if (*depth < at_least) *depth = at_least;
}

/* Raises the depths of what the mask of layer i is computed from: its input (Embedding and
 * Masking), or the masks of its inputs. They are deeper than the mask by the number of operations
 * in between. Called only if the mask is used. */
static void reach_mask(const dt_model_spec *m, int i, place *all) {
    const dt_layer_spec *l = &m->layer[i];
    const int depth = all[i].mask_depth;
    const bool makes = l->row == &dt_layer_embedding || l->row == &dt_layer_masking;
    if (makes) reach(&all[l->from[0]].depth, depth + 1 + (l->row == &dt_layer_masking));
    int masked = 0;
    for (int k = 0; k < l->n_in; k++) masked += m->layer[l->from[k]].out_mask;
    for (int k = 0; k < l->n_in && !makes; k++)
        if (m->layer[l->from[k]].out_mask)
            reach(&all[l->from[k]].mask_depth, depth + (masked > 1 ? masked - (k ? k : 1) : 0));
}

static void find_depths(const dt_model_spec *m, place *all) {
    for (int i = m->n_layers - 1; i >= 0; i--) {
        const dt_layer_spec *l = &m->layer[i];
        if (!all[i].met) continue;
        reach(&all[l->owner].depth, all[i].depth); /* all calls of a layer share its depth */
        reach(&all[i].depth, all[l->owner].depth);
        if (all[i].mask_depth) reach_mask(m, i, all);
        for (int k = 0; k < l->n_in; k++) {
            reach(&all[l->from[k]].depth, all[i].depth + !l->taken);
            if (takes_mask(l->row) && l->n_in == 1 && m->layer[l->from[k]].out_mask)
                reach(&all[l->from[k]].mask_depth, all[i].depth + 1);
        }
    }
}

static int by_depth(const void *a, const void *b) {
    const place *x = a, *y = b;
    return x->depth != y->depth ? y->depth - x->depth : x->met - y->met;
}

/* Lists the model's layers in Keras' order; a layer that is called several times is listed once.
 * Returns their number. */
static int list_places(const dt_model_spec *m, place *all) {
    int met = 0, n = 0;
    for (int i = 0; i < m->n_outputs; i++) walk(m, m->output[i].layer, all, &met);
    find_depths(m, all);
    for (int i = 0; i < m->n_layers; i++) {
        place *owner = &all[m->layer[i].owner];
        all[i].layer = i;
        if (all[i].met && (!owner->met || all[i].met < owner->met)) owner->met = all[i].met;
    }
    for (int i = 0; i < m->n_layers; i++)
        if (all[i].met && m->layer[i].owner == i) all[n++] = all[i];
    qsort(all, (size_t)n, sizeof *all, by_depth);
    return n;
}

/* ---- masks that MultiHeadAttention removes: see mask.c ---- */

/* If the layer is a MultiHeadAttention, sets remover[i] to it for each layer i among its inputs
 * whose output has a mask and that has no remover yet. This counts for all layers at its depth,
 * because the order in which these run is unknown here. */
static void remove_masks(const dt_model_spec *m, const place *p, const dt_layer_spec **remover) {
    const dt_layer_spec *l = &m->layer[p->layer];
    for (int k = 0; k < l->n_in && l->row == &dt_layer_multi_head_attention; k++)
        if (m->layer[l->from[k]].out_mask && !remover[l->from[k]]) remover[l->from[k]] = l;
}

/* Fails with KERAS_MODEL if layer i reads masks while the model runs, and another layer has removed
 * that of an input. Otherwise marks the mask of its output as removed if it is computed from such a
 * mask. */
static dt_status *check_masks(const dt_model_spec *m, int i, const dt_layer_spec **remover) {
    const dt_layer_spec *l = &m->layer[i];
    const bool makes = l->row == &dt_layer_embedding || l->row == &dt_layer_masking;
    for (int k = 0; k < l->n_in; k++) {
        const dt_layer_spec *by = remover[l->from[k]];
        if (!by || by == l) continue;
        if (dt_keras_reads_masks(l->row))
            return dt_suggest(
                dt_fail(DT_E_KERAS_MODEL, &l->at,
                        "layer '%.80s' would see no mask of '%.80s' in Keras, where "
                        "MultiHeadAttention '%.80s' removes it",
                        l->name, m->layer[l->from[k]].name, by->name),
                "give that MultiHeadAttention a copy of its input: a layer Rescaling: {scale: 1}");
        if (l->out_mask && !makes) remover[i] = by;
    }
    return NULL;
}

static dt_status *check_removed(dt_arena *arena, const dt_model_spec *m, const place *all, int n) {
    const dt_layer_spec **remover = dt_arena_array(arena, const dt_layer_spec *, m->n_layers + 1);
    dt_status *faults = NULL;
    for (int k = 0, next = 0; k < n; k++) {
        for (; next < n && all[next].depth == all[k].depth; next++)
            remove_masks(m, &all[next], remover);
        dt_status_append(&faults, check_masks(m, all[k].layer, remover));
    }
    return faults;
}

/* ---- groups and arrays ---- */

typedef struct listing {
    dt_arena *arena;
    const dt_arrays *weights;
    int n;
    dt_hdf5_item *item;
} listing;

/* Returns the word for the layer's class in Keras' file, such as "batch_normalization". */
static const char *class_key(dt_arena *arena, const dt_layer *row) {
    if (row == &dt_layer_group_query_attention) return "grouped_query_attention";
    return dt_snake_case(arena, row->kind.name);
}

/* Returns the attribute that holds a part of a layer in Keras; NULL: unknown. */
static const char *attribute_of(const dt_layer *row, const char *part, size_t n) {
    static const struct {
        const dt_layer *row;
        const char *part, *attribute;
    } rows[] = {
        {&dt_layer_multi_head_attention, "query", "query_dense"},
        {&dt_layer_multi_head_attention, "key", "key_dense"},
        {&dt_layer_multi_head_attention, "value", "value_dense"},
        {&dt_layer_multi_head_attention, "gate", "_gate_dense"},
        {&dt_layer_multi_head_attention, "attention_output", "output_dense"},
        {&dt_layer_group_query_attention, "query", "_query_dense"},
        {&dt_layer_group_query_attention, "key", "_key_dense"},
        {&dt_layer_group_query_attention, "value", "_value_dense"},
        {&dt_layer_group_query_attention, "gate", "_gate_dense"},
        {&dt_layer_group_query_attention, "attention_output", "_output_dense"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].row == row && strlen(rows[i].part) == n && strncmp(rows[i].part, part, n) == 0)
            return rows[i].attribute;
    if (row && row->within && row != &dt_layer_bidirectional) return "layer";
    if (n > 5 && strncmp(part + n - 5, "_cell", 5) == 0) return "cell";
    if (strncmp(part, "forward_", 8) == 0) return "forward_layer";
    return strncmp(part, "backward_", 9) == 0 ? "backward_layer" : NULL;
}

static int find_item(const listing *l, int first, const char *path) {
    for (int i = first; i < l->n; i++)
        if (strcmp(l->item[i].path, path) == 0) return i;
    return -1;
}

static void add_group(listing *l, int first, const char *path, const char *name) {
    if (find_item(l, first, path) < 0) l->item[l->n++] = (dt_hdf5_item){.path = path, .name = name};
}

/* Adds a weight, whose path within its layer is `rest`, and the groups that contain it. */
static dt_status *add_weight(listing *l, const dt_layer_spec *spec, int first, const char *rest,
                             const dt_named_view *array) {
    const char *group =
        dt_arena_printf(l->arena, "%.*s", (int)(strlen(l->item[first].path) - strlen("/vars")),
                        l->item[first].path);
    /* the row of the layer that has the weight; NULL: a layer inside of this one has it */
    const dt_layer *row = spec->row;
    size_t n;
    for (; rest[n = strcspn(rest, "/")]; rest += n + 1) {
        const char *attribute = attribute_of(row, rest, n);
        if (!attribute)
            return dt_fail(DT_E_KERAS_MODEL, &spec->at,
                           "weight '%.200s': its place in Keras' %s is not known", array->name,
                           spec->row->kind.name);
        if (row && row->within) row = NULL;
        group = dt_arena_printf(l->arena, "%s/%s", group, attribute);
        add_group(l, first, dt_arena_printf(l->arena, "%s/vars", group),
                  dt_arena_printf(l->arena, "%.*s", (int)n, rest));
    }
    for (int k = 0;; k++) {
        const char *path = dt_arena_printf(l->arena, "%s/vars/%d", group, k);
        if (find_item(l, first, path) >= 0) continue;
        l->item[l->n++] = (dt_hdf5_item){.path = path, .array = array};
        return NULL;
    }
}

/* Adds the third variable of Normalization: the number of examples that it was adapted to, which is
 * written as 0. */
static void add_count(listing *l, int first) {
    dt_named_view *count = dt_arena_new(l->arena, dt_named_view);
    *count =
        (dt_named_view){"count", dt_scalar_type(DT_FLOAT32), dt_arena_array(l->arena, float, 1)};
    l->item[l->n++] = (dt_hdf5_item){.path = dt_arena_printf(l->arena, "%s/2", l->item[first].path),
                                     .array = count};
}

/* Adds the first variable of SpectralNormalization: a copy of the kernel of its layer. */
static void add_kernel_again(listing *l, const dt_layer_spec *spec, int first) {
    int k = 0;
    while (strcmp(spec->weight[k].name, "kernel") != 0) k++;
    l->item[l->n++] = (dt_hdf5_item){.path = dt_arena_printf(l->arena, "%s/0", l->item[first].path),
                                     .array = &l->weights->array[spec->first_weight + k]};
}

/* Adds the weights of a layer, without counters of random numbers, which Keras does not save. */
static dt_status *add_layer(listing *l, const dt_layer_spec *spec, const char *key) {
    const int first = l->n;
    add_group(l, first, dt_arena_printf(l->arena, "layers/%s/vars", key), spec->name);
    if (spec->row == &dt_layer_spectral_normalization) add_kernel_again(l, spec, first);
    for (int k = 0; k < spec->n_weights; k++) {
        const char *rest = spec->weight[k].path + strlen(spec->name) + 1;
        if (strstr(rest, "seed_generator/")) continue;
        DT_TRY(add_weight(l, spec, first, rest, &l->weights->array[spec->first_weight + k]));
    }
    if (spec->row == &dt_layer_normalization && spec->n_weights > 0) add_count(l, first);
    return NULL;
}

/* Counts layers of the same class before place k, by which Keras numbers names. */
static int count_class(const dt_model_spec *m, const place *all, int k) {
    int n = 0;
    for (int i = 0; i < k; i++) n += m->layer[all[i].layer].row == m->layer[all[k].layer].row;
    return n;
}

dt_status *dt_keras_weights_list(dt_arena *arena, const dt_model_spec *m, const dt_arrays *weights,
                                 dt_hdf5_item **item, int *n) {
    enum { PARTS = 4 }; /* most items that one weight may add: itself, and groups of its path */
    place *all = dt_arena_array(arena, place, m->n_layers + 1);
    listing l = {.arena = arena,
                 .weights = weights,
                 .item =
                     dt_arena_array(arena, dt_hdf5_item, 2 * m->n_layers + PARTS * weights->n + 1)};
    const int count = list_places(m, all);
    DT_TRY(check_removed(arena, m, all, count));
    for (int k = 0; k < count; k++) {
        const dt_layer_spec *spec = &m->layer[all[k].layer];
        const int same = count_class(m, all, k);
        const char *key = class_key(arena, spec->row);
        if (spec->row == &dt_layer_input) continue;
        if (same > 0) key = dt_arena_printf(arena, "%s_%d", key, same);
        DT_TRY(add_layer(&l, spec, key));
    }
    *item = l.item;
    *n = l.n;
    return NULL;
}
