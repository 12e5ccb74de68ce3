/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a format writes it recognizes and reads back, bit for bit: random columns, types, shapes,
 * texts, delimiters and numbers of rows, some files beyond 1 MiB. Arrays in Fortran's order and in
 * either byte order are read as they were meant. Of files that are cut or have wrong bytes nothing
 * is read beyond their end, and every fault names the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "file/array.h"
#include "file/file.h"
#include "../support/status.h"

#define HERE "build/tmp/formats"
enum {
    SEEDS = 60,
    MOST_COLUMNS = 5,
    LONGEST_TEXT = 40,
    TEXT_ROOM = 64,
    HOSTILE = 40,
    LARGEST_ROW = 1 << 20
};

static uint64_t seed; /* of the case at hand */
#define CHECK(ok, what, ...)                                                                       \
    do {                                                                                           \
        if (!(ok)) fail_msg("seed %llu: " what, (unsigned long long)seed, __VA_ARGS__);            \
    } while (0)

/* ---- random tables ---- */

typedef struct table {
    const dt_format *kind;
    int n;
    dt_element_spec column[MOST_COLUMNS];
    char name[MOST_COLUMNS][8];
    int64_t rows;
    char *data[MOST_COLUMNS]; /* (rows, row) */
    char delimiter;
} table;

typedef struct ability {
    const dt_format *kind;
    const char *dtypes; /* those that it writes as they are: a letter each, see below */
    bool texts;
} ability;

static const dt_dtype dtypes[] = {DT_BOOL,  DT_UINT8, DT_INT8,    DT_INT16,
                                  DT_INT32, DT_INT64, DT_FLOAT32, DT_FLOAT64};
static const ability abilities[] = {
    {&dt_format_npy, "01234567", false}, {&dt_format_npz, "01234567", false},
    {&dt_format_idx, "123467", false},   {&dt_format_tfrecord, "0123456", true},
    {&dt_format_csv, "01234567", true},
};
enum { ABILITIES = sizeof abilities / sizeof *abilities };

static int64_t bytes_of(const dt_element_spec *c) {
    return c->text ? TEXT_ROOM : dt_type_bytes(&c->type);
}

/* UTF-8 without NUL, of what means something to formats, mostly. */
static void draw_text(dt_random *r, char *out, char delimiter) {
    const char special[] = {delimiter, '"', '\r', '\n', ' ', '\t', ',',
                            ';',       'a', '0',  '-',  '.', '\\', '#'};
    const size_t n = dt_random_below(r, LONGEST_TEXT);
    memset(out, 0, TEXT_ROOM);
    for (size_t i = 0; i < n; i++) {
        if (dt_random_below(r, 8) == 0 && i + 1 < n) memcpy(out + i++, "\xc3\xa9", 2);
        else out[i] = special[dt_random_below(r, sizeof special)];
    }
}

/* Any bits that are a number; CSV has no others that are the same bits again. */
static void draw_values(dt_random *r, dt_dtype d, char *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits[2] = {dt_random_u32(r), dt_random_u32(r)};
        float f;
        double x;
        memcpy(&f, bits, sizeof f);
        memcpy(&x, bits, sizeof x);
        if (d == DT_BOOL) ((unsigned char *)bits)[0] = bits[0] >> 7 & 1;
        else if (d == DT_FLOAT32 && !__builtin_isfinite(f)) memcpy(bits, &(float){1.5F}, sizeof f);
        else if (d == DT_FLOAT64 && !__builtin_isfinite(x))
            memcpy(bits, &(double){-2.25}, sizeof x);
        memcpy(out + i * (int64_t)dt_dtype_size(d), bits, dt_dtype_size(d));
    }
}

static dt_type draw_row(dt_random *r, dt_dtype d) {
    const int64_t dim[2] = {1 + dt_random_below(r, 5), 1 + dt_random_below(r, 4)};
    return dt_type_of(d, (int)dt_random_below(r, 3), dim);
}

static void draw_table(dt_random *r, const ability *a, table *t) {
    static const char delimiters[] = ",;\t|: #&";
    *t = (table){.kind = a->kind,
                 .delimiter = delimiters[dt_random_below(r, sizeof delimiters - 1)],
                 .rows = 1 + dt_random_below(r, 50)};
    t->n = a->kind->content == DT_CONTENT_ARRAY ? 1 : 1 + (int)dt_random_below(r, MOST_COLUMNS);
    if (dt_random_below(r, 10) == 0)
        t->rows = 30000; /* beyond what is gathered before it is written */
    for (int i = 0; i < t->n; i++) {
        dt_element_spec *c = &t->column[i];
        const dt_dtype d = dtypes[a->dtypes[dt_random_below(r, (uint32_t)strlen(a->dtypes))] - '0'];
        snprintf(t->name[i], sizeof t->name[i], "c%c", '0' + i);
        *c = (dt_element_spec){.name = t->name[i],
                               .type = draw_row(r, d),
                               .text = a->texts && dt_random_below(r, 4) == 0};
        if (c->text) c->type = dt_type_of(DT_UINT8, 1, (const int64_t[]){TEXT_ROOM});
        t->data[i] = calloc((size_t)t->rows, (size_t)bytes_of(c));
        for (int64_t k = 0; k < t->rows; k++)
            if (c->text) draw_text(r, t->data[i] + k * TEXT_ROOM, t->delimiter);
            else
                draw_values(r, c->type.dtype, t->data[i] + k * bytes_of(c),
                            dt_type_elements(&c->type));
    }
}

static void release_table(table *t) {
    for (int i = 0; i < t->n; i++) free(t->data[i]);
}

/* ---- out and in ---- */

static const char *path_of(const dt_format *kind) {
    static char path[64];
    snprintf(path, sizeof path, HERE "/x%s", kind->suffix[0]);
    return path;
}

/* The number of rows is told in advance or not; batches are of any size. */
static void write_table(dt_random *r, const table *t) {
    const bool told = t->kind == &dt_format_idx || dt_random_below(r, 2);
    dt_output o = {.kind = t->kind,
                   .n = t->n,
                   .column = t->column,
                   .of = told ? t->rows : -1,
                   .delimiter = t->delimiter};
    const void *row[MOST_COLUMNS];
    ok_for(dt_output_open(&o, path_of(t->kind)), seed);
    ok_for(dt_output_begin(&o), seed);
    for (int64_t k = 0; k < t->rows; k++) {
        for (int i = 0; i < t->n; i++) row[i] = t->data[i] + k * bytes_of(&t->column[i]);
        ok_for(dt_output_put(&o, row), seed);
        if (dt_random_below(r, 16) == 0) ok_for(dt_output_flush(&o), seed);
    }
    ok_for(dt_output_finish(&o), seed);
    dt_output_close(&o);
}

typedef struct reading {
    dt_row_source s;
    const dt_format *kind;
    void *row[MOST_COLUMNS];
} reading;

static dt_tree *keys_of(dt_arena *arena, char delimiter) {
    dt_tree *tree = dt_arena_new(arena, dt_tree), *value = dt_arena_new(arena, dt_tree);
    const char text[] = {delimiter, '\0'};
    *value = (dt_tree){.kind = DT_TREE_SCALAR, .text = dt_arena_strdup(arena, text)};
    *tree = (dt_tree){.kind = DT_TREE_MAP, .n = 1, .entry = dt_arena_array(arena, dt_entry, 1)};
    tree->entry[0] = (dt_entry){.key = "field_delim", .value = value};
    return tree;
}

static dt_status *begin_reading(const table *t, const char *path, reading *x) {
    unsigned char first[DT_PEEK];
    int64_t n;
    *x = (reading){.s = {.arena = dt_arena_create(), .path = path, .n = t->n, .count = -1}};
    x->s.keys = keys_of(x->s.arena, t->delimiter);
    x->s.element = dt_arena_array(x->s.arena, dt_element_spec, t->n);
    for (int i = 0; i < t->n; i++) {
        x->s.element[i] = (dt_element_spec){
            .name = t->name[i], .type = t->column[i].type, .text = t->column[i].text};
    }
    DT_TRY(dt_inflow_open(&x->s.file, path));
    DT_TRY(dt_inflow_peek(x->s.file, first, DT_PEEK, &n));
    x->kind = dt_format_sniff(first, n);
    if (!x->kind) return dt_not_this_file(path, "known", first, n);
    DT_TRY(x->kind->open(&x->s));
    for (int i = 0; i < t->n; i++)
        if (dt_type_bytes(&x->s.element[i].type) < LARGEST_ROW)
            x->row[i] = calloc(1, (size_t)dt_type_bytes(&x->s.element[i].type) + 1);
    return NULL;
}

static void end_reading(reading *x) {
    dt_row_source_close(&x->s);
    for (int i = 0; i < x->s.n; i++) free(x->row[i]);
    dt_inflow_close(x->s.file);
    dt_arena_destroy(x->s.arena);
}

static void compare_row(const table *t, const reading *x, int64_t k) {
    for (int i = 0; i < t->n; i++) {
        const dt_element_spec *c = &t->column[i];
        const char *want = t->data[i] + k * bytes_of(c);
        const bool same = c->text ? strcmp(want, x->row[i]) == 0
                                  : memcmp(want, x->row[i], (size_t)bytes_of(c)) == 0;
        CHECK(same, "%s: row %lld of '%s' is another", x->s.path, (long long)k, t->name[i]);
    }
}

static void read_table(const table *t, const char *path) {
    reading x;
    bool more = true;
    ok_for(begin_reading(t, path, &x), seed);
    CHECK(x.kind == t->kind, "%s is taken for %s", path, x.kind->kind.name);
    for (; more; x.s.row += more) {
        ok_for(x.s.reader->next(&x.s, x.row, &more), seed);
        if (more) compare_row(t, &x, x.s.row);
    }
    CHECK(x.s.row == t->rows, "%lld rows of %lld", (long long)x.s.row, (long long)t->rows);
    end_reading(&x);
}

static void test_round_trips(void **state) {
    (void)state;
    print_message("seeds 1 to %d\n", SEEDS);
    ok_for(dt_dir_make(HERE), seed);
    for (seed = 1; seed <= SEEDS; seed++)
        for (int a = 0; a < ABILITIES; a++) {
            dt_random r = dt_random_stream(seed, "round trip", (uint64_t)a);
            table t;
            draw_table(&r, &abilities[a], &t);
            write_table(&r, &t);
            read_table(&t, path_of(t.kind));
            release_table(&t);
        }
}

/* ---- Fortran's order, other byte orders ---- */

/* Bytes of value i of the table's array, in C's order, where the first index runs fastest. */
static void write_fortran(const table *t, const dt_type *all, bool big) {
    const int size = (int)dt_dtype_size(all->dtype);
    const int64_t n = dt_type_elements(all);
    static const char *const codes[] = {
        [DT_BOOL] = "b1",  [DT_UINT8] = "u1", [DT_INT8] = "i1",    [DT_INT16] = "i2",
        [DT_INT32] = "i4", [DT_INT64] = "i8", [DT_FLOAT32] = "f4", [DT_FLOAT64] = "f8"};
    dt_str text = {0}, file = {0};
    dt_str_printf(&text, "{'descr': '%c%s', 'fortran_order': True, 'shape': (",
                  size == 1 ? '|'
                  : big     ? '>'
                            : '<',
                  codes[all->dtype]);
    for (int d = 0; d < all->rank; d++) dt_str_printf(&text, "%lld,", (long long)all->dim[d]);
    dt_str_puts(&text, ")}\n");
    dt_str_add(&file, "\x93NUMPY\1", 8);
    dt_str_add(&file, (char[]){(char)(text.size & 255), (char)(text.size >> 8)}, 2);
    dt_str_add(&file, text.data, text.size);
    for (int64_t i = 0; i < n; i++) {
        /* i counts with the first index fastest; at is the same value's place in C's order */
        int64_t left = i, at = 0;
        for (int d = 0; d < all->rank; left /= all->dim[d++]) {
            int64_t stride = 1;
            for (int e = d + 1; e < all->rank; e++) stride *= all->dim[e];
            at += left % all->dim[d] * stride;
        }
        for (int b = 0; b < size; b++)
            dt_str_putc(&file, t->data[0][at * size + (big ? size - 1 - b : b)]);
    }
    ok_for(dt_file_commit(HERE "/fortran.npy", file.data, file.size), seed);
    dt_str_release(&text);
    dt_str_release(&file);
}

static void test_fortran(void **state) {
    (void)state;
    ok_for(dt_dir_make(HERE), seed);
    for (seed = 1; seed <= SEEDS; seed++) {
        dt_random r = dt_random_stream(seed, "fortran", 0);
        table t;
        draw_table(&r, &abilities[0], &t);
        const dt_type all = dt_output_type(&t.column[0], t.rows);
        write_fortran(&t, &all, dt_random_below(&r, 2));
        read_table(&t, HERE "/fortran.npy");
        release_table(&t);
    }
}

/* ---- hostile files ---- */

/* Cut somewhere, or a few bytes are others; what comes is a fault that names the file, or rows. */
static void spoil(dt_random *r, dt_str *file) {
    if (dt_random_below(r, 3) == 0) file->size = dt_random_below(r, (uint32_t)file->size);
    for (uint32_t i = dt_random_below(r, 4); i > 0 && file->size > 0; i--) {
        /* headers are more worth a fault */
        const uint32_t front = file->size < 64 ? (uint32_t)file->size : 64;
        file->data[dt_random_below(r, dt_random_below(r, 2) ? front : (uint32_t)file->size)] =
            (char)dt_random_u32(r);
    }
}

static void read_spoilt(const table *t) {
    reading x;
    bool more = true;
    dt_status *s = begin_reading(t, HERE "/spoilt", &x);
    for (int i = 0; i < t->n && x.s.reader; i++) /* streams refuse a row that is not the model's */
        more = more && dt_type_bytes(&x.s.element[i].type) < LARGEST_ROW;
    while (!s && more && x.s.row < 2 * t->rows) {
        s = x.s.reader->next(&x.s, x.row, &more);
        x.s.row += more;
    }
    CHECK(!s || strstr(dt_status_text(s), HERE "/spoilt"), "a fault names no file: %s",
          dt_status_text(s));
    dt_status_free(s);
    end_reading(&x);
}

static void test_hostile(void **state) {
    (void)state;
    ok_for(dt_dir_make(HERE), seed);
    for (seed = 1; seed <= SEEDS / 4; seed++)
        for (int a = 0; a < ABILITIES; a++) {
            dt_random r = dt_random_stream(seed, "hostile", (uint64_t)a);
            dt_str whole = {0};
            table t;
            draw_table(&r, &abilities[a], &t);
            t.rows = t.rows < 60 ? t.rows : 60;
            write_table(&r, &t);
            ok_for(dt_file_read(path_of(t.kind), 1 << 24, &whole), seed);
            for (int i = 0; i < HOSTILE; i++) {
                dt_str spoilt = {0};
                dt_str_add(&spoilt, whole.data, whole.size);
                spoil(&r, &spoilt);
                FILE *f = fopen(HERE "/spoilt", "wb");
                assert_non_null(f);
                assert_int_equal(fwrite(spoilt.data, 1, spoilt.size, f), spoilt.size);
                assert_int_equal(fclose(f), 0);
                read_spoilt(&t);
                dt_str_release(&spoilt);
            }
            dt_str_release(&whole);
            release_table(&t);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
