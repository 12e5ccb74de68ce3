/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base of a job. `extends: base.yaml` is one level deep: every key then has one of two places,
 * and what a job says can be found by looking into two files.
 *
 *     base   strategy: {type: tpu, cluster_resolver: ...}   fit: {epochs: 5}
 *     job    strategy: {type: mirrored, replicas: 2}        fit: {validation_freq: 2}
 *     ──▶    strategy: {type: mirrored, replicas: 2}        fit: {epochs: 5, validation_freq: 2}
 *
 * Mappings are merged key by key. One whose `type` changes is another thing, so it is replaced
 * whole; and so is the optimizer or the loss when it is another one. Null takes a key of the base
 * away.
 */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"

/* ---- merging ---- */

static bool is_map(const dt_tree *t) { return t && t->kind == DT_TREE_MAP; }

static bool same_text(const dt_tree *a, const dt_tree *b) {
    return a->kind == DT_TREE_SCALAR && b->kind == DT_TREE_SCALAR && strcmp(a->text, b->text) == 0;
}

/* `{Adam: {...}}` over `{SGD: {...}}`. */
static bool is_other_kind(const char *key, const dt_tree *base, const dt_tree *over) {
    bool kind = strcmp(key, "optimizer") == 0 || strcmp(key, "loss") == 0;
    return kind &&
           (base->n != 1 || over->n != 1 || strcmp(base->entry[0].key, over->entry[0].key) != 0);
}

static bool replaces(const char *key, const dt_tree *base, const dt_tree *over) {
    if (!is_map(base) || !is_map(over) || is_other_kind(key, base, over)) return true;
    const dt_tree *a = dt_tree_get(base, "type"), *b = dt_tree_get(over, "type");
    return a && b && !same_text(a, b);
}

static dt_entry *find(dt_tree *map, const char *key) {
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].key, key) == 0) return &map->entry[i];
    return NULL;
}

static void drop(dt_tree *map, const char *key) {
    dt_entry *e = find(map, key);
    if (!e) return;
    memmove(e, e + 1, sizeof *e * (size_t)(map->entry + map->n - e - 1));
    map->n--;
}

/* Puts `over` into `base`. Recursion is bounded by the depth of trees. */
static void merge(dt_arena *arena, dt_tree *base, const dt_tree *over) {
    dt_entry *all = dt_arena_array(arena, dt_entry, base->n + over->n);
    if (base->n > 0) memcpy(all, base->entry, sizeof *all * (size_t)base->n);
    base->entry = all;
    for (int i = 0; i < over->n; i++) {
        const dt_entry *e = &over->entry[i];
        dt_entry *below = find(base, e->key);
        if (!below) base->entry[base->n++] = *e;
        else if (e->value->kind == DT_TREE_NULL) drop(base, e->key);
        else if (replaces(e->key, below->value, e->value)) *below = *e;
        else merge(arena, below->value, e->value);
    }
    base->at = over->at;
}

/* ---- the base ---- */

/* Faults inside the base have its places; that it cannot be read is a fault of the value that names
 * it. */
static dt_status *read_base(dt_job *j, const dt_tree *value, dt_tree **base) {
    char *home = NULL;
    DT_TRY(dt_at(dt_path_local(value->text, &home), &value->at));
    char *path = dt_path_join(j->data_directory, home ? home : value->text);
    dt_status *s = dt_tree_read(j->arena, path, &j->base, base);
    free(path);
    free(home);
    if (s) return dt_at(s, &value->at);
    dt_job_drop_definitions(*base);
    const dt_tree *second = dt_tree_get(*base, "extends");
    if (second && second->kind != DT_TREE_NULL)
        return dt_fail(
            DT_E_EXTENDS, &value->at,
            "'%.80s' extends another file itself (its line %d); a base cannot have a base",
            value->text, second->at.line);
    return NULL;
}

dt_status *dt_job_extend(dt_job *j) {
    const char *name;
    dt_tree *base;
    const dt_tree *value = dt_tree_get(j->tree, "extends");
    if (!value || value->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_text(value, "extends", &name));
    if (!*name || strcmp(name, "-") == 0)
        return dt_fail(DT_E_EXTENDS, &value->at, "extends must name a file, got '%s'", name);
    DT_TRY(read_base(j, value, &base));
    drop(base, "extends");
    drop(j->tree, "extends");
    merge(j->arena, base, j->tree);
    j->tree = base;
    return NULL;
}
