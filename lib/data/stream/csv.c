/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV, a row a record. Where the job's own data is CSV its words hold: columns by name, vocabularies, defaults, and columns of other names (the
 * label, which may be missing) are passed over. Else columns are values in order, as many as the inputs have; a first record without a number is
 * their names. One that has a number is a row, or a fault of its own: taken for names, it would be missing without a word.
 */
#include <stdlib.h>
#include <string.h>

#include "file/csv_words.h"
#include "data/stream/stream.h"

typedef struct table {
    dt_csv csv;
    dt_csv_element *element; /* [n] */
    int **index;             /* [n][columns] where they stand */
    int fields;              /* of a record */
    bool first;              /* the record at hand is the first row, not yet handed out */
} table;

/* Text: what no other kind has known, and begins with characters that text has. */
static bool is_csv(const unsigned char *first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (first[i] < ' ' && first[i] != '\t' && first[i] != '\r' && first[i] != '\n')
            return false;
    return n > 0;
}

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

static dt_status *find_column(const dt_stream_source *s, const table *t, const dt_csv_element *e, int i, bool header)
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

static dt_status *find_columns(dt_stream_source *s, table *t, bool header)
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

static const char *column_name(const dt_stream_source *s, const table *t, int i, bool header)
{
    return header ? dt_arena_strdup(s->arena, t->csv.field[i].text) : dt_arena_printf(s->arena, "%d", i);
}

static dt_status *take_in_order(dt_stream_source *s, table *t, bool header)
{
    int64_t wanted = dt_stream_values(s);
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

/* ---- the kind ---- */

static dt_status *read_head(dt_stream_source *s, table *t)
{
    const bool by_name = strcmp(s->job->format->kind.name, "csv") == 0;
    bool more;
    DT_TRY(dt_csv_next(&t->csv, &more));
    if (!more)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", s->path);
    t->fields = t->csv.n;
    const bool header = by_name ? flag(s->job->tree, "header", true) : is_header(&t->csv);
    t->first = !header;
    return by_name ? find_columns(s, t, header) : take_in_order(s, t, header);
}

static void close_table(void *state)
{
    table *t = state;
    t->csv.file = NULL; /* the stream's */
    dt_csv_close(&t->csv);
}

static dt_status *open_table(dt_stream_source *s, void **state)
{
    table *t = dt_arena_new(s->arena, table);
    const dt_tree *delimiter = dt_tree_get(s->job->tree, "field_delim");
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

static dt_status *next_record(dt_stream_source *s, void *state, void *const *row, bool *more)
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

const dt_stream_kind dt_stream_csv = {.name = "csv", .texts = true, .is = is_csv, .open = open_table, .next = next_record, .holds = holds, .close = close_table};
