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
#include "file/csv_element.h"

enum { MOST_WORDS = 250, MOST_COLUMNS = 1000, TOLD = 8 }; /* a mapping has 10,000 nodes at most */

typedef struct column {
    char *name;
    bool integers, numbers; /* so far */
    int64_t fields, empty;
    int64_t texts; /* fields that are no numbers; the first of them */
    char *text;
    char **word; /* [words] sorted; of columns of texts */
    int words, cap;
    bool overflow; /* there are more */
} column;

typedef struct table {
    column *v;
    int n;
    char delimiter;
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

static void add_word(column *c, const char *word) {
    int low = 0, high = c->words;
    while (low < high) {
        const int mid = (low + high) / 2, order = strcmp(c->word[mid], word);
        if (order == 0) return;
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    c->overflow = c->words == MOST_WORDS;
    if (c->overflow) return;
    DT_GROW(c->word, c->cap, c->words + 1);
    memmove(c->word + low + 1, c->word + low, (size_t)(c->words++ - low) * sizeof *c->word);
    c->word[low] = dt_strdup(word);
}

/* Words are gathered of all columns: that a column is of texts may show at the last record. */
static void note_field(column *c, const dt_csv_field *f) {
    bool integer = false;
    if (f->size == 0) {
        c->empty++;
        return;
    }
    const bool number = is_number(f, &integer);
    c->fields++;
    if (!number && c->texts++ == 0) c->text = dt_strdup(f->text);
    c->integers &= integer;
    c->numbers &= number;
    if (!c->overflow) add_word(c, f->text);
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
    if (c->n > MOST_COLUMNS)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: %d columns; at most %d can be inspected without a job", c->path, c->n,
                       MOST_COLUMNS);
    t->header = is_header(c);
    if (t->header) DT_TRY(dt_csv_check_header(c));
    t->n = c->n;
    t->v = dt_alloc((size_t)t->n * sizeof *t->v);
    for (int i = 0; i < t->n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        t->v[i] = (column){.name = dt_strdup(t->header ? c->field[i].text : number),
                           .integers = true,
                           .numbers = true};
    }
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
    for (int i = 0; i < t->n && i < c->n; i++)
        if (strcmp(t->v[i].name, c->field[i].text) != 0)
            return dt_csv_fail(c, c->field[i].line, c->field[i].col,
                               "column '%s' where the first file has '%s'", c->field[i].text,
                               t->v[i].name);
    return NULL;
}

static dt_status *look_through(table *t, const char *path) {
    dt_csv c;
    bool more = false;
    dt_status *s = dt_csv_open(&c, path, t->delimiter);
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
        dt_status *s = dt_csv_open(&c, path, *d);
        if (!s) s = dt_csv_next(&c, &more);
        if (!s && c.n > most) {
            most = c.n;
            *out = *d;
        }
        dt_csv_close(&c);
        if (s && (*d == ',' || dt_status_number(s) == DT_E_NO_MEMORY)) return s;
        dt_status_free(s);
    }
    return NULL;
}

/* ---- what it comes to ---- */

static void put_words(const column *c, const dt_survey_request *g) {
    dt_json_open(g->j, "vocabulary", '[');
    for (int i = 0; i < c->words; i++) dt_json_string(g->j, NULL, c->word[i]);
    dt_json_close(g->j, ']');
    dt_str_printf(g->notes, "'%s': mapped to class indices:", c->name);
    for (int i = 0; i < c->words && i < TOLD; i++) {
        dt_str_puts(g->notes, i ? ", " : " ");
        dt_str_escaped(g->notes, c->word[i], strlen(c->word[i]), 40);
        dt_str_printf(g->notes, "=%d", i);
    }
    dt_str_puts(g->notes, c->words > TOLD ? ", ...\n" : "\n");
    if (c->texts == c->fields) return;
    dt_str_printf(g->notes, "'%s': %lld of %lld fields are not numbers (such as '", c->name,
                  (long long)c->texts, (long long)c->fields);
    dt_str_escaped(g->notes, c->text, strlen(c->text), 40);
    dt_str_puts(g->notes, "'), so all of them are read as text\n");
}

/* pandas writes its index without a name. */
static void put_element(const column *c, int number, const dt_survey_request *g) {
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "column_%d", number);
    dt_json_open(g->j, *c->name ? c->name : unnamed, '{');
    dt_json_string(g->j, "column", c->name);
    dt_json_string(g->j, "dtype", c->integers ? "int64" : c->numbers ? "float64" : "int32");
    if (!c->numbers) put_words(c, g);
    if (c->empty > 0) {
        dt_json_int(g->j, "default_value", 0);
        dt_str_printf(g->notes, "'%s': empty fields, %lld, are read as 0\n", c->name,
                      (long long)c->empty);
    }
    dt_json_close(g->j, '}');
}

static void put_columns(const table *t, const dt_survey_request *g) {
    dt_json_open(g->j, "element", '{');
    for (int i = 0; i < t->n; i++) {
        const column *c = &t->v[i];
        if (c->words == 0) dt_str_printf(g->notes, "'%s' has no values: left out\n", c->name);
        else if (!c->numbers && c->overflow)
            dt_str_printf(g->notes,
                          "'%s' has more than %d different texts: left out; a job reads it with "
                          "dtype: string\n",
                          c->name, MOST_WORDS);
        else put_element(c, i, g);
    }
    dt_json_close(g->j, '}');
}

static void release(table *t) {
    for (int i = 0; i < t->n; i++) {
        while (t->v[i].words > 0) free(t->v[i].word[--t->v[i].words]);
        free(t->v[i].word);
        free(t->v[i].text);
        free(t->v[i].name);
    }
    free(t->v);
}

dt_status *dt_csv_survey(const dt_survey_request *g) {
    table t = {.delimiter = ','};
    dt_status *s = find_delimiter(g->path[0], &t.delimiter);
    for (int i = 0; i < g->n && !s; i++) s = look_through(&t, g->path[i]);
    if (!s && t.records == 0) s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", g->path[0]);
    if (!s) {
        const char delimiter[] = {t.delimiter, '\0'};
        dt_json_bool(g->j, "header", t.header);
        dt_json_string(g->j, "field_delim", delimiter);
        put_columns(&t, g);
    }
    release(&t);
    return s;
}
