/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a job's description of CSV columns or JSON keys, and converts CSV fields to values; see
 * csv_element.h. */
#include "file/csv_element.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "file/missing.h"
#include "file/text_cell.h"

/* ---- the job's keys, and columns ---- */

static const char *const dtype_names[] = {"bool",  "uint8",   "int8",    "int16",  "int32",
                                          "int64", "float32", "float64", "string", NULL};
enum { STRING = DT_FLOAT64 + 1 };

struct words {
    const char *column;
    dt_texts columns, all_but, vocabulary, names; /* names: class names of the vocabulary's words */
    dt_items named; /* a vocabulary with names: a const char * for each text, its class */
    dt_ints shape;
    int dtype;
    int64_t max_bytes;
    double default_value;
    bool has_dtype, has_default;
};

#define a_word "a word of 'vocabulary'"
#define FIELDS(column_help, columns_help, shape_help, default_help)                                \
    {                                                                                              \
        DT_TEXT(struct words, column, .help = column_help),                                        \
            DT_ONE_OF(columns, DT_FORMS(DT_TEXTS(struct words, columns, ), all_but_form),          \
                      .help = columns_help),                                                       \
            DT_INTS(struct words, shape, .min = 1, .max = 1e9, .help = shape_help),                \
            DT_ENUM(struct words, dtype, dtype_names,                                              \
                    .set = 1 + offsetof(struct words, has_dtype),                                  \
                    .help = "dtype of the values; default: int32 with a vocabulary, else "         \
                            "float32; string: text for map"),                                      \
            DT_INT(struct words, max_bytes, .min = 1, .max = 1 << 20, .preset = "65535",           \
                   .help = "for dtype string: longest text allowed"),                              \
            DT_ONE_OF(vocabulary,                                                                  \
                      DT_FORMS(DT_TEXTS(struct words, vocabulary, .noun = a_word),                 \
                               DT_FIELD(MAP, struct words, named, .noun = a_word, .by_name = true, \
                                        .size = sizeof(char *),                                    \
                                        .forms = DT_FORMS(DT_FORM(DT_FIELD_TEXT)))),               \
                      .help = "allowed texts; the value is the index of the text in this list, "   \
                              "from 0; or {text: name of the class}"),                             \
            DT_REAL(struct words, default_value, .set = 1 + offsetof(struct words, has_default),   \
                    .help = default_help),                                                         \
            DT_END                                                                                 \
    }

static const dt_field all_but[] = {
    DT_TEXTS(struct words, all_but, .required = true, .help = "the columns to leave out"), DT_END};

#define all_but_form DT_FORM(DT_FIELD_TABLE, .table = all_but)
const dt_field dt_csv_element_fields[] =
    FIELDS("name of the column in the header, or its number from 0",
           "several columns: names, numbers from 0, patterns such as \"pixel*\", ranges such as "
           "pixel0..pixel63; or {all_but: [...]}",
           "shape of one example; default: [] for column, [number of columns] for columns",
           "value of missing fields; default: a missing field is an error, unless map has a "
           "step impute");

#undef all_but_form
#define all_but_form DT_END
const dt_field dt_jsonl_element_fields[] =
    FIELDS("key of the value; default: the element's name", "several keys, concatenated",
           "shape of one example; default: [] for column, [number of keys] for columns",
           "value of null and of missing keys; default: they are an error, unless map has a "
           "step impute");

static dt_status *wrong(const dt_element_spec *e, const char *what) {
    return dt_fail(DT_E_DATASET_KEYS, &e->at, "'%s' %s", e->name, what);
}

/* Checks the number of dimensions before the shape is stored in a dt_type, which has limited
 * room. */
static dt_status *check_rank(const struct words *w, const dt_element_spec *e) {
    if (w->shape.n > DT_MAX_RANK - 1)
        return dt_fail(DT_E_DATASET_KEYS, &e->at, "'%s' has %d dimensions; at most %d", e->name,
                       w->shape.n, DT_MAX_RANK - 1);
    return NULL;
}

/* Refuses equal texts: of the vocabulary, the second would never be found; as class names, they
 * would be one class. */
static dt_status *check_twice(const dt_texts *words) {
    dt_hash_index seen = {0};
    int twice = -1;
    for (int i = 0; i < words->n && twice < 0; i++) {
        const uint64_t hash = dt_name_hash(words->v[i]);
        for (int k = dt_hash_index_first(&seen, hash); k >= 0; k = dt_hash_index_next(&seen, k))
            if (strcmp(words->v[k], words->v[i]) == 0) twice = i;
        dt_hash_index_add(&seen, hash);
    }
    dt_hash_index_release(&seen);
    return twice < 0 ? NULL
                     : dt_fail(DT_E_DATASET_KEYS, &words->at[twice],
                               "'%.80s' appears twice in the vocabulary", words->v[twice]);
}

/* Divides a vocabulary with names into its texts and their class names. Without names, both are the
 * texts. */
static dt_status *name_words(dt_arena *arena, struct words *w) {
    const int n = w->named.n;
    dt_location *at = dt_arena_array(arena, dt_location, n);
    w->names = w->vocabulary;
    if (n > 0) w->names = (dt_texts){n, w->named.v, at};
    if (n > 0) w->vocabulary = (dt_texts){.n = n, .v = dt_arena_array(arena, const char *, n)};
    for (int i = 0; i < n; i++) {
        w->vocabulary.v[i] = w->named.entry[i].key;
        at[i] = w->named.entry[i].value->at;
    }
    return check_twice(&w->names);
}

static dt_status *set_columns(dt_arena *arena, const struct words *w, dt_element_spec *out) {
    const bool one = w->column != NULL;
    if (w->all_but.n > 0) out->choice = DT_CHOICE_ALL_BUT;
    if (one == (w->columns.n + w->all_but.n > 0))
        return wrong(out, one ? "has both 'column' and 'columns'"
                              : "lacks 'column', or 'columns' for several");
    out->columns = w->all_but.n > 0 ? w->all_but : w->columns;
    if (one) {
        out->columns = (dt_texts){.n = 1, .v = dt_arena_array(arena, const char *, 1)};
        out->columns.v[0] = w->column;
    }
    for (int i = 0; i < w->columns.n; i++)
        if (strpbrk(w->columns.v[i], "*?[{") || strstr(w->columns.v[i], ".."))
            out->choice = DT_CHOICE_PATTERNS;
    out->shaped = w->shape.n > 0;
    const int64_t n = out->columns.n, bytes = w->max_bytes + 1;
    out->text = w->dtype == STRING;
    if (out->text) out->type = dt_type_of(DT_UINT8, 1, &bytes);
    else
        out->type = w->shape.n > 0 ? dt_type_of((dt_dtype)w->dtype, w->shape.n, w->shape.v)
                                   : dt_type_of((dt_dtype)w->dtype, !one, &n);
    return NULL;
}

static dt_status *check_text(const struct words *w, const dt_element_spec *e) {
    if (!w->column || w->shape.n > 0 || w->vocabulary.n > 0 || w->has_default)
        return wrong(e, "is a string: give one 'column', and leave out 'shape', 'vocabulary' and "
                        "'default_value'");
    return NULL;
}

static dt_status *check_shape(const struct words *w, const dt_element_spec *e, dt_columns columns) {
    if (e->text) return check_text(w, e);
    const bool whole = (columns == DT_COLUMNS_KEYS && w->column) || e->choice != DT_CHOICE_NAMES;
    if (dt_type_elements(&e->type) != e->columns.n && !whole)
        return dt_fail(DT_E_DATASET_KEYS, &e->at,
                       "'%s' has %d column%s, but its shape has %lld values", e->name, e->columns.n,
                       e->columns.n == 1 ? "" : "s", (long long)dt_type_elements(&e->type));
    if (w->vocabulary.n > 0 && dt_dtype_is_float(e->type.dtype))
        return wrong(e, "has a vocabulary, so its dtype must be one of integers, such as int32");
    return NULL;
}

static dt_status *check_numbers(const dt_element_spec *e) {
    int64_t n;
    for (int i = 0; i < e->columns.n && e->choice == DT_CHOICE_NAMES; i++)
        if (!dt_parse_int64(e->columns.v[i], &n) || n < 0)
            return dt_fail(DT_E_DATASET_KEYS, &e->at,
                           "'%s': columns are numbers from 0 where 'header' is false, got '%s'",
                           e->name, e->columns.v[i]);
    return NULL;
}

/* Returns the limit of the values, which lie in [0, limit) because they are indices in the
 * vocabulary; 0: unknown, because default_value is not such an index, or there is no vocabulary. */
static int64_t places_of(const dt_element_spec *e) {
    const bool place = e->default_value >= 0 && e->default_value < e->vocabulary.n;
    return e->has_default && !place ? 0 : e->vocabulary.n;
}

/* Returns the names of the element's values: those of its columns, if it has several and lists them
 * without patterns; else those of its vocabulary if all values are indices in it; else none. */
static dt_texts names_of(const dt_element_spec *e, const struct words *w) {
    return e->columns.n > 1 && e->choice == DT_CHOICE_NAMES ? e->columns
           : places_of(e) > 0                               ? w->names
                                                            : (dt_texts){0};
}

dt_status *dt_csv_element_read(dt_arena *arena, const dt_entry *e, dt_columns columns,
                               dt_element_spec *out) {
    const dt_field *fields =
        columns == DT_COLUMNS_KEYS ? dt_jsonl_element_fields : dt_csv_element_fields;
    struct words w = {0}; /* zeroed, because `fields` does not set all members */
    *out = (dt_element_spec){.name = e->key, .at = e->value->at};
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, fields, e->value, &e->value->at, e->key, &w));
    DT_TRY(name_words(arena, &w));
    if (columns == DT_COLUMNS_KEYS && !w.column && w.columns.n == 0) w.column = e->key;
    if (!w.has_dtype) w.dtype = w.vocabulary.n > 0 ? DT_INT32 : DT_FLOAT32;
    DT_TRY(check_rank(&w, out));
    DT_TRY(set_columns(arena, &w, out));
    DT_TRY(check_shape(&w, out, columns));
    out->vocabulary = w.vocabulary;
    out->default_value = w.default_value;
    out->has_default = w.has_default;
    /* keys of JSON may look like patterns, but are names */
    if (columns == DT_COLUMNS_KEYS) out->choice = DT_CHOICE_NAMES;
    out->numbers = out->classes = places_of(out);
    out->names = names_of(out, &w);
    return columns == DT_COLUMNS_NUMBERED ? check_numbers(out) : NULL;
}

dt_status *dt_csv_settle_columns(dt_arena *arena, dt_element_spec *e, const dt_texts *columns) {
    const int64_t n = columns->n;
    if (n == 0)
        return dt_fail(DT_E_DATA_FILE, &e->at, "%s: no column is left for '%s'", e->file, e->name);
    if (!e->shaped) e->type = dt_type_of(e->type.dtype, 1, &n);
    if (dt_type_elements(&e->type) != n)
        return dt_fail(DT_E_DATASET_KEYS, &e->at,
                       "%s: '%s' has %lld column%s, but its shape has %lld values", e->file,
                       e->name, (long long)n, n == 1 ? "" : "s",
                       (long long)dt_type_elements(&e->type));
    e->columns = *columns;
    if (e->rounded) e->rounded = dt_arena_array(arena, const char *, n);
    if (e->symbols) e->symbol = dt_arena_array(arena, uint32_t, n);
    if (n > 1) e->names = e->columns;
    e->settled = true;
    return NULL;
}

/* ---- values ---- */

enum { SHOWN = 40 };

typedef struct cell {
    dt_csv *csv;
    const dt_csv_field *field;
    const dt_element_spec *element;
    const char *column;
    const char **what; /* set by `bad` to the kind of fault, a string literal */
    uint32_t *symbol;  /* symbol of the column's numbers so far; NULL: without symbols */
} cell;

static dt_status *bad(const cell *c, const char *what, const char *than) {
    dt_local_str text = {0}, column = {0};
    *c->what = what;
    dt_str_escaped(&text, c->field->text, c->field->size, SHOWN);
    dt_str_escaped(&column, c->column, strlen(c->column), SHOWN);
    return dt_csv_fail(c->csv, c->field->line, c->field->col, "column '%s': '%s' %s%s",
                       dt_str_text(&column), dt_str_text(&text), what, than);
}

#define STORE(type, least, most)                                                                   \
    if (x < (least) || x > (most)) return false;                                                   \
    *(type *)out = (type)x;                                                                        \
    return true

static bool store_integer(dt_dtype d, int64_t x, void *out) {
    switch (d) {
    case DT_BOOL: STORE(bool, 0, 1);
    case DT_UINT8: STORE(uint8_t, 0, UINT8_MAX);
    case DT_INT8: STORE(int8_t, INT8_MIN, INT8_MAX);
    case DT_INT16: STORE(int16_t, INT16_MIN, INT16_MAX);
    case DT_INT32: STORE(int32_t, INT32_MIN, INT32_MAX);
    default: STORE(int64_t, INT64_MIN, INT64_MAX);
    }
}

static bool store_real(dt_dtype d, double x, void *out) {
    if (d == DT_FLOAT64) *(double *)out = x;
    else *(float *)out = (float)x;
    return d == DT_FLOAT64 || isfinite(*(float *)out);
}

const char *dt_csv_trim(const dt_csv_field *f, char room[DT_CSV_LONGEST_NUMBER + 1]) {
    const char *p = f->text, *end = p + f->size;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (end - p > DT_CSV_LONGEST_NUMBER) return NULL;
    if (*end == '\0') return p;
    room[end - p] = '\0';
    return memcpy(room, p, (size_t)(end - p));
}

static dt_status *put_missing(const cell *c, void *out) {
    const dt_dtype d = c->element->type.dtype;
    const double x = c->element->default_value;
    if (c->element->imputes) {
        dt_missing_put(c->element, out, 0);
        return NULL;
    }
    if (c->element->drops) {
        c->csv->omits = true;
        return NULL;
    }
    if (!c->element->has_default)
        return dt_missing_suggest(bad(c, "is a missing value", ""), c->element);
    if (dt_dtype_is_float(d)
            ? !store_real(d, x, out)
            : fabs(x) > 0x1p62 || x != floor(x) || !store_integer(d, (int64_t)x, out))
        return bad(c, "is missing, and default_value does not fit ", dt_dtype_name(d));
    return NULL;
}

/* Reads a word for true or false, such as "yes". Returns false if the text is not one. */
static bool find_bool(const char *text, int64_t *out) {
    static const char *const words[] = {"false", "true", "no", "yes", "f", "t", "n", "y"};
    for (int i = 0; i < 8; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

/* Reads an integer of up to 64 bits, or a word such as "yes" if the dtype is bool. Up to 2^53 it
 * may also be written as 3.0, as pandas writes integers of a column with missing values. Returns
 * false if the text is neither; errno is ERANGE if it is an integer that is too large. */
static bool find_integer(const dt_element_spec *e, const char *text, int64_t *out) {
    double x;
    if (dt_parse_int64(text, out) || (e->type.dtype == DT_BOOL && find_bool(text, out)))
        return true;
    const int why = errno;
    if (dt_parse_double(text, &x) && x == floor(x) && fabs(x) <= 0x1p53) {
        *out = (int64_t)x;
        return true;
    }
    errno = why;
    return false;
}

/* Suggests a setting for the notation of numbers, or `dtype: bool`, if the text shows which. */
static dt_status *suggest_notation(dt_status *s, const dt_element_spec *e, const char *text) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    double x;
    int64_t yes;
    const dt_element_spec grouped = {.thousands = ','}, comma = {.thousands = '.', .decimal = ','},
                          spaced = {.thousands = ' ', .decimal = e->decimal},
                          marked = {.thousands = e->thousands ? e->thousands : ',',
                                    .decimal = e->decimal,
                                    .symbols = true};
    uint32_t symbol;
    if (find_bool(text, &yes)) return dt_suggest(s, "for words of yes and no set 'dtype: bool'");
    if (!e->symbols && dt_csv_respell(&marked, text, room, &symbol) && symbol != DT_CSV_PLAIN &&
        dt_parse_double(room, &x))
        return dt_suggest(s, "set dataset.symbols: true; then $5 is read as 5, and 12 %% as 12");
    if (!e->thousands && dt_csv_respell(&spaced, text, room, &symbol) && strcmp(room, text) != 0 &&
        dt_parse_double(room, &x))
        return dt_suggest(s, "set dataset.thousands: \" \"");
    if (dt_csv_respell(&grouped, text, room, NULL) && dt_parse_double(room, &x) && !e->decimal)
        return dt_suggest(s, "set dataset.thousands: \",\"; or dataset.decimal: \",\" if it is the "
                             "decimal point");
    if (dt_csv_respell(&comma, text, room, NULL) && dt_parse_double(room, &x))
        return dt_suggest(s, "set dataset.decimal: \",\"");
    return s;
}

static dt_status *put_number(const cell *c, const char *number, void *out) {
    const dt_dtype d = c->element->type.dtype;
    const bool real = dt_dtype_is_float(d);
    char room[DT_CSV_LONGEST_NUMBER + 1];
    int64_t n = 0;
    double x = 0;
    uint32_t symbol = DT_CSV_PLAIN;
    const char *spelt = number;
    if (c->element->thousands || c->element->decimal || c->symbol)
        spelt = dt_csv_respell(c->element, number, room, &symbol) ? room : "";
    if (c->element->missing_numbers && dt_missing_is(c->element, number))
        return put_missing(c, out);
    if (real ? !dt_parse_double(spelt, &x) : !find_integer(c->element, spelt, &n)) {
        const int why = errno;
        if (dt_missing_is(c->element, number)) return put_missing(c, out);
        if (why == ERANGE) return bad(c, "is out of range", "");
        return suggest_notation(
            bad(c, real ? "is not a number" : "is not a valid ", real ? "" : dt_dtype_name(d)),
            c->element, number);
    }
    if (c->symbol && !dt_csv_symbol_agrees(c->symbol, symbol, real ? x : (double)n))
        return dt_suggest(bad(c, "has another currency or percent sign than numbers above", ""),
                          "write one sign, or none, in the whole column");
    return (real ? store_real(d, x, out) : store_integer(d, n, out))
               ? NULL
               : bad(c, "is out of range of ", dt_dtype_name(d));
}

/* Returns the index of the first word that is the same number, however it is written; -1: none. */
static int find_number(const dt_texts *words, const char *text) {
    double x, word;
    if (!dt_parse_double(text, &x)) return -1;
    for (int i = 0; i < words->n; i++)
        if (dt_parse_double(words->v[i], &word) && word == x) return i;
    return -1;
}

static dt_status *put_word(const cell *c, void *out) {
    const dt_texts *v = &c->element->vocabulary;
    for (int i = 0; i < v->n; i++)
        if (strcmp(v->v[i], c->field->text) == 0 && c->field->size == strlen(v->v[i]))
            return store_integer(c->element->type.dtype, i, out)
                       ? NULL
                       : bad(c, "has an index in the vocabulary that does not fit ",
                             dt_dtype_name(c->element->type.dtype));
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const char *text = dt_csv_trim(c->field, room);
    if (text && dt_missing_is(c->element, text)) return put_missing(c, out);
    const int number = text ? find_number(v, text) : -1;
    return number >= 0 && store_integer(c->element->type.dtype, number, out)
               ? NULL
               : bad(c, "is not in the vocabulary", "");
}

static dt_status *put_text(const cell *c, char *out) {
    const dt_csv_field *f = c->field;
    char room[DT_CSV_LONGEST_NUMBER + 1];
    const bool looks = c->element->imputes || c->element->drops;
    const char *text = looks ? dt_csv_trim(f, room) : NULL;
    if (text && dt_missing_is(c->element, text)) return put_missing(c, out);
    const char *why = dt_text_put(f->text, f->size, &c->element->type, out);
    return why ? bad(c, why, "") : NULL;
}

static dt_status *put_value(const cell *x, void *out) {
    const dt_element_spec *e = x->element;
    const dt_csv_field *f = x->field;
    char room[DT_CSV_LONGEST_NUMBER + 1];
    if (e->text) return put_text(x, out);
    if (e->vocabulary.n > 0 && !(f->size == 0 && e->has_default)) return put_word(x, out);
    const char *number = dt_csv_trim(f, room);
    if (!number) return bad(x, "is not a number", "");
    return *number ? put_number(x, number, out) : put_missing(x, out);
}

dt_status *dt_csv_values(dt_csv *c, const dt_element_spec *e, const int *index, char *out,
                         dt_csv_faults *faults) {
    const size_t size = dt_dtype_size(e->type.dtype);
    for (int i = 0; i < e->columns.n; i++, out += size) {
        const char *what = "";
        const cell x = {
            c, &c->field[index[i]], e, e->columns.v[i], &what, e->symbol ? &e->symbol[i] : NULL};
        dt_status *bad = put_value(&x, out);
        if (bad && !faults) return bad;
        if (bad) dt_csv_faults_add(faults, x.column, what, bad);
    }
    return NULL;
}

/* ---- faults of rows ---- */

enum { MOST_KINDS = 20 };

void dt_csv_faults_add(dt_csv_faults *f, const char *column, const char *what, dt_status *s) {
    int i = 0;
    while (i < f->n && (f->kind[i].what != what || strcmp(f->kind[i].column, column) != 0)) i++;
    if (i == f->n && f->n < MOST_KINDS) {
        DT_GROW(f->kind, f->cap, f->n + 1);
        f->kind[f->n++] = (struct dt_csv_fault){column, what, 1, s};
        return;
    }
    if (i < f->n) f->kind[i].times++;
    else f->others++;
    dt_status_free(s);
}

dt_status *dt_csv_faults_take(dt_csv_faults *f, int64_t rows, dt_status *last) {
    dt_status *all = NULL;
    for (int i = 0; i < f->n; i++) {
        const struct dt_csv_fault *k = &f->kind[i];
        dt_status_append(&all, k->times == 1
                                   ? k->first
                                   : dt_note(k->first, "%lld such values in the first %lld rows",
                                             (long long)k->times, (long long)rows));
    }
    if (f->others > 0) all = dt_note(all, "and %lld faults of other kinds", (long long)f->others);
    free(f->kind);
    *f = (dt_csv_faults){0};
    dt_status_append(&all, last);
    return all;
}

dt_status *dt_csv_check_fields(const dt_csv *c, int wanted) {
    if (c->n == wanted) return NULL;
    const bool more = c->n > wanted;
    const dt_csv_field *f = &c->field[more ? wanted : c->n - 1];
    return dt_csv_fail(c, f->line, more ? f->col : c->end_col, "%d field%s, expected %d", c->n,
                       c->n == 1 ? "" : "s", wanted);
}
