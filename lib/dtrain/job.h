/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: open, check, train, evaluate, predict, generate and export, as the commands of the
 * dtrain program do.
 */
#ifndef DTRAIN_JOB_H
#define DTRAIN_JOB_H

#include "base.h"

DT_BEGIN_C

/* ---- jobs ---- */

/* A job file whose types, shapes and placement have been checked. Opening it does not open its
 * data. */
typedef struct dt_job dt_job;
/* What a job is opened for. This decides which sections it must have: all need `dataset` and
 * `model`; fit, plan and evaluate also `compile`; only fit needs `fit`. For a plan or a topology,
 * the job may use features that cannot be run yet. */
typedef enum dt_purpose {
    DT_FOR_FIT,
    DT_FOR_PLAN,
    DT_FOR_EVALUATE,
    DT_FOR_PREDICT,
    DT_FOR_TOPOLOGY
} dt_purpose;
typedef struct dt_job_source {
    const char *path; /* path of the job file; "-": standard input */
    /* the option -C: output.dir and the job's paths of checkpoints are relative to it; NULL: "." */
    const char *directory;
    const char *const *overrides; /* such as "key.path=value" */
    int n_overrides;
    dt_purpose purpose;
    const char *backend; /* a back end that replaces the job's: "cpu", "pjrt"; NULL: the job's */
    /* Path of a PJRT plug-in that replaces the job's; without `backend` it selects pjrt; NULL: the
     * job's. */
    const char *plugin;
    /* open the job only for inspection: a plug-in that the job or the environment names is not
     * opened, and the back end is the strategy's own. Always so for PLAN and TOPOLOGY, never if
     * `plugin` is set */
    bool inspect;
    /* has_rank: `rank` is the number of this process among the workers of the job's
     * cluster_resolver, from 0 on; otherwise DTRAIN_RANK has this number */
    bool has_rank;
    int rank;
} dt_job_source;
/* Opens a job. All errors of its file are reported together. */
DT_API dt_status *dt_job_open(dt_job **out, const dt_job_source *source) DT_CHECKED;
DT_API void dt_job_unref(dt_job *j);
DT_API const char *dt_job_name(const dt_job *j);
/* The name of the i-th metric that fit reports, lent: "loss", "accuracy", ..., then with validation
 * data "val_loss", ..., and "learning_rate" if callbacks change it. NULL: past the last. */
DT_API const char *dt_job_metric(const dt_job *j, int i);
/* The number of folds if the job trains a model for each fold (dataset.validation_folds without
 * dataset.fold), as dt_sweep_open does; 0: the job trains one model. */
DT_API int dt_job_folds(const dt_job *j);
/* Opens the data too and checks it against the model, and also the weights that training would
 * start from. */
DT_API dt_status *dt_job_check_data(dt_job *j) DT_CHECKED;
/* Decodes every example if examples have to be decoded, such as pictures. Returns an error for each
 * that cannot be decoded, even if `on_error: skip` leaves it out; dt_status_next has the first
 * 20. */
DT_API dt_status *dt_job_check_examples(dt_job *j) DT_CHECKED;
/* Warnings about a valid job, one per line, for example that an output does not yield what its loss
 * expects. "" if there are none. The caller frees *text. Most warnings that need the data come as
 * events of fit and evaluate instead. */
DT_API dt_status *dt_job_warnings(dt_job *j, char **text) DT_CHECKED;
/* For layers that `partition` splits between batch and channels, as images by rows and columns: the
 * tile of each logical device, and what it receives from its neighbours. If the number of replicas
 * is that of the devices of a plug-in that is not opened, a line says so. "" if there is nothing to
 * say. The caller frees *text. */
DT_API dt_status *dt_job_partition_text(dt_job *j, char **text) DT_CHECKED;

typedef enum dt_kernels {
    /* the job's setting; without one, BFLOAT16 for the precision mixed_bfloat16, otherwise OWN, or
     * LIBRARIES if the processor has no FMA */
    DT_KERNELS_AUTO,
    DT_KERNELS_OPENBLAS,
    DT_KERNELS_ONEDNN,
    DT_KERNELS_OWN, /* dtrain's own loops, which yield the same bits on every processor */
    /* oneDNN if it is installed, otherwise OWN; on a processor without FMA, OpenBLAS instead */
    DT_KERNELS_LIBRARIES,
    /* the default of mixed_bfloat16: LIBRARIES on a processor with AMX or without FMA, otherwise
     * OWN, which then multiplies bfloat16 by AVX512_BF16 where the processor has that */
    DT_KERNELS_BFLOAT16
} dt_kernels;
typedef enum dt_resume {
    DT_RESUME_JOB,
    DT_RESUME_AUTO,
    DT_RESUME_NEVER,
    DT_RESUME_MUST,
    DT_RESUME_PATH
} dt_resume;
/* The job's own `resume` setting; DT_RESUME_AUTO if it has none. */
DT_API dt_resume dt_job_resume(const dt_job *j);

/* The number of this process among those that were started for the job; 0: it is the only one, or
 * the first one, which writes and reports. */
DT_API int dt_job_worker(const dt_job *j);

/* ---- explained evaluations ---- */

/*
 * What evaluate reports about an output in addition to its metrics: which classes are confused, at
 * which threshold a classifier of two classes should decide, how large the errors of a regression
 * are, and which examples are worst. The names of the numbers are scikit-learn's.
 *
 * Every example counts once: sample weights do not matter here. Numbers are the same for any number
 * of workers and replicas.
 */

/* The kind of values that an output was evaluated as. */
typedef enum dt_explained_as {
    /* Classes, of which exactly one is right; the one with the highest score is predicted. */
    DT_EXPLAINED_CLASSES,
    DT_EXPLAINED_BINARY, /* two classes; the second one is predicted above 0.5 */
    DT_EXPLAINED_LABELS, /* independent labels, each predicted above 0.5 */
    DT_EXPLAINED_VALUES  /* plain numbers */
} dt_explained_as;

/* The scores of a class or a label; 0 if a quotient has the divisor 0. */
typedef struct dt_class_score {
    const char *name;        /* name of the class; if it has none, its number; NULL: an average */
    int64_t number, support; /* number: index of the class; support: number of its examples */
    double precision, recall, f1_score;
} dt_class_score;

/* How often examples of class `actual` were classified as `predicted`. */
typedef struct dt_confused {
    int64_t actual, predicted, count;
} dt_confused;

/* The scores of the decision "class 1 if its probability is at least `threshold`". */
typedef struct dt_threshold {
    double threshold, precision, recall, f1, accuracy, balanced_accuracy, mcc;
} dt_threshold;
typedef enum dt_threshold_score {
    DT_THRESHOLD_F1,
    DT_THRESHOLD_ACCURACY,
    DT_THRESHOLD_BALANCED_ACCURACY,
    DT_THRESHOLD_MCC,
    DT_THRESHOLD_PRECISION,
    DT_THRESHOLD_RECALL
} dt_threshold_score;

/* A point of a curve. ROC: false and true positive rate. Precision-recall: recall, precision. `at`
 * is the threshold of both. Calibration: the mean probability of a bin, the share of class 1 in it;
 * `at` is the number of its examples. */
typedef struct dt_curve_point {
    double x, y, at;
} dt_curve_point;
typedef struct dt_curve {
    int n;
    /* [n] the curve's points or, if it has more than 201, at most 201 of them, evenly spread */
    const dt_curve_point *point;
} dt_curve;

enum { DT_ERROR_QUANTILES = 9 };
/* The errors of one column of numbers. An error is the prediction minus the target. */
typedef struct dt_error_scores {
    const char *name; /* name of the column; NULL: none */
    double mean_error, mean_absolute_error, root_mean_squared_error, r2_score;
    /* quantiles of the errors: 0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99 and 1 */
    double quantile[DT_ERROR_QUANTILES];
} dt_error_scores;

/* One of the examples with the largest loss, largest first. */
typedef struct dt_worst_example {
    int64_t example;   /* number of the example in the split, from 0 */
    const char *where; /* location of the example: "example 17 of a.csv", or its file */
    double loss;
    /* for classes: the indices of the actual and the predicted class, and in `score` the predicted
     * probability of the actual class; for values: target and prediction of the first column, with
     * score NaN; for labels: all three are NaN */
    double actual, predicted, score;
} dt_worst_example;

typedef struct dt_output_explained {
    const char *name; /* name of the output */
    dt_explained_as as;
    int64_t examples; /* number of examples that count: those without a target are left out */
    /* For classes and binary: share of correct examples; for labels: share of examples with all
     * labels right. */
    double accuracy;
    int64_t n_classes;
    /* [n_classes], in order of their indices; NULL for values. macro_average: the mean over
     * classes that have examples or predictions, or over all labels; weighted_average: weighted
     * by support */
    const dt_class_score *class_score;
    dt_class_score macro_average, weighted_average;
    /* for classes and binary: [n_classes][n_classes] counts[actual][predicted]; NULL: there are
     * more than 20 classes */
    const int64_t *confusion;
    int n_confused; /* number of entries of `confused`, at most 20: the largest confusions first */
    const dt_confused *confused;
    /* for binary: a table of thresholds from 0.1 to 0.9; best: of all thresholds that decide
     * differently, the one with the largest best_score. roc_auc and average_precision are areas
     * under the curves; brier_score is the mean squared difference of probability and class.
     * roc_auc is NaN if all examples are of one class, average_precision if none is of class 1 */
    int n_thresholds;
    const dt_threshold *threshold;
    dt_threshold best;
    const char *best_for; /* name of the score that `best` maximizes, such as "f1" */
    double best_score;
    double roc_auc, average_precision, brier_score;
    dt_curve roc, precision_recall, calibration;
    int n_values; /* for values: number of columns */
    const dt_error_scores *error;
    int n_worst;
    const dt_worst_example *worst; /* at most 10 of the worst examples */
} dt_output_explained;

typedef struct dt_evaluation {
    int n;
    const dt_output_explained *output; /* [n] the outputs that can be explained */
} dt_evaluation;

/* Writes the evaluation as a JSON object without line breaks: {"OUTPUT": {...}}. The caller frees
 * *text. */
DT_API dt_status *dt_evaluation_json(const dt_evaluation *e, char **text) DT_CHECKED;

/* ---- runs ---- */

/* Something that happened, reported immediately. Fields that an event does not use are 0 or NULL.
 * Comments name the events that use a field. */
typedef enum dt_event_kind {
    DT_EVENT_START,
    DT_EVENT_STEP,
    DT_EVENT_EPOCH,
    DT_EVENT_EVAL,
    DT_EVENT_CHECKPOINT,
    DT_EVENT_WARNING,
    DT_EVENT_END,
    DT_EVENT_TEXT,
    DT_EVENT_FAULT,
    DT_EVENT_CALLBACK,
    DT_EVENT_REPORT,
    DT_EVENT_DATA,
    DT_EVENT_EVALUATING,
    DT_EVENT_WORKERS,
    DT_EVENT_WAITING
} dt_event_kind;
typedef struct dt_metric {
    const char *name; /* name of the metric, such as "loss", "val_accuracy" */
    double value;
    /* class that the number belongs to, as 'iris' for f1_score_0; NULL: the number belongs to all
     * classes, or the class has no name */
    const char *class_name;
} dt_metric;
typedef struct dt_event {
    dt_event_kind kind;
    const char *job, *job_sha256, *backend; /* start events */
    const char *device;                     /* start: "sim:v3-8", "2 x CPU" */
    uint64_t seed;                          /* start events */
    int replicas, logical_devices, threads; /* start events */
    /* steps_per_epoch: start, step, epoch; parameters: start, and the end of dt_job_export;
     * peak_bytes: start: planned memory of a training step */
    int64_t steps_per_epoch, parameters, peak_bytes;
    /* start: the run's peak memory in bytes, and its parts: training steps and evaluation, for all
     * batch sizes; weights and optimizer state; examples in memory and batches read ahead; the
     * program with its libraries (an estimate) */
    int64_t memory_bytes, step_bytes, evaluation_bytes, state_bytes, data_bytes, program_bytes;
    /* start: numbers of examples for training, for validation, of the global batch, and of an
     * epoch's last batch; evaluating (at most every 0.1 s): validation_examples is the number of
     * examples to be evaluated, and `examples` the number done */
    int64_t train_examples, validation_examples, global_batch, last_batch;
    const char *sharding; /* start: the result of auto_shard_policy: "sharded by file" */
    int64_t epochs;       /* start, step, epoch, callback: total number of epochs */
    /* step: the global step at which this happened, from 1, 0: before the first; steps: their total
     * */
    int64_t step, steps;
    int64_t epoch; /* number of the epoch, from 1 */
    /* number of the step within the epoch, from 1; epoch: that of its last step; callback: that of
     * a validation within the epoch, otherwise 0 */
    int64_t epoch_step;
    int64_t examples; /* step, epoch, eval, evaluating: number of examples */
    /* wall_s: step: seconds that it took; epoch: those of its training part; examples_per_s: epoch:
     * examples per second of that part */
    double wall_s, examples_per_s;
    /* step, epoch: simulated seconds of a step; end: of all steps of this run; 0: not simulated */
    double virtual_s;
    /*
     * epoch: the fraction of its training time that steps waited for data, and the fractions for
     * reading, decoding and map; waited_s: the same in seconds. On a simulated slice, the fraction
     * of simulated time that devices would wait if data were prepared as fast as on this machine.
     */
    double idle, idle_reading, idle_decoding, idle_map, waited_s;
    /* step, epoch, eval: the metrics; end of fit: those of the last epoch, even if an earlier run
     * trained it; end of evaluate: those of its eval. A step's loss is that of its batch; its other
     * metrics cover the epoch so far. */
    const dt_metric *metrics;
    int n_metrics;
    /* eval within an epoch of fit, but not after the last step of the run: the metrics of the
     * epoch's steps up to now */
    const dt_metric *training;
    int n_training;
    /* checkpoint, end, and eval of evaluate: path of the checkpoint (NULL: none was written), and
     * hash of the model's weights; start of a run that resumes: only the path */
    const char *checkpoint, *weights_sha256;
    /* data, evaluating, and eval and end of evaluate: the name of the part, such as "validation";
     * "input" with dt_run_options.input */
    const char *split;
    /* data, before the end of a run that writes: the number and total size of a part's files;
     * hashed: what data_sha256 covers, "whole", "ends" (the first and last 64 KiB of each file) or
     * "sizes" */
    int64_t files, bytes;
    const char *data_sha256, *hashed;
    /* warning: its text; text: what GenerateText generated, with its prompt; fault: the injected
     * fault as written; callback: what it did, such as "reducing learning rate to 0.0005"; report:
     * the page's path, after the end; waiting: a line about workers that are waited for */
    const char *text;
    const char *callback; /* callback: "ReduceLROnPlateau"; `epoch` is the current epoch */
    /* workers, of a parameter server, after each epoch and when training ends: number of workers
     * now, and of workers lost so far; number of batches that were computed again because a worker
     * was lost or late, and of gradients that came too late and were dropped; staleness[i]: number
     * of updates that were made i updates after their worker had pulled the weights; staleness[64]
     * counts all later ones, too */
    int64_t workers, workers_lost, batches_again, pushes_dropped;
    const int64_t *staleness;
    int n_staleness;
    /* start: whether the run resumes from `step` of `checkpoint`. */
    bool resumed;
    /* eval of evaluate: details of the outputs; NULL: no output can be explained, or the loss is
     * not finite */
    const dt_evaluation *evaluation;
} dt_event;

typedef struct dt_run_options {
    int threads; /* number of threads; 0: one per core, or fewer with a parameter server */
    dt_kernels kernels;
    dt_resume resume;
    const char *resume_path; /* the checkpoint to resume from, with DT_RESUME_PATH */
    /* fit: stop after this many global steps, 0: the number of the job; evaluate: use this many
     * batches of the split, 0: all */
    int64_t max_steps;
    int64_t max_epochs; /* fit: stop after this many epochs, 0: the number of the job */
    /* --time: after this many seconds fit finishes the step, saves and returns STOPPED (exit code
     * 75); 0: no limit */
    double max_seconds;
    bool dry_run;    /* compile and report the start event, but write nothing */
    bool every_step; /* report every step; otherwise step events are rate-limited */
    void (*event)(const dt_event *e, void *user); /* called for each event; may be NULL */
    void *user;
    /* set by signal handlers: 1 saves and stops, 2 stops immediately; NULL: none */
    const volatile int *stop;
    /* not 0, set by a signal handler: fit saves a checkpoint, sets it to 0 and continues; NULL:
     * none */
    volatile int *save;
    /* fit: faults to simulate, "kill:core=5@step=120", "slow-link:x=1,y=2@step=50*4",
     * "nan@step=7", "hbm=8GiB" */
    const char *const *inject;
    int n_inject;
    /* evaluate: a file of rows with targets (CSV, JSON lines, NPZ or TFRecord), to be used in place
     * of the split. Rows are examples as the data set stores them. A job on a text, on LIBSVM files
     * or on folders of images or texts takes such a text, file or folder instead. NULL: the split
     * is used */
    const char *input;
    /* fit: argv of this program, if it does nothing else than train this job; ends with NULL; lent.
     * A parameter server then starts its workers as this program with these arguments; dt_job_fit
     * is in each of them a worker, and returns when the run has ended. Their standard input is the
     * job's text if the job was read from standard input, or that of this process if it is a file;
     * otherwise it is empty. NULL: workers are forked, which needs a process with one thread */
    const char *const *program;
    dt_threshold_score threshold_for; /* evaluate: what the best threshold maximizes */
} dt_run_options;

/* Trains the job. options NULL: all fields 0. Errors STOPPED and STOPPED_AT_ONCE (both exit code
 * 75): the run was asked to stop. With STOPPED it has saved its state, if it writes checkpoints and
 * has made a step; with STOPPED_AT_ONCE (*stop is 2) it has not saved. */
DT_API dt_status *dt_job_fit(dt_job *j, const dt_run_options *options) DT_CHECKED;
/* Computes a checkpoint's exact metrics over a split ("validation", "test", "train"), reported as
 * an EVAL event. checkpoint NULL: the newest in output.dir. */
DT_API dt_status *dt_job_evaluate(dt_job *j, const char *checkpoint, const char *split,
                                  const dt_run_options *options) DT_CHECKED;
/* The meaning of an output's values: plain numbers; probabilities of classes, exactly one of which
 * is right; or probabilities of independent labels. A single label means two classes, and its value
 * is the probability of the second. */
typedef enum dt_output_kind {
    DT_OUTPUT_VALUES,
    DT_OUTPUT_CLASSES,
    DT_OUTPUT_LABELS
} dt_output_kind;
typedef struct dt_output_meaning {
    dt_output_kind kind;
    /* values are scores that softmax (classes) or sigmoid (labels) turns into probabilities */
    bool logits;
    int n_names;
    /* [n_names] names of the classes or labels, by number; for values, names of the target's
     * columns; n_names 0: no names */
    const char *const *names;
} dt_output_meaning;
/* A value of a column that is copied from the rows to predict. */
typedef struct dt_copied_value {
    const char *text; /* the text as in CSV; for a JSON string, its characters */
    bool json;        /* text is JSON: a number, null, true, false, a list or an object */
} dt_copied_value;
/* Some rows of a model's outputs, in the order of the examples; lent for the duration of the
 * call. */
typedef struct dt_predicted_rows {
    int64_t first, n_rows; /* examples [first, first + n_rows), counted from 0 */
    int64_t of;            /* the total number of examples; -1: not known yet */
    int n_outputs;
    const char *const *names; /* [n_outputs] names of the outputs */
    /* [n_outputs] values of shape (n_rows, ...), float32. With compile.original_units, outputs of a
     * regression are in the units in which the data stores the target */
    const dt_tensor *const *values;
    /* [n_outputs] meanings of the values; NULL: all are plain numbers. */
    const dt_output_meaning *meaning;
    /* [n_rows] for each example, the path of the file that holds only this example, an image or a
     * text; NULL: examples are not files */
    const char *const *files;
    int n_kept;                    /* number of columns that are copied; 0: none */
    const char *const *kept_names; /* [n_kept] names of these columns */
    const dt_copied_value *kept;   /* [n_rows][n_kept] */
    /* [n_rows] why a row could not be read, in which case its values are undefined; NULL for a row
     * that was read. `errors` is NULL if the request does not ask for them */
    const char *const *errors;
} dt_predicted_rows;
typedef struct dt_predict_request {
    /* Path of a checkpoint, a run or a saved model; NULL: the newest checkpoint in output.dir. */
    const char *checkpoint;
    /* Input to use instead of the job's data; the `map` of the model's inputs is applied to it. A
     * file whose format is recognized by its content (NPY, NPZ, IDX, CSV, JSON lines, LIBSVM,
     * TFRecord, pictures; gzip), a folder or pattern of images, or "-" for standard input, whose
     * rows are processed as they arrive. For a job on a text also a text, for one on folders of
     * texts a text, or a folder or pattern of texts. NULL: none. */
    const char *input;
    const char *split; /* part of the job's data: "validation", "test", "train" */
    /* columns of `input`, CSV or JSON lines, to copy to the predicted rows; 0: none */
    const char *const *keep;
    int n_keep;
    /* if a row of `input` (CSV or JSON lines) cannot be read, report that in its place, in
     * dt_predicted_rows.errors, and continue; JSON must then have one row per line. false: stop
     * with an error */
    bool answers_bad_rows;
    /* called with any number of rows as they are computed; an error stops the prediction. NULL:
     * none */
    dt_status *(*rows)(const dt_predicted_rows *p, void *user);
    void *user;
} dt_predict_request;
/* Computes the model's output, of shape (examples, ...), in the order of the data. With out NULL,
 * which models with several outputs require, results go to request->rows only, a batch at a time.
 * The job needs neither `compile` nor `fit`. */
DT_API dt_status *dt_job_predict(dt_job *j, const dt_predict_request *request,
                                 const dt_run_options *options, dt_tensor **out) DT_CHECKED;

/* A token that was generated. */
typedef struct dt_generated_token {
    int64_t token;
    /* the natural logarithm of its probability according to the model, before temperature, top_k
     * and top_p change the probabilities */
    double log_probability;
    /* UTF-8, lent for the duration of the call: the new text that is certain. An incomplete
     * character, or text that may be the beginning of a stop text, comes with a later token */
    const char *text;
} dt_generated_token;
typedef struct dt_generate_request {
    /* Path of a checkpoint, a run or a saved model; NULL: the newest checkpoint in output.dir. */
    const char *checkpoint;
    const char *prompt; /* the text to continue, in UTF-8 */
    int64_t max_tokens; /* number of tokens to generate after the prompt; at least 1 */
    /* Divides the scores before sampling; 0: always take the most probable token. */
    double temperature;
    int64_t top_k; /* sample from the k most probable tokens; 0: from all */
    /* from these tokens, sample only from the smallest set of most probable ones whose
     * probabilities sum to at least top_p, above 0 and at most 1; 1: from all of them */
    double top_p;
    uint64_t seed; /* seed of the random numbers; the same request yields the same text */
    /* texts that end the generated text, without being a part of it; n_stop 0: none */
    const char *const *stop;
    int n_stop;
    bool without_cache; /* compute the whole context again for each token */
    /* called for each token as it is generated; an error stops the generation. NULL: none */
    dt_status *(*token)(const dt_generated_token *t, void *user);
    void *user;
} dt_generate_request;
typedef struct dt_generation {
    int64_t prompt_tokens, tokens;
    int64_t context; /* the largest number of tokens that the model uses as context */
    bool stopped;    /* whether a stop text ended the generation; false: max_tokens did */
    bool cached;     /* whether keys and values of earlier tokens were kept */
    /* Seconds until the first token, including compilation; seconds for all other tokens. */
    double prompt_s, other_s;
} dt_generation;
/*
 * Continues a text with a language model of data of format text. The data set is opened, since it
 * has the tokens. Error RANGE: the prompt has no tokens, or characters that the vocabulary lacks;
 * FIT_KEYS: data or model are not those of a language model. out may be NULL. If positions of the
 * model depend on each other in other ways than by causal attention, no cache is kept, and a
 * warning event says so.
 */
DT_API dt_status *dt_job_generate(dt_job *j, const dt_generate_request *request,
                                  const dt_run_options *options, dt_generation *out) DT_CHECKED;

/* Writes predicted rows to a file or standard output. Use dt_row_writer_put as `rows` of a request,
 * with the writer as its `user`. */
typedef struct dt_row_writer dt_row_writer;
typedef struct dt_row_writer_options {
    /* path of the file, or of the folder of masks; "-": standard output. A file gets its name only
     * when it is complete */
    const char *path;
    /* "csv", "npy", "npz" or "jsonl"; "png": a mask for each row, as a file in the folder `path`,
     * which is created. NULL: by the path's suffix; a path that ends in / is a folder of masks */
    const char *format;
    /* write only the `top` largest values of each row, with their indices, from the largest on; not
     * possible for PNG. 0: all values */
    int64_t top;
    /* for outputs with two classes, write the class of each row: the second class, if its
     * probability is at least this number between 0 and 1. NPY and NPZ files are as with top 1. In
     * masks of outputs with one probability per pixel, pixels with at least this probability are 1.
     * 0: no threshold, in masks 0.5 */
    double threshold;
    /* write the classes of each row whose probability is above this number between 0 and 1, from
     * the largest on; not possible for NPY, NPZ and PNG. 0: not used. At most one of top, threshold
     * and this is given */
    double classes_above;
    /* the path that the rows are read from; if it is a picture, its mask has the picture's name.
     * NULL: masks of rows that are not files are numbered */
    const char *input;
} dt_row_writer_options;
/* Opens a writer of rows. Error ROW_FORMAT: an unknown format, one that cannot be written to
 * standard output (NPZ and PNG), or options that are out of range or do not fit the format. */
DT_API dt_status *dt_row_writer_open(dt_row_writer **out,
                                     const dt_row_writer_options *options) DT_CHECKED;
/* Writes predicted rows. Error ROW_FORMAT: the format cannot hold them (NPY on standard output
 * needs a known number of rows), or no output has the classes that `top`, `threshold` or
 * `classes_above` selects from. */
DT_API dt_status *dt_row_writer_put(const dt_predicted_rows *p, void *writer) DT_CHECKED;
/* Writes the remaining rows and gives the file its name. *rows is the number of rows written; rows
 * may be NULL. */
DT_API dt_status *dt_row_writer_finish(dt_row_writer *w, int64_t *rows) DT_CHECKED;
DT_API void dt_row_writer_unref(dt_row_writer *w); /* removes an unfinished file */

/* The job as a job file, after `extends`, overrides and substitutions. with_origin adds after each
 * value where it comes from: "job.yaml:12", "base.yaml:3", "override 1" or "default". The caller
 * frees *text. */
DT_API dt_status *dt_job_config_text(const dt_job *j, bool with_origin, char **text) DT_CHECKED;
/* The differences between jobs a and b, as lines such as "- fit.epochs: 5" and "+ fit.epochs: 6";
 * "" if there are none. b NULL: the job that the newest checkpoint in the run directory `run` was
 * trained with. The caller frees *text. */
DT_API dt_status *dt_job_config_diff(const dt_job *a, const dt_job *b, const char *run,
                                     char **text) DT_CHECKED;

typedef enum dt_export_format {
    DT_EXPORT_ONNX,
    DT_EXPORT_SAFETENSORS,
    DT_EXPORT_NPZ,
    DT_EXPORT_KERAS,
    DT_EXPORT_KERAS_WEIGHTS
} dt_export_format;
typedef struct dt_export_request {
    /* Path of a checkpoint, a run or a saved model; NULL: the newest checkpoint in output.dir. */
    const char *checkpoint;
    const char *path; /* path of the file to write */
    dt_export_format format;
    /* ONNX: the inputs are those of the model, not the stored data before `map`. */
    bool without_map;
    /* for safetensors and NPZ: use PyTorch's names and shapes; if the job's `init_from` has a
     * `map`, use the names in its file */
    bool torch_names;
} dt_export_request;
/* Writes the model as an ONNX file or a .keras archive, or only its weights: safetensors, NPZ, or a
 * .weights.h5 that Keras 3 reads into the same model with load_weights. A .keras archive never
 * contains `map`; a warning names the elements that have one. The END event reports the checkpoint,
 * parameters and the weights' SHA-256. */
DT_API dt_status *dt_job_export(dt_job *j, const dt_export_request *request,
                                const dt_run_options *options) DT_CHECKED;
/* The training step as text, at a stage of compilation: "graph" (the forward pass alone),
 * "gradient", "folded" (one graph for all replicas), "program", "executable", "stablehlo" or
 * "stablehlo-gradient". The caller frees *text. */
DT_API dt_status *dt_job_lower(dt_job *j, const char *stage, const dt_run_options *options,
                               char **text) DT_CHECKED;

DT_END_C

#endif
