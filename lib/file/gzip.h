/* SPDX-License-Identifier: Apache-2.0 */
/* A file read once, from front to back. A file with the first bytes of gzip, under any name, is
 * decompressed. */
#ifndef DT_FILE_GZIP_H
#define DT_FILE_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct dt_inflow dt_inflow;

dt_status *dt_inflow_open(dt_inflow **out, const char *path) DT_MUST_USE;
/* A member of an archive (zip.h) as if it were a file: raw deflate data, or bytes as they are. */
typedef struct dt_inflow_member {
    int64_t offset, packed, size; /* size, crc: of what is unpacked */
    uint32_t crc;
    bool deflated;
} dt_inflow_member;
dt_status *dt_inflow_open_member(dt_inflow **out, const char *path,
                                 const dt_inflow_member *m) DT_MUST_USE;
/* Standard input, a pipe too: its size counts as unlimited, and it cannot be read by offset unless
 * it is a file. */
dt_status *dt_inflow_stdin(dt_inflow **out) DT_MUST_USE;
void dt_inflow_close(dt_inflow *f); /* takes NULL */
/* Up to n bytes; *got is less than n only at the end, where checksums have been verified. */
dt_status *dt_inflow_read(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* As soon as there is something; *got 0: the end. */
dt_status *dt_inflow_some(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* Up to n bytes, at most DT_PEEK, which stay to be read: no more than a line from a terminal.
 * Before anything else is read. */
enum { DT_PEEK = 16 };
dt_status *dt_inflow_peek(dt_inflow *f, void *buffer, int64_t n, int64_t *got) DT_MUST_USE;
/* Whether something can be read without waiting; the end is something. */
bool dt_inflow_is_ready(const dt_inflow *f);
bool dt_inflow_is_gzip(const dt_inflow *f);
/* Reads as zlib's format (RFC 1950) what has not been read yet; from then on it counts as gzip. */
dt_status *dt_inflow_take_zlib(dt_inflow *f) DT_MUST_USE;
/* Bytes of the file itself. */
int64_t dt_inflow_size(const dt_inflow *f);
/* The most bytes that can come in all: the size, or what so much gzip data can hold. */
int64_t dt_inflow_most(const dt_inflow *f);
/* n bytes at `offset` of a file that is not gzip, in any order and by any thread. */
dt_status *dt_inflow_pread(const dt_inflow *f, void *buffer, int64_t n, int64_t offset) DT_MUST_USE;

#endif
