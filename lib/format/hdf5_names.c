/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keras 3 writes an object as a group whose group `vars` holds its variables by numbers, and its
 * name as an attribute of `vars`: layers/dense_1/vars/0 with the name "fc" is fc/kernel. A
 * variable's name follows from its number and from the layer's class. An archive's config.json has
 * the class, and the arguments on which the variables of some layers depend; for a file or a layer
 * without it, the class is the group's key or, if the key is `cell` or `layer`, its name, without
 * the number at the end. A layer "conv" of a model "base" within the model is base_conv, as in
 * imported models. tf.keras and Keras' older format write paths: model_weights/fc/fc/kernel:0.
 */
#include <ctype.h>
#include <string.h>

#include "format/hdf5.h"

enum { MOST = 4 };
static const struct {
    const char *class_name; /* name of the layer's class in snake case; "*": any other class */
    int n;
    const char *name[MOST];
} rows[] = {
    {"lstm_cell", 2, {"kernel", "recurrent_kernel"}},
    {"lstm_cell", 3, {"kernel", "recurrent_kernel", "bias"}},
    {"conv_lstm_cell", 2, {"kernel", "recurrent_kernel"}},
    {"conv_lstm_cell", 3, {"kernel", "recurrent_kernel", "bias"}},
    {"gru_cell", 2, {"kernel", "recurrent_kernel"}},
    {"gru_cell", 3, {"kernel", "recurrent_kernel", "bias"}},
    {"simple_rnn_cell", 2, {"kernel", "recurrent_kernel"}},
    {"simple_rnn_cell", 3, {"kernel", "recurrent_kernel", "bias"}},
    {"separable_conv1d", 2, {"depthwise_kernel", "pointwise_kernel"}},
    {"separable_conv1d", 3, {"depthwise_kernel", "pointwise_kernel", "bias"}},
    {"separable_conv2d", 2, {"depthwise_kernel", "pointwise_kernel"}},
    {"separable_conv2d", 3, {"depthwise_kernel", "pointwise_kernel", "bias"}},
    {"batch_normalization", 2, {"moving_mean", "moving_variance"}},
    {"batch_normalization", 4, {"gamma", "beta", "moving_mean", "moving_variance"}},
    {"layer_normalization", 2, {"gamma", "beta"}},
    {"group_normalization", 2, {"gamma", "beta"}},
    {"rms_normalization", 1, {"scale"}},
    /* the first variable, "", is a copy of the layer's kernel */
    {"spectral_normalization", 2, {"", "vector_u"}},
    /* the third variable, "", is the number of examples */
    {"normalization", 3, {"mean", "variance", ""}},
    {"embedding", 1, {"embeddings"}},
    {"p_re_lu", 1, {"alpha"}},
    {"attention", 1, {"scale"}},
    {"attention", 2, {"scale", "concat_score_weight"}},
    {"additive_attention", 1, {"scale"}},
    /* layers of any other class are assumed to have these variables */
    {"*", 1, {"kernel"}},
    {"*", 2, {"kernel", "bias"}},
};

/* A variable of a layer. If it depends on an argument that is given, the layer has it only if that
 * is true or "concat". */
typedef struct optional {
    /* name of the variable, and the argument that it depends on; NULL: the variable always
     * exists */
    const char *name, *argument;
    bool preset; /* whether the variable exists if the argument is not given */
} optional;
static const struct {
    const char *class_name;
    optional variable[MOST];
} optionals[] = {
    {"batch_normalization",
     {{"gamma", "scale", true},
      {"beta", "center", true},
      {.name = "moving_mean"},
      {.name = "moving_variance"}}},
    {"layer_normalization", {{"gamma", "scale", true}, {"beta", "center", true}}},
    {"group_normalization", {{"gamma", "scale", true}, {"beta", "center", true}}},
    {"attention", {{"scale", "use_scale", false}, {"concat_score_weight", "score_mode", false}}},
};

/* Groups of a file that do not contain weights of layers. */
static const char *const others[] = {"optimizer", "optimizer_weights", "metrics", "seed_generator",
                                     "top_level_model_weights"};

static bool is_other(const char *key) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i]) == 0) return true;
    return strstr(key, "_metrics") || strstr(key, "_tracker");
}

/* Whether a key or a name belongs to a class: it is the class name, alone or with a number, as in
 * "batch_normalization_3". */
static bool is_class(const char *key, const char *class_name) {
    const size_t n = strlen(class_name);
    if (strncmp(key, class_name, n) != 0) return false;
    return !key[n] || (key[n] == '_' && key[n + 1 + strspn(key + n + 1, "0123456789")] == '\0');
}

/* Whether a key is `cell` or `layer`, in which an RNN or a wrapper such as TimeDistributed keeps
 * its inner layer. Such a key does not show the class of the inner layer. */
static bool is_attribute(const char *key) {
    return strcmp(key, "cell") == 0 || strcmp(key, "layer") == 0;
}

/* ---- the layer in the configuration ---- */

static bool is_named(const json_t *layer, const char *name) {
    const json_t *config = json_object_get(layer, "config");
    const char *text = json_string_value(json_object_get(config, "name"));
    return text && strcmp(text, name) == 0 && json_is_string(json_object_get(layer, "class_name"));
}

/* Returns the layer of that name in a model's list of layers, or anywhere within a layer that wraps
 * others; NULL: not found. */
static const json_t *find_layer(const json_t *within, const char *name) {
    const json_t *layers = json_object_get(within, "layers"), *value, *found = NULL;
    const char *key;
    size_t i;
    if (is_named(within, name)) return within;
    if (layers) within = layers;
    json_array_foreach(within, i, value) {
        if (!found && (!layers || is_named(value, name))) found = find_layer(value, name);
    }
    json_object_foreach((json_t *)within, key, value) {
        if (!found) found = find_layer(value, name);
    }
    return found;
}

/* Returns the object in config.json of the layer that has the variables, which is key[owner]; NULL:
 * the file has no configuration, or the layer is not listed in it, for example because it is a part
 * of another one. */
static const json_t *owner_in(const dt_hdf5_place *at, int owner) {
    const json_t *layer = at->model;
    for (int i = 0; layer && i <= owner; i++)
        if (strcmp(at->key[i], "layers") != 0)
            layer = find_layer(json_object_get(layer, "config"), at->name[i]);
    return layer;
}

/* Whether a name in camel case, such as "LSTMCell", is a class in snake case, such as
 * "lstm_cell". */
static bool is_camel(const char *camel, const char *class_name) {
    for (; *class_name; class_name++)
        if (*class_name != '_' && tolower((unsigned char)*camel++) != *class_name) return false;
    return !*camel;
}

/* ---- the names of variables ---- */

/* Whether the variables belong to a layer of that class. */
static bool has_class(const dt_hdf5_place *at, int owner, const json_t *layer,
                      const char *class_name) {
    if (layer) return is_camel(json_string_value(json_object_get(layer, "class_name")), class_name);
    return is_class(at->key[owner], class_name) ||
           (is_attribute(at->key[owner]) && is_class(at->name[owner], class_name));
}

static bool is_there(const optional *variable, const json_t *layer) {
    const json_t *config = json_object_get(layer, "config");
    if (!variable->argument) return true;
    /* With rms_scaling, LayerNormalization does not have a beta. */
    if (json_is_true(json_object_get(config, "rms_scaling")))
        return strcmp(variable->name, "gamma") == 0;
    const json_t *value = json_object_get(config, variable->argument);
    const char *text = json_string_value(value);
    return value ? json_is_true(value) || (text && strcmp(text, "concat") == 0) : variable->preset;
}

/* Returns the name of variable k of a layer, some of whose variables are optional; NULL: unknown,
 * because the layer should not have `count` variables. */
static const char *optional_name(const optional *variable, const json_t *layer, int k, int count) {
    const char *name = NULL;
    int n = 0;
    for (int i = 0; i < MOST && variable[i].name; i++)
        if (is_there(&variable[i], layer) && n++ == k) name = variable[i].name;
    return n == count ? name : NULL;
}

/* Returns the name of a variable in Keras 3's format, whose key is its number in the group, which
 * has `count` variables. owner: index of the layer's key. "": the variable is not a weight; NULL:
 * unknown. Sets *depends to whether the class is one of `optionals`; may leave it unchanged if the
 * result is NULL. */
static const char *variable_name(const dt_hdf5_place *at, int owner, int count, bool *depends) {
    const char *number = at->key[at->n - 1];
    const int k = strlen(number) == 1 && isdigit((unsigned char)*number) ? *number - '0' : MOST;
    const json_t *layer = owner_in(at, owner);
    bool listed = false;
    if (k >= count) return NULL;
    for (size_t i = 0; i < sizeof optionals / sizeof *optionals; i++) {
        *depends = has_class(at, owner, layer, optionals[i].class_name);
        if (*depends && layer) return optional_name(optionals[i].variable, layer, k, count);
        if (*depends) break;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool is = has_class(at, owner, layer, rows[i].class_name);
        const bool any = !listed && *rows[i].class_name == '*';
        listed = listed || is;
        if ((is || any) && rows[i].n == count) return k < MOST ? rows[i].name[k] : NULL;
    }
    return NULL;
}

/* Whether key i belongs to an activation that is a layer, as in Dense(4, activation=PReLU()). In
 * imported models it is the layer NAME_activation. */
static bool is_activation(const dt_hdf5_place *at, int i) {
    return i > 0 && strcmp(at->key[i], "activation") == 0 && strcmp(at->key[i - 1], "layers") != 0;
}

/* Adds the name of key i to a path. The cell of an RNN layer loses its number, as in lstm_cell_2,
 * because Keras numbers cells over the whole model. */
static void put_name(const dt_hdf5_place *at, int i, dt_str *path) {
    const char *name = is_activation(at, i) ? at->key[i] : at->name[i],
               *cell = strstr(name, "_cell_");
    const bool counted =
        strcmp(at->key[i], "cell") == 0 && cell && cell[6 + strspn(cell + 6, "0123456789")] == '\0';
    dt_str_printf(path, "%.*s", counted ? (int)(cell - name) + 5 : (int)strlen(name), name);
}

static dt_status *name_by_number(const dt_hdf5_place *at, int count, dt_arena *arena,
                                 const char **out) {
    const int owner = at->n - 3; /* index of OWNER in the path .../OWNER/vars/0 */
    dt_local_str path = {0};
    if (owner < 0) return NULL; /* such variables belong to the model itself, not to a layer */
    for (int i = 0; i <= owner; i++) {
        const bool ends =
            i == owner || (strcmp(at->key[i + 1], "layers") != 0 && !is_activation(at, i + 1));
        if (strcmp(at->key[i], "layers") == 0) continue;
        put_name(at, i, &path);
        dt_str_putc(&path, ends ? '/' : '_');
    }
    bool depends = false;
    const char *name = variable_name(at, owner, count, &depends);
    if (name && *name) *out = dt_arena_printf(arena, "%s%s", dt_str_text(&path), name);
    dt_status *bad =
        name ? NULL
             : dt_fail(DT_E_CHECKPOINT, NULL, "'%.200s' (%.80s): its %d variables have no names",
                       dt_str_text(&path), at->key[owner], count);
    if (bad && depends && !at->model)
        bad = dt_suggest(bad, "they depend on the layer's arguments, which the .keras archive of "
                              "the model has: convert that");
    return bad;
}

/* Returns the name of a variable in tf.keras' format, whose path is LAYER/.../LAYER/rest:0. */
static const char *name_by_path(const dt_hdf5_place *at, int layer, dt_arena *arena) {
    int first = layer + 1;
    dt_str path = {0};
    for (int i = layer + 1; i < at->n - 1; i++)
        if (strcmp(at->key[i], at->key[layer]) == 0) first = i + 1;
    dt_str_puts(&path, at->key[layer]);
    for (int i = first; i < at->n; i++) {
        const char *key = at->key[i], *cell = strstr(key, "_cell_"), *end = strchr(key, ':');
        /* tf.keras numbers cells over the whole model, so the number is left out */
        const size_t n = cell ? (size_t)(cell - key) + 5 : end ? (size_t)(end - key) : strlen(key);
        dt_str_printf(&path, "/%.*s", (int)n, key);
    }
    return dt_arena_take(arena, &path);
}

dt_status *dt_hdf5_name(const dt_hdf5_place *at, int count, dt_arena *arena, const char **out) {
    *out = NULL;
    for (int i = 0; i < at->n; i++)
        if (is_other(at->key[i])) return NULL;
    if (at->n >= 2 && strcmp(at->key[at->n - 2], "vars") == 0)
        return name_by_number(at, count, arena, out);
    const int layer = strcmp(at->key[0], "model_weights") == 0;
    if (at->n > layer + 1) *out = name_by_path(at, layer, arena);
    return NULL;
}
