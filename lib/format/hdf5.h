/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keras' files of weights, which are HDF5. They are read by libhdf5, which is loaded only for this
 * purpose, in a child process with limits. The child writes a safetensors file with dtrain's names,
 * which is read like a file from an untrusted source. Writing needs no library.
 *
 *     hdf5_child.c    the process, its limits and its end
 *     hdf5.c          libhdf5, and the walk through a file
 *     hdf5_names.c    Keras' groups as the paths of weights
 *     hdf5_write.c    the other direction: groups and arrays as a file
 */
#ifndef DT_FORMAT_HDF5_H
#define DT_FORMAT_HDF5_H

#include <jansson.h>

#include "format/format.h"

/* Whether the file is HDF5, or a .keras archive with weights. */
bool dt_hdf5_is(const char *path);
/*
 * Writes the weights as safetensors to an unnamed file in memory, f->fd, closed by the caller.
 * f->path is lent. Errors: NO_INPUT if there is no such file; PLUGIN if libhdf5 is not installed or
 * lacks a function; CHECKPOINT if the file is damaged, or if reading it exceeds a limit. Limits, by
 * the size of the HDF5 data (unpacked, in an archive): 256 MiB of memory plus four times that size;
 * 60 s of processor time plus 1 s for each 4 MiB, and four times as much time by the clock; no
 * other file may be opened.
 */
dt_status *dt_hdf5_read(const char *path, dt_held_file *f) DT_MUST_USE;

/* ---- in the child ---- */

/* The location of a group or an array: its keys from the root on, and Keras' name of each group on
 * the way. */
enum { DT_HDF5_DEPTH = 12, DT_HDF5_NAME = 256 };
typedef struct dt_hdf5_place {
    int n;
    char key[DT_HDF5_DEPTH][DT_HDF5_NAME];
    /* Keras' name of each group: the attribute `name` of its `vars`, or else the group's key. */
    char name[DT_HDF5_DEPTH][DT_HDF5_NAME];
    /* the archive's config.json; NULL: the file is not an archive, or its config.json is missing or
     * not JSON */
    const json_t *model;
} dt_hdf5_place;
/*
 * Sets *out to the path of a weight in dtrain, in the arena: "lstm/lstm_cell/kernel". key[n - 1] is
 * the array's; count: number of members of its group. *out NULL: the array is not a weight, but for
 * example a state of the optimizer. Error CHECKPOINT: a layer whose weights are not known.
 */
dt_status *dt_hdf5_name(const dt_hdf5_place *at, int count, dt_arena *arena,
                        const char **out) DT_MUST_USE;
/* Reads all weights of the open file. Their data is never freed, since the process ends afterwards.
 * `limit` is called with the file's size after the library is loaded and before the file is read.
 * model: see dt_hdf5_place. */
dt_status *dt_hdf5_arrays(int fd, const json_t *model, dt_status *(*limit)(int64_t), int64_t size,
                          dt_arena *arena, dt_arrays *out) DT_MUST_USE;

/* ---- writing ---- */

/* A group or an array of a file to be written. A group needs no item if it only occurs in the paths
 * of other items. */
typedef struct dt_hdf5_item {
    const char *path; /* path, such as "layers/dense/vars/0", of letters, digits and _ */
    const char *name; /* value of the attribute `name` that the group gets; NULL: no attribute */
    const dt_named_view *array; /* the array of floats to write; NULL: the item is a group */
} dt_hdf5_item;
/* Where the bytes of a file are written, in their order. */
typedef struct dt_hdf5_sink {
    dt_status *(*put)(void *user, const void *bytes, size_t n);
    void *user;
} dt_hdf5_sink;
/* Writes n items with different paths, given in any order. Equal items yield equal bytes. Error
 * CHECKPOINT_MODEL: an array holds neither float32 nor float64, or a name has more than 60,000
 * bytes. */
dt_status *dt_hdf5_write(const dt_hdf5_item *item, int n, const dt_hdf5_sink *to) DT_MUST_USE;

#endif
