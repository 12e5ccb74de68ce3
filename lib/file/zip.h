/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a ZIP archive, such as numpy.savez writes: where members lie and how they are packed. */
#ifndef DT_FILE_ZIP_H
#define DT_FILE_ZIP_H

#include "base/arena.h"
#include "file/gzip.h"

typedef struct dt_zip_member {
    const char *name;
    int64_t header;          /* where the member's own header stands */
    int64_t packed, size;    /* bytes in the archive; unpacked */
    uint32_t crc;            /* CRC-32 of the unpacked bytes */
    int method, flags;
} dt_zip_member;

typedef struct dt_zip {
    int n;
    dt_zip_member *member; /* [n] in the arena */
} dt_zip;

/* Whether a file begins as ZIP archives do; false also where it cannot be read. */
bool dt_zip_is(const char *path);
/* Reads and checks the whole directory. */
dt_status *dt_zip_read(dt_arena *arena, const char *path, dt_zip *out) DT_MUST_USE;
/* A member as if it were a file by itself. One that is stored is read through, to see that its checksum is right. */
dt_status *dt_zip_open(dt_inflow **out, const char *path, const dt_zip_member *m) DT_MUST_USE;

#endif
