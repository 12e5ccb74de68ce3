/* SPDX-License-Identifier: Apache-2.0 */
/* A file, standard input, or a member of an archive, to read from front to back. A file or standard
 * input that begins with gzip's bytes is decompressed, whatever its name is. */
#ifndef DT_FILE_GZIP_H
#define DT_FILE_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct dt_inflow dt_inflow;

/* Opens a file. Close *out with dt_inflow_close; after an error it is NULL. */
dt_status *dt_inflow_open(dt_inflow **out, const char *path) DT_MUST_USE;
/* A member of an archive (zip.h), which is read as if it were a file: raw deflate data, or stored
 * bytes. */
typedef struct dt_inflow_member {
    /* packed: bytes in the archive; size and crc: of the unpacked bytes */
    int64_t offset, packed, size;
    uint32_t crc;
    bool deflated;
} dt_inflow_member;
dt_status *dt_inflow_open_member(dt_inflow **out, const char *path,
                                 const dt_inflow_member *m) DT_MUST_USE;
/* Opens standard input, which may be a pipe. Its size counts as unlimited. It can be read by offset
 * only if it is a file. */
dt_status *dt_inflow_stdin(dt_inflow **out) DT_MUST_USE;
void dt_inflow_close(dt_inflow *f); /* f may be NULL */
/* Reads up to n bytes. *got is less than n only at the end, where the checksums of compressed data
 * have been verified. */
dt_status *dt_inflow_read(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* Like dt_inflow_read, but returns as soon as any bytes are available; *got 0: the end. */
dt_status *dt_inflow_some(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* Looks at the first n bytes, at most DT_PEEK, without using them up. *got is less than n if the
 * file is shorter, or if a terminal or pipe has sent complete lines but no more bytes yet. Must be
 * called before any bytes are read. */
enum { DT_PEEK = 16 };
dt_status *dt_inflow_peek(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* Whether unread bytes, perhaps compressed ones, or the end have arrived. */
bool dt_inflow_is_ready(const dt_inflow *f);
bool dt_inflow_is_gzip(const dt_inflow *f);
/* Reads the rest as zlib's format (RFC 1950); dt_inflow_is_gzip is true from then on. */
dt_status *dt_inflow_take_zlib(dt_inflow *f) DT_MUST_USE;
/* Returns the size in bytes of the file itself, not of its decompressed contents; for a member of
 * an archive the size that it has there; INT64_MAX for standard input. */
int64_t dt_inflow_size(const dt_inflow *f);
/* Returns an upper limit of the number of bytes that can be read: the file's size, or the largest
 * size to which gzip data of that size can expand. */
int64_t dt_inflow_most(const dt_inflow *f);
/* Reads n bytes at `offset` of a file, or of a member of an archive, that is not compressed, in any
 * order and from any thread. Fails if the file ends before; the end of a member is not checked. */
dt_status *dt_inflow_pread(const dt_inflow *f, void *buffer, int64_t n, int64_t offset) DT_MUST_USE;

#endif
