/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that callbacks write line by line, or record by record. As with history.jsonl, a file never
 * runs ahead of the newest checkpoint: a run that resumes first cuts what was written after it. An
 * epoch within which a run ends is written too, and removed when a run with more steps resumes
 * there.
 *
 * A run that leaves older state behind (--fresh, an older checkpoint) writes PATH.GENERATION beside
 * it, until it has a checkpoint itself.
 */
#ifndef DT_TRAIN_RUN_LOG_H
#define DT_TRAIN_RUN_LOG_H

#include "train/hook.h"

typedef struct dt_run_log {
    const char *path;   /* as it will be called */
    dt_writer file;     /* path NULL: it is not open */
    int64_t size, end;  /* bytes of whole epochs; and with the one within which the run ends */
    int64_t generation; /* of the run */
    bool aside;
} dt_run_log;

/* Of a file of so many bytes what stays: the first `keep`; replaced whole, and only where something
 * goes. A missing file is none of our business. */
dt_status *dt_run_log_cut(const char *path, int64_t keep) DT_MUST_USE;
/* How much of a log stays when the run goes on. */
int64_t dt_run_log_kept(const run *r, int64_t size, int64_t end);

/* Opens l->path: where a run goes on, what it wrote stays; else nothing does, unless `append`.
 * l->size: bytes that are there. */
dt_status *dt_run_log_open(run *r, dt_run_log *l, bool append) DT_MUST_USE;
/* provisional: it is taken back when a run with more steps goes on. */
dt_status *dt_run_log_put(dt_run_log *l, const void *bytes, size_t n, bool provisional) DT_MUST_USE;
/* Before a checkpoint; after it. */
dt_status *dt_run_log_save(dt_run_log *l, dt_json *j) DT_MUST_USE;
dt_status *dt_run_log_saved(dt_run_log *l) DT_MUST_USE;
void dt_run_log_restore(dt_run_log *l, const json_t *kept);
void dt_run_log_close(dt_run_log *l);

#endif
