/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a file for trace viewers: gzipped Trace Event JSON, which Perfetto and
 * chrome://tracing open directly. */
#ifndef DT_FORMAT_RECORDING_H
#define DT_FORMAT_RECORDING_H

#include "base/recorder.h"

#define DT_RECORDING_FILE "trace.json.gz" /* name of the file in output.dir */

typedef struct dt_recording {
    const dt_recorder *recorder; /* the recorder, which must be switched off */
    const char *job;
    int64_t first, last; /* number of the first and the last step that were recorded */
} dt_recording;
/* Writes the file and commits it by rename. *lost (may be NULL): number of spans that were
 * overwritten. */
dt_status *dt_recording_write(const char *path, const dt_recording *what,
                              int64_t *lost) DT_MUST_USE;

#endif
