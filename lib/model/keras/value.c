/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts values. Keras writes every argument of every object. Those that are objects have one of
 * these forms:
 *
 *     {"class_name": "HeNormal", "config": {"seed": 3}, ...}     ──▶   HeNormal: {seed: 3}
 *     {"class_name": "Zeros", "config": {}, ...}                 ──▶   Zeros
 *     {"class_name": "__tuple__", "items": [1, 2]}               ──▶   [1, 2]
 *
 * Values that are known to equal the default in the table are left out. Nulls are refused where
 * null is known to differ from the default here, passed on for required arguments, and left out
 * otherwise. All other values are read by the table, which refuses arguments that dtrain does not
 * have.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

/* ---- trees ---- */

dt_tree *dt_keras_scalar(dt_arena *arena, const dt_location *at, const char *text) {
    dt_tree *t = dt_arena_new(arena, dt_tree);
    *t = (dt_tree){.kind = DT_TREE_SCALAR, .at = *at, .text = text};
    return t;
}

/* room of a map for entries that Keras writes elsewhere or not at all: name, dtype, inputs,
 * use_causal_mask, ... */
enum { SPARE = 8 };

dt_tree *dt_keras_map(dt_arena *arena, const dt_location *at, int most) {
    dt_tree *t = dt_arena_new(arena, dt_tree);
    *t = (dt_tree){
        .kind = DT_TREE_MAP, .at = *at, .entry = dt_arena_array(arena, dt_entry, most + SPARE)};
    return t;
}

void dt_keras_put(dt_tree *map, const char *key, const dt_location *key_at, dt_tree *value) {
    map->entry[map->n++] = (dt_entry){.key = key, .key_at = *key_at, .value = value};
}

void dt_keras_drop(dt_tree *map, const char *key) {
    int n = 0;
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].key, key) != 0) map->entry[n++] = map->entry[i];
    map->n = n;
}

bool dt_keras_is_true(const dt_tree *map, const char *key) {
    const dt_tree *t = dt_tree_get(map, key);
    return t && t->kind == DT_TREE_SCALAR && strcmp(t->text, "true") == 0;
}

/* ---- objects ---- */

dt_status *dt_keras_member(const dt_tree *object, const char *key, dt_tree_kind kind,
                           dt_tree **out) {
    *out = dt_tree_get(object, key);
    if (!*out)
        return dt_fail(DT_E_KERAS_MODEL, &object->at, "missing key '%s' (Keras 3 always writes it)",
                       key);
    return dt_tree_expect(*out, kind, key);
}

static bool begins(const dt_tree *text, const char *with) {
    return text && text->kind == DT_TREE_SCALAR && strncmp(text->text, with, strlen(with)) == 0;
}

/* Whether the module belongs to Keras or to KerasHub, under its present or its former name. */
static bool is_of_keras(const dt_tree *module) {
    return begins(module, "keras.") || begins(module, "keras_hub.") ||
           begins(module, "keras_nlp.") || (begins(module, "keras") && !module->text[5]);
}

dt_status *dt_keras_class(const dt_tree *thing, const dt_tree **name) {
    dt_tree *class_name;
    DT_TRY(dt_tree_expect(thing, DT_TREE_MAP, "a thing of Keras"));
    DT_TRY(dt_keras_member(thing, "class_name", DT_TREE_SCALAR, &class_name));
    *name = class_name;
    if (!dt_tree_get(thing, "module"))
        return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &class_name->at,
                                  "'%.80s' has no module, which Keras 3 always writes",
                                  class_name->text),
                          "load a model of Keras 2 with Keras 3, and write it again");
    if (is_of_keras(dt_tree_get(thing, "module"))) return NULL;
    dt_status *s = dt_fail(DT_E_KERAS_MODEL, &class_name->at,
                           "'%.80s' is custom code, which dtrain does not have", class_name->text);
    return dt_suggest(s, "use layers of Keras that compute the same");
}

bool dt_keras_is_operation(const dt_tree *thing) {
    const dt_tree *module = dt_tree_get(thing, "module");
    return begins(module, "keras.src.ops.") || begins(module, "keras.ops");
}

const dt_kind *dt_keras_find_row(const dt_kind *const *rows, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i]->name, name) == 0) return rows[i];
    return NULL;
}

/* Finds the fields of an initializer, regularizer, constraint or layer by its name, in the first of
 * these tables that has it; NULL: no such name, or no fields. */
static const dt_field *find_fields(const char *name) {
    const dt_kind *const *(*const tables[])(int *) = {dt_initializers, dt_regularizers,
                                                      dt_constraints, dt_layers};
    const dt_kind *row = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !row; i++) {
        int n;
        const dt_kind *const *rows = tables[i](&n);
        row = dt_keras_find_row(rows, n, name);
    }
    return row ? row->fields : NULL;
}

const dt_tree *dt_keras_policy(const dt_tree *config) {
    const dt_tree *t = dt_tree_get(config, "dtype"),
                  *name = dt_tree_get(dt_tree_get(t, "config"), "name");
    return name && name->kind == DT_TREE_SCALAR ? name : t && t->kind == DT_TREE_NULL ? NULL : t;
}

/* ---- values ---- */

static dt_status *convert_list(dt_arena *arena, const dt_tree *list, dt_tree **out) {
    dt_tree *t = dt_arena_copy(arena, list, sizeof *list);
    t->item = dt_arena_array(arena, dt_tree *, list->n + 1);
    for (int i = 0; i < list->n; i++) DT_TRY(dt_keras_value(arena, list->item[i], &t->item[i]));
    *out = t;
    return NULL;
}

static dt_status *convert_map(dt_arena *arena, const dt_tree *map, dt_tree **out) {
    *out = dt_keras_map(arena, &map->at, map->n);
    for (int i = 0; i < map->n; i++) {
        dt_tree *value;
        DT_TRY(dt_keras_value(arena, map->entry[i].value, &value));
        dt_keras_put(*out, map->entry[i].key, &map->entry[i].key_at, value);
    }
    return NULL;
}

/* Converts a class with its configuration. An inner object has the dtype policy of its layer. */
static dt_status *convert_thing(dt_arena *arena, const dt_tree *thing, dt_tree **out) {
    const dt_tree *name;
    dt_tree *config, *arguments;
    DT_TRY(dt_keras_class(thing, &name));
    DT_TRY(dt_keras_member(thing, "config", DT_TREE_MAP, &config));
    DT_TRY(dt_keras_arguments(arena, find_fields(name->text), config, &arguments));
    *out = dt_keras_scalar(arena, &name->at, name->text);
    if (arguments->n == 0) return NULL;
    *out = dt_keras_map(arena, &thing->at, 1);
    dt_keras_put(*out, name->text, &name->at, arguments);
    return NULL;
}

/* Returns the list or the number inside of {"class_name": "__tuple__", ...} and similar objects;
 * NULL: it is another value. */
static const dt_tree *unwrap(const dt_tree *value) {
    const dt_tree *class_name = dt_tree_get(value, "class_name");
    if (begins(class_name, "__tuple__")) return dt_tree_get(value, "items");
    if (begins(class_name, "__numpy__") || begins(class_name, "__tensor__"))
        return dt_tree_get(dt_tree_get(value, "config"), "value");
    return NULL;
}

/* The function calls itself for parts of a value. The depth of a file is limited, and with it the
 * recursion. */
dt_status *dt_keras_value(dt_arena *arena, const dt_tree *value, dt_tree **out) {
    const dt_tree *inside = unwrap(value);
    if (inside) return dt_keras_value(arena, inside, out);
    if (value->kind == DT_TREE_LIST) return convert_list(arena, value, out);
    if (value->kind == DT_TREE_MAP)
        return dt_tree_get(value, "class_name") ? convert_thing(arena, value, out)
                                                : convert_map(arena, value, out);
    *out = dt_arena_copy(arena, value, sizeof *value);
    return NULL;
}

/* ---- activations ---- */

/* Returns the name of the activation that a layer without arguments equals, as in
 * `activation=keras.layers.ReLU()`; NULL: none. */
static const char *name_of_activation(const char *layer) {
    static const struct {
        const char *layer, *name;
    } rows[] = {{"ReLU", "relu"}, {"Softmax", "softmax"}, {"ELU", "elu"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(layer, rows[i].layer) == 0) return rows[i].name;
    return NULL;
}

/* Returns what a layer as the value of `activation` becomes: {LeakyReLU: {negative_slope: 0.1}}, or
 * the name of an activation that the layer without arguments is equal to. */
static dt_tree *activation(dt_arena *arena, dt_tree *layer) {
    if (layer->kind != DT_TREE_MAP || layer->n != 1 || layer->entry[0].value->kind != DT_TREE_MAP)
        return layer;
    dt_tree *arguments = layer->entry[0].value;
    dt_keras_drop(arguments, "name");
    const char *name = arguments->n == 0 ? name_of_activation(layer->entry[0].key) : NULL;
    return name ? dt_keras_scalar(arena, &layer->at, name) : layer;
}

/* ---- arguments ---- */

static const dt_field *find_field(const dt_field *fields, const char *key) {
    for (const dt_field *f = fields; f && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, key) == 0) return f;
    return NULL;
}

/* Returns the default of a field as text; NULL: the entry must be written, because there is no
 * default or its presence counts. A zero that the table refuses is not a default. */
static const char *default_text(const dt_field *f) {
    bool refused = f->required || f->min > 0 || f->above_min;
    if (f->preset || f->set) return f->set ? NULL : f->preset;
    switch (refused ? DT_FIELD_TREE : f->kind) {
    case DT_FIELD_INT:
    case DT_FIELD_REAL: return "0";
    case DT_FIELD_BOOL: return "false";
    case DT_FIELD_ENUM: return f->choices[0];
    default: return NULL;
    }
}

static bool is_default(const dt_field *f, const dt_tree *value) {
    const char *text = f ? default_text(f) : NULL;
    dt_local_str printed = {0}, wanted = {0};
    if (!text) return false;
    dt_tree_print(value, &printed);
    if (*text == '[') dt_str_puts(&wanted, text);
    else dt_tree_print(&(dt_tree){.kind = DT_TREE_SCALAR, .text = text}, &wanted);
    return strcmp(dt_str_text(&printed), dt_str_text(&wanted)) == 0;
}

/* Whether null has another meaning than the default here: null axes of a constraint mean all axes
 * in Keras, and a null initializer means that of add_weight. */
static bool null_means_other(const dt_field *f, const char *key) {
    const char *end = strrchr(key, '_');
    return f && ((f->preset && strcmp(f->preset, "null") != 0) ||
                 (end && strcmp(end, "_initializer") == 0));
}

static dt_status *add_argument(dt_arena *arena, const dt_field *fields, const dt_entry *e,
                               dt_tree *out) {
    const dt_field *f = find_field(fields, e->key);
    dt_tree *value;
    if (e->value->kind == DT_TREE_NULL && null_means_other(f, e->key))
        return dt_fail(DT_E_KERAS_MODEL, &e->value->at,
                       "'%.80s' is null, which differs from the default here; write the value",
                       e->key);
    if (e->value->kind == DT_TREE_NULL && !(f && f->required)) return NULL;
    DT_TRY(dt_keras_value(arena, e->value, &value));
    if (f && f->kind == DT_FIELD_ENUM && f->choices == dt_activations &&
        e->value->kind == DT_TREE_MAP)
        value = activation(arena, value);
    if (!is_default(f, value)) dt_keras_put(out, e->key, &e->key_at, value);
    return NULL;
}

dt_status *dt_keras_arguments(dt_arena *arena, const dt_field *fields, const dt_tree *config,
                              dt_tree **out) {
    dt_status *faults = NULL;
    *out = dt_keras_map(arena, &config->at, config->n);
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entry[i].key, "dtype") != 0)
            dt_status_append(&faults, add_argument(arena, fields, &config->entry[i], *out));
    return faults;
}
