/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ZIP archives whose members are stored without compression, one after the other:
 *
 *     for each member    local header: "PK\3\4", CRC-32, sizes, name; then its bytes
 *     directory          for each member: "PK\1\2", the same facts, and where the member begins
 *     ZIP64 end          "PK\6\6", number of members, where the directory is
 *     its locator        "PK\6\7", where the ZIP64 end is
 *     end                "PK\5\6", for old readers
 *
 * If CRC and sizes are not known yet when a member begins, its header is rewritten later. Sizes
 * have 64 bits (ZIP64), as numpy writes them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/protobuf.h"
#include "file/zip.h"

enum {
    VERSION = 45,
    UTF8 = 0x800,
    STORED = 0,
    DAY = 1 << 5 | 1 /* the date 1 January 1980, as numpy writes it */
};

/* A number, and the number of bytes in which it is written. */
typedef struct number {
    int bytes;
    uint64_t value;
} number;

static void put_all(dt_str *out, const number *x, size_t n) {
    for (size_t i = 0; i < n; i++) dt_put_little(out, x[i].value, x[i].bytes);
}
#define PUT(out, ...)                                                                              \
    put_all(out, (const number[]){__VA_ARGS__}, sizeof(number[]){__VA_ARGS__} / sizeof(number))

/* Writes the part that a member's local header and its directory entry share. `extra`: number of
 * bytes of the extra field, which has the sizes, and in the directory also the offset. */
static void put_facts(dt_str *out, const dt_archived *m, int extra) {
    PUT(out, {2, VERSION}, {2, UTF8}, {2, STORED}, {2, 0}, {2, DAY}, {4, m->crc}, {4, UINT32_MAX},
        {4, UINT32_MAX}, {2, strlen(m->name)}, {2, (uint64_t)extra});
}

static void put_local(dt_str *out, const dt_archived *m) {
    dt_str_add(out, "PK\3\4", 4);
    put_facts(out, m, 20);
    dt_str_puts(out, m->name);
    PUT(out, {2, 1}, {2, 16}, {8, (uint64_t)m->size}, {8, (uint64_t)m->size});
}

/* Writes a directory entry. The fields between the shared part and the name mean: no comment, first
 * disk, no attributes. */
static void put_entry(dt_str *out, const dt_archived *m) {
    dt_str_add(out, "PK\1\2", 4);
    dt_put_little(out, VERSION, 2);
    put_facts(out, m, 28);
    PUT(out, {2, 0}, {2, 0}, {2, 0}, {4, 0}, {4, UINT32_MAX});
    dt_str_puts(out, m->name);
    PUT(out, {2, 1}, {2, 24}, {8, (uint64_t)m->size}, {8, (uint64_t)m->size},
        {8, (uint64_t)m->offset});
}

static void put_end(dt_str *out, const dt_archive *a, uint64_t directory) {
    const uint64_t n = (uint64_t)a->n, few = n < UINT16_MAX ? n : UINT16_MAX, at = (uint64_t)a->at;
    dt_str_add(out, "PK\6\6", 4);
    PUT(out, {8, 44}, {2, VERSION}, {2, VERSION}, {8, 0}, {8, n}, {8, n}, {8, directory}, {8, at});
    dt_str_add(out, "PK\6\7", 4);
    PUT(out, {4, 0}, {8, at + directory}, {4, 1});
    dt_str_add(out, "PK\5\6", 4);
    PUT(out, {4, 0}, {2, few}, {2, few}, {4, UINT32_MAX}, {4, UINT32_MAX}, {2, 0});
}

dt_status *dt_archive_put(dt_archive *a, const void *bytes, size_t n) {
    a->at += (int64_t)n;
    return dt_writer_put(a->file, bytes, n);
}

static dt_status *put_text(dt_archive *a, dt_str *text) {
    dt_status *s = dt_archive_put(a, text->data, text->size);
    dt_str_release(text);
    return s;
}

dt_status *dt_archive_begin(dt_archive *a, const char *name, uint32_t crc, int64_t size) {
    dt_str local = {0};
    if (strlen(name) > UINT16_MAX)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: names in a ZIP archive can have at most 65,535 bytes", a->file->path);
    DT_GROW(a->member, a->cap, a->n + 1);
    dt_archived *m = &a->member[a->n++];
    *m = (dt_archived){.name = dt_strdup(name), .crc = crc, .size = size, .offset = a->at};
    put_local(&local, m);
    return put_text(a, &local);
}

dt_status *dt_archive_amend(dt_archive *a, int i, const dt_archived *facts, const void *head,
                            size_t n) {
    dt_archived *m = &a->member[i];
    dt_local_str local = {0};
    m->crc = facts->crc;
    m->size = facts->size;
    put_local(&local, m);
    dt_str_add(&local, head, n);
    DT_TRY(dt_writer_seek(a->file, m->offset));
    DT_TRY(dt_writer_put(a->file, local.data, local.size));
    return dt_writer_seek(a->file, a->at);
}

dt_status *dt_archive_put_directory(dt_archive *a) {
    dt_str text = {0};
    for (int i = 0; i < a->n; i++) put_entry(&text, &a->member[i]);
    put_end(&text, a, text.size);
    return put_text(a, &text);
}

void dt_archive_release(dt_archive *a) {
    for (int i = 0; i < a->n; i++) free(a->member[i].name);
    free(a->member);
}
