/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files to which callbacks append lines or records. As with history.jsonl, a run that resumes first
 * removes what was written after its checkpoint. If a run ends within an epoch, the line of that
 * epoch is written, too; a longer run that resumes there removes it.
 *
 * A run that does not continue the newest state (--fresh, an older checkpoint) writes to
 * PATH.GENERATION, until it has written a checkpoint itself.
 */
#ifndef DT_TRAIN_RUN_LOG_H
#define DT_TRAIN_RUN_LOG_H

#include "train/hook.h"

typedef struct dt_run_log {
    /* the final path of the log; with `aside`, the file is still PATH.GENERATION */
    const char *path;
    dt_writer file; /* file.path is NULL while the log is not open */
    /* size: bytes of the log without the provisional ones, which come last; end: all bytes */
    int64_t size, end;
    int64_t generation; /* the run's generation (dt_state_file) */
    bool aside;
} dt_run_log;

/* Cuts a file to its first `keep` bytes, by replacing it. Does nothing if the file is shorter or
 * missing. */
dt_status *dt_run_log_cut(const char *path, int64_t keep) DT_MUST_USE;
/* Returns how many bytes of a log a resumed run keeps: `size` if the run trains further, since it
 * then writes the lines of the incomplete epoch again; else `end`. */
int64_t dt_run_log_kept(const run *r, int64_t size, int64_t end);

/* If this process writes files, opens the log and sets l->size and l->end. A run that resumes keeps
 * what it had written before its checkpoint. A new run keeps an existing log only with `append`. */
dt_status *dt_run_log_open(run *r, dt_run_log *l, bool append) DT_MUST_USE;
/* Appends n bytes. provisional: a longer run that resumes within this epoch removes them. */
dt_status *dt_run_log_put(dt_run_log *l, const void *bytes, size_t n, bool provisional) DT_MUST_USE;
/* dt_run_log_save is called before a checkpoint and writes the log's length to its JSON.
 * dt_run_log_saved is called after it and gives the log its final name. */
dt_status *dt_run_log_save(dt_run_log *l, dt_json *j) DT_MUST_USE;
dt_status *dt_run_log_saved(dt_run_log *l) DT_MUST_USE;
void dt_run_log_restore(dt_run_log *l, const json_t *kept);
void dt_run_log_close(dt_run_log *l);

#endif
