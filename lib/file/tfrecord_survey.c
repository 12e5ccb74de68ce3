/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys the features of tf.Examples: reads all records once, to find the features and how many
 * values each has. */
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/example.h"
#include "file/records.h"
#include "file/text_cell.h"

enum { MOST_FEATURES = 1024 };

typedef struct seen {
    char *name;
    size_t size;
    dt_feature_kind kind; /* EMPTY: no record so far has a list for the feature */
    /* present: number of records in which the feature has a list; least, most: smallest and largest
     * number of values (for a byte string, bytes) */
    int64_t present, least, most;
    int64_t each; /* feature lists: values of each step; 0: not a feature list; -1: steps or records
                   * differ */
    /* mixed: the feature has lists of several kinds; strings: some bytes_list does not have exactly
     * one byte string */
    bool mixed, strings;
} seen;

typedef struct survey {
    seen *v;
    int n, cap;
    int64_t records;
} survey;

static seen *find(survey *x, const dt_feature *f) {
    for (int i = 0; i < x->n; i++)
        if (x->v[i].size == f->name_size && memcmp(x->v[i].name, f->name, f->name_size) == 0)
            return &x->v[i];
    if (x->n == MOST_FEATURES) return NULL;
    DT_GROW(x->v, x->cap, x->n + 1);
    char *name = dt_alloc(f->name_size + 1);
    memcpy(name, f->name, f->name_size);
    x->v[x->n] = (seen){.name = name, .size = f->name_size, .kind = f->kind, .least = INT64_MAX};
    return &x->v[x->n++];
}

/* Adds a record's feature to the survey. A feature without a list counts as missing, as in
 * TensorFlow. */
static void note_feature(survey *x, const dt_feature *f) {
    seen *s = find(x, f);
    int64_t n = f->count;
    if (!s || f->kind == DT_FEATURE_EMPTY) return;
    if (s->kind == DT_FEATURE_EMPTY) s->kind = f->kind;
    if (f->kind == DT_FEATURE_BYTES && f->count == 1) {
        const unsigned char *bytes;
        size_t size;
        dt_feature_bytes(f, 0, &bytes, &size);
        n = (int64_t)size;
    }
    s->strings |= f->kind == DT_FEATURE_BYTES && f->count != 1;
    s->mixed |= f->kind != s->kind;
    if (s->present == 0) s->each = f->each;
    if (s->each != f->each) s->each = -1;
    s->present++;
    s->least = n < s->least ? n : s->least;
    s->most = n > s->most ? n : s->most;
}

static dt_status *note_record(survey *x, const dt_records *r, const dt_str *record) {
    dt_parsed_example parsed = {0};
    const char *why = "";
    dt_status *s = NULL;
    if (!dt_parsed_example_read(&parsed, dt_str_text(record), record->size, &why))
        s = dt_fail(DT_E_EXAMPLE, NULL, "%s: record %lld: is not a tf.Example%s%s%s", r->path,
                    (long long)r->number - 1, *why ? " (" : "", why, *why ? ")" : "");
    for (int i = 0; i < parsed.n && !s; i++) note_feature(x, &parsed.feature[i]);
    x->records++;
    dt_parsed_example_release(&parsed);
    return s;
}

static dt_status *look_through(survey *x, const char *path) {
    dt_records r;
    dt_local_str record = {0};
    bool more = false;
    dt_status *s = dt_records_open(&r, path, &(dt_record_options){.kind = DT_TFRECORD});
    while (!s && !(s = dt_records_next(&r, &record, &more)) && more)
        s = note_record(x, &r, &record);
    dt_records_close(&r);
    return s;
}

/* Returns the reason to leave a feature out; NULL: it is used. */
static const char *unfit(const seen *s) {
    if (dt_text_fault(s->name, s->size)) /* a job cannot contain such a name */
        return "has a name that is not UTF-8, or holds a NUL";
    return s->mixed       ? "has lists of several kinds"
           : s->strings   ? "has lists of byte strings"
           : s->each < 0  ? "has steps with different numbers of values"
           : s->most == 0 ? "has no values"
                          : NULL;
}

static void put_element(const survey *x, const seen *s, const dt_survey_request *g) {
    static const char *const dtypes[] = {[DT_FEATURE_EMPTY] = "float32",
                                         [DT_FEATURE_BYTES] = "uint8",
                                         [DT_FEATURE_FLOAT] = "float32",
                                         [DT_FEATURE_INT64] = "int64"};
    const bool varies = s->least < s->most || s->present < x->records;
    dt_json_open(g->j, s->name, '{');
    dt_json_string(g->j, "dtype", dtypes[s->kind]);
    if (s->most > 1 || s->kind == DT_FEATURE_BYTES) {
        dt_json_open(g->j, "shape", '[');
        dt_json_int(g->j, NULL, s->each > 1 ? s->most / s->each : s->most);
        if (s->each > 1) dt_json_int(g->j, NULL, s->each);
        dt_json_close(g->j, ']');
    }
    if (varies) {
        dt_json_int(g->j, "padding_value", 0);
        dt_str_printf(g->notes,
                      "'%s' has %lld to %lld values in %lld of %lld records; lists are filled with "
                      "0 to %lld\n",
                      s->name, (long long)s->least, (long long)s->most, (long long)s->present,
                      (long long)x->records, (long long)s->most);
    }
    dt_json_close(g->j, '}');
}

static void note_left_out(const seen *s, const dt_survey_request *g) {
    dt_str_putc(g->notes, '\'');
    dt_str_escaped(g->notes, s->name, s->size, 60);
    dt_str_printf(g->notes, "' %s: left out\n", unfit(s));
}

static int compare(const void *a, const void *b) {
    return strcmp(((const seen *)a)->name, ((const seen *)b)->name);
}

dt_status *dt_tfrecord_survey(const dt_survey_request *g) {
    survey x = {0};
    dt_status *s = NULL;
    for (int i = 0; i < g->n && !s; i++) s = look_through(&x, g->path[i]);
    if (x.n > 1) qsort(x.v, (size_t)x.n, sizeof *x.v, compare);
    dt_json_open(g->j, "element", '{');
    for (int i = 0; i < x.n; i++) {
        if (unfit(&x.v[i])) note_left_out(&x.v[i], g);
        else put_element(&x, &x.v[i], g);
        free(x.v[i].name);
    }
    dt_json_close(g->j, '}');
    free(x.v);
    return s;
}
