/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast files are read, beside `memcpy` of as many bytes: processor time, the least of ROUNDS interleaved rounds. Files of about SIZE
 * MiB are written to FOLDER first, and lie in the page cache.
 *
 *     reading FOLDER [SIZE [ROUNDS [PART OF A LABEL]]]
 *
 * CSV is compared with reading.py, which reads FOLDER/a.csv by tf.data: seconds of the clock, by two threads at most, from opening to the
 * last batch of 256.
 *
 * `rows` is the loop that `predict` has, from front to back; `whole` an array into memory of its own, as `fit` reads it; `batches` a data
 * set's feed, 32 rows a batch, in order, by one thread. What is whole is compared with memcpy into new memory of large pages, as arrays are
 * read into, the others with memcpy into a buffer of 256 KiB.
 */
#define _GNU_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "conf/conf.h"
#include "data/data.h"
#include "file/array.h"
#include "file/file.h"

enum { PIECE = 1 << 18, HUGE_PAGE = 2 << 20, BATCH = 32 };

typedef enum how { ROWS, WHOLE, BATCHES, OPENING } how;

typedef struct subject {
    const char *label, *file;
    how how;
    dt_dtype dtype;
    int64_t values;   /* of a row of `x` */
    bool has_label;   /* an int64 `y` beside it */
    bool fortran;
} subject;

static const subject subjects[] = {
    {"npy, whole, 784 float32", "a.npy", WHOLE, DT_FLOAT32, 784, false, false},
    {"npy, whole, 784 uint8", "b.npy", WHOLE, DT_UINT8, 784, false, false},
    {"npy, whole, 14 float32, Fortran", "c.npy", WHOLE, DT_FLOAT32, 14, false, true},
    {"npy, whole, 784 float32, Fortran", "d.npy", WHOLE, DT_FLOAT32, 784, false, true},
    {"npy, rows, 784 float32", "a.npy", ROWS, DT_FLOAT32, 784, false, false},
    {"npy, rows, 14 float32", "e.npy", ROWS, DT_FLOAT32, 14, false, false},
    {"npy, rows, 784 float32, Fortran", "d.npy", ROWS, DT_FLOAT32, 784, false, true},
    {"tfrecord, rows, 784 float32", "a.tfrecord", ROWS, DT_FLOAT32, 784, false, false},
    {"tfrecord, rows, 784 float32 and a label", "b.tfrecord", ROWS, DT_FLOAT32, 784, true, false},
    {"tfrecord, rows, 784 uint8 and a label", "c.tfrecord", ROWS, DT_UINT8, 784, true, false},
    {"tfrecord, rows, 224 x 224 x 3 uint8 and a label", "d.tfrecord", ROWS, DT_UINT8, 224 * 224 * 3, true, false},
    {"tfrecord, rows, 4 float32 and a label", "e.tfrecord", ROWS, DT_FLOAT32, 4, true, false},
    {"tfrecord, batches, 784 float32 and a label", "b.tfrecord", BATCHES, DT_FLOAT32, 784, true, false},
    {"tfrecord, batches, 784 uint8 and a label", "c.tfrecord", BATCHES, DT_UINT8, 784, true, false},
    {"tfrecord, batches, 224 x 224 x 3 uint8 and a label", "d.tfrecord", BATCHES, DT_UINT8, 224 * 224 * 3, true, false},
    {"tfrecord, batches, 4 float32 and a label", "e.tfrecord", BATCHES, DT_FLOAT32, 4, true, false},
    {"csv, batches, 32 float32 and a label", "a.csv", OPENING, DT_FLOAT32, 32, true, false},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static void require(dt_status *s)
{
    if (!s)
        return;
    fprintf(stderr, "%s\n", dt_status_text(s));
    exit(1);
}

static double now(how h)
{
    struct timespec t;
    clock_gettime(h == OPENING ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- files ---- */

/* As numpy.save of numpy.asfortranarray writes it: the header's word is changed, the bytes are any. */
static void turn(const char *path)
{
    FILE *f = fopen(path, "r+b");
    char head[128];
    if (!f || fread(head, 1, sizeof head, f) != sizeof head)
        exit(1);
    char *word = strstr(head + 10, "False, ");
    memcpy(word, "True,  ", 7);
    rewind(f);
    fwrite(head, 1, sizeof head, f);
    fclose(f);
}

static void make(const subject *x, const char *path, int64_t bytes)
{
    dt_output o = {.delimiter = ',', .of = bytes / (x->values * (int64_t)dt_dtype_size(x->dtype) + (x->has_label ? 16 : 0))};
    const dt_element_spec columns[] = {{.name = "x", .type = dt_type_of(x->dtype, 1, &x->values)}, {.name = "y", .type = dt_type_of(DT_INT64, 0, NULL)}};
    char *row = calloc((size_t)x->values, 8);
    const int64_t label = 7;
    uint32_t r = 1;
    for (int64_t i = 0; i < x->values; i++, r = r * 1664525u + 1013904223u)
        if (x->dtype == DT_FLOAT32)
            ((float *)row)[i] = (float)((int)(r >> 12) - (1 << 19)) * 1e-5f;
        else
            row[i] = (char)(r >> 24);
    require(dt_output_open(&o, path));
    o.n = 1 + x->has_label;
    o.column = columns;
    const char *suffix;
    o.kind = dt_format_for(path, &suffix);
    require(dt_output_begin(&o));
    for (int64_t i = 0; i < o.of; i++)
        require(dt_output_put(&o, (const void *const[]){row, &label}));
    require(dt_output_finish(&o));
    dt_output_close(&o);
    free(row);
    if (x->fortran)
        turn(path);
}

/* ---- reading ---- */

static void read_rows(const subject *x, const char *path)
{
    dt_row_source s = {.arena = dt_arena_create(), .path = path, .n = 1 + x->has_label, .count = -1};
    unsigned char first[DT_PEEK];
    int64_t n, label;
    void *row = malloc((size_t)x->values * 8);
    bool more = true;
    s.element = dt_arena_array(s.arena, dt_element_spec, 2);
    s.element[0] = (dt_element_spec){.name = "x", .type = dt_type_of(x->dtype, 1, &x->values)};
    s.element[1] = (dt_element_spec){.name = "y", .type = dt_type_of(DT_INT64, 0, NULL)};
    require(dt_inflow_open(&s.file, path));
    require(dt_inflow_peek(s.file, first, DT_PEEK, &n));
    const dt_format *kind = dt_format_sniff(first, n);
    require(kind->open(&s));
    for (; more; s.row += more)
        require(s.reader->next(&s, (void *const[]){row, &label}, &more));
    dt_row_source_close(&s);
    dt_inflow_close(s.file);
    dt_arena_destroy(s.arena);
    free(row);
}

static void read_whole(const char *path)
{
    dt_array_file a = {.path = path};
    require(dt_inflow_open(&a.file, path));
    require(dt_npy_header(a.file, path, &a.header));
    a.row_values = dt_type_elements(&a.header.type) / a.header.type.dim[0];
    require(dt_array_load(&a));
    dt_inflow_close(a.file);
    free(a.rows);
}

static void read_batches(const subject *x, const char *path)
{
    dt_dataset *d = NULL;
    dt_iterator *f;
    dt_example b = {.rows = 1};
    require(dt_dataset_open(&d, "{format: tfrecord, train: %s, global_batch_size: %d, num_parallel_calls: 1, cache: false, element: {x: {shape: [%lld], dtype: %s}, y: {dtype: int64}}}",
                            path, BATCH, (long long)x->values, dt_dtype_name(x->dtype)));
    require(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = BATCH, .threads = 1}));
    while (b.rows > 0)
        require(dt_iterator_next_batch(f, &b));
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

static void read_csv(const subject *x, const char *path)
{
    dt_dataset *d = NULL;
    dt_iterator *f;
    dt_example b = {.rows = 1};
    dt_str columns = {0};
    for (int64_t i = 0; i < x->values; i++)
        dt_str_printf(&columns, "%sx_%lld", i ? ", " : "", (long long)i);
    require(dt_dataset_open(&d, "{format: csv, train: %s, global_batch_size: 256, element: {x: {columns: [%s], dtype: float32}, y: {column: y, dtype: int64}}}",
                            path, dt_str_text(&columns)));
    require(dt_iterator_open_batches(&f, d, &(dt_batch_options){.batch = 256, .threads = 2}));
    while (b.rows > 0)
        require(dt_iterator_next_batch(f, &b));
    dt_iterator_close(f);
    dt_dataset_unref(d);
    dt_str_release(&columns);
}

static double time_of(const subject *x, const char *path)
{
    const double from = now(x->how);
    if (x->how == WHOLE)
        read_whole(path);
    else
        (x->how == ROWS ? read_rows : x->how == BATCHES ? read_batches : read_csv)(x, path);
    return now(x->how) - from;
}

static double time_of_memcpy(const char *bytes, size_t n, bool whole)
{
    const double from = now(ROWS);
    void *room;
    if (posix_memalign(&room, HUGE_PAGE, whole ? n : PIECE) != 0)
        exit(1);
    char *to = room;
    if (whole)
        madvise(to, n, MADV_HUGEPAGE);
    for (size_t at = 0; at < n; at += PIECE)
        memcpy(whole ? to + at : to, bytes + at, n - at < PIECE ? n - at : PIECE);
    __asm__ volatile("" : : "r"(to) : "memory");
    free(to);
    return now(ROWS) - from;
}

static void measure(const subject *x, const char *folder, int64_t size, int rounds)
{
    char path[512];
    double best = 1e9, copy = 1e9;
    snprintf(path, sizeof path, "%s/%s", folder, x->file);
    FILE *f = fopen(path, "rb");
    if (!f) {
        make(x, path, size);
        f = fopen(path, "rb");
    }
    char *bytes = malloc((size_t)size * 2);
    const size_t n = fread(bytes, 1, (size_t)size * 2, f);
    fclose(f);
    for (int r = 0; r < rounds; r++) {
        const double a = time_of(x, path), b = time_of_memcpy(bytes, n, x->how == WHOLE);
        best = a < best ? a : best;
        copy = b < copy ? b : copy;
    }
    free(bytes);
    if (x->how == OPENING)
        printf("%-52s %6.3f s\n", x->label, best);
    else
        printf("%-52s %6.2f GB/s  memcpy %6.2f GB/s  %5.2f\n", x->label, (double)n / best * 1e-9, (double)n / copy * 1e-9, copy / best);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    for (int i = 0; i < SUBJECTS; i++)
        if (argc < 5 || strstr(subjects[i].label, argv[4]))
            measure(&subjects[i], argv[1], (argc > 2 ? atoll(argv[2]) : 200) << 20, argc > 3 ? atoi(argv[3]) : 5);
    return 0;
}
