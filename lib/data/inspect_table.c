/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on tables that no job describes: what each column holds; see inspect.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/describe.h"
#include "data/inspect.h"

enum { CELLS = 9, SHOWN_WORDS = 4, WORD_BYTES = 24, RECORD_BYTES = 100 };

typedef struct page {
    const dt_table_facts *t;
    const dt_guess *g;
    const char *title;
} page;

static void put_number(dt_str *out, double x, const int64_t *whole) {
    if (whole) dt_str_printf(out, "%lld", (long long)*whole);
    else if (!isnan(x)) dt_str_printf(out, "%.6g", x);
}

/* Returns the index of the most frequent word that is not marked yet, and marks it. Returns -1 if
 * all are marked. */
static int next_word(const dt_column_facts *c, bool *marked) {
    int best = -1;
    for (int i = 0; i < c->words.n; i++)
        if (!marked[i] && (best < 0 || c->times[i] > c->times[best])) best = i;
    if (best >= 0) marked[best] = true;
    return best;
}

static void put_words(const dt_column_facts *c, dt_str *out) {
    bool *marked = calloc((size_t)c->words.n + 1, sizeof *marked);
    for (int k = 0, i; marked && k < SHOWN_WORDS && (i = next_word(c, marked)) >= 0; k++) {
        dt_str_puts(out, k ? ", " : "");
        dt_str_escaped(out, c->words.v[i], strlen(c->words.v[i]), WORD_BYTES);
        dt_str_printf(out, " (%lld)", (long long)c->times[i]);
    }
    dt_str_puts(out, c->words.n > SHOWN_WORDS ? ", ..." : "");
    free(marked);
}

static void put_shape(const dt_column_facts *c, dt_str *out) {
    dt_str_puts(out, "lists of [");
    for (int d = 0; d < c->shape.rank; d++)
        dt_str_printf(out, "%s%lld", d ? ", " : "", (long long)c->shape.dim[d]);
    dt_str_puts(out, "]");
}

static void put_type(const dt_column_facts *c, dt_str *out) {
    const bool whole = c->kind == DT_COLUMN_NUMBER && c->integers;
    dt_str_puts(out, whole ? "integer" : c->dates ? "date" : dt_column_kind_name(c->kind));
}

static void put_cell(const dt_column_facts *c, int cell, dt_str *out) {
    const bool whole = c->integers;
    switch (cell) {
    case 0: dt_str_escaped(out, c->element, strlen(c->element), 60); break;
    case 1: put_type(c, out); break;
    case 2: dt_str_grouped(out, c->count); break;
    case 3: dt_str_grouped(out, c->missing); break;
    case 4:
        if (c->shape.rank > 0 || c->kind == DT_COLUMN_UNFIT) break;
        dt_str_puts(out, c->many ? "> " : "");
        dt_str_grouped(out, c->distinct);
        break;
    case 5: put_number(out, c->min, whole ? &c->min_int : NULL); break;
    case 6: put_number(out, c->mean, NULL); break;
    case 7: put_number(out, c->max, whole ? &c->max_int : NULL); break;
    default:
        if (c->shape.rank > 0) put_shape(c, out);
        else put_words(c, out);
    }
}

static int width_of(const page *p, int cell, const char *title) {
    int width = (int)strlen(title);
    for (int i = 0; i < p->t->n; i++) {
        dt_str s = {0};
        put_cell(&p->t->column[i], cell, &s);
        const int n = (int)dt_utf8_count(dt_str_text(&s), s.size);
        width = n > width ? n : width;
        dt_str_release(&s);
    }
    return width;
}

static void end_line(dt_str *out) {
    while (out->size > 0 && out->data[out->size - 1] == ' ') out->size--;
    dt_str_putc(out, '\n');
}

static void put_table(const page *p, dt_str *out) {
    static const char *const titles[CELLS] = {"column", "type", "count", "missing", "distinct",
                                              "min",    "mean", "max",   "values"};
    int width[CELLS];
    for (int c = 0; c < CELLS; c++) width[c] = width_of(p, c, titles[c]);
    for (int i = -1; i < p->t->n; i++) {
        for (int c = 0; c < CELLS; c++) {
            const size_t from = out->size;
            if (i < 0) dt_str_puts(out, titles[c]);
            else put_cell(&p->t->column[i], c, out);
            if (c < CELLS - 1) dt_str_pad(out, from, width[c] + 3);
        }
        end_line(out);
    }
}

static int64_t shown(const page *p) {
    return p->g->table.wanted < p->t->records ? p->g->table.wanted : p->t->records;
}

/* Appends the first records as they are in the file; a missing value is shown as `-`. */
static void put_records(const page *p, dt_str *out) {
    const int width = width_of(p, 0, "");
    for (int i = 0; i < shown(p); i++) {
        dt_str_printf(out, "\nexample %d\n", i);
        for (int c = 0; c < p->t->n; c++) {
            const char *text = p->t->column[c].examples.v[i];
            const size_t from = out->size;
            dt_str_puts(out, "  ");
            put_cell(&p->t->column[c], 0, out);
            dt_str_pad(out, from, width + 5);
            if (text) dt_str_escaped(out, text, strlen(text), RECORD_BYTES);
            else dt_str_puts(out, "-");
            end_line(out);
        }
    }
}

static void put_text(const page *p, dt_str *out) {
    dt_str_escaped(out, p->title, strlen(p->title), 200);
    dt_str_printf(out, "   %s   train   ", p->g->format->kind.name);
    dt_str_grouped(out, p->t->records);
    dt_str_printf(out, " example%s\n\n", p->t->records == 1 ? "" : "s");
    put_table(p, out);
    put_records(p, out);
    dt_str_printf(out,
                  "\nA job reads it with these lines. Give the column to predict an element of its "
                  "own,\nwithout normalize or one_hot.\n\n%s",
                  p->t->lines);
}

static void put_json_words(dt_json *j, const dt_column_facts *c) {
    dt_json_open(j, "values", '{');
    for (int i = 0; i < c->words.n; i++) dt_json_int(j, c->words.v[i], c->times[i]);
    dt_json_close(j, '}');
}

static void put_json_column(dt_json *j, const dt_column_facts *c) {
    /* dtypes of the elements that number, category and text become, which are the first values of
     * dt_column_kind */
    static const char *const dtypes[] = {"float32", "int32", "string"};
    dt_str type = {0};
    put_type(c, &type);
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "name", c->element);
    dt_json_string(j, "type", dt_str_text(&type));
    dt_json_string(j, "dtype",
                   c->dates                    ? "string"
                   : c->kind <= DT_COLUMN_TEXT ? dtypes[c->kind]
                                               : NULL);
    dt_json_ints(j, "shape", c->shape.dim, c->shape.rank);
    dt_json_int(j, "count", c->count);
    dt_json_int(j, "missing", c->missing);
    dt_json_int(j, "distinct", c->distinct);
    dt_json_bool(j, "distinct_is_least", c->many);
    if (c->integers) dt_json_int(j, "min", c->min_int);
    else dt_json_double(j, "min", c->min);
    dt_json_double(j, "mean", c->mean);
    if (c->integers) dt_json_int(j, "max", c->max_int);
    else dt_json_double(j, "max", c->max);
    if (c->words.n > 0) put_json_words(j, c);
    dt_json_string(j, "left_out", c->why);
    dt_json_close(j, '}');
    dt_str_release(&type);
}

/* Writes a value as a JSON number, list or string. */
static void put_json_value(dt_json *j, const dt_column_facts *c, const char *text) {
    double x;
    int64_t whole;
    if (!text) dt_json_null(j, c->element);
    else if (c->shape.rank > 0) dt_json_raw(j, c->element, text);
    else if (c->integers && dt_parse_int64(text, &whole)) dt_json_int(j, c->element, whole);
    else if (!isnan(c->mean) && dt_parse_double(text, &x)) dt_json_double(j, c->element, x);
    else dt_json_string(j, c->element, text);
}

static void put_json_notes(dt_json *j, const dt_table_facts *t) {
    dt_json_open(j, "notes", '[');
    for (int i = 0; i < t->n; i++) {
        const dt_column_facts *c = &t->column[i];
        dt_str line = {0};
        dt_str_printf(&line, "'%s' %s: left out", c->element, c->why ? c->why : "");
        if (c->why) dt_json_string(j, NULL, dt_str_text(&line));
        dt_str_clear(&line);
        dt_str_printf(&line, "'%s': ", c->element);
        if (c->odd) dt_column_put_odd(&line, c);
        if (c->odd) dt_json_string(j, NULL, dt_str_text(&line));
        dt_str_release(&line);
    }
    dt_json_close(j, ']');
}

static void put_json(const page *p, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "format", p->g->format->kind.name);
    dt_json_string(&j, "split", dt_part_name(DT_PART_TRAIN));
    dt_json_int(&j, "examples", p->t->records);
    dt_json_open(&j, "elements", '[');
    for (int i = 0; i < p->t->n; i++) put_json_column(&j, &p->t->column[i]);
    dt_json_close(&j, ']');
    dt_json_open(&j, "records", '[');
    for (int64_t i = 0; i < shown(p); i++) {
        dt_json_open(&j, NULL, '{');
        for (int c = 0; c < p->t->n; c++)
            put_json_value(&j, &p->t->column[c], p->t->column[c].examples.v[i]);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, ']');
    put_json_notes(&j, p->t);
    dt_json_string(&j, "job", p->t->lines);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

void dt_table_inspect(const dt_guess *g, const char *title, bool json, dt_str *out) {
    dt_arena *arena = dt_arena_create();
    dt_table_facts facts;
    dt_table_describe(arena, g, &facts);
    const page p = {&facts, g, title};
    if (json) put_json(&p, out);
    else put_text(&p, out);
    dt_arena_destroy(arena);
}
