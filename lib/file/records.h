/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of records: TFRecord, lines of text, and records of a fixed length. Readers go from front
 * to back. gzip (recognized by its first bytes) and, in TFRecord files, zlib are decompressed;
 * files of records of a fixed length must not be compressed. Nothing is allocated for a length that
 * the file cannot have.
 */
#ifndef DT_FILE_RECORDS_H
#define DT_FILE_RECORDS_H

#include "base/str.h"
#include "file/gzip.h"

/* ---- checksums ---- */

/* CRC-32C (Castagnoli), as in iSCSI; test vectors in RFC 3720, B.4. */
uint32_t dt_crc32c(const void *bytes, size_t n);
/* Returns the CRC of a range of bytes followed by n more bytes, given the CRC `crc` of the
 * range. */
uint32_t dt_crc32c_more(uint32_t crc, const void *bytes, size_t n);
/* TFRecord's masked CRC: rotated, and a constant added, so that a CRC over bytes that contain a CRC
 * works as well. */
uint32_t dt_crc32c_masked(const void *bytes, size_t n);
uint32_t dt_crc32c_mask(uint32_t crc);

/* ---- readers, and TFRecord files ---- */

typedef struct dt_record_options {
    dt_file_kind kind;
    int64_t record_bytes, header_bytes, footer_bytes; /* sizes in bytes, for DT_FIXED_LENGTH */
    /* For DT_TEXT_LINES: limit of a line's bytes, a multiple of 1 MiB; 0: 1 GiB. It is checked when
     * more bytes are read, so a line that ends soon after it may pass. */
    int64_t longest;
} dt_record_options;

typedef struct dt_records {
    dt_inflow *file;
    const char *path; /* lent */
    dt_record_options options;
    int64_t number, offset; /* index of the next record; its offset in the decompressed file */
    dt_str window;          /* bytes that were read; those before `at` are used up */
    size_t at;
    int64_t window_offset; /* for dt_tfrecord_look: offset of the window in the file */
    bool end;
} dt_records;

dt_status *dt_records_open(dt_records *r, const char *path,
                           const dt_record_options *options) DT_MUST_USE;
/* Like dt_records_open, for a file that is already open. dt_records_close would close it; a caller
 * that keeps it frees r->window instead. */
dt_status *dt_records_take(dt_records *r, dt_inflow *file, const char *path,
                           const dt_record_options *options) DT_MUST_USE;
/* Reads the next record into *out (cleared first). *more false: the end. Errors name the file. */
dt_status *dt_records_next(dt_records *r, dt_str *out, bool *more) DT_MUST_USE;
/* Like dt_records_next, but the record is lent until the next call: in the window, if it is a
 * TFRecord of at most 256 KiB, else in *room. */
dt_status *dt_records_lend(dt_records *r, dt_str *room, dt_bytes *out, bool *more) DT_MUST_USE;
/* Whether the next TFRecord or line is already in memory, so that reading it will not wait. */
bool dt_records_hold(const dt_records *r);
void dt_records_close(dt_records *r); /* also closes a reader that failed to open */

/* Reads the header at r->offset of an uncompressed TFRecord file, without moving the file's
 * position. Gets the length of the data, which is completely in the file. *more false: the end. */
dt_status *dt_tfrecord_look(dt_records *r, int64_t *length, bool *more) DT_MUST_USE;
/* Whether the checksum after `length` bytes of data matches them. */
bool dt_tfrecord_verify(const void *data, int64_t length);

/* Sizes around a TFRecord's data: before it 8 bytes of length and the length's CRC, after it the
 * data's CRC. */
enum { DT_TFRECORD_HEADER = 12, DT_TFRECORD_FOOTER = 4 };

/* Surveys TFRecord files, as dt_format's `survey` does. */
struct dt_survey_request;
dt_status *dt_tfrecord_survey(const struct dt_survey_request *q) DT_MUST_USE;

/* ---- names of files ---- */

typedef struct dt_paths {
    int n, cap;
    char **v;
} dt_paths;

/* Whether a path has wildcards, and no file or folder has exactly this name. */
bool dt_path_is_pattern(const char *path);
/* Adds the files that match, sorted; error NO_INPUT if there are none. A set of up to 4,096 shards
 * (name-00000-of-00008) must be complete, and the only one of its name. A name without wildcards,
 * or of an existing file, is only joined to `directory`, as by dt_path_join. */
dt_status *dt_paths_match(dt_paths *paths, const char *directory, const char *pattern) DT_MUST_USE;
/* Adds the entries of a folder, sorted by name; hidden entries (".x") are skipped. */
dt_status *dt_paths_list(dt_paths *paths, const char *folder) DT_MUST_USE;
/* Adds the files in a folder and in all folders below it, in the order of their folders' paths,
 * then of their names, as in Keras. Hidden files and folders are skipped, and so are links to
 * folders. */
dt_status *dt_paths_list_below(dt_paths *paths, const char *folder) DT_MUST_USE;
void dt_paths_add(dt_paths *paths, const char *path);
bool dt_path_is_folder(const char *path);
void dt_paths_release(dt_paths *paths);

#endif
