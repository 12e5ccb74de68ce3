/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines, an example a line: {"image": [[0, 1], [2, 3]]}, or the values alone where the model
 * has one input. Lists may be nested as the shape is, or in another way: their values are taken in
 * order, and must be as many. Other keys are passed over, so that what predict wrote beside them
 * does no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_load.h"
#include "base/text.h"
#include "file/json_read.h"
#include "file/file.h"
#include "file/records.h"
#include "file/text_cell.h"

#define LONGEST ((int64_t)64 << 20)

typedef struct lines {
    dt_records records;
    dt_str line;
} lines;

/* The first character that is no blank is one with which an object or a list begins. */
static bool sniff(const unsigned char *first, int64_t n) {
    int64_t i = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < n && strchr(" \t\r\n", first[i]) && first[i]) i++;
    return i < n && (first[i] == '{' || first[i] == '[');
}

static dt_status *open_lines(dt_row_source *s, void **state) {
    lines *l = dt_arena_new(s->arena, lines);
    *l = (lines){.records = {.file = s->file,
                             .path = s->path,
                             .options = {.kind = DT_TEXT_LINES, .longest = LONGEST}}};
    *state = l;
    return NULL;
}

static void close_lines(void *state) {
    lines *l = state;
    dt_str_release(&l->records.window);
    dt_str_release(&l->line);
}

static bool holds(const void *state) { return dt_records_hold(&((const lines *)state)->records); }

/* ---- one line ---- */

typedef struct filler {
    const dt_row_source *s;
    const dt_stored *e;
    const char *word; /* what is wrong */
    void *out;
    int64_t n, most;
} filler;

/* jansson has seen to it that nothing nests deeper than 2,048 levels. */
static bool fill(filler *f, const json_t *x) {
    size_t i;
    json_t *item;
    if (json_is_array(x)) {
        json_array_foreach(x, i, item) if (!fill(f, item)) return false;
        return true;
    }
    if (!json_is_number(x) && !json_is_boolean(x)) f->word = "has a value that is not a number";
    else if (f->n == f->most) f->word = "has too many values";
    else if (!dt_row_source_put(f->e->type.dtype,
                                json_is_number(x) ? json_number_value(x) : json_is_true(x), f->out,
                                f->n++))
        f->word = "has a value that is out of range for its type";
    return !f->word;
}

static dt_status *fail(const lines *l, const dt_row_source *s, const char *name, const char *what) {
    return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld: '%s' %s", s->path, (long long)l->records.number,
                   name, what);
}

static dt_status *fill_element(const lines *l, const dt_row_source *s, const dt_stored *e,
                               const json_t *line, void *out) {
    const json_t *x = json_is_object(line) ? json_object_get(line, e->name)
                      : s->n == 1          ? line
                                           : NULL;
    filler f = {.s = s, .e = e, .out = out, .most = dt_type_elements(&e->type)};
    if (!x) return fail(l, s, e->name, "is missing");
    if (e->text) {
        const char *why = json_is_string(x) ? dt_text_put(json_string_value(x),
                                                          json_string_length(x), &e->type, out)
                                            : "is not a string";
        return why ? fail(l, s, e->name, why) : NULL;
    }
    if (fill(&f, x) && f.n < f.most) f.word = "has too few values";
    if (!f.word) return NULL;
    char text[160];
    snprintf(text, sizeof text, "%s; expected %lld of %s", f.word, (long long)f.most,
             dt_dtype_name(e->type.dtype));
    return fail(l, s, e->name, text);
}

/* A value that is not whole at the end of its line goes on: it is JSON, but not JSON lines. */
static dt_status *not_json(const lines *l, const dt_row_source *s, const json_error_t *why) {
    const long long number = (long long)l->records.number;
    if (json_error_code(why) != json_error_premature_end_of_input)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%d: not JSON: %s", s->path, number,
                       why->column > 0 ? why->column : 1, why->text);
    const char *text = dt_str_text(&l->line);
    const bool list = text[strspn(text, " \t")] == '[';
    return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                              "%s:%lld: is a JSON %s that does not end on its line; expected JSON "
                              "lines, a row on each line",
                              s->path, number, list ? "array" : "object"),
                      "jq -c '%s' FILE > OUT.jsonl", list ? ".[]" : ".");
}

/* Before jansson takes memory for its values. */
static dt_status *weigh_line(const lines *l, const dt_row_source *s) {
    char path[4096 + 24];
    snprintf(path, sizeof path, "%s:%lld", s->path, (long long)l->records.number);
    return dt_json_weigh(&(dt_json_text){.path = path,
                                         .part = "the line",
                                         .text = dt_str_text(&l->line),
                                         .size = l->line.size,
                                         .fault = DT_E_DATA_FILE});
}

static dt_status *read_line(const lines *l, const dt_row_source *s, void *const *row) {
    /* as an integer, -0 would be 0 */
    enum { FLAGS = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL };
    json_error_t why;
    const dt_text_file text = {
        .path = s->path, .wanted = "JSON lines", .fault = DT_E_DATA_FILE, .any_text = true};
    dt_status *bad = NULL;
    if (l->records.number == 1)
        DT_TRY(dt_text_look(&text, dt_str_text(&l->line), l->line.size, &(size_t){0}));
    DT_TRY(dt_text_check(&text, dt_str_text(&l->line), l->line.size, l->records.number));
    DT_TRY(weigh_line(l, s));
    json_t *line = dt_json_load(dt_str_text(&l->line), l->line.size, FLAGS, &why);
    if (!line) return not_json(l, s, &why);
    if (json_is_object(json_array_get(line, 0)))
        bad = dt_suggest(
            dt_fail(DT_E_DATA_FILE, NULL,
                    "%s:%lld: is a JSON array of rows; expected JSON lines, a row on each line",
                    s->path, (long long)l->records.number),
            "jq -c '.[]' FILE > OUT.jsonl");
    for (int e = 0; e < s->n && !bad; e++) bad = fill_element(l, s, &s->element[e], line, row[e]);
    json_decref(line);
    return bad;
}

static bool is_blank(const dt_str *line) {
    const char *text = dt_str_text(line);
    return strspn(text, " \t\r") == line->size;
}

/* A byte order mark in front of the first line. */
static void skip_mark(lines *l) {
    if (l->records.number > 1 || l->line.size < 3 || memcmp(l->line.data, "\xef\xbb\xbf", 3) != 0)
        return;
    l->line.size -= 3;
    memmove(l->line.data, l->line.data + 3, l->line.size + 1);
}

static dt_status *next_line(dt_row_source *s, void *state, void *const *row, bool *more) {
    lines *l = state;
    do {
        DT_TRY(dt_records_next(&l->records, &l->line, more));
        skip_mark(l);
    } while (*more && is_blank(&l->line));
    return *more ? read_line(l, s, row) : NULL;
}

const dt_format dt_format_jsonl = {
    .kind.name = "jsonl",
    .suffix = {".jsonl"},
    .texts = true,
    .sniff = sniff,
    .open = open_lines,
    .next = next_line,
    .holds = holds,
    .close = close_lines,
};
