/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a run, below output.dir; callbacks and other commands may add more:
 *
 *     .lock                         OFD lock; pid, host, time of locking, boot id as text
 *     history.jsonl                 a line for each epoch, and each validation by steps
 *     record.jsonl                  what happened, attempt by attempt: see train/record.h
 *     history.GENERATION.jsonl      history of a run that has no checkpoint yet, while
 *                                   history.jsonl is still that of an earlier run
 *     ckpt/step-00000295/           a checkpoint: model.safetensors, optimizer.safetensors,
 *                                   state.json; also callbacks.safetensors if a callback keeps
 *                                   tensors, variables.safetensors if a custom loop has variables
 *     ckpt/step-00000310.tmp/       a checkpoint that is being written or deleted, or that a killed
 *                                   run left: it is removed at the next start
 *
 * A checkpoint is committed by renaming its directory: data files are written and synced, then
 * state.json with their SHA-256, then the directory is renamed and its parent synced. To delete a
 * checkpoint, its directory is renamed and the parent synced before its files are removed. So a
 * directory with a final name is complete, whenever the program or the machine stops, except one
 * that is being replaced on a file system that cannot exchange two names. The layout does not
 * depend on replicas, workers or threads, since each tensor is stored as a whole.
 *
 * Nothing below output.dir is written through a symbolic link, and no checkpoint is read through
 * one. No name from inside a file becomes a path.
 *
 * Errors, with their exit codes: CHECKPOINT (65) for a malformed, cut or altered file,
 * CHECKPOINT_VERSION (65) for a newer format, CHECKPOINT_MODEL (65) for tensors of another model,
 * CHECKPOINT_NOT_FINITE (79) for values that are not finite, CHECKPOINT_NONE (65) if there are
 * checkpoints but all are damaged, IN_USE (73) for a locked run directory, and those of
 * base/file.h.
 */
#ifndef DT_FORMAT_FORMAT_H
#define DT_FORMAT_FORMAT_H

#include <stdint.h>
#include <stdbool.h>

#include "base/str.h"
#include "base/file.h"
#include "base/hash.h"
#include "graph/graph.h"

/* ---- safetensors ---- */

typedef struct dt_arrays {
    int n;
    /* [n] the arrays, which have different names; owned by the caller */
    const dt_named_view *array;
} dt_arrays;

/* Writes the arrays to the file `path` and syncs it; a file that exists is overwritten. *digest is
 * the SHA-256 of the file. If writing fails, the file is removed. */
dt_status *dt_safetensors_write(const char *path, const dt_arrays *a,
                                dt_digest *digest) DT_MUST_USE;
/* Like dt_safetensors_write, but may return before the file is hashed: dt_hash_end(*hash) returns
 * the digest, and the arrays must not change before that. *hash is NULL after an error. */
dt_status *dt_safetensors_write_hashing(const char *path, const dt_arrays *a,
                                        dt_hash_thread **hash) DT_MUST_USE;
/* Returns the error CHECKPOINT if the file differs in any byte from what dt_safetensors_write
 * writes for these arrays, or an error of reading it. */
dt_status *dt_safetensors_compare(const char *path, const dt_arrays *a) DT_MUST_USE;
/* Writes the bytes of dt_safetensors_write to an open file, which stays open and is not synced. */
dt_status *dt_safetensors_put(dt_writer *w, const dt_arrays *a) DT_MUST_USE;
/* Writes a file for other programs, whose header has the n_metadata pairs as `__metadata__` (0: it
 * has no such member). Writes to a name that ends in .tmp, which is then renamed to the final
 * one. */
dt_status *dt_safetensors_export(const char *path, const dt_arrays *a, const dt_pair *metadata,
                                 int n_metadata) DT_MUST_USE;
/*
 * Reads exactly these tensors, by name, into their data. If tensors are missing, extra, or of
 * another shape or dtype, there is a CHECKPOINT_MODEL error for each such tensor, and no data is
 * changed. A malformed header is refused before any tensor is read. digest: expected SHA-256 of the
 * file as hex; NULL: it is not checked. If it does not match, the arrays have been overwritten and
 * must not be used.
 */
dt_status *dt_safetensors_read(const char *path, const dt_arrays *a,
                               const char *digest) DT_MUST_USE;
/* An open file. It is read through `fd`, because the name may belong to another file by now. */
typedef struct dt_held_file {
    const char *path; /* path of the file for messages */
    int fd;
    int64_t size; /* size of the file in bytes */
    /* for loading weights only: counters of random numbers may be missing, so that they keep their
     * values, or extra */
    bool only_weights;
    bool some; /* the file may contain tensors that are not requested; they are ignored */
} dt_held_file;
dt_status *dt_safetensors_read_held(const dt_held_file *f, const dt_arrays *a,
                                    const char *digest) DT_MUST_USE;

/* ---- NPZ: numpy.savez ---- */

/* Writes an NPZ file: an uncompressed ZIP archive of NPY files, committed by rename. */
dt_status *dt_npz_write(const char *path, const dt_arrays *a) DT_MUST_USE;

/* ---- weights from any program ---- */

struct dt_stored_arrays;
typedef struct dt_weights_request {
    const char *path; /* a safetensors or an NPZ file */
    /* the safetensors file, if it is open already; NULL: the file at `path` is opened */
    const dt_held_file *held;
    const dt_arrays *arrays; /* the arrays to fill with values of the file */
    bool only_compared;      /* the arrays have no data: only names and types are compared */
    /* whether arrays of the file that do not fit are skipped; the model's arrays of those names
     * stay unchanged */
    bool skip_mismatch;
    /* with skip_mismatch: a warning is appended for each weight that the file lacks or that does
     * not fit, and for each extra array; otherwise unused */
    dt_status **warnings;
    /* changes the names of the file's arrays before they are compared, and may drop arrays; NULL:
     * names are used as they are */
    void (*rename)(const void *user, struct dt_stored_arrays *s);
    const void *user;
} dt_weights_request;
/* Fills arrays by name. There is one error CHECKPOINT_MODEL if the file has none of the weights;
 * otherwise, without skip_mismatch, one for each array that is missing, extra, or of another shape
 * or dtype. After an error CHECKPOINT_MODEL no array has changed. Counters of random numbers may be
 * missing (they keep their values), or extra. */
dt_status *dt_weights_read(const dt_weights_request *q) DT_MUST_USE;

/* ---- the run directory ---- */

typedef struct dt_run_dir {
    char *path;     /* the path of output.dir */
    dt_writer lock; /* the open file .lock; the lock is held until it is closed */
} dt_run_dir;
/* Opens a run directory: creates it if necessary, takes the lock (see dt_lock_take), creates ckpt/
 * in it if necessary, writes, syncs and removes a 4 KiB probe there, and requires free space of
 * twice `checkpoint_bytes` (IO). Refuses either directory if it is world-writable without sticky
 * bit (PERMISSION), and a ckpt/ that is a symbolic link (CANT_CREATE). The lock of a dead process
 * is free, and its text is overwritten. */
dt_status *dt_run_dir_open(dt_run_dir *r, const char *path, int64_t checkpoint_bytes) DT_MUST_USE;
/* Releases the lock. The file stays: if it were removed, two other processes could hold two locks.
 * Accepts a zeroed or failed r. */
void dt_run_dir_close(dt_run_dir *r);

/* ---- checkpoints, and jobs that resume from them ---- */

#define DT_STATE_SUMS (1 << 20) /* the largest n_sums that a state can have */
/* What state.json says: where training stands, besides its tensors. */
typedef struct dt_state_file {
    /* number of the training in this directory, from 0: a start from the beginning or from an older
     * checkpoint gets the next number if there are checkpoints; the newest checkpoint is the one
     * with the highest (generation, step) */
    int64_t generation;
    int64_t step;       /* number of training steps done */
    int64_t epoch;      /* number of epochs completed */
    int64_t epoch_step; /* number of training steps done in the current epoch */
    uint64_t seed;
    const char *job; /* the resolved job as JSON text, for dt_job_difference */
    const char *job_sha256;
    const char *weights_sha256;
    /* when saving: receives the digest of the model's arrays before weights_sha256, which may point
     * to its text, is read; NULL: weights_sha256 is set already */
    dt_digest *weights;
    /* the libraries and instructions, or the plug-in, that computed, such as "openblas 0.3.21
     * SkylakeX, avx512" */
    const char *kernels;
    int n_sums; /* number of elements of `sum`, at most DT_STATE_SUMS */
    /* [n_sums] running sums of the current epoch: examples, then losses and metrics. They are
     * restored bit for bit, except the sign of zero; infinities become not-a-number. */
    double *sum;
    double wall_s; /* seconds of training so far in the current epoch */
    bool finished; /* the job has been trained for as long as it requests */
    /* number of workers that read data separately (auto_shard_policy); 0: the data came in the
     * order of one process */
    int64_t workers;
    const char *callbacks; /* what callbacks have saved, as JSON text; NULL: nothing */
    /* what steps of dataset.map have learned from the data, as JSON text; NULL: nothing */
    const char *map;
    const char *elements; /* the elements of the data set as stored, as JSON text; NULL: unknown */
    /* files that the job names besides its data, with their SHA-256, as JSON text; NULL: none */
    const char *named_files;
    const char *classes; /* names of classes by outputs, as JSON text; NULL: none */
    /* tensors of callbacks to save; NULL in a state that was loaded, whose tensors
     * dt_saved_load_callbacks reads */
    const dt_arrays *callback_arrays;
    /* SHA-256 of the file with the tensors of callbacks; NULL: the checkpoint has no such file */
    const char *callbacks_sha256;
    /* state of a custom loop besides tensors, saved by dt_checkpoint_save, as JSON text; NULL: the
     * checkpoint is of a run or a model */
    const char *loop;
    /* variables of a custom loop to save; NULL in a state that was loaded, whose variables
     * dt_saved_load_variables reads */
    const dt_arrays *variable_arrays;
    /* SHA-256 of the file with the variables of a custom loop; NULL: the checkpoint has no such
     * file */
    const char *variables_sha256;
} dt_state_file;

/* Saves a checkpoint below r->path; *path (freed by the caller) is its final path, NULL after an
 * error. An existing checkpoint of that step is replaced. After the new one has been read back,
 * deletes the oldest ones beyond max_to_keep (>= 1), but never the new one. If the new one cannot
 * be written, older checkpoints stay unchanged. */
dt_status *dt_run_dir_save(const dt_run_dir *r, const dt_state_file *state, const dt_arrays *model,
                           const dt_arrays *optimizer, int max_to_keep, char **path) DT_MUST_USE;

/* Saves a checkpoint outside of a run: the directory `path`, whose parents are created.
 * Committed by rename. An older checkpoint of that name is replaced, anything else is refused
 * (CANT_CREATE). */
dt_status *dt_saved_write(const char *path, const dt_state_file *state, const dt_arrays *model,
                          const dt_arrays *optimizer) DT_MUST_USE;

/* The identity of a file and the times of its last change, by which a changed file is
 * recognized. */
typedef struct dt_file_stamp {
    /* device, inode, size in bytes, and times in nanoseconds; all 0: the stamp is unknown */
    int64_t device, inode, bytes, modified_ns, changed_ns;
} dt_file_stamp;

/* The files with tensors of a checkpoint, which dt_tensor_files lists: how many there are; how many
 * of them, the first ones, each checkpoint has; and the indices of the two optional ones. */
enum { DT_TENSOR_FILES = 4, DT_REQUIRED_FILES = 2, DT_CALLBACK_TENSORS = 2, DT_VARIABLE_TENSORS };
/* A checkpoint whose files have the checksums that state.json names, or a file of weights. */
typedef struct dt_saved {
    dt_arena *arena;
    char *path;        /* path of the checkpoint; NULL: none was found */
    bool only_weights; /* path is a file of weights: no state, no optimizer */
    dt_state_file state;
    char model_sha256[65], optimizer_sha256[65];
    /* Stamps of the files from when their checksums were verified. The files stay open, so that the
     * tensors that are read are those that were checked, even if the checkpoint is replaced or
     * removed meanwhile. Files are hashed again only if their stamps have changed since. */
    dt_file_stamp checked[DT_TENSOR_FILES];
    /* [DT_TENSOR_FILES] file descriptor of each file; valid only if the inode in `checked` is not
     * 0 */
    int fd[DT_TENSOR_FILES];
} dt_saved;
/* Reads state.json of one checkpoint directory and checks the files' checksums. Errors: NO_INPUT
 * (66) if there is no directory of that name; CHECKPOINT or CHECKPOINT_VERSION if it is not an
 * intact checkpoint. */
dt_status *dt_saved_open(dt_saved *c, const char *path) DT_MUST_USE;
/* Like dt_saved_open, for a path of any kind: a checkpoint, a run's directory (its newest
 * checkpoint) or a file of weights, which is not opened yet. Error NO_INPUT: the path does not
 * exist, is neither a run nor a checkpoint, or is a run without a checkpoint. For a run, warnings
 * are appended as by dt_saved_newest. */
dt_status *dt_saved_find(dt_saved *c, const char *path, dt_status **warnings) DT_MUST_USE;
/* Opens the newest intact checkpoint below dir/ckpt. A warning is appended to *warnings for each
 * damaged checkpoint that is found, and for each name in ckpt/ that is not a checkpoint's, does not
 * end in .tmp and does not begin with a dot. If there are no checkpoints, c->path is NULL without
 * an error; if there are some but none is intact: CHECKPOINT_NONE. */
dt_status *dt_saved_newest(dt_saved *c, const char *dir, dt_status **warnings) DT_MUST_USE;
/* Fills the arrays from an opened checkpoint (model or optimizer may be NULL). Values that are not
 * finite: CHECKPOINT_NOT_FINITE (79). */
dt_status *dt_saved_load(const dt_saved *c, const dt_arrays *model,
                         const dt_arrays *optimizer) DT_MUST_USE;
/* Loads the weights only, for a caller that does not resume the run; c may also be a file of
 * weights. Counters of random numbers may be missing (they keep their values), or extra. Values
 * that are not finite: CHECKPOINT_NOT_FINITE. */
dt_status *dt_saved_load_weights(const dt_saved *c, const dt_arrays *model) DT_MUST_USE;
/* Returns the error CHECKPOINT unless the weights have the SHA-256 that the state names: files and
 * their checksums can be replaced together. The first function reads the weights again; the second
 * gets their hash, `found`, from the caller. Both return NULL for files of weights, and for states
 * without such a hash. */
dt_status *dt_saved_check_weights(const dt_saved *c) DT_MUST_USE;
dt_status *dt_weights_compare(const dt_saved *c, const dt_digest *found) DT_MUST_USE;
/* Loads the requested tensors of callbacks; each must be in the checkpoint. The callbacks check
 * their values. */
dt_status *dt_saved_load_callbacks(const dt_saved *c, const dt_arrays *wanted) DT_MUST_USE;
/* Loads the variables of a custom loop; the file must contain exactly these. Does nothing if there
 * are no variables and the checkpoint has no file of them. Their values may be infinite: a best
 * loss begins as infinity. */
dt_status *dt_saved_load_variables(const dt_saved *c, const dt_arrays *variables) DT_MUST_USE;
/* Returns an open file of the checkpoint, by its index in dt_tensor_files. It is valid until the
 * checkpoint is released, and its path is in the checkpoint's arena. */
dt_held_file dt_saved_held(const dt_saved *c, int file);
/* Returns the path of the file with the checkpoint's weights, in its arena. */
const char *dt_saved_weights(const dt_saved *c);
/* Releases the checkpoint. Accepts a checkpoint that is all zeros. */
void dt_saved_release(dt_saved *c);

/* Sets *generation to the highest generation of the readable checkpoints below dir/ckpt, or to -1
 * if there are none. A fresh start in a used directory uses the next generation, so that its first
 * checkpoint is newer than those of the old run, which had more steps, even if the new run is
 * killed before dt_checkpoints_clean. */
dt_status *dt_checkpoints_generation(const char *dir, int64_t *generation) DT_MUST_USE;
/* Removes what killed runs left: ckpt/step-*.tmp and ckpt/probe.tmp. With `all` (a fresh start,
 * after its first checkpoint) also every step-* except the one that has the last part of the path
 * `keep` as its name (NULL: all of them). Other names are not touched. */
dt_status *dt_checkpoints_clean(const dt_run_dir *r, bool all, const char *keep) DT_MUST_USE;

/* Returns the first key path (in the arena; "model.layers[2].Dense.units") in which two resolved
 * jobs differ and that may not change between save and resume; NULL: there is none. Keys that may
 * change: fit, output, checkpoint, strategy, partition, backend, name, let. "job" if a text is not
 * a JSON object. */
const char *dt_job_difference(dt_arena *arena, const char *saved, const char *now);

/* ---- checks of the lines of history.jsonl ---- */

/*
 * The check of each line of history.jsonl, its last member:
 *
 *     {"epoch": 2, "step": 20, "loss": 0.25, "crc32c": "0a1b2c3d"}
 *
 * It is the CRC-32C of the previous line's check, as eight hexadecimal digits, and of this line up
 * to that member. So changed, removed and inserted lines are found, unless the last lines are
 * removed. Lines of earlier versions of dtrain have no check; the first check after them covers all
 * of them.
 */

#define DT_HISTORY_CHECK "crc32c"

/* The state of checking the lines of history.jsonl one after the other. It is {0} before the first
 * line. */
typedef struct dt_history_lines {
    uint32_t check; /* check of the last line, computed if it has none; 0 before the first line */
    /* begun: whether there was a line; has_checks: whether some line had a check */
    bool begun, has_checks;
    /* the last line is not JSON or lacks the check that it should have, so the check of the next
     * line is not compared */
    bool is_lost;
    int64_t n; /* number of lines checked so far */
    /* damaged: number of lines that are not JSON, do not match their check, or lack it and are not
     * of an earlier version; first: line number of the first of them, counted from 1; 0: there is
     * none */
    int64_t damaged, first;
} dt_history_lines;

/* Whether a key of a line names a metric: it is neither a fixed member of each line, such as
 * "epoch", nor the check. */
bool dt_history_is_metric(const char *key);
/* Checks a line of n bytes, without its newline. is_json: whether the line can be parsed as JSON;
 * if not, it counts as damaged. */
void dt_history_take(dt_history_lines *h, const char *line, size_t n, bool is_json);
/* Adds the check to a new line, which ends in "}" and a newline, and counts the line in h. */
void dt_history_seal(dt_history_lines *h, dt_str *line);
/* Returns a sentence about the damage that was found in `path`, which the caller frees; NULL: the
 * lines are intact. */
char *dt_history_damage(const dt_history_lines *h, const char *path);
/* Checks all lines of a text. A last one without a newline is skipped: a killed run was writing
 * it. */
void dt_history_take_all(dt_history_lines *h, const dt_str *text);

/* ---- history.jsonl ---- */

/* The largest history.jsonl that is read, in bytes. */
#define DT_HISTORY_LARGEST ((size_t)64 << 20)

/*
 * A run that replaces an older one (a fresh start, or a start from an older checkpoint) writes its
 * lines to history.GENERATION.jsonl until it has a checkpoint. So the old run stays intact if the
 * new one is killed before that. dt_history_adopt then makes that file history.jsonl;
 * dt_history_open does so if the run was killed in between.
 */
typedef struct dt_history_from {
    int64_t step;       /* the step after which lines are dropped; -1: all lines are dropped */
    int64_t generation; /* generation of the run that continues the file */
    bool aside;
} dt_history_from;
/* What dt_history_open finds out about the lines that remain in the file. */
typedef struct dt_history_kept {
    /* the state of checking after the last remaining line, with which new lines continue */
    dt_history_lines lines;
    int64_t epoch; /* number of the last remaining line's epoch; 0: no line remains */
    char *damage;  /* a sentence about damage of the file, owned by the caller; NULL: none */
} dt_history_kept;
/* Opens history.jsonl, or with from->aside a copy named history.GENERATION.jsonl, for appending,
 * after dropping lines of steps after from->step, an incomplete last line of a killed run, and
 * lines that are not JSON or have no step. */
dt_status *dt_history_open(dt_writer *w, const dt_run_dir *r, const dt_history_from *from,
                           dt_history_kept *kept) DT_MUST_USE;
dt_status *dt_history_adopt(dt_writer *w, const dt_run_dir *r, int64_t generation) DT_MUST_USE;

/* ---- the lock on a run directory ---- */

/* Takes the lock dir/.lock, and writes this process as its holder into the file. The lock is held
 * until the writer is abandoned. Errors: IN_USE, at once and with the holder's pid, host and time
 * of locking; after 0.4 s if the file names no process that is alive; after 10 s if the holder is
 * ending. CANT_CREATE: the file cannot be created, or its file system has no locks. */
dt_status *dt_lock_take(dt_writer *lock, const char *dir) DT_MUST_USE;
/* Returns the IN_USE error for the text of a lock file; NULL: the text does not name a process that
 * can hold the lock. */
dt_status *dt_lock_refusal(const char *dir, const char *text) DT_MUST_USE;

#endif
