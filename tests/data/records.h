/* SPDX-License-Identifier: Apache-2.0 */
/* Writing TFRecords and tf.Examples for tests, with a checksum computed bit by bit. Include files.h
 * first. */
#ifndef RECORDS_H
#define RECORDS_H

#include "file/records.h"

#define UNUSED __attribute__((unused)) static

UNUSED uint32_t masked_crc(const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int b = 0; b < 8; b++) c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
    }
    c = ~c;
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

UNUSED void add_little(dt_str *s, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) dt_str_putc(s, (char)(x >> 8 * i & 255));
}

UNUSED void add_header(dt_str *s, uint64_t length) {
    dt_str h = {0};
    add_little(&h, length, 8);
    dt_str_add(s, h.data, 8);
    add_little(s, masked_crc(h.data, 8), 4);
    dt_str_release(&h);
}

UNUSED void add_record(dt_str *s, const void *bytes, size_t n) {
    add_header(s, n);
    dt_str_add(s, bytes, n);
    add_little(s, masked_crc(bytes, n), 4);
}

/* ---- protobuf ---- */

UNUSED void add_varint(dt_str *s, uint64_t x) {
    for (; x > 127; x >>= 7) dt_str_putc(s, (char)(x | 128));
    dt_str_putc(s, (char)x);
}

/* A field of bytes; `inside` is released. */
UNUSED void add_message(dt_str *s, int field, dt_str *inside) {
    add_varint(s, (uint64_t)field << 3 | 2);
    add_varint(s, inside->size);
    dt_str_add(s, dt_str_text(inside), inside->size);
    dt_str_release(inside);
}

/* One entry of Features: kind 1 bytes, 2 floats, 3 integers; the list's message. */
UNUSED void add_feature(dt_str *features, const char *name, int kind, dt_str *list) {
    dt_str entry = {0}, key = {0}, feature = {0};
    dt_str_puts(&key, name);
    add_message(&entry, 1, &key);
    add_message(&feature, kind, list);
    add_message(&entry, 2, &feature);
    add_message(features, 1, &entry);
}

/* A feature that has no list of any kind. */
UNUSED void add_nothing(dt_str *features, const char *name) {
    dt_str entry = {0}, key = {0}, feature = {0};
    dt_str_puts(&key, name);
    add_message(&entry, 1, &key);
    add_message(&entry, 2, &feature);
    add_message(features, 1, &entry);
}

UNUSED void add_floats(dt_str *features, const char *name, const float *x, int n) {
    dt_str list = {0}, packed = {0};
    dt_str_add(&packed, x, (size_t)n * 4);
    add_message(&list, 1, &packed);
    add_feature(features, name, 2, &list);
}

UNUSED void add_integers(dt_str *features, const char *name, const int64_t *x, int n,
                         bool packed_form) {
    dt_str list = {0}, packed = {0};
    for (int i = 0; i < n; i++) {
        if (!packed_form) add_varint(&list, 1 << 3);
        add_varint(packed_form ? &packed : &list, (uint64_t)x[i]);
    }
    if (packed_form) add_message(&list, 1, &packed);
    dt_str_release(&packed);
    add_feature(features, name, 3, &list);
}

UNUSED void add_string(dt_str *features, const char *name, const void *bytes, size_t n) {
    dt_str list = {0}, one = {0};
    dt_str_add(&one, bytes, n);
    add_message(&list, 1, &one);
    add_feature(features, name, 1, &list);
}

/* The example of these features as one record; they are released. */
UNUSED void add_example(dt_str *file, dt_str *features) {
    dt_str example = {0};
    add_message(&example, 1, features);
    add_record(file, dt_str_text(&example), example.size);
    dt_str_release(&example);
}

#endif
