/* SPDX-License-Identifier: Apache-2.0 */
/* Checks labels and other targets before training, so that the message about one that is out of
 * range can name its file and record. All labels are checked; of very many other targets, a
 * sample. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/parts.h"
#include "data/map/words.h"
#include "file/cast.h"
#include "base/size.h"
#include "op/cells.h"
#include "file/part_files.h"

typedef struct scan {
    const dt_rows *rows;
    int e;
    const dt_map_plan *plan; /* the steps of `map` to apply before the values are checked */
    int64_t classes;
    const int64_t *ignored; /* a value that is allowed besides the classes; NULL: none */
} scan;

/* The file of an example, and the example's index in it. The index counts from 0, as for arrays;
 * messages count records from 1, as editors count lines. */
typedef struct place {
    const char *file;
    int64_t number;
    bool is_record;
} place;

static place place_of(const dt_rows *r, int e, int64_t row) {
    const dt_examples *x = r->single ? r->single->x : r->x;
    const int64_t at = dt_rows_number(r, row),
                  number = r->single ? dt_windows_row(r->x, r->index[e], at) : at;
    if (!x->first) return (place){.file = r->stored[r->index[e]].file, .number = number};
    const int file = dt_files_at(x, number);
    return (place){.file = x->paths.v[file], .number = number - x->first[file], .is_record = true};
}

/* Adds a suggestion if the label comes from string_lookup: its indices begin at 1 by default, and
 * without an index for unknown texts it gives -1 for them. */
static dt_status *suggest_lookup(dt_status *s, const dt_map_plan *plan, double value) {
    const dt_texts *names = dt_map_plan_names(plan);
    if (dt_map_plan_is_empty(plan) || names->n == 0) return s;
    if (value == -1)
        return dt_suggest(s, "-1 stands for a text that the vocabulary of string_lookup lacks");
    return strcmp(names->v[0], DT_UNKNOWN_TEXT) == 0
               ? dt_suggest(s, "string_lookup counts from 1, and 0 is for unknown texts; labels "
                               "begin at 0: set num_oov_indices: 0")
               : s;
}

static dt_status *outside(const scan *c, int64_t row, double value) {
    const place at = place_of(c->rows, c->e, row);
    const dt_examples *x = c->rows->x;
    dt_str where = {0};
    if (x->single) dt_str_printf(&where, "of %s", x->paths.v[at.number]);
    else
        dt_str_printf(&where, "at %s %lld", at.is_record ? "record" : "row",
                      (long long)at.number + at.is_record);
    dt_status *s =
        dt_fail(DT_E_LABEL_RANGE, &c->rows->stored[c->rows->index[c->e]].at,
                "%s: label %.15g %s is %s [0, %lld)", at.file, value, dt_str_text(&where),
                value == trunc(value) ? "outside" : "no whole number in", (long long)c->classes);
    dt_str_release(&where);
    s = suggest_lookup(s, c->plan, value);
    if (dt_status_suggestion(s) || value < (double)c->classes) return s;
    if (c->classes == 1)
        return dt_suggest(s, "the model gives one number: for two classes use binary_crossentropy, "
                             "or one unit for each class");
    return dt_suggest(s, "classes are numbered from 0: %lld units take labels 0 to %lld",
                      (long long)c->classes, (long long)c->classes - 1);
}

static dt_status *beyond(const dt_parts *d, dt_part part, const dt_target_range *q, int64_t row,
                         double value) {
    const dt_rows *r = &d->rows[part];
    const place at = place_of(r, q->element, row);
    dt_status *s =
        dt_fail(DT_E_LABEL_RANGE, &r->stored[r->index[q->element]].at,
                "%s: %s %.15g at %s %lld is outside [%.15g, %.15g%c", at.file,
                dt_type_elements(dt_map_plan_type(r->plan[q->element])) == 1 ? "label" : "target",
                value, at.is_record ? "record" : "row", (long long)at.number + at.is_record, q->low,
                q->high, isinf(q->high) ? ')' : ']');
    return suggest_lookup(s, r->plan[q->element], value);
}

void dt_dataset_locate(const dt_dataset *data, dt_part part, int element, int64_t example,
                       dt_str *out) {
    const char *alone = dt_dataset_example_file(data, part, example);
    const dt_rows *r = dt_rows_of(data, part);
    const place at = place_of(r, element, example);
    if (alone) dt_str_escaped(out, alone, strlen(alone), SIZE_MAX);
    else
        dt_str_printf(out, "example %lld of %s", (long long)at.number + 1,
                      at.file ? at.file : "the data");
}

/* Returns the index of the first of n values that is neither a class nor the ignored value; -1 if
 * there is none. */
static int64_t find_outside(const scan *c, dt_dtype dtype, const char *values, int64_t n,
                            double *value) {
    for (int64_t from = 0, at; from < n; from += at + 1) {
        at = dt_find_outside(dtype, c->classes, values + from * (int64_t)dt_dtype_size(dtype),
                             n - from, value);
        if (at < 0 || !c->ignored || *value != (double)*c->ignored) return at < 0 ? -1 : from + at;
    }
    return -1;
}

/* Returns the limit of an element's values if it is known without reading them, as for generated
 * labels, which may be too many to read; 0: it is not known. */
static int64_t known_classes(const dt_rows *r, int e, const dt_map_plan *plan) {
    return dt_map_plan_is_empty(plan) ? r->stored[r->index[e]].classes : 0;
}

static dt_status *scan_labels(const scan *c) {
    const dt_type *t = dt_map_plan_type(c->plan);
    dt_element_rows x;
    const int64_t known = known_classes(c->rows, c->e, c->plan);
    double value;
    if (known > 0 && known <= c->classes) return NULL;
    dt_status *s = dt_element_rows_open(&x, c->rows, c->e, c->plan);
    for (int64_t i = 0; !s && i < dt_rows_count(c->rows); i++) {
        const void *row;
        s = dt_element_rows_get(&x, i, &row);
        if (!s && find_outside(c, t->dtype, row, dt_type_elements(t), &value) >= 0)
            s = outside(c, i, value);
    }
    free(x.memory);
    return s;
}

dt_status *dt_dataset_check_labels(dt_dataset *d, int element, int64_t classes) {
    return dt_dataset_check_labels_but(d, element, classes, NULL);
}

dt_status *dt_dataset_check_labels_but(dt_dataset *data, int element, int64_t classes,
                                       const int64_t *ignored) {
    dt_parts *d = dt_parts_of(data);
    dt_status *s = NULL;
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_rows *r = d->rows[p].single ? d->rows[p].single : &d->rows[p];
        if (dt_rows_count(r) > 0)
            dt_status_append(&s,
                             scan_labels(&(scan){r, element, r->plan[element], classes, ignored}));
    }
    return s;
}

dt_status *dt_rows_check_limits(const dt_parts *d, const dt_rows *r) {
    dt_status *s = NULL;
    if (r->single) return dt_rows_check_limits(d, r->single);
    if (!r->x->reader->at) return NULL; /* dt_rows_check_row checks each row when it is read */
    for (int e = 0; e < d->n; e++) {
        const dt_map_limit *limits;
        int n = dt_map_plan_limits(r->plan[e], &limits);
        for (int i = 0; i < n; i++)
            dt_status_append(&s,
                             scan_labels(&(scan){r, e, limits[i].before, limits[i].classes, NULL}));
    }
    return s;
}

static dt_status *check_row(const dt_element_spec *x, const dt_map_limit *limit, int64_t i,
                            const void *row) {
    const dt_type *t = dt_map_plan_type(limit->before);
    const int64_t mapped = dt_aligned(dt_type_bytes(t));
    char *memory = dt_try_alloc((size_t)(mapped + dt_map_plan_scratch(limit->before) + 1));
    double value;
    if (!memory)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a row of '%s'", x->file,
                       x->name);
    dt_status *s = dt_map_run(limit->before, &(dt_map_at){0}, row, memory, memory + mapped);
    if (!s && dt_find_outside(t->dtype, limit->classes, memory, dt_type_elements(t), &value) >= 0)
        s = dt_fail(DT_E_LABEL_RANGE, NULL, "%s: '%s' of row %lld is %.15g, outside [0, %lld)",
                    x->file, x->name, (long long)i, value, (long long)limit->classes);
    free(memory);
    return s;
}

dt_status *dt_rows_check_row(const dt_rows *r, int e, int64_t i, const void *row) {
    const dt_map_limit *limits;
    const int n = dt_map_plan_limits(r->plan[e], &limits);
    for (int k = 0; k < n; k++) DT_TRY(check_row(&r->stored[r->index[e]], &limits[k], i, row));
    return NULL;
}

/* ---- ranges of targets ---- */

enum { MOST_VALUES = 1 << 26, FEWEST_ROWS = 1000 };
#define ROUNDING 1e-6 /* how far a target may lie outside of its range because of rounding errors */

typedef struct range_scan {
    const dt_parts *d;
    dt_part part;
    const dt_target_range *q;
    dt_status *bad;
} range_scan;

/* Sets *counts to whether the weight of a value is not 0. `value` is its index among the n values
 * of the example. A value whose weight is 0 is not checked. */
static dt_status *weighs(const range_scan *c, int64_t row, int64_t value, int64_t n, bool *counts) {
    const dt_rows *r = &c->d->rows[c->part];
    const dt_map_plan *plan = r->plan[c->q->weight];
    const dt_type *t = dt_map_plan_type(plan);
    const int64_t weights = dt_type_elements(t);
    dt_element_rows x;
    const void *weight;
    dt_status *s = dt_element_rows_open(&x, r, c->q->weight, plan);
    if (!s) s = dt_element_rows_get(&x, row, &weight);
    if (!s)
        *counts = dt_cell_double(&(dt_view){.type = *t, .data = (void *)weight},
                                 weights <= n && n % weights == 0 ? value / (n / weights) : 0) != 0;
    free(x.memory);
    return s;
}

static bool see_range(const dt_view *target, int64_t row, void *user) {
    range_scan *c = user;
    const int64_t n = dt_type_elements(&target->type);
    const char *values = target->data;
    double value;
    for (int64_t from = 0, at; from < n && !c->bad; from += at + 1) {
        bool counts = true;
        at = dt_find_beyond(target->type.dtype, c->q->low - ROUNDING, c->q->high + ROUNDING,
                            values + from * (int64_t)dt_dtype_size(target->type.dtype), n - from,
                            &value);
        if (at < 0) return true;
        if (c->q->weight >= 0) c->bad = weighs(c, row, from + at, n, &counts);
        if (!c->bad && counts) c->bad = beyond(c->d, c->part, c->q, row, value);
    }
    return !c->bad;
}

dt_status *dt_dataset_check_range(const dt_dataset *data, const dt_target_range *q) {
    const dt_parts *d = dt_parts_of(data);
    dt_status *faults = NULL;
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_rows *r = &d->rows[p];
        if (dt_rows_count(r) == 0) continue;
        const int64_t known = known_classes(r, q->element, r->plan[q->element]);
        if (known > 0 && q->low <= 0 && (double)known - 1 <= q->high) continue;
        range_scan c = {.d = d, .part = p, .q = q};
        const int64_t rows =
            MOST_VALUES / (dt_type_elements(dt_map_plan_type(r->plan[q->element])) + 1);
        const dt_survey all = {.data = data,
                               .part = p,
                               .element = q->element,
                               .most = rows < FEWEST_ROWS ? FEWEST_ROWS : rows,
                               .see_row = see_range,
                               .user = &c};
        dt_status *s = dt_dataset_survey(&all);
        dt_status_append(&faults, s ? s : c.bad);
    }
    return faults;
}
