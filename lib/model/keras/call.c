/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls. A functional model remembers how each of its layers was called:
 *
 *     "inbound_nodes": [{"args": [TENSOR, [TENSOR, TENSOR]],
 *                        "kwargs": {"mask": TENSOR, "training": false}}]
 *     TENSOR = {"class_name": "__keras_tensor__",
 *               "config": {"keras_history": ["dense", 0, 0], ...}}
 *
 * The tensors, in the order of the arguments, become the layer's `inputs`; attention's `query`,
 * `value`, `key` and `attention_mask` have that order, however they were given. Of the other
 * arguments, masks are compared with those that dtrain passes (mask.c), some become arguments of
 * the layer, some repeat a default, and the rest are refused by name. Each layer has one call: see
 * inline.c.
 */
#include <stdlib.h>
#include <string.h>

#include "model/keras/keras_impl.h"

/* ---- tensors ---- */

dt_keras_layer *dt_keras_find(const dt_keras_model *m, int n, const char *name) {
    const size_t length = strcspn(name, "/");
    for (int i = 0; i < n; i++) {
        const char *own = m->layer[i].name;
        if (own && strncmp(own, name, length) == 0 && !own[length]) return &m->layer[i];
    }
    return NULL;
}

const dt_tree *dt_keras_history(const dt_tree *value) {
    const dt_tree *class_name = dt_tree_get(value, "class_name");
    if (!class_name || class_name->kind != DT_TREE_SCALAR ||
        strcmp(class_name->text, "__keras_tensor__") != 0)
        return NULL;
    const dt_tree *history = dt_tree_get(dt_tree_get(value, "config"), "keras_history");
    return history ? history : value;
}

enum { MOST_TENSORS = 1000 };

static bool is_zero(const dt_tree *t) {
    return t->kind == DT_TREE_SCALAR && strcmp(t->text, "0") == 0;
}

dt_status *dt_keras_tensor_name(dt_arena *arena, const dt_tree *history, const dt_tree **name) {
    int64_t tensor = -1;
    if (history->kind != DT_TREE_LIST || history->n != 3 ||
        history->item[0]->kind != DT_TREE_SCALAR)
        return dt_fail(DT_E_KERAS_MODEL, &history->at,
                       "expected [LAYER, 0, 0], as Keras 3 writes the source of a value");
    *name = history->item[0];
    if (!is_zero(history->item[1]))
        return dt_fail(DT_E_KERAS_MODEL, &history->item[1]->at,
                       "uses a later call of layer '%.80s', which is called once", (*name)->text);
    DT_TRY(dt_tree_int(history->item[2], "tensor", 0, MOST_TENSORS, &tensor));
    if (tensor > 0)
        *name = dt_keras_scalar(arena, &(*name)->at,
                                dt_arena_printf(arena, "%s/%d", (*name)->text, (int)tensor));
    return NULL;
}

/* Adds the names of all tensors in a value, in order. Refuses values other than tensors, lists
 * and null. */
static dt_status *add_tensors(const dt_tree *value, dt_keras_tensors *out) {
    const dt_tree *history = dt_keras_history(value);
    dt_status *faults = NULL;
    if (history) {
        DT_GROW(out->name, out->cap, out->n + 1);
        DT_TRY(dt_keras_tensor_name(out->arena, history, &out->name[out->n]));
        out->n++;
    } else if (value->kind == DT_TREE_LIST) {
        for (int i = 0; i < value->n; i++)
            dt_status_append(&faults, add_tensors(value->item[i], out));
    } else if (value->kind != DT_TREE_NULL) {
        return dt_suggest(
            dt_fail(DT_E_KERAS_MODEL, &value->at,
                    "a layer is called with a value that is not the output of a layer"),
            "numbers: x + 3.0, 1 - x, x * 0.5, x / 6; other operations take layers only");
    }
    return faults;
}

/* ---- arguments ---- */

/* Arguments of a call that are inputs of the layer, in the order of dtrain's `inputs`. */
static const char *const input_names[] = {"inputs", "sequences",     "query",         "value",
                                          "key",    "initial_state", "attention_mask"};
enum { INPUTS = sizeof input_names / sizeof *input_names, ATTENTION_MASK = INPUTS - 1 };

static bool is_input(const char *key) {
    for (int i = 0; i < INPUTS; i++)
        if (strcmp(input_names[i], key) == 0) return true;
    return false;
}

/* Returns the index of the input whose mask the argument `key` is; -1: it is not a mask. */
static int masked_input(const char *key) {
    static const char *const names[] = {"query_mask", "value_mask", "key_mask"};
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], key) == 0) return i;
    return -1;
}

/* Whether the argument of the call is null, or false where that is the default (`training`, which
 * the step decides here, not the model, and `return_attention_scores`). */
static bool is_so(const dt_tree *call_argument, const char *key) {
    static const char *const so_when_false[] = {"training", "return_attention_scores"};
    if (call_argument->kind == DT_TREE_NULL) return true;
    for (size_t i = 0; i < sizeof so_when_false / sizeof *so_when_false; i++)
        if (strcmp(so_when_false[i], key) == 0)
            return call_argument->kind == DT_TREE_SCALAR &&
                   strcmp(call_argument->text, "false") == 0;
    return false;
}

static bool has_field(const dt_keras_layer *l, const char *key) {
    const dt_field *f = l->row ? l->row->kind.fields : NULL;
    for (; f && f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, key) == 0) return !f->instead;
    return false;
}

typedef struct call {
    const dt_keras_model *m;
    dt_keras_layer *layer;
    dt_keras_tensors from;
    /* masks that the call passes for all inputs together, and for inputs 0, 1 and 2; NULL: not
     * passed */
    const dt_tree *mask, *input_mask[3];
} call;

static void put_flag(call *c, const char *key, const dt_location *at) {
    dt_keras_put(c->layer->arguments, key, at, dt_keras_scalar(c->m->arena, at, "true"));
}

/* Takes all positional arguments as inputs; others cannot be distinguished from them. If the layer
 * has the argument use_attention_mask, at most 3 are allowed. */
static dt_status *take_positional(call *c, const dt_tree *args) {
    const dt_layer *row = c->layer->row;
    const bool attends = row && has_field(c->layer, "use_attention_mask");
    if (attends && args->n > 3)
        return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &args->item[3]->at,
                                  "layer '%.80s' is called with more than query, value and key",
                                  c->layer->name),
                          "give the others by name: attention_mask=MASK");
    return add_tensors(args, &c->from);
}

static dt_status *take_inputs(call *c, const dt_tree *args, const dt_tree *kwargs) {
    dt_status *faults = take_positional(c, args);
    for (int i = 0; i < INPUTS; i++) {
        const dt_tree *t = dt_tree_get(kwargs, input_names[i]);
        if (!t) continue;
        if (i == ATTENTION_MASK && t->kind != DT_TREE_NULL)
            put_flag(c, "use_attention_mask", &t->at);
        dt_status_append(&faults, add_tensors(t, &c->from));
    }
    return faults;
}

static dt_status *take_argument(call *c, const dt_entry *e) {
    dt_tree *value;
    int input = masked_input(e->key);
    if (is_input(e->key) || is_so(e->value, e->key)) return NULL;
    /* The argument is ignored for layers that prepare data: as steps of dataset.map, random ones
     * apply in training only. */
    if (strcmp(e->key, "training") == 0 && dt_keras_is_step(c->layer->class_name->text))
        return NULL;
    if (input >= 0 || strcmp(e->key, "mask") == 0) {
        *(input >= 0 ? &c->input_mask[input] : &c->mask) = e->value;
        return NULL;
    }
    if ((strcmp(e->key, "use_causal_mask") != 0 &&
         strcmp(e->key, "return_attention_scores") != 0) ||
        !has_field(c->layer, e->key))
        return dt_fail(DT_E_KERAS_MODEL, &e->value->at,
                       "layer '%.80s' is called with '%.80s', which dtrain's %.80s does not take",
                       c->layer->name, e->key, c->layer->class_name->text);
    DT_TRY(dt_keras_value(c->m->arena, e->value, &value));
    dt_keras_put(c->layer->arguments, e->key, &e->key_at, value);
    return NULL;
}

static dt_status *take_arguments(call *c, const dt_tree *node) {
    dt_tree *args, *kwargs;
    if (node->kind == DT_TREE_LIST)
        return dt_suggest(
            dt_fail(DT_E_KERAS_MODEL, &node->at, "a model of Keras 2, whose calls are lists"),
            "load it with Keras 3 and write it again");
    DT_TRY(dt_tree_expect(node, DT_TREE_MAP, "inbound_nodes"));
    DT_TRY(dt_keras_member(node, "args", DT_TREE_LIST, &args));
    DT_TRY(dt_keras_member(node, "kwargs", DT_TREE_MAP, &kwargs));
    dt_status *faults = take_inputs(c, args, kwargs);
    for (int i = 0; i < kwargs->n; i++)
        dt_status_append(&faults, take_argument(c, &kwargs->entry[i]));
    return faults;
}

/* ---- one call ---- */

static bool all_the_same(const dt_keras_tensors *t) {
    for (int i = 1; i < t->n; i++)
        if (strcmp(t->name[i]->text, t->name[0]->text) != 0) return false;
    return true;
}

static dt_tree *name_of(const call *c, int k) {
    const dt_tree *name = c->from.name[k];
    name = dt_keras_layer_output(dt_keras_find(c->m, c->m->n, name->text), name);
    return dt_arena_copy(c->m->arena, name, sizeof *name);
}

/* Removes and returns the first of the layer's two inputs if the layer only adds it to its output.
 * An Add after the layer does that instead. NULL: the layer does not add it. */
static dt_tree *take_summand(call *c) {
    const dt_tree *behind = c->layer->behind;
    if (!behind || strcmp(behind->entry[0].key, "Add") != 0 || c->from.n != 2) return NULL;
    dt_tree *summand = name_of(c, 0);
    c->from.name[0] = c->from.name[1];
    c->from.n = 1;
    return summand;
}

static dt_tree *list_of(const call *c, const dt_location *at, int n) {
    dt_tree *list = dt_arena_new(c->m->arena, dt_tree);
    *list = (dt_tree){
        .kind = DT_TREE_LIST, .at = *at, .n = n, .item = dt_arena_array(c->m->arena, dt_tree *, n)};
    return list;
}

/* Sets the inputs of the layer and of the one `behind` it. A layer that needs a single input for
 * self-attention may be called with the same value as query, value and key. */
static void put_inputs(call *c) {
    const dt_layer *row = c->layer->row;
    dt_keras_tensors *from = &c->from;
    dt_tree *summand = take_summand(c);
    if (row && row->least <= 1 && all_the_same(from)) from->n = 1;
    const dt_location *at = &from->name[0]->at;
    dt_tree *inputs = from->n == 1 ? name_of(c, 0) : list_of(c, at, from->n);
    for (int k = 0; k < from->n && from->n > 1; k++) inputs->item[k] = name_of(c, k);
    dt_keras_put(c->layer->arguments, "inputs", at, inputs);
    if (!c->layer->behind) return;
    dt_tree *own = dt_keras_scalar(c->m->arena, at, c->layer->name), *both = list_of(c, at, 2);
    both->item[0] = summand;
    both->item[1] = own;
    dt_keras_put(c->layer->behind->entry[0].value, "inputs", at, summand ? both : own);
}

static dt_status *check_sources(const call *c) {
    dt_status *faults = NULL;
    for (int k = 0; k < c->from.n; k++) {
        const dt_tree *name = c->from.name[k];
        const dt_keras_layer *source = dt_keras_find(c->m, c->m->n, name->text);
        if (source && source->is_mask)
            dt_status_append(
                &faults,
                dt_fail(DT_E_KERAS_MODEL, &name->at,
                        "layer '%.80s' uses operation '%.80s', which has no equivalent layer",
                        c->layer->name, source->class_name->text));
    }
    return faults;
}

/* Whether the layer is recurrent or a Bidirectional, and is called with its initial states. */
static bool begins_with_states(const call *c) {
    return c->from.n > 1 &&
           (has_field(c->layer, "return_state") || c->layer->row == &dt_layer_bidirectional);
}

static dt_status *check_masks(const call *c, int i) {
    if (c->mask && c->mask->kind != DT_TREE_NULL && begins_with_states(c))
        return dt_suggest(
            dt_fail(DT_E_KERAS_MODEL, &c->mask->at,
                    "layer '%.80s' is called with initial_state and a mask, which "
                    "dtrain does not combine",
                    c->layer->name),
            "leave out mask=: Keras passes no mask to a layer that is called with states");
    if (c->mask) DT_TRY(dt_keras_mask_check(c->m, i, c->mask, &c->from));
    for (int k = 0; k < 3 && k < c->from.n; k++) {
        const dt_keras_tensors one = {.n = 1, .name = &c->from.name[k]};
        if (c->input_mask[k]) DT_TRY(dt_keras_mask_check(c->m, i, c->input_mask[k], &one));
    }
    return NULL;
}

static dt_status *read_call(call *c, int i, const dt_tree *node) {
    DT_TRY(take_arguments(c, node));
    if (c->from.n == 0)
        return dt_fail(DT_E_KERAS_MODEL, &node->at, "layer '%.80s' has no input", c->layer->name);
    DT_TRY(check_sources(c));
    DT_TRY(check_masks(c, i));
    const bool given = c->mask && c->mask->kind != DT_TREE_NULL;
    DT_TRY(dt_keras_mask_lost(c->m, i, &c->from, given));
    dt_keras_mask_pass(c->m, i, &c->from, given);
    put_inputs(c);
    return NULL;
}

dt_status *dt_keras_call_read(const dt_keras_model *m, int i) {
    dt_tree *nodes;
    call c = {.m = m, .layer = &m->layer[i]};
    DT_TRY(dt_keras_member(c.layer->raw, "inbound_nodes", DT_TREE_LIST, &nodes));
    if (c.layer->row == &dt_layer_input) return NULL;
    if (nodes->n == 0)
        return dt_fail(DT_E_KERAS_MODEL, &nodes->at, "layer '%.80s' has no input", c.layer->name);
    c.from.arena = m->arena;
    dt_status *s = read_call(&c, i, nodes->item[0]);
    free(c.from.name);
    return s;
}
