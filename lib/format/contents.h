/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of checkpoints and files of weights, for inspection without a model. */
#ifndef DT_FORMAT_CONTENTS_H
#define DT_FORMAT_CONTENTS_H

#include "format/state.h"
#include "format/weights.h"

/* An opened checkpoint, the newest one of a run, or a file of weights, with the directories of its
 * tensors. The data stays on disk. */
typedef struct dt_contents {
    dt_saved checkpoint;
    int n; /* number of files that exist, in the order of dt_tensor_files */
    struct {
        const char *title; /* title of the file's tensors, such as "weights" */
        dt_stored_arrays arrays;
    } file[DT_TENSOR_FILES];
} dt_contents;
/* Opens the path and verifies checksums. Warnings about checkpoints that were skipped are appended
 * to *warnings (may be NULL). */
dt_status *dt_contents_open(dt_contents *c, const char *path, dt_status **warnings) DT_MUST_USE;
void dt_contents_close(dt_contents *c); /* accepts zeroed contents */
/* A tensor's values, freed by the caller; NULL if dtrain does not have its type. */
dt_status *dt_contents_read(const dt_stored_arrays *s, const dt_stored_array *a,
                            void **data) DT_MUST_USE;

/* Adds an array to weights_sha256: its name, dtype and shape as text, then its data as in memory.
 * All machines that dtrain runs on are little-endian. */
void dt_hash_array(dt_sha256 *h, const dt_named_view *a);
/* Hashes all arrays, ordered by name, in a separate thread. The arrays and the arena must not
 * change until dt_hash_end. */
dt_hash_thread *dt_weights_hash(const dt_arrays *a, dt_arena *arena);
/* The number of infinities and NaNs in an array. */
int64_t dt_count_not_finite(const dt_named_view *a);
/* Checks that the weights have the SHA-256 that the state of the checkpoint names; error CHECKPOINT
 * if not. Files of weights have no such hash. */
dt_status *dt_weights_check(const dt_contents *c) DT_MUST_USE;

/* A checkpoint in a run's directory. Lists begin with damaged checkpoints, whose state cannot be
 * read; the others follow from old to new. Files are not verified. */
typedef struct dt_listed {
    const char *path;
    dt_state_file state;
    /* bytes: size of all files; saved_s: time of the save in seconds since 1970. */
    int64_t bytes, saved_s;
    dt_status *damage; /* NULL: state.json is not damaged */
} dt_listed;
/* The step, or the epoch (from 1), whose weights a callback restored when the run finished. 0: the
 * weights are those of the last step. */
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
/* The NO_INPUT error that `path` does not exist, or is `fault`, such as "not a run". It suggests
 * the runs and checkpoints in that folder, or the one next to `path` with the most similar name. */
dt_status *dt_no_run(const char *path, const char *fault) DT_MUST_USE;

#endif
