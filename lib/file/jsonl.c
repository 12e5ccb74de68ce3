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
 * A row names the data set's columns or its elements; other keys are skipped. The only element's
 * value may stand alone. Lists may be nested as the shape is, or in another way: their values are
 * taken in order, and must be as many. null is an empty field, and so is a key that is missing
 * where the element has a default_value. Words of a vocabulary may be given as their numbers.
 */
#include <string.h>

#include "base/text.h"
#include "file/csv_element.h"
#include "file/examples.h"
#include "file/json_values.h"
#include "file/jsonl_row.h"
#include "file/missing.h"

/* ---- keys ---- */

struct jsonl {
    const dt_tree *element;
    dt_texts missing_values;
};

static const dt_field fields[] = {
    DT_ELEMENTS(
        struct jsonl, dt_jsonl_element_fields,
        .help = "elements: {name: {column or columns, dtype, shape, vocabulary, default_value}}"),
    DT_TEXTS(struct jsonl, missing_values, .help = DT_MISSING_HELP), DT_END};

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
    bool *ever; /* [names.n] some row had it */
} lines;

/* Of the only element of a row, which may stand alone. */
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

/* A default_value must not hide that a key is misspelt: some row of a data set's file has it. */
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
    DT_TRY(dt_json_values_next(&l->values, more));
    if (!*more) return s->again ? check_ever(s, l) : NULL;
    const dt_json_values *v = &l->values;
    const dt_json_place place = {s->path, v->text, v->row_line, v->row_col};
    DT_TRY(dt_jsonl_row_read(&l->row, &place, v->size, row));
    for (int i = 0; i < l->names.n; i++) l->ever[i] = l->ever[i] || l->row.seen[i];
    s->record =
        (dt_row_record){.number = s->row, .offset = v->row_offset, .size = (int64_t)v->size};
    return NULL;
}

/* It has been read once and had no fault then. */
static dt_status *line_at(const dt_row_source *s, const dt_row_record *r, void *const *out) {
    const lines *l = s->state;
    const dt_json_place place = {s->path, r->bytes, 1, 1};
    dt_jsonl_row row;
    if (dt_text_valid(r->bytes, (size_t)r->size) < (size_t)r->size)
        return dt_fail(DT_E_FILE_CHANGED, NULL, "%s: file changed while in use", s->path);
    dt_jsonl_row_init(&row, s, &l->names);
    dt_status *bad = dt_jsonl_row_read(&row, &place, (size_t)r->size, out);
    dt_jsonl_row_release(&row);
    if (!bad) return NULL;
    dt_status_free(bad);
    return dt_fail(DT_E_FILE_CHANGED, &s->element[0].at, "%s: file changed while in use", s->path);
}

static dt_status *open_lines(dt_row_source *s) {
    static const dt_row_reader reader = {
        .next = next_line, .holds = holds, .at = line_at, .close = close_lines};
    lines *l = s->state = dt_arena_new(s->arena, lines);
    dt_jsonl_names_make(s, &l->names);
    dt_jsonl_row_init(&l->row, s, &l->names);
    l->ever = dt_arena_array(s->arena, bool, l->names.n);
    l->values = (dt_json_values){.file = s->file, .path = s->path, .values = values_alone(s)};
    s->reader = &reader;
    return NULL;
}

static const dt_format_writer writer = {.put = dt_jsonl_write_row};

const dt_format dt_format_jsonl = {
    .kind = {.name = "jsonl",
             .about = "JSON lines: an object per example, or one list of objects; may be gzipped"},
    .keys = {fields, sizeof(struct jsonl)},
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
