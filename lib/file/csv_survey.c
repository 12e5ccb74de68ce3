/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surveys the columns of CSV files; reads all records once, and the first ones several times, to
 * find out how the file is written and whether its first line is a header. Columns are integers,
 * numbers, or texts, whose vocabulary is what occurs in the file, in byte order.
 */
#include "file/file.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "file/column_survey.h"
#include "file/csv_header.h"
#include "file/missing.h"

typedef struct table {
    dt_table t;
    dt_arena *arena; /* memory of the headers */
    dt_csv_style style;
    /* how numbers are written; only `thousands`, `decimal` and `symbols` are used */
    dt_element_spec notation;
} table;

/* Returns the value of a field. trimmed: its text without blanks at its ends; NULL: it is too long
 * to be a number. */
static dt_column_value value_of(const table *t, const dt_csv_field *f, const char *trimmed) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    dt_column_value v = {.text = f->text};
    if (!trimmed) return v;
    v.symbol = DT_CSV_PLAIN;
    const bool respelt = t->notation.decimal || t->notation.thousands || t->notation.symbols;
    if (respelt && !dt_csv_respell(&t->notation, trimmed, room, &v.symbol)) return v;
    if (respelt) trimmed = room;
    v.integer = dt_parse_int64(trimmed, &v.whole);
    v.number = dt_parse_double(trimmed, &v.real) || v.integer;
    return v;
}

static bool is_text(const table *t, const dt_csv_field *f) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const char *trimmed = dt_csv_trim(f, room);
    return !trimmed || (!dt_missing_is_default(trimmed) && !value_of(t, f, trimmed).number);
}

static void note_field(const table *t, dt_column *c, const dt_csv_field *f) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const char *trimmed = dt_csv_trim(f, room);
    dt_column_value v = value_of(t, f, trimmed);
    if (trimmed && dt_missing_is_default(trimmed)) {
        c->empty++;
        return;
    }
    c->rows++;
    if (v.number && !dt_csv_symbol_agrees(&c->symbol, v.symbol, v.real))
        v.number = v.integer = false;
    dt_column_note(c, &v);
    if (t->t.records < t->t.wanted) dt_column_show(c, t->t.records, f->text, f->size);
}

/* Facts about the first line, compared with the records below it. */
typedef struct first_line {
    int texts;     /* number of fields that are neither numbers nor missing values */
    int again;     /* number of these texts that occur again in their column */
    bool fraction; /* a field is a number that is not written as an integer */
    bool names;    /* some text is above a column of numbers */
} first_line;

/* A column: its field in the first line, and facts about the records below. */
typedef struct below {
    const char *first;
    bool text, number; /* whether `first` is a text, or a number; neither: it is missing */
    bool again, numbers, words;
    /* The number in the first line, and the lowest and the highest number below it. */
    double value, low, high;
} below;

/* Whether a record equals the first line, which happens where files with headers were joined. */
static bool is_first_again(const dt_csv *c, const below *column, int n) {
    for (int i = 0; i < n && i < c->n; i++)
        if (strcmp(column[i].first, c->field[i].text) != 0) return false;
    return c->n == n;
}

static void note_below(const table *t, const dt_csv *c, below *column, int n) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const bool same = is_first_again(c, column, n);
    for (int i = 0; i < n && i < c->n; i++) {
        const char *trimmed = dt_csv_trim(&c->field[i], room);
        const dt_column_value v = value_of(t, &c->field[i], trimmed);
        if (column[i].number && v.number && !same) {
            column[i].low = fmin(column[i].low, v.real);
            column[i].high = fmax(column[i].high, v.real);
        }
        if (!column[i].text || (trimmed && dt_missing_is_default(trimmed))) continue;
        column[i].again |= strcmp(column[i].first, c->field[i].text) == 0;
        column[i].words |= !v.number && !same;
        column[i].numbers |= v.number;
    }
}

static below *begin_columns(const table *t, const dt_csv *c, first_line *out) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    below *column = dt_arena_array(t->arena, below, c->n);
    for (int i = 0; i < c->n; i++) {
        const dt_column_value v = value_of(t, &c->field[i], dt_csv_trim(&c->field[i], room));
        column[i] = (below){.first = dt_arena_strdup(t->arena, c->field[i].text),
                            .text = is_text(t, &c->field[i]),
                            .number = v.number,
                            .value = v.real,
                            .low = INFINITY,
                            .high = -INFINITY};
        out->fraction |= v.number && !v.integer;
        out->texts += column[i].text;
    }
    return column;
}

/* Whether the numbers of the first line are names such as wavelengths: there are at least three,
 * they rise or fall from column to column, and each has numbers below it but does not lie between
 * the lowest and the highest of them. */
static bool is_scale(const below *column, int n) {
    int numbers = 0, rises = 0, falls = 0;
    double last = 0;
    for (int i = 0; i < n; i++) {
        const below *b = &column[i];
        if (!b->number) continue;
        if (b->low > b->high || (b->low <= b->value && b->value <= b->high)) return false;
        rises += numbers > 0 && b->value > last;
        falls += numbers > 0 && b->value < last;
        last = b->value;
        numbers++;
    }
    return numbers >= 3 && (rises == numbers - 1 || falls == numbers - 1);
}

/* Finds out whether the first line is a header, from up to 1,000 records below it. Without a text
 * in it, it is a record. It is a header if one of its texts is above a column of numbers. Otherwise
 * it is a record if most of its texts occur again in their columns, or if it has a number such as
 * 1.5 and its numbers are not a scale (see is_scale). Faults of later records are reported
 * when they are read. */
static dt_status *find_header(table *t, const char *path) {
    enum { LOOKED_AT = 1000 };
    dt_csv c;
    bool more = false;
    first_line f = {0};
    dt_status *s = dt_csv_open(&c, path, &t->style), *later = NULL;
    if (!s) s = dt_csv_next(&c, &more);
    const int n = !s && more ? c.n : 0;
    below *column = n > 0 ? begin_columns(t, &c, &f) : NULL;
    for (int i = 0; i < LOOKED_AT && n > 0 && more && !later; i++) {
        later = dt_csv_next(&c, &more);
        if (!later && more) note_below(t, &c, column, n);
    }
    for (int i = 0; i < n; i++) {
        f.again += column[i].again;
        f.names |= column[i].numbers && !column[i].words;
    }
    f.fraction &= !is_scale(column, n);
    t->t.header = f.texts > 0 && (f.names || (2 * f.again <= f.texts && !f.fraction));
    dt_status_free(later);
    dt_csv_close(&c);
    return s;
}

/* Begins the table with the first record of the first file. */
static dt_status *begin(table *t, const dt_csv *c) {
    if (c->n > DT_MOST_COLUMNS)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: %d columns; at most %d can be inspected without a job", c->path, c->n,
                       DT_MOST_COLUMNS);
    dt_csv_header h;
    dt_csv_header_read(t->arena, c, t->t.header, &h);
    t->t.n = c->n;
    t->t.v = dt_alloc((size_t)c->n * sizeof *t->t.v);
    for (int i = 0; i < c->n; i++) dt_column_init(&t->t.v[i], h.name[i]);
    return NULL;
}

/* If the first lines are a title or notes, the records after them all have the same number of
 * fields. Adds to s the suggestion to skip the lines before these records, if at least three of
 * them follow one another and they begin in the first 50 lines. Reads up to 100 more records. */
static dt_status *suggest_skip(dt_status *s, dt_csv *c) {
    enum { LOOKED_AT = 100, HIGHEST = 50 };
    int64_t line = c->field[0].line, alike = 1;
    bool more = true;
    for (int i = 0, n = c->n; i < LOOKED_AT && more; i++) {
        dt_status *bad = dt_csv_next(c, &more);
        more = more && !bad;
        dt_status_free(bad);
        if (!more) break;
        alike = c->n == n ? alike + 1 : 1;
        if (alike == 1) line = c->field[0].line;
        n = c->n;
    }
    return alike > 2 && line <= HIGHEST
               ? dt_suggest(s,
                            "if the table begins in line %lld, write a job with "
                            "dataset.skip_rows: %lld",
                            (long long)line, (long long)line - 1)
               : s;
}

static dt_status *note_record(table *t, dt_csv *c) {
    dt_csv_even(c, t->t.n, t->t.header && !*t->t.v[t->t.n - 1].name);
    if (c->n != t->t.n) {
        dt_status *s = dt_csv_fail(c, c->field[0].line, c->end_col, "%d field%s, expected %d", c->n,
                                   c->n == 1 ? "" : "s", t->t.n);
        return t->t.header && t->t.records == 0 && c->n == t->t.n + 1 && t->t.n > 1
                   ? dt_suggest(s,
                                "if the header lacks the name of the first column, write it there")
                   : suggest_skip(s, c);
    }
    for (int i = 0; i < c->n; i++) note_field(t, &t->t.v[i], &c->field[i]);
    t->t.records++;
    return NULL;
}

static dt_status *check_header(const table *t, const dt_csv *c) {
    dt_csv_header h;
    dt_csv_header_read(t->arena, c, true, &h);
    for (int i = 0; i < t->t.n && i < c->n; i++)
        if (strcmp(t->t.v[i].name, h.name[i]) != 0)
            return dt_csv_fail(c, c->field[i].line, c->field[i].col,
                               "column '%s' where the first file has '%s'", c->field[i].text,
                               t->t.v[i].name);
    return NULL;
}

static dt_status *look_through(table *t, const char *path) {
    dt_csv c;
    bool more = false;
    dt_status *s = dt_csv_open(&c, path, &t->style);
    if (!s) s = dt_csv_next(&c, &more);
    if (!s && more && !t->t.v) s = begin(t, &c);
    if (!s && more && t->t.header) {
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

/* What the first records look like if they are read in a style. */
typedef struct glance {
    int fields; /* number of fields of the first record */
    bool hash;  /* the first record begins with # */
    /* There are several records, all with the same number of fields, and some field below the first
     * record is a number. */
    bool table;
    /* all records have the same number of fields, some fields below the first record have a comma,
     * and all of these are numbers such as 1,5 */
    bool marks;
} glance;

static bool is_number(const dt_element_spec *e, const char *text) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    double x;
    return dt_csv_respell(e, text, room, NULL) && dt_parse_double(room, &x);
}

static bool has_decimal_comma(const char *text) {
    return is_number(&(dt_element_spec){.thousands = '.', .decimal = ','}, text);
}

/* Reads up to 20 records in a style, and sets *out to what they look like. A fault of a later
 * record ends the reading; fails if the first record cannot be read. */
static dt_status *glance_at(const char *path, const dt_csv_style *style, glance *out) {
    enum { LOOKED_AT = 20 };
    dt_csv c;
    bool more = false, even = true, number = false, commas = false, marks = true;
    char room[DT_CSV_LONGEST_NUMBER + 1];
    double x;
    dt_status *s = dt_csv_open(&c, path, style);
    if (!s) s = dt_csv_next(&c, &more);
    *out = (glance){.fields = s ? 0 : c.n, .hash = !s && c.n > 0 && *c.field[0].text == '#'};
    for (int i = 1; i < LOOKED_AT && !s && more; i++) {
        dt_status *bad = dt_csv_next(&c, &more);
        if (bad || !more) {
            dt_status_free(bad);
            break;
        }
        even = even && c.n == out->fields;
        for (int k = 0; k < c.n; k++) {
            const char *trimmed = dt_csv_trim(&c.field[k], room);
            number = number || (trimmed && dt_parse_double(trimmed, &x));
            if (!strchr(c.field[k].text, ',')) continue;
            commas = true;
            marks = marks && trimmed && has_decimal_comma(trimmed);
        }
    }
    out->table = even && number;
    out->marks = even && commas && marks;
    dt_csv_close(&c);
    return s;
}

/* Finds the delimiter with which the first record has the most fields. Commas in numbers are
 * decimal marks if another delimiter divides the lines. If the result is one column, or not a
 * table with numbers, blanks are tried: they are the delimiter if that gives more fields and a
 * table. */
static dt_status *find_delimiter(const char *path, dt_csv_style *style, glance *best) {
    dt_status *first = NULL;
    glance g;
    *best = (glance){0};
    for (const char *d = ",;\t| "; *d; d++) {
        dt_csv_style tried = {.delimiter = *d, .blanks = *d == ' ', .comment = style->comment};
        if (tried.blanks && best->fields > 1 && best->table) break;
        dt_status *s = glance_at(path, &tried, &g);
        const bool marks = style->delimiter == ',' && g.fields > 1 && g.marks && !tried.blanks;
        if (!s && (marks || (g.fields > best->fields && (!tried.blanks || g.table)))) {
            *style = tried;
            *best = g;
        }
        if (first) dt_status_free(s);
        else first = s;
    }
    if (best->fields == 0) return first;
    dt_status_free(first);
    return NULL;
}

/* Finds the delimiter, and whether lines that begin with # are comments. They are if the file
 * begins with one, and without them the records have another number of fields or, if the file is
 * not a table otherwise, another delimiter. */
static dt_status *find_style(const char *path, dt_csv_style *style) {
    glance plain, without = {0};
    dt_csv_style commented = {.comment = '#'};
    DT_TRY(find_delimiter(path, style, &plain));
    if (!plain.hash) return NULL;
    dt_status *s = find_delimiter(path, &commented, &without);
    const bool differs =
        without.fields != plain.fields || (!plain.table && commented.delimiter != style->delimiter);
    if (!s && without.fields > 0 && differs) *style = commented;
    dt_status_free(s);
    return NULL;
}

/* How the numbers of a file are written. */
typedef struct notation {
    /* point: some numbers look like 1.5, 1.2345 or 1,234.5; comma: some look like 1,5, 1,234 or
     * 1.234,5. */
    bool point, comma;
    bool grouped; /* some numbers look like 1.234, which fits both notations, or like 1.234,5 */
    /* thousands: some numbers look like 1,234 or 1,234.5; decimal: some numbers with a comma do
     * not. */
    bool thousands, decimal;
    /* blanks: some numbers look like 1 234; symbols: some look like $5 or 5 %. */
    bool blanks, symbols;
} notation;

/* Removes a currency symbol or %, and blanks between groups of three digits, from a number such as
 * "$1 234,5". Returns the rest, in `room`, and notes in *n which of the two there were; *blanks:
 * whether there were blanks. Returns `text`, and notes nothing, if the rest is not a number. */
static const char *undress(const char *text, char room[DT_CSV_LONGEST_NUMBER + 1], notation *n,
                           bool *blanks) {
    static const dt_element_spec marked = {.symbols = true}, spaced = {.thousands = ' '},
                                 by_comma = {.thousands = ','};
    char plain[DT_CSV_LONGEST_NUMBER + 1];
    uint32_t symbol, none;
    *blanks = false;
    if (!dt_csv_bare(&marked, text, plain, &symbol) || !dt_csv_bare(&spaced, plain, room, &none) ||
        (!has_decimal_comma(room) && !is_number(&by_comma, room)))
        return text;
    *blanks = strcmp(plain, room) != 0;
    n->blanks |= *blanks;
    n->symbols |= symbol != DT_CSV_PLAIN;
    return room;
}

static void note_notation(const dt_csv *c, notation *n) {
    static const dt_element_spec by_comma = {.thousands = ','};
    char room[DT_CSV_LONGEST_NUMBER + 1], bare[DT_CSV_LONGEST_NUMBER + 1];
    double x;
    for (int i = 0; i < c->n; i++) {
        const char *text = dt_csv_trim(&c->field[i], room);
        bool blanks;
        if (!text || !*text) continue;
        text = undress(text, bare, n, &blanks);
        /* the comma of 1 234,567 is a decimal one */
        const bool comma = strchr(text, ','),
                   grouped = comma && !blanks && is_number(&by_comma, text);
        n->thousands |= grouped;
        if (has_decimal_comma(text)) {
            n->comma |= comma;
            n->decimal |= comma && !grouped;
            n->grouped |= strchr(text, '.') != NULL;
        } else n->point |= strchr(text, '.') && (grouped || dt_parse_double(text, &x));
    }
}

/* Detects numbers such as 1.234,5, which often come with semicolons as delimiters, and such as
 * 1,234.5. The first records decide. If they have numbers with a decimal point, a comma is not a
 * decimal mark. */
static dt_status *find_notation(table *t, const char *path) {
    enum { LOOKED_AT = 1000 };
    dt_csv c;
    bool more = true;
    notation n = {0};
    dt_status *s = dt_csv_open(&c, path, &t->style);
    for (int i = 0; i < LOOKED_AT && !s && more; i++) {
        s = dt_csv_next(&c, &more);
        if (!s && more) note_notation(&c, &n);
    }
    dt_csv_close(&c);
    t->notation.symbols = n.symbols;
    if (n.comma && !n.point && (t->style.delimiter != ',' || n.blanks)) {
        t->notation.decimal = ',';
        t->notation.thousands = n.grouped ? '.' : n.blanks ? ' ' : '\0';
    } else if (n.thousands && !n.decimal) t->notation.thousands = ',';
    else if (n.blanks) t->notation.thousands = ' ';
    return s;
}

static void put_notation(const table *t, dt_json *j) {
    const char decimal[] = {t->notation.decimal, '\0'}, thousands[] = {t->notation.thousands, '\0'};
    if (*decimal) dt_json_string(j, "decimal", decimal);
    if (*thousands) dt_json_string(j, "thousands", thousands);
    if (t->notation.symbols) dt_json_bool(j, "symbols", true);
}

dt_status *dt_csv_survey(const dt_survey_request *g) {
    table t = {.style.delimiter = ',',
               .arena = dt_arena_create(),
               .t.wanted = g->table ? g->table->wanted : 0};
    dt_status *s = find_style(g->path[0], &t.style);
    if (!s) s = find_notation(&t, g->path[0]);
    if (!s) s = find_header(&t, g->path[0]);
    for (int i = 0; i < g->n && !s; i++) s = look_through(&t, g->path[i]);
    if (!s && t.t.records == 0) s = dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", g->path[0]);
    if (!s) {
        const char delimiter[] = {t.style.delimiter, '\0'}, comment[] = {t.style.comment, '\0'};
        t.t.delimiter = *delimiter;
        t.t.comment = *comment;
        dt_json_bool(g->j, "header", t.t.header);
        dt_json_string(g->j, "field_delim", t.style.blanks ? "whitespace" : delimiter);
        if (*comment) dt_json_string(g->j, "comment", comment);
        t.t.decimal = t.notation.decimal;
        t.t.thousands = t.notation.thousands;
        t.t.symbols = t.notation.symbols;
        put_notation(&t, g->j);
        s = dt_table_put(&t.t, g);
    }
    dt_table_release(&t.t);
    dt_arena_destroy(t.arena);
    return s;
}
