/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the contents of a data set's files by SHA-256, so that a run can tell whether its data
 * has changed. To stay quick, it may not read everything:
 *
 *     whole   up to 256 MiB in up to 10,000 files: every byte
 *     ends    more bytes: the first and the last 64 KiB of each file; files of up to 128 KiB whole
 *     sizes   more files: only their sizes
 *
 * The SHA-256 of a single file that was read whole is the one that `sha256sum` prints. In all other
 * cases it is that of a text with a line for each file, in order: "SHA256 BYTES WHAT". SHA256 is
 * that of the bytes read ("-" if only sizes are taken); WHAT is the element's name (arrays),
 * "class/file" (folders of classes), or empty.
 */
#ifndef DT_DATA_IDENTITY_H
#define DT_DATA_IDENTITY_H

#include <stdatomic.h>

#include "base/hash.h"
#include "data/data.h"

enum { DT_IDENTITY_FILES = 16 };

typedef enum dt_hashed { DT_HASHED_WHOLE, DT_HASHED_ENDS, DT_HASHED_SIZES } dt_hashed;
/* Returns the name of a way of hashing, such as "whole". */
const char *dt_hashed_name(dt_hashed h);

typedef struct dt_file_identity {
    const char *path, *what; /* lent by the data set */
    int64_t bytes, modified_s;
    dt_digest sha256; /* empty text for DT_HASHED_SIZES */
} dt_file_identity;

typedef struct dt_identity {
    /* number of files and their bytes; files is 0 if the part has no files, or reads those of the
     * training part */
    int64_t files, bytes;
    dt_hashed hashed;
    dt_digest sha256;
    int n; /* number of entries in `file`, which describe the first files */
    dt_file_identity file[DT_IDENTITY_FILES];
} dt_identity;

/* Identifies the files of a part as they are now. May take seconds; feeds may run meanwhile. Fails
 * with STOPPED soon after *stop is set. */
dt_status *dt_identity_take(const dt_dataset *d, dt_part part, const atomic_bool *stop,
                            dt_identity *out) DT_MUST_USE;

#endif
