/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples as lines of CSV. Which column has which value is settled once:
 *
 *     of a job's own CSV         as the job looks for them: its delimiter and its names; where there are none, places from 0, and what no element is
 *                                made of is empty between them. A column of several elements is written once, as the one that says most has it
 *     of everything else         commas; the element's name, or x_0, x_1, ... of several values in the order of the array
 */
#include <string.h>

#include "file/cast.h"
#include "data/convert.h"

typedef struct column {
    const char *name;          /* NULL: made of the element's */
    const dt_element *element; /* whose value it has; NULL: nobody's */
    int64_t value;
} column;

typedef struct table {
    column *column;            /* [n] */
    int64_t n;
    char delimiter;
    bool header;
} table;

/* ---- columns ---- */

static bool is_text(const dt_element *e)
{
    return e->stored && e->stored->text;
}

static int64_t fields_of(const dt_element *e)
{
    const dt_type row = dt_row_type(e);
    return is_text(e) ? 1 : dt_type_elements(&row);
}

/* Of two elements that are made of one column the one to be asked what its fields were. */
static int says(const dt_element *e)
{
    enum { FLOATS, DOUBLES, INTEGERS, WORDS, TEXT };
    if (is_text(e) || e->stored->vocabulary.n > 0)
        return is_text(e) ? TEXT : WORDS;
    return e->type.dtype == DT_FLOAT32 ? FLOATS : e->type.dtype == DT_FLOAT64 ? DOUBLES : INTEGERS;
}

static column *find_name(table *t, const char *name)
{
    int64_t at = 0;
    while (at < t->n && strcmp(t->column[at].name, name) != 0)
        at++;
    t->n += at == t->n;
    return &t->column[at];
}

static column *find_place(table *t, const char *number)
{
    int64_t place = 0;
    dt_parse_int64(number, &place); /* the job was read: it is a number, and every record has so many fields */
    t->n = place < t->n ? t->n : place + 1;
    return &t->column[place];
}

static void place_job_columns(table *t, const dt_element *e)
{
    const dt_texts *own = &e->stored->columns;
    for (int i = 0; i < own->n; i++) {
        column *c = t->header ? find_name(t, own->v[i]) : find_place(t, own->v[i]);
        if (!c->element || says(e) > says(c->element))
            *c = (column){own->v[i], e, i};
    }
}

static const char *shared_column(const dt_stored *a, const dt_stored *b)
{
    for (int i = 0; i < a->columns.n; i++)
        for (int k = 0; k < b->columns.n; k++)
            if (strcmp(a->columns.v[i], b->columns.v[k]) == 0)
                return a->columns.v[i];
    return NULL;
}

static bool fill_alike(const dt_stored *a, const dt_stored *b)
{
    return a->text || b->text || (a->has_default == b->has_default && (!a->has_default || a->default_value == b->default_value));
}

/* A field that was empty is one value for this element and another for that; written is one of them. A text has the field itself. */
static dt_status *check(const dt_element *element, int n)
{
    for (int e = 0; e < n; e++)
        for (int k = 0; element[e].stored && k < e; k++) {
            const char *shared = fill_alike(element[k].stored, element[e].stored) ? NULL : shared_column(element[k].stored, element[e].stored);
            if (shared)
                return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "column '%s' is used by '%s' and '%s' with different default values: CSV has one field for "
                               "both; write .tfrecord or .npz instead", shared, element[k].name, element[e].name);
        }
    return NULL;
}

static void place_columns(table *t, const dt_element *e)
{
    for (int64_t i = 0; i < fields_of(e); i++)
        t->column[t->n++] = (column){NULL, e, i};
}

/* How many columns there can be: those of all elements, or by number up to the last. */
static int64_t most_columns(const dt_record_form *f)
{
    int64_t most = 0, number;
    for (int e = 0; e < f->n; e++) {
        const dt_stored *x = f->element[e].stored;
        most += fields_of(&f->element[e]);
        for (int i = 0; x && x->numbered && i < x->columns.n; i++)
            if (dt_parse_int64(x->columns.v[i], &number) && number >= most)
                most = number + 1;
    }
    return most;
}

static void *plan(dt_arena *arena, const dt_record_form *f)
{
    table *t = dt_arena_new(arena, table);
    const dt_stored *own = f->element[0].stored;
    const bool is_own = own && own->columns.n > 0;
    *t = (table){dt_arena_array(arena, column, most_columns(f)), 0, is_own ? own->delimiter : ',', !is_own || !own->numbered};
    for (int e = 0; e < f->n; e++)
        (is_own ? place_job_columns : place_columns)(t, &f->element[e]);
    return t;
}

/* ---- fields ---- */

/* In quotes where it must be. An empty one, too: alone in a line it would be none, and readers skip empty lines. */
static void put_field(const table *t, dt_str *out, const char *text)
{
    const char special[] = {t->delimiter, '"', '\r', '\n', '\0'};
    const bool quoted = !*text || text[strcspn(text, special)] != '\0';
    dt_str_puts(out, quoted ? "\"" : "");
    for (; *text; text++) {
        if (*text == '"')
            dt_str_putc(out, '"');
        dt_str_putc(out, *text);
    }
    dt_str_puts(out, quoted ? "\"" : "");
}

static void put_number(dt_str *out, dt_dtype d, const char *p)
{
    double real;
    int64_t integer;
    float f;
    if (d == DT_FLOAT32) {
        memcpy(&f, p, sizeof f);
        dt_str_float(out, f);
    } else if (d == DT_FLOAT64) {
        memcpy(&real, p, sizeof real);
        dt_str_double(out, real);
    } else {
        dt_cast(d, DT_INT64, p, &integer, 1);
        dt_str_printf(out, "%lld", (long long)integer);
    }
}

/* A default_value may be no place in the vocabulary: its field was empty. */
static const char *word_of(const dt_texts *vocabulary, dt_dtype d, const char *p)
{
    int64_t place;
    dt_cast(d, DT_INT64, p, &place, 1);
    return place >= 0 && place < vocabulary->n ? vocabulary->v[place] : "";
}

static void put_value(dt_str *out, const column *c, const void *values)
{
    const dt_element *e = c->element;
    const dt_dtype d = e->type.dtype;
    const char *p = (const char *)values + c->value * (int64_t)dt_dtype_size(d);
    if (is_text(e))
        dt_str_puts(out, p);
    else if (e->stored && e->stored->vocabulary.n > 0)
        dt_str_puts(out, word_of(&e->stored->vocabulary, d, p));
    else
        put_number(out, d, p);
}

static void put_name(dt_str *out, const column *c)
{
    dt_str_puts(out, c->name ? c->name : c->element->name);
    if (!c->name && c->element->type.rank > 1 && !is_text(c->element))
        dt_str_printf(out, "_%lld", (long long)c->value);
}

/* ---- lines ---- */

/* row NULL: the header. */
static void put_line(const dt_record_form *f, const void *const *row, dt_str *out)
{
    const table *t = f->plan;
    dt_str field = {0};
    for (int64_t i = 0; i < t->n; i++) {
        const column *c = &t->column[i];
        if (i > 0)
            dt_str_putc(out, t->delimiter);
        if (!c->element)
            continue;
        dt_str_clear(&field);
        if (row)
            put_value(&field, c, row[c->element - f->element]);
        else
            put_name(&field, c);
        put_field(t, out, dt_str_text(&field));
    }
    dt_str_puts(out, "\r\n");
    dt_str_release(&field);
}

static void put_header(const dt_record_form *f, dt_str *out)
{
    if (((const table *)f->plan)->header)
        put_line(f, NULL, out);
}

const dt_record_writer dt_csv_writer = {.check = check, .plan = plan, .header = put_header, .record = put_line};
