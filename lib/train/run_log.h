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
    const char *path;   /* the final name */
    dt_writer file;     /* path NULL: not open */
    int64_t size, end;  /* size: bytes of whole epochs; end: with the incomplete last epoch */
    int64_t generation; /* generation of the run, see dt_state_file */
    bool aside;
} dt_run_log;

/* Cuts a file to its first `keep` bytes, by replacing it. Does nothing if the file is shorter or
 * missing. */
dt_status *dt_run_log_cut(const char *path, int64_t keep) DT_MUST_USE;
/* The bytes of a log that stay when the run resumes. */
int64_t dt_run_log_kept(const run *r, int64_t size, int64_t end);

/* Opens l->path and sets l->size. A run that resumes keeps what it wrote; another one keeps the
 * file only with `append`. */
dt_status *dt_run_log_open(run *r, dt_run_log *l, bool append) DT_MUST_USE;
/* provisional: a longer run that resumes here removes it. */
dt_status *dt_run_log_put(dt_run_log *l, const void *bytes, size_t n, bool provisional) DT_MUST_USE;
/* Before a checkpoint: writes the log's length to it. After it: gives the log its final name. */
dt_status *dt_run_log_save(dt_run_log *l, dt_json *j) DT_MUST_USE;
dt_status *dt_run_log_saved(dt_run_log *l) DT_MUST_USE;
void dt_run_log_restore(dt_run_log *l, const json_t *kept);
void dt_run_log_close(dt_run_log *l);

#endif
