/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of records. A TFRecord file consists of records of this form, with little-endian numbers:
 *
 *     uint64 length | masked CRC of it | data | masked CRC of data
 *
 * A length is trusted only if its CRC is right and the file can have so many bytes. Even then the
 * data is read piece by piece.
 */
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "file/records.h"

enum { WINDOW = 1 << 19, LONGEST_LENT = WINDOW / 2 };
#define LARGEST_RECORD ((int64_t)1 << 30)

static uint32_t little32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t little64(const unsigned char *p) {
    return little32(p) | (uint64_t)little32(p + 4) << 32;
}

/* ---- the window ---- */

/* Makes room in the window and reads the bytes that are available, so that a record of a pipe is
 * read before the next one is written. */
static dt_status *refill(dt_records *r) {
    int64_t got;
    if (!r->window.data) r->window = (dt_str){.data = dt_alloc(WINDOW + 1), .cap = WINDOW + 1};
    r->window.size -= r->at;
    memmove(r->window.data, r->window.data + r->at, r->window.size);
    r->at = 0;
    while (r->window.cap < r->window.size + WINDOW / 2) dt_str_reserve(&r->window, r->window.cap);
    DT_TRY(dt_inflow_some(r->file, r->window.data + r->window.size,
                          (int64_t)(r->window.cap - r->window.size - 1), &got));
    r->window.size += (size_t)got;
    r->window.data[r->window.size] = '\0';
    r->end = got == 0;
    return NULL;
}

/* Appends up to n bytes to *out; fewer at the end. Large records bypass the window. *out grows with
 * the bytes that were actually read, and not to the size that the record claims. */
static dt_status *read_bytes(dt_records *r, int64_t n, dt_str *out) {
    enum { PIECE = 1 << 20 };
    for (;;) {
        const int64_t held = (int64_t)(r->window.size - r->at), take = n < held ? n : held,
                      most = n - take < PIECE ? n - take : PIECE;
        int64_t got = 0;
        if (take > 0) dt_str_add(out, r->window.data + r->at, (size_t)take);
        r->at += (size_t)take;
        n -= take;
        if (n == 0 || r->end) return NULL;
        if (n < WINDOW) {
            DT_TRY(refill(r));
            continue;
        }
        dt_str_reserve(out, (size_t)most);
        DT_TRY(dt_inflow_read(r->file, out->data + out->size, most, &got));
        out->size += (size_t)got;
        out->data[out->size] = '\0';
        r->end = got < most;
        n -= got;
    }
}

/* ---- TFRecord ---- */

static bool is_header(const unsigned char *h) { return dt_crc32c_masked(h, 8) == little32(h + 8); }

/* Checks whether the file is compressed with zlib. zlib has no magic bytes, so it is tried only if
 * the file does not begin with a record. */
static dt_status *detect_compression(dt_records *r) {
    unsigned char h[DT_TFRECORD_HEADER];
    if (dt_inflow_is_gzip(r->file) || dt_inflow_size(r->file) < 2) return NULL;
    size_t n = dt_inflow_size(r->file) < (int64_t)sizeof h ? 2 : sizeof h;
    DT_TRY(dt_inflow_pread(r->file, h, (int64_t)n, 0));
    bool record = n == sizeof h && is_header(h),
         zlib = (h[0] & 15) == 8 && ((unsigned)h[0] << 8 | h[1]) % 31 == 0;
    return zlib && !record ? dt_inflow_take_zlib(r->file) : NULL;
}

static dt_status *bad_header(const dt_records *r, size_t got) {
    if (got == DT_TFRECORD_HEADER && r->number == 0)
        return dt_fail(DT_E_RECORD, NULL,
                       "%s: not a TFRecord (record 0 at offset 0: length checksum mismatch)",
                       r->path);
    if (got == DT_TFRECORD_HEADER)
        return dt_fail(DT_E_RECORD, NULL,
                       "%s: record %lld at offset %lld: length checksum mismatch", r->path,
                       (long long)r->number, (long long)r->offset);
    if (r->number == 0)
        return dt_fail(DT_E_RECORD, NULL, "%s: cut inside the header of record 0 at offset 0",
                       r->path);
    return dt_fail(DT_E_RECORD, NULL, "%s: %zu byte%s after the last record, at offset %lld",
                   r->path, got, got == 1 ? "" : "s", (long long)r->offset);
}

static dt_status *check_length(const dt_records *r, uint64_t length) {
    uint64_t most = (uint64_t)dt_inflow_most(r->file);
    if (length > most)
        return dt_fail(DT_E_RECORD, NULL,
                       "%s: record %lld at offset %lld claims %llu bytes, file has %lld", r->path,
                       (long long)r->number, (long long)r->offset, (unsigned long long)length,
                       (long long)dt_inflow_size(r->file));
    if (length > (uint64_t)LARGEST_RECORD)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: record %lld at offset %lld has %llu bytes; at most %lld are read",
                       r->path, (long long)r->number, (long long)r->offset,
                       (unsigned long long)length, (long long)LARGEST_RECORD);
    return NULL;
}

static dt_status *cut(const dt_records *r, int64_t has, int64_t length) {
    if (has >= length)
        return dt_fail(DT_E_RECORD, NULL, "%s: record %lld at offset %lld cut inside its checksum",
                       r->path, (long long)r->number, (long long)r->offset);
    return dt_fail(DT_E_RECORD, NULL, "%s: record %lld at offset %lld cut: has %lld of %lld bytes",
                   r->path, (long long)r->number, (long long)r->offset, (long long)has,
                   (long long)length);
}

bool dt_tfrecord_verify(const void *data, int64_t length) {
    return dt_crc32c_masked(data, (size_t)length) == little32((const unsigned char *)data + length);
}

/* Gets the header at r->offset. If records are short, the following ones are read at once, because
 * a system call for each would take longer. */
static dt_status *header_at(dt_records *r, int64_t left, const unsigned char **out) {
    enum { SHORT = 1 << 11 };
    const int64_t end = r->window_offset + (int64_t)r->window.size;
    if (r->offset + DT_TFRECORD_HEADER > end) {
        int64_t n = r->number > 0 && r->offset - end < SHORT ? WINDOW : DT_TFRECORD_HEADER;
        n = n < left ? n : left;
        dt_str_clear(&r->window);
        dt_str_reserve(&r->window, (size_t)n);
        DT_TRY(dt_inflow_pread(r->file, r->window.data, n, r->offset));
        r->window.size = (size_t)n;
        r->window_offset = r->offset;
    }
    *out = (const unsigned char *)r->window.data + (r->offset - r->window_offset);
    return NULL;
}

dt_status *dt_tfrecord_look(dt_records *r, int64_t *length, bool *more) {
    const unsigned char *h;
    int64_t left = dt_inflow_size(r->file) - r->offset;
    *more = left > 0;
    if (left <= 0) return NULL;
    if (left < DT_TFRECORD_HEADER) return bad_header(r, (size_t)left);
    DT_TRY(header_at(r, left, &h));
    if (!is_header(h)) return bad_header(r, DT_TFRECORD_HEADER);
    DT_TRY(check_length(r, little64(h)));
    *length = (int64_t)little64(h);
    left -= DT_TFRECORD_HEADER;
    return left < *length + DT_TFRECORD_FOOTER ? cut(r, left < *length ? left : *length, *length)
                                               : NULL;
}

static dt_status *mismatch(const dt_records *r) {
    return dt_fail(DT_E_RECORD, NULL, "%s: record %lld at offset %lld: data checksum mismatch",
                   r->path, (long long)r->number, (long long)r->offset);
}

/* Reads the data of a record piece by piece, so that the checksum is computed while a piece is in
 * the cache. */
static dt_status *read_data(dt_records *r, int64_t length, dt_str *out) {
    uint32_t crc = 0;
    for (int64_t at = 0, n; at < length; at = n) {
        n = length - at < 2 * WINDOW ? length : at + WINDOW;
        DT_TRY(read_bytes(r, n - at, out));
        if ((int64_t)out->size < n) return cut(r, (int64_t)out->size, length);
        crc = dt_crc32c_more(crc, out->data + at, (size_t)(n - at));
    }
    DT_TRY(read_bytes(r, DT_TFRECORD_FOOTER, out));
    if ((int64_t)out->size < length + DT_TFRECORD_FOOTER) return cut(r, length, length);
    if (dt_crc32c_mask(crc) != little32((const unsigned char *)out->data + length))
        return mismatch(r);
    out->size = (size_t)length;
    out->data[length] = '\0';
    return NULL;
}

static dt_status *lend_data(dt_records *r, int64_t length, dt_str *room, dt_bytes *out) {
    if (length > LONGEST_LENT) {
        dt_status *s = read_data(r, length, room);
        *out = (dt_bytes){room->data, room->size};
        return s;
    }
    const size_t wanted = (size_t)length + DT_TFRECORD_FOOTER;
    while (r->window.size - r->at < wanted && !r->end) DT_TRY(refill(r));
    const size_t has = r->window.size - r->at;
    if (has < wanted) return cut(r, has < (size_t)length ? (int64_t)has : length, length);
    *out = (dt_bytes){r->window.data + r->at, (size_t)length};
    r->at += wanted;
    return dt_tfrecord_verify(out->data, length) ? NULL : mismatch(r);
}

static dt_status *lend_tfrecord(dt_records *r, dt_str *room, dt_bytes *out, bool *more) {
    unsigned char h[DT_TFRECORD_HEADER];
    while (r->window.size - r->at < sizeof h && !r->end) DT_TRY(refill(r));
    const size_t got = r->window.size - r->at < sizeof h ? r->window.size - r->at : sizeof h;
    *more = got > 0;
    if (got == 0) return NULL;
    memcpy(h, r->window.data + r->at, got);
    r->at += got;
    if (got < sizeof h || !is_header(h)) return bad_header(r, got);
    DT_TRY(check_length(r, little64(h)));
    DT_TRY(lend_data(r, (int64_t)little64(h), room, out));
    r->offset += DT_TFRECORD_HEADER + (int64_t)out->n + DT_TFRECORD_FOOTER;
    return NULL;
}

static dt_status *next_tfrecord(dt_records *r, dt_str *out, bool *more) {
    dt_bytes record = {0};
    DT_TRY(lend_tfrecord(r, out, &record, more));
    if (*more && record.data != out->data) dt_str_add(out, record.data, record.n);
    return NULL;
}

/* ---- lines ---- */

/* Reads a line, which ends at \n or at the end of the file. A \r before the end is dropped. */
static dt_status *next_line(dt_records *r, dt_str *out, bool *more) {
    const int64_t longest = r->options.longest ? r->options.longest : LARGEST_RECORD;
    size_t searched = 0;
    const char *start, *line_end = NULL;
    for (;;) {
        start = dt_str_text(&r->window) + r->at;
        size_t left = r->window.size - r->at;
        line_end = left > searched ? memchr(start + searched, '\n', left - searched) : NULL;
        if (line_end || r->end) break;
        searched = left;
        if (searched > (size_t)longest)
            return dt_fail(DT_E_TOO_LARGE, NULL, "%s:%lld: line longer than %lld MiB", r->path,
                           (long long)r->number + 1, (long long)(longest >> 20));
        DT_TRY(refill(r));
    }
    size_t n = line_end ? (size_t)(line_end - start) : r->window.size - r->at;
    *more = line_end || n > 0;
    r->at += n + (line_end != NULL);
    r->offset += (int64_t)n + (line_end != NULL);
    dt_str_add(out, start, n > 0 && start[n - 1] == '\r' ? n - 1 : n);
    return NULL;
}

/* ---- records of a fixed length ---- */

static dt_status *open_fixed(dt_records *r) {
    const dt_record_options *o = &r->options;
    dt_local_str header = {0};
    int64_t data;
    if (o->record_bytes < 1 || o->record_bytes > LARGEST_RECORD || o->header_bytes < 0 ||
        o->footer_bytes < 0)
        return dt_fail(
            DT_E_PIPELINE, NULL,
            "records of %lld bytes after %lld and before %lld: sizes must be at least 1, 0 and 0",
            (long long)o->record_bytes, (long long)o->header_bytes, (long long)o->footer_bytes);
    if (dt_inflow_is_gzip(r->file))
        return dt_fail(
            DT_E_DATA_FILE, NULL,
            "%s: fixed-length records cannot be read from a compressed file; decompress it first",
            r->path);
    data = dt_inflow_size(r->file);
    data = data - o->header_bytes < o->footer_bytes ? -1 : data - o->header_bytes - o->footer_bytes;
    if (data < 0 || data % o->record_bytes)
        return dt_fail(DT_E_DATA_SIZE, NULL,
                       "%s: %lld bytes, less %lld before and %lld after, are not a multiple of the "
                       "record size, %lld",
                       r->path, (long long)dt_inflow_size(r->file), (long long)o->header_bytes,
                       (long long)o->footer_bytes, (long long)o->record_bytes);
    dt_status *s = read_bytes(r, o->header_bytes, &header);
    r->offset = o->header_bytes;
    return s;
}

static dt_status *next_fixed(dt_records *r, dt_str *out, bool *more) {
    const dt_record_options *o = &r->options;
    *more = r->offset + o->record_bytes <= dt_inflow_size(r->file) - o->footer_bytes;
    if (!*more) return NULL;
    DT_TRY(read_bytes(r, o->record_bytes, out));
    r->offset += o->record_bytes;
    if ((int64_t)out->size < o->record_bytes)
        return dt_fail(DT_E_FILE_CHANGED, NULL, "%s: the file shrank while it was being read",
                       r->path);
    return NULL;
}

/* ---- records of any kind ---- */

static const struct {
    dt_status *(*open)(dt_records *r);
    dt_status *(*next)(dt_records *r, dt_str *out, bool *more);
} kinds[] = {
    [DT_TFRECORD] = {detect_compression, next_tfrecord},
    [DT_TEXT_LINES] = {NULL, next_line},
    [DT_FIXED_LENGTH] = {open_fixed, next_fixed},
};

dt_status *dt_records_take(dt_records *r, dt_inflow *file, const char *path,
                           const dt_record_options *options) {
    *r = (dt_records){.file = file, .path = path, .options = *options};
    return kinds[options->kind].open ? kinds[options->kind].open(r) : NULL;
}

dt_status *dt_records_open(dt_records *r, const char *path, const dt_record_options *options) {
    dt_inflow *file;
    *r = (dt_records){0};
    DT_TRY(dt_inflow_open(&file, path));
    return dt_records_take(r, file, path, options);
}

dt_status *dt_records_lend(dt_records *r, dt_str *room, dt_bytes *out, bool *more) {
    dt_str_clear(room);
    DT_TRY(dt_reserve_check());
    if (r->options.kind == DT_TFRECORD) {
        DT_TRY(lend_tfrecord(r, room, out, more));
    } else {
        DT_TRY(kinds[r->options.kind].next(r, room, more));
        *out = (dt_bytes){dt_str_text(room), room->size};
    }
    r->number += *more;
    return NULL;
}

bool dt_records_hold(const dt_records *r) {
    const char *p = dt_str_text(&r->window) + r->at;
    const size_t n = r->window.size - r->at;
    if (r->options.kind != DT_TFRECORD) return n > 0 && memchr(p, '\n', n);
    return n >= DT_TFRECORD_HEADER && little64((const unsigned char *)p) <= n &&
           little64((const unsigned char *)p) + DT_TFRECORD_HEADER + DT_TFRECORD_FOOTER <= n;
}

dt_status *dt_records_next(dt_records *r, dt_str *out, bool *more) {
    dt_str_clear(out);
    *more = false;
    DT_TRY(dt_reserve_check());
    DT_TRY(kinds[r->options.kind].next(r, out, more));
    r->number += *more;
    return NULL;
}

void dt_records_close(dt_records *r) {
    dt_inflow_close(r->file);
    dt_str_release(&r->window);
    *r = (dt_records){0};
}
