/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named arrays, which other programs may have written: their directories. */
#ifndef DT_FORMAT_WEIGHTS_H
#define DT_FORMAT_WEIGHTS_H

#include "format/format.h"

typedef struct dt_stored_array {
    const char *name;      /* lent by the file's directory */
    const char *dtype;     /* the dtype's name in the file */
    bool known;            /* the dtype is supported; else type.dtype has no meaning */
    dt_type type;          /* type in memory: float32 for floats of 16 bits */
    int64_t offset, bytes; /* position of the stored bytes in the file */
    const void *member;    /* for NPZ: the member of the archive */
    bool named;            /* the model has a weight with the name of the array */
} dt_stored_array;

typedef struct dt_stored_arrays dt_stored_arrays;
struct dt_stored_arrays {
    const char *path; /* lent */
    int fd;
    int64_t size;
    dt_arena *arena;
    void *header; /* a dt_safetensors_header, if the format is safetensors */
    int n;
    dt_stored_array *array; /* [n], sorted by name */
    dt_status *(*read)(const dt_stored_arrays *s, const dt_stored_array *a, void *data);
};

/* Opens a file and checks its directory: all data that it describes must be in the file. Error
 * NO_INPUT, CHECKPOINT. */
dt_status *dt_stored_open(dt_stored_arrays *s, const char *path) DT_MUST_USE;
/* dt_stored_open for an open file of a checkpoint. */
dt_status *dt_stored_open_held(dt_stored_arrays *s, const dt_held_file *f) DT_MUST_USE;
void dt_stored_close(dt_stored_arrays *s);
/* Reads the directory of an open file of that format. */
dt_status *dt_stored_safetensors(dt_stored_arrays *s) DT_MUST_USE;
dt_status *dt_stored_npz(dt_stored_arrays *s) DT_MUST_USE;

/* What to do with files of weights that are refused. */
#define DT_SAVE_WEIGHTS                                                                            \
    "save the weights as .safetensors or .npz: docs/coming-from-keras.md#weights"
#define DT_CONVERT_HDF5 "dtrain ckpt convert FILE -o weights.safetensors reads it"

#endif
