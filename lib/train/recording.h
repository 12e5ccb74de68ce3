/* SPDX-License-Identifier: Apache-2.0 */
/* Recording some of a run's steps; everything is without effect where nothing is to be recorded. */
#ifndef DT_TRAIN_RECORDING_H
#define DT_TRAIN_RECORDING_H

#include "format/recording.h"
#include "train/run.h"

/* Before anything that makes marks: callbacks, feeds. */
dt_status *dt_recording_open(run *r) DT_MUST_USE;
void dt_recording_close(run *r); /* no feed is open any more */
/* A mark for what a callback does. */
int dt_recording_callback(run *r, const char *name);
/* Around a step and all that comes with it. */
int64_t dt_recording_step_begin(run *r);
void dt_recording_step_end(run *r, const dt_feed *feed, int64_t since);
/* Writes the file, if there is something to be written that has not been; whether the last step has
 * been recorded. */
dt_status *dt_recording_save(run *r) DT_MUST_USE;
bool dt_recording_is_over(const run *r);

static inline int64_t dt_recording_since(const run *r) { return dt_span_begin(r->recording.main); }
static inline void dt_recording_span(run *r, int mark, int64_t since) {
    dt_span_end(r->recording.main, mark, since, (dt_numbers){{r->at.step}});
}

#endif
