/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports a whole file: its Sequential or functional model replaces `keras_config`.
 *
 *     model: {keras_config: model.json, rematerialize: full}
 *     ──▶    {type: sequential, layers: [Input: {...}, Dense: {...}], rematerialize: full}
 *
 * The file's settings for training (compile_config) and the shapes that its layers were built for
 * are ignored: the job has the former, and dtrain computes the latter. Each layer keeps its dtype
 * policy, with two exceptions: if all are float32, no policy is written, so that
 * `compile.precision` can set one; if all layers and Inputs are float64, none is written either.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/keras/keras_impl.h"

enum {
    MOST_LAYERS = 2000,
    /* limit of the values in the list of layers; lower than the 10,000 values that a job may
     * have */
    MOST_VALUES = 9000,
};

/* ---- layers ---- */

static dt_status *read_layer(const dt_keras_model *m, int i, const dt_tree *raw) {
    dt_keras_layer *l = &m->layer[i];
    l->raw = raw;
    bool is_mask = false;
    if (raw->kind == DT_TREE_MAP && dt_keras_is_operation(raw)) {
        DT_TRY(dt_keras_class(raw, &l->class_name));
        DT_TRY(dt_keras_mask_read(m, i, &is_mask));
    }
    return is_mask ? NULL : dt_keras_layer_read(m->arena, raw, l);
}

static dt_status *read_layers(dt_arena *arena, const dt_tree *config, dt_keras_model *m) {
    dt_tree *layers;
    dt_status *faults = NULL;
    DT_TRY(dt_keras_member(config, "layers", DT_TREE_LIST, &layers));
    if (layers->n > MOST_LAYERS)
        return dt_fail(DT_E_KERAS_MODEL, &layers->at, "%d layers; a job may have %d", layers->n,
                       MOST_LAYERS);
    *m = (dt_keras_model){arena, layers->n, dt_arena_array(arena, dt_keras_layer, layers->n + 1)};
    for (int i = 0; i < m->n; i++) dt_status_append(&faults, read_layer(m, i, layers->item[i]));
    return faults;
}

static bool has_dtype(const dt_keras_layer *l, const char *dtype) {
    const dt_tree *own = l->row == &dt_layer_input ? dt_tree_get(l->arguments, "dtype") : l->policy;
    return own ? strcmp(own->text, dtype) == 0 : l->row != &dt_layer_input;
}

/* Whether all Inputs and layers have the dtype float64. The Inputs' dtype then suffices, since
 * layers compute in it. */
static bool is_float64(const dt_keras_model *m) {
    for (int i = 0; i < m->n; i++)
        if (!has_dtype(&m->layer[i], "float64")) return false;
    return true;
}

static void put_policies(const dt_keras_model *m) {
    bool plain = true;
    for (int i = 0; i < m->n; i++)
        plain &= m->layer[i].row == &dt_layer_input || has_dtype(&m->layer[i], "float32");
    if (is_float64(m)) plain = true;
    for (int i = 0; i < m->n && !plain; i++) {
        const dt_keras_layer *l = &m->layer[i];
        const dt_tree *policy = l->policy;
        if (policy)
            dt_keras_put(l->arguments, "dtype", &policy->at,
                         dt_keras_scalar(m->arena, &policy->at, policy->text));
        if (policy && l->behind)
            dt_keras_put(l->behind->entry[0].value, "dtype", &policy->at,
                         dt_keras_scalar(m->arena, &policy->at, policy->text));
    }
}

static int count(const dt_tree *t) {
    int n = 1;
    for (int i = 0; i < t->n; i++)
        n += count(t->kind == DT_TREE_MAP ? t->entry[i].value : t->item[i]);
    return n;
}

static dt_status *list_layers(const dt_keras_model *m, const dt_location *at, dt_tree **out) {
    dt_tree *list = dt_arena_new(m->arena, dt_tree);
    *list = (dt_tree){
        .kind = DT_TREE_LIST, .at = *at, .item = dt_arena_array(m->arena, dt_tree *, 2 * m->n + 1)};
    put_policies(m);
    for (int i = 0; i < m->n; i++) {
        const dt_keras_layer *l = &m->layer[i];
        if (!l->is_mask) list->item[list->n++] = dt_keras_layer_item(m->arena, l);
        if (l->behind) list->item[list->n++] = l->behind;
    }
    *out = list;
    if (count(list) <= MOST_VALUES) return NULL;
    return dt_fail(DT_E_JOB_LIMIT, at, "the model holds more than %d values", MOST_VALUES);
}

/* ---- outputs ---- */

static bool is_history(const dt_tree *t) {
    return t->kind == DT_TREE_LIST && t->n == 3 && t->item[0]->kind == DT_TREE_SCALAR &&
           t->item[1]->kind == DT_TREE_SCALAR;
}

/* Adds one output, a list of outputs, or a mapping of names to outputs, whose names only Keras
 * uses, to `list`. Recursion is limited by the depth of the file. */
static dt_status *add_outputs(const dt_keras_model *m, const dt_tree *t, dt_tree *list) {
    const dt_tree *name;
    dt_status *faults = NULL;
    if (is_history(t)) {
        if (list->n == m->n) return dt_fail(DT_E_KERAS_MODEL, &t->at, "more outputs than layers");
        DT_TRY(dt_keras_tensor_name(m->arena, t, &name));
        name = dt_keras_layer_output(dt_keras_find(m, m->n, name->text), name);
        list->item[list->n++] = dt_arena_copy(m->arena, name, sizeof *name);
        return NULL;
    }
    if (t->kind != DT_TREE_LIST && t->kind != DT_TREE_MAP)
        return dt_fail(DT_E_KERAS_MODEL, &t->at, "expected [LAYER, 0, 0], or several of them");
    for (int i = 0; i < t->n; i++)
        dt_status_append(
            &faults, add_outputs(m, t->kind == DT_TREE_MAP ? t->entry[i].value : t->item[i], list));
    return faults;
}

static dt_status *read_outputs(const dt_keras_model *m, const dt_tree *config, dt_tree **out) {
    const dt_tree *written = dt_tree_get(config, "output_layers");
    if (!written)
        return dt_fail(DT_E_KERAS_MODEL, &config->at,
                       "missing key 'output_layers' (Keras 3 always writes it)");
    dt_tree *list = dt_arena_new(m->arena, dt_tree);
    *list = (dt_tree){.kind = DT_TREE_LIST,
                      .at = written->at,
                      .item = dt_arena_array(m->arena, dt_tree *, m->n + 1)};
    DT_TRY(add_outputs(m, written, list));
    *out = list->n == 1 ? list->item[0] : list;
    return NULL;
}

/* ---- the model ---- */

static dt_status *check_built(const dt_keras_model *m) {
    if (m->n == 0 || m->layer[0].row == &dt_layer_input) return NULL;
    return dt_suggest(
        dt_fail(DT_E_KERAS_MODEL, &m->layer[0].raw->at,
                "the model has no input: its first layer is not an InputLayer"),
        "begin it with keras.Input(...), or call model.build((None, ...)) before it is written");
}

/* Makes the entries {type, layers, outputs} of a job's model. */
static dt_status *translate(dt_arena *arena, const dt_tree *root, dt_tree **out) {
    const dt_tree *class_name;
    dt_tree *config, *layers, *outputs = NULL;
    dt_keras_model m;
    DT_TRY(dt_keras_inline(arena, &root));
    DT_TRY(dt_keras_class(root, &class_name));
    bool functional = strcmp(class_name->text, "Functional") == 0;
    if (!functional && strcmp(class_name->text, "Sequential") != 0)
        return dt_fail(DT_E_KERAS_MODEL, &class_name->at,
                       "'%.80s' is neither a Sequential nor a Functional model", class_name->text);
    DT_TRY(dt_keras_member(root, "config", DT_TREE_MAP, &config));
    DT_TRY(read_layers(arena, config, &m));
    dt_status *faults = NULL;
    for (int i = 0; functional && i < m.n; i++)
        dt_status_append(&faults, m.layer[i].is_mask ? NULL : dt_keras_call_read(&m, i));
    if (!functional) faults = check_built(&m);
    DT_TRY(faults);
    if (functional) DT_TRY(read_outputs(&m, config, &outputs));
    DT_TRY(list_layers(&m, &dt_tree_get(config, "layers")->at, &layers));
    *out = dt_keras_map(arena, &root->at, 3);
    dt_keras_put(*out, "type", &class_name->at,
                 dt_keras_scalar(arena, &class_name->at, functional ? "functional" : "sequential"));
    dt_keras_put(*out, "layers", &layers->at, layers);
    if (outputs) dt_keras_put(*out, "outputs", &outputs->at, outputs);
    return NULL;
}

/* ---- keras_config ---- */

static const char *const defined[] = {"type", "layers", "outputs"};
enum { DEFINED = sizeof defined / sizeof *defined };

static dt_status *check_alone(const dt_tree *model) {
    dt_status *faults = NULL;
    for (int i = 0; i < DEFINED; i++) {
        const dt_tree *t = dt_tree_get(model, defined[i]);
        if (!t || t->kind == DT_TREE_NULL) continue;
        dt_status *s =
            dt_fail(DT_E_KERAS_MODEL, &t->at,
                    "model.%s conflicts with keras_config, which defines it", defined[i]);
        dt_status_append(&faults, dt_suggest(s, "to remove a key of the base, set it to null"));
    }
    return faults;
}

/* Removes the key keras_config of the model, and replaces its entries type, layers and outputs by
 * those of `by`. */
void dt_keras_replace(dt_arena *arena, dt_tree *model, const dt_tree *by) {
    dt_entry *all = dt_arena_array(arena, dt_entry, model->n + DEFINED);
    int n = 0;
    dt_keras_drop(model, DT_KERAS_KEY);
    for (int i = 0; i < DEFINED; i++) {
        dt_tree *value = dt_tree_get(by, defined[i]);
        dt_keras_drop(model, defined[i]);
        if (value) all[n++] = (dt_entry){.key = defined[i], .key_at = value->at, .value = value};
    }
    for (int i = 0; i < model->n; i++) all[n++] = model->entry[i];
    model->entry = all;
    model->n = n;
}

dt_status *dt_keras_import(dt_arena *arena, const char *directory, dt_tree *model) {
    const dt_tree *value = dt_tree_get(model, DT_KERAS_KEY);
    const char *name;
    dt_tree *root, *imported = NULL;
    if (!value || value->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_text(value, DT_KERAS_KEY, &name));
    DT_TRY(check_alone(model));
    char *home = NULL;
    DT_TRY(dt_at(dt_path_local(name, &home), &value->at));
    char *path = dt_path_join(directory, home ? home : name);
    dt_status *s = dt_keras_file_read(arena, path, &root);
    free(path);
    free(home);
    if (s) return dt_at(s, &value->at);
    DT_TRY(translate(arena, root, &imported));
    dt_keras_replace(arena, model, imported);
    return NULL;
}
