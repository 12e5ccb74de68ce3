/* SPDX-License-Identifier: Apache-2.0 */
/* See jsonl_row.h. A row is read in place: the value of a key goes to all elements that use the
 * key. */
#include "file/jsonl_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/missing.h"
#include "file/text_cell.h"

/* ---- what keys name ---- */

static void add_target(dt_jsonl_names *l, const char *name, int element, int value) {
    int same = l->n - 1;
    while (same >= 0 && strcmp(l->target[same].name, name) != 0) same--;
    for (int i = same; i >= 0; i = l->target[i].same)
        if (l->target[i].element == element && (value < 0 || l->target[i].value == value)) return;
    l->target[l->n++] =
        (dt_jsonl_target){.name = name, .element = element, .value = value, .same = same};
}

void dt_jsonl_names_make(const dt_row_source *s, dt_jsonl_names *out) {
    int64_t most = 0;
    for (int e = 0; e < s->n; e++) most += 1 + s->element[e].columns.n;
    *out = (dt_jsonl_names){.target = dt_arena_array(s->arena, dt_jsonl_target, most)};
    for (int e = 0; e < s->n; e++) {
        const dt_element_spec *x = &s->element[e];
        for (int i = 0; i < x->columns.n; i++)
            add_target(out, x->columns.v[i], e, x->columns.n > 1 ? i : -1);
        add_target(out, x->name, e, -1);
    }
}

/* Returns the last target of that name; `same` leads to the others. -1: none. */
static int find_target(const dt_jsonl_names *l, const char *name) {
    int i = l->n - 1;
    while (i >= 0 && strcmp(l->target[i].name, name) != 0) i--;
    return i;
}

/* ---- values ---- */

static bool wrong(dt_jsonl_row *r, const char *at, const char *what) {
    dt_str_clear(&r->why);
    dt_str_puts(&r->why, what);
    r->at = at;
    return false;
}

static bool wrong_number(dt_jsonl_row *r, const char *at, const dt_element_spec *e,
                         const char *what) {
    wrong(r, at, what);
    if (r->alone) dt_str_printf(&r->why, "; expected %s", dt_dtype_name(e->type.dtype));
    else
        dt_str_printf(&r->why, "; expected %lld of %s", (long long)dt_type_elements(&e->type),
                      dt_dtype_name(e->type.dtype));
    return false;
}

static bool put_default(dt_jsonl_row *r, const char *at, const dt_element_spec *e, int64_t i,
                        void *out) {
    if (e->imputes) {
        dt_missing_put(e, out, i);
        return true;
    }
    if (e->drops) {
        r->omits = true;
        return true;
    }
    if (e->text) return dt_text_put("", 0, &e->type, out) == NULL;
    if (!e->has_default)
        return wrong(r, at, "is a missing value, and the element has no default_value");
    if (dt_row_source_put(e->type.dtype, e->default_value, out, i)) return true;
    return wrong(r, at, "is a missing value, and default_value does not fit its type");
}

/* Whether r->text is a missing value that the job imputes, replaces by a default or drops. */
static bool is_missing(const dt_jsonl_row *r, const dt_element_spec *e) {
    return (e->imputes || e->has_default || e->drops) && dt_missing_is(e, dt_str_text(&r->text));
}

/* Stores the index of r->text in the element's vocabulary. */
static bool put_word(dt_jsonl_row *r, const char *at, const dt_element_spec *e, int64_t i,
                     void *out) {
    for (int k = 0; k < e->vocabulary.n; k++)
        if (strlen(e->vocabulary.v[k]) == r->text.size &&
            memcmp(e->vocabulary.v[k], dt_str_text(&r->text), r->text.size) == 0)
            return dt_row_source_put(e->type.dtype, k, out, i) ||
                   wrong(r, at, "has an index in the vocabulary that does not fit its type");
    if (is_missing(r, e)) return put_default(r, at, e, i, out);
    wrong(r, at, "is not in the vocabulary: '");
    dt_str_escaped(&r->why, dt_str_text(&r->text), r->text.size, 40);
    dt_str_putc(&r->why, '\'');
    return false;
}

/* Stores a number for an element with a vocabulary: if some of its words are numbers, the index of
 * the one that is equal; otherwise the number itself, which must be the index of a word. */
static bool put_word_number(dt_jsonl_row *r, const char *at, const dt_element_spec *e, int64_t i,
                            void *out) {
    double x, word;
    bool numbers = false;
    dt_parse_double(dt_str_text(&r->text), &x);
    for (int k = 0; k < e->vocabulary.n; k++) {
        if (!dt_parse_double(e->vocabulary.v[k], &word)) continue;
        numbers = true;
        if (word == x)
            return dt_row_source_put(e->type.dtype, k, out, i) ||
                   wrong(r, at, "has an index in the vocabulary that does not fit its type");
    }
    if (e->missing_numbers && is_missing(r, e)) return put_default(r, at, e, i, out);
    if (!numbers && x >= 0 && x < e->vocabulary.n && x == floor(x) &&
        dt_row_source_put(e->type.dtype, x, out, i))
        return true;
    wrong(r, at, numbers ? "is not in the vocabulary: " : "is not the number of a word: ");
    dt_str_puts(&r->why, dt_str_text(&r->text));
    return false;
}

/* Stores a number. An int64 is read as such, since a double might not represent it exactly. Returns
 * false if the number does not fit the element's type. */
static bool put_parsed(const dt_element_spec *e, const char *number, int64_t i, void *out) {
    int64_t whole;
    double x;
    if (e->type.dtype != DT_INT64 || !dt_parse_int64(number, &whole))
        return dt_parse_double(number, &x) && dt_row_source_put(e->type.dtype, x, out, i);
    ((int64_t *)out)[i] = whole;
    return true;
}

static bool put_number(dt_jsonl_row *r, const dt_element_spec *e, int64_t i, void *out) {
    char number[DT_JSON_LONGEST_NUMBER + 1];
    const char *at = r->c.at;
    if (!dt_json_read_number(&r->c, number)) return false;
    if (e->text) return wrong(r, at, "is not a string");
    if (e->vocabulary.n > 0) {
        dt_str_clear(&r->text);
        dt_str_puts(&r->text, number);
        return put_word_number(r, at, e, i, out);
    }
    if (e->missing_numbers && dt_missing_is(e, number)) return put_default(r, at, e, i, out);
    return put_parsed(e, number, i, out) ||
           wrong_number(r, at, e, "has a value that is out of range for its type");
}

bool dt_jsonl_is_number(const dt_str *text) {
    const char *p = dt_str_text(text), *digits = p + (*p == '-');
    double x;
    return text->size == strlen(p) && !(digits[0] == '0' && digits[1] && digits[1] != '.') &&
           strspn(p, "+-.0123456789eE") == text->size && dt_parse_double(p, &x);
}

static bool put_text(dt_jsonl_row *r, const dt_element_spec *e, int64_t i, void *out) {
    const char *at = r->c.at;
    if (!dt_json_read_text(&r->c, &r->text)) return false;
    if (e->vocabulary.n > 0) return put_word(r, at, e, i, out);
    if (is_missing(r, e)) return put_default(r, at, e, i, out);
    if (!e->text && dt_jsonl_is_number(&r->text))
        return put_parsed(e, dt_str_text(&r->text), i, out) ||
               wrong_number(r, at, e, "has a value that is out of range for its type");
    if (!e->text) return wrong_number(r, at, e, "has a value that is not a number");
    const char *why = dt_text_put(dt_str_text(&r->text), r->text.size, &e->type, out);
    return !why || wrong(r, at, why);
}

static bool put_bool(dt_jsonl_row *r, const dt_element_spec *e, int64_t i, void *out) {
    const char *at = r->c.at;
    const bool yes = *at == 't';
    if (!dt_json_read_word(&r->c)) return false;
    if (e->text) return wrong(r, at, "is not a string");
    dt_str_clear(&r->text);
    dt_str_puts(&r->text, yes ? "true" : "false");
    if (e->vocabulary.n > 0) return put_word(r, at, e, i, out);
    return dt_row_source_put(e->type.dtype, yes, out, i) ||
           wrong_number(r, at, e, "has a value that is out of range for its type");
}

static bool put_value(dt_jsonl_row *r, const dt_element_spec *e, int64_t i, void *out) {
    const char first = dt_json_peek(&r->c), *at = r->c.at;
    switch (first) {
    case '\0': return false;
    case '"': return put_text(r, e, i, out);
    case 't':
    case 'f': return put_bool(r, e, i, out);
    case 'n': return dt_json_read_word(&r->c) && put_default(r, at, e, i, out);
    case '{':
    case '[':
        return e->text ? wrong(r, at, "is not a string")
                       : wrong_number(r, at, e, "has a value that is not a number");
    default: return put_number(r, e, i, out);
    }
}

/* Stores the value at the cursor, or the values in the list there, which may be nested.
 * *n: number of values of the element stored so far. */
static bool put_values(dt_jsonl_row *r, const dt_element_spec *e, int depth, int64_t *n,
                       void *out) {
    const int64_t most = e->text ? 1 : dt_type_elements(&e->type);
    if (dt_json_peek(&r->c) != '[' || e->text) {
        if (*n == most) return wrong_number(r, r->c.at, e, "has too many values");
        return put_value(r, e, (*n)++, out);
    }
    if (depth == DT_JSON_DEEPEST) return wrong(r, r->c.at, "is nested deeper than 64");
    bool first = true;
    dt_json_enter(&r->c);
    while (dt_json_more(&r->c, ']', &first))
        if (!put_values(r, e, depth + 1, n, out)) return false;
    return !r->c.fault;
}

/* Stores a value for all of an element; null makes all of its values missing. depth: nesting of the
 * value in the row. */
static bool put_whole(dt_jsonl_row *r, const dt_element_spec *e, int depth, void *out) {
    const char *at = r->c.at;
    int64_t n = 0;
    if (dt_json_peek(&r->c) == 'n' && !e->text) {
        if (!dt_json_read_word(&r->c)) return false;
        while (n < dt_type_elements(&e->type))
            if (!put_default(r, at, e, n++, out)) return false;
        return true;
    }
    if (!put_values(r, e, depth, &n, out)) return false;
    return e->text || n == dt_type_elements(&e->type) ||
           wrong_number(r, at, e, "has too few values");
}

/* Stores the value at the cursor in every target of its key: target i and those chained to it. */
static bool put_targets(dt_jsonl_row *r, int i) {
    const dt_json_cursor begin = r->c;
    for (; i >= 0; i = r->names->target[i].same) {
        const dt_jsonl_target *t = &r->names->target[i];
        const dt_element_spec *e = &r->s->element[t->element];
        r->c = begin;
        if (r->seen[i]) return wrong(r, begin.at, "appears twice");
        r->seen[i] = true;
        r->alone = t->value >= 0;
        if (!r->out[t->element]) {
            if (!dt_json_skip(&r->c, 1)) return false;
        } else if (!(t->value < 0 ? put_whole(r, e, 1, r->out[t->element])
                                  : put_value(r, e, t->value, r->out[t->element])))
            return false;
    }
    return true;
}

/* Reads an object. Keys are first looked up in the order of the last row, in which they mostly
 * come. */
static bool put_object(dt_jsonl_row *r) {
    bool first = true;
    dt_json_enter(&r->c);
    for (int k = 0; dt_json_more(&r->c, '}', &first); k++) {
        if (!dt_json_read_key(&r->c, &r->key)) return false;
        const char *name = dt_str_text(&r->key);
        int i = k < r->names->n ? r->order[k] : -1;
        if (i < 0 || strcmp(r->names->target[i].name, name) != 0) i = find_target(r->names, name);
        if (k < r->names->n) r->order[k] = i;
        if (i < 0 || strlen(name) != r->key.size) {
            if (!dt_json_skip(&r->c, 1)) return false;
            continue;
        }
        r->name = r->names->target[i].name;
        if (!put_targets(r, i)) return false;
    }
    return !r->c.fault;
}

/* ---- missing keys ---- */

/* Stores the default, or what stands for a missing value, of an element whose key the row lacks: as
 * value i, or as all values (i = -1). Returns false if the job has no setting for missing
 * values, or default_value does not fit. */
static bool put_missing(dt_jsonl_row *r, const dt_element_spec *e, int i, const char *name) {
    const int64_t n = i < 0 && !e->text ? dt_type_elements(&e->type) : 1;
    r->name = name;
    if (!e->imputes && !e->drops && (e->text || !e->has_default))
        return wrong(r, NULL, "is missing");
    for (int64_t k = 0; k < n; k++)
        if (!put_default(r, NULL, e, i < 0 ? k : i, r->out[e - r->s->element])) return false;
    return true;
}

/* Handles missing keys: a row needs one key with the element's name, or a key for each of its
 * columns. What is missing is replaced as the job says, or is an error. */
static bool put_absent(dt_jsonl_row *r) {
    const dt_jsonl_names *l = r->names;
    for (int from = 0, to; from < l->n; from = to) {
        const int element = l->target[from].element;
        const dt_element_spec *e = &r->s->element[element];
        bool whole = false;
        for (to = from; to < l->n && l->target[to].element == element; to++)
            whole = whole || (l->target[to].value < 0 && r->seen[to]);
        if (whole || !r->out[element]) continue;
        if (e->columns.n < 2 && !put_missing(r, e, -1, e->name)) return false;
        for (int i = from; i < to && e->columns.n > 1; i++)
            if (l->target[i].value >= 0 && !r->seen[i] &&
                !put_missing(r, e, l->target[i].value, l->target[i].name))
                return false;
    }
    return true;
}

/* ---- the row ---- */

static bool read_row(dt_jsonl_row *r) {
    const char first = dt_json_peek(&r->c);
    if (first == '{') return put_object(r) && put_absent(r);
    if (!first) return false;
    r->name = r->s->element[0].name;
    r->alone = false;
    for (int i = 0; i < r->names->n; i++) r->seen[i] = true;
    if (r->s->n > 1) return wrong(r, r->c.at, "is missing: a row is an object");
    return !r->out[0] ? dt_json_skip(&r->c, 0) : put_whole(r, &r->s->element[0], 0, r->out[0]);
}

void dt_jsonl_row_init(dt_jsonl_row *r, const dt_row_source *s, const dt_jsonl_names *names) {
    *r = (dt_jsonl_row){.s = s, .names = names};
    r->order = dt_alloc((size_t)names->n * sizeof *r->order);
    r->seen = dt_alloc((size_t)names->n * sizeof *r->seen);
    for (int k = 0; k < names->n; k++) r->order[k] = -1; /* no row has been read yet */
}

/* Reads a row into out[e] for each element e; out[e] NULL: the element is skipped. */
static bool read_into(dt_jsonl_row *r, const dt_json_place *row, size_t size, void *const *out) {
    r->c = (dt_json_cursor){.at = row->text, .end = row->text + size};
    r->out = out;
    r->omits = false;
    r->at = NULL;
    dt_str_clear(&r->why);
    memset(r->seen, 0, (size_t)r->names->n * sizeof *r->seen);
    return read_row(r);
}

/* Whether a row with a fault lacks a value of drop_missing, so that the fault does not matter. */
static bool is_omitted(dt_jsonl_row *r, const dt_json_place *row, size_t size, void *const *out) {
    DT_LOCAL void **some = dt_alloc((size_t)r->s->n * sizeof *some);
    for (int e = 0; e < r->s->n; e++) some[e] = r->s->element[e].drops ? out[e] : NULL;
    const bool omitted = read_into(r, row, size, some) && r->omits;
    r->out = out;
    return omitted;
}

dt_status *dt_jsonl_row_read(dt_jsonl_row *r, const dt_json_place *row, size_t size,
                             void *const *out) {
    if (read_into(r, row, size, out)) return NULL;
    if (r->c.fault) return dt_json_fail(row, r->c.at, "not JSON: %s", r->c.fault);
    dt_status *bad =
        dt_json_fail(row, r->at ? r->at : row->text, "'%s' %s", r->name, dt_str_text(&r->why));
    if (!is_omitted(r, row, size, out)) return bad;
    dt_status_free(bad);
    return NULL;
}

void dt_jsonl_row_release(dt_jsonl_row *r) {
    free(r->order);
    free(r->seen);
    dt_str_release(&r->key);
    dt_str_release(&r->text);
    dt_str_release(&r->why);
}
