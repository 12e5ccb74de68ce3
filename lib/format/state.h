/* SPDX-License-Identifier: Apache-2.0 */
/* state.json: the contents of a checkpoint besides its tensors, and the checksums of its files. */
#ifndef DT_FORMAT_STATE_H
#define DT_FORMAT_STATE_H

#include "base/status.h"
#include "base/arena.h"
#include "format/format.h"

/* Names of the files in a checkpoint. */
#define DT_MODEL_FILE "model.safetensors"
#define DT_OPTIMIZER_FILE "optimizer.safetensors"
/* name of the file with the tensors that callbacks keep */
#define DT_CALLBACKS_FILE "callbacks.safetensors"
/* name of the file with the variables of custom loops */
#define DT_VARIABLES_FILE "variables.safetensors"
#define DT_STATE_FILE "state.json"

/* The files with tensors: two that every checkpoint has, then two that some have. */
typedef struct dt_tensor_file {
    const char *name, *title; /* the file's name, and its title for users, such as "weights" */
    /* for optional files: offsets in dt_state_file of the members with the arrays and with the
     * checksum */
    size_t arrays, sha256;
} dt_tensor_file;
extern const dt_tensor_file dt_tensor_files[DT_TENSOR_FILES];
/* For file i of dt_tensor_files, which must be an optional one, dt_state_arrays returns the tensors
 * to be saved, and dt_state_sha256 the address of the member with the file's checksum. The checksum
 * is NULL if there is no such file. */
const dt_arrays *dt_state_arrays(const dt_state_file *s, int i);
const char **dt_state_sha256(dt_state_file *s, int i);

/* Writes the text of state.json. */
void dt_state_print(const dt_state_file *state, const dt_digest *model, const dt_digest *optimizer,
                    dt_str *out);

typedef struct dt_state_read {
    dt_arena *arena;  /* memory for the strings of the state */
    const char *path; /* path of the checkpoint's directory */
    dt_state_file state;
    char model_sha256[65], optimizer_sha256[65];
} dt_state_read;
/* Reads r->path/state.json, at most 64 MiB, into the other members of r. Errors: NO_INPUT if there
 * is no such directory; CHECKPOINT if the file is missing or damaged, or if it or the directory is
 * a symbolic link; CHECKPOINT_VERSION for another format version. */
dt_status *dt_state_load(dt_state_read *r) DT_MUST_USE;

/* Checks that the path is a regular file and not a link; error CHECKPOINT if not. */
dt_status *dt_check_plain(const char *path) DT_MUST_USE;

/* Whether an error means that this checkpoint is damaged, missing or cannot be read (exit codes 65,
 * 66 and 74), so that an older one should be tried. False: another error, such as that the system
 * refused memory or access. */
bool dt_state_is_damage(const dt_status *s);

/* ---- names of checkpoints in the directory ckpt/ ---- */

typedef struct dt_step_name {
    /* name of a checkpoint's directory, such as "step-00000295" or "step-00000310.tmp" */
    const char *name;
    int64_t step;
    /* generation of the run that saved it, set by dt_steps_rank; -1: state.json cannot be read, or
     * is of another step than the name */
    int64_t generation;
} dt_step_name;

typedef struct dt_step_list {
    int n;
    dt_step_name *item; /* [n] the checkpoints; allocated in the arena, as are their names */
} dt_step_list;

/* Reads the step from a name: "step-" and 8 to 18 digits; more than 8 must not begin with 0. False:
 * it is not such a name. */
bool dt_step_parse(const char *name, int64_t *step);
/* Like dt_step_parse, for the last part of a path, which may end with slashes. */
bool dt_step_of_path(const char *path, int64_t *step);
/* Returns the error CHECKPOINT if `step`, the step in the checkpoint's state, differs from the step
 * in its name. A name without a step is accepted. */
dt_status *dt_step_match(const char *path, int64_t step) DT_MUST_USE;
/* Returns the name of a step's checkpoint, in the arena. */
char *dt_step_format(dt_arena *arena, int64_t step);

/* Lists the checkpoints in the directory by step, or with `temporary` those ending in .tmp; the
 * list is empty if there is no directory. A warning about each other name is appended to *strange
 * (may be NULL) unless the name ends in .tmp or begins with a dot. */
dt_status *dt_steps_list(dt_arena *arena, const char *ckpt, bool temporary, dt_step_list *out,
                         dt_status **strange) DT_MUST_USE;

/* Reads each state.json for its generation and sorts by (generation, step), the oldest first.
 * Those whose state cannot be read, or is of another step than the name, get generation -1 and come
 * first; warnings about them are appended to *warnings (may be NULL). Errors: only those for which
 * dt_state_is_damage is false, such as no memory. */
dt_status *dt_steps_rank(const char *ckpt, dt_step_list *list, dt_status **warnings) DT_MUST_USE;

#endif
