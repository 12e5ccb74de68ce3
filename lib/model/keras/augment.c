/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that change images at random. In a model of Keras they stand behind an Input and work in
 * training only; here they are steps of `dataset.map`, which have the same arguments.
 *
 *     layers: [Input: {name: image}, Rescaling, RandomFlip: {mode: horizontal}, Conv2D, ...]
 *     ──▶     layers: [Input: {name: image}, Conv2D, ...]
 *             map: {image: [rescale: {...}, random_flip: {mode: horizontal}]}
 *
 * Random layers and Rescaling are moved as long as no other layer reads the same values. Rescaling
 * after the last random layer stays. Random layers elsewhere are refused later, by name.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

static const dt_entry *layer_at(const dt_tree *layers, int i) {
    const dt_tree *item = layers->item[i];
    return item->kind == DT_TREE_MAP && item->n == 1 && item->entry[0].value->kind == DT_TREE_MAP
               ? &item->entry[0]
               : NULL;
}

bool dt_keras_is_random(const char *kind) {
    static const char *const kinds[] = {"RandomFlip",        "RandomRotation",   "RandomZoom",
                                        "RandomTranslation", "RandomShear",      "RandomHue",
                                        "RandomBrightness",  "RandomContrast",   "RandomSaturation",
                                        "RandomErasing",     "RandomColorJitter"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], kind) == 0) return true;
    return false;
}

static bool is_rescaling(const char *kind) {
    return strcmp(kind, dt_layer_rescaling.kind.name) == 0;
}

static const char *text_of(const dt_tree *t) {
    return t && t->kind == DT_TREE_SCALAR ? t->text : "";
}

/* How often a tree, which is a name or a list of names and lists, contains the name. */
static int count_name(const dt_tree *t, const char *name) {
    int n = t && t->kind == DT_TREE_SCALAR && strcmp(t->text, name) == 0;
    for (int i = 0; t && t->kind == DT_TREE_LIST && i < t->n; i++)
        n += count_name(t->item[i], name);
    return n;
}

/* The only layer that reads layer i; -1: several do, or it has other inputs, too. */
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
        if (!dt_keras_is_random(e->key) && !is_rescaling(e->key)) break;
        chain[n++] = i;
        if (dt_keras_is_random(e->key)) moved = n;
        name = text_of(dt_tree_get(e->value, "name"));
    }
    return moved;
}

/* Keras writes a factor f of RandomShear and RandomSaturation as [-f, f]; the steps take f. For
 * random_shear that means the same. For random_saturation it means from 0 to f, as Keras documents
 * it. */
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

/* {random_flip: {mode: horizontal}} of {RandomFlip: {name: f, inputs: x, mode: horizontal}} */
static dt_tree *step_of(dt_arena *arena, const dt_entry *layer) {
    static const char *const dropped[] = {"name", "inputs", "trainable", "dtype", "weights_of"};
    dt_tree *arguments = layer->value, *step = dt_keras_map(arena, &arguments->at, 1);
    const dt_tree *order = dt_tree_get(arguments, "data_format");
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        dt_keras_drop(arguments, dropped[i]);
    join_factors(layer);
    if (strcmp(text_of(order), dt_data_formats[0]) == 0) dt_keras_drop(arguments, "data_format");
    dt_keras_put(step, is_rescaling(layer->key) ? "rescale" : dt_snake_case(arena, layer->key),
                 &layer->key_at, arguments);
    return step;
}

static void rename_inputs(dt_tree *t, const char *from, const char *to) {
    if (t && t->kind == DT_TREE_SCALAR && strcmp(t->text, from) == 0) t->text = to;
    for (int i = 0; t && t->kind == DT_TREE_LIST && i < t->n; i++)
        rename_inputs(t->item[i], from, to);
}

/* Connects the readers of the last layer that is moved to the Input. */
static void connect(dt_tree *model, const dt_tree *layers, const char *from, const char *to) {
    for (int k = 0; k < layers->n; k++) {
        const dt_entry *e = layer_at(layers, k);
        if (e) rename_inputs(dt_tree_get(e->value, "inputs"), from, to);
    }
    rename_inputs(dt_tree_get(model, "outputs"), from, to);
}

static void move(dt_arena *arena, dt_tree *model, dt_tree *layers, int input, dt_tree *steps) {
    int *chain = dt_arena_array(arena, int, layers->n + 1);
    const int n = find_chain(model, layers, input, chain);
    const char *name = text_of(dt_tree_get(layer_at(layers, input)->value, "name"));
    if (n == 0) return;
    dt_tree *list = dt_arena_new(arena, dt_tree);
    *list = (dt_tree){.kind = DT_TREE_LIST,
                      .at = layers->item[chain[0]]->at,
                      .item = dt_arena_array(arena, dt_tree *, n)};
    connect(model, layers, text_of(dt_tree_get(layer_at(layers, chain[n - 1])->value, "name")),
            name);
    for (int k = 0; k < n; k++) list->item[list->n++] = step_of(arena, layer_at(layers, chain[k]));
    for (int k = 0; k < n; k++) layers->item[chain[k]] = NULL;
    int left = 0;
    for (int k = 0; k < layers->n; k++)
        if (layers->item[k]) layers->item[left++] = layers->item[k];
    layers->n = left;
    dt_keras_put(steps, name, &list->at, list);
}

dt_tree *dt_keras_take_random(dt_arena *arena, dt_tree *model) {
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
