/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lists of steps of `map`. */
#include "data/map.h"

#include <string.h>

#include "base/size.h"
#include "data/map/step.h"

#define DT_MAP_ROW(name) extern const dt_map_step dt_map_##name;
#include "data/map/steps.h"
#undef DT_MAP_ROW

enum { MOST_BRIEF = 2 };

/* Every step that a job file can name. */
const dt_kind *const *dt_map_kinds(int *n) {
    static const dt_kind *const rows[] = {
#define DT_MAP_ROW(name) &dt_map_##name.kind,
#include "data/map/steps.h"
#undef DT_MAP_ROW
    };
    *n = sizeof rows / sizeof *rows;
    return rows;
}

const char *const *dt_map_brief(const dt_kind *step, bool *list) {
    /* every dt_map_step begins with its dt_kind */
    const dt_map_step *row = (const dt_map_step *)step;
    *list = row->takes_list;
    return row->brief;
}

/* ---- reading ---- */

static const dt_map_step *step_named(const char *name) {
    int n;
    const dt_kind *const *kinds = dt_map_kinds(&n);
    for (int i = 0; i < n; i++) /* every dt_map_step begins with its dt_kind */
        if (strcmp(kinds[i]->name, name) == 0) return (const dt_map_step *)kinds[i];
    return NULL;
}

/* Returns the number of arguments that a value gives without naming them; 0 if it names them, or
 * does not fit. */
static int count_brief(const dt_map_step *row, const dt_tree *value) {
    int n = value->kind == DT_TREE_SCALAR || (value->kind == DT_TREE_LIST && row->takes_list) ? 1
            : value->kind == DT_TREE_LIST ? value->n
                                          : 0;
    return n >= 1 && n <= MOST_BRIEF && row->brief[n - 1] ? n : 0;
}

/* Expands a step's short form: {name: value} becomes {name: {first: value}}, and {name: [v0, v1]}
 * becomes {name: {first: v0, second: v1}}. */
static const dt_tree *in_full(dt_arena *arena, const dt_tree *t) {
    const dt_map_step *row =
        t->kind == DT_TREE_MAP && t->n == 1 ? step_named(t->entry[0].key) : NULL;
    int n = row ? count_brief(row, t->entry[0].value) : 0;
    if (n == 0) return t;
    dt_tree *value = t->entry[0].value;
    dt_tree *args = dt_arena_copy(arena, value, sizeof *args);
    dt_tree *whole = dt_arena_copy(arena, t, sizeof *whole);
    whole->entry = dt_arena_copy(arena, t->entry, sizeof *whole->entry);
    whole->entry->value = args;
    args->kind = DT_TREE_MAP;
    args->n = n;
    args->entry = dt_arena_array(arena, dt_entry, n);
    for (int i = 0; i < n; i++) {
        args->entry[i] = t->entry[0];
        args->entry[i].key = row->brief[i];
        args->entry[i].value =
            value->kind == DT_TREE_LIST && !row->takes_list ? value->item[i] : value;
    }
    return whole;
}

static dt_status *read_step(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *kinds = dt_map_kinds(&n);
    DT_TRY(dt_named_read(arena, kinds, n, "map step", in_full(arena, t), out));
    const dt_map_step *step = dt_map_step_of(out);
    return step->check ? step->check(out->args, &out->at) : NULL;
}

static dt_status *read_chain(dt_arena *arena, const dt_entry *e, dt_map_chain *out) {
    dt_status *s = NULL;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_LIST, e->key));
    dt_named *named = dt_arena_array(arena, dt_named, e->value->n);
    for (int i = 0; i < e->value->n; i++) {
        dt_status *bad = read_step(arena, e->value->item[i], &named[i]);
        if (!bad && i > 0 && dt_map_step_of(&named[i])->comes_first)
            bad = dt_fail(DT_E_DATASET_KEYS, &named[i].at, "%s must be the first step of '%.80s'",
                          named[i].kind->name, e->key);
        if (!bad && i > 0 && dt_map_treats_groups(&named[i]))
            bad = dt_fail(DT_E_DATASET_KEYS, &named[i].at,
                          "%s with per_group must be the first step of '%.80s'",
                          named[i].kind->name, e->key);
        dt_status_append(&s, bad);
    }
    *out = (dt_map_chain){.name = e->key, .n = e->value->n, .step = named};
    return s;
}

static bool same_arguments(const dt_named *a, const dt_named *b) {
    return a->tree && b->tree ? dt_tree_same(a->tree, b->tree) : a->tree == b->tree;
}

/* An element may have at most one step that combines examples, and all such steps of a job must be
 * the same: others would draw different numbers. */
static dt_status *check_combining(const dt_map *m) {
    const dt_named *first = NULL;
    const dt_map_chain *of = NULL;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->chains[i].n; k++) {
            const dt_named *named = &m->chains[i].step[k];
            if (!dt_map_step_of(named)->combines) continue;
            if (first && of == &m->chains[i])
                return dt_fail(DT_E_DATASET_KEYS, &named->at,
                               "'%.80s' has two steps that combine the examples of a batch: %s and "
                               "%s",
                               of->name, first->kind->name, named->kind->name);
            if (first && !(named->row == first->row && same_arguments(named, first)))
                return dt_fail(DT_E_DATASET_KEYS, &named->at,
                               "the steps that combine examples must be the same for '%.80s' and "
                               "'%.80s', with the same arguments",
                               of->name, m->chains[i].name);
            first = first ? first : named;
            of = &m->chains[i];
        }
    return NULL;
}

bool dt_texts_have(const dt_texts *names, const char *name) {
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0) return true;
    return false;
}

static dt_status *check_name(const dt_entry *e, const dt_texts *names) {
    if (names->n == 0 || dt_texts_have(names, e->key)) return NULL;
    dt_status *s = dt_fail(DT_E_DATASET_KEYS, &e->key_at,
                           "map names '%s', which is not an element of the data", e->key);
    return dt_suggest_nearest(s, e->key, names->v, names->n);
}

dt_status *dt_map_read(dt_arena *arena, const dt_tree *t, const dt_texts *names,
                       const dt_map **out) {
    dt_map *m = dt_arena_new(arena, dt_map);
    dt_status *s = NULL;
    *out = m;
    if (!t || t->kind == DT_TREE_NULL) return NULL;
    DT_TRY(dt_tree_expect(t, DT_TREE_MAP, "map"));
    m->n = t->n;
    m->chains = dt_arena_array(arena, dt_map_chain, t->n);
    for (int i = 0; i < t->n; i++) {
        dt_status_append(&s, check_name(&t->entry[i], names));
        dt_status_append(&s, read_chain(arena, &t->entry[i], &m->chains[i]));
    }
    return s ? s : check_combining(m);
}

bool dt_map_learns(const dt_map *m) {
    bool learns = false;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->chains[i].n; k++) {
            const dt_named *named = &m->chains[i].step[k];
            const dt_map_learning *how = dt_map_step_of(named)->learning;
            learns |= how && how->wants(named->args);
        }
    return learns;
}
