/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Around training: slices, plans, this machine's devices, the keys of job files, checkpoints,
 * reports, data, and drafts of jobs.
 */
#ifndef DTRAIN_LOOK_H
#define DTRAIN_LOOK_H

#include "job.h"

DT_BEGIN_C

/* ---- plans, data, checkpoints and reports ---- */

/* The version of the loaded library, "0.2.0"; lent. DTRAIN_VERSION_STRING is the version of the
 * headers. */
DT_API const char *dt_version(void);

typedef struct dt_topology_request {
    /* Name of the slice: "v3-8"; "": this machine's TPU; NULL: the job's slice. */
    const char *tpu;
    const dt_job *job; /* a job whose replicas are drawn; may be NULL */
    bool json, utf8;
    /* width of the text drawing in characters; 0: at most 80 for the drawn chips, and lines of text
     * are not wrapped */
    int columns;
    int64_t cores_per_chip; /* devices per chip; 0: the chip's default */
    /* "1,2,2,2": instead of drawing, list where this computation_shape fits; NULL: draw */
    const char *fit;
    /* "FILE": write an SVG file, *text is ""; "-": *text is the SVG; NULL: no SVG */
    const char *svg;
} dt_topology_request;
/* The slice as a text drawing, JSON or SVG. The caller frees *text. */
DT_API dt_status *dt_topology_text(const dt_topology_request *request, char **text) DT_CHECKED;
/* The names of Cloud TPU's default slices, such as "v3-8", one per line, by generation and from
 * small to large. The caller frees *text. */
DT_API dt_status *dt_slice_names(char **text) DT_CHECKED;

typedef enum dt_plan_form {
    DT_PLAN_TEXT, /* tables; several jobs are shown side by side */
    DT_PLAN_JSON, /* one object, which contains alternative jobs as a list */
    DT_PLAN_SVG,  /* a picture of the first job: memory, timeline of the step, layers */
    /* one virtual step of the first job as a Trace Event file, for Perfetto or chrome://tracing */
    DT_PLAN_TRACE,
} dt_plan_form;
/* Reads a number of bytes, at least 1 and below 2^62, and drops fractions of a byte: "16GiB", "1.5
 * MiB", "17179869184". Units are B, KiB, MiB, GiB and TiB. False: not a number of bytes. */
DT_API bool dt_bytes_of(const char *text, int64_t *bytes);

/* A whole run to be planned, with failures and checkpoints. */
typedef struct dt_plan_run {
    /* the length of training, in examples or in tokens: at most one of the two is above 0. Both 0:
     * no run is planned. An example is counted each time it is used. Tokens are elements of the
     * first input that is a sequence of integers. */
    double examples, tokens;
    double deadline_s, usd; /* limits in seconds and US dollars; 0: none */
    double mtbf_s; /* mean time between failures of one chip, seconds; 0: a published value */
    /* receives whether the run keeps the limits or, with dt_plan_search, whether any plan does; may
     * be NULL */
    bool *met;
} dt_plan_run;

typedef struct dt_plan_request {
    /* [n_jobs] the job, then its alternatives; all opened with DT_FOR_PLAN */
    dt_job *const *jobs;
    const char *const *labels; /* [n_jobs] names of the jobs */
    int n_jobs;
    dt_plan_form form;
    int64_t budget; /* bytes of a device's memory that may be used; 0: all of it */
    bool verbose;   /* list every layer and every collective */
    /* number of threads that fit would use on this machine, as in dt_run_options; the memory that a
     * job needs on this machine depends on it */
    int threads;
    dt_kernels kernels; /* kernels that fit would use on this machine */
    /* write the plan to this file, completely or not at all; *text is "". NULL: the plan is
     * *text */
    const char *file;
    /* path of a PJRT plug-in such as libtpu.so, which compiles the first job's step for
     * comparison; NULL: none */
    const char *compiler;
    /* with a compiler for GPUs: the GPU, such as "h100"; NULL: the job's slice */
    const char *target;
    /* [n_prices] "v6e=1.22": US dollars per hour for a chip of a generation, instead of those in
     * the table */
    const char *const *prices;
    int n_prices;
    dt_plan_run run; /* a run to be planned; all zeros: none */
    /* source of the first job, which is used to plan it on other slices if it does not fit; NULL:
     * other slices are not tried */
    const dt_job_source *source;
} dt_plan_request;
/* Predicts what jobs need on their slices: device memory by kind, the time of a step and its parts,
 * and traffic; and the memory of this machine if they ran here (null if that is too large to
 * compile for a plan, and for mixed precision or several slices). Jobs on slices are not run. If
 * all jobs run on this machine itself, text and JSON report its memory and the time of steps, a few
 * of which are run to measure it; JSON is then a list. With a compiler and a target, the first
 * job's step is compiled for that GPU, and its memory and number of kernels are reported, as text
 * or JSON. *fits is whether every program of the first job fits the memory (of a device, or of this
 * machine) and the budget; with a target, whether its training step fits that GPU. fits may be
 * NULL. The caller frees *text. On slices, a job other than the first that cannot be
 * planned is left out: *text is set, and the job's error is returned. On this machine the first
 * error ends the plan, and *text is not set. Errors: NO_SLICE; UNKNOWN_SLICE_OPTION for a price
 * that is not GENERATION=DOLLARS; USAGE for a run without a slice, and for tokens if no input of
 * the job is a sequence of integers; with a compiler also PLUGIN, COMPILER and NO_STABLEHLO. */
DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits) DT_CHECKED;

typedef struct dt_search_request {
    const dt_job_source *source;
    int64_t budget; /* bytes of a device's memory that may be used, as in dt_plan_request */
    bool json;
    const char *const *prices; /* [n_prices] prices of chips, as in dt_plan_request */
    int n_prices;
    dt_plan_run run; /* a run to be planned; all zeros: none */
    /* with a run: try only the job's own kind of slice, up to 16 of them at once */
    bool fixed;
} dt_search_request;
/* Plans the job for combinations of replicas, logical devices, batch size, rematerialization and
 * over_replicas, and lists first those that fit the devices' memory, then the others, each by
 * examples per second, fastest first. The text shows at most 12, JSON all. With a run: plans that
 * run with the job's global batch on slices of all generations. The text lists those that no other
 * beats in both time and US dollars, JSON all that fit. *fits is whether any plan or, without a
 * run, the unchanged job fits the devices' memory. With a run it is also true if slices were not
 * planned because they would miss a limit even at peak speed. fits may be NULL. The caller frees
 * *text. Errors: NO_SLICE; as dt_plan_text for prices and runs. */
DT_API dt_status *dt_plan_search(const dt_search_request *request, char **text,
                                 bool *fits) DT_CHECKED;

/* The back ends, devices and kernel libraries found on this machine, and why others were not found.
 * The caller frees *text. If the environment names a plug-in that does not start, returns PLUGIN in
 * addition to the text. */
DT_API dt_status *dt_devices_text(bool json, char **text) DT_CHECKED;
/* Information for a bug report: versions, machine, devices, environment variables that affect
 * dtrain, and problems found here. The caller frees *text. */
DT_API dt_status *dt_doctor_text(bool json, char **text) DT_CHECKED;

/* A key of job files, as the reader defines it. Lent for the duration of the call. */
typedef struct dt_job_key {
    /* path of the key: "fit.epochs"; "compile.optimizer.Adam.beta_1"; "model.layers[].Dense.units"
     * for entries of a list */
    const char *path;
    /* "integer", "number", "boolean", "text", "name", "integers", "numbers", "texts", "mapping",
     * "list", "scalar", "any", "null", "layer" (or another sort), "list of TYPE", "mapping of
     * TYPE", "TYPE or TYPE" */
    const char *type;
    const char *help; /* help text; NULL: none */
    /* the default, as in a job file; NULL: none. For a refused key: the value that is accepted,
     * besides null; NULL: there is none */
    const char *preset;
    /* names that the value may have, ending with NULL; NULL: none. If they are names of kinds, a
     * mapping from such a name to its arguments may be the value, too */
    const char *const *choices;
    /* for a key of an optimizer, a layer and so on: `sort` ("optimizer"), its name `kind` ("Adam"),
     * and a line about it. All NULL: a key of the top level or of a section */
    const char *sort, *kind, *about;
    /* other names of `kind`, such as "adam" for "Adam", ending with NULL; NULL: none */
    const char *const *aliases;
    /* known but not accepted, except with the value `preset`; `help` says what to write instead.
     * With an empty type and `preset` NULL, the key must be absent */
    bool refused;
    /* above_min, below_max: the limits themselves are excluded */
    bool required, has_min, has_max, above_min, below_max;
    /* limits of numbers; for a text, and for each text of a list, limits of its length in
     * characters */
    double min, max;
} dt_job_key;
/* Calls `key` for the keys of the top level, of sections and then of kinds. Completions and manual
 * pages are generated from this. */
DT_API void dt_job_keys(void (*key)(const dt_job_key *key, void *user), void *user);

/* A JSON Schema (2020-12) of job files, for completion and checks in editors. The caller frees
 * *json. */
DT_API dt_status *dt_job_schema(char **json) DT_CHECKED;

/*
 * Checkpoints on disk. A path is a checkpoint, a run directory (its newest checkpoint), or a
 * safetensors or NPZ file. DataLossError (65): a damaged checkpoint; the message names the file and
 * the position. The caller frees *text; with `json` it has one object per line.
 */

/* Lists the checkpoints of a run directory, oldest first: step, time, bytes, the weights' SHA-256
 * and their metrics. Checksums are not verified. A checkpoint whose state cannot be read is listed
 * as damaged. */
DT_API dt_status *dt_checkpoint_list(const char *run, bool json, char **text) DT_CHECKED;
/* Describes a checkpoint: its state, and each tensor's dtype, shape, minimum, maximum, mean, norm
 * and number of non-finite values. */
DT_API dt_status *dt_checkpoint_inspect(const char *path, bool json, char **text) DT_CHECKED;
/* Reads a checkpoint, or every checkpoint of a run, completely, and verifies checksums, headers and
 * the weights' SHA-256. *text names the intact ones; the error names the damaged ones. */
DT_API dt_status *dt_checkpoint_verify(const char *path, bool json, char **text) DT_CHECKED;
/* Repeats at least the last `steps` steps that led to the job's newest checkpoint, in a temporary
 * directory, and compares weights, optimizer state and the state of callbacks. It starts from the
 * newest checkpoint that is at least `steps` older, or from the beginning of training. The strategy
 * and the number of threads may differ from the original run. Error CHECKPOINTS_DIFFER: at least
 * one bit differs; *text is then the table of dt_checkpoint_diff. The job cannot be used
 * afterwards, except to release it. */
DT_API dt_status *dt_job_replay(dt_job *j, int64_t steps, bool json, const dt_run_options *options,
                                char **text) DT_CHECKED;
/* Lists each tensor that differs, with its largest absolute and relative difference. Files that
 * only one checkpoint has are ignored. *differ is whether any bits differ or, with `within` > 0,
 * whether |a - b| > within anywhere, or whether names, shapes or dtypes differ. */
DT_API dt_status *dt_checkpoint_diff(const char *a, const char *b, double within, bool json,
                                     char **text, bool *differ) DT_CHECKED;
/* Writes a checkpoint's weights to a file, in the format of its suffix: .safetensors or .npz. */
DT_API dt_status *dt_checkpoint_convert(const char *from, const char *to) DT_CHECKED;

/* A Trace Event file of what each thread did in the steps that the run's output.trace selects. The
 * caller frees *text. NotFoundError: the run has no trace. DataLossError: its compressed data is
 * damaged. InvalidArgumentError: its text does not begin with '{'. ResourceExhaustedError: its text
 * has more than 256 MiB. */
DT_API dt_status *dt_run_trace_text(const char *run, char **text) DT_CHECKED;

typedef struct dt_run_report_request {
    const char *const *runs; /* [n_runs] run directories (output.dir) */
    int n_runs;
    /* path of the file to write; "-": *text is the page; NULL: report.html in the first run's
     * directory */
    const char *output;
    /* the metric that compares the runs: the page marks the run whose kept weights have the best
     * value of this metric. NULL: val_loss, or else the first metric whose direction is known */
    const char *metric;
    /* 1: larger values of the metric are better; -1: smaller ones; 0: the metric's own direction,
     * and a run must have the metric */
    int better;
} dt_run_report_request;
/* Writes a self-contained HTML page about one run, or several side by side: curves, times, memory,
 * placement, the job, the machine and hashes. *text is the file's path or, with output "-", the
 * page itself; the caller frees it. If a run was killed and its files are incomplete, the page
 * shows what can be read. NotFoundError: no such directory, or not a run directory. ValueError:
 * `better` is 0, and no run has the metric. */
DT_API dt_status *dt_run_report(const dt_run_report_request *request, char **text) DT_CHECKED;

/* The metric `name` ("val_accuracy") of a run as fit reported it, for the weights that the run has
 * kept; NaN: the run has no such metric. NotFoundError: no such directory, or no run in it. */
DT_API dt_status *dt_run_metric(const char *run, const char *name, double *value) DT_CHECKED;

/* Generates sample data of kind "digits" or "text" in `directory`, which is created. */
DT_API dt_status *dt_data_synth(const char *kind, const char *directory, uint64_t seed) DT_CHECKED;

/* Data to examine: a job's data as its model gets it, or files, whose format is recognized by their
 * contents. */
typedef struct dt_data_request {
    dt_job *job; /* the job; NULL: use `files` */
    /* a title for a job's data, such as the job's path; NULL: the job's name. The title of files is
     * the first one's path */
    const char *title;
    const char *const *files; /* [n_files] "x.npy", or "image=x.npy" to name the element */
    int n_files;
    const char *split; /* part of the job's data: "train" (or NULL), "validation", "test" */
    bool json;
    bool as_stored; /* for a job: use the stored examples, before `map` */
    /* if not NULL, dt_data_convert sets *notes to lines about what it had to change or left out, or
     * NULL; the caller frees them */
    char **notes;
} dt_data_request;
/* The elements with dtype, shape, minimum, maximum and mean, and the first `records` examples. For
 * a request without a job whose file is a table (CSV or JSON lines): for each column its type,
 * count, missing, distinct, minimum, mean, maximum and most frequent texts over the file; the first
 * `records` examples; and the `dataset` lines of a job that reads it. For a request without a job
 * whose only file is a folder, in which each class has a folder of pictures or texts: the number of
 * files of each class, the sizes of the pictures or the lengths of the texts, and how many files
 * cannot be read. The caller frees *text. NotFoundError: no such file. InvalidArgumentError: an
 * unknown format. */
DT_API dt_status *dt_data_inspect(const dt_data_request *request, int64_t records,
                                  char **text) DT_CHECKED;
/* Distributes the examples to `workers` (0: those of the job's strategy; 2 for files) with an
 * auto-shard policy ("auto", ...; NULL: the job's), and reports which worker reads which examples
 * and whether each example is read exactly once. The caller frees *text. InvalidArgumentError: an
 * impossible number of workers, an unknown policy, or fewer files than workers with the policy
 * "file". */
DT_API dt_status *dt_data_shards(const dt_data_request *request, int workers, const char *policy,
                                 char **text) DT_CHECKED;
/* Writes the data in the format of the suffix of `output`: .npy, .npz, .idx, .csv or .tfrecord.
 * Records go into `shards` files. *text lists the files' names, one per line; the caller frees it.
 * ValueError: an unknown format, or one that cannot hold the data. */
DT_API dt_status *dt_data_convert(const dt_data_request *request, const char *output, int shards,
                                  char **text) DT_CHECKED;

typedef struct dt_draft_request {
    /* [n_files] tables (CSV, JSON lines), arrays ("x.npy", or "image=x.npy" to name the element),
     * one folder with a folder of pictures or texts for each class, or one text ("x.txt") */
    const char *const *files;
    int n_files;
    const char *target; /* the column or array to predict; NULL: a folder, or a text */
} dt_draft_request;
/* Writes a job that trains on the data: types, columns left out, categories, normalization, missing
 * values, a seeded split, a model of fitting size, early stopping. Comments in the job give the
 * reasons. The caller frees *text. Errors: USAGE: no such column or array; DATA_FILE and
 * DATA_SHAPE: the target cannot be predicted, or nothing else can be used to predict it;
 * DATA_EMPTY: a folder with one class, or too little text. Other errors are those of
 * dt_data_inspect. */
DT_API dt_status *dt_job_draft(const dt_draft_request *request, char **text) DT_CHECKED;

DT_END_C

#endif
