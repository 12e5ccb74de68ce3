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

struct source {
    dt_examples *x;
};

static int64_t count_examples(const dt_dataset *d) {
    const int64_t n = ((const struct source *)d->args)->x->count;
    return n < 0 ? DT_UNCOUNTED : n;
}

static void close_examples(void *args) {
    dt_examples *x = ((struct source *)args)->x;
    if (x->reader->close) x->reader->close(x);
}

dt_dataset *dt_examples_source(dt_examples *x) {
    static const dt_transform row = {.name = "examples",
                                     .args_size = sizeof(struct source),
                                     .count = count_examples,
                                     .release = close_examples};
    return dt_dataset_make(
        &(dt_dataset){.row = &row,
                      .args = &(struct source){x},
                      .spec = dt_spec_copy(&(dt_example_spec){.n = x->n, .c = x->stored})});
}

int64_t dt_rows_number(const dt_rows *r, int64_t i) {
    int64_t pass = 0;
    if (dt_rows_count(r) > 0) i %= dt_rows_count(r);
    dt_dataset_index(r->examples, NULL, &(dt_indices){1, &i, &pass});
    return i;
}

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

/* ---- opening and planning the parts ---- */

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
    dt_status *s = NULL;
    if (dt_parts_are_once(d)) r->x = dt_examples_in_order(d->spec.rows->once);
    else s = (d->spec.rows ? dt_records_open_part : d->spec.format->open_part)(&q, &r->x);
    if (s) { /* The elements may be incomplete, so no source can be made of the examples. */
        if (r->x && r->x->reader->close) r->x->reader->close(r->x);
        r->x = NULL;
        return s;
    }
    s = d->spec.checks_all && r->x->encoded ? dt_examples_faults(r->x) : NULL;
    if (!s && d->spec.window.length > 0) s = dt_windows_open(d, r);
    r->examples = dt_examples_source(r->x);
    if (!s) r->stored = r->x->stored;
    return s;
}

/* Opens all parts, so that all faults are reported in one run. Faults of missing files (exit status
 * 66) come before those of bad files (65). */
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

/* Whether the plan of a part fails with the same fault as the plan of train, which has been
 * reported already. */
static bool fails_like_train(const dt_parts *d, const dt_rows *r, int e) {
    const dt_rows *train = &d->rows[DT_PART_TRAIN];
    return r != train && !train->plan[e] &&
           dt_type_equal(&train->stored[train->index[e]].type, &r->stored[r->index[e]].type);
}

static void find_elements(const dt_parts *d, dt_rows *r) {
    int *index = dt_arena_array(d->arena, int, d->n);
    for (int e = 0; e < d->n; e++)
        index[e] = dt_element_find(r->stored, r->x->n, d->element[e].name);
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

/* ---- types of the elements ---- */

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
        d->element[e].type = dt_map_batch_type(t);
        d->element[e].stored = d->spec.as_stored
                                   ? &d->rows[DT_PART_TRAIN].stored[d->rows[DT_PART_TRAIN].index[e]]
                                   : NULL;
        d->element[e].numbers = dt_map_plan_numbers(d->rows[DT_PART_TRAIN].plan[e]);
        d->element[e].names = *dt_map_plan_names(d->rows[DT_PART_TRAIN].plan[e]);
    }
}

/* ---- examples in memory ---- */

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

static int64_t batch_size(const dt_dataset *d) { return dt_parts_of(d)->spec.global_batch_size; }

static void release(void *args) {
    dt_parts *d = args;
    dt_keeper_destroy(d->keeper);
    for (dt_part p = 0; p < DT_PARTS; p++) {
        dt_rows *r = &d->rows[p];
        if (p == DT_PART_TRAIN || r->kept != d->rows[DT_PART_TRAIN].kept)
            dt_example_cache_destroy(r->kept);
        if (r->single) dt_dataset_unref(r->single->examples);
        dt_dataset_unref(r->examples);
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
    d->length = dt_rows_count(&made->rows[DT_PART_TRAIN]);
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

/* ---- functions of an open data set ---- */

int64_t dt_dataset_examples(const dt_dataset *d) { return dt_dataset_cardinality(d); }

const _Atomic uint32_t *dt_dataset_preparing(const dt_dataset *data) {
    return &dt_parts_of(data)->preparing;
}

dt_status *dt_dataset_declare(const dt_dataset *data, int element, dt_trace *t, dt_value *out) {
    const dt_parts *d = dt_parts_of(data);
    const dt_rows *r = &d->rows[DT_PART_TRAIN];
    dt_type stored = dt_map_batch_type(&r->stored[r->index[element]].type);
    return dt_map_emit(r->plan[element], dt_trace_declare(t, d->element[element].name, &stored),
                       out);
}

int dt_dataset_elements(const dt_dataset *data, const dt_element_spec **elements) {
    const dt_parts *d = dt_parts_of(data);
    *elements = d->element;
    return d->n;
}

const dt_location *dt_dataset_combines(const dt_dataset *data, int element) {
    return dt_map_plan_combines(dt_rows_of(data, DT_PART_TRAIN)->plan[element]);
}

const dt_element_spec *dt_dataset_stored(const dt_dataset *data, int element) {
    const dt_rows *train = dt_rows_of(data, DT_PART_TRAIN);
    return train->stored ? &train->stored[train->index[element]] : NULL;
}

int dt_dataset_find(const dt_dataset *data, const char *name) {
    return dt_element_find(dt_parts_of(data)->element, dt_parts_of(data)->n, name);
}

dt_status *dt_dataset_encode(const dt_dataset *data, const char *text, dt_tokens *out) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    return x->reader->encode(x, text, out);
}

dt_documents dt_dataset_documents(const dt_dataset *data) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    return x ? x->documents : (dt_documents){0};
}

void dt_dataset_decode(const dt_dataset *data, int32_t token, bool first, dt_str *out) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    x->reader->decode(x, token, first, out);
}

int64_t dt_dataset_count(const dt_dataset *data, dt_part part) {
    const dt_parts *d = dt_parts_of(data);
    const int64_t n = dt_rows_count(&d->rows[part]);
    return n < 0 ? -1 : n * (part == DT_PART_TRAIN ? d->spec.repeat : 1);
}

bool dt_dataset_is_once(const dt_dataset *data) { return dt_parts_are_once(dt_parts_of(data)); }

const char *dt_dataset_part_name(const dt_dataset *data, dt_part part) {
    return dt_parts_of(data)->spec.rows ? "input" : dt_part_name(part);
}

const char *dt_dataset_example_file(const dt_dataset *data, dt_part part, int64_t example) {
    const dt_rows *r = dt_rows_of(data, part);
    return r->x->single ? r->x->paths.v[dt_rows_number(r, example)] : NULL;
}

void dt_dataset_undo_group(const dt_dataset *data, dt_part part, const char *target,
                           int64_t example, float *x, int64_t n) {
    const dt_parts *d = dt_parts_of(data);
    const dt_rows *r = &d->rows[part];
    if (r->single)
        dt_map_undo_group(d->spec.map, &d->learned, target,
                          dt_rows_group(r, dt_rows_number(r, example)), x, n);
}

const dt_learned *dt_dataset_learned(const dt_dataset *data) { return &dt_parts_of(data)->learned; }

/* Returns the warning about rounding in a column, from the first part that has one; NULL if none
 * has. */
static const char *rounded_in(const dt_parts *d, int e, int column) {
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_rows *r = &d->rows[p];
        const dt_element_spec *x = r->x ? &r->stored[r->index[e]] : NULL;
        if (x && x->rounded && x->rounded[column]) return x->rounded[column];
    }
    return NULL;
}

void dt_dataset_rounded(const dt_dataset *data, dt_arena *arena, dt_texts *out) {
    const dt_parts *d = dt_parts_of(data);
    enum { MOST_LISTED = 8 };
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, d->n *MOST_LISTED)};
    for (int e = 0; e < d->n; e++) {
        const dt_rows *train = &d->rows[DT_PART_TRAIN];
        const int columns = train->stored[train->index[e]].columns.n;
        for (int i = 0, listed = 0; i < columns && listed < MOST_LISTED; i++) {
            const char *what = rounded_in(d, e, i);
            if (!what) continue;
            out->v[out->n++] = dt_arena_printf(
                arena,
                "%s, because float32 rounds whole numbers beyond 16777216; to keep them, set "
                "'dtype: float64' in dataset.element.%s, with normalize or rescale in dataset.map",
                what, d->element[e].name);
            listed++;
        }
    }
}

void dt_dataset_left_out(const dt_dataset *data, dt_texts *out) {
    const dt_parts *d = dt_parts_of(data);
    *out = (dt_texts){.v = dt_arena_array(d->arena, const char *, DT_PARTS)};
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_examples *x = d->rows[p].x;
        const bool is_train = p != DT_PART_TRAIN && x == d->rows[DT_PART_TRAIN].x;
        if (x && !is_train && x->left_out) out->v[out->n++] = x->left_out;
    }
}

const dt_dataset_spec *dt_dataset_spec_of(const dt_dataset *data) {
    return &dt_parts_of(data)->spec;
}

void dt_dataset_set_global_batch(dt_dataset *data, int64_t global_batch_size) {
    dt_parts *d = dt_parts_of(data);
    d->spec.global_batch_size = global_batch_size;
}

void dt_dataset_set_seed(dt_dataset *data, uint64_t seed) {
    dt_parts *d = dt_parts_of(data);
    if (!dt_dataset_has_parts(data)) return;
    d->spec.map_seed = seed;
    if (!d->spec.own_shuffle_seed) d->spec.shuffle_seed = seed;
}

dt_status *dt_dataset_check_job(const dt_dataset *d) {
    if (!d) return dt_fail(DT_E_PIPELINE, NULL, "no data set given");
    return dt_dataset_has_parts(d)
               ? NULL
               : dt_fail(DT_E_PIPELINE, NULL,
                         "fit, evaluate and predict do not take a pipeline; call "
                         "dt_dataset_collect to make a data set of it");
}
