/* SPDX-License-Identifier: Apache-2.0 */
/* ZIP archives, such as numpy.savez writes: finds and opens members, and writes archives. */
#ifndef DT_FILE_ZIP_H
#define DT_FILE_ZIP_H

#include "base/arena.h"
#include "base/file.h"
#include "file/gzip.h"

typedef struct dt_zip_member {
    const char *name;
    int64_t header; /* offset of the member's own header */
    /* packed: number of bytes in the archive; size: number of bytes when unpacked. */
    int64_t packed, size;
    uint32_t crc; /* CRC-32 of the unpacked bytes */
    int method, flags;
} dt_zip_member;

typedef struct dt_zip {
    int n;
    dt_zip_member *member; /* [n] in the arena */
} dt_zip;

/* Whether a file begins like a ZIP archive; false if it cannot be read. */
bool dt_zip_is(const char *path);
bool dt_zip_sniff(const unsigned char *first, int64_t n);
/* Reads and checks the archive's directory. Errors, besides those of opening: DATA_FILE if it is
 * damaged, or has two members of one name ("x" and "x.npy" are one name); TOO_LARGE if the
 * directory has more than 16 MiB. */
dt_status *dt_zip_read(dt_arena *arena, const char *path, dt_zip *out) DT_MUST_USE;
/* Opens a member as if it were a file. A stored member is read once completely to verify its
 * checksum. Error DATA_FILE: the member is encrypted, damaged, not where the directory says, or
 * packed by a method other than deflate; GZIP_DAMAGED: a wrong checksum. The caller sets *out to
 * NULL before, and closes it even after an error. */
dt_status *dt_zip_open(dt_inflow **out, const char *path, const dt_zip_member *m) DT_MUST_USE;
/* Adds all bytes of the member of that name to the text; *found: whether there is one. Errors:
 * those of dt_zip_read and dt_zip_open; TOO_LARGE if the text would have more than `most` bytes. */
dt_status *dt_zip_read_text(const char *path, const char *member, size_t most, dt_str *text,
                            bool *found) DT_MUST_USE;

/* ---- writing: members are stored without compression ---- */

typedef struct dt_archived {
    char *name;
    uint32_t crc;
    int64_t size, offset;
} dt_archived;

typedef struct dt_archive {
    dt_writer *file; /* lent; at first positioned at its beginning */
    int64_t at;      /* number of bytes written so far */
    int n, cap;
    dt_archived *member; /* [n] facts of the members in the order in which they were begun */
} dt_archive;

/* Begins a member. The bytes that are put after this call belong to it. Error TOO_LARGE: the name
 * is too long. */
dt_status *dt_archive_begin(dt_archive *a, const char *name, uint32_t crc,
                            int64_t size) DT_MUST_USE;
dt_status *dt_archive_put(dt_archive *a, const void *bytes, size_t n) DT_MUST_USE;
/* Sets checksum and size of member i: rewrites its header and, after that, the n bytes `head`. The
 * next bytes go to the end of the archive again. */
dt_status *dt_archive_amend(dt_archive *a, int i, const dt_archived *facts, const void *head,
                            size_t n) DT_MUST_USE;
dt_status *dt_archive_put_directory(dt_archive *a) DT_MUST_USE;
void dt_archive_release(dt_archive *a); /* a zeroed archive is allowed; the file stays open */

#endif
