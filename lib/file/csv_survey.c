/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of CSV files: all records are looked at once. A first line with a field that is no
 * number is a header. A column is of integers, of numbers, or of texts, whose vocabulary is what
 * occurs, in the order of bytes.
 */
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/column_survey.h"
#include "file/csv_header.h"

typedef struct table {
    dt_column *v;
    int n;
    dt_arena *arena; /* of headers */
    dt_csv_style style;
    bool header;
    int64_t records;
} table;

/* ---- fields ---- */

static bool is_number(const dt_csv_field *f, bool *integer) {
    double x;
    int64_t i;
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const char *text = dt_csv_trim(f, room);
    if (!text) return false;
    *integer = dt_parse_int64(text, &i);
    return *integer || dt_parse_double(text, &x);
}

static void note_field(dt_column *c, const dt_csv_field *f) {
    bool integer = false;
    const bool number = f->size > 0 && is_number(f, &integer);
    if (f->size == 0) c->empty++;
    else dt_column_note(c, f->text, number, integer);
}

/* ---- files ---- */

static bool is_header(const dt_csv *c) {
    bool integer;
    for (int i = 0; i < c->n; i++)
        if (c->field[i].size > 0 && !is_number(&c->field[i], &integer)) return true;
    return false;
}

/* The first record is that of the first file. */
static dt_status *begin(table *t, const dt_csv *c) {
    if (c->n > DT_MOST_COLUMNS)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: %d columns; at most %d can be inspected without a job", c->path, c->n,
                       DT_MOST_COLUMNS);
    t->header = is_header(c);
    dt_csv_header h;
    dt_csv_header_read(t->arena, c, t->header, &h);
    t->n = c->n;
    t->v = dt_alloc((size_t)t->n * sizeof *t->v);
    for (int i = 0; i < t->n; i++) dt_column_init(&t->v[i], h.name[i]);
    return NULL;
}

static dt_status *note_record(table *t, const dt_csv *c) {
    if (c->n != t->n)
        return dt_csv_fail(c, c->field[0].line, c->end_col, "%d field%s, expected %d", c->n,
                           c->n == 1 ? "" : "s", t->n);
    for (int i = 0; i < t->n; i++) note_field(&t->v[i], &c->field[i]);
    t->records++;
    return NULL;
}

static dt_status *check_header(const table *t, const dt_csv *c) {
    dt_csv_header h;
    dt_csv_header_read(t->arena, c, true, &h);
    for (int i = 0; i < t->n && i < c->n; i++)
        if (strcmp(t->v[i].name, h.name[i]) != 0)
            return dt_csv_fail(c, c->field[i].line, c->field[i].col,
                               "column '%s' where the first file has '%s'", c->field[i].text,
                               t->v[i].name);
    return NULL;
}

static dt_status *look_through(table *t, const char *path) {
    dt_csv c;
    bool more = false;
    dt_status *s = dt_csv_open(&c, path, &t->style);
    if (!s) s = dt_csv_next(&c, &more);
    if (!s && more && !t->v) s = begin(t, &c);
    if (!s && more && t->header) {
        s = check_header(t, &c);
        if (!s) s = dt_csv_next(&c, &more);
    }
    while (!s && more) {
        s = note_record(t, &c);
        if (!s) s = dt_csv_next(&c, &more);
    }
    dt_csv_close(&c);
    return s;
}

/* The one with which the first record has the most fields. */
static dt_status *find_delimiter(const char *path, char *out) {
    int most = 0;
    for (const char *d = ",;\t"; *d; d++) {
        dt_csv c;
        bool more;
        dt_status *s = dt_csv_open(&c, path, &(dt_csv_style){.delimiter = *d});
        if (!s) s = dt_csv_next(&c, &more);
        if (!s && c.n > most) {
            most = c.n;
            *out = c.style.delimiter;
        }
        dt_csv_close(&c);
        if (s && (*d == ',' || dt_status_number(s) == DT_E_NO_MEMORY)) return s;
        dt_status_free(s);
    }
    return NULL;
}

dt_status *dt_csv_survey(const dt_survey_request *g) {
    table t = {.style.delimiter = ',', .arena = dt_arena_create()};
    dt_status *s = find_delimiter(g->path[0], &t.style.delimiter);
    for (int i = 0; i < g->n && !s; i++) s = look_through(&t, g->path[i]);
    if (!s && t.records == 0) s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", g->path[0]);
    if (!s) {
        const char delimiter[] = {t.style.delimiter, '\0'};
        dt_json_bool(g->j, "header", t.header);
        dt_json_string(g->j, "field_delim", delimiter);
        s = dt_columns_put(t.v, t.n, g);
    }
    dt_columns_release(t.v, t.n);
    dt_arena_destroy(t.arena);
    return s;
}
