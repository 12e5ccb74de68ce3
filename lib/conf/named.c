/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads kinds that a job file names: layers, losses, optimizers, formats. A kind is written as its
 * name alone, or as a mapping from its name to its arguments. The name selects a row, and the field
 * table of the row reads the arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/conf_impl.h"

/* Returns the location for the error about a mapping of several names: the last name that came from
 * another source (an override), or else the whole mapping. */
static const dt_location *too_many_at(const dt_tree *t) {
    for (int i = t->n - 1; i >= 0; i--)
        if (t->entry[i].key_at.source != t->at.source) return &t->entry[i].key_at;
    return &t->at;
}

/* Returns the name in `{type: Adam, learning_rate: 0.1}`, as other programs write kinds; NULL:
 * none. */
static const char *find_kind(const dt_tree *t) {
    static const char *const keys[] = {"type",       "name",     "class",  "class_name",
                                       "class_path", "_target_", "target", "kind"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const dt_tree *value = dt_tree_get(t, keys[k]);
        if (value && value->kind == DT_TREE_SCALAR) return dt_name_last(value->text);
    }
    return NULL;
}

/* Returns the error for a mapping that is not a single NAME: {...}. It suggests how to write
 * `{type: Adam, learning_rate: 0.1}`; of two keys, what to move into one mapping: `learning_rate`
 * in `{Adam: {...}, learning_rate: 0.1}`, which an override may have made. */
static dt_status *too_many(const char *noun, const dt_tree *t) {
    dt_status *s =
        dt_fail(DT_E_WRONG_TYPE, too_many_at(t),
                "%s: expected a name or NAME: {...}, got a mapping of %d keys", noun, t->n);
    const char *kind = find_kind(t);
    if (kind)
        return dt_suggest(s, "the name is the key, its arguments are the value: {%.60s: {...}}",
                          kind);
    if (t->n != 2) return s;
    const int named = t->entry[0].value->kind == DT_TREE_MAP ? 0 : 1;
    const dt_tree *other = t->entry[1 - named].value;
    if (t->entry[0].value->kind == DT_TREE_SCALAR && t->entry[1].value->kind == DT_TREE_SCALAR)
        return dt_suggest(s, "all arguments go into one mapping: %.40s: {..., %.40s: %.40s}",
                          t->entry[0].key, t->entry[1].key, t->entry[1].value->text);
    if (t->entry[named].value->kind != DT_TREE_MAP || other->kind != DT_TREE_SCALAR) return s;
    return dt_suggest(s, "move %.40s into %.40s: %.40s.%.40s", t->entry[1 - named].key,
                      t->entry[named].key, t->entry[named].key, t->entry[1 - named].key);
}

/* Splits `Flatten` or `{Dense: {...}}` into the name, its location, and the arguments, which it
 * writes to *out. Fails if t has neither form. */
static dt_status *split(const char *noun, const dt_tree *t, dt_named *out) {
    if (t && t->kind == DT_TREE_SCALAR) {
        out->written = t->text;
        out->at = t->at;
        return NULL;
    }
    if (t && t->kind == DT_TREE_MAP && t->n == 1) {
        out->written = t->entry[0].key;
        out->at = t->entry[0].key_at;
        out->tree = t->entry[0].value->kind == DT_TREE_NULL ? NULL : t->entry[0].value;
        return NULL;
    }
    if (t && t->kind == DT_TREE_MAP) return too_many(noun, t);
    return dt_wrong_type(t, noun, "a name or NAME: {...}");
}

static bool is_alias(const dt_kind *k, const char *name) {
    for (const char *const *a = k->aliases; a && *a; a++)
        if (strcmp(*a, name) == 0) return true;
    return false;
}

static bool find_row(const dt_kind *const *rows, int n, dt_named *out) {
    for (int i = 0; i < n; i++) {
        bool exact = strcmp(rows[i]->name, out->written) == 0;
        if (!exact && !is_alias(rows[i], out->written)) continue;
        out->kind = rows[i];
        out->row = i;
        out->alias = !exact;
        return true;
    }
    return false;
}

typedef struct names {
    const char **name;
    int n, cap;
} names;

static void add_name(names *all, const char *name) {
    DT_GROW(all->name, all->cap, all->n + 1);
    all->name[all->n++] = name;
}

static void add_aliases(names *all, const dt_kind *const *rows, int n) {
    for (int i = 0; i < n; i++)
        for (const char *const *a = rows[i]->aliases; a && *a; a++) add_name(all, *a);
}

/* Returns the error for an unknown name. It suggests `adam` for `adm` and `Adam` for `Adm`: of
 * equally near names, the first. Without a near name, it lists the names of all rows, without their
 * aliases. */
static dt_status *unknown_name(const dt_kind *const *rows, int n, const char *noun,
                               const dt_named *named) {
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, &named->at, "unknown %s %s", noun,
                           dt_quote_text(named->written).text);
    if (strcmp(named->written, "None") == 0) return dt_suggest_null(s, named->written);
    const char *foreign = dt_foreign_name(noun, named->written);
    if (foreign) return dt_suggest(s, "%s", foreign);
    bool lower = named->written[0] >= 'a' && named->written[0] <= 'z';
    names all = {0};
    if (lower) add_aliases(&all, rows, n);
    int first_class = all.n;
    for (int i = 0; i < n; i++) add_name(&all, rows[i]->name);
    if (!lower) add_aliases(&all, rows, n);
    const char *nearest = dt_nearest(dt_name_last(named->written), all.name, all.n);
    s = dt_suggest_names(s, nearest, all.name + first_class, n, "known:");
    free(all.name);
    return s;
}

static dt_status *read_arguments(dt_arena *arena, const dt_kind *k, dt_named *out) {
    static const dt_field none[] = {DT_END};
    out->args = k->size ? dt_arena_alloc(arena, k->size) : NULL;
    return dt_fields_read(arena, k->fields ? k->fields : none, out->tree, &out->at, k->name,
                          out->args);
}

static dt_status *read_name(const dt_kind *const *rows, int n, const char *noun, const dt_tree *t,
                            dt_named *out) {
    *out = (dt_named){0};
    DT_TRY(split(noun, t, out));
    return find_row(rows, n, out) ? NULL : unknown_name(rows, n, noun, out);
}

dt_status *dt_named_read(dt_arena *arena, const dt_kind *const *rows, int n, const char *noun,
                         const dt_tree *t, dt_named *out) {
    DT_TRY(read_name(rows, n, noun, t, out));
    return read_arguments(arena, out->kind, out);
}

dt_status *dt_named_read_name(dt_arena *arena, const dt_kind *const *rows, int n, const char *noun,
                              const dt_tree *t, dt_named *out) {
    DT_TRY(read_name(rows, n, noun, t, out));
    return read_arguments(arena, &(dt_kind){.name = out->kind->name}, out);
}
