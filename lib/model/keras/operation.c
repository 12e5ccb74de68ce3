/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators and functions of keras.ops, which Keras writes into its list of layers. Each becomes
 * the layer that computes the same:
 *
 *     x + y, concatenate([x, y])              Add, Concatenate: the layer of that name
 *     x + 3.0, 1 - x, x * (1 / 6), x / 2, -x  Rescaling: x * scale + offset
 *     x ** 2                                  Multiply of x with itself
 *     relu6(x)                                Activation
 *
 * Others are refused by name.
 */
#include <math.h>
#include <string.h>

#include "model/keras/keras_impl.h"

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* One or two operands of an operation, in the order in which they are written. */
typedef struct operands {
    dt_tree *of[2];
    int n; /* number of operands; 0: the call does not have the form of an operation */
} operands;

static operands operands_of(const dt_tree *node) {
    static const char *const names[] = {"x", "x1", "x2"};
    const dt_tree *args = dt_tree_get(node, "args"), *kwargs = dt_tree_get(node, "kwargs");
    const bool by_place = args && args->kind == DT_TREE_LIST && args->n <= 2;
    operands o = {.n = by_place ? args->n : 0};
    for (int i = 0; i < o.n; i++) o.of[i] = args->item[i];
    for (size_t i = 0; kwargs && i < sizeof names / sizeof *names; i++) {
        dt_tree *t = dt_tree_get(kwargs, names[i]);
        if (t && o.n == 2) return (operands){0};
        if (t) o.of[o.n++] = t;
    }
    return o;
}

/* Whether the operand is not the output of a layer, but a finite number or an array of one. Sets
 * *out to the number. */
static bool is_number(dt_arena *arena, const dt_tree *t, double *out) {
    dt_tree *value = NULL;
    dt_status *s = dt_keras_history(t) ? dt_fail(DT_E_KERAS_MODEL, NULL, "a tensor")
                                       : dt_keras_value(arena, t, &value);
    while (!s && value->kind == DT_TREE_LIST && value->n == 1) value = value->item[0];
    if (!s) s = dt_tree_real(value, "operand", out);
    const bool is = !s && isfinite(*out);
    dt_status_free(s);
    return is;
}

/* Returns a copy of the layer with these tensors in place of the arguments of its first call. */
static dt_tree *called_with(dt_arena *arena, const dt_tree *raw, dt_tree *const *tensor, int n) {
    dt_tree *layer = dt_tree_copy(arena, raw), *nodes = dt_tree_get(layer, "inbound_nodes"),
            *node = dt_keras_map(arena, &nodes->at, 2), *args = dt_arena_new(arena, dt_tree);
    *args = (dt_tree){.kind = DT_TREE_LIST,
                      .at = nodes->at,
                      .n = n,
                      .item = dt_arena_copy(arena, tensor, (size_t)n * sizeof *tensor)};
    dt_keras_put(node, "args", &nodes->at, args);
    dt_keras_put(node, "kwargs", &nodes->at, dt_keras_map(arena, &nodes->at, 0));
    nodes->item[0] = node;
    return layer;
}

typedef struct affine {
    double scale, offset;
} affine;

/* Sets *out to the scale and the offset if the operation on a tensor x and the number c is x *
 * scale + offset; else returns false. first: c is the first operand. */
static bool find_affine(const char *name, double c, bool first, affine *out) {
    const bool divides = strcmp(name, "Divide") == 0 || strcmp(name, "TrueDivide") == 0;
    *out = (affine){1, 0};
    if (strcmp(name, "Add") == 0) out->offset = c;
    else if (strcmp(name, "Subtract") == 0) *out = first ? (affine){-1, c} : (affine){1, -c};
    else if (strcmp(name, "Multiply") == 0) out->scale = c;
    else if (divides && !first && isnormal(c)) out->scale = 1 / c;
    else return false;
    return isfinite(out->scale);
}

static void put_number(dt_arena *arena, dt_keras_layer *l, const char *key, double value) {
    const dt_location *at = &l->class_name->at;
    dt_keras_put(l->arguments, key, at,
                 dt_keras_scalar(arena, at, dt_arena_printf(arena, "%.17g", value)));
}

static void become_rescaling(dt_arena *arena, dt_keras_layer *l, dt_tree *x, const affine *by) {
    l->row = &dt_layer_rescaling;
    l->raw = called_with(arena, l->raw, &x, 1);
    put_number(arena, l, "scale", by->scale);
    if (by->offset != 0) put_number(arena, l, "offset", by->offset);
}

/* If the operation is a negation, or combines a tensor and a number as a Rescaling does, makes the
 * layer a Rescaling and returns true. */
static bool is_rescaling(dt_arena *arena, dt_keras_layer *l, const operands *o) {
    const char *name = l->class_name->text;
    affine by = {-1, 0};
    double c;
    if (o->n == 1 && strcmp(name, "Negative") == 0) {
        become_rescaling(arena, l, o->of[0], &by);
        return true;
    }
    for (int i = 0; o->n == 2 && i < 2; i++)
        if (is_number(arena, o->of[i], &c) && dt_keras_history(o->of[!i]) &&
            find_affine(name, c, i == 0, &by)) {
            become_rescaling(arena, l, o->of[!i], &by);
            return true;
        }
    return false;
}

static bool is_square(dt_arena *arena, const dt_keras_layer *l, const operands *o) {
    const char *name = l->class_name->text;
    double c;
    if (o->n == 0 || !dt_keras_history(o->of[0])) return false;
    return (o->n == 1 && strcmp(name, "Square") == 0) ||
           (o->n == 2 && strcmp(name, "Power") == 0 && is_number(arena, o->of[1], &c) && c == 2);
}

/* If the operation is an activation, makes the layer an Activation and sets *is; fails if arguments
 * differ from the defaults. */
static dt_status *find_activation(dt_arena *arena, dt_keras_layer *l, const dt_tree *config,
                                  bool *is) {
    int n;
    const dt_kind *const *rows = dt_activation_kinds(&n);
    char *name = dt_snake_case(arena, l->class_name->text);
    const dt_kind *row = dt_keras_find_row(rows, n, name);
    const dt_location *at = &l->class_name->at;
    dt_tree *more;
    *is = row && is_one_of(name, dt_activations);
    if (!*is) return NULL;
    DT_TRY(dt_keras_arguments(arena, row->fields, config, &more));
    dt_keras_drop(more, "name");
    /* inline.c writes weights_of for a later call of the same operation, which has no weights. */
    dt_keras_drop(more, "weights_of");
    if (more->n > 0)
        return dt_fail(DT_E_KERAS_MODEL, &more->entry[0].key_at,
                       "operation '%.80s' with %.80s has no equivalent layer", l->class_name->text,
                       more->entry[0].key);
    l->row = &dt_layer_activation;
    dt_keras_put(l->arguments, "activation", at, dt_keras_scalar(arena, at, name));
    return NULL;
}

static dt_status *refuse(const dt_keras_layer *l) {
    return dt_suggest(dt_fail(DT_E_KERAS_MODEL, &l->class_name->at,
                              "operation '%.80s' of Keras has no equivalent layer here",
                              l->class_name->text),
                      "supported: +, -, *, maximum, minimum and concatenate of layers, +, -, *, / "
                      "with a number, squares and activations; otherwise use a layer of "
                      "keras.layers");
}

dt_status *dt_keras_operation_read(dt_arena *arena, dt_keras_layer *l, const dt_tree *config) {
    static const char *const same[] = {"Add",     "Subtract",    "Multiply", "Maximum",
                                       "Minimum", "Concatenate", NULL};
    const dt_tree *nodes = dt_tree_get(l->raw, "inbound_nodes");
    const operands o = nodes && nodes->kind == DT_TREE_LIST && nodes->n > 0
                           ? operands_of(nodes->item[0])
                           : (operands){0};
    bool is = false;
    l->arguments = dt_keras_map(arena, &l->raw->at, 1);
    dt_keras_put(l->arguments, "name", &config->at, dt_keras_scalar(arena, &config->at, l->name));
    if (is_rescaling(arena, l, &o)) return NULL;
    if (is_square(arena, l, &o)) {
        l->row = &dt_layer_multiply;
        l->raw = called_with(arena, l->raw, (dt_tree *[]){o.of[0], o.of[0]}, 2);
        return NULL;
    }
    DT_TRY(find_activation(arena, l, config, &is));
    if (is) return NULL;
    return is_one_of(l->class_name->text, same)
               ? dt_keras_arguments(arena, l->row->kind.fields, config, &l->arguments)
               : refuse(l);
}
