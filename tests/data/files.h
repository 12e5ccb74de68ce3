/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making data files, good and bad ones, and opening data sets over them: what the tests of this
 * room share. Everything is written below HERE, a folder that each test program names before it
 * includes this.
 */
#ifndef FILES_H
#define FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/data.h"
#include "../support/status.h"

/* Checks number, exit code and a part of the text, and frees. */
__attribute__((unused)) static void expect_fault(const char *id, dt_status *s, int number, int code,
                                                 const char *text) {
    if (!s) fail_msg("%s: no error; expected '%s'", id, text);
    if (!strstr(dt_status_text(s), text))
        fail_msg("%s: got '%s'; expected '%s'", id, dt_status_text(s), text);
    if (dt_status_number(s) != number || dt_status_code(s) != code)
        fail_msg("%s: got DT%03d, exit code %d; expected DT%03d, %d", id, dt_status_number(s),
                 dt_status_code(s), number, code);
    dt_status_free(s);
}

__attribute__((unused)) static void write_file(const char *name, const void *bytes, size_t n) {
    char path[512];
    snprintf(path, sizeof path, HERE "/%s", name);
    OK(dt_dir_make(HERE));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

__attribute__((unused)) static void write_str(const char *name, dt_str *s) {
    write_file(name, dt_str_text(s), s->size);
    dt_str_release(s);
}

/* An NPY file's header, padded as numpy does it. */
__attribute__((unused)) static dt_str npy_header(int version, const char *dictionary) {
    dt_str s = {0};
    size_t prefix = version == 1 ? 10 : 12, length = strlen(dictionary) + 1;
    while ((prefix + length) % 64 != 0) length++;
    const unsigned char bytes[6] = {(unsigned char)version, 0, length & 255,
                                    length >> 8 & 255,      0, 0};
    dt_str_add(&s, "\x93NUMPY", 6);
    dt_str_add(&s, bytes, prefix - 6);
    dt_str_puts(&s, dictionary);
    while (s.size < prefix + length - 1) dt_str_putc(&s, ' ');
    dt_str_putc(&s, '\n');
    return s;
}

/* descr '<f4' etc., shape "(64, 4)", and the values' bytes. */
__attribute__((unused)) static void write_npy(const char *name, const char *descr,
                                              const char *shape, const void *values, size_t n) {
    char dictionary[256];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    dt_str s = npy_header(1, dictionary);
    dt_str_add(&s, values, n);
    write_str(name, &s);
}

__attribute__((unused)) static dt_str idx_header(int code, int dims, const uint32_t *sizes) {
    dt_str s = {0};
    const unsigned char magic[4] = {0, 0, (unsigned char)code, (unsigned char)dims};
    dt_str_add(&s, magic, 4);
    for (int i = 0; i < dims; i++) {
        const unsigned char b[4] = {sizes[i] >> 24, sizes[i] >> 16 & 255, sizes[i] >> 8 & 255,
                                    sizes[i] & 255};
        dt_str_add(&s, b, 4);
    }
    return s;
}

/* Bytes 0, 1, 2, ...: as IDX labels or images of unsigned bytes. */
__attribute__((unused)) static void write_idx(const char *name, int dims, const uint32_t *sizes) {
    dt_str s = idx_header(8, dims, sizes);
    size_t n = 1;
    for (int i = 0; i < dims; i++) n *= sizes[i];
    for (size_t i = 0; i < n; i++) dt_str_putc(&s, (char)i);
    write_str(name, &s);
}

/* n bytes as one gzip member behind what `out` holds. */
__attribute__((unused)) static void add_gzip(dt_str *out, const void *bytes, size_t n) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};
    unsigned char *room = malloc(n + 1024);
    assert_non_null(room);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = room;
    z.avail_out = (uInt)n + 1024;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    dt_str_add(out, room, z.total_out);
    deflateEnd(&z);
    free(room);
}

/* All rows of an element in order, through a feed: the caller frees them. */
__attribute__((unused)) static void *read_all(dt_dataset *d, int element, dt_type *type) {
    int64_t n = dt_dataset_count(d, DT_PART_TRAIN);
    dt_iterator *f = NULL;
    dt_example b;
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = n}));
    OK(dt_iterator_next_batch(f, &b));
    assert_int_equal(b.rows, n);
    *type = b.tensor[element]->type;
    size_t bytes = (size_t)dt_type_bytes(type);
    void *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, b.tensor[element]->data, bytes);
    dt_iterator_close(f);
    return copy;
}

/* Opens a data set over one file called x, and closes it again. */
__attribute__((unused)) static dt_status *open_one(const char *format, const char *path) {
    dt_dataset *d = NULL;
    dt_status *s =
        dt_dataset_open(&d, "{format: %s, train: {x: '%s'}, global_batch_size: 8}", format, path);
    dt_dataset_unref(d);
    return s;
}

#endif
