/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts one layer: its class and its configuration become `Dense: {units: 10, name: logits}`.
 * The tables below list entries that Keras' classes write in addition to their arguments, and
 * classes of keras.applications whose layers have other names here.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

/* ---- arguments that Keras writes in another form ---- */

/* Entries of a configuration that record the shapes a layer was built for. They are dropped. */
static const struct {
    const char *layer, *key;
} built_for[] = {
    {"MultiHeadAttention", "query_shape"},
    {"MultiHeadAttention", "key_shape"},
    {"MultiHeadAttention", "value_shape"},
    {"GroupQueryAttention", "query_shape"},
    {"GroupQueryAttention", "key_shape"},
    {"GroupQueryAttention", "value_shape"},
    {"TransformerDecoder", "decoder_sequence_shape"},
};

static void drop_shapes(dt_keras_layer *l) {
    for (size_t i = 0; i < sizeof built_for / sizeof *built_for; i++)
        if (strcmp(built_for[i].layer, l->class_name->text) == 0)
            dt_keras_drop(l->arguments, built_for[i].key);
}

/* Makes `batch_shape`, which begins with the batch, the layer's `shape` without it. Null as the
 * batch means any number of rows, as always in dtrain; a fixed number is refused. */
static dt_status *take_shape(dt_arena *arena, dt_keras_layer *l, dt_tree *shape) {
    DT_TRY(dt_tree_expect(shape, DT_TREE_LIST, "batch_shape"));
    if (shape->n == 0)
        return dt_fail(DT_E_KERAS_MODEL, &shape->at,
                       "batch_shape is empty; expected at least the batch dimension");
    if (shape->item[0]->kind != DT_TREE_NULL)
        return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &shape->item[0]->at,
                                  "the Input fixes the batch size, which the job decides here"),
                          "write null; dataset.global_batch_size sets the batch size");
    dt_tree *t = dt_arena_copy(arena, shape, sizeof *shape);
    t->item++;
    t->n--;
    dt_keras_drop(l->arguments, "batch_shape");
    dt_keras_put(l->arguments, "shape", &shape->at, t);
    return NULL;
}

static dt_status *fix_input(dt_arena *arena, dt_keras_layer *l) {
    static const char *const flags[] = {"sparse", "ragged", "optional"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const dt_tree *t = dt_tree_get(l->arguments, flags[i]);
        if (t && t->kind == DT_TREE_SCALAR && strcmp(t->text, "false") == 0)
            dt_keras_drop(l->arguments, flags[i]);
    }
    dt_tree *shape = dt_tree_get(l->arguments, "batch_shape");
    const dt_tree *dtype = l->policy;
    if (dtype && strcmp(dtype->text, "float32") != 0)
        dt_keras_put(l->arguments, "dtype", &dtype->at,
                     dt_keras_scalar(arena, &dtype->at, dtype->text));
    l->policy = NULL;
    return shape ? take_shape(arena, l, shape) : NULL;
}

/* ---- Bidirectional ---- */

static void drop_prefix(dt_arena *arena, dt_tree *arguments, const char *prefix,
                        const char *class_name) {
    dt_tree *name = dt_tree_get(arguments, "name");
    size_t n = strlen(prefix);
    if (!name || name->kind != DT_TREE_SCALAR || strncmp(name->text, prefix, n) != 0) return;
    name->text += n;
    if (strcmp(name->text, dt_snake_case(arena, class_name)) == 0) dt_keras_drop(arguments, "name");
}

/* Returns the arguments of the layer for one direction, without those that Bidirectional itself
 * sets; NULL: the layer is missing or has no arguments. */
static dt_tree *direction(dt_arena *arena, dt_tree *layer, const char *prefix) {
    if (!layer || layer->kind != DT_TREE_MAP || layer->n != 1 ||
        layer->entry[0].value->kind != DT_TREE_MAP)
        return NULL;
    dt_tree *arguments = layer->entry[0].value;
    drop_prefix(arena, arguments, prefix, layer->entry[0].key);
    dt_keras_drop(arguments, "zero_output_for_mask");
    return arguments;
}

/* Removes `backward_layer` from the arguments of a Bidirectional, whose two directions the file
 * describes separately. Fails with KERAS_MODEL unless both are the same layer, one of them
 * reversed. Keeps it if one of them is missing or is not an object with arguments. */
static dt_status *fix_bidirectional(dt_arena *arena, dt_keras_layer *l) {
    dt_tree *forward = dt_tree_get(l->arguments, "layer"),
            *backward = dt_tree_get(l->arguments, "backward_layer");
    dt_tree *there = direction(arena, forward, "forward_"),
            *back = direction(arena, backward, "backward_");
    if (!there || !back) return NULL;
    bool reversed = dt_keras_is_true(there, "go_backwards"),
         mirrored = reversed != dt_keras_is_true(back, "go_backwards");
    dt_keras_drop(back, "go_backwards");
    dt_tree *plain = dt_tree_copy(arena, forward);
    dt_keras_drop(plain->entry[0].value, "go_backwards");
    if (!mirrored || !dt_tree_same(plain, backward))
        return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &backward->at,
                                  "the backward layer differs from the forward layer"),
                          "dtrain's Bidirectional runs one layer in both directions");
    if (!reversed) *forward = *plain;
    dt_keras_drop(l->arguments, "backward_layer");
    return NULL;
}

/* ---- RNN ---- */

/* Returns LSTM(8) for RNN(LSTMCell(8)), with the arguments of the cell and those of RNN. Their
 * weights have the same paths. Other layers are returned as they are; RNN with another cell is
 * refused by name later. */
static const dt_tree *join_cell(dt_arena *arena, const dt_tree *raw) {
    static const char *const own[] = {"cell", "name", "trainable", "dtype"};
    const dt_tree *class_name = dt_tree_get(raw, "class_name"),
                  *config = dt_tree_get(raw, "config"), *cell = dt_tree_get(config, "cell"),
                  *kind = dt_tree_get(cell, "class_name"), *of_cell = dt_tree_get(cell, "config");
    const char *const end =
        kind && kind->kind == DT_TREE_SCALAR ? strstr(kind->text, "Cell") : NULL;
    if (!class_name || class_name->kind != DT_TREE_SCALAR || strcmp(class_name->text, "RNN") != 0 ||
        !end || strcmp(end, "Cell") != 0 || !of_cell || of_cell->kind != DT_TREE_MAP)
        return raw;
    dt_tree *joined = dt_tree_copy(arena, raw), *name = dt_tree_get(joined, "class_name"),
            *all = dt_keras_map(arena, &config->at, config->n + of_cell->n);
    name->text = dt_arena_printf(arena, "%.*s", (int)(end - kind->text), kind->text);
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entry[i].key, own[0]) != 0) all->entry[all->n++] = config->entry[i];
    for (int i = 0; i < of_cell->n; i++) {
        bool skipped = false;
        for (int k = 0; k < 4; k++) skipped |= strcmp(of_cell->entry[i].key, own[k]) == 0;
        if (!skipped) all->entry[all->n++] = of_cell->entry[i];
    }
    for (int i = 0; i < joined->n; i++)
        if (strcmp(joined->entry[i].key, "config") == 0) joined->entry[i].value = all;
    return joined;
}

/* ---- an activation that is a layer ---- */

/* Whether the layer is a Dense, an Activation or a convolution. These apply their activation last,
 * so that it may become a separate layer. */
static bool ends_with_activation(const dt_keras_layer *l) {
    const char *name = l->class_name->text;
    return strcmp(name, "Dense") == 0 || strcmp(name, "Activation") == 0 ||
           (strstr(name, "Conv") && !strstr(name, "LSTM"));
}

/* Splits `Dense(4, activation=LeakyReLU(0.1))` into a Dense layer and a LeakyReLU layer, to which
 * it sets l->behind. Other activations are left as they are. Fails for an activation that is a
 * layer in other kinds of layers (ends_with_activation), or with an activity regularizer. */
static dt_status *split_activation(dt_arena *arena, dt_keras_layer *l) {
    dt_tree *t = dt_tree_get(l->arguments, "activation");
    if (!t || t->kind != DT_TREE_MAP || t->n != 1 || t->entry[0].value->kind != DT_TREE_MAP ||
        !l->row)
        return NULL; /* the field table refuses a value that is not a name */
    if (!ends_with_activation(l))
        return dt_fail(DT_E_KERAS_MODEL, &t->at,
                       "the activation of %.80s is a layer; expected the name of an activation",
                       l->class_name->text);
    if (dt_tree_get(l->arguments, "activity_regularizer"))
        return dt_fail(
            DT_E_KERAS_MODEL, &t->at,
            "activity_regularizer cannot be combined with an activation that is a layer");
    dt_keras_put(t->entry[0].value, "name", &t->at,
                 dt_keras_scalar(arena, &t->at, dt_arena_printf(arena, "%s_activation", l->name)));
    dt_keras_drop(l->arguments, "activation");
    if (l->row == &dt_layer_activation)
        dt_keras_put(l->arguments, "activation", &t->at, dt_keras_scalar(arena, &t->at, "linear"));
    l->behind = t;
    return NULL;
}

/* ---- layers of keras.applications, and the layer that is added after one (`behind`) ---- */

/* Converts the arguments of ConvNeXt's LayerScale, x * gamma with one number for each channel, to
 * those of EinsumDense. */
static void fix_layer_scale(dt_arena *arena, dt_keras_layer *l) {
    const dt_location *at = &l->class_name->at;
    dt_tree *first = dt_tree_get(l->arguments, "init_values"),
            *channels = dt_tree_get(l->arguments, "projection_dim"),
            *equation = dt_keras_scalar(arena, at, "...c,c->...c"),
            *constant = dt_keras_map(arena, at, 1), *initializer = dt_keras_map(arena, at, 1);
    equation->quoted = true;
    dt_keras_drop(l->arguments, "init_values");
    dt_keras_drop(l->arguments, "projection_dim");
    dt_keras_put(l->arguments, "equation", at, equation);
    if (channels) dt_keras_put(l->arguments, "output_shape", at, channels);
    if (!first) return;
    dt_keras_put(constant, "value", at, first);
    dt_keras_put(initializer, "Constant", at, constant);
    dt_keras_put(l->arguments, "kernel_initializer", at, initializer);
}

/* Converts InceptionResNetV2's CustomScaleLayer, x + y * scale: the layer becomes the product, and
 * an Add follows it. */
static void fix_custom_scale(dt_arena *arena, dt_keras_layer *l) {
    const dt_location *at = &l->class_name->at;
    dt_tree *sum = dt_keras_map(arena, at, 2);
    dt_keras_put(sum, "name", at,
                 dt_keras_scalar(arena, at, dt_arena_printf(arena, "%s_sum", l->name)));
    l->behind = dt_keras_map(arena, at, 1);
    dt_keras_put(l->behind, "Add", at, sum);
}

static const struct {
    const char *class_name;
    const dt_layer *row; /* the layer of dtrain that computes the same */
    void (*fix)(dt_arena *arena, dt_keras_layer *l);
} of_applications[] = {
    {"LayerScale", &dt_layer_einsum_dense, fix_layer_scale},
    {"CustomScaleLayer", &dt_layer_rescaling, fix_custom_scale},
};

static dt_status *read_arguments(dt_arena *arena, dt_keras_layer *l, const dt_tree *config);

/* Reads the layer if its class is in of_applications. */
static dt_status *read_of_applications(dt_arena *arena, dt_keras_layer *l, const dt_tree *config) {
    for (size_t i = 0; i < sizeof of_applications / sizeof *of_applications; i++) {
        if (strcmp(of_applications[i].class_name, l->class_name->text) != 0) continue;
        l->row = of_applications[i].row;
        DT_TRY(read_arguments(arena, l, config));
        of_applications[i].fix(arena, l);
    }
    return NULL;
}

const dt_tree *dt_keras_layer_output(const dt_keras_layer *l, const dt_tree *name) {
    return l && l->behind && !strchr(name->text, '/')
               ? dt_tree_get(l->behind->entry[0].value, "name")
               : name;
}

/* ---- the layer ---- */

static void find_row(dt_keras_layer *l) {
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    const char *name = l->class_name->text;
    bool input = strcmp(name, "InputLayer") == 0;
    l->row = (const dt_layer *)dt_keras_find_row(rows, n, input ? dt_layer_input.kind.name : name);
}

/* Reads the name of the layer, which all layers in Keras files have. */
static dt_status *find_name(dt_keras_layer *l, const dt_tree *config) {
    const dt_tree *name = dt_tree_get(config, "name");
    if (!name)
        return dt_fail(DT_E_KERAS_MODEL, &config->at,
                       "missing key 'name' (Keras 3 always writes it)");
    return dt_tree_text(name, "name", &l->name);
}

/* Whether the layer's policy is a name; the field table refuses names that dtrain does not have. */
static bool has_policy(const dt_keras_layer *l) {
    return l->policy && l->policy->kind == DT_TREE_SCALAR;
}

/* Requires that inner layers have the dtype policy of the layer that contains them. */
static dt_status *check_inner_policy(const dt_keras_layer *l, const dt_tree *config) {
    const dt_tree *inner = dt_keras_policy(dt_tree_get(dt_tree_get(config, "layer"), "config"));
    if (!inner || inner->kind != DT_TREE_SCALAR || !l->policy ||
        strcmp(inner->text, l->policy->text) == 0)
        return NULL;
    return dt_fail(DT_E_KERAS_MODEL, &inner->at,
                   "dtype '%.80s' within a layer of '%.80s'; here a layer has a single dtype",
                   inner->text, l->policy->text);
}

static dt_status *read_arguments(dt_arena *arena, dt_keras_layer *l, const dt_tree *config) {
    DT_TRY(dt_keras_arguments(arena, l->row ? l->row->kind.fields : NULL, config, &l->arguments));
    l->policy = dt_keras_policy(config);
    if (l->policy && !has_policy(l))
        return dt_fail(DT_E_KERAS_MODEL, &l->policy->at, "dtype: expected a name or a policy");
    DT_TRY(check_inner_policy(l, config));
    DT_TRY(split_activation(arena, l));
    drop_shapes(l);
    if (l->row == &dt_layer_input) return fix_input(arena, l);
    return l->row == &dt_layer_bidirectional ? fix_bidirectional(arena, l) : NULL;
}

/* Refuses a layer whose vocabulary was learned by Keras' adapt: the configuration lacks the words.
 * dtrain would learn a vocabulary from the job's data instead, in which words may have other
 * indices than those that the model was trained with. */
static dt_status *check_adapted(const dt_keras_layer *l, const dt_tree *config) {
    enum { RESERVED = 2 }; /* number of indices reserved for padding and unknown words */
    const dt_tree *words = dt_tree_get(config, "vocabulary"),
                  *size = dt_tree_get(config, "vocabulary_size");
    int64_t n = 0;
    if (!words || words->kind != DT_TREE_NULL || !size || size->kind != DT_TREE_SCALAR ||
        !dt_parse_int64(size->text, &n) || n <= RESERVED)
        return NULL;
    return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &words->at,
                              "the %lld entries of '%.80s' were learned by adapt, and its "
                              "configuration lacks them",
                              (long long)n, l->name),
                      "build the model with %.40s(vocabulary=%.80s.get_vocabulary(), ...)",
                      l->class_name->text, l->name);
}

/* Writes null as `none`: in Keras' TextVectorization null leaves a text unchanged, but in a step it
 * would mean the default. */
static void put_none(dt_arena *arena, const dt_tree *config, dt_keras_layer *l) {
    static const char *const keys[] = {"standardize", "split"};
    if (strcmp(l->class_name->text, "TextVectorization") != 0) return;
    for (int i = 0; i < 2; i++) {
        const dt_tree *value = dt_tree_get(config, keys[i]);
        if (value && value->kind == DT_TREE_NULL)
            dt_keras_put(l->arguments, keys[i], &value->at,
                         dt_keras_scalar(arena, &value->at, "none"));
    }
}

dt_status *dt_keras_layer_read(dt_arena *arena, const dt_tree *raw, dt_keras_layer *out) {
    dt_tree *config;
    raw = join_cell(arena, raw);
    *out = (dt_keras_layer){.raw = raw};
    DT_TRY(dt_keras_class(raw, &out->class_name));
    find_row(out);
    DT_TRY(dt_keras_member(raw, "config", DT_TREE_MAP, &config));
    DT_TRY(find_name(out, config));
    if (dt_keras_is_operation(raw)) return dt_keras_operation_read(arena, out, config);
    out->arguments = dt_keras_map(arena, &raw->at, 0);
    if (!out->row && dt_keras_is_step(out->class_name->text)) {
        DT_TRY(check_adapted(out, config));
        DT_TRY(dt_keras_arguments(arena, NULL, config, &out->arguments));
        put_none(arena, config, out);
        return NULL;
    }
    /* A name that is not known is refused later, with a suggestion. */
    if (!out->row) return read_of_applications(arena, out, config);
    return read_arguments(arena, out, config);
}

dt_tree *dt_keras_layer_item(dt_arena *arena, const dt_keras_layer *l) {
    dt_tree *item = dt_keras_map(arena, &l->raw->at, 1);
    const char *name = l->row ? l->row->kind.name : l->class_name->text;
    dt_keras_put(item, name, l->row ? &l->raw->at : &l->class_name->at,
                 l->row || dt_keras_is_step(name) ? l->arguments
                                                  : dt_keras_map(arena, &l->raw->at, 0));
    return item;
}
