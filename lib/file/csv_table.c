/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as a format: each record is a row.
 *
 *     dataset:
 *       format: csv
 *       train: data/iris-*.csv                    # or one file, or a list; each may have its
 *                                                 # columns in another order
 *       header: true                              # the default; false: columns are numbers from 0
 *       element:
 *         x:     {columns: [height, width], dtype: float32}
 *         label: {column: species, dtype: int32, vocabulary: [setosa, versicolor, virginica]}
 *
 * A CSV file may also hold rows for a job whose data set has another format. A first record without
 * a number is then a header. If the header has the names of all columns (`columns` of JSON lines;
 * or NAME or NAME_0, NAME_1, ... of an element), columns are found by name, and others are skipped.
 * Otherwise columns are the values of the inputs in order, and a header that has some of the names
 * in another order is an error. A first record with a number is always read as a row: if it were
 * taken as a header, it would be lost silently.
 *
 * Written files have columns name_0, name_1, ... for an element of several values. Numbers read
 * back as the same values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/csv_header.h"
#include "file/examples.h"
#include "file/missing.h"

/* ---- recognizing CSV ---- */

/* Whether a file is text: it has no control characters other than those that format text. Most
 * binary files have others. Latin-1 passes here; the reader refuses it later with its location. */
static bool is_text(const unsigned char *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if ((b[i] < ' ' && !(b[i] >= '\t' && b[i] <= '\r')) || b[i] == 0x7f) return false;
    return true;
}

/* Recognizes text with a delimiter in its first line, or with a short first line, as a column of
 * numbers has. Lines that begin with # are comments. */
static bool sniff(const unsigned char *b, int64_t n) {
    if (n <= 0 || !is_text(b, n)) return false;
    const unsigned char *all = b + n, *end = memchr(b, '\n', (size_t)n);
    for (; *b == '#' && end && end + 1 < all; end = memchr(b, '\n', (size_t)(all - b))) b = end + 1;
    const size_t line = (size_t)((end ? end : all) - b);
    return memchr(b, ',', line) || memchr(b, ';', line) || memchr(b, '\t', line) ||
           memchr(b, '|', line) || line < 64;
}

/* ---- an open table, and recognizing headers ---- */

typedef struct table {
    dt_csv csv;
    dt_csv_header header;
    dt_csv_faults faults; /* faults of the first rows of a data set's file */
    int **index;          /* [n][columns] positions of the columns in a record */
    int fields;           /* number of fields in a record */
    int *keep;            /* [s->keep.n] positions of the columns to keep */
    bool first; /* the current record is the first row, which has not been handed out yet */
} table;

/* Whether a field is a number, even one that no element accepts: out of range, nan, inf. */
static bool is_number(const dt_csv_field *f) {
    char *end;
    strtod(f->text, &end);
    return end > f->text && end[strspn(end, " \t")] == '\0';
}

/* Whether a record is a header: it has texts and no numbers. */
static bool is_header(const dt_csv *c) {
    bool named = false;
    for (int i = 0; i < c->n; i++) {
        if (is_number(&c->field[i])) return false;
        named = named || c->field[i].size > 0;
    }
    return named;
}

/* ---- the job's keys, and columns by name ---- */

/* The format's own keys in a job's `dataset`. */
struct csv {
    const dt_tree *element;
    bool header;
    const char *field_delim, *comment, *escapechar, *thousands, *decimal;
    bool symbols;
    int64_t skip_rows;
    dt_texts missing_values, drop_missing;
};

static const dt_field fields[] = {
    DT_ELEMENTS(
        struct csv, dt_csv_element_fields,
        .help = "elements: {name: {column or columns, dtype, shape, vocabulary, default_value}}"),
    DT_FLAG(struct csv, header, .preset = "true",
            .help = "the first line has the column names; false: columns are numbered from 0"),
    DT_TEXT(struct csv, field_delim, .preset = ",", .min = 1, .max = 10,
            .help = "character between fields; whitespace: any number of blanks and tabs"),
    DT_INT(struct csv, skip_rows, .max = 1e6, .help = "lines to skip before the header"),
    DT_TEXT(struct csv, comment, .min = 1, .max = 1,
            .help = "the rest of a line is skipped from this character on"),
    DT_TEXT(struct csv, escapechar, .min = 1, .max = 1,
            .help = "the character behind this one is taken as it is; \\n, \\t and \\N of MySQL"),
    DT_TEXT(struct csv, thousands, .min = 1, .max = 1,
            .help = "character between groups of digits; a blank also stands for no-break, narrow "
                    "and thin blanks"),
    DT_TEXT(struct csv, decimal, .preset = ".", .min = 1, .max = 1, .help = "the decimal point"),
    DT_FLAG(struct csv, symbols,
            .help = "numbers may have a currency sign or %; $85 is read as 85, and 12 % as 12"),
    DT_TEXTS(struct csv, missing_values, .help = DT_MISSING_HELP),
    DT_TEXTS(struct csv, drop_missing, .help = DT_DROP_HELP),
    DT_END};

static bool flag_of(const dt_tree *keys, const char *key, bool preset) {
    const dt_tree *t = dt_tree_get(keys, key);
    return !t || t->kind != DT_TREE_SCALAR ? preset : strcmp(t->text, "true") == 0;
}

static bool has_header(const dt_tree *keys) { return flag_of(keys, "header", true); }

/* Returns the first character of a key's text; 0: the key is not given. */
static char char_of(const dt_tree *keys, const char *key) {
    const dt_tree *t = dt_tree_get(keys, key);
    return t && t->kind == DT_TREE_SCALAR ? *t->text : '\0';
}

static dt_csv_style style_of(const dt_tree *keys) {
    const dt_tree *t = dt_tree_get(keys, "field_delim"), *skip = dt_tree_get(keys, "skip_rows");
    dt_csv_style s = {.delimiter = char_of(keys, "field_delim"),
                      .comment = char_of(keys, "comment"),
                      .escape = char_of(keys, "escapechar")};
    s.is_given = s.delimiter != '\0';
    s.blanks = s.is_given && strcmp(t->text, "whitespace") == 0;
    if (s.blanks || !s.is_given) s.delimiter = s.blanks ? ' ' : ',';
    if (dt_given(skip)) dt_status_free(dt_tree_int(skip, "skip_rows", 0, 1e6, &s.skip_lines));
    return s;
}

/* Whether a text is a character that can separate fields or mark something in them. */
static bool is_mark(const char *text) {
    return text[0] && !text[1] && !strchr("\"\r\n", *text) && (unsigned char)*text < 128;
}

static dt_status *check_marks(const dt_format_request *r) {
    static const char *const keys[] = {"field_delim", "comment", "escapechar", "thousands",
                                       "decimal"};
    dt_status *s = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const dt_tree *t = dt_tree_get(r->keys, keys[i]);
        const bool blanks =
            i == 0 && t && t->kind == DT_TREE_SCALAR && strcmp(t->text, "whitespace") == 0;
        if (!t || t->kind != DT_TREE_SCALAR || blanks || is_mark(t->text)) continue;
        dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, r->at,
                                     "%s must be one ASCII character other than quotes and line "
                                     "ends%s",
                                     keys[i], i == 0 ? ", or whitespace" : ""));
    }
    return s;
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    dt_status *s = dt_records_check(r, names);
    if (r->part == DT_PART_TRAIN) dt_status_append(&s, check_marks(r));
    return s;
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    const bool header = has_header(keys);
    DT_TRY(dt_csv_element_read(arena, entry, header ? DT_COLUMNS_NAMED : DT_COLUMNS_NUMBERED, out));
    out->delimiter = style_of(keys).delimiter;
    out->thousands = char_of(keys, "thousands");
    out->decimal = char_of(keys, "decimal");
    if (out->decimal == '.') out->decimal = '\0';
    out->numbered = !header;
    out->symbols = flag_of(keys, "symbols", false);
    if (out->symbols) out->symbol = dt_arena_array(arena, uint32_t, out->columns.n);
    DT_TRY(dt_missing_declare(arena, keys, out));
    if (out->type.dtype == DT_FLOAT32)
        out->rounded = dt_arena_array(arena, const char *, out->columns.n);
    return NULL;
}

/* Finds the positions of all columns. The first file of a data set determines what patterns of
 * columns match. */
static dt_status *find_columns(dt_row_source *s, table *t) {
    dt_status *bad = NULL;
    for (int e = 0; e < s->n; e++) {
        dt_element_spec *x = &s->element[e];
        dt_status *own = dt_csv_header_expand(s->arena, &t->csv, &t->header, x);
        t->index[e] = dt_arena_array(s->arena, int, x->columns.n);
        if (!own) own = dt_csv_find_columns(&t->csv, &t->header, x, t->index[e]);
        dt_status_append(&bad, own);
    }
    return bad;
}

/* ---- rows for a data set of another format ---- */

/* Ways to name an element's columns: its own names, one for each value; those that `data convert`
 * writes, NAME or NAME_0, NAME_1, ...; or these with the plain name for a list of one value. */
enum { OWN, WRITTEN, PLAIN, NAMINGS };

static void name_columns(dt_row_source *s, dt_element_spec *x, int naming) {
    const int64_t n = x->text ? 1 : dt_type_elements(&x->type);
    const bool single = x->text || x->type.rank == 0 || (naming == PLAIN && n == 1);
    if (naming == OWN && x->columns.n == n) return;
    x->columns = (dt_texts){.n = (int)n, .v = dt_arena_array(s->arena, const char *, n)};
    for (int i = 0; i < n; i++)
        x->columns.v[i] = single ? x->name : dt_arena_printf(s->arena, "%s_%d", x->name, i);
}

/* Whether the header has all columns of all elements. */
static bool is_named(const dt_row_source *s, const dt_csv_header *h) {
    for (int e = 0; e < s->n; e++)
        for (int i = 0; i < s->element[e].columns.n; i++)
            if (!dt_csv_header_has(h, s->element[e].columns.v[i])) return false;
    return true;
}

static dt_status *take_in_order(dt_row_source *s, table *t) {
    int64_t wanted = dt_row_source_values(s);
    int at = 0;
    if (t->csv.n != wanted)
        return dt_fail(
            DT_E_ELEMENTS, NULL, "%s: %d column%s, but the model expects %lld value%s per row",
            s->path, t->csv.n, t->csv.n == 1 ? "" : "s", (long long)wanted, wanted == 1 ? "" : "s");
    for (int e = 0; e < s->n; e++) {
        dt_texts *columns = &s->element[e].columns;
        t->index[e] = dt_arena_array(s->arena, int, columns->n);
        columns->v = dt_arena_array(s->arena, const char *, columns->n);
        for (int i = 0; i < columns->n; i++, at++) {
            t->index[e][i] = at;
            columns->v[i] = t->header.name[at];
        }
    }
    return NULL;
}

/* Returns the index of the first column of that name, which may have blanks around it; -1: none. */
static int find_padded(const dt_csv_header *h, const char *name) {
    const size_t size = strlen(name);
    for (int i = 0; i < h->n; i++) {
        const char *text = h->name[i] + strspn(h->name[i], " \t");
        if (strncmp(text, name, size) == 0 && !text[size + strspn(text + size, " \t")]) return i;
    }
    return -1;
}

/* Refuses a header that has some of the names, but not in the order in which values would be
 * read. */
static dt_status *check_order(const dt_row_source *s, const dt_csv_header *h) {
    for (int e = 0, at = 0; e < s->n; e++)
        for (int i = 0; i < s->element[e].columns.n; i++, at++) {
            const char *name = s->element[e].columns.v[i];
            const int found = find_padded(h, name);
            if (found < 0 || found == at) continue;
            return dt_suggest(dt_fail(DT_E_ELEMENTS, NULL,
                                      "%s: the header has '%.80s' as column %d, but lacks other "
                                      "names, and in order it would be column %d",
                                      s->path, name, found + 1, at + 1),
                              "name all columns as 'dtrain data convert' does, or leave the header "
                              "out");
        }
    return NULL;
}

static dt_status *find_foreign(dt_row_source *s, table *t, bool header) {
    dt_status *bad = NULL;
    for (int naming = OWN; naming < NAMINGS; naming++) {
        for (int e = 0; e < s->n; e++) name_columns(s, &s->element[e], naming);
        if (header && is_named(s, &t->header)) {
            dt_status_free(bad);
            return find_columns(s, t);
        }
        if (header && !bad) bad = check_order(s, &t->header);
    }
    return bad ? bad : take_in_order(s, t);
}

/* ---- rows, and the format ---- */

/* Up to these limits, float32 and float64 represent all integers exactly. */
#define FLOAT_EXACT 0x1p24F
#define DOUBLE_EXACT 0x1p53F

enum { LOOKED_THROUGH = 1000 }; /* number of first rows whose faults are reported together */

static dt_status *find_kept(const dt_row_source *s, table *t) {
    t->keep = dt_arena_array(s->arena, int, s->keep.n);
    for (int i = 0; i < s->keep.n; i++) {
        const char *name = s->keep.v[i];
        t->keep[i] = dt_csv_header_find(&t->header, name);
        if (t->keep[i] >= 0) continue;
        return dt_suggest(
            dt_fail(DT_E_DATA_FILE, NULL, "%s: there is no column '%.80s' to keep", s->path, name),
            t->header.named ? "its header begins with '%.80s'"
                            : "it has no header, so columns are numbers from %.1s",
            t->header.named ? t->header.name[0] : "0");
    }
    return NULL;
}

static dt_status *append_kept(const dt_row_source *s, int i, dt_str *out, bool *json) {
    const table *t = s->state;
    *json = false;
    if (t->keep[i] >= t->csv.n) return NULL; /* the row has too few fields */
    const dt_csv_field *f = &t->csv.field[t->keep[i]];
    if (f->text) dt_str_add(out, f->text, f->size);
    return NULL;
}

static dt_status *read_head(dt_row_source *s, table *t) {
    bool more;
    DT_TRY(dt_csv_next(&t->csv, &more));
    if (!more) return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", s->path);
    t->fields = t->csv.n;
    const bool header = s->native ? has_header(s->keys) : is_header(&t->csv);
    t->first = !header;
    dt_csv_header_read(s->arena, &t->csv, header, &t->header);
    DT_TRY(find_kept(s, t));
    return s->native ? find_columns(s, t) : find_foreign(s, t, header);
}

static void close_table(dt_row_source *s) {
    table *t = s->state;
    dt_status_free(dt_csv_faults_take(&t->faults, 0, NULL));
    /* The style is kept, since the rows may be read again. */
    const dt_csv_style style = t->csv.style;
    t->csv.file = NULL; /* the caller closes the file */
    dt_csv_close(&t->csv);
    t->csv.style = style;
}

/* Whether the next row can be read without waiting for more of a pipe: it has been read already, or
 * a line is in the window. The line may be only a part of a record, since quoted fields may contain
 * line ends; then the reader waits for the rest. */
static bool holds(const dt_row_source *s) {
    const table *t = s->state;
    const dt_str *w = &t->csv.window;
    return t->first ||
           (w->size > t->csv.at && memchr(w->data + t->csv.at, '\n', w->size - t->csv.at));
}

/* Notes the first whole number of each column that float32 rounded, if it is at most 2^53 and
 * written without `thousands`, `decimal` or symbols. The value has been rounded to float32 already,
 * so only large values, which may be affected, are parsed again. */
static void note_rounded(dt_row_source *s, const table *t, int e, const float *value) {
    const dt_texts *columns = &s->element[e].columns;
    const char **rounded = s->element[e].rounded;
    char room[DT_CSV_LONGEST_NUMBER + 1];
    double x;
    for (int i = 0; rounded && i < columns->n; i++) {
        const dt_csv_field *f = &t->csv.field[t->index[e][i]];
        const float size = fabsf(value[i]); /* NaN for a missing value */
        if (rounded[i] || !(size >= FLOAT_EXACT && size <= DOUBLE_EXACT)) continue;
        const char *number = dt_csv_trim(f, room);
        if (number && dt_parse_double(number, &x) && x == floor(x) && x != (double)value[i])
            rounded[i] = dt_arena_printf(
                s->arena, "%s:%lld:%lld: column '%.80s': %.17g is read as %.17g", s->path,
                (long long)f->line, (long long)f->col, columns->v[i], x, (double)value[i]);
    }
}

/* Whether the header ends with a delimiter. Rows may lack the field behind it. */
static bool has_open_end(const table *t) {
    return t->header.named && t->header.n > 1 && !*t->header.name[t->header.n - 1];
}

/* Converts the fields of the current record to row[e] for each element e. Elements of drop_missing
 * are read first: in a record that lacks one (csv.omits), the others do not matter. Faults of the
 * first LOOKED_THROUGH rows of a data set's file (s->again) are collected in t->faults, and NULL is
 * returned. */
static dt_status *read_values(dt_row_source *s, table *t, void *const *row) {
    dt_csv_faults *faults = s->again && s->row < LOOKED_THROUGH ? &t->faults : NULL;
    dt_csv_even(&t->csv, t->fields, has_open_end(t));
    dt_status *bad = dt_csv_check_fields(&t->csv, t->fields);
    t->csv.omits = false;
    if (bad && faults) {
        dt_csv_faults_add(faults, "", "fields", bad);
        return NULL;
    }
    for (int k = 0; k < 2 * s->n && !bad && !t->csv.omits; k++) {
        const int e = k % s->n;
        if (s->element[e].drops != (k < s->n)) continue;
        bad = dt_csv_values(&t->csv, &s->element[e], t->index[e], row[e], faults);
        if (!bad && t->faults.n == 0 && !t->csv.omits) note_rounded(s, t, e, row[e]);
    }
    return bad;
}

/* Reads the next record, or the next fault. Faults of the first rows are collected and reported
 * together. */
static dt_status *read_record(dt_row_source *s, void *const *row, bool *more) {
    table *t = s->state;
    dt_status *bad = NULL;
    const int64_t from = t->csv.offset;
    *more = t->first;
    s->passed = t->first;
    if (!t->first) bad = dt_csv_next(&t->csv, more);
    t->first = false;
    s->passed = s->passed || t->csv.offset > from;
    if (t->faults.n > 0 && (bad || !*more || s->row >= LOOKED_THROUGH))
        return dt_csv_faults_take(&t->faults, s->row, bad);
    if (bad || !*more) return bad;
    DT_TRY(read_values(s, t, row));
    s->record = (dt_row_record){
        .number = s->row, .offset = t->csv.record_offset, .size = t->csv.record_size};
    return NULL;
}

static dt_status *next_record(dt_row_source *s, void *const *row, bool *more) {
    const table *t = s->state;
    for (;; s->omitted++) {
        dt_status *bad = read_record(s, row, more);
        if (bad || !*more || !t->csv.omits) return bad;
    }
}

/* Reads a record again. It had no fault when it was read first. */
static dt_status *record_at(const dt_row_source *s, const dt_row_record *r, void *const *out) {
    const table *t = s->state;
    dt_csv c;
    bool more = false;
    dt_csv_hold(&c, s->path, &t->csv.style, r->bytes, (size_t)r->size);
    dt_status *bad = dt_csv_next(&c, &more);
    if (!bad && more) dt_csv_even(&c, t->fields, has_open_end(t));
    const bool fits = bad || (more && c.n == t->fields);
    for (int e = 0; e < s->n && !bad && fits; e++)
        if (out[e])
            bad = dt_at(dt_csv_values(&c, &s->element[e], t->index[e], out[e], NULL),
                        &s->element[e].at);
    if (!bad && (!fits || c.omits))
        bad = dt_fail(DT_E_FILE_CHANGED, NULL, "%s: file changed while in use", s->path);
    dt_csv_close(&c);
    return bad;
}

static dt_status *open_table(dt_row_source *s) {
    static const dt_row_reader reader = {.next = next_record,
                                         .holds = holds,
                                         .at = record_at,
                                         .kept = append_kept,
                                         .close = close_table};
    table *t = s->state = dt_arena_new(s->arena, table);
    dt_missing_keep_all(s);
    t->index = dt_arena_array(s->arena, int *, s->n);
    dt_csv_style style = style_of(s->keys);
    if (!s->native) style = (dt_csv_style){.delimiter = style.delimiter};
    dt_status *bad = dt_csv_take(&t->csv, s->file, s->path, &style);
    if (!bad) bad = read_head(s, t);
    if (bad) close_table(s);
    else s->reader = &reader;
    return bad;
}

static const dt_format_writer writer = {.begin = dt_csv_write_header, .put = dt_csv_write_row};

const dt_format dt_format_csv = {
    .kind = {.name = "csv",
             .about = "CSV files (RFC 4180), one example per record; may be gzipped",
             .fields = fields,
             .size = sizeof(struct csv)},
    .suffix = {".csv"},
    .content = DT_CONTENT_TABLE,
    .sniff = sniff,
    .open = open_table,
    .survey = dt_csv_survey,
    .check = check,
    .declare = declare,
    .open_part = dt_records_open_part,
    .writer = &writer,
};
