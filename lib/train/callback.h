/*
 * Callbacks: what a run does beside training. One file in lib/train/callback and one row in callbacks.h each; a row begins with a dt_kind, so
 * its arguments are read from `fit.callbacks` by a field table. A callback looks and tells. It changes nothing that is trained, so
 * checkpoints know nothing of it, and a resumed run tells the same.
 */
#ifndef DT_TRAIN_CALLBACK_H
#define DT_TRAIN_CALLBACK_H

#include "train/run.h"

typedef struct dt_callback_row {
    dt_kind kind;
    /* What is wrong with it beside this model and these data; NULL: it goes with all. */
    dt_status *(*check)(const dt_named *named, const dt_model_spec *model, const dt_dataset_spec *data);
    /* Before the first step; *state is its own. NULL, like the others: there is nothing to do. */
    dt_status *(*open)(const run *r, const dt_named *named, void **state);
    /* After every step. */
    dt_status *(*step)(const run *r, void *state);
    void (*close)(void *state); /* takes NULL */
} dt_callback_row;

#define DT_CALLBACK_ROW(name) extern const dt_callback_row dt_callback_##name;
#include "train/callbacks.h"
#undef DT_CALLBACK_ROW

/* Whether `every` steps, or epochs where fit counts in those, have just been done. */
bool dt_callback_is_due(const run *r, int64_t every);

/* All callbacks of a run; the states go into r. */
dt_status *dt_callbacks_open(run *r) DT_MUST_USE;
dt_status *dt_callbacks_step(run *r) DT_MUST_USE;
void dt_callbacks_close(run *r);

#endif
