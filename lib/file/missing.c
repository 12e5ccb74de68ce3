/* SPDX-License-Identifier: Apache-2.0 */
/* See missing.h. */
#include "file/missing.h"

#include <math.h>
#include <string.h>

/* The default texts for missing values: those of pandas.read_csv, and those that UCI's data sets,
 * databases (\N), statistics programs (.) and spreadsheets use. */
static const char *const default_marks[] = {
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN",  "-nan",  "1.#IND", "1.#QNAN",
    "<NA>", "N/A",      "NA",  "NULL",    "NaN",      "None",  "n/a",   "nan",    "null",
    "?",    "-",        "\\N", ".",       "#DIV/0!",  "#NUM!", "#REF!", "#VALUE!"};
enum { DEFAULT_MARKS = sizeof default_marks / sizeof *default_marks };

static dt_texts marks_of(dt_arena *arena, const dt_tree *keys) {
    const dt_tree *list = dt_given(dt_tree_get(keys, "missing_values"));
    const int n = list ? list->kind == DT_TREE_LIST ? list->n : 0 : DEFAULT_MARKS;
    dt_texts out = {.v = dt_arena_array(arena, const char *, n)};
    for (int i = 0; i < n; i++) {
        const char *mark = list ? list->item[i]->text : default_marks[i];
        if (mark) out.v[out.n++] = mark; /* dt_fields_read reports items of other kinds */
    }
    return out;
}

static bool has_impute(const dt_tree *keys, const char *element) {
    const dt_tree *steps = dt_tree_get(dt_tree_get(keys, "map"), element);
    for (int i = 0; steps && steps->kind == DT_TREE_LIST && i < steps->n; i++) {
        const dt_tree *step = steps->item[i];
        if (step->kind == DT_TREE_SCALAR && strcmp(step->text, "impute") == 0) return true;
        if (dt_tree_get(step, "impute")) return true;
    }
    return false;
}

static bool lists(const dt_tree *list, const char *element) {
    for (int i = 0; list && list->kind == DT_TREE_LIST && i < list->n; i++)
        if (list->item[i]->text && strcmp(list->item[i]->text, element) == 0) return true;
    return false;
}

/* Whether the element's type has a value that can represent a missing value. */
static bool has_sign(const dt_element_spec *e) {
    const dt_dtype d = e->type.dtype;
    if (e->text || dt_dtype_is_float(d)) return true;
    return e->vocabulary.n > 0 && d != DT_BOOL && d != DT_UINT8;
}

dt_status *dt_missing_declare(dt_arena *arena, const dt_tree *keys, dt_element_spec *e) {
    double x;
    e->imputes = has_impute(keys, e->name);
    e->drops = lists(dt_tree_get(keys, "drop_missing"), e->name);
    e->missing = marks_of(arena, keys);
    for (int i = 0; i < e->missing.n; i++)
        e->missing_numbers = e->missing_numbers || dt_parse_double(e->missing.v[i], &x);
    if (e->drops && (e->has_default || e->imputes))
        return dt_fail(DT_E_DATASET_KEYS, &e->at, "'%s' has both %s and drop_missing", e->name,
                       e->imputes ? "a step impute" : "a default_value");
    if (!e->imputes) return NULL;
    if (e->has_default)
        return dt_fail(DT_E_DATASET_KEYS, &e->at, "'%s' has both a default_value and a step impute",
                       e->name);
    if (has_sign(e)) {
        e->classes = 0; /* the values may be -1, so they are not in [0, classes) */
        return NULL;
    }
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &e->at,
                              "'%s' is of %s, which has no value that stands for a missing one",
                              e->name, dt_dtype_name(e->type.dtype)),
                      e->vocabulary.n > 0 ? "set 'dtype: int32'"
                                          : "leave its dtype out: impute needs float32 or float64");
}

dt_status *dt_missing_check(const dt_tree *keys, const dt_texts *names) {
    const dt_tree *list = dt_given(dt_tree_get(keys, "drop_missing"));
    dt_status *s = NULL;
    for (int i = 0; list && list->kind == DT_TREE_LIST && i < list->n; i++) {
        const dt_tree *item = list->item[i];
        bool known = !item->text; /* dt_fields_read reports items of other kinds */
        for (int k = 0; k < names->n && !known; k++) known = !strcmp(names->v[k], item->text);
        if (!known)
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &item->at,
                                         "drop_missing: there is no element '%.80s'", item->text));
    }
    return s;
}

bool dt_missing_is(const dt_element_spec *e, const char *text) {
    double x, mark;
    if (!*text) return true;
    for (int i = 0; i < e->missing.n; i++)
        if (strcmp(e->missing.v[i], text) == 0) return true;
    if (!e->missing_numbers || !dt_parse_double(text, &x)) return false;
    for (int i = 0; i < e->missing.n; i++)
        if (dt_parse_double(e->missing.v[i], &mark) && mark == x) return true;
    return false;
}

bool dt_missing_is_default(const char *text) {
    if (!*text) return true;
    for (int i = 0; i < DEFAULT_MARKS; i++)
        if (strcmp(default_marks[i], text) == 0) return true;
    return false;
}

void dt_missing_keep_all(dt_row_source *s) {
    for (int e = 0; e < s->n && !s->again; e++) {
        s->element[e].drops = false;
        s->element[e].stays = true;
    }
}

void dt_missing_put(const dt_element_spec *e, void *out, int64_t i) {
    if (e->text) *(char *)out = '\0';
    else dt_row_source_put(e->type.dtype, dt_dtype_is_float(e->type.dtype) ? NAN : -1, out, i);
}

dt_status *dt_missing_suggest(dt_status *s, const dt_element_spec *e) {
    const bool number = dt_dtype_is_float(e->type.dtype);
    const char *name = e->stays ? "" : e->name, *end = e->stays ? "" : "]'";
    if (!e->missing.v) return s; /* the data set's format has no keys for missing values */
    if (!number && e->vocabulary.n == 0)
        return dt_suggest(s,
                          "add 'default_value: 0' to dataset.element.%.80s; or leave its dtype "
                          "out, and add 'map: {%.80s: [impute: median]}' to dataset%s%.80s%s",
                          e->name, e->name, e->stays ? "" : "; or add to it 'drop_missing: [", name,
                          end);
    return dt_suggest(s,
                      "add 'map: {%.80s: [impute: %s]}'%s%.80s%s to dataset, or "
                      "'default_value: 0' to dataset.element.%.80s",
                      e->name, number ? "median" : "most_frequent",
                      e->stays ? "" : " or 'drop_missing: [", name, end, e->name);
}
