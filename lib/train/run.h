/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run, and the functions that its files share. */
#ifndef DT_TRAIN_RUN_H
#define DT_TRAIN_RUN_H

#include "base/clock.h"
#include "data/data.h"
#include "train/train.h"

/* How far the training of a run has come. */
typedef struct position {
    /* step, epoch: number of finished steps and epochs of the job; epoch_step: number of finished
     * steps of the current epoch */
    int64_t step, epoch, epoch_step;
    dt_sums sums; /* sums of losses and metrics over the current epoch */
    double wall_s;
} position;

/* Seconds on the clock of a simulated slice. All members are 0 if no slice is simulated. */
typedef struct virtual_time {
    double all_s; /* seconds of all steps of this run */
    /* Seconds of the epoch's steps in this run: device_s without, data_s with the time that devices
     * wait for data. */
    double device_s, data_s;
    int n_slow; /* number of injected faults slow-link that are in effect */
    /* seconds of a full step with these slow links, and of a step with the smaller last batch */
    double slow_s[2];
} virtual_time;

/* The seconds of the epoch's steps in this run, the part of them spent waiting for data, and what
 * the reading threads spent their time on. */
typedef struct data_wait {
    double all_s, waited_s, spent_s[DT_SPENT_KINDS];
} data_wait;

/* The bytes that the run needs at its peak. */
typedef struct dt_memory {
    /* step: bytes of the arenas of training steps, for all batch sizes; evaluation: those of
     * evaluation, and of whole weights of which this worker otherwise keeps a part */
    int64_t step, evaluation;
    int64_t state;   /* bytes of what this process keeps of the weights and the optimizer's slots */
    int64_t data;    /* bytes of cached examples, and of batches that are read ahead */
    int64_t program; /* bytes of code, libraries, threads, and of memory left from compiling */
    int64_t all;
} dt_memory;

/* The indices in recording.mark of the kinds of spans that a run records, besides callbacks. */
enum {
    DT_RECORDED_STEP,
    DT_RECORDED_VALIDATION,
    DT_RECORDED_CHECKPOINT,
    DT_RECORDED_HISTORY,
    DT_RECORDED
};
/* The recording of output.trace. All members are 0 if no steps are recorded. */
typedef struct recording {
    dt_recorder *recorder;
    dt_device *device;
    dt_track *main;
    int mark[DT_RECORDED];
    int64_t first, last; /* numbers of the first and the last step that were recorded so far */
    int64_t since;       /* time when the current step's span began; 0: the step is not recorded */
    bool saved;
} recording;

/* The most metrics in an epoch's logs: those of training and of validation, with room for two that
 * callbacks add. */
#define DT_MAX_LOGS (2 * DT_MAX_KEYS + 2)

/* How much a run trains, computed by run_size.c. */
typedef struct run_size {
    /* data_steps: number of batches in one pass over the data; steps_per_epoch: number of steps in
     * an epoch */
    int64_t examples, batch, steps_per_epoch, data_steps;
    /* the workers that read different parts of the data (auto_shard_policy); NULL: they share the
     * batches that a single process would read */
    dt_workers *workers;
    /* steps: number of the job's finished steps at which this run ends; epochs: number of epochs
     * that these steps begin */
    int64_t steps, epochs;
    /* number of steps of the whole job, of which --steps or --until-epoch may train a part */
    int64_t all_steps;
    const char *sharding; /* a line for people that says how hosts share the examples */
} run_size;

/* The files of a run (open_run.c). */
typedef struct outputs {
    /* whether this process writes files: it is the chief, there is a directory, and the run is not
     * a dry run */
    bool writes;
    /* saved_ns: when this run wrote its last checkpoint or, before the first, when training began,
     * in nanoseconds; saved_step: the step of the checkpoint written last or resumed from; -1: none
     * is up to date */
    int64_t saved_ns, saved_step;
    dt_run_dir directory;
    dt_writer history;
    dt_history_lines history_lines;
    int64_t generation; /* number of the generation, see dt_state_file */
    bool fresh;         /* whether the old run's checkpoints are deleted after the first new one */
    /* Whether the history is a separate file beside the old one, which it replaces at the first
     * checkpoint. */
    bool aside;
    bool resumed;
    char *checkpoint; /* the path of the checkpoint written last or resumed from; NULL: none */
    dt_digest saved;  /* hash of the weights in the checkpoint written last */
} outputs;

typedef struct run {
    const dt_fit_request *q;
    dt_arena *arena;
    dt_strategy *strategy;
    dt_model *model;
    dt_optimizer *optimizer;
    dt_dataset *data;
    run_size size;
    position at;
    dt_sums validation; /* sums of the last validation */
    virtual_time virtual_time;
    data_wait data_wait;
    dt_memory memory;
    recording recording;
    /* The iterator that reads the batches, open during training. NULL: with a coordinator, the
     * workers read them. */
    dt_iterator *batches;
    /* The next step, if it starts before the current one is finished (step_pipeline.c). */
    struct {
        /* whether steps may overlap: the device can, no callback looks at single steps, no faults
         * are injected, and replicas are not verified */
        bool allowed;
        bool is_there;
        dt_example batch;
        /* the error of starting the step, which is reported when the step is due */
        dt_status *fault;
    } ahead;
    dt_metric *so_far; /* [DT_MAX_LOGS] the metrics over the epoch's steps so far */
    /* the metrics of the last epoch, or of a later validation by steps */
    dt_metric last[DT_MAX_LOGS];
    int n_last;
    int n_hooks; /* number of hooks that were opened so far */
    struct dt_hook *hook;
    /* reports that callbacks have made and that were not emitted yet */
    struct dt_callback_message *messages;
    /* the record, while its hook is open (record.h); NULL: nothing is written to a record */
    struct dt_record *record;
    /* the parameter server's coordinator (coordinator.h); NULL: this process computes the steps */
    struct dt_coordinated *coordinator;
    /* with a coordinator: what is to be done once all batches that were given out are applied */
    uint32_t due;
    /* the thread that hashes the data (observe/data.c); NULL: no hashes are computed */
    struct dt_hashing *hashing;
    bool stop_training; /* whether a callback has stopped the training */
    bool swapped; /* whether the weights and their running means are exchanged (dt_run_swap) */
    /* Whether the running means have replaced the weights at the end of training. */
    bool averaged;
    /* whether the last epoch's metrics belong to other weights than the final ones */
    bool replaced;
    int64_t began_ns;
    outputs out;
    /* The error that ended the run, for the hooks' `close`; NULL: the run ended well. */
    dt_status *fault;
} run;

/* Whether this process is the chief, the worker that writes files. A single process is the
 * chief. */
static inline bool dt_run_is_chief(const run *r) {
    return !r->strategy->cluster || r->strategy->cluster->rank == 0;
}

/* memory.c: fills r->memory before the first step. Compiles the steps of training and evaluation
 * for all numbers of rows that the run needs. */
dt_status *dt_run_count_memory(run *r) DT_MUST_USE;
/* Fails with DOES_NOT_FIT if the machine, or the container, has less memory than the run needs
 * (r->memory). The error names the layer with the largest weights and the one that takes the most
 * of a step, and suggests what would fit: rematerialization or a smaller global batch. If neither
 * does, it says how much memory the job needs with the smallest batch. Succeeds if the machine's
 * memory is unknown. */
dt_status *dt_run_check_memory(run *r) DT_MUST_USE;
/* Returns the seconds of a step with `rows` rows on the clock of a simulated slice; rows 0: with a
 * full batch. Returns 0 without a slice. */
double dt_virtual_step_s(const run *r, int64_t rows);
/* Adds to an event the part of the epoch's time that steps waited for data. Resets these times. */
void dt_run_report_waiting(run *r, dt_event *e);
/* With `means`, the model gets the running means that the optimizer keeps (use_ema), in exchange
 * for its weights; else it gets its weights back. Does nothing if the model has them already. */
dt_status *dt_run_swap(run *r, bool means) DT_MUST_USE;
/* step_pipeline.c: opens r->batches at the run's position. */
dt_status *dt_run_open_batches(run *r) DT_MUST_USE;
/* Decides whether steps of this run may overlap: sets r->ahead.allowed. */
void dt_run_allow_ahead(run *r);
/* Starts the step after r->at, unless it was started ahead, and sets *batch to its batch, which is
 * lent until the next call. Returns the error of the start, also of one ahead. */
dt_status *dt_run_start_step(run *r, dt_example *batch) DT_MUST_USE;
/* Starts the step after the current one, if steps may overlap and nothing has to be done between
 * the two. An error is kept for dt_run_start_step. */
void dt_run_start_ahead(run *r);
/* Whether step number epoch_step of an epoch makes a step of the optimizer. False: it only
 * accumulates gradients. */
bool dt_run_closes_window(const run *r, int64_t epoch_step);
/* Waits for a step that was started ahead, and drops its results. */
void dt_run_drop_ahead(run *r);
/* fit.c: whether a stop or a checkpoint is asked for now (by a signal, max_seconds, or save_freq as
 * a time), or save_freq in steps asks for a checkpoint after step number `step`. The end of an
 * epoch does not count. */
bool dt_run_is_interrupted(const run *r, int64_t step);
/* fit.c: returns what this process asks all workers to do after the next step, as bits for
 * dt_cluster_begin_step. */
uint32_t dt_run_wishes(const run *r);
/* epoch_end.c: collects, reports and writes the epoch's logs. Begins the next epoch if this one has
 * all its steps. */
dt_status *dt_run_end_epoch(run *r) DT_MUST_USE;
/* run_size.c: computes r->size and the first position, that of initial_epoch. Fails with ELEMENTS
 * if there is no batch, with FIT_KEYS if no steps are left or there are too many to count, with
 * INPUT_WORKERS if replicas cannot be divided evenly among workers. */
dt_status *dt_run_measure(run *r) DT_MUST_USE;
/* Returns the number of examples in the first `steps` steps of training. */
int64_t dt_run_fed(const run *r, int64_t steps);
/* Whether there is validation data and validation_freq counts steps, as it does with fit.steps. */
bool dt_run_validates_by_steps(const run *r);
/* Whether validation by steps is due after step r->at.step, and that step does not end an epoch.
 * The line of the history about it is written at once and stays. */
bool dt_run_is_validated_between(const run *r);
/* Validates if dt_run_is_validated_between; else does nothing. Callbacks get the logs, which become
 * a line of the history. */
dt_status *dt_run_validate_between(run *r) DT_MUST_USE;
/* Validates again with the final weights, if there is validation data, and replaces the val_
 * metrics in r->last, so that --expect checks the weights that are saved. */
dt_status *dt_run_validate_again(run *r) DT_MUST_USE;
/* Does what dt_run_validate_again does at the end of a run that --steps or --until-epoch ended,
 * unless r->last has val_ metrics already, so that --expect has them. Callbacks and the history do
 * not get them. */
dt_status *dt_run_validate_late(run *r) DT_MUST_USE;
/* Whether steps of this run are left, and no callback has stopped the training. */
bool dt_run_is_training(const run *r);
/* Whether all steps of the job are done, or a callback has stopped the training. */
bool dt_run_is_done(const run *r);
/* Opens the run's directory: the chief locks it, and every worker resumes from the checkpoint that
 * the job or the command asks for or, without one, reads the weights of init_from. Then the chief
 * opens the history. Workers verify that they begin with the same step, kernels and weights. A dry
 * run writes nothing. Without a directory, only the weights of init_from are read. */
dt_status *dt_run_open(run *r) DT_MUST_USE;
/* Fills *state with the state.json of a checkpoint at this position, in the arena. It is not in the
 * run's arena, which would grow with every checkpoint. */
dt_status *dt_run_describe(run *r, dt_arena *arena, dt_state_file *state) DT_MUST_USE;
/* Writes a checkpoint and calls the hooks' `saved`, unless the last checkpoint has this step; only
 * the chief of a run with a directory does so. Writes nothing and fails with DIVERGED if a weight
 * or a slot is not finite. */
dt_status *dt_run_save(run *r) DT_MUST_USE;
dt_status *dt_run_close(run *r) DT_MUST_USE;
/* Passes an event to the caller and to the record. */
void dt_run_emit(const run *r, const dt_event *e);
void dt_run_warn(const run *r, const char *text);
void dt_run_emit_start(run *r);
/* Fails with DIVERGED if a weight or a slot of the optimizer is not finite. A step's loss is
 * computed before its update, so the weights alone show a bad last update. */
dt_status *dt_run_check_weights(const run *r) DT_MUST_USE;
void dt_trainer_parts(const dt_trainer *t, dt_strategy **strategy, dt_model **model,
                      dt_optimizer **optimizer, dt_dataset **data);

#endif
