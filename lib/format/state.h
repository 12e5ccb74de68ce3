/* SPDX-License-Identifier: Apache-2.0 */
/* state.json: what a checkpoint knows besides its tensors, and the checksums of its files. */
#ifndef DT_FORMAT_STATE_H
#define DT_FORMAT_STATE_H

#include "format/format.h"

/* The files of a checkpoint. */
#define DT_MODEL_FILE "model.safetensors"
#define DT_OPTIMIZER_FILE "optimizer.safetensors"
#define DT_CALLBACKS_FILE "callbacks.safetensors" /* where callbacks keep tensors */
#define DT_VARIABLES_FILE "variables.safetensors" /* where custom loops keep variables */
#define DT_STATE_FILE "state.json"

/* The files with tensors: two that every checkpoint has, then two that some have. */
typedef struct dt_tensor_file {
    const char *name, *title; /* as people see it: "weights" */
    size_t arrays, sha256;    /* of the optional ones: where they are in dt_state_file */
} dt_tensor_file;
extern const dt_tensor_file dt_tensor_files[DT_TENSOR_FILES];
/* Of optional file i: its tensors to be saved, and the SHA-256 of the file, NULL where there is
 * none. */
const dt_arrays *dt_state_arrays(const dt_state_file *s, int i);
const char **dt_state_sha256(dt_state_file *s, int i);

/* The text of the file. */
void dt_state_print(const dt_state_file *state, const dt_digest *model, const dt_digest *optimizer,
                    dt_str *out);

typedef struct dt_state_read {
    dt_arena *arena;  /* for the strings */
    const char *path; /* of the checkpoint directory */
    dt_state_file state;
    char model_sha256[65], optimizer_sha256[65];
} dt_state_read;
/* Reads r->path/state.json, at most 64 MiB. The directory and the file must be no links. No
 * directory: NO_INPUT. */
dt_status *dt_state_load(dt_state_read *r) DT_MUST_USE;

/* A plain file, no link: CHECKPOINT otherwise. */
dt_status *dt_check_plain(const char *path) DT_MUST_USE;

/* Whether an older checkpoint is worth a try: this one is damaged or gone, as opposed to the system
 * refusing memory or access. */
bool dt_state_is_damage(const dt_status *s);

#endif
