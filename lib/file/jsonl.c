/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines as a format: an object is a row.
 *
 *     dataset:
 *       format: jsonl
 *       train: data/people-*.jsonl                # or one file, or a list; may be gzipped
 *       element:
 *         x:    {columns: [age, height]}          # {"age": 30, "height": 1.7}
 *         sex:  {vocabulary: [female, male]}      # {"sex": "male"}
 *         scan: {shape: [2, 2], dtype: uint8}     # {"scan": [[0, 1], [2, 3]]}
 *
 * A row names the data set's columns or its elements; other keys are skipped. If there is only one
 * element, a row may be its value alone. Lists may be nested like the shape or differently: their
 * values are taken in order, and their number must match. null is a missing value, and so is a key
 * that a row lacks (missing.h). Words of a vocabulary may be given as their indices, unless some
 * word is a number.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "file/cast.h"
#include "file/csv_element.h"
#include "file/examples.h"
#include "file/json_values.h"
#include "file/jsonl_row.h"
#include "file/missing.h"

/* ---- keys, and recognizing files ---- */

struct jsonl {
    const dt_tree *element;
    dt_texts missing_values, drop_missing;
};

static const dt_field fields[] = {
    DT_ELEMENTS(
        struct jsonl, dt_jsonl_element_fields,
        .help = "elements: {name: {column or columns, dtype, shape, vocabulary, default_value}}"),
    DT_TEXTS(struct jsonl, missing_values, .help = DT_MISSING_HELP),
    DT_TEXTS(struct jsonl, drop_missing, .help = DT_DROP_HELP), DT_END};

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    DT_TRY(dt_csv_element_read(arena, entry, DT_COLUMNS_KEYS, out));
    return dt_missing_declare(arena, keys, out);
}

/* Whether the first character after blanks begins an object or a list. */
static bool sniff(const unsigned char *first, int64_t n) {
    int64_t i = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < n && strchr(" \t\r\n", first[i]) && first[i]) i++;
    return i < n && (first[i] == '{' || first[i] == '[');
}

/* ---- reading ---- */

typedef struct lines {
    dt_json_values values;
    dt_jsonl_names names;
    dt_jsonl_row row;
    bool *ever; /* [names.n] whether row.seen was set for the target in some row */
    bool bad;   /* the last row had a fault */
} lines;

/* Returns the number of values in a row if it is a list instead of an object, which is allowed if
 * there is only one element; else -1. */
static int64_t values_alone(const dt_row_source *s) {
    return s->n != 1 ? -1 : s->element[0].text ? 1 : dt_type_elements(&s->element[0].type);
}

static void close_lines(dt_row_source *s) {
    lines *l = s->state;
    dt_json_values_release(&l->values);
    dt_jsonl_row_release(&l->row);
}

static bool holds(const dt_row_source *s) {
    return dt_json_values_hold(&((const lines *)s->state)->values);
}

/* Checks that some row of a data set's file has the element's name as a key, or that each of its
 * columns occurs in some row. Otherwise default_value could hide a misspelled key. */
static dt_status *check_ever(const dt_row_source *s, const lines *l) {
    for (int i = 0, to; i < l->names.n && l->values.items > 0; i = to) {
        const int element = l->names.target[i].element;
        bool whole = false;
        for (to = i; to < l->names.n && l->names.target[to].element == element; to++)
            whole = whole || (l->names.target[to].value < 0 && l->ever[to]);
        for (int k = i; k < to && !whole; k++)
            if (!l->ever[k] && (k == i || l->names.target[k].value >= 0))
                return dt_fail(DT_E_DATA_FILE, &s->element[element].at, "%s: no row has a key '%s'",
                               s->path, l->names.target[k].name);
    }
    return NULL;
}

static dt_status *next_line(dt_row_source *s, void *const *row, bool *more) {
    lines *l = s->state;
    const dt_json_values *v = &l->values;
    const int64_t items = v->items;
    dt_status *bad = dt_json_values_next(&l->values, more);
    if (!bad && !*more) return s->again ? check_ever(s, l) : NULL;
    const dt_json_place place = {s->path, v->text, v->row_line, v->row_col};
    if (!bad) bad = dt_jsonl_row_read(&l->row, &place, v->size, row);
    s->passed = v->items > items;
    if (bad) return bad;
    for (int i = 0; i < l->names.n; i++) l->ever[i] = l->ever[i] || l->row.seen[i];
    s->record =
        (dt_row_record){.number = s->row, .offset = v->row_offset, .size = (int64_t)v->size};
    return NULL;
}

/* Reads the next row that is not left out (drop_missing), and counts those before it in s->omitted.
 * If the last row had a fault, first skips the rest of its line; in a list of rows, it continues
 * with the next item. */
static dt_status *next_row(dt_row_source *s, void *const *row, bool *more) {
    lines *l = s->state;
    if (l->bad && !l->values.list) DT_TRY(dt_json_values_skip_line(&l->values));
    l->bad = false;
    dt_status *bad = next_line(s, row, more);
    for (; !bad && *more && l->row.omits; s->omitted++) bad = next_line(s, row, more);
    l->bad = bad && s->passed;
    return bad;
}

/* Appends a value other than a string as it is written, on one line. */
static void put_raw(dt_str *out, const char *from, const char *to) {
    for (; from < to; from++) dt_str_putc(out, *from == '\n' || *from == '\r' ? ' ' : *from);
}

static bool put_kept(dt_json_cursor *c, dt_str *out, bool *json) {
    dt_local_str text = {0};
    *json = dt_json_peek(c) != '"';
    const char *from = c->at;
    const bool ok = *json ? dt_json_skip(c, 1) : dt_json_read_text(c, &text);
    if (ok && *from == 'N') dt_str_puts(out, "null");
    else if (ok && *json) put_raw(out, from, c->at);
    else if (ok) dt_str_puts(out, dt_str_text(&text));
    return ok;
}

/* Appends the value of a kept key. In a row that is not valid JSON, only keys before the fault are
 * found. */
static dt_status *append_kept(const dt_row_source *s, int i, dt_str *out, bool *json) {
    const lines *l = s->state;
    const dt_json_values *v = &l->values;
    const dt_json_place place = {s->path, v->text, v->row_line, v->row_col};
    dt_json_cursor c = {.at = v->text, .end = v->text + v->size};
    dt_local_str key = {0};
    bool first = true, found = false;
    if (dt_json_peek(&c) == '{') {
        dt_json_enter(&c);
        while (!found && dt_json_more(&c, '}', &first) && dt_json_read_key(&c, &key)) {
            found = strcmp(dt_str_text(&key), s->keep.v[i]) == 0;
            if (!(found ? put_kept(&c, out, json) : dt_json_skip(&c, 1))) break;
        }
    }
    return found ? NULL
                 : dt_json_fail(&place, v->text, "'%.80s', which is to be kept, is missing",
                                s->keep.v[i]);
}

/* Reads a row again. It had no fault when it was read first. */
static dt_status *line_at(const dt_row_source *s, const dt_row_record *r, void *const *out) {
    const lines *l = s->state;
    const dt_json_place place = {s->path, r->bytes, 1, 1};
    dt_jsonl_row row;
    if (dt_text_valid(r->bytes, (size_t)r->size) < (size_t)r->size)
        return dt_fail(DT_E_FILE_CHANGED, NULL, "%s: file changed while in use", s->path);
    dt_jsonl_row_init(&row, s, &l->names);
    dt_status *bad = dt_jsonl_row_read(&row, &place, (size_t)r->size, out);
    dt_jsonl_row_release(&row);
    if (!bad && !row.omits) return NULL;
    dt_status_free(bad);
    return dt_fail(DT_E_FILE_CHANGED, &s->element[0].at, "%s: file changed while in use", s->path);
}

static dt_status *open_lines(dt_row_source *s) {
    static const dt_row_reader reader = {
        .next = next_row, .holds = holds, .at = line_at, .kept = append_kept, .close = close_lines};
    lines *l = s->state = dt_arena_new(s->arena, lines);
    dt_missing_keep_all(s);
    dt_jsonl_names_make(s, &l->names);
    dt_jsonl_row_init(&l->row, s, &l->names);
    l->ever = dt_arena_array(s->arena, bool, l->names.n);
    l->values = (dt_json_values){
        .file = s->file, .path = s->path, .values = values_alone(s), .lines = s->answers};
    s->reader = &reader;
    return NULL;
}

/*
 * ---- writing, and the format ----
 *
 * {"x": [[0, 1], [2, 3]], "kind": "iris"}. Numbers read back as the same values; indices in a
 * vocabulary are written as words.
 */

typedef struct writing {
    dt_json j;
    const dt_output *o;
    const dt_element_spec *column;
    const char *value; /* the next value to write */
} writing;

static dt_status *put_real(writing *w, const char *key) {
    const dt_dtype d = w->column->type.dtype;
    double x;
    dt_cast(d, DT_FLOAT64, w->value, &x, 1);
    if (!isfinite(x))
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                       "'%s' has a value that is not finite, which JSON cannot hold: write .npy or "
                       ".npz instead of '%s'",
                       w->column->name, w->o->named);
    if (d == DT_FLOAT32) dt_json_float(&w->j, key, (float)x);
    else dt_json_double(&w->j, key, x);
    return NULL;
}

/* Writes an integer or a word; null for an index that no word has. */
static void put_integer(writing *w, const char *key) {
    const dt_element_spec *c = w->column;
    const dt_texts *words = c->vocabulary.n == c->names.n ? &c->vocabulary : &c->names;
    int64_t x;
    dt_cast(w->column->type.dtype, DT_INT64, w->value, &x, 1);
    if (words->n == 0) dt_json_int(&w->j, key, x);
    else if (x >= 0 && x < words->n) dt_json_string(&w->j, key, words->v[x]);
    else dt_json_null(&w->j, key);
}

/* Writes the values of dimension d and below, nested like the shape. Recursion is bounded by the
 * rank. */
static dt_status *put_values(writing *w, const char *key, int d) {
    const dt_type *t = &w->column->type;
    if (d == t->rank) {
        if (dt_dtype_is_float(t->dtype)) DT_TRY(put_real(w, key));
        else put_integer(w, key);
        w->value += dt_dtype_size(t->dtype);
        return NULL;
    }
    dt_json_open(&w->j, key, '[');
    for (int64_t i = 0; i < t->dim[d]; i++) DT_TRY(put_values(w, NULL, d + 1));
    dt_json_close(&w->j, ']');
    return NULL;
}

static dt_status *write_row(dt_output *o, const void *const *row) {
    writing w = {.j = {.out = &o->text}, .o = o};
    dt_json_open(&w.j, NULL, '{');
    for (int i = 0; i < o->n; i++) {
        w.column = &o->column[i];
        w.value = row[i];
        if (w.column->text && w.value) dt_json_string(&w.j, w.column->name, w.value);
        else if (w.value) DT_TRY(put_values(&w, w.column->name, 0));
    }
    dt_json_close(&w.j, '}');
    dt_str_putc(&o->text, '\n');
    return NULL;
}

static const dt_format_writer writer = {.put = write_row};

const dt_format dt_format_jsonl = {
    .kind = {.name = "jsonl",
             .about = "JSON lines: an object per example, or one list of objects; may be gzipped",
             .fields = fields,
             .size = sizeof(struct jsonl)},
    .suffix = {".jsonl"},
    .content = DT_CONTENT_RECORDS,
    .sniff = sniff,
    .open = open_lines,
    .survey = dt_jsonl_survey,
    .check = dt_records_check,
    .declare = declare,
    .open_part = dt_records_open_part,
    .writer = &writer,
};
