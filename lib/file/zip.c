/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ZIP archives (PKWARE's APPNOTE.TXT, 4.3), as far as NPZ and Keras files need them: members
 * that are stored or deflated, 64-bit sizes (ZIP64), no encryption, a single part. The directory is
 * at the end:
 *
 *     for each member    header, data
 *     directory          an entry for each member
 *     [ZIP64 end, locator of the ZIP64 end]
 *     end                where the directory is
 *
 * Offsets and packed sizes are checked against the file before they are used.
 */
#include "file/zip.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"

enum {
    /* numbers of bytes of the fixed parts of records: of the end of the directory, its 64-bit
     * locator and 64-bit end, an entry of the directory, and the header of a member */
    END = 22,
    LOCATOR = 20,
    END64 = 56,
    ENTRY = 46,
    HEADER = 30,
    LONGEST_COMMENT = 65535,
    LARGEST_DIRECTORY = 16 << 20,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
    ZIP64_EXTRA = 1,
    PIECE = 8192,
};

typedef struct archive {
    const char *path;
    int fd;
    int64_t size;
    unsigned char *directory;
    int64_t bytes; /* number of bytes of the directory */
} archive;

static uint64_t little(const unsigned char *p, int bytes) {
    uint64_t x = 0;
    while (bytes > 0) x = x << 8 | p[--bytes];
    return x;
}

static dt_status *damaged(const char *path, const char *what) {
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: damaged ZIP archive: %s", path, what);
}

bool dt_zip_sniff(const unsigned char *first, int64_t n) {
    return n >= 4 && (memcmp(first, "PK\3\4", 4) == 0 || memcmp(first, "PK\5\6", 4) == 0);
}

bool dt_zip_is(const char *path) {
    unsigned char magic[4];
    int fd;
    int64_t size;
    dt_status *s = dt_file_open(path, &fd, &size);
    if (s) {
        dt_status_free(s);
        return false;
    }
    const bool is = pread(fd, magic, 4, 0) == 4 && dt_zip_sniff(magic, 4);
    close(fd);
    return is;
}

/* ---- the end record ---- */

/* Sets *offset and *bytes, of the directory, from the ZIP64 end record if its locator is directly
 * before the plain end record, which is at `end`. */
static dt_status *read_end64(const archive *a, int64_t end, uint64_t *offset, uint64_t *bytes) {
    unsigned char b[END64];
    if (end < LOCATOR) return NULL;
    DT_TRY(dt_file_pread(a->fd, a->path, b, LOCATOR, end - LOCATOR));
    if (little(b, 4) != 0x07064b50) return NULL;
    const uint64_t at = little(b + 8, 8);
    if (at > (uint64_t)a->size || a->size - (int64_t)at < END64)
        return damaged(a->path, "its end points outside the file");
    DT_TRY(dt_file_pread(a->fd, a->path, b, END64, (int64_t)at));
    if (little(b, 4) != 0x06064b50) return damaged(a->path, "no ZIP64 end where it should be");
    *bytes = little(b + 40, 8);
    *offset = little(b + 48, 8);
    return NULL;
}

/* Returns the index in `tail` of the last end record whose comment reaches to the end of the file;
 * -1: none. */
static int64_t find_end(const unsigned char *tail, int64_t n) {
    for (int64_t at = n - END; at >= 0; at--)
        if (little(tail + at, 4) == 0x06054b50 &&
            at + END + (int64_t)little(tail + at + 20, 2) == n)
            return at;
    return -1;
}

static dt_status *read_end(const archive *a, uint64_t *offset, uint64_t *bytes) {
    const int64_t n = a->size < END + LONGEST_COMMENT ? a->size : END + LONGEST_COMMENT;
    unsigned char *tail = dt_alloc((size_t)n);
    dt_status *s = dt_file_pread(a->fd, a->path, tail, (size_t)n, a->size - n);
    const int64_t at = s ? -1 : find_end(tail, n);
    if (!s && at < 0) s = damaged(a->path, "its end record is missing, so it was truncated");
    if (!s) {
        *bytes = little(tail + at + 12, 4);
        *offset = little(tail + at + 16, 4);
        s = read_end64(a, a->size - n + at, offset, bytes);
    }
    free(tail);
    return s;
}

static dt_status *load_directory(archive *a) {
    uint64_t offset = 0, bytes = 0;
    DT_TRY(read_end(a, &offset, &bytes));
    if (offset > (uint64_t)a->size || bytes > (uint64_t)a->size - offset)
        return damaged(a->path, "its directory is outside the file");
    if (bytes > LARGEST_DIRECTORY)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: a directory of %llu bytes; at most %d are read",
                       a->path, (unsigned long long)bytes, LARGEST_DIRECTORY);
    a->bytes = (int64_t)bytes;
    a->directory = dt_alloc((size_t)bytes + 1);
    return dt_file_pread(a->fd, a->path, a->directory, (size_t)bytes, (int64_t)offset);
}

/* ---- the directory ---- */

/* Replaces each of the three values that is UINT32_MAX, because it does not fit in 32 bits, by its
 * number in the ZIP64 extra field, which has only these values, in this order. False: the field
 * lacks one. */
static bool widen(const unsigned char *extra, int64_t n, uint64_t *const value[3]) {
    int64_t at = 0;
    while (n - at >= 4 && little(extra + at, 2) != ZIP64_EXTRA)
        at += 4 + (int64_t)little(extra + at + 2, 2);
    int64_t left = n - at >= 4 ? (int64_t)little(extra + at + 2, 2) : 0;
    left = left < n - at - 4 ? left : n - at - 4;
    for (int i = 0; i < 3; i++) {
        if (*value[i] != UINT32_MAX) continue;
        if (left < 8) return false;
        *value[i] = little(extra + at + 4, 8);
        at += 8;
        left -= 8;
    }
    return true;
}

static dt_status *read_entry(dt_arena *arena, const archive *a, int64_t *at, dt_zip_member *out) {
    const unsigned char *p = a->directory + *at;
    if (a->bytes - *at < ENTRY || little(p, 4) != 0x02014b50)
        return damaged(a->path, "an entry of its directory is invalid");
    const int64_t name = (int64_t)little(p + 28, 2), extra = (int64_t)little(p + 30, 2),
                  comment = (int64_t)little(p + 32, 2);
    if (a->bytes - *at - ENTRY < name + extra + comment)
        return damaged(a->path, "an entry reaches past its directory");
    uint64_t packed = little(p + 20, 4), size = little(p + 24, 4), header = little(p + 42, 4);
    if (!widen(p + ENTRY + name, extra, (uint64_t *const[]){&size, &packed, &header}))
        return damaged(a->path, "an entry lacks its sizes");
    if (packed > (uint64_t)a->size || header > (uint64_t)a->size || size > INT64_MAX)
        return damaged(a->path, "a member is outside the file");
    char *text = dt_arena_copy(arena, p + ENTRY, (size_t)name + 1);
    text[name] = '\0';
    *out = (dt_zip_member){.name = text,
                           .header = (int64_t)header,
                           .packed = (int64_t)packed,
                           .size = (int64_t)size,
                           .crc = (uint32_t)little(p + 16, 4),
                           .method = (int)little(p + 10, 2),
                           .flags = (int)little(p + 8, 2)};
    *at += ENTRY + name + extra + comment;
    return NULL;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Refuses archives with two members of the same name, because readers differ in which one they use.
 * "x" and "x.npy" are the same array. */
static dt_status *check_names(dt_arena *arena, const archive *a, const dt_zip *zip) {
    const char **name = dt_arena_array(arena, const char *, zip->n + 1);
    for (int i = 0; i < zip->n; i++) {
        const char *member = zip->member[i].name;
        const size_t n = strlen(member);
        name[i] = n >= 4 && strcmp(member + n - 4, ".npy") == 0
                      ? dt_arena_printf(arena, "%.*s", (int)n - 4, member)
                      : member;
    }
    qsort(name, (size_t)zip->n, sizeof *name, by_text);
    for (int i = 1; i < zip->n; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s: has '%.200s' twice", a->path, name[i]);
    return NULL;
}

static dt_status *read_entries(dt_arena *arena, archive *a, dt_zip *out) {
    out->member = dt_arena_array(arena, dt_zip_member, a->bytes / ENTRY + 1);
    for (int64_t at = 0; at < a->bytes; out->n++)
        DT_TRY(read_entry(arena, a, &at, &out->member[out->n]));
    return check_names(arena, a, out);
}

dt_status *dt_zip_read(dt_arena *arena, const char *path, dt_zip *out) {
    archive a = {.path = path, .fd = -1};
    *out = (dt_zip){0};
    dt_status *s = dt_file_open(path, &a.fd, &a.size);
    if (!s) s = load_directory(&a);
    if (!s) s = read_entries(arena, &a, out);
    free(a.directory);
    if (a.fd >= 0) close(a.fd);
    return s;
}

/* ---- members ---- */

static dt_status *check_stored(dt_inflow *f, const char *path, const dt_zip_member *m) {
    unsigned char piece[PIECE];
    uLong crc = crc32(0, NULL, 0);
    for (int64_t at = 0, n; at < m->size; at += n) {
        n = m->size - at < PIECE ? m->size - at : PIECE;
        DT_TRY(dt_inflow_pread(f, piece, n, at));
        crc = crc32(crc, piece, (uInt)n);
    }
    return crc == m->crc
               ? NULL
               : dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: checksum of '%s' mismatch", path, m->name);
}

/* Finds where a member's data begins: after the member's own header, whose name and extra field may
 * differ in length from those in the directory. */
static dt_status *find_data(const char *path, const dt_zip_member *m, int64_t *offset) {
    unsigned char b[HEADER];
    int fd;
    int64_t size;
    DT_TRY(dt_file_open(path, &fd, &size));
    dt_status *s = size - m->header < HEADER ? damaged(path, "a member is outside the file")
                                             : dt_file_pread(fd, path, b, HEADER, m->header);
    close(fd);
    if (s) return s;
    *offset = m->header + HEADER + (int64_t)little(b + 26, 2) + (int64_t)little(b + 28, 2);
    if (little(b, 4) != 0x04034b50 || *offset > size || size - *offset < m->packed)
        return damaged(path, "a member is not where its directory says");
    return NULL;
}

dt_status *dt_zip_open(dt_inflow **out, const char *path, const dt_zip_member *m) {
    int64_t offset = 0;
    if (m->flags & ENCRYPTED)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: '%s' is encrypted", path, m->name);
    if (m->method != STORED && m->method != DEFLATED)
        return dt_fail(DT_E_DATA_FILE, NULL,
                       "%s: '%s' is packed by method %d; stored (0) and deflated (8) are read",
                       path, m->name, m->method);
    if (m->method == STORED && m->packed != m->size)
        return damaged(path, "a stored member has two sizes");
    DT_TRY(find_data(path, m, &offset));
    const dt_inflow_member part = {.offset = offset,
                                   .packed = m->packed,
                                   .size = m->size,
                                   .crc = m->crc,
                                   .deflated = m->method == DEFLATED};
    DT_TRY(dt_inflow_open_member(out, path, &part));
    return m->method == STORED ? check_stored(*out, path, m) : NULL;
}

static dt_status *read_text(const char *path, const dt_zip_member *m, size_t most, dt_str *text) {
    char piece[8192];
    dt_inflow *in = NULL;
    int64_t got = 1;
    dt_status *s = dt_zip_open(&in, path, m);
    while (!s && got > 0) {
        s = dt_inflow_read(in, piece, sizeof piece, &got);
        if (!s && text->size + (size_t)got > most)
            s = dt_fail(DT_E_TOO_LARGE, NULL, "%s: %s is larger than %zu MiB", path, m->name,
                        most >> 20);
        if (!s) dt_str_add(text, piece, (size_t)got);
    }
    dt_inflow_close(in);
    return s;
}

dt_status *dt_zip_read_text(const char *path, const char *member, size_t most, dt_str *text,
                            bool *found) {
    dt_zip zip;
    dt_local_arena arena = dt_arena_create();
    *found = false;
    dt_status *s = dt_zip_read(arena, path, &zip);
    for (int i = 0; !s && !*found && i < zip.n; i++) {
        if (strcmp(zip.member[i].name, member) != 0) continue;
        *found = true;
        s = read_text(path, &zip.member[i], most, text);
    }
    return s;
}
