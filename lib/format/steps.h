/* SPDX-License-Identifier: Apache-2.0 */
/* Names of checkpoints in the directory ckpt/. */
#ifndef DT_FORMAT_STEPS_H
#define DT_FORMAT_STEPS_H

#include "base/arena.h"
#include "base/status.h"

typedef struct dt_step_name {
    const char *name; /* such as "step-00000295", "step-00000310.tmp" */
    int64_t step;
    int64_t generation; /* generation, set by dt_steps_rank; -1: state.json cannot be read */
} dt_step_name;

typedef struct dt_step_list {
    int n;
    dt_step_name *item; /* items and names are in the arena */
} dt_step_list;

/* Reads the step from a name: "step-" and at least 8 digits, without unnecessary zeros. False: it
 * is not such a name. */
bool dt_step_parse(const char *name, int64_t *step);
/* Like dt_step_parse, for the last part of a path, which may end with slashes. */
bool dt_step_of_path(const char *path, int64_t *step);
/* Returns the error CHECKPOINT if `step`, the step in the checkpoint's state, differs from the step
 * in its name. */
dt_status *dt_step_match(const char *path, int64_t step) DT_MUST_USE;
/* The name of a step's checkpoint, in the arena. */
char *dt_step_format(dt_arena *arena, int64_t step);

/* The checkpoints in the directory by step, or with `temporary` those ending in .tmp; the list is
 * empty if there is no directory. Other names are appended to *strange (may be NULL) unless they
 * end in .tmp or begin with a dot. */
dt_status *dt_steps_list(dt_arena *arena, const char *ckpt, bool temporary, dt_step_list *out,
                         dt_status **strange) DT_MUST_USE;

/* Reads each state.json for its generation and sorts by (generation, step), the oldest first.
 * Unreadable ones come first, and warnings about them are appended to *warnings (may be NULL).
 * Fails only if a system call fails. */
dt_status *dt_steps_rank(const char *ckpt, dt_step_list *list, dt_status **warnings) DT_MUST_USE;

#endif
