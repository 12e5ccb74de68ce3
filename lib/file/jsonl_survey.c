/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys the keys of JSON lines; reads all rows once. A key that some rows lack counts as null
 * there. A list is an element if it consists of numbers, true and false and has the same shape in
 * all rows that have it. */
#include <string.h>

#include "base/arena.h"
#include "file/column_survey.h"
#include "file/jsonl_row.h"
#include "file/missing.h"

enum { MOST_VALUES = 1 << 20 }; /* most values in a list that becomes an element */

typedef struct keys {
    dt_table t;
    int cap;
    dt_json_cursor c;
    dt_str key, text;
} keys;

/* Finds the column of a key, or adds one; returns NULL if there are too many. Keys mostly come in
 * the same order; `guess` is the key's position in the row. */
static dt_column *find_key(keys *k, const char *name, int guess) {
    dt_table *t = &k->t;
    if (guess < t->n && strcmp(t->v[guess].name, name) == 0) return &t->v[guess];
    int i = 0;
    while (i < t->n && strcmp(t->v[i].name, name) != 0) i++;
    if (i == t->n && i <= DT_MOST_COLUMNS) {
        DT_GROW(t->v, k->cap, t->n + 1);
        dt_column_init(&t->v[t->n++], name);
    }
    return i < t->n ? &t->v[i] : NULL;
}

/* Adds a number, a word or a string to a column. A string that stands for a missing value counts as
 * null. */
static void note_value(keys *k, dt_column *c, char first) {
    char number[DT_JSON_LONGEST_NUMBER + 1];
    dt_column_value v = {0};
    if (first == '"') {
        if (!dt_json_read_text(&k->c, &k->text)) return;
        v.text = dt_str_text(&k->text);
        if (dt_jsonl_is_number(&k->text)) {
            v.number = dt_parse_double(v.text, &v.real);
            v.integer = dt_parse_int64(v.text, &v.whole);
        }
    } else if (first == 't' || first == 'f') {
        if (!dt_json_read_word(&k->c)) return;
        v = (dt_column_value){.text = first == 't' ? "true" : "false",
                              .number = true,
                              .integer = true,
                              .real = first == 't',
                              .whole = first == 't'};
    } else {
        if (!dt_json_read_number(&k->c, number)) return;
        v.text = number;
        v.number = dt_parse_double(number, &v.real);
        v.integer = dt_parse_int64(number, &v.whole);
    }
    if (first == '"' && dt_missing_is_default(v.text)) c->rows--;
    else dt_column_note(c, &v);
}

/* Reads a list at dimension d. *t gets the size of the first list in each dimension. Returns false
 * if lists differ in size or in depth, are empty, are nested too deep, or contain anything but
 * numbers, true and false. */
static bool note_list(keys *k, dt_column *c, int d, dt_type *t) {
    bool first = true;
    int64_t n = 0;
    if (d >= DT_MAX_RANK - 1) return false;
    dt_json_enter(&k->c);
    for (; dt_json_more(&k->c, ']', &first); n++) {
        const char next = dt_json_peek(&k->c);
        if (next == '[' ? d + 1 == t->rank && t->dim[d] > 0 : d + 1 < t->rank) return false;
        if (next != '[' && (!strchr("-0123456789tf", next) || !next)) return false;
        if (next == '[') {
            if (t->rank < d + 2) t->rank = d + 2;
            if (!note_list(k, c, d + 1, t)) return false;
        } else note_value(k, c, next);
    }
    if (t->dim[d] == 0) t->dim[d] = n;
    return n > 0 && t->dim[d] == n && !k->c.fault;
}

static void note_shape(keys *k, dt_column *c) {
    dt_type t = {.rank = 1};
    const dt_json_cursor begin = k->c;
    if (!note_list(k, c, 0, &t)) {
        c->unfit = "has lists of other things than numbers, or of different lengths";
    } else if (c->fields > 0 && c->shape.rank > 0 &&
               (t.rank != c->shape.rank ||
                memcmp(t.dim, c->shape.dim, (size_t)t.rank * sizeof *t.dim) != 0)) {
        c->unfit = "has lists of different lengths";
    }
    if (!c->unfit && dt_type_elements(&t) > MOST_VALUES)
        c->unfit = "has lists of more than 1,048,576 values";
    c->shape = t;
    k->c = begin;
    dt_json_skip(&k->c, 1);
}

/* Adds the value at the cursor to a column. */
static void note(keys *k, dt_column *c) {
    const char first = dt_json_peek(&k->c);
    const bool scalar = first && first != '[' && first != '{' && first != 'n';
    if (scalar && c->shape.rank > 0) c->unfit = "has lists and single values";
    if (first == '[' && c->fields > 0 && c->shape.rank == 0)
        c->unfit = "has lists and single values";
    if (first == '{') c->unfit = "has objects";
    if (!first) return;
    c->rows += first != 'n';
    if (c->unfit || first == 'n' || first == '{') dt_json_skip(&k->c, 1);
    else if (first == '[') note_shape(k, c);
    else note_value(k, c, first);
}

/* Keeps the text of a value for display; a string without its quotes. */
static void show(keys *k, dt_column *c, const char *from, int64_t rows) {
    if (k->c.fault || k->t.records >= k->t.wanted || c->rows == rows) return;
    if (*from == '"') dt_column_show(c, k->t.records, dt_str_text(&k->text), k->text.size);
    else dt_column_show(c, k->t.records, from, (size_t)(k->c.at - from));
}

static void note_and_show(keys *k, dt_column *c) {
    const int64_t rows = c->rows;
    dt_json_peek(&k->c);
    const char *from = k->c.at;
    note(k, c);
    show(k, c, from, rows);
}

static dt_status *note_row(keys *k, const dt_json_place *row, size_t size) {
    bool first = true;
    k->c = (dt_json_cursor){.at = row->text, .end = row->text + size};
    if (dt_json_peek(&k->c) != '{') {
        if (!k->c.fault) note_and_show(k, find_key(k, "x", 0));
    } else {
        dt_json_enter(&k->c);
        for (int i = 0; dt_json_more(&k->c, '}', &first) && dt_json_read_key(&k->c, &k->key); i++) {
            dt_column *c = find_key(k, dt_str_text(&k->key), i);
            if (c) note_and_show(k, c);
            else dt_json_skip(&k->c, 1);
        }
    }
    if (k->c.fault) return dt_json_fail(row, k->c.at, "not JSON: %s", k->c.fault);
    k->t.records++;
    if (k->t.n <= DT_MOST_COLUMNS) return NULL;
    return dt_fail(DT_E_TOO_LARGE, NULL,
                   "%s: more than %d keys; at most so many can be inspected without a job",
                   row->path, DT_MOST_COLUMNS);
}

/* Surveys a file. If it begins with a list of objects, these are its rows; other lists at the top
 * level are rows. */
static dt_status *look_through(keys *k, const char *path) {
    dt_json_values v = {.path = path};
    bool more = true;
    DT_TRY(dt_inflow_open(&v.file, path));
    dt_status *s = dt_json_values_next(&v, &more);
    while (!s && more) {
        const dt_json_place place = {path, v.text, v.row_line, v.row_col};
        s = note_row(k, &place, v.size);
        if (!s) s = dt_json_values_next(&v, &more);
    }
    dt_json_values_release(&v);
    dt_inflow_close(v.file);
    return s;
}

dt_status *dt_jsonl_survey(const dt_survey_request *g) {
    keys k = {.t.wanted = g->table ? g->table->wanted : 0};
    dt_status *s = NULL;
    for (int i = 0; i < g->n && !s; i++) s = look_through(&k, g->path[i]);
    if (!s && k.t.records == 0) s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", g->path[0]);
    for (int i = 0; i < k.t.n; i++) k.t.v[i].empty = k.t.records - k.t.v[i].rows;
    if (!s) s = dt_table_put(&k.t, g);
    dt_table_release(&k.t);
    dt_str_release(&k.key);
    dt_str_release(&k.text);
    return s;
}
