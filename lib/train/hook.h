/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks: functions that a run calls at certain moments. A hook is one file and one row of hooks.h.
 * Some belong to every run, such as those for recording, faults and events; the others are
 * callbacks, which a job lists in `fit.callbacks`: each row begins with a dt_kind, whose table of
 * fields reads the callback's arguments. The moments:
 *
 *     open ── begin
 *     [ step_begin ── step_end ── (test_begin ── test_end) ── (epoch_end) ── settled ── (saved) ]*
 *     train_end ── (saved) ── end ── close
 *
 * Callbacks receive Keras' `logs` at the end of an epoch. A callback may add to them: the callbacks
 * after it, the history and the epoch's line contain what it added. A decision of a callback (to
 * stop, to reduce the rate) depends only on logs and on its memory, and every checkpoint contains
 * that memory. So an interrupted run decides as an undisturbed one.
 */
#ifndef DT_TRAIN_HOOK_H
#define DT_TRAIN_HOOK_H

#include <jansson.h>

#include "base/json.h"
#include "train/run.h"

typedef struct dt_hook_row dt_hook_row;

/* A hook of one run. */
typedef struct dt_hook {
    const dt_hook_row *row;
    /* the callback's entry in the job; NULL: the hook belongs to every run */
    const dt_named *named;
    /* A callback's name in checkpoints: "EarlyStopping", for a second one "EarlyStopping_1". */
    const char *key;
    void *state; /* the hook's own state, which `open` makes, usually in the run's arena */
    int mark;    /* number of the kind of span that a recording shows for this callback */
} dt_hook;

/* Keras' logs: "loss", "accuracy", "val_loss", ... */
typedef struct dt_logs {
    dt_metric *metric; /* [DT_MAX_LOGS] the values, of which n are used */
    int n;
    /* whether the logs come from a validation by steps within an epoch, not from the epoch's end */
    bool between;
} dt_logs;
/* Returns a metric's value, lent; NULL: the logs have no such metric. */
const double *dt_logs_find(const dt_logs *logs, const char *name);
void dt_logs_put(dt_logs *logs, const char *name, double value);

/* A finished step, number r->at.step. */
typedef struct dt_step_done {
    const dt_example *batch;
    double loss;    /* loss of the batch, computed before the step's update */
    double seconds; /* seconds of the step, including the wait for data */
    dt_logs logs;   /* logs over the epoch's steps so far */
} dt_step_done;

/* The functions of a hook. Each may be NULL. An error that one returns ends the run. */
struct dt_hook_row {
    dt_kind kind; /* the kind of callback that a job can list; zeros for a hook of every run */
    /* whether the callback changes the learning rate, which must then be a variable */
    bool varies_rate;
    /* whether a job may list the callback only once, because a second one would undo the first */
    bool once;
    /* Refuses a job in which the callback cannot be used. */
    dt_status *(*check)(const dt_callback_job *job, const dt_named *named);

    /* Saves and restores the callback's memory, which are members of a JSON object. `restore` is
     * called after `open`, if the run resumes from a checkpoint that has memory of this callback.
     * The tensors that `arrays` lists are saved with the memory, and are filled after `restore`. */
    dt_status *(*save)(run *r, dt_hook *h, dt_json *j);
    void (*restore)(run *r, dt_hook *h, const json_t *kept);
    dt_arrays (*arrays)(const dt_hook *h);

    /* The moments. The run's position is unknown at `open`, and known from `begin` on; dry runs and
     * a parameter server's workers have only `open` and `close`. */
    dt_status *(*open)(run *r, dt_hook *h);
    dt_status *(*begin)(run *r, dt_hook *h);
    dt_status *(*step_begin)(run *r, dt_hook *h); /* called before step r->at.step + 1 */
    dt_status *(*step_end)(run *r, dt_hook *h, const dt_step_done *done);
    dt_status *(*test_begin)(run *r, dt_hook *h);
    /* the keys of the logs have no prefix val_ */
    dt_status *(*test_end)(run *r, dt_hook *h, const dt_logs *logs);
    /* called at the end of an epoch, also if the run ends within it, and after a validation by
     * steps */
    dt_status *(*epoch_end)(run *r, dt_hook *h, dt_logs *logs);
    /* called when the step, and an epoch that it ended, are complete */
    dt_status *(*settled)(run *r, dt_hook *h);
    /* called after checkpoint r->out.checkpoint was written */
    dt_status *(*saved)(run *r, dt_hook *h);
    /* called before the last checkpoint; not if the run fails */
    dt_status *(*train_end)(run *r, dt_hook *h);
    /* called after the last checkpoint; not if the run fails */
    dt_status *(*end)(run *r, dt_hook *h);
    /* called last, also if `open` or the run failed (r->fault) */
    void (*close)(run *r, dt_hook *h);
};

#define DT_HOOK(name) extern const dt_hook_row dt_hook_##name;
#define DT_CALLBACK(name) extern const dt_hook_row dt_callback_##name;
#include "train/hooks.h"

/* Opens the hooks of every run, then the job's callbacks. */
dt_status *dt_hooks_open(run *r) DT_MUST_USE;
dt_status *dt_hooks_begin(run *r) DT_MUST_USE;
dt_status *dt_hooks_step_begin(run *r) DT_MUST_USE;
dt_status *dt_hooks_step_end(run *r, const dt_step_done *done) DT_MUST_USE;
dt_status *dt_hooks_test_begin(run *r) DT_MUST_USE;
dt_status *dt_hooks_test_end(run *r, const dt_sums *sums) DT_MUST_USE;
dt_status *dt_hooks_epoch_end(run *r, dt_logs *logs) DT_MUST_USE;
dt_status *dt_hooks_settled(run *r) DT_MUST_USE;
dt_status *dt_hooks_saved(run *r) DT_MUST_USE;
dt_status *dt_hooks_train_end(run *r) DT_MUST_USE;
dt_status *dt_hooks_end(run *r) DT_MUST_USE;
void dt_hooks_close(run *r);

/* dt_hooks_save sets *text to the memory of all callbacks, for a checkpoint, as JSON in the
 * arena; NULL: there is none. A learning rate that callbacks may change is part of it.
 * dt_hooks_arrays returns their tensors, which are named KEY/name. */
dt_status *dt_hooks_save(run *r, dt_arena *arena, const char **text) DT_MUST_USE;
dt_arrays dt_hooks_arrays(const run *r, dt_arena *arena);
/* Restores the memory and the tensors of all callbacks, and a learning rate that is a variable,
 * from a checkpoint. A callback without memory in it starts afresh. Fails with CHECKPOINT if the
 * memory is not a JSON object, or if the tensors cannot be read. */
dt_status *dt_hooks_restore(run *r, const dt_saved *c) DT_MUST_USE;
/* Writes x under `key`. NaN and infinity, which JSON does not have, become texts. */
void dt_keep_number(dt_json *j, const char *key, double x);
/* Read a number, or a count >= 0, from saved memory; a number may be NaN or infinity. They return
 * false, and leave *x or *n unchanged, if it is missing or something else. */
bool dt_kept_number(const json_t *kept, const char *key, double *x);
bool dt_kept_count(const json_t *kept, const char *key, int64_t *n);

/* Whether a callback is called after every step, so that steps cannot overlap. */
bool dt_callbacks_look_at_steps(const run *r);
/* Whether the run has just completed a multiple of `every` epochs, or of `every` steps if fit.steps
 * is set. */
bool dt_callback_is_due(const run *r, int64_t every);
/* Whether the current epoch has had all its steps. False if the run ends within it; a later run may
 * continue there. */
bool dt_epoch_is_whole(const run *r);
/* Whether lines about the current epoch are provisional: a longer run that continues within this
 * epoch removes them. Results of validations by steps always stay. */
bool dt_epoch_is_provisional(const run *r);
/* Reports what a callback did: "reducing learning rate to 0.0005". */
void dt_callback_report(run *r, const dt_hook *h, const char *format, ...) DT_PRINTF(3, 4);
/* Emits the reports that callbacks have made, as events. */
void dt_callbacks_emit(run *r);
/* Returns the path DIR/name, where DIR is output.dir, in the run's arena. Fails with CALLBACK if
 * the run has no directory. Fails with CANT_CREATE if a folder on the path below DIR is a symbolic
 * link. */
dt_status *dt_callback_path(run *r, const dt_hook *h, const char *name,
                            const char **path) DT_MUST_USE;
/* Like dt_callback_path, for a folder. Fails also if the folder itself is a symbolic link. */
dt_status *dt_callback_folder(run *r, const dt_hook *h, const char *name,
                              const char **path) DT_MUST_USE;
/* Fails, with an error located at the argument: with CALLBACK if the path is not below output.dir,
 * or is reserved for the run's own files; with NOT_LOCAL if it is not a path of this machine
 * (dt_path_check). */
dt_status *dt_callback_check_path(const dt_named *named, const char *argument,
                                  const char *path) DT_MUST_USE;
/* Returns the source location of an argument or, if the job leaves it out, that of the callback's
 * name. */
const dt_location *dt_callback_place(const dt_named *named, const char *argument);

/* dt_run_rate gets the learning rate of the next step, dt_run_set_rate sets it, which is possible
 * only if varies_rate made it a variable. */
dt_status *dt_run_rate(const run *r, double *rate) DT_MUST_USE;
void dt_run_set_rate(run *r, double rate);

#endif
