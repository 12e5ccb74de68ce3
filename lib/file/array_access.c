/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array files as a data set, with a file, or a member of an NPZ archive, for each element. The code
 * is the same for all formats that have a header. Opening reads the headers and compares the
 * declared sizes with the files before it allocates memory for rows. Apart from checksums of an
 * archive's members, a plain file is not read further until its rows are needed, which for training
 * is in the feed's thread while the program is compiled. A compressed file is loaded when it is
 * opened, because only decompressing shows whether it is complete.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "file/examples.h"
#include "file/npz.h"

/* LARGEST_WHOLE: limit of the bytes of values that are loaded from a plain file; larger files are
 * read row by row, or refused in Fortran order. LARGEST_GZIP: limit for a compressed file; larger
 * ones are refused. */
#define LARGEST_WHOLE DT_LARGEST_REORDERED
#define LARGEST_GZIP ((int64_t)1 << 30)

enum {
    /* up to so many bytes after the end of compressed data are counted for the message */
    OVERHANG = 65536,
    /* limit of the number of files of a part: each needs a descriptor until it is loaded */
    MOST_ELEMENTS = 1024,
};

typedef struct array {
    dt_array_file a;    /* its `file` is NULL once all rows are loaded */
    int64_t row_bytes;  /* bytes of a row in memory, after conversion */
    const char *source; /* path of the file; for a member of an archive, the path of the archive */
} array;

typedef struct array_part {
    dt_examples base;
    dt_header_reader *header;
    bool members;  /* files may be members of an archive */
    array *arrays; /* [n] the file of each element */
    pthread_mutex_t loading;
} array_part;

static dt_status *fail_shape(dt_error id, const char *path, const dt_type *t, const char *what) {
    return dt_fail(id, NULL, "%s: shape %s %s", path, dt_text_of_shape(t).s, what);
}

/* Counts the values that the shape declares. Refuses a number that no file can hold; the message
 * has the number if it fits 64 bits. */
static dt_status *count_values(const char *path, const dt_header *h, int64_t size,
                               int64_t *values) {
    uint64_t n = 1;
    bool overflow = false;
    for (int i = 0; i < h->type.rank; i++)
        overflow |= __builtin_mul_overflow(n, (uint64_t)h->type.dim[i], &n);
    if (overflow) return fail_shape(DT_E_DATA_SIZE, path, &h->type, "overflows 64 bits");
    int64_t bytes;
    if (n > INT64_MAX || !dt_mul_fits((int64_t)n, (int64_t)dt_dtype_size(h->type.dtype), &bytes))
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: declares %llu values, file has %lld bytes", path,
                       (unsigned long long)n, (long long)size);
    *values = (int64_t)n;
    return NULL;
}

static dt_status *bytes_after(const char *path, int64_t n, bool more) {
    return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %s%lld byte%s after the end of the data", path,
                   more ? "at least " : "", (long long)n, n == 1 ? "" : "s");
}

static dt_status *check_plain_size(const dt_array_file *a, const char *path, int64_t needed) {
    int64_t present = dt_inflow_size(a->file) - a->header.offset;
    char what[80];
    snprintf(what, sizeof what, "needs %lld bytes, file has 0", (long long)needed);
    if (present == 0) return fail_shape(DT_E_DATA_SIZE, path, &a->header.type, what);
    if (present < needed)
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld data bytes present (offset %lld)",
                       path, (long long)present, (long long)needed, (long long)a->header.offset);
    return present > needed ? bytes_after(path, present - needed, false) : NULL;
}

static dt_status *check_gzip_size(const dt_array_file *a, const char *path, int64_t needed,
                                  int64_t ours) {
    if (needed > dt_inflow_most(a->file))
        return dt_fail(DT_E_DATA_SIZE, NULL,
                       "%s: declares %lld bytes, more than %lld bytes of gzip data can hold", path,
                       (long long)needed, (long long)dt_inflow_size(a->file));
    if (ours > LARGEST_GZIP)
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL,
                               "%s: %lld bytes when decompressed; at most %lld bytes of a "
                               "compressed file are read",
                               path, (long long)ours, (long long)LARGEST_GZIP),
                       "gunzip it: uncompressed files may have any size");
    return NULL;
}

static dt_status *check_shape(const char *path, const dt_type *t) {
    DT_TRY(dt_array_check_rows(path, t));
    for (int i = 1; i < t->rank; i++)
        if (t->dim[i] == 0) return fail_shape(DT_E_DATA_FILE, path, t, "has empty rows");
    return NULL;
}

static void close_file(dt_array_file *a) {
    dt_inflow_close(a->file);
    a->file = NULL;
}

/* Loads a compressed file and reads to the end of the stream, where its checksum is. */
static dt_status *load_gzip(dt_array_file *a) {
    static const size_t room = OVERHANG;
    int64_t after = 0;
    dt_status *s = dt_array_load(a);
    void *rest = dt_alloc(room);
    if (!s) s = dt_inflow_read(a->file, rest, (int64_t)room, &after);
    free(rest);
    if (!s && after > 0) s = bytes_after(a->path, after, after == (int64_t)room);
    close_file(a);
    return s;
}

static dt_status *read_checked(array *x, dt_header_reader *read_header) {
    dt_array_file *a = &x->a;
    const dt_type *t = &a->header.type;
    int64_t values = 0;
    if (dt_inflow_size(a->file) == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", a->path);
    DT_TRY(read_header(a->file, a->path, &a->header));
    DT_TRY(check_shape(a->path, t));
    DT_TRY(count_values(a->path, &a->header, dt_inflow_size(a->file), &values));
    a->row_values = values / t->dim[0];
    x->row_bytes = a->row_values * (int64_t)dt_dtype_size(t->dtype);
    const int64_t bytes = values * dt_wire_size(t->dtype, a->header.wire);
    if (a->header.fortran && t->dim[0] * x->row_bytes > LARGEST_WHOLE)
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL, "%s: Fortran order, and more than %lld bytes",
                               a->path, (long long)LARGEST_WHOLE),
                       "save numpy.ascontiguousarray(x): then files may have any size");
    if (!dt_inflow_is_gzip(a->file)) return check_plain_size(a, a->path, bytes);
    DT_TRY(check_gzip_size(a, a->path, bytes, t->dim[0] * x->row_bytes));
    return load_gzip(a);
}

static dt_status *open_array(dt_arena *arena, const array_part *p, array *x,
                             dt_element_spec *stored) {
    x->source = p->members ? dt_npz_archive(arena, stored->file) : stored->file;
    DT_TRY(p->members ? dt_npz_open(arena, stored->name, &stored->file, &x->a.file)
                      : dt_inflow_open(&x->a.file, stored->file));
    x->a.path = stored->file;
    DT_TRY(read_checked(x, p->header));
    const dt_type *t = &x->a.header.type;
    stored->type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
    return NULL;
}

static dt_status *check_counts(const array_part *x) {
    for (int i = 1; i < x->base.n; i++) {
        int64_t first = x->arrays[0].a.header.type.dim[0], here = x->arrays[i].a.header.type.dim[0];
        if (here != first)
            return dt_fail(DT_E_DATA_ROWS, &x->base.stored[i].at, "%s has %lld rows, %s has %lld",
                           x->base.stored[0].file, (long long)first, x->base.stored[i].file,
                           (long long)here);
    }
    return NULL;
}

static char *path_of(const dt_format_request *r, const char *name) {
    DT_LOCAL char *joined = dt_path_join(r->directory, name);
    return dt_arena_strdup(r->arena, joined);
}

/* Opens all files even if some fail, so that one run reports the faults of all: missing files
 * first. */
static dt_status *open_all(const dt_format_request *r, array_part *x) {
    dt_status *missing = NULL, *bad = NULL;
    for (int i = 0; i < x->base.n; i++) {
        const dt_entry *e = &r->tree->entry[i];
        x->base.stored[i] = (dt_element_spec){
            .name = e->key, .at = e->value->at, .file = path_of(r, e->value->text)};
        dt_status *s = open_array(r->arena, x, &x->arrays[i], &x->base.stored[i]);
        if (s) dt_status_append(dt_status_code(s) == 66 ? &missing : &bad, dt_at(s, &e->value->at));
    }
    dt_status_append(&missing, bad);
    return missing ? missing : check_counts(x);
}

static void close_part(dt_examples *base) {
    array_part *x = (array_part *)base;
    for (int i = 0; i < x->base.n; i++) {
        close_file(&x->arrays[i].a);
        free(x->arrays[i].a.rows);
    }
    pthread_mutex_destroy(&x->loading);
}

dt_status *dt_arrays_check(const dt_format_request *r, dt_texts *names) {
    const char *part = dt_part_name(r->part);
    dt_status *s = NULL;
    if (!r->tree)
        return dt_fail(DT_E_DATASET_KEYS, r->at,
                       "dataset lacks '%s': a mapping of elements to files, such as {image: x.npy, "
                       "label: y.npy}",
                       part);
    DT_TRY(dt_tree_expect(r->tree, DT_TREE_MAP, part));
    if (r->tree->n == 0 || r->tree->n > MOST_ELEMENTS)
        return dt_fail(DT_E_DATASET_KEYS, &r->tree->at, "'%s' must name 1 to %d files, got %d",
                       part, MOST_ELEMENTS, r->tree->n);
    names->v = dt_arena_array(r->arena, const char *, r->tree->n);
    for (int i = 0; i < r->tree->n; i++) {
        const dt_entry *e = &r->tree->entry[i];
        const char *path = "x";
        names->v[names->n++] = e->key;
        dt_status_append(&s, dt_tree_text(e->value, e->key, &path));
        if (*path == '\0')
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                                         "'%s' must name a file, got an empty string", e->key));
    }
    return s;
}

static const char *source(const dt_examples *base, int64_t i, const char **what) {
    const array_part *x = (const array_part *)base;
    if (i >= x->base.n) return NULL;
    *what = x->base.stored[i].name;
    return x->arrays[i].source;
}

static dt_status *load_all(dt_array_file *a) {
    if (a->rows) return NULL;
    DT_TRY(dt_array_load(a));
    close_file(a);
    return NULL;
}

/* Loads all rows of an element if they have at most LARGEST_WHOLE bytes; otherwise *rows becomes
 * NULL unless they are loaded already. Two feeds over one part (training, and validation of a
 * split) may call it at the same time. */
static dt_status *whole(dt_examples *base, int e, const void **rows) {
    array_part *x = (array_part *)base;
    array *a = &x->arrays[e];
    dt_status *s = NULL;
    pthread_mutex_lock(&x->loading);
    if (x->base.count * a->row_bytes <= LARGEST_WHOLE) s = load_all(&a->a);
    *rows = a->a.rows;
    pthread_mutex_unlock(&x->loading);
    return dt_at(s, &x->base.stored[e].at);
}

static int64_t unread(dt_examples *base, int e) {
    array_part *x = (array_part *)base;
    const array *a = &x->arrays[e];
    pthread_mutex_lock(&x->loading);
    const int64_t bytes = a->a.rows || x->base.count * a->row_bytes > LARGEST_WHOLE
                              ? 0
                              : x->base.count * a->row_bytes;
    pthread_mutex_unlock(&x->loading);
    return bytes;
}

/* Reads one row. In Fortran order a row is scattered over the file, so the whole file is loaded. */
static dt_status *read_row(array *x, int64_t row, void *out) {
    dt_array_file *a = &x->a;
    if (a->header.fortran) DT_TRY(load_all(a));
    if (!a->rows) return dt_array_values(a, row * a->row_values, a->row_values, out);
    memcpy(out, a->rows + row * x->row_bytes, (size_t)x->row_bytes);
    return NULL;
}

/* Reads an example under the lock, because another thread may be loading the file and then close
 * it. */
static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    array_part *x = (array_part *)base;
    dt_status *s = NULL;
    (void)buffer;
    pthread_mutex_lock(&x->loading);
    for (int e = 0; e < x->base.n && !s; e++)
        if (out[e]) s = dt_at(read_row(&x->arrays[e], row, out[e]), &x->base.stored[e].at);
    pthread_mutex_unlock(&x->loading);
    return s;
}

dt_status *dt_arrays_open_part(const dt_format_request *r, dt_header_reader *header, bool members,
                               dt_examples **out) {
    static const dt_example_reader reader = {.source = source,
                                             .whole = whole,
                                             .unread = unread,
                                             .at = read_example,
                                             .close = close_part};
    array_part *x = dt_arena_new(r->arena, array_part);
    *out = &x->base;
    x->base.reader = &reader;
    x->header = header;
    x->members = members;
    x->base.n = r->tree->n;
    x->base.stored = dt_arena_array(r->arena, dt_element_spec, x->base.n);
    x->arrays = dt_arena_array(r->arena, array, x->base.n);
    pthread_mutex_init(&x->loading, NULL);
    DT_TRY(open_all(r, x));
    x->base.count = x->arrays[0].a.header.type.dim[0];
    return NULL;
}
