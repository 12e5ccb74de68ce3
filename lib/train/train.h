/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training: sections of a job, trainers, which run compiled steps over a data set, runs, and
 * functions of models that need a strategy.
 *
 * A trainer owns the compiled steps of training and of evaluation. In the usual case, the training
 * step of one replica is
 *
 *     rows = loss(target, model(image))         one loss per example
 *     g    = all_reduce(d sum(rows) / d weights) / all_reduce(number of examples)
 *     weights, slots = optimizer(weights, slots, g)
 *
 * So the loss is the sum over examples divided by their number, however a batch is divided among
 * replicas. Metrics are computed from sums over examples too, added up in double on the host. With
 * fit.gradient_accumulation_steps both sums of g are accumulated over several batches, in slots of
 * the optimizer, and the step of the last batch divides them. The losses of examples of a weighted
 * class are multiplied by its weight. The update is that of one batch with all these examples, also
 * in the last, shorter window of an epoch, unless a layer such as BatchNormalization computes with
 * the other examples of the batch.
 */
#ifndef DT_TRAIN_TRAIN_H
#define DT_TRAIN_TRAIN_H

#include "data/data.h"
#include "format/format.h"
#include "model/model.h"
#include "strategy/strategy.h"
#include "train/faults.h"

/* A list of callbacks (hook.h). */
typedef struct dt_callbacks {
    int n;
    dt_named *named; /* [n] their kinds and arguments */
} dt_callbacks;
dt_status *dt_callback_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;
/* Adds the callback TensorBoard with its defaults, for output.tensorboard, unless the list has
 * one. */
dt_status *dt_callbacks_add_tensorboard(dt_arena *arena, const dt_location *at,
                                        dt_callbacks *c) DT_MUST_USE;

/* The sections of a job that its callbacks are checked against. The job's files need not be
 * open. */
typedef struct dt_callback_job {
    const dt_model_spec *model;
    const dt_dataset_spec *data;
    const dt_compile_spec *compile; /* the section `compile`; NULL if it is missing or has faults */
    /* whether training validates after steps, see dt_fit_validates_by_steps */
    bool validates_by_steps;
} dt_callback_job;
/* Checks all callbacks of a job and reports all faults. */
dt_status *dt_callbacks_check(const dt_callbacks *c, const dt_callback_job *job) DT_MUST_USE;
/* Whether a callback in the list changes the learning rate. */
bool dt_callbacks_vary_rate(const dt_callbacks *c);

/* The weights of classes in the training loss. Classes that are not listed have weight 1. */
typedef struct dt_class_weights {
    /* whether the weights are computed from the training part (dt_trainer_balance); until then n is
     * 0 */
    bool balanced;
    int n;
    /* [n] numbers of the classes; dt_match_class_weight sets those of classes given by name */
    int64_t *number;
    const char **name; /* [n] names of the classes; NULL: the class is given by its number */
    const double *weight;
    const dt_location *key_at; /* [n] the source location of each class in the job file */
    dt_location at;
} dt_class_weights;

/* The section `fit` of a job, or the fragment of dt_model_fit. */
typedef struct dt_fit_spec {
    int64_t epochs, steps; /* how long to train; exactly one of the two is > 0 */
    /* validation is due after this many epochs or, if `steps` is given, steps; 0: after each epoch,
     * also with `steps` */
    int64_t validation_freq;
    int64_t validation_steps; /* number of batches to validate; 0: all */
    int64_t initial_epoch;
    int64_t steps_per_epoch; /* number of steps of an epoch; 0: as many as the data has batches */
    /* Number of batches whose gradients are accumulated for one step of the optimizer. 0 and 1:
     * none are accumulated. */
    int64_t gradient_accumulation_steps;
    dt_location accumulation_at;
    /* The weights of classes. n 0 and not balanced: all classes have weight 1. */
    dt_class_weights class_weight;
    dt_callbacks callbacks;
    dt_location at;
} dt_fit_spec;
/* Whether validation_freq counts steps. Then callbacks and the history get each validation at
 * once. */
bool dt_fit_validates_by_steps(const dt_fit_spec *fit);
dt_status *dt_fit_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                       dt_fit_spec *out) DT_MUST_USE;

typedef struct dt_checkpoint_spec {
    bool every_epoch;    /* whether save_freq is "epoch" */
    int64_t every_steps; /* save_freq as a number of steps; 0: it is not given as a number */
    /* save_freq as a time such as "10m", in seconds; 0: it is not given as a time */
    double every_seconds;
    int64_t max_to_keep;
    dt_resume resume;
    const char *resume_path; /* with DT_RESUME_PATH: the path of a checkpoint or of a run */
    dt_location resume_at;
} dt_checkpoint_spec;
dt_status *dt_checkpoint_spec_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                                   dt_checkpoint_spec *out) DT_MUST_USE;
/* These return the tables of keys of the sections `fit` and `checkpoint`, and the kinds of
 * callbacks, for lists of all keys of a job. */
const dt_field *dt_fit_fields(void);
const dt_field *dt_checkpoint_fields(void);
const dt_kind *const *dt_callback_kinds(int *n);

/* Which elements of the data set are the model's inputs, targets and weights, as indices of
 * elements. */
typedef struct dt_match {
    /* input: [n_inputs] the element for each input, in the model's order */
    int n_inputs, input[DT_MAX_INPUTS];
    /* The element with the targets, and with the weights, of each output in the model's order; -1:
     * none. */
    int target[DT_MAX_OUTPUTS], weight[DT_MAX_OUTPUTS];
} dt_match;
/* Matches elements by their names alone: inputs are the elements named like the model's Input
 * layers. A target is the element that compile.target names, or else the only other element, or
 * with several outputs the one named like the output. Files need not be open. Fails with ELEMENTS
 * if an element is not found. With compile NULL only inputs are matched. */
dt_status *dt_match_names(const dt_texts *elements, const dt_model_spec *model,
                          const dt_compile_spec *compile, dt_match *out) DT_MUST_USE;
/* Matches elements by names, then checks types. Fails with ELEMENTS if the model takes another
 * shape, with ROW_NUMBER if an embedding has too few rows, and with LABELS or METRICS if a loss or
 * a metric does not accept the targets. */
dt_status *dt_match_types(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *compile,
                          dt_match *out) DT_MUST_USE;
/* Matches by names and types, then reads all labels of classes and, of outputs without a mask, all
 * targets for which a loss has limits. Fails with LABEL_RANGE if the model has no output for a
 * class number, or with an error about the first target outside of the limits. */
dt_status *dt_match_data(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *compile,
                         dt_match *out) DT_MUST_USE;
/* Checks class weights, and sets w->number of named classes. Fails with LABELS if the model has
 * several outputs, the loss is one number for the batch, targets have more than two dimensions, or
 * a class is unknown or occurs twice. Fails with RANGE if the loss takes class numbers and the
 * model has no score for one of these. w may be NULL. */
dt_status *dt_match_class_weight(const dt_dataset *d, const dt_model_spec *model,
                                 const dt_compile_spec *compile, const dt_match *m,
                                 const dt_class_weights *w) DT_MUST_USE;

/* Checks that not all training examples have weight 0. Fails with LABELS if the weights of their
 * classes (w may be NULL) or of the examples themselves are all 0. */
dt_status *dt_match_counts(const dt_dataset *d, const dt_compile_spec *compile, const dt_match *m,
                           const dt_class_weights *w) DT_MUST_USE;

/* Fills arg[step->n_args] with the elements of a batch, by the names of the step's arguments. */
void dt_match_views(const dt_dataset *d, const dt_example *batch, const dt_graph *step,
                    dt_view *arg);

typedef struct dt_trainer dt_trainer;
typedef struct dt_trainer_options {
    dt_strategy *strategy;
    dt_model *model; /* the model, whose variables have memory unless the trainer is an outline */
    const dt_compile_spec *compile;
    dt_optimizer *optimizer; /* the optimizer; NULL if the model is only evaluated */
    dt_dataset *data;
    /* The section `fit`. NULL: without its gradient accumulation, class weights and callbacks. */
    const dt_fit_spec *fit;
    dt_compute_spec how;
} dt_trainer_options;
/* Checks the data against the model (names, shapes, dtypes, classes), then traces and compiles the
 * steps, the one of training for the full batch and for the smaller last one. All objects in *o
 * must outlive the trainer. */
dt_status *dt_trainer_create(dt_trainer **out, const dt_trainer_options *o) DT_MUST_USE;
void dt_trainer_destroy(dt_trainer *t);

/* A step of an outlined run. */
typedef struct dt_outlined {
    const char *name; /* "train" or "evaluate" */
    int64_t rows;     /* number of rows of the global batch */
    /* Number of such steps in an epoch or an evaluation; 0: there are no such data, or they are
     * unknown. */
    int64_t steps;
} dt_outlined;
enum { DT_MOST_OUTLINED = 4 };
/* Creates a trainer that cannot run steps, for estimates (outline.c) and dt_trainer_lower. Creating
 * it compiles nothing and reads no labels. With an outline of a model it allocates no tensors. */
dt_status *dt_trainer_outline(dt_trainer **out, const dt_trainer_options *o) DT_MUST_USE;
/* Lists the steps in the order: training with the full batch, if the trainer has an optimizer, then
 * with the smaller last batch, if there is one; evaluation likewise, but without a full batch if it
 * has fewer examples. Returns their number. */
int dt_trainer_outlined(const dt_trainer *t, dt_outlined steps[DT_MOST_OUTLINED]);
/* Returns the program of one core in that step, for estimates: its batch divides evenly among the
 * replicas, which are axes of its mesh. Lent until a call for another step. */
dt_status *dt_trainer_priced(dt_trainer *t, const dt_outlined *step,
                             const dt_spmd **out) DT_MUST_USE;
/* Fails with DOES_NOT_FIT if a training step with the full batch exceeds the memory of a core of
 * the slice. Opens the back end. */
dt_status *dt_trainer_check_fits(dt_trainer *t) DT_MUST_USE;
/* Checks that this machine's memory suffices for variables and a training step with the full batch
 * and `shards` shards (0: none). If it does not suffice, fails with DOES_NOT_FIT, and the error
 * says what would fit. Allocates no tensors for an outline. */
dt_status *dt_trainer_check_memory(const dt_trainer *t, int shards) DT_MUST_USE;
/* Computes the bytes that this machine would allocate for a training step with the full batch and
 * `shards` shards (0: none), as in dt_trainer_peak_bytes. Allocates no tensors. 0: unknown
 * (dt_compiled_host_bytes). */
dt_status *dt_trainer_host_bytes(dt_trainer *t, int shards, int64_t *bytes) DT_MUST_USE;

/* Sums over examples, from which losses and metrics are computed (results.h). */
typedef struct dt_sums {
    double examples;
    int n;
    double *v; /* [n] the sums */
} dt_sums;
/* Sets all sums to 0. Allocates this trainer's sums in a zeroed dt_sums. */
void dt_trainer_clear(const dt_trainer *t, dt_sums *s);
void dt_sums_release(dt_sums *s);
/* Runs a training step on a batch, as dt_trainer_start and dt_trainer_finish do. */
dt_status *dt_trainer_step(dt_trainer *t, const dt_example *batch, bool updates, dt_sums *s,
                           double *loss) DT_MUST_USE;
/* Starts a training step, which dt_trainer_finish finishes. The batch must not change in between.
 * updates false: only accumulates gradients, in a trainer that does so. With dt_trainer_runs_ahead,
 * a second step may start before the first is finished. */
dt_status *dt_trainer_start(dt_trainer *t, const dt_example *batch, bool updates) DT_MUST_USE;
/* Waits for the step that started first. Adds its sums to *s and sets *loss (may be NULL) to the
 * loss of its batch. With s NULL the results are discarded. Fails if the step does, or if a metric
 * cannot be computed from the sums. */
dt_status *dt_trainer_finish(dt_trainer *t, dt_sums *s, double *loss) DT_MUST_USE;
bool dt_trainer_runs_ahead(const dt_trainer *t);
/* Evaluates a part of the data: its first `batches` batches of the job's size, 0: all. Clears *s
 * first; it must be zeroed or from dt_trainer_clear. run: receives progress events; may be NULL. */
dt_status *dt_trainer_evaluate(dt_trainer *t, dt_part part, int64_t batches,
                               const dt_run_options *run, dt_sums *s) DT_MUST_USE;
/* Writes names ("loss", "accuracy"; for validation "val_loss", ...) and values to
 * metrics[DT_MAX_KEYS]. Returns their number. */
int dt_trainer_metrics(const dt_trainer *t, const dt_sums *s, bool validation, dt_metric *metrics);
/* Records the reading of data for evaluations from now on. The recorder must live until a call with
 * NULL. */
void dt_trainer_record(dt_trainer *t, dt_recorder *r);
/* Returns the compiled training step, lent; NULL: the trainer only evaluates, or is an outline that
 * has not compiled it. */
const struct dt_compiled *dt_trainer_training_step(const dt_trainer *t);
const dt_compile_spec *dt_trainer_compiled_with(const dt_trainer *t);
/* Lists warnings about data that may give a poor model or meaningless metrics. Texts live as long
 * as the arena and the data set. */
dt_status *dt_trainer_data_warnings(const dt_trainer *t, dt_arena *arena,
                                    dt_texts *out) DT_MUST_USE;
/* Lists warnings about targets that do not suit a metric, and about classes of the part that differ
 * from those of the training part of `training`, if that can be read. With `training` NULL, classes
 * are not compared. Texts are in the arena. */
dt_status *dt_trainer_target_warnings(const dt_trainer *t, dt_part part, const dt_dataset *training,
                                      dt_arena *arena, dt_texts *out) DT_MUST_USE;
/* Returns the name of the class that a metric is about, by the metric's index in dt_compile_keys;
 * NULL: the metric is not about one class, or the class has no name. */
const char *dt_trainer_class_of(const dt_trainer *t, int key);
/* Returns the names of classes as JSON (dt_class_names_print), in the arena; NULL: there are
 * none. */
const char *dt_trainer_class_names(const dt_trainer *t, dt_arena *arena);
/* Returns the bytes of this machine's memory that a training step with the full batch needs besides
 * variables. With a parameter server, those of the update are included. */
int64_t dt_trainer_peak_bytes(const dt_trainer *t);
/* Returns the price of a training step on a simulated slice: with the smaller last batch if that
 * has `rows` rows, else with a full batch. All members are 0 without a slice. */
const dt_price *dt_trainer_price(const dt_trainer *t, int64_t rows);
/* Computes the seconds of the training steps on the slice with n chips whose links are slow: with a
 * full batch, and with the smaller last one (0: there is none). */
dt_status *dt_trainer_slowed(dt_trainer *t, const dt_slow_links *slow, int n,
                             double seconds[2]) DT_MUST_USE;
/* Prints a traced graph: stage "graph" (forward and loss), "gradient" (the whole step), "folded",
 * "program", "executable"; "stablehlo" (what a core does in a step) or "stablehlo-gradient" (a
 * replica's step). Fails with MISUSE for another stage. An outline compiles its training step for
 * "folded", "program", "executable" and "stablehlo". */
dt_status *dt_trainer_lower(dt_trainer *t, const char *stage, dt_str *out) DT_MUST_USE;

/* The steps to record, counted from 1; both 0: no step. */
typedef struct dt_steps_recorded {
    int64_t first, last;
} dt_steps_recorded;

typedef struct dt_fit_request {
    dt_trainer *trainer;
    const dt_fit_spec *fit;
    /* where the first weights come from, for a run that resumes from no checkpoint; NULL: the model
     * keeps the weights that it has */
    const dt_init_from *init_from;
    /* when checkpoints are written; NULL: only when a signal or max_seconds asks for one, and at
     * the end. Without `directory` none is written. */
    const dt_checkpoint_spec *checkpoint;
    const char *directory; /* output.dir; NULL: no files are written */
    const char *name;      /* name of the job */
    /* job: the job with all values resolved, as JSON text; job_sha256: its SHA-256 */
    const char *job, *job_sha256;
    /* Compares the job with that of a checkpoint. Returns the first key that differs and must not,
     * or NULL. If this function is NULL, dt_job_difference compares them. */
    const char *(*difference)(const void *of, dt_arena *arena, const char *saved);
    const void *difference_of; /* the first argument of `difference` */
    /* the job for people to read, with defaults and origins (dt_job_config_text); may be NULL */
    const char *config;
    int n_hidden;
    /* pairs of a text and the value that records must not contain: {"${HOME}", "/home/me"} */
    const dt_pair *hidden;
    /* warnings that the caller has printed already, to be written to the record */
    dt_texts printed;
    uint64_t seed;
    const dt_run_options *run;
    /* the time from which run->max_seconds counts, in nanoseconds; 0: the time of the call */
    int64_t called_ns;
    dt_faults faults;        /* injected faults, already checked */
    dt_steps_recorded trace; /* the steps to record in trace.json.gz in `directory` */
    dt_history *history;     /* receives the metrics of each line of the history; may be NULL */
} dt_fit_request;
dt_status *dt_fit(const dt_fit_request *r) DT_MUST_USE;

/* Creates a model's variables in the scope of a strategy, with initial values. The spec must live
 * as long as the model. */
dt_status *dt_model_make(dt_model **out, const dt_model_spec *spec, dt_strategy *strategy,
                         uint64_t seed) DT_MUST_USE;
/* Creates a model that can be traced but not run: its variables have no memory. strategy may be
 * NULL. */
dt_status *dt_model_outline(dt_model **out, const dt_model_spec *spec,
                            dt_strategy *strategy) DT_MUST_USE;
/* Traces the forward pass over elements of the data in inference, without a conversion to original
 * units. dt_output_result has the names of its results. */
dt_status *dt_forward_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                            dt_graph **out) DT_MUST_USE;
/* Converts an output, or its target, to the units in which the data set stores the target
 * (dt_map_undo). Returns x unchanged without compile.original_units, if the loss does not
 * compare values, or if c or target is NULL. */
dt_value dt_original_units(const dt_compile_spec *c, int output, const dt_dataset *d,
                           const char *target, dt_value x);

/* The names of the classes of a model's outputs, by number, or of their values. */
typedef struct dt_class_names {
    /* the names for each output; n is 0 for an output without names */
    dt_texts of[DT_MAX_OUTPUTS];
} dt_class_names;
/* Finds the class names of targets, for outputs whose loss compares classes or labels. */
void dt_class_names_of(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m,
                       dt_class_names *out);
/* Prints the class names that fit their outputs as JSON for checkpoints, in the arena: {"logits":
 * ["circle", "ring"]}. Returns NULL if there are none. */
const char *dt_class_names_print(const dt_class_names *n, const dt_model_spec *m, dt_arena *arena);
/* Reads class names from a checkpoint's JSON. */
dt_status *dt_class_names_read(const dt_saved *c, const dt_model_spec *m, dt_arena *arena,
                               dt_class_names *out) DT_MUST_USE;

/* A request to predict: the examples, and a function that receives the outputs. */
typedef struct dt_predict_rows {
    dt_dataset *data;
    dt_part part;
    int64_t batch; /* number of rows of the global batch */
    /* The losses, which help to decide what outputs mean (meaning_of), and original_units. NULL:
     * the last activations alone decide. */
    const dt_compile_spec *compile;
    /* the names of classes and values; NULL if none are known */
    const dt_class_names *names;
    /* receives the outputs of each batch, in the order of examples */
    dt_status *(*rows)(const dt_predicted_rows *p, void *user);
    void *user;
    bool everyone; /* whether all workers receive the outputs, not only the first one */
    void (*warn)(const char *text, const void *user); /* receives warnings; may be NULL */
    const void *warn_user;
    /* A trainer whose step EXPLAIN computes outputs, losses and targets, which become the `values`
     * of the rows. NULL: only outputs are computed. */
    const dt_trainer *explains;
    int64_t most; /* the most examples to predict; 0: all examples */
} dt_predict_rows;
dt_status *dt_predict(dt_model *m, const dt_predict_rows *from) DT_MUST_USE;
/* Returns the kind of output that a node of a model's graph computes, judging by its activation. */
dt_output_kind dt_output_made_by(const dt_graph *g, int node);
/* A request for a dt_evaluation. The outputs of the part are computed once more, unless no output
 * can be explained. Only the first worker gets the result, which lives in the arena. */
typedef struct dt_explain_request {
    dt_trainer *trainer;
    dt_part part;
    int64_t batches; /* number of batches to explain, from the first on; 0: all */
    /* the names of classes and values; NULL: those that the data has */
    const dt_class_names *names;
    dt_threshold_score threshold_for;
    dt_arena *arena;
} dt_explain_request;
dt_status *dt_trainer_explain(const dt_explain_request *q, dt_evaluation *out) DT_MUST_USE;
/* The rows of an output, gathered in one tensor. For a model's only output, pass dt_gather_rows as
 * `rows` with a zeroed dt_gathered as user, then call dt_gathered_take, which makes the tensor or,
 * after an error s, releases the rows. */
typedef struct dt_gathered {
    dt_type type;
    int64_t rows;
    dt_str bytes;
} dt_gathered;
dt_status *dt_gather_rows(const dt_predicted_rows *p, void *gathered);
dt_status *dt_gathered_take(dt_gathered *g, dt_status *s, dt_tensor **out) DT_MUST_USE;

/* Prints the values that steps of `map` learned as JSON for checkpoints, in the arena. Returns NULL
 * if no step has learned values. */
const char *dt_learned_print(const dt_learned *l, dt_arena *arena);
/* Reads the values of dt_learned_print from a checkpoint. *out NULL: the checkpoint has none. */
dt_status *dt_learned_read(const dt_saved *c, dt_arena *arena, const dt_learned **out) DT_MUST_USE;
/* Prints the stored elements of a data set as JSON for checkpoints, in the arena. Returns NULL if
 * the data set is a pipeline of a C program. */
const char *dt_stored_print(const dt_dataset *d, dt_arena *arena);
/* Reads the elements of dt_stored_print from a checkpoint into out->stored, which stays unchanged
 * if the checkpoint has none. Fails with CHECKPOINT if the JSON is malformed. */
dt_status *dt_stored_read(const dt_saved *c, dt_arena *arena, dt_dataset_spec *out) DT_MUST_USE;
/* Compares the columns of elements that choose them by a pattern. Returns an error if they are not
 * those of the checkpoint in the same order. */
dt_status *dt_stored_compare(const dt_saved *c, const dt_dataset *d, dt_arena *arena) DT_MUST_USE;

/* Traces one replica's forward pass for export. It begins with stored examples and contains `map`,
 * and ends with outputs in the units of dt_original_units. data NULL: it begins with the model's
 * Inputs, and ends with its outputs. c NULL: the targets are unknown. */
dt_status *dt_export_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                           const dt_compile_spec *c, dt_graph **out) DT_MUST_USE;
/* Reads the model's weights as init_from says; from->path must be complete. With skip_mismatch,
 * weights that do not match keep their initial values, with a warning. Errors are located at the
 * key. */
dt_status *dt_init_weights(dt_model *m, const dt_init_from *from, dt_status **warnings) DT_MUST_USE;
/* Checks that the weights of `init_from` exist and have the model's shapes. The model may be an
 * outline. */
dt_status *dt_init_check(const dt_model *outline, const dt_init_from *from) DT_MUST_USE;
/* Returns the weights as PyTorch's tensors, allocated in `arena`: see model/torch.h. from: if it
 * has names: torch and a `map`, tensors get the names that they have in its file, and from->path
 * must be complete. Fails with NO_INPUT if that file is gone. */
dt_status *dt_torch_arrays(const dt_model *m, const dt_init_from *from, dt_arena *arena,
                           dt_arrays *out) DT_MUST_USE;
/* Prints the model as JSON, in the arena: {"model": {"layers": ...}, "compile": ...}, as in a job.
 * "compile" is written only if `compiled`. */
const char *dt_model_describe(const dt_model *m, bool compiled, dt_arena *arena);
dt_status *dt_weights_digest(const dt_model *m, dt_digest *out) DT_MUST_USE;
/* Lists the model's weights and the optimizer's variables for checkpoints, in `arena`. The data
 * are host copies, which are valid until the next step. */
dt_status *dt_model_arrays(const dt_model *m, dt_arena *arena, dt_arrays *out) DT_MUST_USE;
dt_status *dt_optimizer_arrays(const dt_optimizer *o, dt_arena *arena, dt_arrays *out) DT_MUST_USE;
/* List the same variables as dt_model_arrays and dt_optimizer_arrays, with memory that the caller
 * fills with new values. */
dt_arrays dt_model_arrays_to_fill(const dt_model *m, dt_arena *arena);
dt_arrays dt_optimizer_arrays_to_fill(const dt_optimizer *o, dt_arena *arena);
/* Whether the learning rate follows a schedule. dt_optimizer_current_rate returns the learning rate
 * of the next step, dt_optimizer_steps the optimizer's iteration. */
bool dt_optimizer_has_schedule(const dt_optimizer *o);
dt_status *dt_optimizer_current_rate(const dt_optimizer *o, double *rate) DT_MUST_USE;
dt_status *dt_optimizer_steps(const dt_optimizer *o, int64_t *steps) DT_MUST_USE;
/* Checks that all values are finite. Else returns the error `number` about the first array with
 * other values: "BEFORE: 'NAME' holds 2 values that are not finite". */
dt_status *dt_check_finite(const dt_arrays *a, dt_error number, const char *before, ...)
    DT_PRINTF(3, 4) DT_MUST_USE;

dt_history *dt_history_create(void);
/* Adds the metrics of an epoch, of a validation by steps, or of an evaluation. */
void dt_history_add(dt_history *h, const dt_metric *metrics, int n);
/* Prints a line of history.jsonl. */
void dt_history_line(int64_t epoch, int64_t step, const dt_metric *metrics, int n, dt_str *out);
/* Reads the metrics of the last line of a history.jsonl, with names in `arena`. Returns their
 * number; 0: there is no such line. */
int dt_history_last_line(const char *path, dt_arena *arena, dt_metric *metrics, int most);

#endif
