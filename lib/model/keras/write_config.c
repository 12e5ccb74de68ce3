/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model as Keras' config.json, from which Keras builds it. Arguments are those of the tables of
 * fields; those that are known to have the default are left out, since Keras has the same defaults.
 * Layers that Keras lacks are refused.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

/* ---- what Keras lacks ---- */

static const struct {
    const char *layer, *of;
} foreign[] = {
    {"CachedMultiHeadAttention", "KerasHub"},
    {"LlamaAttention", "KerasHub"},
    {"LlamaTransformerDecoder", "KerasHub"},
    {"MaskedLMHead", "KerasHub"},
    {"PositionEmbedding", "KerasHub"},
    {"RotaryEmbedding", "KerasHub"},
    {"T5MultiHeadAttention", "KerasHub"},
    {"TokenAndPositionEmbedding", "KerasHub"},
    {"TransformerDecoder", "KerasHub"},
    {"TransformerEncoder", "KerasHub"},
    {"ViTPatchingAndEmbedding", "KerasHub"},
    {"MixtureOfExperts", "dtrain"},
    {"MultiHeadLatentAttention", "dtrain"},
    {"Take", "dtrain"},
    {"Tied", "dtrain"},
};

/* Whether the layer has the key, and its flag is set or its choice is not the first one. */
static bool flag(const dt_layer_spec *l, const char *key) {
    for (const dt_field *f = l->row->kind.fields; f && f->kind != DT_FIELD_END; f++) {
        const void *p = (const char *)l->args + f->offset;
        if (strcmp(f->name, key) != 0) continue;
        if (f->kind == DT_FIELD_BOOL) return *(const bool *)p;
        if (f->kind == DT_FIELD_ENUM) return *(const int *)p != 0;
    }
    return false;
}

static dt_status *check_layer(const dt_layer_spec *l) {
    const char *kind = l->row->kind.name;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i].layer, kind) == 0)
            return dt_suggest(
                dt_fail(DT_E_KERAS_MODEL, &l->at,
                        "layer '%.80s' is a %s of %s, which keras.layers does not have", l->name,
                        kind, foreign[i].of),
                "export ONNX, or the weights alone as .safetensors");
    if (flag(l, "use_bias") && strcmp(kind, "MultiHeadAttention") == 0 && !flag(l, "use_key_bias"))
        return dt_fail(DT_E_KERAS_MODEL, &l->at,
                       "layer '%.80s' has use_key_bias: false, which Keras does not know", l->name);
    static const char *const ours[] = {"use_output_bias", "qk_norm"};
    for (int i = 0; i < 2; i++)
        if (flag(l, ours[i]))
            return dt_fail(DT_E_KERAS_MODEL, &l->at,
                           "layer '%.80s' has %s, which Keras does not know", l->name, ours[i]);
    return NULL;
}

/* ---- arguments ---- */

typedef struct writing {
    dt_arena *arena;
    const dt_model *model;
    const dt_layer_spec *layer; /* the layer whose arguments are written */
    dt_json j;
} writing;

static dt_status *put_arguments(writing *w, const dt_named *named);

static void begin_object(dt_json *j, const char *key, const char *module, const char *class_name) {
    dt_json_open(j, key, '{');
    dt_json_string(j, "module", module);
    dt_json_string(j, "class_name", class_name);
    dt_json_null(j, "registered_name");
}

/* Writes the name of a layer, and its dtype policy unless that is Keras' default. */
static void put_head(writing *w, const dt_layer_head *head, const char *name) {
    const dt_model_spec *m = &w->model->spec;
    const int policy = head->has_dtype ? head->dtype : (int)w->model->precision;
    if (name) dt_json_string(&w->j, "name", name);
    if (policy != DT_POLICY_FLOAT32) dt_json_string(&w->j, "dtype", dt_policies[policy]);
    else if (!head->has_dtype && m->output[0].type.dtype == DT_FLOAT64)
        dt_json_string(&w->j, "dtype", "float64");
}

/* Bidirectional writes its layer for both directions. Keras would derive the backward layer from
 * the forward one, but might then take another layer of the file for it if memory was reused. */
static const char backward[] = "backward_layer";

/* Sets the name of a layer inside of another one to that in the paths of its weights. backwards:
 * for the backward layer of a Bidirectional, go_backwards is inverted, too. */
static void name_within(writing *w, bool backwards, const dt_named *named) {
    const dt_layer_spec *l = w->layer;
    const bool both = l->row == &dt_layer_bidirectional;
    if (l->n_weights == 0) return;
    const char *name = l->weight[0].path + strlen(l->name) + strlen(both ? "/forward_" : "/");
    ((dt_layer_head *)named->args)->name =
        dt_arena_printf(w->arena, "%s%.*s", both ? backwards ? "backward_" : "forward_" : "",
                        (int)strcspn(name, "/"), name);
    for (const dt_field *f = named->kind->fields; backwards && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, "go_backwards") == 0) *(bool *)((char *)named->args + f->offset) ^= 1;
}

/* Writes an argument that is an object. `noun` selects its table and Keras' module. */
static dt_status *put_object(writing *w, const char *key, const char *noun, const dt_tree *t) {
    static const struct {
        const char *noun, *module;
        const dt_kind *const *(*rows)(int *n);
    } rows[] = {{"initializer", "keras.initializers", dt_initializers},
                {"regularizer", "keras.regularizers", dt_regularizers},
                {"constraint", "keras.constraints", dt_constraints},
                {"layer", "keras.layers", dt_layers}};
    size_t k = 0;
    while (k < sizeof rows / sizeof *rows - 1 && strcmp(rows[k].noun, noun) != 0) k++;
    int n;
    dt_named named;
    const dt_kind *const *table = rows[k].rows(&n);
    DT_TRY(dt_named_read(w->arena, table, n, noun, t, &named));
    begin_object(&w->j, key, rows[k].module, named.kind->name);
    dt_json_open(&w->j, "config", '{');
    if (rows[k].rows == dt_layers) {
        name_within(w, strcmp(key, backward) == 0, &named);
        put_head(w, named.args, ((const dt_layer_head *)named.args)->name);
    }
    DT_TRY(put_arguments(w, &named));
    dt_json_close(&w->j, '}');
    dt_json_close(&w->j, '}');
    return NULL;
}

static dt_status *put_tree(writing *w, const dt_field *f, const dt_tree *t) {
    dt_local_str text = {0};
    if (!t || t->kind == DT_TREE_NULL) return NULL;
    if (f->forms && f->forms->kind == DT_FIELD_NAMED)
        return put_object(w, f->name, f->forms->noun, t);
    dt_tree_print(t, &text);
    dt_json_raw(&w->j, f->name, dt_str_text(&text));
    return NULL;
}

/* Writes EinsumDense's output_shape with sizes instead of null, because Keras cannot make weights
 * that depend on null. */
static void put_sizes(writing *w, const char *equation, const dt_tree *t) {
    const dt_type *out = &w->layer->out;
    const int n = t->kind == DT_TREE_LIST ? t->n : 1;
    const bool dots_last = equation[strlen(equation) - 1] == '.';
    const int first = dots_last ? 1 + (w->layer->row == &dt_layer_time_distributed) : out->rank - n;
    dt_json_open(&w->j, "output_shape", '[');
    for (int i = first; i < first + n; i++) dt_json_int(&w->j, NULL, out->dim[i]);
    dt_json_close(&w->j, ']');
}

/* Whether Keras' from_config() requires the argument although it has a default. */
static bool is_wanted(const dt_kind *kind, const char *key) {
    return (kind == &dt_layer_rescaling.kind && strcmp(key, "offset") == 0) ||
           (strcmp(kind->name, "Constant") == 0 && strcmp(key, "value") == 0);
}

/* Whether the value is known to be the default. Defaults other than zeros, the first choice and
 * empty lists are known only for booleans, and for fields that record whether they were set. */
static bool is_default(const dt_field *f, const void *args) {
    const void *p = (const char *)args + f->offset;
    if (f->set) return !*(const bool *)((const char *)args + f->set - 1);
    if (f->kind == DT_FIELD_BOOL)
        return *(const bool *)p == (f->preset && strcmp(f->preset, "true") == 0);
    if (f->required || (f->preset && f->kind != DT_FIELD_TEXT)) return false;
    switch (f->kind) {
    case DT_FIELD_INT: return (f->narrow ? *(const int *)p : *(const int64_t *)p) == 0;
    case DT_FIELD_REAL: return !(*(const double *)p > 0 || *(const double *)p < 0);
    case DT_FIELD_TEXT: return !*(const char *const *)p;
    case DT_FIELD_ENUM: return *(const int *)p == 0;
    case DT_FIELD_INTS: return ((const dt_ints *)p)->n == 0;
    case DT_FIELD_REALS: return ((const dt_reals *)p)->n == 0;
    default: return true;
    }
}

/* Writes a value. A list that was given as a single number is written as a number, except
 * `target_shape`, which is always a list. */
static void put_value(writing *w, const dt_field *f, const void *args) {
    const dt_ints *list = (const void *)((const char *)args + f->offset);
    if (f->kind == DT_FIELD_INTS && list->lone && strcmp(f->name, "target_shape") != 0)
        dt_json_int(&w->j, f->name, list->v[0]);
    else dt_config_field(f, args, &w->j);
}

/* Whether a key of a layer is written elsewhere, with the layer's call or by put_head, or has a
 * meaning only with an argument that check_layer refuses: layer_norm_epsilon with qk_norm. */
static bool is_elsewhere(const char *key) {
    static const char *const keys[] = {"inputs",
                                       "name",
                                       "dtype",
                                       "use_causal_mask",
                                       "use_attention_mask",
                                       "return_attention_scores",
                                       "layer_norm_epsilon",
                                       "weights_of"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

static dt_status *put_arguments(writing *w, const dt_named *named) {
    /* the equation of EinsumDense, which precedes output_shape in the table of fields */
    const char *equation = NULL;
    for (const dt_field *f = named->kind->fields; f && f->kind != DT_FIELD_END; f++) {
        const void *p = (const char *)named->args + f->offset;
        if (is_elsewhere(f->name) || (f->kind != DT_FIELD_TREE && is_default(f, named->args) &&
                                      !is_wanted(named->kind, f->name)))
            continue;
        if (strcmp(f->name, "equation") == 0) equation = *(const char *const *)p;
        if (equation && strcmp(f->name, "output_shape") == 0)
            put_sizes(w, equation, *(const dt_tree *const *)p);
        else if (f->kind == DT_FIELD_TREE) DT_TRY(put_tree(w, f, *(const dt_tree *const *)p));
        else put_value(w, f, named->args);
        if (named->kind == &dt_layer_bidirectional.kind && strcmp(f->name, "layer") == 0)
            DT_TRY(put_object(w, backward, "layer", *(const dt_tree *const *)p));
    }
    return NULL;
}

/* ---- configurations of layers ---- */

static void put_shape(writing *w, const char *key, const dt_type *type) {
    dt_json_open(&w->j, key, '[');
    dt_json_null(&w->j, NULL);
    for (int i = 1; i < type->rank; i++) dt_json_int(&w->j, NULL, type->dim[i]);
    dt_json_close(&w->j, ']');
}

static dt_status *put_config(writing *w, const dt_layer_spec *l) {
    const dt_named named = {.kind = &l->row->kind, .args = (void *)l->args};
    w->layer = l;
    dt_json_open(&w->j, "config", '{');
    if (l->row == &dt_layer_input) {
        put_shape(w, "batch_shape", &l->out);
        dt_json_string(&w->j, "dtype", dt_dtype_name(l->out.dtype));
        dt_json_string(&w->j, "name", l->name);
    } else {
        put_head(w, l->args, l->name);
        DT_TRY(put_arguments(w, &named));
    }
    dt_json_close(&w->j, '}');
    return NULL;
}

/* ---- calls, and whole layers ---- */

/* Writes [LAYER, CALL, TENSOR]. A layer with weights_of becomes a later call of the other layer.
 * TENSOR is dt_layer_spec.taken: 0, or for a LayerOutput the index of the output that it takes. */
static void put_history(writing *w, const char *key, int layer) {
    const dt_layer_spec *all = w->model->spec.layer;
    const int tensor = all[layer].taken;
    int call = 0;
    if (tensor) layer = all[layer].from[0];
    for (int i = 0; i < layer; i++) call += all[i].owner == all[layer].owner;
    dt_json_open(&w->j, key, '[');
    dt_json_string(&w->j, NULL, all[all[layer].owner].name);
    dt_json_int(&w->j, NULL, call);
    dt_json_int(&w->j, NULL, tensor);
    dt_json_close(&w->j, ']');
}

static void put_tensor(writing *w, const char *key, int layer) {
    const dt_layer_spec *l = &w->model->spec.layer[layer];
    dt_json_open(&w->j, key, '{');
    dt_json_string(&w->j, "class_name", "__keras_tensor__");
    dt_json_open(&w->j, "config", '{');
    put_shape(w, "shape", &l->out);
    dt_json_string(&w->j, "dtype", dt_dtype_name(l->out.dtype));
    put_history(w, "keras_history", layer);
    dt_json_close(&w->j, '}');
    dt_json_close(&w->j, '}');
}

/* Returns how many inputs of a recurrent layer are initial states; 0 for other layers. */
static int states_of(const dt_layer_spec *l) {
    const bool joins = l->row->least > 1, attends = dt_keras_has_heads(l->row);
    return joins || attends || l->n_in < 2 ? 0 : l->n_in - 1;
}

static void put_states(writing *w, const dt_layer_spec *l, int first) {
    if (first == l->n_in) return;
    dt_json_open(&w->j, "initial_state", '[');
    for (int k = first; k < l->n_in; k++) put_tensor(w, NULL, l->from[k]);
    dt_json_close(&w->j, ']');
}

/* Writes the arguments of a call. A layer of several inputs has one list of them. Attention with
 * heads has query, value and key as arguments, and recurrent layers have their states.
 * Self-attention gets its input twice. */
static void put_call(writing *w, const dt_layer_spec *l) {
    const bool heads = dt_keras_has_heads(l->row), masked = flag(l, "use_attention_mask"),
               attends =
                   heads || l->row == &dt_layer_attention || l->row == &dt_layer_additive_attention,
               list = !heads && l->n_in - states_of(l) > 1;
    const int n = l->n_in - masked - states_of(l);
    dt_json_open(&w->j, NULL, '{');
    dt_json_open(&w->j, "args", '[');
    if (list) dt_json_open(&w->j, NULL, '[');
    for (int k = 0; k < n; k++) put_tensor(w, NULL, l->from[k]);
    if (attends && n == 1) put_tensor(w, NULL, l->from[0]);
    if (list) dt_json_close(&w->j, ']');
    dt_json_close(&w->j, ']');
    dt_json_open(&w->j, "kwargs", '{');
    if (masked) put_tensor(w, "attention_mask", l->from[n]);
    else put_states(w, l, n);
    if (flag(l, "use_causal_mask")) dt_json_bool(&w->j, "use_causal_mask", true);
    if (flag(l, "return_attention_scores")) dt_json_bool(&w->j, "return_attention_scores", true);
    dt_json_close(&w->j, '}');
    dt_json_close(&w->j, '}');
}

/* Checks that a layer with `weights_of` has the same arguments as the owner of its weights, because
 * in Keras a layer has one set of arguments for all of its calls. */
static dt_status *check_call(const writing *w, const dt_layer_spec *owner,
                             const dt_layer_spec *call) {
    dt_layer_spec other = *owner;
    dt_str text[2] = {0};
    dt_status *s = NULL;
    other.args = call->args;
    for (int i = 0; i < 2 && !s; i++) {
        writing own = *w;
        own.j = (dt_json){.out = &text[i]};
        s = put_config(&own, i ? &other : owner);
    }
    if (!s && strcmp(dt_str_text(&text[0]), dt_str_text(&text[1])) != 0)
        s = dt_suggest(dt_fail(DT_E_KERAS_MODEL, &call->at,
                               "layer '%.80s' uses the weights of '%.80s' with other arguments, "
                               "which Keras' calls of a layer cannot have",
                               call->name, owner->name),
                       "export ONNX, or the weights alone as .safetensors");
    for (int i = 0; i < 2; i++) dt_str_release(&text[i]);
    return s;
}

static dt_status *put_layer(writing *w, int i, bool functional) {
    const dt_model_spec *m = &w->model->spec;
    const dt_layer_spec *l = &m->layer[i];
    const bool input = l->row == &dt_layer_input;
    DT_TRY(check_layer(l));
    begin_object(&w->j, NULL, "keras.layers", input ? "InputLayer" : l->row->kind.name);
    DT_TRY(put_config(w, l));
    if (functional) {
        dt_json_string(&w->j, "name", l->name);
        dt_json_open(&w->j, "inbound_nodes", '[');
        for (int k = i; !input && k < m->n_layers; k++) {
            if (m->layer[k].owner != i) continue;
            if (k > i) DT_TRY(check_call(w, l, &m->layer[k]));
            put_call(w, &m->layer[k]);
        }
        dt_json_close(&w->j, ']');
    }
    dt_json_close(&w->j, '}');
    return NULL;
}

/* ---- the model ---- */

/* Writes the histories, [LAYER, CALL, TENSOR], of these layers' values: a list, or a single one
 * without a list. */
static void put_histories(writing *w, const char *key, const int *layer, int n) {
    if (n > 1) dt_json_open(&w->j, key, '[');
    for (int i = 0; i < n; i++) put_history(w, n > 1 ? NULL : key, layer[i]);
    if (n > 1) dt_json_close(&w->j, ']');
}

static void put_ends(writing *w) {
    const dt_model_spec *m = &w->model->spec;
    int input[DT_MAX_INPUTS], output[DT_MAX_OUTPUTS], n = 0;
    for (int i = 0; i < m->n_layers; i++)
        if (m->layer[i].row == &dt_layer_input) input[n++] = i;
    for (int i = 0; i < m->n_outputs; i++) output[i] = m->output[i].layer;
    put_histories(w, "input_layers", input, m->n_inputs);
    put_histories(w, "output_layers", output, m->n_outputs);
}

dt_status *dt_keras_config_print(dt_arena *arena, const dt_model *model, const char *name,
                                 dt_str *out) {
    const dt_model_spec *m = &model->spec;
    const bool functional = !dt_keras_is_sequential(m);
    writing w = {.arena = arena, .model = model, .j = {.out = out}};
    dt_status *faults = NULL;
    if (functional) begin_object(&w.j, NULL, "keras.src.models.functional", "Functional");
    else begin_object(&w.j, NULL, "keras", "Sequential");
    dt_json_open(&w.j, "config", '{');
    dt_json_string(&w.j, "name", name);
    dt_json_bool(&w.j, "trainable", true);
    dt_json_open(&w.j, "layers", '[');
    for (int i = 0; i < m->n_layers; i++)
        if (m->layer[i].owner == i && !m->layer[i].taken)
            dt_status_append(&faults, put_layer(&w, i, functional));
    dt_json_close(&w.j, ']');
    if (functional) put_ends(&w);
    dt_json_close(&w.j, '}');
    dt_json_null(&w.j, "compile_config");
    dt_json_close(&w.j, '}');
    return faults;
}
