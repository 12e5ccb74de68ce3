/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing ZIP archives whose members are stored as they are, one after the other:
 *
 *     for each member    local header: "PK\3\4", CRC-32, sizes, name;  its bytes
 *     directory          for each member "PK\1\2", the same and where it begins
 *     end                "PK\5\6", how many, where the directory is
 *
 * A header says what is known when the member begins, or is written again when that is known. Sizes have 32 bits: archives end at 4 GiB.
 */
#ifndef DT_FILE_ARCHIVE_H
#define DT_FILE_ARCHIVE_H

#include "base/file.h"

typedef struct dt_archived {
    char *name;
    uint32_t crc;
    int64_t size, offset;
} dt_archived;

typedef struct dt_archive {
    dt_writer *file; /* lent, at its beginning */
    int64_t at;      /* bytes so far */
    int n, cap;
    dt_archived *member; /* [n] */
} dt_archive;

/* What is put next belongs to a member of that name. TOO_LARGE: it does not fit. */
dt_status *dt_archive_begin(dt_archive *a, const char *name, uint32_t crc, int64_t size) DT_MUST_USE;
dt_status *dt_archive_put(dt_archive *a, const void *bytes, size_t n) DT_MUST_USE;
/* TOO_LARGE where so many more bytes are too many; nothing is written. */
dt_status *dt_archive_has_room(const dt_archive *a, int64_t bytes) DT_MUST_USE;
/* Member i has this checksum and this size: its header is written again, `head` (n bytes) behind it, and what is put next goes to the end. */
dt_status *dt_archive_amend(dt_archive *a, int i, const dt_archived *facts, const void *head, size_t n) DT_MUST_USE;
dt_status *dt_archive_put_directory(dt_archive *a) DT_MUST_USE;
void dt_archive_release(dt_archive *a); /* takes a zeroed one; the file stays open */

#endif
