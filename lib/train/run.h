/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run, shared by the files that train (fit.c), open and save it (open_run.c), and
 * by its hooks. */
#ifndef DT_TRAIN_RUN_H
#define DT_TRAIN_RUN_H

#include "base/clock.h"
#include "data/workers.h"
#include "train/train.h"

/* The position in training. */
typedef struct position {
    /* finished steps and epochs; epoch_step counts the steps of the current epoch */
    int64_t step, epoch, epoch_step;
    dt_sums sums; /* sums of the current epoch */
    double wall_s;
} position;

/* Seconds on the clock of a simulated slice; zeros without one. */
typedef struct virtual_time {
    double all_s; /* seconds of all steps of this run */
    /* Times of the epoch's steps in this run: device_s without and data_s with the time that
     * devices wait for data. */
    double device_s, data_s;
    int n_slow;       /* number of chips with slow links, which is a fault that was injected */
    double slow_s[2]; /* seconds of a full step with these links, and of the smaller last one */
} virtual_time;

/* The epoch's steps in this run: their time, the part of it spent waiting for data, and what the
 * reading threads spent their time on. */
typedef struct data_wait {
    double all_s, waited_s, spent_s[DT_SPENT_KINDS];
} data_wait;

/* The bytes that the run needs at its peak. */
typedef struct dt_memory {
    int64_t step, evaluation; /* arenas for all batch sizes */
    int64_t state;            /* weights and the optimizer's slots */
    int64_t data;             /* cached examples, and batches that are read ahead */
    int64_t program;          /* code, libraries, threads, and memory left from compiling */
    int64_t all;
} dt_memory;

/* The recording of output.trace. All members are 0 if nothing is recorded. */
enum {
    DT_RECORDED_STEP,
    DT_RECORDED_VALIDATION,
    DT_RECORDED_CHECKPOINT,
    DT_RECORDED_HISTORY,
    DT_RECORDED
};
typedef struct recording {
    dt_recorder *recorder;
    dt_device *device;
    dt_track *main;
    int mark[DT_RECORDED];
    int64_t first, last; /* the first and the last step recorded so far */
    int64_t since;       /* beginning of the current step's span; 0: the step is not recorded */
    bool saved;
} recording;

/* The most metrics in an epoch's logs: those of training and of validation, and two that callbacks
 * add. */
#define DT_MAX_LOGS (2 * DT_MAX_KEYS + 2)

/* How much a run trains: run_size.c. */
typedef struct run_size {
    /* data_steps: number of batches in one pass over the data */
    int64_t examples, batch, steps_per_epoch, data_steps;
    /* workers that read parts of the data, by auto_shard_policy; NULL: all read the whole */
    dt_workers *workers;
    int64_t steps, epochs; /* steps and epochs to be trained when this run ends */
    int64_t all_steps;     /* steps of the whole job, which --steps may cut */
    const char *sharding;  /* text for people: how hosts share the examples */
} run_size;

/* The files of a run (open_run.c). */
typedef struct outputs {
    bool writes; /* this process writes files: there is a directory, and this is not a dry run */
    /* when the last checkpoint was written (nanoseconds), and its step */
    int64_t saved_ns, saved_step;
    dt_run_dir directory;
    dt_writer history;
    dt_history_lines history_lines;
    int64_t generation; /* number of the generation, see dt_state_file */
    bool fresh;         /* the old run's checkpoints are deleted after the first new one */
    /* until the first checkpoint, the history is a separate file beside the old one */
    bool aside;
    bool resumed;
    char *checkpoint; /* path of the newest checkpoint; NULL: none */
    dt_digest saved;  /* hash of the weights in the last checkpoint */
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
    /* open during training; NULL with a coordinator, whose workers read the batches */
    dt_iterator *batches;
    /* the next step, if it starts before the current one is finished: step_pipeline.c */
    struct {
        bool allowed; /* the device can overlap steps, and no hook needs single ones */
        bool is_there;
        dt_example batch;
        dt_status *fault; /* error of starting the step; reported when the step is due */
    } ahead;
    dt_metric *so_far;           /* [DT_MAX_LOGS] metrics of the epoch's steps so far */
    dt_metric last[DT_MAX_LOGS]; /* metrics of the last epoch, or of a validation by steps */
    int n_last;
    int n_hooks; /* number of hooks opened so far */
    struct dt_hook *hook;
    struct dt_callback_message *messages; /* reports of callbacks, until they are emitted */
    struct dt_record *record; /* set while its hook is open (record.h); NULL: nothing is written */
    /* see coordinator.h; NULL: this process computes the steps */
    struct dt_coordinated *coordinator;
    uint32_t due; /* with a coordinator: what to do once all given batches are applied */
    /* hashes of the data (observe/data.c); NULL: they are not computed */
    struct dt_hashing *hashing;
    bool stop_training; /* a callback stopped the training */
    bool swapped;       /* weights and running means are exchanged: see dt_run_swap */
    /* at the end of training, the running means have replaced the weights */
    bool averaged;
    bool replaced; /* the last epoch's metrics do not belong to the final weights */
    int64_t began_ns;
    outputs out;
    /* set before the hooks' `close`: the error that ended training; NULL: it ended well */
    dt_status *fault;
} run;

/* Whether this is the chief, the worker that writes files. A single process is one. */
static inline bool dt_run_is_chief(const run *r) {
    return !r->strategy->cluster || r->strategy->cluster->rank == 0;
}
/* Names the kernels, on which the last bits of results depend: "openblas 0.3.21 SkylakeX,
 * avx512". */
const char *dt_run_kernels(const run *r);

/* memory.c: fills r->memory before the first step. Compiles the steps of evaluation. */
dt_status *dt_run_count_memory(run *r) DT_MUST_USE;
/* Fails with DOES_NOT_FIT if the machine, or the container, has less memory than the run needs. The
 * error names the largest layer, and suggests what would fit: rematerialization or a smaller batch.
 * If neither does, it says how much memory the job needs. */
dt_status *dt_run_check_memory(run *r) DT_MUST_USE;
/* Seconds of a step with `rows` rows on the clock of a simulated slice; rows 0: with a full batch.
 * Returns 0 without a slice. */
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
/* Starts the step after r->at, unless it was started ahead. Its batch is lent until the next
 * step has been finished. */
dt_status *dt_run_start_step(run *r, dt_example *batch) DT_MUST_USE;
/* Starts the step after the current one, if nothing has to be done between the two. */
void dt_run_start_ahead(run *r);
/* Whether step number epoch_step of an epoch updates the weights. False: it only accumulates
 * gradients. */
bool dt_run_closes_window(const run *r, int64_t epoch_step);
/* Waits for a step that was started ahead, and drops its results. */
void dt_run_drop_ahead(run *r);
/* fit.c: whether a checkpoint or a stop is due after the step of that number. */
bool dt_run_is_interrupted(const run *r, int64_t step);
/* fit.c: what this process asks for after the next step, as bits for dt_cluster_begin_step. */
uint32_t dt_run_wishes(const run *r);
/* epoch_end.c: collects, reports and writes the epoch's logs. Begins the next epoch if this one has
 * all its steps. */
dt_status *dt_run_end_epoch(run *r) DT_MUST_USE;
/* run_size.c: computes the run's examples, batch, steps, epochs and first position, and what
 * each worker reads. */
dt_status *dt_run_measure(run *r) DT_MUST_USE;
/* The number of examples in the first `steps` steps of training. */
int64_t dt_run_fed(const run *r, int64_t steps);
/* Whether validation_freq counts steps, as it does with fit.steps. */
bool dt_run_validates_by_steps(const run *r);
/* Whether the last step is validated by steps and does not end an epoch. Its line of the history is
 * written at once and stays. */
bool dt_run_is_validated_between(const run *r);
/* Validates after such a step. Callbacks get the logs, which become a line of the history. */
dt_status *dt_run_validate_between(run *r) DT_MUST_USE;
/* Validates again with the final weights, so that --expect checks the weights that are saved. */
dt_status *dt_run_validate_again(run *r) DT_MUST_USE;
/* Validates at the end of a run that --steps ended, so that --expect has metrics of validation.
 * Callbacks and the history do not get them. */
dt_status *dt_run_validate_late(run *r) DT_MUST_USE;
/* Whether steps of this run are left. */
bool dt_run_is_training(const run *r);
/* Whether the whole job is trained. */
bool dt_run_is_done(const run *r);
/* Locks the directory, and resumes from a checkpoint if there is one. A dry run writes nothing. */
dt_status *dt_run_open(run *r) DT_MUST_USE;
/* The state.json of a checkpoint at this position, lent until the run ends. */
dt_status *dt_run_describe(run *r, dt_state_file *state) DT_MUST_USE;
/* Writes a checkpoint, unless the last one has this position. Fails with DIVERGED if a weight is
 * not finite; then nothing is written. */
dt_status *dt_run_save(run *r) DT_MUST_USE;
dt_status *dt_run_close(run *r) DT_MUST_USE;
/* Passes an event to the caller and to the record. */
void dt_run_emit(const run *r, const dt_event *e);
void dt_run_warn(const run *r, const char *text);
void dt_run_emit_start(run *r);
/* Fails with DIVERGED if a weight or a slot of the optimizer is not finite. A step's loss is
 * computed before its update, so the last update shows only there. */
dt_status *dt_run_check_weights(const run *r) DT_MUST_USE;
void dt_trainer_parts(const dt_trainer *t, dt_strategy **strategy, dt_model **model,
                      dt_optimizer **optimizer, dt_dataset **data);

#endif
