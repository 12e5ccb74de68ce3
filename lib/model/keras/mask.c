/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks. dtrain passes a sequence's mask from layer to layer, as Keras does. But Keras' file of a
 * functional model has the operations that compute the mask as layers, and the mask as an argument
 * of the layer that reads it:
 *
 *     not_equal = NotEqual(tokens, 0)                 Embedding with mask_zero
 *     any       = Any(NotEqual(x, mask_value), -1)    Masking
 *     or        = LogicalOr(not_equal, any)           Add and others that join masks
 *     same      = ConvertToTensor(not_equal)          the mask of an Attention's query
 *
 * These are not layers of a job. Masks are compared as texts, such as "tokens != 0": the text of a
 * mask argument must be that of the mask that the layer's inputs have in dtrain. Any other mask,
 * computed by the user's program, has another text and is refused.
 *
 * Layers with attention, Multiply, Maximum and Minimum have no mask arguments in the file unless
 * the program gives them: they read the masks of their inputs when the model runs.
 * MultiHeadAttention then also removes them, so that others of these layers see no mask in Keras.
 * Models that have such layers are refused.
 */
#include <string.h>

#include "model/keras/keras_impl.h"

enum { LONGEST = 1000 };

static bool is_class(const dt_keras_layer *l, const char *name) {
    return strcmp(l->class_name->text, name) == 0;
}

/* ---- texts ---- */

/* Returns the text of a mask; NULL if it would be too long: an unknown mask, which equals no
 * other. */
static const char *bounded(const char *text) {
    return text && strlen(text) <= LONGEST ? text : NULL;
}

static const char *unlike(dt_arena *arena, const char *name, const dt_tree *value) {
    dt_local_str number = {0};
    dt_tree_print(value, &number);
    return dt_arena_printf(arena, "%.200s != %.60s", name, dt_str_text(&number));
}

static const char *any_of(dt_arena *arena, const char *mask) {
    return mask ? dt_arena_printf(arena, "any(%s)", mask) : NULL;
}

static const char *either(dt_arena *arena, const char *a, const char *b) {
    if (!a || !b) return NULL;
    return strcmp(a, b) == 0 ? a : bounded(dt_arena_printf(arena, "(%s or %s)", a, b));
}

/* ---- operations ---- */

static const char *mask_of(const dt_keras_model *m, int n, const dt_tree *argument) {
    const dt_tree *name;
    const dt_tree *history = dt_keras_history(argument);
    dt_status *s = history ? dt_keras_tensor_name(m->arena, history, &name) : NULL;
    const dt_keras_layer *l = history && !s ? dt_keras_find(m, n, name->text) : NULL;
    dt_status_free(s);
    return l && l->is_mask ? l->mask : NULL;
}

static const char *mask_of_operation(const dt_keras_model *m, int i, const dt_tree *args) {
    const dt_keras_layer *l = &m->layer[i];
    const dt_tree *first = args->n > 0 ? args->item[0] : NULL,
                  *second = args->n > 1 ? args->item[1] : NULL, *name;
    const dt_tree *history = first ? dt_keras_history(first) : NULL,
                  *axis = dt_tree_get(dt_tree_get(l->raw, "config"), "axis");
    if (is_class(l, "Any") && axis && axis->kind == DT_TREE_SCALAR && strcmp(axis->text, "-1") == 0)
        return first ? any_of(m->arena, mask_of(m, i, first)) : NULL;
    if (is_class(l, "ConvertToTensor")) return first ? mask_of(m, i, first) : NULL;
    if (is_class(l, "LogicalOr"))
        return first && second ? either(m->arena, mask_of(m, i, first), mask_of(m, i, second))
                               : NULL;
    if (!is_class(l, "NotEqual") || !history || !second || second->kind != DT_TREE_SCALAR)
        return NULL;
    dt_status *s = dt_keras_tensor_name(m->arena, history, &name);
    const char *text = s ? NULL : unlike(m->arena, name->text, second);
    dt_status_free(s);
    return text;
}

dt_status *dt_keras_mask_read(const dt_keras_model *m, int i, bool *is_mask) {
    dt_keras_layer *l = &m->layer[i];
    static const char *const names[] = {"NotEqual", "Any", "LogicalOr", "ConvertToTensor"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) *is_mask |= is_class(l, names[k]);
    if (!*is_mask) return NULL;
    const dt_tree *nodes = dt_tree_get(l->raw, "inbound_nodes"),
                  *name = dt_tree_get(dt_tree_get(l->raw, "config"), "name");
    const dt_tree *args = nodes && nodes->kind == DT_TREE_LIST && nodes->n == 1
                              ? dt_tree_get(nodes->item[0], "args")
                              : NULL;
    if (!name)
        return dt_fail(DT_E_KERAS_MODEL, &l->raw->at,
                       "missing key 'name' (Keras 3 always writes it)");
    DT_TRY(dt_tree_text(name, "name", &l->name));
    l->is_mask = true;
    l->mask = args && args->kind == DT_TREE_LIST ? mask_of_operation(m, i, args) : NULL;
    return NULL;
}

/* ---- layers ---- */

/* Returns the mask of the value `name` that layer i reads; NULL: it has none, or an unknown one.
 * Only the first output of a layer has a mask. */
static const char *mask_at(const dt_keras_model *m, int i, const dt_tree *name) {
    const dt_keras_layer *l = strchr(name->text, '/') ? NULL : dt_keras_find(m, i, name->text);
    return l && !l->is_mask ? l->mask : NULL;
}

static const char *joined(const dt_keras_model *m, int i, const dt_keras_tensors *from) {
    const char *mask = mask_at(m, i, from->name[0]);
    for (int k = 1; k < from->n; k++) mask = either(m->arena, mask, mask_at(m, i, from->name[k]));
    return mask;
}

static const char *mask_of_masking(const dt_keras_model *m, const dt_keras_layer *l,
                                   const char *input) {
    const dt_tree zero = {.kind = DT_TREE_SCALAR, .text = "0"},
                  *value = dt_tree_get(l->arguments, "mask_value");
    return any_of(m->arena, unlike(m->arena, input, value ? value : &zero));
}

/* Returns the mask of a Concatenate; NULL: none of its inputs has one. Its text equals that of no
 * operation, so that it is refused as an argument. */
static const char *mask_of_concatenate(const dt_keras_model *m, int i,
                                       const dt_keras_tensors *from) {
    for (int k = 0; k < from->n; k++)
        if (mask_at(m, i, from->name[k]))
            return dt_arena_printf(m->arena, "of %.80s", m->layer[i].name);
    return NULL;
}

bool dt_keras_reads_masks(const dt_layer *row) {
    const dt_layer *const rows[] = {&dt_layer_multi_head_attention,
                                    &dt_layer_group_query_attention,
                                    &dt_layer_attention,
                                    &dt_layer_additive_attention,
                                    &dt_layer_transformer_encoder,
                                    &dt_layer_transformer_decoder,
                                    &dt_layer_multiply,
                                    &dt_layer_maximum,
                                    &dt_layer_minimum};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (row == rows[k]) return true;
    return false;
}

static dt_status *refuse_operation(const dt_keras_layer *l, const dt_tree *input) {
    return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &input->at,
                              "operation '%.80s' loses the mask of '%.80s' in Keras; dtrain's "
                              "layers pass it on",
                              l->class_name->text, input->text),
                      "use keras.layers.Add, Multiply, ..., which pass it on in Keras as well");
}

static dt_status *refuse_unmasked(const dt_keras_layer *l, const dt_tree *input, const char *why) {
    return dt_suggest(
        dt_fail(DT_E_KERAS_MODEL, &input->at,
                "layer '%.80s' sees no mask of '%.80s' in Keras, where %s; dtrain keeps "
                "masks",
                l->name, input->text, why),
        "give that MultiHeadAttention a copy of its input, "
        "keras.layers.Rescaling(1.0)(x), so that x keeps its mask");
}

dt_status *dt_keras_mask_lost(const dt_keras_model *m, int i, const dt_keras_tensors *from,
                              bool given) {
    const dt_keras_layer *l = &m->layer[i];
    for (int k = 0; k < from->n; k++) {
        const dt_keras_layer *source = dt_keras_find(m, i, from->name[k]->text);
        if (dt_keras_is_operation(l->raw) && mask_at(m, i, from->name[k]))
            return refuse_operation(l, from->name[k]);
        if (dt_keras_reads_masks(l->row) && !given && source && source->unmasked)
            return refuse_unmasked(l, from->name[k], source->unmasked);
    }
    return NULL;
}

/* Marks masks that MultiHeadAttention removes: from its inputs, and so from all values that are
 * computed from them afterwards. */
static void follow_removed(const dt_keras_model *m, int i, const dt_keras_tensors *from) {
    dt_keras_layer *l = &m->layer[i];
    for (int k = 0; k < from->n; k++) {
        dt_keras_layer *source = dt_keras_find(m, i, from->name[k]->text);
        if (!source || !source->mask) continue;
        if (!dt_keras_reads_masks(l->row) && l->mask && !l->unmasked)
            l->unmasked = source->unmasked;
        if (l->row == &dt_layer_multi_head_attention && !source->unmasked)
            source->unmasked =
                dt_arena_printf(m->arena, "MultiHeadAttention '%.80s' removes that of '%.80s'",
                                l->name, source->name);
    }
}

void dt_keras_mask_pass(const dt_keras_model *m, int i, const dt_keras_tensors *from, bool given) {
    const dt_tree zero = {.kind = DT_TREE_SCALAR, .text = "0"};
    dt_keras_layer *l = &m->layer[i];
    if (l->row == &dt_layer_embedding || l->row == &dt_layer_token_and_position_embedding)
        l->mask = dt_keras_is_true(l->arguments, "mask_zero")
                      ? unlike(m->arena, from->name[0]->text, &zero)
                      : NULL;
    else if (l->row == &dt_layer_masking) l->mask = mask_of_masking(m, l, from->name[0]->text);
    else if (l->row && l->row->mask == dt_masks_joined) l->mask = joined(m, i, from);
    else if (l->row == &dt_layer_concatenate) l->mask = mask_of_concatenate(m, i, from);
    else if (l->row && l->row->supports_masking && !l->row->mask)
        l->mask = mask_at(m, i, from->name[0]);
    if (!given) follow_removed(m, i, from);
}

/* Whether `mask`, an argument of the call, is the mask that `input` has; null stands for no
 * mask. */
static bool is_as_passed(const dt_keras_model *m, int i, const dt_tree *mask,
                         const dt_tree *input) {
    const char *own = mask_at(m, i, input),
               *given = mask->kind == DT_TREE_NULL ? NULL : mask_of(m, m->n, mask);
    if (mask->kind == DT_TREE_NULL) return !own;
    return own && given && strcmp(own, given) == 0;
}

dt_status *dt_keras_mask_check(const dt_keras_model *m, int i, const dt_tree *mask,
                               const dt_keras_tensors *from) {
    const dt_keras_layer *l = &m->layer[i];
    bool list = mask->kind == DT_TREE_LIST,
         as_passed = l->row && l->row->supports_masking && (!list || mask->n == from->n);
    for (int k = 0; as_passed && k < (list ? from->n : 1); k++)
        as_passed = is_as_passed(m, i, list ? mask->item[k] : mask, from->name[k]);
    if (as_passed) return NULL;
    return dt_suggest(
        dt_fail(DT_E_KERAS_MODEL, &mask->at,
                "layer '%.80s' is called with a mask that does not belong to its input", l->name),
        "masks of Embedding and Masking are passed on automatically; other masks are not "
        "supported");
}
