/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on nodes of trees. */
#include <string.h>

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

/* Copies a node and the nodes below it. Recursion is bounded by the depth of trees. */
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
