/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: opened, trained, evaluated, asked for predictions, as the program's verbs do it.
 */
#ifndef DTRAIN_JOB_H
#define DTRAIN_JOB_H

#include "base.h"

DT_BEGIN_C

/* ---- jobs --------------------------------------------------------------------------------------------------------- */

/* A job file, read and checked: types, shapes, placement. Data is not opened yet. */
typedef struct dt_job dt_job;
/* What a job is opened for says which sections it must have: evaluate needs no `fit`, predict and topology no `compile` either; a plan takes words
 * that cannot be run yet. */
typedef enum dt_purpose { DT_FOR_FIT, DT_FOR_PLAN, DT_FOR_EVALUATE, DT_FOR_PREDICT, DT_FOR_TOPOLOGY } dt_purpose;
typedef struct dt_job_source {
    const char *path;               /* "-": standard input */
    const char *directory;          /* -C: output.dir is relative to it; NULL: "." */
    const char *const *overrides;   /* "key.path=value" */
    int n_overrides;
    dt_purpose purpose;
} dt_job_source;
DT_API dt_status *dt_job_open(dt_job **out, const dt_job_source *source) DT_CHECKED;
DT_API void dt_job_unref(dt_job *j);
DT_API const char *dt_job_name(const dt_job *j);
/* The i-th metric that fit reports: "loss", "accuracy", ..., then with validation data "val_loss", ..., "learning_rate" where callbacks change it; NULL past the last. */
DT_API const char *dt_job_metric(const dt_job *j, int i);
/* Opens the data as well and checks it against the model; so are weights that training would begin with. */
DT_API dt_status *dt_job_check_data(dt_job *j) DT_CHECKED;
/* What each logical device has of images that `partition` cuts by rows and columns, layer by layer, and what it gets from its neighbours; "" where
 * no images are cut. Free it. */
DT_API dt_status *dt_job_partition_text(dt_job *j, char **text) DT_CHECKED;

typedef enum dt_kernels { DT_KERNELS_AUTO, DT_KERNELS_OPENBLAS, DT_KERNELS_ONEDNN } dt_kernels;
typedef enum dt_resume { DT_RESUME_JOB, DT_RESUME_AUTO, DT_RESUME_NEVER, DT_RESUME_MUST, DT_RESUME_PATH } dt_resume;
/* Where fit begins as the job itself says; DT_RESUME_AUTO of a job that says nothing. */
DT_API dt_resume dt_job_resume(const dt_job *j);

/* What happened, told while it happens. Fields that an event does not have are 0 or NULL. */
typedef enum dt_event_kind { DT_EVENT_START, DT_EVENT_STEP, DT_EVENT_EPOCH, DT_EVENT_EVAL, DT_EVENT_CHECKPOINT, DT_EVENT_WARNING, DT_EVENT_END,
    DT_EVENT_TEXT, DT_EVENT_FAULT, DT_EVENT_CALLBACK, DT_EVENT_REPORT, DT_EVENT_DATA } dt_event_kind;
typedef struct dt_metric {
    const char *name; /* "loss", "val_accuracy" */
    double value;
} dt_metric;
typedef struct dt_event {
    dt_event_kind kind;
    const char *job, *job_sha256, *backend; /* start */
    const char *device;                     /* start: "sim:v3-8", "2 x CPU" */
    uint64_t seed;                          /* start */
    int replicas, logical_devices, threads; /* start */
    int64_t steps_per_epoch, parameters, peak_bytes;   /* start; peak_bytes: the planned arena of a training step */
    /* start: the run's memory at its peak, and its parts: arenas of training steps and of evaluation, of all sizes of batches; weights and optimizer
     * state; examples kept and batches read ahead; the program with its libraries (an estimate) */
    int64_t memory_bytes, step_bytes, evaluation_bytes, state_bytes, data_bytes, program_bytes;
    int64_t train_examples, validation_examples, global_batch, last_batch; /* start */
    const char *sharding;                   /* start: what auto_shard_policy came to: "sharded by file" */
    int64_t epochs;                         /* start, step, epoch: in all */
    int64_t step, steps;                    /* global step, counted from 1; in all */
    int64_t epoch;                          /* counted from 1 */
    int64_t epoch_step;                     /* step within the epoch, from 1; epoch: all of it; callback: after a validation within the epoch, else 0 */
    int64_t examples;                       /* step, epoch, eval */
    double wall_s, examples_per_s;          /* step: of this step; epoch: of its training part */
    double virtual_s;                       /* step, epoch: simulated seconds of a step; end: of all steps of this run; 0: no virtual clock */
    /* epoch: the part of its training time in which steps waited for data, and what of that was for reading, decoding, map; waited_s: seconds. On a
     * simulated slice the part of simulated time in which devices would wait, were data prepared as fast as here. */
    double idle, idle_reading, idle_decoding, idle_map, waited_s;
    /* step, epoch, eval; end: of the last epoch, also when it was trained before. A step's loss is that of its batch, its other metrics are those
     * of the epoch so far. */
    const dt_metric *metrics;
    int n_metrics;
    /* eval of fit between the ends of epochs, where no epoch's event follows with both: the metrics of the epoch's steps so far */
    const dt_metric *training;
    int n_training;
    const char *checkpoint, *weights_sha256; /* checkpoint, end */
    const char *split;                      /* eval from evaluate, data: "validation" */
    /* data, before the end of a run that writes: what the files of a part hold, all in all; hashed: of what of them data_sha256 is made, "whole", "ends"
     * (the first and last 64 KiB of each file), or "sizes" */
    int64_t files, bytes;
    const char *data_sha256, *hashed;
    const char *text;                       /* warning; text: what GenerateText made, the prompt first; fault: the one that comes, as written;
                                             * callback: what it did, "reducing learning rate to 0.0005"; report: the page's path, after the end */
    const char *callback;                   /* callback: "ReduceLROnPlateau"; `epoch` is the one at hand */
    bool resumed;                           /* start: goes on from `step` of `checkpoint` */
} dt_event;

typedef struct dt_run_options {
    int threads;               /* lanes; 0: one per core */
    dt_kernels kernels;
    dt_resume resume;
    const char *resume_path;   /* with DT_RESUME_PATH */
    int64_t max_steps;         /* fit: stop after this many global steps; 0: the job's own; evaluate: so many batches of the part; 0: all */
    double max_seconds;        /* --time: fit saves and stops (75) after the step that ends so long after the call; 0: no limit */
    bool dry_run;              /* compile, report start, write nothing */
    bool every_step;           /* step events are not rate-limited */
    void (*event)(const dt_event *e, void *user); /* may be NULL */
    void *user;
    const volatile int *stop;  /* set by signal handlers: 1 save and stop, 2 stop at once; NULL: none */
    volatile int *save;        /* set by a signal handler: save and go on; cleared by fit */
    const char *const *inject; /* fit: faults to rehearse, "kill:core=5@step=120", "slow-link:x=1,y=2@step=50*4", "nan@step=7", "hbm=8GiB" */
    int n_inject;
} dt_run_options;

/* Trains as the job says; options NULL: all 0. TEMPFAIL (75) when stopped after saving, or before the first step. */
DT_API dt_status *dt_job_fit(dt_job *j, const dt_run_options *options) DT_CHECKED;
/* Exact metrics of a checkpoint over a split ("validation", "test", "train"); checkpoint NULL: the newest of output.dir. */
DT_API dt_status *dt_job_evaluate(dt_job *j, const char *checkpoint, const char *split, const dt_run_options *options) DT_CHECKED;
/* What the values of an output are: numbers; probabilities of classes, of which one is right; probabilities of labels, each of which may be right or
 * not. A single label is two classes: its value is the probability of the second. */
typedef enum dt_output_kind { DT_OUTPUT_VALUES, DT_OUTPUT_CLASSES, DT_OUTPUT_LABELS } dt_output_kind;
typedef struct dt_output_meaning {
    dt_output_kind kind;
    bool logits;              /* they are scores, of which softmax (classes) or sigmoid (labels) makes probabilities */
    int n_names;
    const char *const *names; /* [n_names] of classes or labels, by their number; n 0: they have none */
} dt_output_meaning;
/* Some rows of a model's outputs, told in the order of the examples; lent for the call. */
typedef struct dt_predicted_rows {
    int64_t first, n_rows;          /* examples [first, first + n_rows), counted from 0 */
    int64_t of;                     /* how many there will be in all; -1: nobody knows yet */
    int n_outputs;
    const char *const *names;       /* the output layers' */
    const dt_tensor *const *values; /* (n_rows, ...) each, as the model gives them */
    const dt_output_meaning *meaning; /* [n_outputs]; NULL: they are numbers */
    const char *const *files;       /* [n_rows] the picture that each example is; NULL: examples are not files */
} dt_predicted_rows;
typedef struct dt_predict_request {
    const char *checkpoint; /* a run's or a saved model; NULL: the newest of output.dir */
    /* In place of the job's data, through the `map` of the model's inputs: a file of any kind that its content tells (NPY, NPZ, IDX, CSV, JSON lines,
     * TFRecord, PNG, JPEG; gzip), a folder of pictures, or "-", standard input, whose rows are answered as they come. NULL: none. */
    const char *input;
    const char *split;      /* of the job's data: "validation", "test", "train" */
    dt_status *(*rows)(const dt_predicted_rows *p, void *user); /* gets rows as they come, any number of them; an error ends it. NULL: nobody */
    void *user;
} dt_predict_request;
/* The model's outputs (examples, ...), in the order of the data; out NULL, as models of several outputs want it: to request->rows alone, a batch
 * at a time. The job needs neither `compile` nor `fit`. */
DT_API dt_status *dt_job_predict(dt_job *j, const dt_predict_request *request, const dt_run_options *options, dt_tensor **out) DT_CHECKED;

/* Rows as text or bytes, to a file or to standard output: `rows` of a request, with the writer as its user. */
typedef struct dt_row_writer dt_row_writer;
typedef struct dt_row_writer_options {
    const char *path;   /* "-": standard output. A file is put in place when it is whole */
    const char *format; /* "csv", "npy", "npz", "jsonl"; NULL: as the path ends */
    int64_t top;        /* of each row the `top` largest values with their numbers, largest first, in place of all; 0: all */
} dt_row_writer_options;
/* ROW_FORMAT: no such format; later one that does not go there. NPY goes to standard output only where the number of rows is known, NPZ never. */
DT_API dt_status *dt_row_writer_open(dt_row_writer **out, const dt_row_writer_options *options) DT_CHECKED;
DT_API dt_status *dt_row_writer_put(const dt_predicted_rows *p, void *writer) DT_CHECKED;
/* What is left is written, and the file put in place; *rows (may be NULL): how many there were. */
DT_API dt_status *dt_row_writer_finish(dt_row_writer *w, int64_t *rows) DT_CHECKED;
DT_API void dt_row_writer_unref(dt_row_writer *w); /* a file that is not finished is removed */

/* The job as it is after `extends`, overrides and substitutions, as a job file; with_origin: behind each value where it comes from, "job.yaml:12",
 * "base.yaml:3", "override 1" or "default". The caller frees *text. */
DT_API dt_status *dt_job_config_text(const dt_job *j, bool with_origin, char **text) DT_CHECKED;
/* What b says otherwise than a, a line each: "- fit.epochs: 5" and "+ fit.epochs: 6"; "" when they say the same. b NULL: the job that the newest
 * checkpoint below the directory `run` was trained with. The caller frees *text. */
DT_API dt_status *dt_job_config_diff(const dt_job *a, const dt_job *b, const char *run, char **text) DT_CHECKED;

typedef enum dt_export_format { DT_EXPORT_ONNX, DT_EXPORT_SAFETENSORS, DT_EXPORT_NPZ } dt_export_format;
typedef struct dt_export_request {
    const char *checkpoint; /* a run's or a saved model; NULL: the newest of output.dir */
    const char *path;       /* of the file to be written */
    dt_export_format format;
    bool without_map;       /* ONNX: inputs are the model's, not the data set's before `map` */
} dt_export_request;
/* The model as an ONNX file, or its weights by their paths. Its END event tells checkpoint, parameters and the weights' SHA-256. */
DT_API dt_status *dt_job_export(dt_job *j, const dt_export_request *request, const dt_run_options *options) DT_CHECKED;
/* What the compiler made of the job: graph, gradient, folded, program, executable. The caller frees *text. */
DT_API dt_status *dt_job_lower(dt_job *j, const char *stage, const dt_run_options *options, char **text) DT_CHECKED;

DT_END_C

#endif
