/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of checkpoints and files of weights, for inspection without a model. */
#ifndef DT_FORMAT_CONTENTS_H
#define DT_FORMAT_CONTENTS_H

#include "format/format.h"
#include "format/state.h"

/* ---- directories of files of named arrays ---- */

typedef struct dt_stored_array {
    const char *name; /* name of the array; owned by the dt_stored_arrays */
    /* name of the dtype in the file; NPZ: words for messages if it is not `known` */
    const char *dtype;
    bool known; /* the array can be read; else type.dtype has no meaning */
    /* the array's type in memory; safetensors' floats of 16 bits are read as float32 */
    dt_type type;
    /* offset: position of the data in a safetensors file (0 for NPZ); bytes: size of the data in
     * the file, compressed if the member of an NPZ file is */
    int64_t offset, bytes;
    const void *member; /* for NPZ files: the member of the archive that holds the array */
    bool named;         /* set by dt_weights_read: the model has a weight with the array's name */
} dt_stored_array;

typedef struct dt_stored_arrays dt_stored_arrays;
struct dt_stored_arrays {
    const char *path; /* path of the file, owned by the caller */
    int fd;
    int64_t size;
    dt_arena *arena;
    void *header; /* a dt_safetensors_header, if the format is safetensors */
    int n;
    dt_stored_array *array; /* [n] the arrays, sorted by name */
    dt_status *(*read)(const dt_stored_arrays *s, const dt_stored_array *a, void *data);
};

/* Opens a safetensors or an NPZ file, and checks its directory: all data that it describes must be
 * in the file, and no name may occur twice. Errors: NO_INPUT if there is no such file; CHECKPOINT
 * if its directory is invalid. */
dt_status *dt_stored_open(dt_stored_arrays *s, const char *path) DT_MUST_USE;
/* Like dt_stored_open, for a safetensors file that is open already. */
dt_status *dt_stored_open_held(dt_stored_arrays *s, const dt_held_file *f) DT_MUST_USE;
void dt_stored_close(dt_stored_arrays *s);
dt_status *dt_stored_npz(dt_stored_arrays *s) DT_MUST_USE;

/* Advice for errors about files of weights that cannot be read. */
#define DT_SAVE_WEIGHTS                                                                            \
    "save the weights as .safetensors or .npz: docs/coming-from-keras.md#weights"
#define DT_CONVERT_HDF5 "dtrain ckpt convert FILE -o weights.safetensors reads it"

/* ---- contents, and the checkpoints of a run ---- */

/* An opened checkpoint, the newest one of a run, or a file of weights, with the directories of its
 * tensors. The data stays on disk. */
typedef struct dt_contents {
    dt_saved checkpoint;
    int n; /* number of elements of `file` that are set; 1 for a file of weights */
    /* the files that the checkpoint has, in the order of dt_tensor_files */
    struct {
        const char *title; /* what the file's tensors are, such as "weights" */
        dt_stored_arrays arrays;
    } file[DT_TENSOR_FILES];
} dt_contents;
/* Opens the path and verifies checksums. Warnings about checkpoints that were skipped are appended
 * to *warnings (may be NULL). */
dt_status *dt_contents_open(dt_contents *c, const char *path, dt_status **warnings) DT_MUST_USE;
/* Closes the contents. Accepts contents that are all zeros. */
void dt_contents_close(dt_contents *c);
/* Reads the values of a tensor into *data, which the caller frees; *data is NULL, without an error,
 * if the array is not `known`. Error NO_MEMORY, or an error of reading. */
dt_status *dt_contents_read(const dt_stored_arrays *s, const dt_stored_array *a,
                            void **data) DT_MUST_USE;

/* Adds an array to weights_sha256: its name, dtype and shape as text, then its data as in memory.
 * All machines that dtrain runs on are little-endian. */
void dt_hash_array(dt_sha256 *h, const dt_named_view *a);
/* Hashes all arrays, ordered by name, in a separate thread. The arrays and the arena must not
 * change until dt_hash_end. */
dt_hash_thread *dt_weights_hash(const dt_arrays *a, dt_arena *arena);
/* Returns the number of infinities and NaNs in an array; 0 if it holds neither float32 nor
 * float64. */
int64_t dt_count_not_finite(const dt_named_view *a);
/* Checks that the weights have the SHA-256 that the state of the checkpoint names; error CHECKPOINT
 * if not. Files of weights have no such hash. */
dt_status *dt_weights_check(const dt_contents *c) DT_MUST_USE;

/* A checkpoint in a run's directory. Lists begin with the checkpoints whose `damage` is set; the
 * others follow from old to new. The checksums of files with tensors are not verified. */
typedef struct dt_listed {
    const char *path;
    dt_state_file state;
    /* bytes: sum of the sizes of state.json and of the files with tensors; saved_s: time at which
     * state.json was written, in seconds since 1970; if it is missing, that of another file; 0:
     * there is no file */
    int64_t bytes, saved_s;
    /* owned; the error that state.json is missing, damaged or of another step than the directory's
     * name; NULL: it is intact */
    dt_status *damage;
} dt_listed;
/* The step, or the epoch (from 1), whose weights a callback restored when the run finished; the
 * other member is 0. Both 0: the weights are those of the last step. */
typedef struct dt_kept {
    int64_t epoch, step;
} dt_kept;
dt_kept dt_listed_kept(const dt_listed *x);
typedef struct dt_listing {
    dt_arena *arena;
    int n;
    dt_listed *item;
} dt_listing;
dt_status *dt_listing_read(dt_listing *l, const char *run) DT_MUST_USE;
void dt_listing_release(dt_listing *l);
/* Whether a path is a run's directory: it contains ckpt/. */
bool dt_is_run(const char *path);
/* Returns the NO_INPUT error that `path` does not exist, or is `fault`, such as "not a run". If
 * `path` is a folder, it suggests the run that contains it, or runs and checkpoints in it.
 * Otherwise it suggests the run or checkpoint next to `path` with the most similar name, or some of
 * those there if no name is similar. */
dt_status *dt_no_run(const char *path, const char *fault) DT_MUST_USE;

#endif
