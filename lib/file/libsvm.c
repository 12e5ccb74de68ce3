/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsvm text (svmlight) as a format: a line is a label and the features that are not 0.
 *
 *     dataset:
 *       format: libsvm
 *       train: a1a.svm                       # 1 3:0.5 7:1 # a comment
 *       element:
 *         x: {shape: [123]}                  # features 1 to 123; those that a line lacks are 0
 *         label: {vocabulary: ["-1", "1"]}   # or {dtype: int32} for 0, 1, 2; float32 for numbers
 *
 * Indices begin at 1 and increase. With `column`, the elements x, label and qid ("1 qid:3 1:0.5")
 * may have other names. Empty lines and comments are skipped.
 */
#include <math.h>
#include <string.h>

#include "file/csv_element.h"
#include "file/examples.h"
#include "file/other_tables.h"

enum { LONGEST_WORD = 64, LONGEST_LINE_MIB = 64, MOST_FEATURES = 1000000000, MOST_LABELS = 20 };

/* ---- keys, and recognizing files ---- */

struct libsvm {
    const dt_tree *element;
};

static const dt_field fields[] = {
    DT_ELEMENTS(struct libsvm, dt_jsonl_element_fields,
                .help = "x: {shape: [features]}, label: {dtype or vocabulary}, qid: {}"),
    DT_END};

typedef enum role { FEATURES, LABEL, QUERY, UNKNOWN } role;

static role role_of(const dt_row_source *s, const dt_element_spec *e) {
    static const char *const names[] = {"x", "label", "qid"};
    const char *name = s && !s->native ? e->name : e->columns.v[0];
    int i = 0;
    while (i < UNKNOWN && strcmp(name, names[i]) != 0) i++;
    return (role)i;
}

static dt_status *wrong(const dt_element_spec *e, const char *what) {
    return dt_fail(DT_E_DATASET_KEYS, &e->at, "'%s' %s", e->name, what);
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    (void)keys;
    DT_TRY(dt_csv_element_read(arena, entry, DT_COLUMNS_KEYS, out));
    const role is = role_of(NULL, out);
    if (out->columns.n != 1 || is == UNKNOWN)
        return dt_suggest(wrong(out, "is nothing that a libsvm file has"),
                          "its columns are x, label and qid");
    if (out->text || out->has_default)
        return wrong(out, "has numbers: leave out 'dtype: string' and 'default_value'");
    if (is == FEATURES && out->vocabulary.n > 0) return wrong(out, "has no vocabulary");
    if (is == FEATURES && out->type.rank == 0)
        return wrong(out, "needs a shape: [number of features]");
    if (is != FEATURES && dt_type_elements(&out->type) != 1)
        return wrong(out, "has one number: leave out 'shape'");
    return NULL;
}

static bool sniff(const unsigned char *first, int64_t n) {
    const int64_t mark = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return n > 0 && dt_is_libsvm((const char *)first + mark, (size_t)(n - mark));
}

/* ---- one line ---- */

typedef struct row {
    const char *path, *text, *at, *end;
    int64_t line; /* number of the current line, from 1 */
    char label[LONGEST_WORD + 1];
    double value;      /* the label as a number */
    const char *query; /* where the number of the qid begins; NULL: no qid */
    double query_value;
    dt_status *(*feature)(struct row *r, int64_t index, double value, const char *at);
    void *user;
} row;

static dt_status *fail_at(const row *r, const char *at, const char *format, ...) DT_PRINTF(3, 4);
static dt_status *fail_at(const row *r, const char *at, const char *format, ...) {
    DT_FORMATTED(text, format);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%lld: %s", r->path, (long long)r->line,
                   (long long)(at - r->text) + 1, dt_str_text(&text));
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Returns the next word; n 0: the end of the line, or a comment. */
static const char *next_word(row *r, size_t *n) {
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    const char *begin = r->at;
    if (r->at < r->end && *r->at == '#') r->end = r->at;
    while (r->at < r->end && !is_blank(*r->at) && *r->at != '#') r->at++;
    *n = (size_t)(r->at - begin);
    return begin;
}

/* Copies a word and NUL-terminates it. Returns false if it is too long or contains a NUL. */
static bool copy_word(const char *word, size_t n, char out[LONGEST_WORD + 1]) {
    if (n > LONGEST_WORD || memchr(word, '\0', n)) return false;
    memcpy(out, word, n);
    out[n] = '\0';
    return true;
}

static dt_status *read_number(const row *r, const char *word, size_t n, double *out) {
    char copy[LONGEST_WORD + 1];
    dt_local_str shown = {0};
    if (copy_word(word, n, copy) && dt_parse_double(copy, out)) return NULL;
    dt_str_escaped(&shown, word, n, 40);
    return fail_at(r, word, "'%s' is not a number", dt_str_text(&shown));
}

static dt_status *read_label(row *r, const char *word, size_t n) {
    if (memchr(word, ':', n)) return fail_at(r, word, "the label is missing");
    if (memchr(word, ',', n)) return fail_at(r, word, "several labels; only one can be read");
    if (copy_word(word, n, r->label)) DT_TRY(read_number(r, word, n, &r->value));
    else return read_number(r, word, n, &r->value);
    return NULL;
}

/* Reads a pair such as "3:0.5". *last is the index of the previous pair, 0 for the first one, and
 * becomes that of this pair. */
static dt_status *read_pair(row *r, const char *word, size_t n, int64_t *last) {
    char copy[LONGEST_WORD + 1];
    int64_t index;
    double value = 0;
    const char *colon = memchr(word, ':', n);
    if (!colon || !copy_word(word, (size_t)(colon - word), copy) || !dt_parse_int64(copy, &index))
        return fail_at(r, word, "expected INDEX:VALUE");
    if (index < 1)
        return dt_suggest(fail_at(r, word, "index %lld; indices count from 1", (long long)index),
                          "scikit-learn's dump_svmlight_file writes such files with "
                          "zero_based=False");
    if (index <= *last)
        return fail_at(r, word, "index %lld follows %lld; indices must rise", (long long)index,
                       (long long)*last);
    *last = index;
    DT_TRY(read_number(r, colon + 1, n - (size_t)(colon + 1 - word), &value));
    return r->feature(r, index, value, word);
}

/* Reads a line. *empty: it is blank or only a comment. */
static dt_status *read_line(row *r, bool *empty) {
    size_t n;
    int64_t last = 0;
    /* skips a byte order mark */
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0) r->at += 3;
    r->query = NULL;
    const char *word = next_word(r, &n);
    *empty = n == 0;
    if (*empty) return NULL;
    DT_TRY(read_label(r, word, n));
    for (bool first = true; word = next_word(r, &n), n > 0; first = false)
        if (first && n > 4 && memcmp(word, "qid:", 4) == 0) {
            r->query = word + 4;
            DT_TRY(read_number(r, word + 4, n - 4, &r->query_value));
        } else DT_TRY(read_pair(r, word, n, &last));
    return NULL;
}

/* ---- values of elements ---- */

typedef struct lines {
    dt_records records;
    dt_str text;
    int64_t line;
} lines;

typedef struct filling {
    const dt_row_source *s;
    void *const *out;
} filling;

static dt_status *put(const row *r, const dt_element_spec *e, double value, void *out, int64_t i,
                      const char *at) {
    if (dt_row_source_put(e->type.dtype, value, out, i)) return NULL;
    return fail_at(r, at, "'%s' is %s and cannot hold %g", e->name, dt_dtype_name(e->type.dtype),
                   value);
}

static dt_status *put_feature(row *r, int64_t index, double value, const char *at) {
    const filling *f = r->user;
    for (int e = 0; e < f->s->n; e++) {
        const dt_element_spec *x = &f->s->element[e];
        if (!f->out[e] || role_of(f->s, x) != FEATURES) continue;
        if (index > dt_type_elements(&x->type))
            return fail_at(r, at, "index %lld is beyond the %lld features of '%s'",
                           (long long)index, (long long)dt_type_elements(&x->type), x->name);
        DT_TRY(put(r, x, value, f->out[e], index - 1, at));
    }
    return NULL;
}

/* Stores the label. In a vocabulary it is found by its text or by its number, so +1 matches 1. */
static dt_status *put_label(const row *r, const dt_element_spec *e, void *out) {
    double word;
    for (int i = 0; i < e->vocabulary.n; i++)
        if (strcmp(e->vocabulary.v[i], r->label) == 0 ||
            (dt_parse_double(e->vocabulary.v[i], &word) && word == r->value))
            return put(r, e, i, out, 0, r->text);
    if (e->vocabulary.n > 0)
        return fail_at(r, r->text, "label %s is not in the vocabulary of '%s'", r->label, e->name);
    return put(r, e, r->value, out, 0, r->text);
}

static dt_status *fill(const dt_row_source *s, row *r, void *const *out, bool *empty) {
    filling f = {s, out};
    r->feature = put_feature;
    r->user = &f;
    for (int e = 0; e < s->n; e++)
        if (out[e]) memset(out[e], 0, (size_t)dt_type_bytes(&s->element[e].type));
    DT_TRY(read_line(r, empty));
    for (int e = 0; e < s->n && !*empty; e++) {
        const dt_element_spec *x = &s->element[e];
        const role is = role_of(s, x);
        if (!out[e] || is == FEATURES) continue;
        if (is == QUERY && !r->query) return fail_at(r, r->text, "qid is missing");
        DT_TRY(is == LABEL ? put_label(r, x, out[e])
                           : put(r, x, r->query_value, out[e], 0, r->query));
    }
    return NULL;
}

/* ---- reading ---- */

static const dt_record_options options = {.kind = DT_TEXT_LINES, .longest = LONGEST_LINE_MIB << 20};

static dt_status *next_row(dt_row_source *s, void *const *out, bool *more) {
    lines *l = s->state;
    for (bool empty = true; empty;) {
        const int64_t offset = l->records.offset;
        DT_TRY(dt_records_next(&l->records, &l->text, more));
        if (!*more) return NULL;
        const char *text = dt_str_text(&l->text);
        row r = {.path = s->path,
                 .text = text,
                 .at = text,
                 .end = text + l->text.size,
                 .line = ++l->line};
        dt_status *bad = fill(s, &r, out, &empty);
        s->passed = bad != NULL;
        if (bad) return bad;
        s->record =
            (dt_row_record){.number = s->row, .offset = offset, .size = (int64_t)l->text.size};
    }
    return NULL;
}

/* Reads a row again. It had no fault when it was read first. */
static dt_status *row_at(const dt_row_source *s, const dt_row_record *record, void *const *out) {
    row r = {.path = s->path,
             .text = record->bytes,
             .at = record->bytes,
             .end = record->bytes + record->size,
             .line = 1};
    bool empty;
    dt_status *bad = fill(s, &r, out, &empty);
    if (!bad && !empty) return NULL;
    dt_status_free(bad);
    return dt_fail(DT_E_FILE_CHANGED, &s->element[0].at, "%s: file changed while in use", s->path);
}

static bool holds(const dt_row_source *s) {
    return dt_records_hold(&((const lines *)s->state)->records);
}

static void close_lines(dt_row_source *s) {
    lines *l = s->state;
    dt_str_release(&l->records.window);
    dt_str_release(&l->text);
}

static dt_status *open_lines(dt_row_source *s) {
    static const dt_row_reader reader = {
        .next = next_row, .holds = holds, .at = row_at, .close = close_lines};
    lines *l = dt_arena_new(s->arena, lines);
    for (int e = 0; e < s->n; e++)
        if (role_of(s, &s->element[e]) == UNKNOWN)
            return dt_fail(DT_E_DATA_FILE, &s->element[e].at,
                           "%s: a libsvm file has x, label and qid, and no '%s'", s->path,
                           s->element[e].name);
    DT_TRY(dt_records_take(&l->records, s->file, s->path, &options));
    s->state = l;
    s->reader = &reader;
    return NULL;
}

/* ---- surveys, and the format ---- */

typedef struct survey {
    int64_t rows, features;
    /* whole: all labels are integers below 1e9 in absolute value; queries: some line has a qid */
    bool whole, queries;
    /* Number of different labels, which are counted and sorted in `label` as long as `whole` holds;
     * MOST_LABELS + 1: there are more than MOST_LABELS. */
    int n_labels;
    int64_t label[MOST_LABELS];
} survey;

static dt_status *note_feature(row *r, int64_t index, double value, const char *at) {
    survey *v = r->user;
    (void)value;
    if (index > MOST_FEATURES)
        return fail_at(r, at, "index %lld; at most %d", (long long)index, MOST_FEATURES);
    if (index > v->features) v->features = index;
    return NULL;
}

static void note_label(survey *v, double label) {
    int at = 0;
    v->whole = v->whole && label == floor(label) && fabs(label) < 1e9;
    if (!v->whole || v->n_labels > MOST_LABELS) return;
    while (at < v->n_labels && v->label[at] < (int64_t)label) at++;
    if (at < v->n_labels && v->label[at] == (int64_t)label) return;
    if (v->n_labels++ == MOST_LABELS) return;
    memmove(&v->label[at + 1], &v->label[at], (size_t)(v->n_labels - 1 - at) * sizeof *v->label);
    v->label[at] = (int64_t)label;
}

static dt_status *look_through(survey *v, const char *path) {
    dt_records records;
    dt_local_str text = {0};
    bool more = true, empty;
    DT_TRY(dt_records_open(&records, path, &options));
    dt_status *s = dt_records_next(&records, &text, &more);
    for (int64_t line = 1; !s && more; line++) {
        const char *t = dt_str_text(&text);
        row r = {path, t, t, t + text.size, line, .feature = note_feature, .user = v};
        s = read_line(&r, &empty);
        if (!s && !empty) {
            v->rows++;
            v->queries = v->queries || r.query;
            note_label(v, r.value);
        }
        if (!s) s = dt_records_next(&records, &text, &more);
    }
    dt_records_close(&records);
    return s;
}

/* Writes the keys of the label: a vocabulary for up to MOST_LABELS different integers, but the
 * dtype int32 if they are 0 to n - 1; no key in other cases. */
static void put_label_keys(const survey *v, dt_json *j) {
    const bool classes = v->whole && v->n_labels <= MOST_LABELS,
               numbered =
                   classes && v->label[0] == 0 && v->label[v->n_labels - 1] == v->n_labels - 1;
    char text[24];
    dt_json_open(j, "label", '{');
    if (numbered) dt_json_string(j, "dtype", "int32");
    if (classes && !numbered) {
        dt_json_open(j, "vocabulary", '[');
        for (int i = 0; i < v->n_labels; i++) {
            snprintf(text, sizeof text, "%lld", (long long)v->label[i]);
            dt_json_string(j, NULL, text);
        }
        dt_json_close(j, ']');
    }
    dt_json_close(j, '}');
}

static dt_status *survey_file(const dt_survey_request *q) {
    survey v = {.whole = true};
    for (int i = 0; i < q->n; i++) DT_TRY(look_through(&v, q->path[i]));
    if (v.rows == 0) return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", q->path[0]);
    const size_t from = q->j->out->size;
    dt_json_open(q->j, "element", '{');
    if (v.features > 0) {
        dt_json_open(q->j, "x", '{');
        dt_json_open(q->j, "shape", '[');
        dt_json_int(q->j, NULL, v.features);
        dt_json_close(q->j, ']');
        dt_json_close(q->j, '}');
    }
    put_label_keys(&v, q->j);
    dt_json_close(q->j, '}');
    if (v.queries)
        dt_str_puts(q->notes, "'qid' is left out; an element qid: {dtype: int64} reads it\n");
    dt_str_puts(q->notes, "a job reads it with format: libsvm, element: ");
    dt_str_puts(q->notes,
                dt_str_text(q->j->out) + from + strcspn(dt_str_text(q->j->out) + from, "{"));
    dt_str_putc(q->notes, '\n');
    return NULL;
}

const dt_format dt_format_libsvm = {
    .kind = {.name = "libsvm",
             .about = "libsvm text (svmlight): a label and the features that are not 0 in each "
                      "line; may be gzipped",
             .fields = fields,
             .size = sizeof(struct libsvm)},
    .content = DT_CONTENT_OTHER,
    .sniff = sniff,
    .open = open_lines,
    .survey = survey_file,
    .check = dt_records_check,
    .declare = declare,
    .open_part = dt_records_open_part,
};
