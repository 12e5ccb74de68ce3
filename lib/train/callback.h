/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks: what a run does besides training. One file in lib/train/callback and one row in
 * callbacks.h each; a row begins with a dt_kind, so its arguments are read from `fit.callbacks` by
 * a field table. They are called in the order of the list, at Keras' moments:
 *
 *     begin ── [ epoch_begin ── [ batch ── (by steps: test ── validation) ]* ── (test) ── epoch ]* ── end
 *
 * and they receive Keras' `logs` of an epoch: a callback may add to them, for those behind it, the
 * history and the epoch's line. What one decides (to stop, to learn more slowly) depends on logs
 * and on what it remembers, and what it remembers is in every checkpoint: a run that was
 * interrupted decides as the undisturbed one.
 */
#ifndef DT_TRAIN_CALLBACK_H
#define DT_TRAIN_CALLBACK_H

#include <jansson.h>

#include "base/json.h"
#include "train/run.h"

typedef struct dt_callback_row dt_callback_row;

/* One of a run's. */
typedef struct dt_callback {
    const dt_callback_row *row;
    const dt_named *named;
    /* "EarlyStopping", of a second one "EarlyStopping_1": what checkpoints call it */
    const char *key;
    void *state; /* its own, in the run's arena */
    int mark;    /* in a recording */
} dt_callback;

/* Keras' logs: "loss", "accuracy", "val_loss", ... */
typedef struct dt_logs {
    dt_metric *metric; /* [DT_MAX_LOGS] */
    int n;
} dt_logs;
/* NULL: they do not have it. */
const double *dt_logs_find(const dt_logs *logs, const char *name);
void dt_logs_put(dt_logs *logs, const char *name, double value);

/* Hooks that are NULL have nothing to do. */
struct dt_callback_row {
    dt_kind kind;
    bool varies_rate; /* it changes the learning rate, which is then a variable */
    bool once;        /* a second one would undo what the first does */
    /* What is wrong with it in this job. */
    dt_status *(*check)(const dt_callback_job *job, const dt_named *named);
    /* First of all: makes the state. */
    dt_status *(*open)(run *r, dt_callback *c);
    /* What it remembers, as entries of an object; and from there. Restoring is asked for what must
     * be loaded: see dt_callback_arrays. */
    dt_status *(*save)(run *r, dt_callback *c, dt_json *j);
    void (*restore)(run *r, dt_callback *c, const json_t *kept);
    /* The tensors that it keeps in checkpoints, to be saved, or to be filled after restore; none: n
     * is 0. */
    dt_arrays (*arrays)(const dt_callback *c);
    /* Where the run stands is known; not in dry runs. */
    dt_status *(*begin)(run *r, dt_callback *c);
    dt_status *(*epoch_begin)(run *r, dt_callback *c);
    dt_status *(*batch)(run *r, dt_callback *c, const dt_logs *logs); /* of the epoch so far */
    dt_status *(*test_begin)(run *r, dt_callback *c);
    /* validation data: "loss", without val_ */
    dt_status *(*test)(run *r, dt_callback *c, const dt_logs *logs);
    /* by steps, within an epoch: logs as an epoch's, of its steps so far */
    dt_status *(*validation)(run *r, dt_callback *c, dt_logs *logs);
    dt_status *(*epoch)(run *r, dt_callback *c, dt_logs *logs);
    /* after every step, and after the epoch that ends with it */
    dt_status *(*step)(run *r, dt_callback *c);
    /* after that of all: what they should not see any more */
    dt_status *(*settle)(run *r, dt_callback *c);
    /* a checkpoint is there: what an older run left may go */
    dt_status *(*saved)(run *r, dt_callback *c);
    dt_status *(*end)(run *r, dt_callback *c); /* all is trained, before the last checkpoint */
    void (*close)(dt_callback *c);             /* also where it did not open */
};

#define DT_CALLBACK_ROW(name) extern const dt_callback_row dt_callback_##name;
#include "train/callbacks.h"
#undef DT_CALLBACK_ROW

/* Whether `every` steps, or epochs where fit counts in those, have just been done. */
bool dt_callback_is_due(const run *r, int64_t every);
/* Whether the epoch that ends here has all its steps; else the run ends within it, and may go on
 * there. */
bool dt_epoch_is_whole(const run *r);
/* What is written of it then is taken back when the run goes on; validations by steps stay. */
bool dt_epoch_is_provisional(const run *r);
/* Tells people and programs what a callback did: "reducing learning rate to 0.0005". */
void dt_callback_say(run *r, const dt_callback *c, const char *format, ...) DT_PRINTF(3, 4);
/* dir/name of output.dir, in the run's arena; CALLBACK where the run has no directory, CANT_CREATE
 * where a folder on the way to it is a link. */
dt_status *dt_callback_path(run *r, const dt_callback *c, const char *name,
                            const char **path) DT_MUST_USE;
/* Likewise of a folder, which is no link itself. */
dt_status *dt_callback_folder(run *r, const dt_callback *c, const char *name,
                              const char **path) DT_MUST_USE;
/* That a name stays below output.dir: CALLBACK at the argument. */
dt_status *dt_callback_check_path(const dt_named *named, const char *argument,
                                  const char *path) DT_MUST_USE;
/* Where an argument stands; the callback's name where it is not given. */
const dt_location *dt_callback_place(const dt_named *named, const char *argument);

/* The rate of the next step; the second, with varies_rate alone. */
dt_status *dt_run_rate(const run *r, double *rate) DT_MUST_USE;
void dt_run_set_rate(run *r, double rate);

/* ---- all callbacks of a run ---- */

/* Before the run's position is known. */
dt_status *dt_callbacks_open(run *r) DT_MUST_USE;
dt_status *dt_callbacks_begin(run *r) DT_MUST_USE;
dt_status *dt_callbacks_epoch_begin(run *r) DT_MUST_USE;
dt_status *dt_callbacks_test_begin(run *r) DT_MUST_USE;
dt_status *dt_callbacks_test(run *r, const dt_sums *sums) DT_MUST_USE;
dt_status *dt_callbacks_validation(run *r, dt_logs *logs) DT_MUST_USE;
dt_status *dt_callbacks_epoch(run *r, dt_logs *logs) DT_MUST_USE;
dt_status *dt_callbacks_end(run *r) DT_MUST_USE;
void dt_callbacks_close(run *r);
/* Whether one of them does something after single steps. */
bool dt_callbacks_look_at_steps(const run *r);
/* Emits what was said. */
void dt_callbacks_emit(run *r);

/* callback_state.c: what all remember, for a checkpoint, and back. */
dt_status *dt_callbacks_save(run *r, const char **text) DT_MUST_USE;
dt_arrays dt_callbacks_arrays(const run *r);
dt_status *dt_callbacks_restore(run *r, const dt_saved *c) DT_MUST_USE;
/* Numbers of all kinds, not-a-number too, which JSON does not have. */
void dt_keep_number(dt_json *j, const char *key, double x);
/* False, and *x stays: it is not there. */
bool dt_kept_number(const json_t *kept, const char *key, double *x);
bool dt_kept_count(const json_t *kept, const char *key, int64_t *n);

#endif
