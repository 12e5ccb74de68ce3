/*
 * What a run leaves on disk, below output.dir:
 *
 *     .lock                         OFD lock + host, pid, boot id, start time as text
 *     history.jsonl                 one line an epoch
 *     ckpt/step-00000295/           a checkpoint: model.safetensors, optimizer.safetensors, state.json
 *     ckpt/step-00000310.tmp/       one being written, or left by a killed run: removed at the next start
 *
 * A checkpoint is committed by renaming its directory: data files are written and synced, then state.json with their SHA-256, then the
 * directory is renamed and its parent synced. What has a final name is complete. The layout does not depend on replicas, workers or
 * threads: tensors are whole and global.
 */
#ifndef DT_FORMAT_FORMAT_H
#define DT_FORMAT_FORMAT_H

#include "base/file.h"
#include "base/hash.h"
#include "graph/graph.h"

/* ---- safetensors ---- */

typedef struct dt_named_array {
    const char *name;
    dt_type type;      /* concrete */
    void *data;
} dt_named_array;

/* Writes path (new file, synced); *digest is the SHA-256 of the file. */
dt_status *dt_safetensors_write(const char *path, const dt_named_array *array, int n, dt_digest *digest) DT_MUST_USE;
/* Reads exactly these tensors, by name, into their data. Missing, extra, other shape or dtype: CHECKPOINT errors naming the tensor. Every
 * malformed header is refused before anything of its size is allocated. digest: expected SHA-256 of the file, NULL: unchecked. */
dt_status *dt_safetensors_read(const char *path, const dt_named_array *array, int n, const char *digest) DT_MUST_USE;

/* ---- the run directory ---- */

typedef struct dt_run_dir {
    char *path;   /* output.dir */
    int lock_fd;
} dt_run_dir;
/* Creates it where needed, refuses a world-writable one without sticky bit (PERMISSION), takes the lock (CANT_CREATE 73 naming host, pid and time of
 * the holder, within a second), writes, syncs and removes a 4 KiB probe and compares free space with twice `checkpoint_bytes` (IO). */
dt_status *dt_run_dir_open(dt_run_dir *r, const char *path, int64_t checkpoint_bytes) DT_MUST_USE;
void dt_run_dir_close(dt_run_dir *r);

/* ---- checkpoints ---- */

#define DT_STATE_SUMS 64
/* state.json. */
typedef struct dt_state_file {
    int64_t step;            /* global steps done */
    int64_t epoch;           /* epochs done */
    int64_t epoch_step;      /* steps done in the epoch at hand */
    uint64_t seed;
    const char *job;         /* the resolved job as JSON text, for dt_job_difference */
    const char *job_sha256;
    const char *weights_sha256;
    const char *kernels;     /* "openblas SkylakeX 0.3.21" */
    int n_sums;              /* running sums of the epoch at hand: examples, loss, metrics */
    double sum[DT_STATE_SUMS];
    double wall_s;           /* training time so far in the epoch at hand */
    bool finished;           /* the job had trained all it asked for */
} dt_state_file;

/* Saves below r->path; *path (freed by the caller) is its final path. Then deletes the oldest beyond max_to_keep, by exact name. A failure leaves
 * the older ones as they were. */
dt_status *dt_checkpoint_save(const dt_run_dir *r, const dt_state_file *state, const dt_named_array *model, int n_model,
                              const dt_named_array *optimizer, int n_optimizer, int max_to_keep, char **path) DT_MUST_USE;

typedef struct dt_checkpoint {
    dt_arena *arena;
    char *path;
    dt_state_file state;
    char model_sha256[65], optimizer_sha256[65];
} dt_checkpoint;
/* Reads state.json of one checkpoint directory and checks the files' checksums. */
dt_status *dt_checkpoint_open(dt_checkpoint *c, const char *path) DT_MUST_USE;
/* The newest below dir/ckpt that verifies; each one passed over is appended to *warnings. None there: c->path NULL and no error; some there but none verifies: DATA. */
dt_status *dt_checkpoint_newest(dt_checkpoint *c, const char *dir, dt_status **warnings) DT_MUST_USE;
/* Fills the arrays from an opened checkpoint (model or optimizer may be NULL). */
dt_status *dt_checkpoint_load(const dt_checkpoint *c, const dt_named_array *model, int n_model, const dt_named_array *optimizer, int n_optimizer) DT_MUST_USE;
void dt_checkpoint_release(dt_checkpoint *c);
/* Removes ckpt/step-*.tmp of killed runs, and with `all` (fresh start, after the first new one is committed) every step-* but `keep`. */
dt_status *dt_checkpoints_clean(const dt_run_dir *r, bool all, const char *keep) DT_MUST_USE;

/* The first key path (arena) in which two resolved jobs differ and that may not change between save and resume; NULL: none.
 * fit.*, output.*, checkpoint.*, strategy, partition, backend, name may. */
const char *dt_job_difference(dt_arena *arena, const char *saved, const char *now);

/* ---- history.jsonl ---- */

/* Drops lines whose "step" is past `step` (-1: all), then opens for appending. */
dt_status *dt_history_open(dt_writer *w, const dt_run_dir *r, int64_t step) DT_MUST_USE;

#endif
