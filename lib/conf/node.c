/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on nodes of trees. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "conf/conf_impl.h"

dt_tree *dt_tree_get(const dt_tree *t, const char *key) {
    for (int i = 0; t && t->kind == DT_TREE_MAP && i < t->n; i++)
        if (strcmp(t->entry[i].key, key) == 0) return t->entry[i].value;
    return NULL;
}

const dt_location *dt_tree_key_at(const dt_tree *map, const char *key) {
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].key, key) == 0) return &map->entry[i].key_at;
    return &map->at;
}

const dt_location *dt_tree_value_at(const dt_tree *map, const char *key) {
    const dt_tree *value = dt_tree_get(map, key);
    return value ? &value->at : &map->at;
}

const dt_tree *dt_tree_without_nulls(dt_arena *arena, const dt_tree *t) {
    dt_tree *kept = dt_arena_copy(arena, t, sizeof *t);
    if (t->kind != DT_TREE_MAP) return t;
    kept->entry = dt_arena_array(arena, dt_entry, t->n);
    kept->n = 0;
    for (int i = 0; i < t->n; i++)
        if (t->entry[i].value->kind != DT_TREE_NULL) kept->entry[kept->n++] = t->entry[i];
    return kept->n < t->n ? kept : t;
}

/* The recursion is bounded by the depth of trees. */
dt_tree *dt_tree_copy(dt_arena *arena, const dt_tree *t) {
    dt_tree *copy = dt_arena_copy(arena, t, sizeof *t);
    if (t->kind == DT_TREE_LIST)
        copy->item = dt_arena_copy(arena, t->item, sizeof *t->item * (size_t)t->n);
    if (t->kind == DT_TREE_MAP)
        copy->entry = dt_arena_copy(arena, t->entry, sizeof *t->entry * (size_t)t->n);
    for (int i = 0; i < t->n; i++) {
        dt_tree **child = t->kind == DT_TREE_LIST ? &copy->item[i] : &copy->entry[i].value;
        *child = dt_tree_copy(arena, *child);
    }
    return copy;
}

/*
 * The canonical text of a tree, for hashes: JSON with keys in byte order, numbers in one spelling
 * (1e-3 is 0.001), quoted scalars as strings. Two files that differ only in comments, layout or the
 * order of keys have the same text.
 */

static int by_key(const void *a, const void *b) {
    const dt_entry *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static void print_scalar(const dt_tree *t, const char *key, dt_json *j) {
    dt_look look = dt_look_at(t);
    int64_t n;
    double x;
    if (t->recorded) dt_json_string(j, key, t->recorded);
    else if (look == DT_LOOKS_INT && dt_parse_int64(t->text, &n)) dt_json_int(j, key, n);
    else if (look == DT_LOOKS_REAL && dt_parse_double(t->text, &x))
        /* Adding 0 turns -0.0 into 0, so that it is printed like -0. */
        dt_json_double(j, key, x + 0.0);
    else if (!t->quoted && (strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0))
        dt_json_bool(j, key, *t->text == 't');
    else dt_json_string(j, key, t->text);
}

static void print(const dt_tree *t, const char *key, dt_json *j);

static void print_map(const dt_tree *t, const char *key, dt_json *j) {
    DT_LOCAL const dt_entry **sorted = dt_alloc(dt_size_mul((size_t)t->n, sizeof *sorted));
    for (int i = 0; i < t->n; i++) sorted[i] = &t->entry[i];
    qsort(sorted, (size_t)t->n, sizeof *sorted, by_key);
    dt_json_open(j, key, '{');
    for (int i = 0; i < t->n; i++) print(sorted[i]->value, sorted[i]->key, j);
    dt_json_close(j, '}');
}

/* Prints a node and the nodes below it. Recursion is bounded by the depth of trees. */
static void print(const dt_tree *t, const char *key, dt_json *j) {
    switch (t ? t->kind : DT_TREE_NULL) {
    case DT_TREE_NULL: dt_json_null(j, key); break;
    case DT_TREE_SCALAR: print_scalar(t, key, j); break;
    case DT_TREE_LIST:
        dt_json_open(j, key, '[');
        for (int i = 0; i < t->n; i++) print(t->item[i], NULL, j);
        dt_json_close(j, ']');
        break;
    case DT_TREE_MAP: print_map(t, key, j); break;
    }
}

void dt_tree_print(const dt_tree *t, dt_str *out) {
    dt_json j = {.out = out, .yaml = true};
    print(t, NULL, &j);
}

bool dt_tree_same(const dt_tree *a, const dt_tree *b) {
    dt_local_str x = {0}, y = {0};
    dt_tree_print(a, &x);
    dt_tree_print(b, &y);
    return strcmp(dt_str_text(&x), dt_str_text(&y)) == 0;
}
