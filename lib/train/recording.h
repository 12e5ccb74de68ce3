/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of a run's recording. Without output.trace they record nothing. */
#ifndef DT_TRAIN_RECORDING_H
#define DT_TRAIN_RECORDING_H

#include "format/recording.h"
#include "train/run.h"

/* Creates a kind of span for the calls of a callback, and returns its number. */
int dt_recording_callback(run *r, const char *name);

static inline int64_t dt_recording_since(const run *r) { return dt_span_begin(r->recording.main); }
static inline void dt_recording_span(run *r, int mark, int64_t since) {
    dt_span_end(r->recording.main, mark, since, (dt_numbers){{r->at.step}});
}

#endif
