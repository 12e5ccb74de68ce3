/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that prepare data: those that change images at random, in training only, those that give
 * images a size, and those that make numbers of words or of other numbers. In a model of Keras they
 * stand behind an Input; here they are steps of `dataset.map`.
 *
 *     layers: [Input: {name: image}, Rescaling, RandomFlip: {mode: horizontal}, Conv2D, ...]
 *     ──▶     layers: [Input: {name: image}, Conv2D, ...]
 *             map: {image: [rescale: {...}, random_flip: {mode: horizontal}]}
 *
 * Such layers, and Rescaling before them, are moved as long as no other layer reads the same
 * values; the first that makes numbers is the last that is moved. A Rescaling after the last of
 * them stays. Layers that prepare data elsewhere in the model are refused later, by name. The Input
 * gets the shape of the steps' result and, if that is numbers of words or bins, its dtype. A text
 * is a single value here, and an array of one text in Keras: if the last layer that is moved makes
 * one integer of it, a Reshape takes its place. The steps make a row of a single value only. If a
 * layer with multi_hot or count, but no mask_token, stands behind an Input of one dimension and
 * several values, its step makes integers, and a CategoryEncoding takes the layer's place;
 * otherwise, the step refuses several values.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

static const dt_entry *layer_at(const dt_tree *layers, int i) {
    const dt_tree *item = layers->item[i];
    return item->kind == DT_TREE_MAP && item->n == 1 && item->entry[0].value->kind == DT_TREE_MAP
               ? &item->entry[0]
               : NULL;
}

/* How a preprocessing layer changes the shape of what it reads. */
typedef enum makes { THE_SAME, AN_IMAGE, NUMBERS, A_SEQUENCE } makes;

static const struct {
    const char *layer;
    /* NUMBERS: as many integers as inputs, or a row whose size width_of returns */
    makes makes;
} rows[] = {{"RandomFlip", THE_SAME},         {"RandomRotation", THE_SAME},
            {"RandomZoom", THE_SAME},         {"RandomTranslation", THE_SAME},
            {"RandomShear", THE_SAME},        {"RandomHue", THE_SAME},
            {"RandomBrightness", THE_SAME},   {"RandomContrast", THE_SAME},
            {"RandomSaturation", THE_SAME},   {"RandomErasing", THE_SAME},
            {"RandomColorJitter", THE_SAME},  {"Resizing", AN_IMAGE},
            {"CenterCrop", AN_IMAGE},         {"Hashing", NUMBERS},
            {"StringLookup", NUMBERS},        {"IntegerLookup", NUMBERS},
            {"TextVectorization", A_SEQUENCE}};

static int find_row(const char *kind) {
    const int n = sizeof rows / sizeof *rows;
    int i = 0;
    while (i < n && strcmp(rows[i].layer, kind) != 0) i++;
    return i < n ? i : -1;
}

bool dt_keras_is_step(const char *kind) { return find_row(kind) >= 0; }

static bool is_rescaling(const char *kind) {
    return strcmp(kind, dt_layer_rescaling.kind.name) == 0;
}

static const char *text_of(const dt_tree *t) {
    return t && t->kind == DT_TREE_SCALAR ? t->text : "";
}

/* Counts how often `name` occurs in a tree, which is a name or a nested list of names. */
static int count_name(const dt_tree *t, const char *name) {
    int n = t && t->kind == DT_TREE_SCALAR && strcmp(t->text, name) == 0;
    for (int i = 0; t && t->kind == DT_TREE_LIST && i < t->n; i++)
        n += count_name(t->item[i], name);
    return n;
}

/* Returns the only layer that reads layer i; `name` is the name of layer i. Returns -1 if the
 * number of readers is not 1, with the model's outputs counted as readers, or if the reader has a
 * list of inputs. */
static int only_reader(const dt_tree *model, const dt_tree *layers, int i, const char *name) {
    int reader = -1, readers = count_name(dt_tree_get(model, "outputs"), name);
    if (strcmp(text_of(dt_tree_get(model, "type")), "functional") != 0)
        return i + 1 < layers->n && layer_at(layers, i + 1) ? i + 1 : -1;
    for (int k = 0; k < layers->n; k++) {
        const dt_entry *e = layer_at(layers, k);
        const dt_tree *inputs = e ? dt_tree_get(e->value, "inputs") : NULL;
        if (count_name(inputs, name) == 0) continue;
        readers++;
        reader = inputs->kind == DT_TREE_SCALAR ? k : -1;
    }
    return readers == 1 ? reader : -1;
}

/* Sets chain[] to the layers after Input i that are moved; returns their number. */
static int find_chain(const dt_tree *model, const dt_tree *layers, int i, int *chain) {
    int n = 0, moved = 0;
    const char *name = text_of(dt_tree_get(layer_at(layers, i)->value, "name"));
    while ((i = only_reader(model, layers, i, name)) >= 0 && n < layers->n) {
        const dt_entry *e = layer_at(layers, i);
        if (!dt_keras_is_step(e->key) && !is_rescaling(e->key)) break;
        chain[n++] = i;
        if (dt_keras_is_step(e->key)) moved = n;
        if (moved == n && rows[find_row(e->key)].makes >= NUMBERS) break;
        name = text_of(dt_tree_get(e->value, "name"));
    }
    return moved;
}

/* Replaces [-f, f] by f, because Keras writes a factor f of RandomShear and RandomSaturation as
 * [-f, f], while the steps take f. For random_shear that means the same. For random_saturation it
 * means from 0 to f, as Keras documents it. */
static void join_factors(const dt_entry *layer) {
    const dt_tree *arguments = layer->value;
    if (strcmp(layer->key, "RandomShear") != 0 && strcmp(layer->key, "RandomSaturation") != 0)
        return;
    for (int i = 0; i < arguments->n; i++) {
        dt_tree *value = arguments->entry[i].value;
        if (value->kind != DT_TREE_LIST || value->n != 2) continue;
        const char *low = text_of(value->item[0]), *high = text_of(value->item[1]);
        if (*low == '-' && strcmp(low + 1, high) == 0) *value = *value->item[1];
    }
}

/* Arguments of Keras' preprocessing layers that dtrain's steps lack, with the only value that each
 * may have; NULL: any value. */
static const struct {
    const char *key, *value;
} left_out[] = {
    {"name", NULL},
    {"inputs", NULL},
    {"trainable", NULL},
    {"dtype", NULL},
    {"weights_of", NULL},
    {"vocabulary_size", NULL},
    {"vocabulary_dtype", NULL},
    {"data_format", "channels_last"},
    {"invert", "false"},
    {"sparse", "false"},
    {"ragged", "false"},
    {"encoding", "utf-8"},
    {"oov_method", "floormod"},
    {"antialias", "false"},
    {"pad_to_aspect_ratio", "false"},
};

/* Converts a layer to a step of `map`: {RandomFlip: {name: f, inputs: x, mode: horizontal}} to
 * {random_flip: {mode: horizontal}}. */
static dt_tree *step_of(dt_arena *arena, const dt_entry *layer) {
    static const char *const names[] = {"Resizing", "resize", "Rescaling", "rescale"};
    dt_tree *arguments = layer->value, *step = dt_keras_map(arena, &arguments->at, 1);
    const bool pads = dt_keras_is_true(arguments, "pad_to_aspect_ratio");
    const char *name = dt_snake_case(arena, layer->key);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (!left_out[i].value ||
            strcmp(text_of(dt_tree_get(arguments, left_out[i].key)), left_out[i].value) == 0)
            dt_keras_drop(arguments, left_out[i].key);
    for (int i = 0; i < 4; i += 2)
        if (strcmp(layer->key, names[i]) == 0) name = names[i + 1];
    if (strcmp(layer->key, "Resizing") == 0 && !pads) {
        dt_keras_drop(arguments, "fill_mode");
        dt_keras_drop(arguments, "fill_value");
    }
    join_factors(layer);
    dt_keras_put(step, name, &layer->key_at, arguments);
    return step;
}

/* ---- the results of steps ---- */

/* Returns the size of the row that a layer makes; NULL: it makes integers. */
static const dt_tree *width_of(const dt_tree *arguments) {
    const char *mode = text_of(dt_tree_get(arguments, "output_mode"));
    if (!*mode || strcmp(mode, "int") == 0) return NULL;
    const dt_tree *bins = dt_tree_get(arguments, "num_bins");
    return bins ? bins
                : dt_tree_get(arguments, dt_keras_is_true(arguments, "pad_to_max_tokens")
                                             ? "max_tokens"
                                             : "vocabulary_size");
}

static dt_tree *list_of(dt_arena *arena, const dt_location *at, int n) {
    dt_tree *list = dt_arena_new(arena, dt_tree);
    *list = (dt_tree){
        .kind = DT_TREE_LIST, .at = *at, .n = n, .item = dt_arena_array(arena, dt_tree *, n + 1)};
    return list;
}

static void put_shape(dt_tree *input, dt_tree *shape) {
    dt_keras_drop(input, "shape");
    dt_keras_put(input, "shape", &shape->at, shape);
}

static void put_dtype(dt_arena *arena, dt_tree *input, const char *dtype) {
    dt_keras_drop(input, "dtype");
    if (dtype) dt_keras_put(input, "dtype", &input->at, dt_keras_scalar(arena, &input->at, dtype));
}

static void put_image(dt_arena *arena, dt_tree *input, const dt_tree *arguments) {
    static const char *const sizes[] = {"height", "width"};
    const dt_tree *shape = dt_tree_get(input, "shape");
    dt_tree *list = list_of(arena, &input->at, shape && shape->kind == DT_TREE_LIST ? shape->n : 0);
    for (int i = 0; i < list->n; i++) {
        dt_tree *size = i < 2 ? dt_tree_get(arguments, sizes[i]) : NULL;
        list->item[i] = size ? size : shape->item[i];
    }
    put_shape(input, list);
}

static dt_tree *behind_of(dt_arena *arena, const dt_entry *layer, const char *input,
                          const char *kind) {
    const dt_location *at = &layer->key_at;
    dt_tree *item = dt_keras_map(arena, at, 1), *arguments = dt_keras_map(arena, at, 4);
    dt_keras_put(arguments, "name", at, dt_tree_get(layer->value, "name"));
    dt_keras_put(arguments, "inputs", at, dt_keras_scalar(arena, at, input));
    dt_keras_put(item, kind, at, arguments);
    return item;
}

/* Returns a Reshape layer that makes a single value, of shape [], a vector of shape [1]. */
static dt_tree *reshape_of(dt_arena *arena, const dt_entry *layer, const char *input) {
    dt_tree *item = behind_of(arena, layer, input, "Reshape"),
            *shape = list_of(arena, &layer->key_at, 1);
    shape->item[0] = dt_keras_scalar(arena, &layer->key_at, "1");
    dt_keras_put(item->entry[0].value, "target_shape", &layer->key_at, shape);
    return item;
}

/* Returns a CategoryEncoding layer with the layer's output_mode, and removes this from the layer,
 * so that its step yields integers. */
static dt_tree *encoding_of(dt_arena *arena, const dt_entry *layer, const char *input) {
    dt_tree *item = behind_of(arena, layer, input, "CategoryEncoding");
    const dt_tree *width = width_of(layer->value);
    dt_tree *mode = dt_tree_get(layer->value, "output_mode");
    dt_keras_put(item->entry[0].value, "num_tokens", &width->at,
                 dt_arena_copy(arena, width, sizeof *width));
    dt_keras_put(item->entry[0].value, "output_mode", &mode->at, mode);
    dt_keras_drop(layer->value, "output_mode");
    dt_keras_drop(layer->value, "pad_to_max_tokens");
    return item;
}

/* Whether the layer has no mask_token, and makes a single row of several integers or texts, with a
 * 1 or a count for each number that occurs. */
static bool counts_several(const dt_tree *input, const dt_entry *layer) {
    const char *mode = text_of(dt_tree_get(layer->value, "output_mode"));
    const dt_tree *shape = dt_tree_get(input, "shape");
    return (strcmp(mode, "multi_hot") == 0 || strcmp(mode, "count") == 0) &&
           !dt_tree_get(layer->value, "mask_token") && shape && shape->kind == DT_TREE_LIST &&
           shape->n == 1 && strcmp(text_of(shape->item[0]), "1") != 0;
}

/* Sets the shape of the Input to that of a layer's values, and for NUMBERS and A_SEQUENCE the
 * dtype. Returns the layer that must then follow the Input in place of `layer`; NULL: none is
 * needed. */
static dt_tree *put_values(dt_arena *arena, dt_tree *input, const dt_entry *layer) {
    const dt_tree *shape = dt_tree_get(input, "shape"), *width;
    const int row = find_row(layer->key);
    const bool text = strcmp(text_of(dt_tree_get(input, "dtype")), "string") == 0 && shape &&
                      shape->kind == DT_TREE_LIST && shape->n == 1;
    const char *name = text_of(dt_tree_get(input, "name"));
    dt_tree *behind = NULL;
    if (row < 0 || rows[row].makes == THE_SAME) return NULL;
    if (rows[row].makes == AN_IMAGE) {
        put_image(arena, input, layer->value);
        return NULL;
    }
    if (rows[row].makes == NUMBERS && counts_several(input, layer))
        behind = encoding_of(arena, layer, name);
    width = width_of(layer->value);
    put_dtype(arena, input, width ? NULL : "int32");
    if (!width && rows[row].makes == A_SEQUENCE)
        width = dt_tree_get(layer->value, "output_sequence_length");
    if (width) {
        dt_tree *list = list_of(arena, &input->at, 1);
        list->item[0] = dt_arena_copy(arena, width, sizeof *width);
        put_shape(input, list);
    } else if (text && !behind) {
        put_shape(input, list_of(arena, &input->at, 0));
        behind = reshape_of(arena, layer, name);
    }
    return behind;
}

/* ---- moving ---- */

static void rename_inputs(dt_tree *t, const char *from, const char *to) {
    if (t && t->kind == DT_TREE_SCALAR && strcmp(t->text, from) == 0) t->text = to;
    for (int i = 0; t && t->kind == DT_TREE_LIST && i < t->n; i++)
        rename_inputs(t->item[i], from, to);
}

/* Connects the layers and outputs that read `from`, the last layer that becomes a step, to the
 * Input `to` instead. */
static void connect(dt_tree *model, const dt_tree *layers, const char *from, const char *to) {
    for (int k = 0; k < layers->n; k++) {
        const dt_entry *e = layer_at(layers, k);
        if (e) rename_inputs(dt_tree_get(e->value, "inputs"), from, to);
    }
    rename_inputs(dt_tree_get(model, "outputs"), from, to);
}

static void move(dt_arena *arena, dt_tree *model, dt_tree *layers, int input, dt_tree *steps) {
    int *chain = dt_arena_array(arena, int, layers->n + 1), left = 0;
    const int n = find_chain(model, layers, input, chain);
    dt_tree *in = layer_at(layers, input)->value, *behind = NULL;
    const char *name = text_of(dt_tree_get(in, "name"));
    if (n == 0) return;
    dt_tree *list = list_of(arena, &layers->item[chain[0]]->at, n);
    const dt_entry *last = layer_at(layers, chain[n - 1]);
    for (int k = 0; k < n; k++) behind = put_values(arena, in, layer_at(layers, chain[k]));
    if (!behind) connect(model, layers, text_of(dt_tree_get(last->value, "name")), name);
    for (int k = 0; k < n; k++) list->item[k] = step_of(arena, layer_at(layers, chain[k]));
    for (int k = 0; k < n; k++) layers->item[chain[k]] = k == n - 1 ? behind : NULL;
    for (int k = 0; k < layers->n; k++)
        if (layers->item[k]) layers->item[left++] = layers->item[k];
    layers->n = left;
    dt_keras_put(steps, name, &list->at, list);
}

dt_tree *dt_keras_take_steps(dt_arena *arena, dt_tree *model) {
    dt_tree *layers = dt_tree_get(model, "layers");
    if (!layers || layers->kind != DT_TREE_LIST) return NULL;
    dt_tree *steps = dt_keras_map(arena, &layers->at, layers->n);
    for (int i = 0; i < layers->n; i++) {
        const dt_entry *e = layer_at(layers, i);
        if (e && strcmp(e->key, dt_layer_input.kind.name) == 0)
            move(arena, model, layers, i, steps);
    }
    return steps;
}
