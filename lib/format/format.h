/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves on disk, below output.dir:
 *
 *     .lock                         OFD lock + pid, host, start time, boot id as text
 *     history.jsonl                 a line for each epoch, and each validation by steps
 *     record.jsonl                  what happened, attempt by attempt: see train/record.h
 *     history.GENERATION.jsonl      the same of a run that has no checkpoint yet, beside that
 *                                   of an earlier run
 *     ckpt/step-00000295/           a checkpoint: model.safetensors, optimizer.safetensors,
 *                                   state.json; callbacks.safetensors where one keeps tensors,
 *                                   variables.safetensors where a custom loop has variables
 *     ckpt/step-00000310.tmp/       one being written or deleted, or left by a killed run: removed
 *                                   at the next start
 *
 * A checkpoint is committed by renaming its directory: data files are written and synced, then
 * state.json with their SHA-256, then the directory is renamed and its parent synced. It is deleted
 * the other way round: renamed, parent synced, emptied. So what has a final name is complete,
 * whenever the program or the machine stops. The layout does not depend on replicas, workers or
 * threads: tensors are whole and global.
 *
 * Nothing here follows a symbolic link below output.dir, and no name from inside a file becomes a
 * path.
 *
 * Errors: CHECKPOINT (65) for what is malformed, cut or altered, CHECKPOINT_VERSION (65) for a
 * newer format, CHECKPOINT_MODEL (65) for tensors of another model, CHECKPOINT_NOT_FINITE (79),
 * CHECKPOINT_NONE (65) where some are there and none verifies; IN_USE (73) for a locked run
 * directory; and those of base/file.h.
 */
#ifndef DT_FORMAT_FORMAT_H
#define DT_FORMAT_FORMAT_H

#include "base/file.h"
#include "base/hash.h"
#include "format/history.h"
#include "graph/graph.h"

/* ---- safetensors ---- */

typedef struct dt_arrays {
    int n;
    const dt_named_view *array; /* [n], different names; lent */
} dt_arrays;

/* Writes path (new file, synced); *digest is the SHA-256 of the file. */
dt_status *dt_safetensors_write(const char *path, const dt_arrays *a,
                                dt_digest *digest) DT_MUST_USE;
/* The same, but the file may still be hashed: *hash gives its digest (dt_hash_end), until when the
 * arrays stay as they are. NULL after an error. */
dt_status *dt_safetensors_write_hashing(const char *path, const dt_arrays *a,
                                        dt_hash_thread **hash) DT_MUST_USE;
/* Whether the file holds what dt_safetensors_write has written of these arrays, byte for byte:
 * CHECKPOINT otherwise. */
dt_status *dt_safetensors_compare(const char *path, const dt_arrays *a) DT_MUST_USE;
/* For others to read: with `__metadata__`, committed by rename. */
dt_status *dt_safetensors_export(const char *path, const dt_arrays *a, const dt_pair *metadata,
                                 int n_metadata) DT_MUST_USE;
/*
 * Reads exactly these tensors, by name, into their data. Missing, extra, other shape or dtype:
 * CHECKPOINT_MODEL errors naming each tensor, and no data is touched. Every malformed header is
 * refused before anything of its size is allocated. digest: expected SHA-256 of the file as hex,
 * NULL: unchecked; when it does not match, data hold what the file held, which is not to be used.
 */
dt_status *dt_safetensors_read(const char *path, const dt_arrays *a,
                               const char *digest) DT_MUST_USE;
/* The same of a file that is open: its name may be another file's by now. */
typedef struct dt_held_file {
    const char *path; /* for messages */
    int fd;
    int64_t size; /* bytes */
    /* counters of draws may be missing, and are left as they are, or extra */
    bool only_weights;
    bool some; /* the file may hold others too, which are left out */
} dt_held_file;
dt_status *dt_safetensors_read_held(const dt_held_file *f, const dt_arrays *a,
                                    const char *digest) DT_MUST_USE;

/* ---- NPZ: numpy.savez ---- */

/* A ZIP archive of NPY files, not compressed, committed by rename. */
dt_status *dt_npz_write(const char *path, const dt_arrays *a) DT_MUST_USE;

/* ---- weights from any program ---- */

typedef struct dt_weights_request {
    const char *path;         /* a safetensors or an NPZ file */
    const dt_held_file *held; /* the file, if it is open; NULL: path is opened */
    const dt_arrays *arrays;  /* to be filled */
    bool only_compared;       /* arrays have no data, and are only compared with the file's */
    bool skip_mismatch;       /* arrays that do not fit are left unchanged */
    dt_status **warnings;     /* gets a warning for each array that is skipped */
} dt_weights_request;
/* Fills arrays by name: CHECKPOINT_MODEL for each that is missing, of another shape or dtype, or
 * extra. Nothing is touched then. Counters of draws may be missing, and are left as they are, or
 * extra. */
dt_status *dt_weights_read(const dt_weights_request *q) DT_MUST_USE;

/* ---- the run directory ---- */

typedef struct dt_run_dir {
    char *path;     /* output.dir */
    dt_writer lock; /* .lock, held while it is open */
} dt_run_dir;
/* Creates it and its ckpt/ where needed, refuses a world-writable one without sticky bit
 * (PERMISSION), takes the lock (IN_USE 73 naming pid, host and start time of the holder, within a
 * second), writes, syncs and removes a 4 KiB probe and compares free space with twice
 * `checkpoint_bytes` (IO). The lock of a dead process is free, and its text is overwritten. */
dt_status *dt_run_dir_open(dt_run_dir *r, const char *path, int64_t checkpoint_bytes) DT_MUST_USE;
/* Gives the lock back; the file stays, for removing it would let two others hold two locks. Takes a
 * zeroed or failed r. */
void dt_run_dir_close(dt_run_dir *r);

/* ---- checkpoints ---- */

#define DT_STATE_SUMS (1 << 20) /* at most */
/* state.json. */
typedef struct dt_state_file {
    /* how often training was begun anew in this directory; the newest checkpoint is the last by
     * (generation, step) */
    int64_t generation;
    int64_t step;       /* global steps done */
    int64_t epoch;      /* epochs done */
    int64_t epoch_step; /* steps done in the current epoch */
    uint64_t seed;
    const char *job; /* the resolved job as JSON text, for dt_job_difference */
    const char *job_sha256;
    const char *weights_sha256;
    /* to be saved: gets the digest of the model's arrays, before weights_sha256 is read, which
     * may be its text; NULL: it is known */
    dt_digest *weights;
    const char *kernels; /* "openblas SkylakeX 0.3.21" */
    int n_sums;          /* running sums of the current epoch: examples, then losses and metrics */
    /* [n_sums] come back bit for bit, but for the sign of zero; infinities as not-a-number */
    double *sum;
    double wall_s; /* training time so far in the current epoch */
    bool finished; /* the job had trained all it asked for */
    /* that read apart (auto_shard_policy); 0: the data came in the order of one process */
    int64_t workers;
    const char *callbacks; /* what callbacks remember, as JSON text; NULL: nothing */
    const char *map;       /* what steps of dataset.map learned, as JSON text; NULL: none does */
    const char *elements;  /* of the data set as stored, as JSON text; NULL: not known */
    const char *classes;   /* names of classes by outputs, as JSON text; NULL: they have none */
    /* to be saved; dt_saved_load_callbacks reads them */
    const dt_arrays *callback_arrays;
    const char *callbacks_sha256; /* of the file with them; NULL: no file */
    /* what dt_checkpoint_save saved of a custom loop besides tensors, as JSON text; NULL: a run
     * or a model wrote this */
    const char *loop;
    /* of a custom loop, to be saved; to be read: dt_saved_load_variables */
    const dt_arrays *variable_arrays;
    const char *variables_sha256; /* of the file with them; NULL: no file */
} dt_state_file;

/* Saves below r->path; *path (freed by the caller) is its final path. A checkpoint of that step is
 * replaced. When the new one has been read back, deletes the oldest beyond max_to_keep (>= 1), by
 * exact name, never the new one. A failure leaves the older ones as they were. */
dt_status *dt_run_dir_save(const dt_run_dir *r, const dt_state_file *state, const dt_arrays *model,
                           const dt_arrays *optimizer, int max_to_keep, char **path) DT_MUST_USE;

/* A checkpoint by itself: the directory `path`, in no run directory, its parents made. Committed by
 * rename like any other; an older checkpoint of that name is replaced, anything else refused
 * (CANT_CREATE). */
dt_status *dt_saved_write(const char *path, const dt_state_file *state, const dt_arrays *model,
                          const dt_arrays *optimizer) DT_MUST_USE;

/* Which file it was, and when it was changed last. */
typedef struct dt_file_stamp {
    int64_t device, inode, bytes, modified_ns, changed_ns; /* all 0: unknown */
} dt_file_stamp;

/* of a checkpoint: dt_tensor_files */
enum { DT_TENSOR_FILES = 4, DT_REQUIRED_FILES = 2, DT_CALLBACK_TENSORS = 2, DT_VARIABLE_TENSORS };
/* A checkpoint whose files have the checksums that state.json names. */
typedef struct dt_saved {
    dt_arena *arena;
    char *path;        /* NULL: none */
    bool only_weights; /* path is a file of them: no state, no optimizer */
    dt_state_file state;
    char model_sha256[65], optimizer_sha256[65];
    /* The files when their checksums were verified. They stay open, so that the tensors that are
     * read are those that were checked, even if the checkpoint is replaced or removed meanwhile.
     * They are hashed again only if they have changed since. */
    dt_file_stamp checked[DT_TENSOR_FILES];
    int fd[DT_TENSOR_FILES]; /* open where the stamp is known */
} dt_saved;
/* Reads state.json of one checkpoint directory and checks the files' checksums. No directory of
 * that name: NO_INPUT (66). */
dt_status *dt_saved_open(dt_saved *c, const char *path) DT_MUST_USE;
/* The same for a path of any kind: a checkpoint, a run's directory (its newest one) or a file of
 * weights. */
dt_status *dt_saved_find(dt_saved *c, const char *path, dt_status **warnings) DT_MUST_USE;
/* The newest below dir/ckpt that verifies; each one passed over, and each name there that is no
 * checkpoint's, is appended to *warnings. None there: c->path NULL and no error; some there but
 * none verifies: CHECKPOINT_NONE. */
dt_status *dt_saved_newest(dt_saved *c, const char *dir, dt_status **warnings) DT_MUST_USE;
/* Fills the arrays from an opened checkpoint (model or optimizer may be NULL). Values that are not
 * finite: CHECKPOINT_NOT_FINITE (79). */
dt_status *dt_saved_load(const dt_saved *c, const dt_arrays *model,
                         const dt_arrays *optimizer) DT_MUST_USE;
/* Only its weights, for a caller that does not resume the run. Counters of draws may be extra, or
 * missing, and are then left unchanged. */
dt_status *dt_saved_load_weights(const dt_saved *c, const dt_arrays *model) DT_MUST_USE;
/* CHECKPOINT unless the weights have the SHA-256 that the state names: files and their checksums
 * can be replaced together. The first reads them once more; the second gets the hash. */
dt_status *dt_saved_check_weights(const dt_saved *c) DT_MUST_USE;
dt_status *dt_weights_compare(const dt_saved *c, const dt_digest *found) DT_MUST_USE;
/* The requested tensors of callbacks; each must be in the checkpoint. The callbacks check their
 * values. */
dt_status *dt_saved_load_callbacks(const dt_saved *c, const dt_arrays *wanted) DT_MUST_USE;
/* Exactly the variables of a custom loop. Any values are fine: a best loss begins as infinity. */
dt_status *dt_saved_load_variables(const dt_saved *c, const dt_arrays *variables) DT_MUST_USE;
/* One of its files, open until the checkpoint is released; path is the checkpoint's arena. Not of a
 * file of weights. */
dt_held_file dt_saved_held(const dt_saved *c, int file);
/* The file of its weights (the checkpoint's arena). */
const char *dt_saved_weights(const dt_saved *c);
void dt_saved_release(dt_saved *c); /* takes a zeroed one */

/* The highest generation of the readable checkpoints below dir/ckpt, -1 when there are none. A
 * fresh start in a used directory takes one more, so that a run killed between its first checkpoint
 * and dt_checkpoints_clean is not taken for the old one, which had more steps. */
dt_status *dt_checkpoints_generation(const char *dir, int64_t *generation) DT_MUST_USE;
/* Removes what killed runs left (ckpt/step-*.tmp) and with `all` (fresh start, after the first new
 * one is committed) every step-* but the one whose path is `keep`. Other names are left alone. */
dt_status *dt_checkpoints_clean(const dt_run_dir *r, bool all, const char *keep) DT_MUST_USE;

/* The first key path (arena; "model.layers[2].Dense.units") in which two resolved jobs differ and
 * that may not change between save and resume; NULL: none. fit, output, checkpoint, strategy,
 * partition, backend, name may. "job" if a text is no JSON object. */
const char *dt_job_difference(dt_arena *arena, const char *saved, const char *now);

/* ---- history.jsonl ---- */

/* bytes; a larger file is not read */
#define DT_HISTORY_LARGEST ((size_t)64 << 20)

/*
 * A run that leaves older state behind (a fresh start, an older checkpoint) writes its lines beside
 * it, into history.GENERATION.jsonl, until it has a checkpoint: killed before that, the old run is
 * as it was. dt_history_adopt then puts them in place; so does dt_history_open for the checkpoint
 * of a run that was killed in between.
 */
typedef struct dt_history_from {
    int64_t step;       /* lines past it are dropped; -1: all */
    int64_t generation; /* of the run */
    bool aside;
} dt_history_from;
/* The lines that stay. */
typedef struct dt_history_kept {
    dt_history_lines lines; /* those written next are sealed by it */
    int64_t epoch;          /* of the last line; 0: no line */
    char *damage;           /* a sentence about the file's fault, the caller's; NULL: it has none */
} dt_history_kept;
/* Drops lines, also the torn one of a killed run, then opens for appending. */
dt_status *dt_history_open(dt_writer *w, const dt_run_dir *r, const dt_history_from *from,
                           dt_history_kept *kept) DT_MUST_USE;
dt_status *dt_history_adopt(dt_writer *w, const dt_run_dir *r, int64_t generation) DT_MUST_USE;

#endif
