/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of records, one after the other: TFRecord, lines of text, records of one length. Readers go
 * from front to back; gzip (any file that begins like one) and zlib (TFRecords) are decompressed on
 * the way. Nothing is allocated for a length that the file cannot have.
 */
#ifndef DT_FILE_RECORDS_H
#define DT_FILE_RECORDS_H

#include "base/str.h"
#include "file/gzip.h"

/* ---- checksums ---- */

/* CRC-32C (Castagnoli), as in iSCSI; test vectors in RFC 3720, B.4. */
uint32_t dt_crc32c(const void *bytes, size_t n);
/* Of what has that CRC, followed by so many bytes. */
uint32_t dt_crc32c_more(uint32_t crc, const void *bytes, size_t n);
/* TFRecord's form of it: rotated and shifted, so that a CRC over bytes which hold a CRC is no
 * accident. */
uint32_t dt_crc32c_masked(const void *bytes, size_t n);
uint32_t dt_crc32c_mask(uint32_t crc);

/* ---- readers ---- */

typedef struct dt_record_options {
    dt_file_kind kind;
    int64_t record_bytes, header_bytes, footer_bytes; /* DT_FIXED_LENGTH */
    /* DT_TEXT_LINES: bytes of a line, whole MiB; a longer one is refused before it is in memory.
     * 0: 1 GiB */
    int64_t longest;
} dt_record_options;

typedef struct dt_records {
    dt_inflow *file;
    const char *path; /* lent */
    dt_record_options options;
    int64_t number, offset; /* of the next record; bytes before it, decompressed */
    dt_str window;          /* what was read and not yet handed out, from `at` on */
    size_t at;
    int64_t window_offset; /* dt_tfrecord_look: of the window in the file */
    bool end;
} dt_records;

dt_status *dt_records_open(dt_records *r, const char *path,
                           const dt_record_options *options) DT_MUST_USE;
/* Of a file that is open, which stays its owner's. */
dt_status *dt_records_take(dt_records *r, dt_inflow *file, const char *path,
                           const dt_record_options *options) DT_MUST_USE;
/* The next record into *out (cleared first). *more false: the end. Errors name the file, the
 * record and its offset. */
dt_status *dt_records_next(dt_records *r, dt_str *out, bool *more) DT_MUST_USE;
/* The same, lent until the next call: of TFRecords what the window has, if it has it whole, else in
 * *room. */
dt_status *dt_records_lend(dt_records *r, dt_str *room, dt_bytes *out, bool *more) DT_MUST_USE;
/* Whether the next TFRecord or line has been read already, so that a call will not wait. */
bool dt_records_hold(const dt_records *r);
void dt_records_close(dt_records *r); /* takes one that did not open */

/* The header at r->offset of a plain TFRecord, whose file is not moved: the length of its data, all
 * of which is there. *more false: the end. */
dt_status *dt_tfrecord_look(dt_records *r, int64_t *length, bool *more) DT_MUST_USE;
/* Whether the checksum behind `length` bytes of data is theirs. */
bool dt_tfrecord_verify(const void *data, int64_t length);

/* A TFRecord's frame: 8 bytes of length, the length's CRC; then the data and its CRC. */
enum { DT_TFRECORD_HEADER = 12, DT_TFRECORD_FOOTER = 4 };

/* As dt_format has it. */
struct dt_survey_request;
dt_status *dt_tfrecord_survey(const struct dt_survey_request *q) DT_MUST_USE;

/* ---- names of files ---- */

typedef struct dt_paths {
    int n, cap;
    char **v;
} dt_paths;
/*
 * Adds the files that match, sorted: at least one (NO_INPUT). A set of shards (name-00000-of-00008)
 * must be complete. `directory` as in dt_path_join.
 */
/* Whether a path has wildcards and is not the name of a file. */
bool dt_path_is_pattern(const char *path);
dt_status *dt_paths_match(dt_paths *paths, const char *directory, const char *pattern) DT_MUST_USE;
/* Adds what lies in a folder, sorted by name; hidden entries, ".x", are left out. */
dt_status *dt_paths_list(dt_paths *paths, const char *folder) DT_MUST_USE;
void dt_paths_add(dt_paths *paths, const char *path);
bool dt_path_is_folder(const char *path);
void dt_paths_release(dt_paths *paths);

#endif
