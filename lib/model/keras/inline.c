/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models within the model, and layers that are called several times. Both become layers of one
 * functional model, each of which is called once:
 *
 *     y = base(x)                    ──▶    base_conv, base_relu
 *     y = dense(a), z = dense(b)     ──▶    dense, dense_1 with weights_of: dense
 *
 * A scope is a call of a model; the calls of the model's layers belong to it. Layers are written
 * after their inputs. As in Keras, the argument `training` of a model's call does not change how
 * its layers train, and all layers of a frozen model are frozen.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/keras/keras_impl.h"

enum { MOST_CALLS = 4000, MOST_SCOPES = 1000, MOST_DEPTH = 16, MOST_STEPS = 50000 };

/* A call of a model within the imported model, or the imported model itself. */
typedef struct scope {
    /* the call that contains this one; NULL: this is the whole model */
    const struct scope *parent;
    int layer, call; /* the model's index among the layers of the parent; the index of the call */
    int depth;
    const dt_tree *config, *layers;
    bool functional, frozen;
    const char *prefix; /* prefix of the names that the layers of the called model get */
} scope;

/* An output of a layer, in a certain call of the layer. */
typedef struct source {
    const scope *in;
    int layer, call, output;
} source;

/* A call of a layer to be written into the list. The layer is not itself a model. */
typedef struct item {
    source of;
    const char *name;
    dt_tree *layer; /* the layer as it is written; NULL: its inputs are being written */
} item;

typedef struct inlining {
    dt_arena *arena;
    /* n_scopes: number of scopes, that of the imported model included; n: number of items; steps:
     * how often values were followed into or out of models, which is limited */
    int n_scopes, n, steps;
    scope *scope[MOST_SCOPES];
    item *item;         /* [n] the calls written or being written */
    const item *needed; /* [n_needed] the calls on which the model's outputs depend */
    int n_needed;
    dt_tree *list; /* the list of layers that is written, in order */
} inlining;

/* ---- layers as Keras writes them ---- */

static const dt_tree *config_of(const dt_tree *layer) { return dt_tree_get(layer, "config"); }

static bool is_text(const dt_tree *t, const char *text) {
    return t && t->kind == DT_TREE_SCALAR && strcmp(t->text, text) == 0;
}

static bool is_class(const dt_tree *layer, const char *name) {
    return is_text(dt_tree_get(layer, "class_name"), name);
}

static bool is_model(const dt_tree *layer) {
    return is_class(layer, "Functional") || is_class(layer, "Sequential");
}

static const dt_tree *calls_of(const dt_tree *layer) {
    const dt_tree *nodes = dt_tree_get(layer, "inbound_nodes");
    return nodes && nodes->kind == DT_TREE_LIST ? nodes : NULL;
}

static dt_status *name_of(const dt_tree *layer, const char **out) {
    dt_tree *name;
    if (!config_of(layer)) return dt_fail(DT_E_KERAS_MODEL, &layer->at, "missing key 'config'");
    DT_TRY(dt_keras_member(config_of(layer), "name", DT_TREE_SCALAR, &name));
    *out = name->text;
    return NULL;
}

static bool read_number(const dt_tree *t, int most, int *out) {
    char *end;
    if (t->kind != DT_TREE_SCALAR || !*t->text) return false;
    const long n = strtol(t->text, &end, 10);
    *out = (int)n;
    return !*end && n >= 0 && n < most;
}

static dt_status *find_layer(const scope *s, const dt_tree *name, int *out) {
    for (*out = 0; *out < s->layers->n; ++*out)
        if (is_text(dt_tree_get(config_of(s->layers->item[*out]), "name"), name->text)) return NULL;
    return dt_fail(DT_E_KERAS_MODEL, &name->at, "the model has no layer '%.80s'", name->text);
}

/* Reads [LAYER, CALL, OUTPUT]. end: the value is in `input_layers` or `output_layers`, where CALL
 * counts from 1 if the layer is a functional model. */
static dt_status *read_history(const scope *s, const dt_tree *t, bool end, source *out) {
    *out = (source){.in = s};
    if (t->kind != DT_TREE_LIST || t->n != 3 || t->item[0]->kind != DT_TREE_SCALAR ||
        !read_number(t->item[1], MOST_CALLS, &out->call) ||
        !read_number(t->item[2], MOST_CALLS, &out->output))
        return dt_fail(DT_E_KERAS_MODEL, &t->at,
                       "expected [LAYER, 0, 0], as Keras 3 writes the source of a value");
    DT_TRY(find_layer(s, t->item[0], &out->layer));
    if (end && out->call > 0) out->call -= is_class(s->layers->item[out->layer], "Functional");
    const dt_tree *calls = calls_of(s->layers->item[out->layer]);
    if (out->call < (calls && calls->n > 0 ? calls->n : 1)) return NULL;
    return dt_fail(DT_E_KERAS_MODEL, &t->item[1]->at, "layer '%.80s' has no call %d",
                   t->item[0]->text, out->call);
}

/* Whether t is [LAYER, CALL, OUTPUT], as in `input_layers` and `output_layers`, and not a list of
 * numbers. */
static bool is_bare(const dt_tree *t) {
    int n;
    return t->kind == DT_TREE_LIST && t->n == 3 && t->item[0]->kind == DT_TREE_SCALAR &&
           read_number(t->item[1], MOST_CALLS, &n) && !read_number(t->item[0], INT_MAX, &n);
}

static int by_key(const void *a, const void *b) {
    const dt_entry *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Returns the number of histories (sources of values, [LAYER, CALL, OUTPUT]) in t, and sets *found
 * to history k. Histories in a dictionary are in the order of its keys, as in Keras. Recursion is
 * limited by the depth of the file. */
static int find_history(const dt_tree *t, int k, const dt_tree **found) {
    const dt_tree *history = dt_keras_history(t);
    const size_t size = (size_t)t->n * sizeof *t->entry;
    int n = 0;
    if (!history && is_bare(t)) history = t;
    if (history && k == 0) *found = history;
    if (history || (t->kind != DT_TREE_LIST && t->kind != DT_TREE_MAP)) return history != NULL;
    dt_entry *entry = NULL;
    if (t->kind == DT_TREE_MAP && t->n > 0) {
        entry = memcpy(dt_alloc(size), t->entry, size);
        qsort(entry, (size_t)t->n, sizeof *entry, by_key);
    }
    for (int i = 0; i < t->n; i++)
        n += find_history(entry ? entry[i].value : t->item[i], k - n, found);
    free(entry);
    return n;
}

/* ---- scopes ---- */

static const dt_tree *layer_of(const source *s) { return s->in->layers->item[s->layer]; }

static dt_status *open_scope(inlining *x, const dt_tree *model, scope s) {
    dt_tree *config, *layers;
    DT_TRY(dt_keras_member(model, "config", DT_TREE_MAP, &config));
    DT_TRY(dt_keras_member(config, "layers", DT_TREE_LIST, &layers));
    s.depth = s.parent ? s.parent->depth + 1 : 0;
    if (s.depth > MOST_DEPTH || x->n_scopes == MOST_SCOPES)
        return dt_fail(DT_E_JOB_LIMIT, &model->at,
                       "models within models: more than %d levels or %d calls", MOST_DEPTH,
                       MOST_SCOPES);
    if (layers->n == 0) return dt_fail(DT_E_KERAS_MODEL, &layers->at, "the model has no layers");
    s.config = config;
    s.layers = layers;
    s.functional = is_class(model, "Functional");
    s.frozen = (s.parent && s.parent->frozen) || is_text(dt_tree_get(config, "trainable"), "false");
    x->scope[x->n_scopes] = dt_arena_copy(x->arena, &s, sizeof s);
    x->n_scopes++;
    return NULL;
}

static bool has_layer(const scope *s, const char *name) {
    for (int i = 0; i < s->layers->n; i++)
        if (is_text(dt_tree_get(config_of(s->layers->item[i]), "name"), name)) return true;
    return false;
}

/* Returns the name of a call: the scope's prefix and the layer's name, with a number from the
 * second call on. Since Keras numbers layers in the same way, a call is named dense_call_1 if a
 * layer has the name dense_1. */
static const char *call_name(inlining *x, const scope *in, const char *name, int call) {
    if (call) {
        const char *numbered = dt_arena_printf(x->arena, "%s_%d", name, call);
        name = has_layer(in, numbered) ? dt_arena_printf(x->arena, "%s_call_%d", name, call)
                                       : numbered;
    }
    return dt_arena_printf(x->arena, "%s%s", in->prefix, name);
}

static dt_status *find_scope(inlining *x, const source *s, const scope **out) {
    const char *name;
    for (int i = 0; i < x->n_scopes; i++) {
        *out = x->scope[i];
        if ((*out)->parent == s->in && (*out)->layer == s->layer && (*out)->call == s->call)
            return NULL;
    }
    DT_TRY(name_of(layer_of(s), &name));
    const char *prefix = dt_arena_printf(x->arena, "%s_", call_name(x, s->in, name, s->call));
    DT_TRY(
        open_scope(x, layer_of(s),
                   (scope){.parent = s->in, .layer = s->layer, .call = s->call, .prefix = prefix}));
    *out = x->scope[x->n_scopes - 1];
    return NULL;
}

/* ---- where values come from ---- */

/* Returns the history, [LAYER, CALL, OUTPUT], of input k of a scope among the arguments of its
 * call; NULL: not given. If the model has a list of inputs, a dictionary of arguments is read by
 * the names of these inputs. */
static const dt_tree *find_argument(const scope *in, const dt_tree *args, int k) {
    const dt_tree *inputs = dt_tree_get(in->config, "input_layers"), *history = NULL, *input = NULL;
    if (!args) return NULL;
    const dt_tree *first = args->kind == DT_TREE_LIST && args->n > 0 ? args->item[0] : args;
    const bool named = first->kind == DT_TREE_MAP && !dt_keras_history(first) && inputs &&
                       inputs->kind == DT_TREE_LIST;
    if (named) find_history(inputs, k, &input);
    if (named && input) {
        args = dt_tree_get(first, input->item[0]->text);
        k = 0;
    }
    if (args) find_history(args, k, &history);
    return history;
}

/* Sets *s to the source of input k of the scope, in its parent. */
static dt_status *step_out(source *s, int k) {
    const scope *in = s->in, *parent = in->parent;
    const dt_tree *model = parent->layers->item[in->layer];
    if (!parent->functional && in->layer > 0 && k == 0) {
        *s = (source){.in = parent, .layer = in->layer - 1};
        return NULL;
    }
    const dt_tree *calls = parent->functional ? calls_of(model) : NULL;
    const dt_tree *call = calls && in->call < calls->n ? calls->item[in->call] : NULL;
    const dt_tree *history = find_argument(in, dt_tree_get(call, "args"), k);
    if (!history)
        history = find_argument(in, dt_tree_get(dt_tree_get(call, "kwargs"), "inputs"), k);
    if (history) return read_history(parent, history, false, s);
    return dt_fail(DT_E_KERAS_MODEL, &model->at, "this model is called without its input %d", k);
}

/* *s must be an output of a model within the model. Sets *s to the layer in that model that
 * computes it. */
static dt_status *step_in(inlining *x, source *s) {
    const scope *in;
    const dt_tree *history = NULL, *model = layer_of(s);
    const int output = s->output;
    DT_TRY(find_scope(x, s, &in));
    if (!in->functional && output == 0) {
        *s = (source){.in = in, .layer = in->layers->n - 1};
        return NULL;
    }
    const dt_tree *outputs = dt_tree_get(in->config, "output_layers");
    if (in->functional && outputs) find_history(outputs, output, &history);
    if (history) return read_history(in, history, true, s);
    return dt_fail(DT_E_KERAS_MODEL, &model->at, "this model has no output %d", output);
}

/* Sets *out to the index of an input layer among the inputs of its model; 0 if that is
 * sequential. */
static dt_status *input_number(const source *s, int *out) {
    const dt_tree *inputs = dt_tree_get(s->in->config, "input_layers"), *history = NULL;
    const char *name;
    *out = 0;
    if (!s->in->functional) return NULL;
    DT_TRY(name_of(layer_of(s), &name));
    for (; inputs && *out < find_history(inputs, *out, &history); ++*out)
        if (is_text(history->item[0], name)) return NULL;
    return dt_fail(DT_E_KERAS_MODEL, &layer_of(s)->at, "'%.80s' is not in 'input_layers'", name);
}

/* Follows a value into and out of models to the layer that computes it. */
static dt_status *resolve(inlining *x, source *s) {
    for (; x->steps < MOST_STEPS; x->steps++) {
        int k;
        if (is_model(layer_of(s))) {
            DT_TRY(step_in(x, s));
        } else if (s->in->parent && is_class(layer_of(s), "InputLayer")) {
            DT_TRY(input_number(s, &k));
            DT_TRY(step_out(s, k));
        } else {
            return NULL;
        }
    }
    return dt_fail(DT_E_JOB_LIMIT, &layer_of(s)->at,
                   "the calls of models form a cycle, or too long a chain");
}

/* ---- writing ---- */

static dt_status *write_call(inlining *x, const source *of, const item **out);

static dt_tree *make_list(inlining *x, const dt_location *at, int most) {
    dt_tree *t = dt_arena_new(x->arena, dt_tree);
    *t = (dt_tree){
        .kind = DT_TREE_LIST, .at = *at, .item = dt_arena_array(x->arena, dt_tree *, most + 1)};
    return t;
}

/* Sets *out to [LAYER, 0, OUTPUT] of the layer that computes the value, which is written first if
 * necessary. */
static dt_status *write_history(inlining *x, source s, const dt_location *at, dt_tree **out) {
    const item *from;
    DT_TRY(resolve(x, &s));
    DT_TRY(write_call(x, &s, &from));
    *out = make_list(x, at, 3);
    (*out)->item[0] = dt_keras_scalar(x->arena, at, from->name);
    (*out)->item[1] = dt_keras_scalar(x->arena, at, "0");
    (*out)->item[2] = dt_keras_scalar(x->arena, at, dt_arena_printf(x->arena, "%d", s.output));
    (*out)->n = 3;
    return NULL;
}

static dt_tree *make_tensor(inlining *x, dt_tree *history) {
    dt_tree *t = dt_keras_map(x->arena, &history->at, 2),
            *config = dt_keras_map(x->arena, &history->at, 1);
    dt_keras_put(config, "keras_history", &history->at, history);
    dt_keras_put(t, "class_name", &history->at,
                 dt_keras_scalar(x->arena, &history->at, "__keras_tensor__"));
    dt_keras_put(t, "config", &history->at, config);
    return t;
}

/* Copies arguments or outputs, and replaces each source of a value by the layer in the resulting
 * model. */
static dt_status *write_values(inlining *x, const scope *in, const dt_tree *t, dt_tree **out) {
    const dt_tree *tensor = dt_keras_history(t);
    dt_status *faults = NULL;
    source s;
    if (tensor || is_bare(t)) {
        DT_TRY(read_history(in, tensor ? tensor : t, !tensor, &s));
        DT_TRY(write_history(x, s, &t->at, out));
        if (tensor) *out = make_tensor(x, *out);
        return NULL;
    }
    *out = dt_tree_copy(x->arena, t);
    for (int i = 0; i < t->n && t->kind != DT_TREE_SCALAR; i++) {
        const bool map = t->kind == DT_TREE_MAP;
        dt_status_append(&faults, write_values(x, in, map ? t->entry[i].value : t->item[i],
                                               map ? &(*out)->entry[i].value : &(*out)->item[i]));
    }
    return faults;
}

/* Writes the call of a layer of a sequential model. */
static dt_status *write_sequential(inlining *x, const source *of, dt_tree **out) {
    const dt_location *at = &layer_of(of)->at;
    source s = {.in = of->in, .layer = of->layer - 1};
    dt_tree *history, *args = make_list(x, at, 1);
    if (of->layer == 0 && !of->in->parent)
        return dt_fail(DT_E_KERAS_MODEL, at, "the model has no input");
    if (of->layer == 0) {
        s.layer = 0;
        DT_TRY(step_out(&s, 0));
    }
    DT_TRY(write_history(x, s, at, &history));
    args->item[args->n++] = make_tensor(x, history);
    *out = dt_keras_map(x->arena, at, 2);
    dt_keras_put(*out, "args", at, args);
    dt_keras_put(*out, "kwargs", at, dt_keras_map(x->arena, at, 0));
    return NULL;
}

static dt_status *write_inputs(inlining *x, const source *of, dt_tree *layer) {
    const dt_location *at = &layer->at;
    const dt_tree *calls = calls_of(layer_of(of));
    dt_tree *nodes = make_list(x, at, 1);
    if (is_class(layer, "InputLayer")) {
    } else if (!of->in->functional) {
        DT_TRY(write_sequential(x, of, &nodes->item[nodes->n++]));
    } else if (calls && of->call < calls->n) {
        DT_TRY(write_values(x, of->in, calls->item[of->call], &nodes->item[nodes->n++]));
    }
    dt_keras_drop(layer, "inbound_nodes");
    dt_keras_put(layer, "inbound_nodes", at, nodes);
    return NULL;
}

/* Sets *of to the first call of the same layer, in the first calls of the models that contain it.
 * *other: whether *of was another call. */
static dt_status *first_call(inlining *x, source *of, bool *other) {
    const scope *chain[MOST_DEPTH + 1];
    int n = 0;
    for (const scope *s = of->in; s->parent; s = s->parent) chain[n++] = s;
    *other = of->call > 0;
    const scope *in = x->scope[0];
    while (n-- > 0) {
        *other |= chain[n]->call > 0;
        DT_TRY(find_scope(x, &(source){.in = in, .layer = chain[n]->layer}, &in));
    }
    *of = (source){.in = in, .layer = of->layer};
    return NULL;
}

/* Sets the configuration of the written layer: its name, whether it trains, and whose weights it
 * uses. */
static dt_status *write_config(inlining *x, const item *it, dt_tree *layer) {
    const dt_tree *old = config_of(layer);
    dt_tree *config = dt_keras_map(x->arena, &old->at, old->n);
    source first = it->of;
    bool other = false;
    for (int i = 0; i < old->n; i++) config->entry[config->n++] = old->entry[i];
    dt_keras_drop(config, "name");
    dt_keras_put(config, "name", &old->at, dt_keras_scalar(x->arena, &old->at, it->name));
    if (it->of.in->frozen) {
        dt_keras_drop(config, "trainable");
        dt_keras_put(config, "trainable", &old->at, dt_keras_scalar(x->arena, &old->at, "false"));
    }
    DT_TRY(first_call(x, &first, &other));
    const item *owner = NULL;
    if (other) DT_TRY(write_call(x, &first, &owner));
    if (owner)
        dt_keras_put(config, "weights_of", &old->at,
                     dt_keras_scalar(x->arena, &old->at, owner->name));
    dt_keras_drop(layer, "config");
    dt_keras_put(layer, "config", &old->at, config);
    return NULL;
}

/* Returns the index in all[n] of a call of a layer; n: it is not there. */
static int find_item(const item *all, int n, const source *of) {
    for (int i = 0; i < n; i++) {
        const source *s = &all[i].of;
        if (s->in == of->in && s->layer == of->layer && s->call == of->call) return i;
    }
    return n;
}

/* Writes a call of a layer, after the calls that it reads, unless it was written before. */
static dt_status *write_call(inlining *x, const source *of, const item **out) {
    const dt_tree *raw = layer_of(of);
    const char *name;
    const int k = find_item(x->item, x->n, of);
    item *it = &x->item[k];
    *out = it;
    if (k < x->n && it->layer) return NULL;
    if (k < x->n)
        return dt_fail(DT_E_KERAS_MODEL, &raw->at, "the calls of this layer form a cycle");
    if (x->n == MOST_CALLS)
        return dt_fail(DT_E_JOB_LIMIT, &raw->at, "more than %d calls of layers", MOST_CALLS);
    DT_TRY(name_of(raw, &name));
    x->n++;
    *it = (item){.of = *of, .name = call_name(x, of->in, name, of->call)};
    dt_tree *layer = dt_keras_map(x->arena, &raw->at, raw->n);
    for (int i = 0; i < raw->n; i++) layer->entry[layer->n++] = raw->entry[i];
    DT_TRY(write_inputs(x, of, layer));
    DT_TRY(write_config(x, it, layer));
    it->layer = x->list->item[x->list->n++] = layer;
    return NULL;
}

/* ---- the model ---- */

static bool is_plain(const dt_tree *layers) {
    for (int i = 0; layers && layers->kind == DT_TREE_LIST && i < layers->n; i++) {
        const dt_tree *layer = layers->item[i], *calls = calls_of(layer);
        if (is_model(layer) || (calls && calls->n > 1)) return false;
    }
    return true;
}

/* Writes the calls of all layers of a scope; in a model within the model, only calls that outputs
 * need. Recursion is limited by the scope's depth. */
static dt_status *write_scope(inlining *x, const scope *in) {
    dt_status *faults = NULL;
    for (int i = 0; i < in->layers->n; i++) {
        const dt_tree *layer = in->layers->item[i], *calls = calls_of(layer);
        if (in->parent && is_class(layer, "InputLayer")) continue;
        for (int k = 0; k == 0 || (in->functional && calls && k < calls->n); k++) {
            const source of = {.in = in, .layer = i, .call = k};
            const scope *inner;
            const item *it;
            if (in->parent && !is_model(layer) &&
                find_item(x->needed, x->n_needed, &of) == x->n_needed)
                continue;
            dt_status *s = is_model(layer) ? find_scope(x, &of, &inner) : write_call(x, &of, &it);
            if (!s && is_model(layer)) s = write_scope(x, inner);
            dt_status_append(&faults, s);
            if (s) return faults;
        }
    }
    return NULL;
}

static dt_status *write_outputs(inlining *x, dt_tree *config) {
    const scope *all = x->scope[0];
    const dt_tree *written = dt_tree_get(all->config, "output_layers");
    dt_tree *outputs;
    if (!all->functional)
        DT_TRY(write_history(x, (source){.in = all, .layer = all->layers->n - 1}, &all->layers->at,
                             &outputs));
    else if (written) DT_TRY(write_values(x, all, written, &outputs));
    /* There is no `output_layers`: the code that reads outputs later reports the error. */
    else return NULL;
    dt_keras_put(config, "output_layers", &outputs->at, outputs);
    return NULL;
}

dt_status *dt_keras_inline(dt_arena *arena, const dt_tree **root) {
    const dt_tree *layers = dt_tree_get(config_of(*root), "layers");
    if (is_plain(layers)) return NULL;
    inlining *x = dt_arena_new(arena, inlining);
    *x = (inlining){
        .arena = arena, .item = dt_arena_array(arena, item, MOST_CALLS + 1), .list = NULL};
    x->list = make_list(x, &layers->at, MOST_CALLS);
    DT_TRY(open_scope(x, *root, (scope){.prefix = ""}));
    dt_tree *config = dt_keras_map(arena, &(*root)->at, 2), *out = dt_tree_copy(arena, *root);
    /* Outputs are written first, since they decide which calls are needed. */
    DT_TRY(write_outputs(x, config));
    x->needed = x->item;
    x->n_needed = x->n;
    x->item = dt_arena_array(arena, item, MOST_CALLS + 1);
    x->n = x->list->n = 0; /* the calls are written again, in the order of the file */
    DT_TRY(write_scope(x, x->scope[0]));
    dt_keras_put(config, "layers", &layers->at, x->list);
    for (int i = 0; i < out->n; i++) {
        if (strcmp(out->entry[i].key, "config") == 0) out->entry[i].value = config;
        if (strcmp(out->entry[i].key, "class_name") == 0)
            out->entry[i].value = dt_keras_scalar(arena, &out->entry[i].value->at, "Functional");
    }
    *root = out;
    return NULL;
}
