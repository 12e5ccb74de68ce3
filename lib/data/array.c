/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One part of a data set as a list of array files, one an element. Opening reads the headers and compares what they declare with
 * the bytes that are there; nothing is allocated before that. Rows are loaded when they are first wanted: a job that only looks
 * (`validate`) never reads the images, and training reads them in the feed's thread while the program is compiled. Compressed files
 * are the exception: only decompressing them shows that they are whole, so that is done at once.
 */
#define _GNU_SOURCE /* madvise */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "data/data.h"
#include "file/array.h"
#include "file/npz.h"

/* Decoded bytes of one file. */
#define LARGEST_WHOLE DT_LARGEST_REORDERED
#define LARGEST_GZIP ((int64_t)1 << 30)

enum {
    PIECE = 1 << 18,      /* values turned at a time, while they are in the cache */
    HUGE_PAGE = 2 << 20,
    OVERHANG = 65536,     /* bytes after compressed data that are counted */
    MOST_ELEMENTS = 1024, /* files of one part: each holds a descriptor until it is loaded */
};

typedef struct array {
    dt_inflow *file; /* NULL once everything is loaded */
    dt_header header;
    int64_t row_values, row_bytes; /* of ours */
    void *rows;      /* (count, ...) when loaded whole */
    const char *source; /* the file itself: of an archive's member the archive */
} array;

typedef struct reading {
    dt_header_reader *read_header;
    bool archives;
} reading;

typedef struct array_part {
    dt_examples base;
    array *arrays;     /* (n) */
    pthread_mutex_t loading;
} array_part;

/* ---- headers ---- */

static dt_status *fail_shape(dt_error id, const char *path, const dt_type *t, const char *what)
{
    dt_str shape = {0};
    dt_shape_print(t, &shape);
    dt_status *s = dt_fail(id, NULL, "%s: shape %s %s", path, dt_str_text(&shape), what);
    dt_str_release(&shape);
    return s;
}

/* Values that the shape declares: more than any file can hold are refused here, with the number where it has one. */
static dt_status *count_values(const char *path, const dt_header *h, int64_t size, int64_t *values)
{
    uint64_t n = 1;
    bool overflow = false;
    for (int i = 0; i < h->type.rank; i++)
        overflow |= __builtin_mul_overflow(n, (uint64_t)h->type.dim[i], &n);
    if (overflow)
        return fail_shape(DT_E_DATA_SIZE, path, &h->type, "overflows 64 bits");
    int64_t bytes;
    if (n > INT64_MAX || !dt_mul_fits((int64_t)n, (int64_t)dt_dtype_size(h->type.dtype), &bytes))
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: declares %llu values, file has %lld bytes", path, (unsigned long long)n,
                       (long long)size);
    *values = (int64_t)n;
    return NULL;
}

static dt_status *present_of(const char *path, int64_t present, int64_t needed, int64_t offset)
{
    return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld data bytes present (offset %lld)", path, (long long)present,
                   (long long)needed, (long long)offset);
}

static dt_status *bytes_after(const char *path, int64_t n, bool more)
{
    return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %s%lld byte%s after the end of the data", path, more ? "at least " : "", (long long)n,
                   n == 1 ? "" : "s");
}

static dt_status *check_plain_size(const array *a, const char *path, int64_t needed)
{
    int64_t present = dt_inflow_size(a->file) - a->header.offset;
    char what[80];
    snprintf(what, sizeof what, "needs %lld bytes, file has 0", (long long)needed);
    if (present == 0)
        return fail_shape(DT_E_DATA_SIZE, path, &a->header.type, what);
    if (present < needed)
        return present_of(path, present, needed, a->header.offset);
    return present > needed ? bytes_after(path, present - needed, false) : NULL;
}

static dt_status *check_gzip_size(const array *a, const char *path, int64_t needed, int64_t ours)
{
    if (needed > dt_inflow_most(a->file))
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: declares %lld bytes, more than %lld bytes of gzip data can hold", path,
                       (long long)needed, (long long)dt_inflow_size(a->file));
    if (ours > LARGEST_GZIP)
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL, "%s: %lld bytes when decompressed; at most %lld bytes of a compressed file are read",
                               path, (long long)ours, (long long)LARGEST_GZIP),
                       "gunzip it: uncompressed files may have any size");
    return NULL;
}

static dt_status *check_shape(const char *path, const dt_type *t)
{
    if (t->rank == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: holds a single value, not rows of examples", path);
    if (t->dim[0] == 0)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", path);
    for (int i = 1; i < t->rank; i++)
        if (t->dim[i] == 0)
            return fail_shape(DT_E_DATA_FILE, path, t, "has empty rows");
    return NULL;
}

/* ---- rows ---- */

static int64_t wire_row_bytes(const array *a)
{
    return a->row_values * dt_wire_size(a->header.type.dtype, a->header.wire);
}

/* Values [first, first + n) into out: from anywhere in a plain file, from where it stands in a compressed one. */
static dt_status *fetch(const array *a, const char *path, int64_t first, int64_t n, void *out)
{
    int64_t size = dt_wire_size(a->header.type.dtype, a->header.wire), ours = (int64_t)dt_dtype_size(a->header.type.dtype);
    char *in = (char *)out + n * (ours - size);
    int64_t got = n * size, bad;
    if (dt_inflow_is_gzip(a->file))
        DT_TRY(dt_inflow_read(a->file, in, n * size, &got));
    else
        DT_TRY(dt_inflow_pread(a->file, in, n * size, a->header.offset + first * size));
    if (got < n * size)
        return present_of(path, first * size + got, a->header.type.dim[0] * wire_row_bytes(a), a->header.offset);
    if (dt_unwire(&a->header, out, n, &bad))
        return NULL;
    const int64_t row = a->header.fortran ? (first + bad) % a->header.type.dim[0] : (first + bad) / a->row_values;
    return dt_fail(DT_E_DATA_TYPE, NULL, "%s: a value of row %lld does not fit int64", path, (long long)row);
}

/* Large pages make 25 page faults of the 11,500 that MNIST's images would take, and spare the gather most TLB misses. */
static void *allocate_rows(int64_t bytes)
{
    if (bytes < HUGE_PAGE)
        return dt_try_alloc((size_t)bytes);
    void *p = NULL;
    if (posix_memalign(&p, HUGE_PAGE, (size_t)bytes) != 0)
        return NULL;
    madvise(p, (size_t)bytes, MADV_HUGEPAGE); /* advice: it may say no */
    return p;
}

/* Takes the rows, gives them in C's order; NULL: out of memory. */
static char *into_c_order(const dt_type *t, char *rows)
{
    char *out = allocate_rows(dt_type_bytes(t));
    if (out)
        dt_reorder(t, rows, out);
    free(rows);
    return out;
}

static dt_status *no_room(const char *path, int64_t bytes)
{
    return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (wanted %lld bytes for its rows)", path, (long long)bytes);
}

static dt_status *load(array *a, const char *path)
{
    int64_t values = a->header.type.dim[0] * a->row_values, size = (int64_t)dt_dtype_size(a->header.type.dtype);
    char *rows = allocate_rows(values * size);
    if (!rows)
        return no_room(path, values * size);
    dt_status *s = NULL;
    for (int64_t at = 0; at < values && !s; at += PIECE)
        s = fetch(a, path, at, values - at < PIECE ? values - at : PIECE, rows + at * size);
    if (s) {
        free(rows);
        return s;
    }
    a->rows = a->header.fortran ? into_c_order(&a->header.type, rows) : rows;
    return a->rows ? NULL : no_room(path, values * size);
}

static void close_file(array *a)
{
    dt_inflow_close(a->file);
    a->file = NULL;
}

/* Also goes on to the end of the stream, where its checksum stands. */
static dt_status *load_gzip(array *a, const char *path)
{
    static const size_t room = OVERHANG;
    int64_t after = 0;
    dt_status *s = load(a, path);
    void *rest = dt_alloc(room);
    if (!s)
        s = dt_inflow_read(a->file, rest, (int64_t)room, &after);
    free(rest);
    if (!s && after > 0)
        s = bytes_after(path, after, after == (int64_t)room);
    close_file(a);
    return s;
}

/* ---- a part ---- */

static dt_status *read_checked(array *a, const char *path, dt_header_reader *read_header)
{
    int64_t values = 0;
    if (dt_inflow_size(a->file) == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", path);
    DT_TRY(read_header(a->file, path, &a->header));
    DT_TRY(check_shape(path, &a->header.type));
    DT_TRY(count_values(path, &a->header, dt_inflow_size(a->file), &values));
    a->row_values = values / a->header.type.dim[0];
    a->row_bytes = a->row_values * (int64_t)dt_dtype_size(a->header.type.dtype);
    int64_t wire_bytes = a->header.type.dim[0] * wire_row_bytes(a);
    if (a->header.fortran && a->header.type.dim[0] * a->row_bytes > LARGEST_WHOLE)
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL, "%s: Fortran order, and more than %lld bytes", path, (long long)LARGEST_WHOLE),
                       "save numpy.ascontiguousarray(x): then files may have any size");
    if (!dt_inflow_is_gzip(a->file))
        return check_plain_size(a, path, wire_bytes);
    DT_TRY(check_gzip_size(a, path, wire_bytes, a->header.type.dim[0] * a->row_bytes));
    return load_gzip(a, path);
}

static dt_status *open_array(const dt_format_request *r, const reading *how, array *a, dt_stored *stored)
{
    a->source = how->archives ? dt_npz_archive(r->arena, stored->file) : stored->file;
    if (how->archives)
        DT_TRY(dt_npz_open(r->arena, stored->name, &stored->file, &a->file));
    else
        DT_TRY(dt_inflow_open(&a->file, stored->file));
    DT_TRY(read_checked(a, stored->file, how->read_header));
    const dt_type *t = &a->header.type;
    stored->type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
    return NULL;
}

static dt_status *check_counts(const array_part *x)
{
    for (int i = 1; i < x->base.n; i++) {
        int64_t first = x->arrays[0].header.type.dim[0], here = x->arrays[i].header.type.dim[0];
        if (here != first)
            return dt_fail(DT_E_DATA_ROWS, &x->base.stored[i].at, "%s has %lld rows, %s has %lld", x->base.stored[0].file, (long long)first,
                           x->base.stored[i].file, (long long)here);
    }
    return NULL;
}

static char *path_of(const dt_format_request *r, const char *name)
{
    char *joined = dt_path_join(r->directory, name);
    char *path = dt_arena_strdup(r->arena, joined);
    free(joined);
    return path;
}

/* All files are looked at, so that all faults are told in one run: first the files that are missing. */
static dt_status *open_all(const dt_format_request *r, const reading *how, array_part *x)
{
    dt_status *missing = NULL, *bad = NULL;
    for (int i = 0; i < x->base.n; i++) {
        const dt_entry *e = &r->tree->entry[i];
        x->base.stored[i] = (dt_stored){.name = e->key, .at = e->value->at, .file = path_of(r, e->value->text)};
        dt_status *s = open_array(r, how, &x->arrays[i], &x->base.stored[i]);
        if (s)
            dt_status_append(dt_status_code(s) == 66 ? &missing : &bad, dt_at(s, &e->value->at));
    }
    dt_status_append(&missing, bad);
    return missing ? missing : check_counts(x);
}

static dt_status *open_arrays(const dt_format_request *r, dt_header_reader *read_header, bool archives, dt_examples **out)
{
    array_part *x = dt_arena_new(r->arena, array_part);
    *out = &x->base;
    x->base.n = r->tree->n;
    x->base.stored = dt_arena_array(r->arena, dt_stored, x->base.n);
    x->arrays = dt_arena_array(r->arena, array, x->base.n);
    pthread_mutex_init(&x->loading, NULL);
    DT_TRY(open_all(r, &(reading){read_header, archives}, x));
    x->base.count = x->arrays[0].header.type.dim[0];
    return NULL;
}

static void close_part(dt_examples *base)
{
    array_part *x = (array_part *)base;
    for (int i = 0; i < x->base.n; i++) {
        close_file(&x->arrays[i]);
        free(x->arrays[i].rows);
    }
    pthread_mutex_destroy(&x->loading);
}

static dt_status *check(const dt_format_request *r, dt_texts *names)
{
    const char *part = dt_part_name(r->part);
    dt_status *s = NULL;
    if (!r->tree)
        return dt_fail(DT_E_DATASET_KEYS, r->at,
                       "dataset lacks '%s': a mapping of elements to files, such as {image: x.npy, label: y.npy}", part);
    DT_TRY(dt_tree_expect(r->tree, DT_TREE_MAP, part));
    if (r->tree->n == 0 || r->tree->n > MOST_ELEMENTS)
        return dt_fail(DT_E_DATASET_KEYS, &r->tree->at, "'%s' must name 1 to %d files, got %d", part, MOST_ELEMENTS, r->tree->n);
    names->v = dt_arena_array(r->arena, const char *, r->tree->n);
    for (int i = 0; i < r->tree->n; i++) {
        const dt_entry *e = &r->tree->entry[i];
        const char *path = "x";
        names->v[names->n++] = e->key;
        dt_status_append(&s, dt_tree_text(e->value, e->key, &path));
        if (*path == '\0')
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &e->value->at, "'%s' must name a file, got an empty string", e->key));
    }
    return s;
}

static const char *source(const dt_examples *base, int64_t i, const char **what)
{
    const array_part *x = (const array_part *)base;
    if (i >= x->base.n)
        return NULL;
    *what = x->base.stored[i].name;
    return x->arrays[i].source;
}

static dt_status *load_all(array *a, const char *path)
{
    if (a->rows)
        return NULL;
    DT_TRY(load(a, path));
    close_file(a);
    return NULL;
}

/* Two feeds over one part (training, and validation of a split) may come here at once. */
static dt_status *whole(dt_examples *base, int e, const void **rows)
{
    array_part *x = (array_part *)base;
    array *a = &x->arrays[e];
    dt_status *s = NULL;
    pthread_mutex_lock(&x->loading);
    if (x->base.count * a->row_bytes <= LARGEST_WHOLE)
        s = load_all(a, x->base.stored[e].file);
    *rows = a->rows;
    pthread_mutex_unlock(&x->loading);
    return dt_at(s, &x->base.stored[e].at);
}

static int64_t unread(dt_examples *base, int e)
{
    array_part *x = (array_part *)base;
    const array *a = &x->arrays[e];
    pthread_mutex_lock(&x->loading);
    const int64_t bytes = a->rows || x->base.count * a->row_bytes > LARGEST_WHOLE ? 0 : x->base.count * a->row_bytes;
    pthread_mutex_unlock(&x->loading);
    return bytes;
}

/* A row by itself; one in Fortran order lies all over the file, which is loaded for it. */
static dt_status *read_row(array *a, const char *path, int64_t row, void *out)
{
    if (a->header.fortran)
        DT_TRY(load_all(a, path));
    if (!a->rows)
        return fetch(a, path, row * a->row_values, a->row_values, out);
    memcpy(out, (const char *)a->rows + row * a->row_bytes, (size_t)a->row_bytes);
    return NULL;
}

/* Under the lock, since another thread may be loading, and closes the file when it is done. */
static dt_status *read_example(dt_examples *base, int e, int64_t row, void *out)
{
    array_part *x = (array_part *)base;
    pthread_mutex_lock(&x->loading);
    dt_status *s = read_row(&x->arrays[e], x->base.stored[e].file, row, out);
    pthread_mutex_unlock(&x->loading);
    return dt_at(s, &x->base.stored[e].at);
}

/* ---- the formats ---- */

static dt_status *open_npy(const dt_format_request *r, dt_examples **out)
{
    return open_arrays(r, dt_npy_header, true, out);
}

const dt_format dt_format_npy = {
    .kind = {.name = "npy", .about = "NPY files, as numpy.save writes them, or members of an NPZ: one array per element, one row per example; may be gzipped",
             .aliases = (const char *const[]){"npz", NULL}},
    .check = check,
    .open = open_npy,
    .source = source,
    .whole = whole,
    .unread = unread,
    .read = read_example,
    .close = close_part,
};

static dt_status *open_idx(const dt_format_request *r, dt_examples **out)
{
    return open_arrays(r, dt_idx_header, false, out);
}

const dt_format dt_format_idx = {
    .kind = {.name = "idx", .about = "IDX files, the format of MNIST: one file per element; may be gzipped"},
    .check = check,
    .open = open_idx,
    .source = source,
    .whole = whole,
    .unread = unread,
    .read = read_example,
    .close = close_part,
};
