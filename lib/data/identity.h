/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a data set hold, so that a run's data is known again: by SHA-256, as far as
 * that is quick.
 *
 *     whole   every byte, of at most 256 MiB in at most 10,000 files
 *     ends    of more bytes: the first and the last 64 KiB of each file
 *     sizes   of more files: their sizes alone
 *
 * One file that was read whole has its own SHA-256, what `sha256sum` prints. Of several it is that
 * of a text with a line for each, in their order: "SHA256 BYTES WHAT", SHA256 of what was read of
 * it ("-": nothing), WHAT the element's name (arrays), "class/file" (pictures), or nothing.
 */
#ifndef DT_DATA_IDENTITY_H
#define DT_DATA_IDENTITY_H

#include <stdatomic.h>

#include "base/hash.h"
#include "data/data.h"

enum { DT_IDENTITY_FILES = 16 };

typedef enum dt_hashed { DT_HASHED_WHOLE, DT_HASHED_ENDS, DT_HASHED_SIZES } dt_hashed;
const char *dt_hashed_name(dt_hashed h); /* "whole" */

typedef struct dt_file_identity {
    const char *path, *what; /* lent by the data set */
    int64_t bytes, modified_s;
    dt_digest sha256; /* "": nothing of it was read */
} dt_file_identity;

typedef struct dt_identity {
    int64_t files, bytes; /* files 0: it has none, or those of the training part */
    dt_hashed hashed;
    dt_digest sha256;
    int n; /* the first ones */
    dt_file_identity file[DT_IDENTITY_FILES];
} dt_identity;

/* Reads the files of a part as they lie there now; may take seconds, and beside feeds. *stop set:
 * it ends soon, with STOPPED. */
dt_status *dt_identity_take(const dt_dataset *d, dt_part part, const atomic_bool *stop,
                            dt_identity *out) DT_MUST_USE;

#endif
