/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a data set: opens the examples of each part, plans the steps of `map`, and checks that
 * the parts agree. Parts may store an element with different types and at different positions;
 * after `map` they must agree.
 */
#include "data/parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

int64_t dt_rows_bytes(const dt_rows *r, int e) {
    return dt_type_bytes(&r->stored[r->index[e]].type);
}

/* Gets all rows of the element at `index`, in the format's own order of elements. Sets *whole to
 * NULL if they are not in memory together. */
static dt_status *whole_of(dt_examples *x, int index, const void **whole) {
    *whole = NULL;
    return x->reader->whole ? x->reader->whole(x, index, whole) : NULL;
}

dt_status *dt_rows_whole(const dt_rows *r, int e, const void **whole) {
    return whole_of(r->x, r->index[e], whole);
}

/* Reads one element of an example. */
static dt_status *read_alone(dt_examples *x, int index, int64_t row, void *out) {
    dt_read_buffer buffer = {0};
    void **wanted = dt_alloc((size_t)x->n * sizeof *wanted);
    wanted[index] = out;
    dt_status *s = x->reader->at(x, row, &buffer, wanted);
    free(wanted);
    dt_str_release(&buffer.bytes);
    return s;
}

dt_status *dt_rows_get(const dt_rows *r, int e, int64_t i, const void *whole, void *buffer,
                       const void **row) {
    const int64_t number = dt_rows_number(r, i);
    *row = whole ? (const char *)whole + number * dt_rows_bytes(r, e) : buffer;
    return whole ? NULL : read_alone(r->x, r->index[e], number, buffer);
}

/* ---- opening the parts ---- */

static dt_format_request request_part(const dt_parts *d, dt_part p) {
    const dt_rows *train = &d->rows[DT_PART_TRAIN];
    dt_format_request q = dt_dataset_request(&d->spec, p, d->arena);
    q.known = d->spec.stored;
    q.n_known = d->spec.n_stored;
    if (p != DT_PART_TRAIN && train->stored) {
        q.known = train->stored;
        q.n_known = train->x->n;
    }
    return q;
}

static dt_status *open_rows(dt_parts *d, dt_part p) {
    dt_rows *r = &d->rows[p];
    const dt_format_request q =
        d->spec.rows ? dt_dataset_request_rows(&d->spec, d->arena) : request_part(d, p);
    if (dt_parts_are_once(d)) r->x = dt_examples_in_order(d->spec.rows->once);
    else DT_TRY((d->spec.rows ? dt_records_open_part : d->spec.format->open_part)(&q, &r->x));
    if (d->spec.checks_all && r->x->encoded) DT_TRY(dt_examples_faults(r->x));
    if (d->spec.window.length > 0) DT_TRY(dt_windows_open(d, r));
    r->stored = r->x->stored;
    r->count = r->x->count;
    return NULL;
}

/* Opens all parts, so that all faults are reported in one run; missing files (66) come before bad
 * ones (65). */
static dt_status *open_parts(dt_parts *d) {
    dt_status *missing = NULL, *bad = NULL;
    if (d->spec.rows) return open_rows(d, DT_PART_TRAIN);
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->spec.part[p] || (p == DT_PART_TRAIN && d->spec.format->content == DT_CONTENT_NONE)) {
            dt_status *s = open_rows(d, p);
            dt_status_append(s && dt_status_code(s) == 66 ? &missing : &bad, s);
        }
    dt_status_append(&missing, bad);
    return missing;
}

static void name_elements(dt_parts *d) {
    const dt_examples *x = d->rows[DT_PART_TRAIN].x;
    d->n = x->n;
    d->element = dt_arena_array(d->arena, dt_element_spec, d->n);
    for (int e = 0; e < d->n; e++) d->element[e].name = x->stored[e].name;
}

/* Returns the position of the named element in the format's own order. Reading the mapping has
 * checked that it exists. */
static int find_stored(const dt_rows *r, const char *name) {
    int i = 0;
    while (i < r->x->n - 1 && strcmp(r->stored[i].name, name) != 0) i++;
    return i;
}

/* Whether the plan of a part fails with the same fault as the plan of train, which has been
 * reported already. */
static bool fails_like_train(const dt_parts *d, const dt_rows *r, int e) {
    const dt_rows *train = &d->rows[DT_PART_TRAIN];
    return r != train && !train->plan[e] &&
           dt_type_equal(&train->stored[train->index[e]].type, &r->stored[r->index[e]].type);
}

static void find_elements(const dt_parts *d, dt_rows *r) {
    int *index = dt_arena_array(d->arena, int, d->n);
    for (int e = 0; e < d->n; e++) index[e] = find_stored(r, d->element[e].name);
    r->index = index;
    r->plan = dt_arena_array(d->arena, const dt_map_plan *, d->n);
    if (r->single) find_elements(d, r->single);
}

/* Plans all elements. An element with a fault in its steps gets the plan NULL. */
static dt_status *plan_rows(dt_parts *d, dt_rows *r) {
    dt_status *s = NULL;
    find_elements(d, r);
    for (int e = 0; e < d->n; e++) {
        dt_status *bad = fails_like_train(d, r, e) ? NULL : dt_rows_plan(d, r, e);
        if (bad) r->plan[e] = NULL;
        dt_status_append(&s, bad);
    }
    return s;
}

/* ---- comparing the parts ---- */

static dt_status *differ(const dt_element_spec *x, const dt_type *here, const dt_type *train) {
    return dt_fail(DT_E_DATA_SHAPE, &x->at, "%s: examples of '%s' are %s, those of train %s",
                   x->file, x->name, dt_text_of(here).s, dt_text_of(train).s);
}

static dt_status *compare_types(const dt_parts *d, const dt_rows *r) {
    dt_status *s = NULL;
    for (int e = 0; e < d->n; e++) {
        const dt_type *here = dt_map_plan_type(r->plan[e]),
                      *train = dt_map_plan_type(d->rows[DT_PART_TRAIN].plan[e]);
        if (!dt_type_equal(here, train))
            dt_status_append(&s, differ(&r->stored[r->index[e]], here, train));
    }
    return s;
}

static void set_types(dt_parts *d) {
    for (int e = 0; e < d->n; e++) {
        const dt_type *t = dt_map_plan_type(d->rows[DT_PART_TRAIN].plan[e]);
        dt_type batch = {.dtype = t->dtype, .rank = t->rank + 1, .dim = {DT_BATCH}};
        memcpy(batch.dim + 1, t->dim, (size_t)t->rank * sizeof *t->dim);
        d->element[e].type = batch;
        d->element[e].stored = d->spec.as_stored
                                   ? &d->rows[DT_PART_TRAIN].stored[d->rows[DT_PART_TRAIN].index[e]]
                                   : NULL;
        d->element[e].numbers = dt_map_plan_numbers(d->rows[DT_PART_TRAIN].plan[e]);
        d->element[e].names = *dt_map_plan_names(d->rows[DT_PART_TRAIN].plan[e]);
    }
}

/* ---- caching decoded examples ---- */

/* Makes a cache for the elements that have to be decoded; elements whose rows are all in memory
 * anyway need none. */
static dt_example_cache *make_kept(const dt_parts *d, const dt_rows *r) {
    int64_t *bytes = dt_arena_array(d->arena, int64_t, d->n);
    for (int i = 0; i < d->n; i++) {
        const void *whole = NULL;
        dt_status_free(whole_of(r->x, i, &whole)); /* reading the rows reports the error */
        bytes[i] = whole ? 0 : dt_type_bytes(&r->stored[i].type);
    }
    return dt_example_cache_create(r->x->count, d->n, bytes,
                                   d->spec.cache == DT_CACHE_YES ? INT64_MAX
                                                                 : DT_EXAMPLE_CACHE_AUTO);
}

static void keep_parts(dt_parts *d) {
    for (dt_part p = 0; p < DT_PARTS; p++) {
        dt_rows *r = &d->rows[p];
        const dt_rows *train = &d->rows[DT_PART_TRAIN];
        if (r->x && r->x->encoded && d->spec.cache != DT_CACHE_NO)
            r->kept = p > 0 && r->x == train->x ? train->kept : make_kept(d, r);
    }
}

/* Adds the bytes of a part. The elements of a text are windows on the same array of tokens, so an
 * element that begins within the rows of the previous one is not counted again. */
static void add_part(const dt_rows *r, dt_data_bytes *b) {
    if (r->single) r = r->single;
    const dt_example_reader *f = r->x->reader;
    const int64_t rows = r->x->count;
    const char *before = NULL;
    for (int i = 0; i < r->x->n; i++) {
        const int64_t unread = f->unread ? f->unread(r->x, i) : 0,
                      bytes = rows * dt_type_bytes(&r->stored[i].type);
        const void *whole = NULL;
        b->coming += unread;
        if (!unread) /* nothing is read at this point, so this cannot fail */
            dt_status_free(whole_of(r->x, i, &whole));
        if (whole &&
            !(before && (const char *)whole >= before && (const char *)whole < before + bytes))
            b->present += bytes;
        before = whole;
    }
    if (r->kept) b->coming += dt_example_cache_bytes(r->kept, rows);
}

dt_data_bytes dt_dataset_bytes(const dt_dataset *data) {
    const dt_parts *d = dt_parts_of(data);
    dt_data_bytes b = {0};
    if (d->rows[DT_PART_TRAIN].x) add_part(&d->rows[DT_PART_TRAIN], &b);
    if (d->rows[DT_PART_VALIDATION].x && d->rows[DT_PART_VALIDATION].x != d->rows[DT_PART_TRAIN].x)
        add_part(&d->rows[DT_PART_VALIDATION], &b);
    return b;
}

/* ---- creating and releasing ---- */

static dt_status *prepare(dt_parts *d) {
    dt_status *s = NULL;
    DT_TRY(open_parts(d));
    name_elements(d);
    DT_TRY(dt_parts_split(d));
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->spec.window.length > 0 && d->rows[p].x) DT_TRY(dt_windows_list_rows(d, &d->rows[p]));
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->rows[p].x) dt_status_append(&s, plan_rows(d, &d->rows[p]));
    if (s) return s;
    set_types(d);
    for (dt_part p = 1; p < DT_PARTS; p++)
        if (d->rows[p].x) dt_status_append(&s, compare_types(d, &d->rows[p]));
    if (s) return s;
    keep_parts(d);
    DT_TRY(dt_parts_hash_named(d));
    DT_TRY(dt_parts_check_named(d, d->spec.named_files));
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->rows[p].x) dt_status_append(&s, dt_rows_check_limits(d, &d->rows[p]));
    return s;
}

/* ---- the source ---- */

static int64_t batch_size(const dt_dataset *d) { return dt_parts_of(d)->spec.global_batch_size; }

static void release(void *args) {
    dt_parts *d = args;
    free(d->divided);
    dt_keeper_destroy(d->keeper);
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->rows[p].single) free((void *)d->rows[p].single->row);
    for (dt_part p = 0; p < DT_PARTS; p++)
        if (d->rows[p].x &&
            !(p == DT_PART_VALIDATION && d->rows[p].x == d->rows[DT_PART_TRAIN].x)) {
            dt_example_cache_destroy(d->rows[p].kept);
            if (d->rows[p].x->reader->close) d->rows[p].x->reader->close(d->rows[p].x);
        }
    dt_arena_destroy(d->arena);
    dt_arena_destroy(d->owned);
}

/* This row has no `next`: examples are read through a data set of its batches
 * (dt_dataset_batches). */
static const dt_transform parts_row = {
    .name = "parts",
    .args_size = sizeof(dt_parts),
    .batch_size = batch_size,
    .release = release,
};

dt_parts *dt_parts_of(const dt_dataset *d) {
    static const dt_parts none;
    return (dt_parts *)(dt_dataset_has_parts(d) ? d->args : &none);
}

bool dt_dataset_has_parts(const dt_dataset *d) { return d->row == &parts_row; }

dt_status *dt_dataset_create(dt_dataset **out, const dt_dataset_spec *spec) {
    dt_parts parts = {.arena = dt_arena_create(), .spec = *spec};
    if (spec->learned) parts.learned = *spec->learned;
    dt_dataset *d = dt_dataset_make(&(dt_dataset){.row = &parts_row, .args = &parts});
    dt_parts *made = dt_parts_of(d);
    dt_status *s = prepare(made);
    if (s) {
        dt_dataset_unref(d);
        return s;
    }
    d->spec = dt_spec_copy(&(dt_example_spec){.n = made->n, .c = made->element});
    d->length = made->rows[DT_PART_TRAIN].count;
    return dt_dataset_replace(out, d);
}

/* Opens the data set that a fragment of YAML describes. The fragment becomes a source of its own,
 * so that its faults have locations. held: the examples in memory; NULL: they are in files. */
static dt_status *open_fragment(dt_dataset **out, dt_arena *arena, const void *held,
                                const char *format, va_list args) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_str text = {0};
    dt_tree *tree;
    dt_dataset_spec spec;
    if (!format) return dt_fail(DT_E_MISUSE, NULL, "dataset: no text was given");
    dt_str_vprintf(&text, format, args);
    *source = (dt_source){.name = "dataset",
                          .text = dt_arena_copy(arena, dt_str_text(&text), text.size + 1),
                          .size = text.size};
    dt_str_release(&text);
    DT_TRY(dt_fragment_parse(arena, source, &tree));
    DT_TRY(held ? dt_dataset_read_held(arena, tree, held, &spec)
                : dt_dataset_read(arena, tree, "", 0, &spec));
    DT_TRY(dt_dataset_create(out, &spec));
    dt_parts_of(*out)->owned = arena;
    return NULL;
}

dt_status *dt_dataset_open(dt_dataset **out, const char *format, ...) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_dataset_open", "place for the data set"));
    dt_arena *arena = dt_arena_create();
    va_list args;
    va_start(args, format);
    dt_status *s = open_fragment(out, arena, NULL, format, args);
    va_end(args);
    if (s) dt_arena_destroy(arena);
    return s;
}

dt_status *dt_dataset_hold(dt_dataset **out, const dt_example_spec *spec,
                           const dt_example *examples, const char *format, va_list args) {
    dt_arena *arena = dt_arena_create();
    dt_examples *held;
    dt_status *s = dt_held_make(arena, spec, examples, &held);
    if (!s) s = open_fragment(out, arena, held, format, args);
    if (!s) return NULL;
    dt_held_release(held);
    dt_arena_destroy(arena);
    return s;
}
