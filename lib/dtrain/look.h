/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said without training: slices, plans, devices of this machine, published rows, sample data.
 */
#ifndef DTRAIN_LOOK_H
#define DTRAIN_LOOK_H

#include "job.h"

DT_BEGIN_C

/* ---- looking around ----------------------------------------------------------------------------------------------- */

/* The version of the library that is loaded, "0.2.0"; DTRAIN_VERSION_STRING is that of the headers. */
DT_API const char *dt_version(void);

typedef struct dt_topology_request {
    const char *tpu;        /* "v3-8", "" for this machine's, NULL: the job's */
    const dt_job *job;      /* its replicas are drawn; may be NULL */
    bool json, utf8;
    int columns;            /* of the page; 0: it is none: 80 for chips, lines of words are not broken */
    int64_t cores_per_chip; /* devices that a chip shows; 0: what it usually does */
    const char *fit;        /* "1,2,2,2": list where that computation_shape fits instead of drawing; NULL: draw */
    const char *svg;        /* "FILE": draw an SVG file, *text stays empty; "-": *text is the SVG; NULL: no SVG */
} dt_topology_request;
/* The slice, drawn in text, as JSON or SVG. The caller frees *text. */
DT_API dt_status *dt_topology_text(const dt_topology_request *request, char **text) DT_CHECKED;
/* The slices that Cloud TPU hands out for a number of chips, "v3-8", a line each: generation by generation, from small to large. The caller frees
 * *text. */
DT_API dt_status *dt_slice_names(char **text) DT_CHECKED;

typedef enum dt_plan_form {
    DT_PLAN_TEXT,  /* tables; the jobs side by side */
    DT_PLAN_JSON,  /* one object; what-ifs are a list in it */
    DT_PLAN_SVG,   /* a picture of the first job: memory, the step's time line, layers */
    DT_PLAN_TRACE, /* one virtual step of the first job as a Trace Event file, for Perfetto or chrome://tracing */
} dt_plan_form;
/* "16GiB", "1.5 MiB", "17179869184" as bytes, from 1 to 2^62; units are B, KiB, MiB, GiB and TiB. False: it is none. */
DT_API bool dt_bytes_of(const char *text, int64_t *bytes);

typedef struct dt_plan_request {
    dt_job *const *jobs;       /* the job as it is, then as it would be; opened for training, with slices */
    const char *const *labels; /* [n_jobs]: what each is called */
    int n_jobs;
    dt_plan_form form;
    int64_t budget;            /* bytes of a device that may be used; 0: all that the chip has */
    bool verbose;              /* every layer */
    int threads;               /* that fit would compute with on this machine, as dt_run_options has them: bytes of its arena depend on them */
    dt_kernels kernels;        /* likewise */
    const char *file;          /* the form goes there, whole or not at all, and *text stays empty; NULL: it is *text */
    const char *compiler;      /* path of a PJRT plug-in, libtpu.so: it compiles the first job's step, and what it says stands beside; NULL: none */
} dt_plan_request;
/* What jobs need of their slices: bytes of a device by kind, the time of a step and its parts, traffic; and of this machine's memory, were they run on it
 * (null where that is too large to be compiled in passing, or cannot be run yet). Nothing is allocated, nothing runs. Of jobs that all run on this machine
 * itself, text and JSON tell its memory and the time of steps, of which some are run for that; JSON is then a list. *fits
 * (may be NULL) tells whether every program of the first job fits the devices' memory. The caller frees *text. NO_SLICE;
 * with a compiler PLUGIN, COMPILER, NO_STABLEHLO. */
DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits) DT_CHECKED;

typedef struct dt_search_request {
    const dt_job_source *source;
    int64_t budget;            /* as above */
    bool json;
} dt_search_request;
/* The job over replicas x logical devices x batch x rematerialisation x over_replicas, each planned, the most examples per second first. *fits
 * (may be NULL) tells whether any shape fits the devices' memory. The caller frees *text. NO_SLICE. */
DT_API dt_status *dt_plan_search(const dt_search_request *request, char **text, bool *fits) DT_CHECKED;

/* Back ends, devices and kernel libraries found on this machine, and why others were not. The caller frees *text. */
DT_API dt_status *dt_devices_text(bool json, char **text) DT_CHECKED;
/* What a report of a fault is to begin with: versions, machine, devices, variables that change what dtrain does, and what is amiss here. The caller
 * frees *text. */
DT_API dt_status *dt_doctor_text(bool json, char **text) DT_CHECKED;

typedef struct dt_bench_request {
    const char *rows;     /* the file */
    const char *configs;  /* where the jobs of published models are; NULL: "configs/published" */
    bool json;
} dt_bench_request;
/* Predicts the rows of a file of published numbers, and compares: tables, or as JSON one line a row. NotFoundError: no such file;
 * InvalidArgumentError: not of its form. What a row lacks to be predicted is said in its line. The caller frees *text. */
DT_API dt_status *dt_bench_simulator(const dt_bench_request *request, char **text) DT_CHECKED;

/* A key of job files, as its reader knows it. Lent until the call ends. */
typedef struct dt_job_key {
    const char *path;           /* "fit.epochs"; "compile.optimizer.Adam.beta_1"; "model.layers[].Dense.units", of an entry of a list */
    const char *type;           /* "integer", "number", "boolean", "text", "name", "integers", "numbers", "texts", "mapping", "list", "scalar", "any",
                                   "layer" (or another sort), "list of TYPE", "mapping of TYPE", "TYPE or TYPE" */
    const char *help;           /* NULL: none */
    const char *preset;         /* the default, as in a job file; NULL: none; of a refused key: the value that is taken, null being its absence */
    const char *const *choices; /* ends with NULL; NULL: none. Of other types than "name": names that it may be, or be a mapping of */
    const char *sort, *kind, *about; /* the kind whose key it is, "optimizer" and "Adam", and a line about it; NULL: a section's */
    bool refused;               /* known, so that `help` can say what to write or what is missing; type is empty where it can be nothing at all */
    bool required, has_min, has_max, above_min, below_max; /* above_min, below_max: the limits themselves are excluded */
    double min, max;            /* of numbers; of text: its characters; of lists of texts: how many */
} dt_job_key;
/* All keys, in the order of sections, then of kinds: what completions, manual pages and schemas are made of. */
DT_API void dt_job_keys(void (*key)(const dt_job_key *key, void *user), void *user);

/* All of that as a JSON Schema (2020-12) of job files, which editors complete and check by. The caller frees *json. */
DT_API dt_status *dt_job_schema(char **json) DT_CHECKED;

/* Checkpoints as they lie on disk, without their job. A path names a checkpoint, a run's directory (its newest checkpoint) or a safetensors or NPZ file.
 * Damaged ones: DataLossError (65), naming file and place. The caller frees *text; with json it is one object a line. */

/* The checkpoints of a run's directory, oldest first: step, when, bytes, weights' SHA-256, the metrics of its epoch. Checksums are not looked at; one
 * whose state cannot be read is listed as damaged. */
DT_API dt_status *dt_checkpoint_list(const char *run, bool json, char **text) DT_CHECKED;
/* What lies in one: its state, and each tensor with dtype, shape, least, greatest, mean, norm, and how many values are not finite. */
DT_API dt_status *dt_checkpoint_inspect(const char *path, bool json, char **text) DT_CHECKED;
/* Reads all of one, or of each checkpoint of a run: checksums, headers, the weights' SHA-256. *text names those that are whole; the error each that is
 * not. */
DT_API dt_status *dt_checkpoint_verify(const char *path, bool json, char **text) DT_CHECKED;
/* Does the steps that led to the job's newest checkpoint again, at least the last `steps` of them, in a directory for the time being, and compares:
 * weights, slots, what callbacks keep. Begins at the newest checkpoint that lies so far before it, else where training began. Strategy and threads may be
 * others than they were. CHECKPOINTS_DIFFER where a bit does, with the table of dt_checkpoint_diff in *text. The job cannot be used for more. */
DT_API dt_status *dt_job_replay(dt_job *j, int64_t steps, bool json, const dt_run_options *options, char **text) DT_CHECKED;
/* Tensor by tensor, the largest absolute and relative differences. *differ: by bits, or with `within` > 0 where |a - b| > within; or in names, shapes,
 * dtypes. */
DT_API dt_status *dt_checkpoint_diff(const char *a, const char *b, double within, bool json, char **text, bool *differ) DT_CHECKED;
/* The weights of one as a file, which its suffix tells: .safetensors or .npz. */
DT_API dt_status *dt_checkpoint_convert(const char *from, const char *to) DT_CHECKED;

/* What the threads of a run did in the steps that its output.trace names, as a Trace Event file. The caller frees *text. NotFoundError: there is none;
 * DataLossError: it is damaged. */
DT_API dt_status *dt_run_trace_text(const char *run, char **text) DT_CHECKED;

typedef struct dt_run_report_request {
    const char *const *runs;   /* directories that output.dir named */
    int n_runs;
    const char *output;        /* the file; "-": *text is the page; NULL: report.html in the first run */
} dt_run_report_request;
/* One HTML page that needs nothing else about one run, or about several side by side: curves, times, memory, placement, the job, machine and hashes. *text:
 * the file's path; the caller frees it. A run that was killed, whose files are cut or torn, is told as far as it can be read. NotFoundError: no such directory,
 * or no run's. */
DT_API dt_status *dt_run_report(const dt_run_report_request *request, char **text) DT_CHECKED;

/* Draws sample data: kind "digits" or "text". Writes into `directory`, which is created. */
DT_API dt_status *dt_data_synth(const char *kind, const char *directory, uint64_t seed) DT_CHECKED;

/* Data to look at: a job's, as its model gets it, or files whose format is seen by their contents. */
typedef struct dt_data_request {
    dt_job *job;               /* NULL: files */
    const char *title;         /* what to call it: the job's path; NULL: the first file's */
    const char *const *files;  /* "x.npy", or "image=x.npy", which names the element */
    int n_files;
    const char *split;         /* "train" (or NULL), "validation", "test" */
    bool json;
    bool as_stored;            /* of a job: its examples as they are stored, before `map` */
    char **notes;              /* place for what dt_data_convert could not take as it is: lines, or NULL; the caller frees them. NULL: not wanted */
} dt_data_request;
/* Elements with dtype, shape, least and largest value and mean, and the first `records` examples. The caller frees *text. NotFoundError: no such
 * file; InvalidArgumentError: not of a known format. */
DT_API dt_status *dt_data_inspect(const dt_data_request *request, int64_t records, char **text) DT_CHECKED;
/* Distributes the examples to `workers` under an auto-shard policy ("auto", ...; NULL: the job's), and tells who reads which and whether each is
 * read once. The caller frees *text. InvalidArgumentError: fewer files than workers. */
DT_API dt_status *dt_data_shards(const dt_data_request *request, int workers, const char *policy, char **text) DT_CHECKED;
/* Writes the data in the format that the end of `output` says: .npy, .npz, .idx, .csv, .tfrecord; records in `shards` files. *text: the files' names, a
 * line each; the caller frees it. ValueError: no such format, or it cannot hold the data. */
DT_API dt_status *dt_data_convert(const dt_data_request *request, const char *output, int shards, char **text) DT_CHECKED;

DT_END_C

#endif
