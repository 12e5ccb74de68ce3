/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as a container, a row a record.
 *
 * Read: where the job's own data is CSV its words hold: columns by name, vocabularies, defaults, and columns of other names (the label, which
 * may be missing) are passed over. Else columns are values in order, as many as the inputs have; a first record without a number is their
 * names. One that has a number is a row, or a fault of its own: taken for names, it would be missing without a word.
 *
 * Written: a column of several values is name_0, name_1, ... Numbers read back as the same bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/cast.h"
#include "file/csv_element.h"
#include "file/file.h"

/* ---- what is CSV ---- */

/* UTF-8 or Latin-1, as spreadsheets write it: of control characters those that set text. A binary file of any length has others. */
static bool is_text(const unsigned char *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if ((b[i] < ' ' && !(b[i] >= '\t' && b[i] <= '\r')) || b[i] == 0x7f)
            return false;
    return true;
}

/* Text with a delimiter in its first line, or numbers one below the other. */
static bool sniff(const unsigned char *b, int64_t n)
{
    if (n <= 0 || !is_text(b, n))
        return false;
    const unsigned char *end = memchr(b, '\n', (size_t)n);
    const size_t line = end ? (size_t)(end - b) : (size_t)n;
    return memchr(b, ',', line) || memchr(b, ';', line) || memchr(b, '\t', line) || line < 64;
}

/* ---- reading ---- */

typedef struct table {
    dt_csv csv;
    dt_csv_element *element; /* [n] */
    int **index;             /* [n][columns] where they stand */
    int fields;              /* of a record */
    bool first;              /* the record at hand is the first row, not yet handed out */
} table;

/* Also one that no element takes: out of range, nan, inf. */
static bool is_number(const dt_csv_field *f)
{
    char *end;
    strtod(f->text, &end);
    return end > f->text && end[strspn(end, " \t")] == '\0';
}

/* Names are no numbers, and some are there. */
static bool is_header(const dt_csv *c)
{
    bool named = false;
    for (int i = 0; i < c->n; i++) {
        if (is_number(&c->field[i]))
            return false;
        named = named || c->field[i].size > 0;
    }
    return named;
}

/* ---- columns by name ---- */

static bool flag(const dt_tree *words, const char *key, bool preset)
{
    const dt_tree *t = dt_tree_get(words, key);
    return t && t->kind == DT_TREE_SCALAR ? strcmp(t->text, "true") == 0 : preset;
}

static dt_status *find_column(const dt_row_source *s, const table *t, const dt_csv_element *e, int i, bool header)
{
    int64_t number;
    const char *name = e->columns.v[i];
    int *at = &t->index[e - t->element][i];
    for (*at = 0; header && *at < t->csv.n && strcmp(t->csv.field[*at].text, name) != 0;)
        ++*at;
    if (!header)
        *at = dt_parse_int64(name, &number) && number >= 0 && number < t->csv.n ? (int)number : t->csv.n;
    return *at < t->csv.n ? NULL : dt_fail(DT_E_DATA_FILE, NULL, "%s: no column '%.80s', which '%.80s' needs", s->path, name, e->name);
}

static dt_status *find_columns(dt_row_source *s, table *t, bool header)
{
    for (int e = 0; e < s->n; e++) {
        const dt_tree *words = s->element[e].words;
        const dt_entry entry = {.key = s->element[e].name, .value = (dt_tree *)(uintptr_t)words};
        if (!words)
            return dt_fail(DT_E_ELEMENTS, NULL, "%s: the job's data has no element '%.80s'", s->path, s->element[e].name);
        DT_TRY(dt_csv_element_read(s->arena, dt_arena_copy(s->arena, &entry, sizeof entry), header, &t->element[e]));
        s->element[e].stored = t->element[e].type;
        s->element[e].text = t->element[e].text;
        t->index[e] = dt_arena_array(s->arena, int, t->element[e].columns.n);
        for (int i = 0; i < t->element[e].columns.n; i++)
            DT_TRY(find_column(s, t, &t->element[e], i, header));
    }
    return NULL;
}

/* ---- columns in order ---- */

static const char *column_name(const dt_row_source *s, const table *t, int i, bool header)
{
    return header ? dt_arena_strdup(s->arena, t->csv.field[i].text) : dt_arena_printf(s->arena, "%d", i);
}

static dt_status *take_in_order(dt_row_source *s, table *t, bool header)
{
    int64_t wanted = dt_row_source_values(s);
    int at = 0;
    if (t->csv.n != wanted)
        return dt_fail(DT_E_ELEMENTS, NULL, "%s: %d column%s, but the model expects %lld value%s per row", s->path, t->csv.n, t->csv.n == 1 ? "" : "s",
                       (long long)wanted, wanted == 1 ? "" : "s");
    for (int e = 0; e < s->n; e++) {
        const bool text = s->element[e].text;
        int n = text ? 1 : (int)dt_type_elements(&s->element[e].stored);
        t->element[e] = (dt_csv_element){.name = s->element[e].name, .type = s->element[e].stored, .text = text,
                                         .columns = {n, dt_arena_array(s->arena, const char *, n)}};
        t->index[e] = dt_arena_array(s->arena, int, n);
        for (int i = 0; i < n; i++, at++) {
            t->index[e][i] = at;
            t->element[e].columns.v[i] = column_name(s, t, at, header);
        }
    }
    return NULL;
}

/* ---- rows ---- */

static dt_status *read_head(dt_row_source *s, table *t)
{
    const bool by_name = strcmp(s->format, "csv") == 0;
    bool more;
    DT_TRY(dt_csv_next(&t->csv, &more));
    if (!more)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", s->path);
    t->fields = t->csv.n;
    const bool header = by_name ? flag(s->keys, "header", true) : is_header(&t->csv);
    t->first = !header;
    return by_name ? find_columns(s, t, header) : take_in_order(s, t, header);
}

static void close_table(void *state)
{
    table *t = state;
    t->csv.file = NULL; /* the stream's */
    dt_csv_close(&t->csv);
}

static dt_status *open_table(dt_row_source *s, void **state)
{
    table *t = dt_arena_new(s->arena, table);
    const dt_tree *delimiter = dt_tree_get(s->keys, "field_delim");
    t->element = dt_arena_array(s->arena, dt_csv_element, s->n);
    t->index = dt_arena_array(s->arena, int *, s->n);
    dt_status *bad = dt_csv_take(&t->csv, s->file, s->path, delimiter && delimiter->kind == DT_TREE_SCALAR ? *delimiter->text : ',');
    if (!bad)
        bad = read_head(s, t);
    if (bad)
        close_table(t);
    *state = t;
    return bad;
}

/* A quoted field may hold line ends: then the record is waited for, which is no harm. */
static bool holds(const void *state)
{
    const table *t = state;
    const dt_str *w = &t->csv.window;
    return t->first || (w->size > t->csv.at && memchr(w->data + t->csv.at, '\n', w->size - t->csv.at));
}

static dt_status *next_record(dt_row_source *s, void *state, void *const *row, bool *more)
{
    table *t = state;
    *more = t->first;
    if (!t->first)
        DT_TRY(dt_csv_next(&t->csv, more));
    t->first = false;
    if (!*more)
        return NULL;
    DT_TRY(dt_csv_check_fields(&t->csv, t->fields));
    for (int e = 0; e < s->n; e++)
        DT_TRY(dt_csv_values(&t->csv, &t->element[e], t->index[e], row[e]));
    return NULL;
}

/* ---- writing ---- */

void dt_csv_put(dt_str *out, const char *text, char delimiter, bool quotes_empty)
{
    const char special[] = {delimiter, '"', '\r', '\n', '\0'};
    const bool quoted = *text ? text[strcspn(text, special)] != '\0' : quotes_empty;
    dt_str_puts(out, quoted ? "\"" : "");
    for (; *text; text++) {
        if (*text == '"')
            dt_str_putc(out, '"');
        dt_str_putc(out, *text);
    }
    dt_str_puts(out, quoted ? "\"" : "");
}

/* An empty field in quotes: alone in a line it would be none, and readers skip empty lines. Terminals would obey control characters. */
static void put_text(dt_output *o, const char *text)
{
    dt_str clean = {0};
    if (o->plain) {
        dt_str_escaped(&clean, text, strlen(text), SIZE_MAX);
        text = dt_str_text(&clean);
    }
    dt_csv_put(&o->text, text, o->delimiter, !o->plain);
    dt_str_release(&clean);
}

static void put_number(dt_output *o, dt_dtype d, const char *p)
{
    char text[64];
    dt_str number = {0};
    double real;
    int64_t integer;
    if (!dt_dtype_is_float(d)) {
        dt_cast(d, DT_INT64, p, &integer, 1);
        snprintf(text, sizeof text, "%lld", (long long)integer);
        dt_csv_put(&o->text, text, o->delimiter, true);
        return;
    }
    dt_cast(d, DT_FLOAT64, p, &real, 1);
    if (d == DT_FLOAT32)
        dt_str_float(&number, (float)real);
    else
        dt_str_double(&number, real);
    dt_csv_put(&o->text, dt_str_text(&number), o->delimiter, true);
    dt_str_release(&number);
}

/* A default_value may be no place in the vocabulary: its field was empty. */
static const char *word_of(const dt_texts *vocabulary, dt_dtype d, const char *p)
{
    int64_t place;
    dt_cast(d, DT_INT64, p, &place, 1);
    return place >= 0 && place < vocabulary->n ? vocabulary->v[place] : "";
}

static dt_status *put_row(dt_output *o, const void *const *row)
{
    const char gap[] = {o->delimiter, '\0'};
    for (int i = 0; i < o->n; i++) {
        const dt_output_column *c = &o->column[i];
        const int64_t n = c->text ? 1 : dt_type_elements(&c->row);
        const char *p = row[i];
        for (int64_t k = 0; k < n; k++, p += p ? dt_dtype_size(c->row.dtype) : 0) {
            dt_str_puts(&o->text, i || k ? gap : "");
            if (!p)
                continue;
            if (c->text)
                put_text(o, p);
            else if (c->vocabulary && c->vocabulary->n > 0)
                put_text(o, word_of(c->vocabulary, c->row.dtype, p));
            else
                put_number(o, c->row.dtype, p);
        }
    }
    dt_str_puts(&o->text, o->plain ? "\n" : "\r\n");
    return NULL;
}

static dt_status *put_header(dt_output *o)
{
    const char gap[] = {o->delimiter, '\0'};
    dt_str name = {0};
    for (int i = 0; i < o->n && !o->no_header; i++) {
        const dt_output_column *c = &o->column[i];
        const bool several = c->row.rank > 0 && !c->text;
        for (int64_t k = 0; k < (several ? dt_type_elements(&c->row) : 1); k++) {
            dt_str_clear(&name);
            dt_str_puts(&name, c->name);
            if (several)
                dt_str_printf(&name, "_%lld", (long long)k);
            dt_str_puts(&o->text, i || k ? gap : "");
            put_text(o, dt_str_text(&name));
        }
    }
    if (!o->no_header)
        dt_str_puts(&o->text, o->plain ? "\n" : "\r\n");
    dt_str_release(&name);
    return NULL;
}

const dt_container dt_container_csv = {
    .name = "csv", .suffix = {".csv"}, .texts = true, .records = true,
    .sniff = sniff, .open = open_table, .next = next_record, .holds = holds, .close = close_table, .survey = dt_csv_survey,
    .begin = put_header, .put = put_row,
};
