/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: one file that defines the model, the data and the training. Some of its files:
 *
 *     source.c      file or standard input, with its base and overrides, -> tree
 *     model.c       replaces the name of a Keras model file by the model
 *     substitute.c  {name}, {run_dir}, ${VARIABLE:-default}, words of `let`
 *     sections.c    the tree's sections, each read by the code that it configures; keys.c: a list
 *                   of all their keys
 *     partition.c   `partition`: names, shapes, and notes in the graph of a step
 *     idle_keys.c   warnings about keys without effect
 *     rows.c        the data set, opened and compared with the model, and rows of files
 *     session.c     the model, optimizer and trainer; the weights that training begins with;
 *                   the connections of several workers
 *     fit.c         training; run.c: evaluate, predict, lower; export.c: the model as a file for
 *                   others
 *     devices.c     what this machine has; a slice with the job's replicas
 *
 * Opening a job reports all faults of its file at once and opens no data. This header is for
 * lib/job itself; the public functions are in dtrain.h.
 */
#ifndef DT_JOB_JOB_H
#define DT_JOB_JOB_H

#include "base/hash.h"
#include "train/train.h"

struct dt_job { /* The type behind the handle of the public header. */
    int refs;
    dt_arena *arena;
    dt_purpose purpose;
    dt_rank_option rank; /* index of this process among the workers, if the caller gave one */
    bool sealed;         /* whether the job is only inspected, so that no plug-in may be opened */
    dt_tree *tree;       /* the resolved tree: base, overrides and substitutions are applied */
    dt_location at;      /* location of the whole job in its file, for errors */
    const dt_source
        *input; /* the source of a job that was read from standard input; NULL: the job is a file */
    const dt_source *base; /* the file that the job extends; NULL: it extends no file */
    bool overridden;       /* whether the command line overrides keys of the job */
    /* the error that the model's file is missing, kept because the run's checkpoint may have the
     * model; else NULL */
    dt_status *no_model;
    /* directory of the job's file; for standard input, work_directory. The paths of data files and
     * of the base are relative to it */
    const char *data_directory;
    /* directory given by -C, or "": output.dir, init_from and the path of a checkpoint to resume
     * from are relative to it */
    const char *work_directory;
    const char *name;
    const char *run_dir; /* the value of output.dir after substitution; by default runs/NAME */
    int n_variables;
    /* [n_variables] environment variables that occur in paths: "${NAME}", and the variable's value,
     * which must not appear in records */
    dt_pair *variable;
    const char *json; /* the job as canonical JSON, after base, overrides and substitutions */
    dt_digest sha256; /* SHA-256 of `json` */

    uint64_t seed;
    /* settings of `reproducible` and `partition` that determine how steps are computed */
    dt_compute_spec how;
    /* the value of `reproducible.strict`; whether the job has that key */
    bool strict, chooses_strict;
    struct dt_job_partition *partition; /* the job's `partition`; NULL if it has none */
    /* the strategy for whose logical devices steps are annotated while they are traced; NULL: they
     * are not annotated. Lent */
    dt_strategy *annotates;
    /* name of the back end, such as "cpu"; NULL: the strategy's default */
    const char *backend;
    /* path of the plug-in of back end pjrt; NULL: the job and its caller name none, but the
     * environment may */
    const char *plugin;
    const dt_pjrt_settings *settings; /* settings of the plug-in; NULL: the job has none */
    dt_location backend_at;
    dt_strategy_spec strategy;
    /* the connected workers, while several compute the job; NULL: this process computes alone */
    dt_cluster *cluster;
    dt_dataset_spec dataset;
    dt_texts elements; /* names of the elements that examples of the job's data have */
    dt_model_spec model;
    dt_compile_spec compile;
    dt_fit_spec fit;
    dt_checkpoint_spec checkpoint;
    dt_steps_recorded trace; /* the steps to record, from output.trace */
    bool report;             /* whether output.report asks for an HTML page */
    int64_t replicas;        /* number of replicas; 0: unknown, because the strategy has faults */
    /* whether `replicas` is 1 only because the plug-in, which knows the number, is not opened */
    bool uncounted;
    int64_t workers; /* number of hosts that feed the replicas; 0: the strategy has faults */
    /* whether each section exists and was read without faults */
    bool has_strategy, has_dataset, has_model, has_compile, has_fit;

    int n_metrics;
    const char **metric; /* names of the values that `fit` reports, in their order */
    dt_dataset *data;    /* the data set; NULL until it is opened */
};

/* ---- source.c ---- */

/* Reads j->tree from file, base, model file and overrides, and sets the directories. Returns all
 * faults. The tree is NULL if the file has a syntax error, or if its base, its model file or an
 * override of the model cannot be used. */
dt_status *dt_job_read_tree(dt_job *j, const dt_job_source *source) DT_MUST_USE;
/* Removes the top-level keys that begin with `x-`, which hold definitions; their aliases were
 * replaced while reading. */
void dt_job_drop_definitions(dt_tree *root);
/* Makes the paths to data files of an extended base relative to the job's own file. */
void dt_job_move_paths(dt_job *j);
/* Puts `prefix` before relative paths of data files, because the job will be written to another
 * folder. */
void dt_job_prefix_paths(dt_job *j, const char *prefix);

/* ---- model.c ---- */

/* Replaces model.keras_config by the contents of its file. If the file is missing, training and
 * planning fail, and so does an override that names it. Otherwise the error is kept in j->no_model,
 * since the run's checkpoint may have the model. */
dt_status *dt_job_import_model(dt_job *j) DT_MUST_USE;
/* Takes the model from the run's newest checkpoint if j->no_model says that its file is missing;
 * fails with that error if the run has no checkpoint with layers, or the job has layers beside the
 * file. Called once output.dir is known. */
dt_status *dt_job_recall_model(dt_job *j) DT_MUST_USE;

/* ---- substitute.c ---- */

/* Finds j->name and j->run_dir, then replaces substitutions in the texts of the tree. Returns all
 * faults. `path` is the job file's. */
dt_status *dt_job_substitute(dt_job *j, const char *path) DT_MUST_USE;

/* ---- sections.c ---- */

/* Reads all sections. Faults of the job (exit code 78) are appended to *faults. Missing devices
 * (69), which are reported after those, are appended to *missing. */
void dt_job_read_sections(dt_job *j, const dt_job_source *source, dt_status **faults,
                          dt_status **missing);
/* Reads the sections that determine what is trained. Faults are dropped. */
void dt_job_read_trained(dt_job *j);
/* Returns an error if the job has several folds and none is chosen, because each fold has its own
 * model. */
dt_status *dt_job_check_fold(const dt_job *j) DT_MUST_USE;
/* Whether a job that is opened for this purpose must have the key. */
bool dt_job_needs(const char *key, dt_purpose purpose);
/* Return the tables of keys of the job's top level, of `reproducible` and of `output`. */
const dt_field *dt_job_fields(void);
const dt_field *dt_reproducible_fields(void);
const dt_field *dt_output_fields(void);

/* ---- config.c ---- */

/* Like dt_job_difference, for the text of a saved job and this one, except that a default counts as
 * the same whether it is written or left out. `job` is a dt_job. */
const char *dt_job_saved_difference(const void *job, dt_arena *arena, const char *saved);

/* ---- section_backend.c ---- */

const dt_field *dt_backend_fields(void);
/* Reads the section `backend`; the tree is NULL if the job has none. Returns all faults. */
dt_status *dt_job_read_backend(dt_job *j, const dt_tree *t) DT_MUST_USE;
/* Applies the options of the command line, which take precedence over the job. */
void dt_job_take_backend(dt_job *j, const dt_job_source *source);

/* ---- rows.c, source.c ---- */

/* Opens j->data, if that is not open yet, and tells j->model how the text is divided into
 * documents. Fails if `partition` does not fit the targets. */
dt_status *dt_job_open_data(dt_job *j) DT_MUST_USE;
/* Like dt_job_open_data, tells j->model how the text is divided into documents, but opens the data
 * set only if attention or positions of the model depend on it, and does not keep it open. */
dt_status *dt_job_find_documents(dt_job *j) DT_MUST_USE;
/* Makes steps of `map` use the values that they learned in the checkpoint's run, even if the files
 * of the training part have changed. */
dt_status *dt_job_take_learned(dt_job *j, const dt_saved *c) DT_MUST_USE;

/* Opens the examples to predict: a file, a folder or a pipe whose rows are stored in the form of
 * the job's data set. Facts that the checkpoint lacks (dt_job_take_learned) are taken from the
 * job's data. The caller unrefs them before the job. */
dt_status *dt_job_open_rows(dt_job *j, const dt_predict_request *q, dt_dataset **out) DT_MUST_USE;
/* Opens a file or folder of examples with targets, as a data set whose part *part is to be
 * evaluated. The caller unrefs it before the job. */
dt_status *dt_job_open_input(dt_job *j, const char *path, dt_part *part,
                             dt_dataset **out) DT_MUST_USE;
/* If the job's data set and the file are texts, opens the file as by dt_job_open_input: a text
 * whose continuation is to be predicted. Otherwise leaves *out unchanged. */
dt_status *dt_job_open_text(dt_job *j, const char *path, dt_part *part,
                            dt_dataset **out) DT_MUST_USE;

/* Whether a value was written in the job's file or in its base, not in an override (source.c). */
bool dt_job_is_of_files(const dt_job *j, const dt_source *source);

/* ---- session.c ---- */

/* Returns the path of output.dir, which the caller frees. */
char *dt_job_output(const dt_job *j);
/* Returns the settings of `init_from` with a complete path, in the job's arena. Its path is NULL if
 * weights are initialized randomly. */
dt_init_from dt_job_first_weights(const dt_job *j);
/* Checks that the weights of `init_from` exist and fit. Does nothing if the run will resume from a
 * checkpoint. */
dt_status *dt_job_check_first_weights(const dt_job *j) DT_MUST_USE;

/* ---- idle_keys.c ---- */

enum { DT_MOST_IDLE_KEYS = 64 };
/* Returns warnings about keys that have no effect on the job's model. They are allocated in
 * `arena`. */
dt_texts dt_job_idle_keys(const dt_job *j, dt_arena *arena);

/* ---- partition.c; its reading: job/partition.h ---- */

typedef struct dt_job_partition dt_job_partition;
/* Checks `partition` against the data, the model and the strategy. Returns all faults. */
dt_status *dt_job_check_partition(const dt_job *j) DT_MUST_USE;
/* Checks `partition` for elements whose sizes are known only once the data is open. Returns all
 * faults. */
dt_status *dt_job_check_targets(const dt_job *j) DT_MUST_USE;
/* Annotates the weights of the model and, from then on, all steps that are traced with it. Does
 * nothing if the job has no `partition`, or a replica has one logical device. */
dt_status *dt_job_annotate_model(dt_job *j, dt_model *m) DT_MUST_USE;

#endif
