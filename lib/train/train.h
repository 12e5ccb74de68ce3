/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training: fit and evaluate over (compiled steps, data set), and the public model functions that
 * need a strategy.
 *
 * A trainer owns two compiled steps. The training step of one replica is
 *
 *     rows = loss(target, model(image))         one loss per example
 *     g    = all_reduce(d sum(rows) / d weights) / all_reduce(number of examples)
 *     weights, slots = optimizer(weights, slots, g)
 *
 * so the loss is the sum over examples divided by their number, however the batch divides among
 * replicas. Metrics are sums over examples too, added up in double on the host. With
 * fit.gradient_accumulation_steps both sums of g go on over several batches, in slots of the
 * optimizer (examples of classes with a weight count as much as that), and the last batch's step
 * divides them: an update is that of one batch of all their examples, also in an epoch's last,
 * shorter window.
 */
#ifndef DT_TRAIN_TRAIN_H
#define DT_TRAIN_TRAIN_H

#include "data/data.h"
#include "data/stream.h"
#include "format/format.h"
#include "model/model.h"
#include "strategy/strategy.h"
#include "train/faults.h"

/* What a run does beside training: see callback.h. */
typedef struct dt_callbacks {
    int n;
    dt_named *named; /* there is room for one more */
} dt_callbacks;
dt_status *dt_callbacks_read(dt_arena *arena, const dt_tree *list, dt_callbacks *out) DT_MUST_USE;
/* output.tensorboard: one more, TensorBoard with its defaults, unless the list has it. */
dt_status *dt_callbacks_add_tensorboard(dt_arena *arena, const dt_location *at,
                                        dt_callbacks *c) DT_MUST_USE;

/* The job around them, of which nothing need be opened. */
typedef struct dt_callback_job {
    const dt_model_spec *model;
    const dt_dataset_spec *data;
    const dt_compile_spec *compile; /* NULL: it is faulty itself */
    bool validates_by_steps;        /* see dt_fit_validates_by_steps */
} dt_callback_job;
/* All faults. */
dt_status *dt_callbacks_check(const dt_callbacks *c, const dt_callback_job *job) DT_MUST_USE;
/* Whether one changes the learning rate. */
bool dt_callbacks_vary_rate(const dt_callbacks *c);

/* What an example of a class counts in the loss while training; classes that are not given count
 * 1. */
typedef struct dt_class_weights {
    int n;
    int64_t *number;   /* [n] of those that are named: see dt_match_class_weight */
    const char **name; /* [n] NULL: given by number */
    const double *weight;
    const dt_location *key_at; /* [n] */
    dt_location at;
} dt_class_weights;

/* What a job's `fit` (or dt_model_fit's fragment) says. */
typedef struct dt_fit_spec {
    int64_t epochs, steps;    /* exactly one is > 0 */
    int64_t validation_freq;  /* epochs, or steps when `steps` is given; 0: 1 */
    int64_t validation_steps; /* batches; 0: all there are */
    int64_t initial_epoch;
    int64_t steps_per_epoch;             /* 0: as many as the data has batches */
    int64_t gradient_accumulation_steps; /* batches that make one update; 0, 1: each does */
    dt_location accumulation_at;
    dt_class_weights class_weight; /* n 0: none */
    dt_callbacks callbacks;
    dt_location at;
} dt_fit_spec;
/* validation_freq counts steps: callbacks and the history see each validation when it happens. */
bool dt_fit_validates_by_steps(const dt_fit_spec *fit);
dt_status *dt_fit_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                       dt_fit_spec *out) DT_MUST_USE;

typedef struct dt_checkpoint_spec {
    bool every_epoch;     /* save_freq: epoch */
    int64_t every_steps;  /* or so many steps */
    double every_seconds; /* or "10m" */
    int64_t max_to_keep;
    dt_resume resume;
    const char *resume_path; /* with DT_RESUME_PATH */
    dt_location resume_at;
} dt_checkpoint_spec;
dt_status *dt_checkpoint_spec_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                                   dt_checkpoint_spec *out) DT_MUST_USE;
/* The tables of both, and the kinds of callbacks, for lists of all keys. */
const dt_field *dt_fit_fields(void);
const dt_field *dt_checkpoint_fields(void);
const dt_kind *const *dt_callback_kinds(int *n);

/* ---- data against model ---- */

/* Indices of the data set's elements. */
typedef struct dt_match {
    int n_inputs, input[DT_MAX_INPUTS];                 /* in the model's order */
    int target[DT_MAX_OUTPUTS], weight[DT_MAX_OUTPUTS]; /* likewise; -1: not asked for */
} dt_match;
/* The elements of the Inputs' names, and the targets: those that compile.target names, else the
 * only other one, or of several outputs those of their names. Files need not be open. All faults:
 * ELEMENTS, placed at the name. compile NULL: the inputs alone. */
dt_status *dt_match_names(const dt_texts *elements, const dt_model_spec *model,
                          const dt_compile_spec *compile, dt_match *out) DT_MUST_USE;
/* That, then types: ELEMENTS where the model takes another shape, LABELS where loss or metrics
 * do. */
dt_status *dt_match_types(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *compile,
                          dt_match *out) DT_MUST_USE;
/* That, then values: LABEL_RANGE for class numbers that the model's output has no place for (which
 * reads all labels). */
dt_status *dt_match_data(dt_dataset *d, const dt_model_spec *model, const dt_compile_spec *compile,
                         dt_match *out) DT_MUST_USE;
/* Classes are those of examples: LABELS where the loss or the targets know none, or not that name,
 * RANGE for one that the model does not score. Sets w->number of classes that are named. w NULL:
 * fine. */
dt_status *dt_match_class_weight(const dt_dataset *d, const dt_model_spec *model,
                                 const dt_compile_spec *compile, const dt_match *m,
                                 const dt_class_weights *w) DT_MUST_USE;

/* LABELS where nothing is left to train on: weights of classes (w NULL: there are none) or of
 * examples are 0 for the whole training part. */
dt_status *dt_match_counts(const dt_dataset *d, const dt_compile_spec *compile, const dt_match *m,
                           const dt_class_weights *w) DT_MUST_USE;

/* The elements of a batch as the arguments of a step, whose names they have: arg[step->n_args]. */
void dt_match_views(const dt_dataset *d, const dt_batch *batch, const dt_graph *step, dt_view *arg);

/* ---- the trainer ---- */

typedef struct dt_trainer dt_trainer;
typedef struct dt_trainer_options {
    dt_strategy *strategy;
    dt_model *model; /* weights exist */
    const dt_compile_spec *compile;
    dt_optimizer *optimizer; /* NULL: evaluation only */
    dt_dataset *data;
    /* NULL: every batch updates, all examples count 1, and no callback changes the learning rate */
    const dt_fit_spec *fit;
    dt_compute_spec how;
} dt_trainer_options;
/* Checks data against model (names, shapes, dtypes, classes), traces and compiles for the full
 * batch. Everything in options is kept, not owned. */
dt_status *dt_trainer_create(dt_trainer **out, const dt_trainer_options *o) DT_MUST_USE;
void dt_trainer_destroy(dt_trainer *t);

/* ---- outlines: steps to be priced, never run (outline.c) ---- */

/* A step that a run consists of. */
typedef struct dt_outlined {
    const char *name; /* "train", "evaluate" */
    int64_t rows;     /* of all replicas' batch */
    /* how many there are in an epoch, in an evaluation; 0: the data is not known */
    int64_t steps;
} dt_outlined;
enum { DT_MOST_OUTLINED = 4 };
/* A trainer for dt_trainer_outlined and dt_trainer_priced alone: nothing is compiled, and with a
 * model that is an outline nothing as large as a tensor is allocated. Labels are not read. */
dt_status *dt_trainer_outline(dt_trainer **out, const dt_trainer_options *o) DT_MUST_USE;
/* The steps: training's full batch first, its last one where there is one, evaluation's likewise.
 * Returns their number. */
int dt_trainer_outlined(const dt_trainer *t, dt_outlined steps[DT_MOST_OUTLINED]);
/* What a core does in that step: lent, made when first asked for. Replicas are an axis of its mesh
 * wherever there are several. */
dt_status *dt_trainer_priced(dt_trainer *t, const dt_outlined *step,
                             const dt_spmd **out) DT_MUST_USE;
/* DOES_NOT_FIT where a core of the slice has no room for a training step's full batch. Opens the
 * engine. */
dt_status *dt_trainer_check_fits(dt_trainer *t) DT_MUST_USE;
/* Bytes that this machine allocates for a training step's full batch, as dt_trainer_peak_bytes has
 * them, with so many shards (0: none): nothing is allocated. 0: it is not known
 * (dt_compiled_host_bytes). */
dt_status *dt_trainer_host_bytes(dt_trainer *t, int shards, int64_t *bytes) DT_MUST_USE;

/* Sums over examples: how many, and what losses and metrics are functions of (results.h). */
typedef struct dt_sums {
    double examples;
    int n;
    double *v; /* [n] */
} dt_sums;
/* Makes all 0, and room for this trainer's in zeroed ones. */
void dt_trainer_clear(const dt_trainer *t, dt_sums *s);
void dt_sums_release(dt_sums *s);
/* One training step over a batch. *s adds up; *loss is this batch's (may be NULL). updates false,
 * of a trainer that accumulates: its gradients wait for those of the next batch. */
dt_status *dt_trainer_step(dt_trainer *t, const dt_batch *batch, bool updates, dt_sums *s,
                           double *loss) DT_MUST_USE;
/* The same in two halves, between which the batch stays as it is. Where dt_trainer_runs_ahead, the
 * next step may start before the one at hand is finished. */
dt_status *dt_trainer_start(dt_trainer *t, const dt_batch *batch, bool updates) DT_MUST_USE;
/* s NULL: its results are dropped. */
dt_status *dt_trainer_finish(dt_trainer *t, dt_sums *s, double *loss) DT_MUST_USE;
bool dt_trainer_runs_ahead(const dt_trainer *t);
/* Loss and metrics of a part: of its first `batches` batches, 0: of all. s: zeroed or cleared. run:
 * whom to tell how far it is; NULL: nobody. */
dt_status *dt_trainer_evaluate(dt_trainer *t, dt_part part, int64_t batches,
                               const dt_run_options *run, dt_sums *s) DT_MUST_USE;
/* Names ("loss", "accuracy"; with validation "val_loss", ...) and values from sums, into metrics;
 * their number, at most DT_MAX_KEYS. */
int dt_trainer_metrics(const dt_trainer *t, const dt_sums *s, bool validation, dt_metric *metrics);
/* What reads data from now on tells the recorder, which lives as long or is taken back: NULL. */
void dt_trainer_record(dt_trainer *t, dt_recorder *r);
/* lent; NULL: it only evaluates */
const struct dt_compiled *dt_trainer_training_step(const dt_trainer *t);
const dt_compile_spec *dt_trainer_compiled_with(const dt_trainer *t);
/* What about the data may make a poor model or a meaningless figure, in words, in the arena. */
dt_status *dt_trainer_data_warnings(const dt_trainer *t, dt_arena *arena,
                                    dt_texts *out) DT_MUST_USE;
/* Targets that metrics are not made for, and where the classes of that part are not those of the
 * training data. Likewise. */
dt_status *dt_trainer_target_warnings(const dt_trainer *t, dt_part part, dt_arena *arena,
                                      dt_texts *out) DT_MUST_USE;
/* The name of the class that a number is about, by its place in dt_compile_keys; NULL: none. */
const char *dt_trainer_class_of(const dt_trainer *t, int key);
/* See dt_class_names_print. */
const char *dt_trainer_class_names(const dt_trainer *t, dt_arena *arena);
/* Planned bytes of a training step's arena; what a full step costs where it is simulated, zeros
 * elsewhere. */
int64_t dt_trainer_peak_bytes(const dt_trainer *t);
const dt_price *dt_trainer_price(const dt_trainer *t);
/* Seconds of a full training step on the slice, with n chips whose links are slow. */
dt_status *dt_trainer_slowed(dt_trainer *t, const dt_slow_links *slow, int n,
                             double *seconds) DT_MUST_USE;
/* The traced graphs: "graph" (forward and loss), "gradient" (the whole step), "folded", "program",
 * "executable"; "stablehlo" (what a core does in a step) and "stablehlo-gradient" (a replica's
 * step), for which an outline is enough. */
dt_status *dt_trainer_lower(dt_trainer *t, const char *stage, dt_str *out) DT_MUST_USE;

/* ---- a run: fit with checkpoints, history, signals ---- */

/* Steps whose threads are recorded, counted from 1; zeros: none. */
typedef struct dt_steps_recorded {
    int64_t first, last;
} dt_steps_recorded;

typedef struct dt_fit_request {
    dt_trainer *trainer;
    const dt_fit_spec *fit;
    /* of a run that goes on from no checkpoint; NULL: weights are as they are */
    const dt_init_from *init_from;
    const dt_checkpoint_spec *checkpoint; /* NULL: none are written */
    const char *directory;                /* output.dir; NULL: nothing is written */
    const char *name;                     /* of the job */
    const char *job, *job_sha256;         /* resolved, as JSON text */
    /* the same for people, with defaults and origins: dt_job_config_text; NULL: nobody asked */
    const char *config;
    int n_hidden;
    /* what records say in place of values that they must not hold: {"${HOME}", "/home/me"} */
    const dt_pair *hidden;
    dt_texts told; /* warnings that the caller gave before; they are recorded, not told again */
    uint64_t seed;
    const dt_run_options *run;
    int64_t called_ns;       /* when the run was asked for, for run->max_seconds; 0: now */
    dt_faults faults;        /* to be met; checked */
    dt_steps_recorded trace; /* into trace.json.gz below the directory */
    dt_history *history;     /* filled when not NULL */
} dt_fit_request;
dt_status *dt_fit(const dt_fit_request *r) DT_MUST_USE;

/* ---- models ---- */

/* Makes a model's variables in the scope of a strategy and draws them. The spec lives in the
 * model's arena or outlives it. */
dt_status *dt_model_make(dt_model **out, const dt_model_spec *spec, dt_strategy *strategy,
                         uint64_t seed) DT_MUST_USE;
/* A model to be traced and never run: its variables have no memory. strategy NULL: it is for
 * nobody. */
dt_status *dt_model_outline(dt_model **out, const dt_model_spec *spec,
                            dt_strategy *strategy) DT_MUST_USE;
/* The forward pass over elements of the data, traced: its result is "prediction". */
dt_status *dt_forward_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                            dt_graph **out) DT_MUST_USE;
/* The same of inputs in the model's order. */
dt_status *dt_forward_trace_of(const dt_model *m, const dt_element_spec *inputs, int n,
                               dt_graph **out) DT_MUST_USE;

/* The names of an output's classes, by their number. */
typedef struct dt_class_names {
    dt_texts of[DT_MAX_OUTPUTS]; /* n 0: they have none */
} dt_class_names;
/* As the targets of an output have them, where the loss is one of classes. */
void dt_class_names_of(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m,
                       dt_class_names *out);
/* As checkpoints keep them (in the arena): {"logits": ["circle", "ring"]}; NULL: no output has
 * any. */
const char *dt_class_names_print(const dt_class_names *n, const dt_model_spec *m, dt_arena *arena);
/* The way back, of a checkpoint. */
dt_status *dt_class_names_read(const dt_saved *c, const dt_model_spec *m, dt_arena *arena,
                               dt_class_names *out) DT_MUST_USE;

/* Whose outputs, and what becomes of them. */
typedef struct dt_predict_rows {
    dt_dataset *data; /* a part of this, */
    dt_part part;
    dt_stream *stream; /* or what comes here; NULL: nothing */
    int64_t batch;     /* rows at a time, of all replicas */
    /* whose losses say what outputs are; NULL: their last activation does */
    const dt_compile_spec *compile;
    const dt_class_names *names;                                /* NULL: none */
    dt_status *(*rows)(const dt_predicted_rows *p, void *user); /* gets them in order */
    void *user;
    bool everyone; /* of several workers each gets them, not only the first */
    void (*warn)(const char *text, const void *user); /* NULL: nobody wants to know */
    const void *warn_user;
} dt_predict_rows;
dt_status *dt_predict(dt_model *m, const dt_predict_rows *from) DT_MUST_USE;
/* The global batch of a data set, whichever way it says it. */
int64_t dt_predict_batch(dt_dataset *data, const dt_model *m);
/* All rows of a model of one output in one tensor: `rows` of the above, with a zeroed dt_gathered;
 * then what s allows is taken, and the rest released. */
typedef struct dt_gathered {
    dt_type type;
    int64_t rows;
    dt_str bytes;
} dt_gathered;
dt_status *dt_gather_rows(const dt_predicted_rows *p, void *gathered);
dt_status *dt_gathered_take(dt_gathered *g, dt_status *s, dt_tensor **out) DT_MUST_USE;

/* What steps of `map` learned, as checkpoints keep it (in the arena); NULL: none does. */
const char *dt_learned_print(const dt_learned *l, dt_arena *arena);
/* The way back, of a checkpoint; *out NULL: it has nothing of the kind. */
dt_status *dt_learned_read(const dt_saved *c, dt_arena *arena, const dt_learned **out) DT_MUST_USE;
/* The elements of a data set as it stores them, as checkpoints keep them (in the arena); NULL: of a
 * pipeline. */
const char *dt_stored_print(const dt_dataset *d, dt_arena *arena);
/* The same of a checkpoint, into out->stored; left alone where it keeps none. CHECKPOINT: they are
 * not as dt_stored_print prints them. */
dt_status *dt_stored_read(const dt_saved *c, dt_arena *arena, dt_dataset_spec *out) DT_MUST_USE;

/* The same for export: of one replica, from examples as the data set stores them, `map` being in
 * it; data NULL: from what the model's Inputs take. */
dt_status *dt_export_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                           dt_graph **out) DT_MUST_USE;
/* The model's weights as `init_from` says, path being a whole one; what was drawn stays, and is a
 * warning, only with skip_mismatch. Errors are at the key's place. */
dt_status *dt_init_weights(dt_model *m, const dt_init_from *from, dt_status **warnings) DT_MUST_USE;
/* Whether they are there and of the model's shapes; the model may be an outline. */
dt_status *dt_init_check(const dt_model *outline, const dt_init_from *from) DT_MUST_USE;
/* {"model": {"layers": ...}, "compile": ...} as a job has them, in the arena; without the latter
 * unless it is wanted. */
const char *dt_model_describe(const dt_model *m, bool compiled, dt_arena *arena);
dt_status *dt_weights_digest(const dt_model *m, dt_digest *out) DT_MUST_USE;
/* The model's weights and the optimizer's variables, for checkpoints: their host copies, current
 * until the next step; arrays in `arena`. */
dt_status *dt_model_arrays(const dt_model *m, dt_arena *arena, dt_arrays *out) DT_MUST_USE;
dt_status *dt_optimizer_arrays(const dt_optimizer *o, dt_arena *arena, dt_arrays *out) DT_MUST_USE;
/* The same before all of them are overwritten. */
dt_arrays dt_model_arrays_to_fill(const dt_model *m, dt_arena *arena);
dt_arrays dt_optimizer_arrays_to_fill(const dt_optimizer *o, dt_arena *arena);
/* What the next step will use; and the steps done. */
bool dt_optimizer_has_schedule(const dt_optimizer *o);
dt_status *dt_optimizer_current_rate(const dt_optimizer *o, double *rate) DT_MUST_USE;
dt_status *dt_optimizer_steps(const dt_optimizer *o, int64_t *steps) DT_MUST_USE;
/* An error of that number about the first array with values that are not finite: "BEFORE: 'NAME'
 * holds 2 values that are not finite". */
dt_status *dt_check_finite(const dt_arrays *a, dt_error number, const char *before, ...)
    DT_PRINTF(3, 4) DT_MUST_USE;

dt_history *dt_history_create(void);
/* Adds a row: one epoch's metrics. */
void dt_history_add(dt_history *h, const dt_metric *metrics, int n);
/* One line of history.jsonl. */
void dt_history_line(int64_t epoch, int64_t step, const dt_metric *metrics, int n, dt_str *out);
/* The metrics of the last line of a history.jsonl, names in `arena`; their number, 0 when there is
 * none. */
int dt_history_last_line(const char *path, dt_arena *arena, dt_metric *metrics, int most);

#endif
