/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of JSON lines: all rows are looked at once. A key that not every row has counts as null
 * where it is missing. A list is an element of its shape if all rows have that shape, of numbers. */
#include <string.h>

#include "base/arena.h"
#include "file/column_survey.h"
#include "file/jsonl_row.h"

enum { MOST_VALUES = 1 << 20 }; /* of a list that becomes an element */

typedef struct keys {
    dt_column *v;
    int n, cap;
    int64_t rows;
    dt_json_cursor c;
    dt_str key, text;
} keys;

/* Keys mostly come in one order: `guess` is where this one was. */
static dt_column *find_key(keys *k, const char *name, int guess) {
    if (guess < k->n && strcmp(k->v[guess].name, name) == 0) return &k->v[guess];
    int i = 0;
    while (i < k->n && strcmp(k->v[i].name, name) != 0) i++;
    if (i == k->n && i <= DT_MOST_COLUMNS) {
        DT_GROW(k->v, k->cap, k->n + 1);
        dt_column_init(&k->v[k->n++], name);
    }
    return i < k->n ? &k->v[i] : NULL;
}

/* A number, a word or a string. */
static void note_value(keys *k, dt_column *c, char first) {
    char number[DT_JSON_LONGEST_NUMBER + 1];
    int64_t i;
    double x;
    if (first == '"') {
        if (!dt_json_read_text(&k->c, &k->text)) return;
        dt_column_note(c, dt_str_text(&k->text), false, false);
    } else if (first == 't' || first == 'f') {
        if (dt_json_read_word(&k->c))
            dt_column_note(c, first == 't' ? "true" : "false", true, true);
    } else if (dt_json_read_number(&k->c, number)) {
        dt_column_note(c, number, dt_parse_double(number, &x), dt_parse_int64(number, &i));
    }
}

/* Reads the list of dimension d; *t gets the sizes of the first list of each dimension. False:
 * lists differ in size, or contain other values than numbers. */
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

/* The current value. */
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

static dt_status *note_row(keys *k, const dt_json_place *row, size_t size) {
    bool first = true;
    k->c = (dt_json_cursor){.at = row->text, .end = row->text + size};
    if (dt_json_peek(&k->c) != '{') {
        if (!k->c.fault) note(k, find_key(k, "x", 0));
    } else {
        dt_json_enter(&k->c);
        for (int i = 0; dt_json_more(&k->c, '}', &first) && dt_json_read_key(&k->c, &k->key); i++) {
            dt_column *c = find_key(k, dt_str_text(&k->key), i);
            if (c) note(k, c);
            else dt_json_skip(&k->c, 1);
        }
    }
    if (k->c.fault) return dt_json_fail(row, k->c.at, "not JSON: %s", k->c.fault);
    k->rows++;
    if (k->n <= DT_MOST_COLUMNS) return NULL;
    return dt_fail(DT_E_TOO_LARGE, NULL,
                   "%s: more than %d keys; at most so many can be inspected without a job",
                   row->path, DT_MOST_COLUMNS);
}

/* Lists at the top are rows, unless they are of objects. */
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
    keys k = {0};
    dt_status *s = NULL;
    for (int i = 0; i < g->n && !s; i++) s = look_through(&k, g->path[i]);
    if (!s && k.rows == 0) s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", g->path[0]);
    for (int i = 0; i < k.n; i++) k.v[i].empty = k.rows - k.v[i].rows;
    if (!s) s = dt_columns_put(k.v, k.n, g);
    dt_columns_release(k.v, k.n);
    dt_str_release(&k.key);
    dt_str_release(&k.text);
    return s;
}
