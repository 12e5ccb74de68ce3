/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named arrays that other programs may have written: what lies in them. */
#ifndef DT_FORMAT_WEIGHTS_H
#define DT_FORMAT_WEIGHTS_H

#include "format/format.h"

typedef struct dt_stored_array {
    const char *name;  /* lent by the file's */
    const char *dtype; /* as the file calls it */
    bool known;        /* the dtype is supported; else type.dtype has no meaning */
    dt_type type;
    int64_t offset, bytes; /* of what lies in the file */
    const void *member;    /* NPZ: the archive's */
    bool named;            /* a weight of the model has its name */
} dt_stored_array;

typedef struct dt_stored_arrays dt_stored_arrays;
struct dt_stored_arrays {
    const char *path; /* lent */
    int fd;
    int64_t size;
    dt_arena *arena;
    void *header; /* of safetensors: a dt_header */
    int n;
    dt_stored_array *array; /* [n], by name */
    dt_status *(*read)(const dt_stored_arrays *s, const dt_stored_array *a, void *data);
};

/* Opens a file and checks all of its directory: every size it names is there. NO_INPUT,
 * CHECKPOINT. */
dt_status *dt_stored_open(dt_stored_arrays *s, const char *path) DT_MUST_USE;
/* The same of a checkpoint's file that is open. */
dt_status *dt_stored_open_held(dt_stored_arrays *s, const dt_held_file *f) DT_MUST_USE;
void dt_stored_close(dt_stored_arrays *s);
/* The directory of an open file, by kind. */
dt_status *dt_stored_safetensors(dt_stored_arrays *s) DT_MUST_USE;
dt_status *dt_stored_npz(dt_stored_arrays *s) DT_MUST_USE;

#endif
