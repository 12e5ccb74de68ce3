/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as a format, a row a record.
 *
 *     dataset:
 *       format: csv
 *       train: data/iris-*.csv                    # or one file, or a list; columns may stand in another order in each
 *       header: true                              # the default; false: columns are numbers from 0
 *       element:
 *         x:     {columns: [height, width], dtype: float32}
 *         label: {column: species, dtype: int32, vocabulary: [setosa, versicolor, virginica]}
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
#include "file/examples.h"

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
    const dt_csv_element **element; /* [n] */
    int **index;             /* [n][columns] where they stand */
    int fields;              /* of a record */
    char delimiter;
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

/* Keys of a data set. */
struct csv {
    const dt_tree *element;
    bool header;
    const char *field_delim;
};

static const dt_field entry_forms[] = {DT_FORM(DT_FIELD_TABLE, .table = dt_csv_element_fields), DT_END};
static const dt_field element_forms[] = {DT_FORM(DT_FIELD_MAP, .forms = entry_forms, .by_name = true), DT_END};

static const dt_field fields[] = {
    DT_TREE(struct csv, element, .forms = element_forms, .required = true, .help = "elements: {name: {column or columns, dtype, shape, vocabulary, default_value}}"),
    DT_FLAG(struct csv, header, .preset = "true", .help = "the first line has the column names; false: columns are numbered from 0"),
    DT_TEXT(struct csv, field_delim, .preset = ",", .min = 1, .max = 1, .help = "character between fields"),
    DT_END
};

static bool has_header(const dt_tree *keys)
{
    const dt_tree *t = dt_tree_get(keys, "header");
    return !t || t->kind != DT_TREE_SCALAR || strcmp(t->text, "true") == 0;
}

static char delimiter_of(const dt_tree *keys)
{
    const dt_tree *t = dt_tree_get(keys, "field_delim");
    return t && t->kind == DT_TREE_SCALAR ? *t->text : ',';
}

static dt_status *check(const dt_tree *keys, const dt_location *at)
{
    const char c = delimiter_of(keys);
    if (c && !strchr("\"\r\n", c) && (unsigned char)c <= 127)
        return NULL;
    return dt_fail(DT_E_DATASET_KEYS, at, "field_delim must be one ASCII character other than quotes and line ends");
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys, dt_stored *out)
{
    dt_csv_element *e = dt_arena_new(arena, dt_csv_element);
    const bool header = has_header(keys);
    DT_TRY(dt_csv_element_read(arena, entry, header, e));
    const int64_t places = dt_csv_places(e);
    out->name = e->name;
    out->type = e->type;
    out->at = *e->at;
    out->text = e->text;
    out->numbers = out->classes = places;
    out->names = dt_csv_names(e);
    out->columns = e->columns;
    out->vocabulary = e->vocabulary;
    out->delimiter = delimiter_of(keys);
    out->numbered = !header;
    out->has_default = e->has_default;
    out->default_value = e->default_value;
    out->own = e;
    return NULL;
}

/* The record at hand is the header, or where there is none the first of the rows. */
static dt_status *find_columns(dt_row_source *s, table *t, bool header)
{
    dt_status *bad = NULL;
    if (header)
        DT_TRY(dt_csv_check_header(&t->csv));
    for (int e = 0; e < s->n; e++) {
        dt_stored *x = &s->element[e];
        const dt_entry entry = {.key = x->name, .value = (dt_tree *)(uintptr_t)x->words};
        if (!x->own)
            dt_status_append(&bad, x->words ? declare(s->arena, dt_arena_copy(s->arena, &entry, sizeof entry), s->keys, x)
                                            : dt_fail(DT_E_ELEMENTS, NULL, "%s: the job's data has no element '%.80s'", s->path, x->name));
        if (!x->own)
            continue;
        t->element[e] = x->own;
        t->index[e] = dt_arena_array(s->arena, int, t->element[e]->columns.n);
        dt_status_append(&bad, dt_csv_find_columns(&t->csv, t->element[e], header, t->index[e]));
    }
    return bad;
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
        int n = text ? 1 : (int)dt_type_elements(&s->element[e].type);
        const dt_csv_element made = {.name = s->element[e].name, .type = s->element[e].type, .text = text,
                                     .columns = {n, dt_arena_array(s->arena, const char *, n)}};
        t->element[e] = dt_arena_copy(s->arena, &made, sizeof made);
        t->index[e] = dt_arena_array(s->arena, int, n);
        for (int i = 0; i < n; i++, at++) {
            t->index[e][i] = at;
            made.columns.v[i] = column_name(s, t, at, header);
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
    const bool header = by_name ? has_header(s->keys) : is_header(&t->csv);
    t->first = !header;
    return by_name ? find_columns(s, t, header) : take_in_order(s, t, header);
}

static void close_table(void *state)
{
    table *t = state;
    t->csv.file = NULL; /* the caller's */
    dt_csv_close(&t->csv);
}

static dt_status *open_table(dt_row_source *s, void **state)
{
    table *t = dt_arena_new(s->arena, table);
    t->element = dt_arena_array(s->arena, const dt_csv_element *, s->n);
    t->index = dt_arena_array(s->arena, int *, s->n);
    dt_status *bad = dt_csv_take(&t->csv, s->file, s->path, t->delimiter = delimiter_of(s->keys));
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
        DT_TRY(dt_csv_values(&t->csv, t->element[e], t->index[e], row[e]));
    s->record = (dt_row_record){.number = s->row, .offset = t->csv.record_offset, .size = t->csv.record_size};
    return NULL;
}

/* It has been read once and had no fault then. */
static dt_status *record_at(const dt_row_source *s, const void *state, const dt_row_record *r, void *const *out)
{
    const table *t = state;
    dt_csv c;
    bool more = false;
    dt_csv_hold(&c, s->path, t->delimiter, r->bytes, (size_t)r->size);
    dt_status *bad = dt_csv_next(&c, &more);
    if (!bad && (!more || c.n != t->fields))
        bad = dt_fail(DT_E_FILE_CHANGED, NULL, "%s: file changed while in use", s->path);
    for (int e = 0; e < s->n && !bad; e++)
        if (out[e])
            bad = dt_at(dt_csv_values(&c, t->element[e], t->index[e], out[e]), &s->element[e].at);
    dt_csv_close(&c);
    return bad;
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

const dt_format dt_format_csv = {
    .kind = {.name = "csv", .about = "CSV files (RFC 4180), one example per record; may be gzipped"}, .keys = {fields, sizeof(struct csv)}, .suffix = {".csv"}, .texts = true, .records = true,
    .access = &dt_record_access,
    .sniff = sniff, .open = open_table, .next = next_record, .holds = holds, .close = close_table, .survey = dt_csv_survey,
    .check = check, .declare = declare, .at = record_at,
    .begin = put_header, .put = put_row,
};
