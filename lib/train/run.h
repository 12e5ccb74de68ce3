/* SPDX-License-Identifier: Apache-2.0 */
/* A run from the inside: what fit.c does, and where open_run.c reads and writes it. */
#ifndef DT_TRAIN_RUN_H
#define DT_TRAIN_RUN_H

#include "base/clock.h"
#include "data/workers.h"
#include "train/train.h"

/* Where training stands. */
typedef struct position {
    int64_t step, epoch, epoch_step; /* done so far; epoch_step: of the epoch at hand */
    dt_sums sums;                    /* of the epoch at hand */
    double wall_s;
} position;

/* On the clock of a simulated slice; zeros where there is none. */
typedef struct virtual_time {
    double all_s; /* of this run's steps */
    /* of the epoch's steps here: devices at work; the same, and waiting for data */
    double device_s, data_s;
    int n_slow;    /* chips whose links are slow from now on */
    double slow_s; /* of a step with them, where there are any */
} virtual_time;

/* Of the epoch's steps here: their time, what of it was waiting for data, and what threads that
 * read ahead worked on meanwhile. */
typedef struct data_wait {
    double all_s, waited_s, spent_s[DT_SPENT_KINDS];
} data_wait;

/* Bytes that the run will take at its peak. */
typedef struct dt_memory {
    int64_t step, evaluation; /* arenas, of all sizes of batches */
    int64_t state;            /* weights and what the optimizer keeps */
    int64_t data;             /* examples that stay in memory, and batches read ahead */
    int64_t program;          /* code, libraries, threads, what compiling left */
    int64_t all;
} dt_memory;

/* What output.trace records; zeros: nothing. */
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
    int64_t first, last; /* steps recorded so far */
    int64_t since;       /* the span of the step at hand began; 0: it is not recorded */
    bool saved;
} recording;

/* The step after the one at hand, where it starts before that is finished: step_pipeline.c. */
typedef struct dt_ahead {
    bool allowed; /* the device can, and nobody looks at single steps */
    bool is_there;
    dt_batch batch;
    dt_status *fault; /* of its start; it is told in its turn */
} dt_ahead;

typedef struct dt_callback_message dt_callback_message; /* by a callback, to be told */

/* An epoch's logs: all metrics of both parts, and what callbacks add. */
#define DT_MAX_LOGS (2 * DT_MAX_KEYS + 2)

typedef struct run {
    const dt_fit_request *q;
    dt_arena *arena;
    dt_strategy *strategy;
    dt_model *model;
    dt_optimizer *optimizer;
    dt_dataset *data;
    bool writes; /* there is a directory, and this is no dry run */
    /* data_steps: batches of the data until it begins again */
    int64_t examples, batch, steps_per_epoch, data_steps;
    /* that read apart, as auto_shard_policy says; NULL: the order of one process */
    dt_workers *workers;
    int64_t steps, epochs; /* of this run, */
    int64_t all_steps;     /* and of the job: --steps may end a run before */
    const char *sharding;  /* how hosts share the examples, in words */
    position at;
    dt_sums validation; /* of the last one */
    virtual_time virtual_time;
    data_wait data_wait;
    dt_memory memory;
    recording recording;
    dt_feed *feed; /* while it trains; NULL with a coordinator */
    dt_ahead ahead;
    dt_metric *so_far;           /* [DT_MAX_LOGS] of the epoch's steps so far */
    dt_metric last[DT_MAX_LOGS]; /* of the last epoch, or validation between */
    int n_last;
    int n_hooks; /* opened so far */
    struct dt_hook *hook;
    dt_callback_message *messages;
    struct dt_record *record;           /* see record.h; NULL: nothing is written */
    struct dt_coordinated *coordinator; /* see coordinator.h; NULL: steps are this process's own */
    uint32_t due;               /* with a coordinator: what is to be done as soon as it rests */
    struct dt_hashing *hashing; /* of the data, see hashing.h; NULL: nobody takes them */
    bool stop_training;         /* a callback wants no more epochs */
    bool swapped;               /* the model has the running means, and the optimizer the weights */
    bool averaged;              /* training is over, and the weights have become their means */
    bool replaced; /* the weights in the end are not those that the last epoch's metrics are of */
    int64_t began_ns, saved_ns, saved_step;
    dt_run_dir directory;
    dt_writer history;
    dt_history_lines history_lines;
    int64_t generation; /* see dt_state_file */
    bool fresh;         /* in a used directory: the old checkpoints go with the first new one */
    bool aside;         /* the history lies beside the old one until then */
    bool resumed;
    char *checkpoint; /* the newest, NULL: none */
    dt_digest saved;  /* the weights of the one saved last */
} run;

/* Of several workers the first one, which writes; true where there is one. */
static inline bool dt_run_is_chief(const run *r) {
    return !r->strategy->cluster || r->strategy->cluster->rank == 0;
}
/* What the bits depend on: "openblas 0.3.21 SkylakeX, avx512". */
const char *dt_run_kernels(const run *r);

/* memory.c: before the first step; compiles what will be evaluated. */
dt_status *dt_run_count_memory(run *r) DT_MUST_USE;
/* DOES_NOT_FIT with the layer that takes the most and what would fit, where the machine, or the
 * container, has less. */
dt_status *dt_run_check_memory(run *r) DT_MUST_USE;
/* Seconds of a step on the clock of a simulated slice; 0: there is none. */
double dt_virtual_step_s(const run *r);
/* Adds to an event how much of the epoch's time was waiting for data, and begins a new epoch. */
void dt_run_report_waiting(run *r, dt_event *e);
/* Puts the running means in the place of the weights, or the weights back; nothing where they are.
 * For optimizers that keep means. */
dt_status *dt_run_swap(run *r, bool means) DT_MUST_USE;
/* step_pipeline.c: opens r->feed at the run's position. */
dt_status *dt_run_open_feed(run *r) DT_MUST_USE;
/* Whether steps of this run may overlap. */
void dt_run_allow_ahead(run *r);
/* The step after r->at has started: now, or it had before. Its batch is lent until the next one has
 * been finished. */
dt_status *dt_run_start_step(run *r, dt_batch *batch) DT_MUST_USE;
/* Starts the step after that, where nothing comes between. */
void dt_run_start_ahead(run *r);
/* Whether the step that is so many after the epoch's begin updates, where gradients are
 * accumulated. */
bool dt_run_closes_window(const run *r, int64_t epoch_step);
/* Nothing is on its way any more; what a step gave that was started ahead is dropped. */
void dt_run_drop_ahead(run *r);
/* fit.c: a checkpoint is asked for after the step of that number, or the end. */
bool dt_run_is_interrupted(const run *r, int64_t step);
/* fit.c: what this process wants to be done after the next step; bits for dt_cluster_begin_step. */
uint32_t dt_run_wishes(const run *r);
/* epoch_end.c: collects, reports and writes the epoch's logs. Begins the next epoch if this one has
 * all its steps. */
dt_status *dt_run_end_epoch(run *r) DT_MUST_USE;
/* run_size.c: its examples, batch, steps and epochs, where it begins, and what each worker
 * reads. */
dt_status *dt_run_measure(run *r) DT_MUST_USE;
/* Examples of the first steps of training. */
int64_t dt_run_fed(const run *r, int64_t steps);
/* fit.steps with validation_freq, which then counts steps. */
bool dt_run_validates_by_steps(const run *r);
/* The step just done is one of them, and not an epoch's last: its logs are seen and written here,
 * for good. */
bool dt_run_is_validated_between(const run *r);
/* Validates then; callbacks see the logs, which become a line of the history. */
dt_status *dt_run_validate_between(run *r) DT_MUST_USE;
/* The last metrics are of the weights as they are now: what --expect looks at is true of what is
 * saved. */
dt_status *dt_run_validate_again(run *r) DT_MUST_USE;
/* The last metrics of a run that --steps ended have validation's, even out of its turn: for
 * --expect alone, callbacks and history do not see it. */
dt_status *dt_run_validate_late(run *r) DT_MUST_USE;
/* Steps of this run are left. */
bool dt_run_is_training(const run *r);
/* Nothing of the job is left to train. */
bool dt_run_is_done(const run *r);
/* Takes the directory, finds where to go on, loads it. A dry run only looks. */
dt_status *dt_run_open(run *r) DT_MUST_USE;
/* What a checkpoint of the position says, lent until the run ends. */
dt_status *dt_run_describe(run *r, dt_state_file *state) DT_MUST_USE;
/* Writes a checkpoint, unless the last one has this position. DIVERGED: a weight is not finite, and
 * nothing was written. */
dt_status *dt_run_save(run *r) DT_MUST_USE;
dt_status *dt_run_close(run *r) DT_MUST_USE;
/* Tells an event to the caller and the record. */
void dt_run_emit(const run *r, const dt_event *e);
void dt_run_warn(const run *r, const char *text);
void dt_run_emit_start(run *r);
/* Adds to that what the batch or the step's number says of the cause, where they say something. */
dt_status *dt_run_explain_loss(const run *r, const dt_batch *batch, dt_status *s) DT_MUST_USE;
/* DIVERGED where a weight, or state of the optimizer, is not finite: the loss of a step is that
 * before its update. */
dt_status *dt_run_check_weights(const run *r) DT_MUST_USE;
void dt_trainer_parts(const dt_trainer *t, dt_strategy **strategy, dt_model **model,
                      dt_optimizer **optimizer, dt_dataset **data);

#endif
