/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: one file that defines the model, the data and the training.
 *
 *     source.c      file or standard input, with its base and overrides, -> tree
 *     model.c       a model that Keras wrote, in the place of its file's name
 *     substitute.c  {name}, {run_dir}, ${VARIABLE:-default}, words of `let`
 *     sections.c    the tree's sections, each read by the room that knows it; keys.c: a list
 *                   of all their keys
 *     partition.c   `partition`: names, shapes, and notes in the graph of a step
 *     idle_keys.c   warnings about keys that change nothing
 *     data.c        the data set, opened and held against the model
 *     begin.c       the weights that training begins with
 *     run.c         fit, evaluate, predict, lower; team.c: on several workers; export.c: the model
 *                   as a file for others
 *     topology.c    a slice with the job's replicas; devices.c: what this machine has
 *
 * Opening a job finds all faults of its file in one run and opens no data; what the file names is
 * looked for only when the file itself is right. This header is for the files of this room; the
 * public face is dtrain.h.
 */
#ifndef DT_JOB_JOB_H
#define DT_JOB_JOB_H

#include "base/hash.h"
#include "train/train.h"

struct dt_job { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_purpose purpose;
    dt_rank_option rank; /* rank of this process, as the caller gave it */
    bool sealed;         /* no plug-in may be opened, because the job is only inspected */
    dt_tree *tree;       /* the resolved tree: base, overrides and substitutions are applied */
    dt_location at;      /* location of the whole job */
    const dt_source
        *input; /* the text of a job that was read from standard input; NULL: the job is a file */
    const dt_source *base; /* the file that it extends; NULL: none */
    bool overridden;       /* there are overrides on the command line */
    /* error: the file of its model is missing, but the run's checkpoint may have the model; else
     * NULL */
    dt_status *no_model;
    const char *data_directory; /* directory for relative paths of data files: the job file's */
    const char *work_directory; /* directory for relative output paths: -C, or "" */
    const char *name;
    const char *run_dir; /* output.dir as written in the job */
    int n_variables;
    /* variables of the environment in paths: the text as written, and the value, which must not be
     * recorded */
    dt_pair *variable;
    const char *json; /* the tree as canonical JSON */
    dt_digest sha256; /* SHA-256 of `json` */

    uint64_t seed;
    dt_compute_spec how;         /* the settings of `reproducible` and `partition` for steps */
    bool strict, chooses_strict; /* `reproducible.strict`; whether the job has the key */
    struct dt_job_partition *partition; /* NULL: none */
    /* steps are annotated for this strategy's logical devices while they are traced; lent */
    dt_strategy *annotates;
    const char *backend;              /* "cpu", as given; NULL: the strategy's default */
    const char *plugin;               /* path of back end pjrt's plug-in; NULL: the environment's */
    const dt_pjrt_settings *settings; /* settings of the plug-in; NULL: none */
    dt_location backend_at;
    dt_strategy_spec strategy;
    dt_cluster *cluster; /* set while a job of several workers trains; NULL: there is one process */
    dt_dataset_spec dataset;
    dt_texts elements; /* names of the data set's elements */
    dt_model_spec model;
    dt_compile_spec compile;
    dt_fit_spec fit;
    dt_checkpoint_spec checkpoint;
    dt_steps_recorded trace; /* the setting output.trace */
    bool report;             /* `output.report: html` */
    int64_t replicas;        /* 0: the strategy is faulty */
    /* replicas is 1, because only the plug-in, which is not opened, knows their number */
    bool uncounted;
    int64_t workers; /* hosts that feed the replicas; 0: the strategy is faulty */
    bool has_strategy, has_dataset, has_model, has_compile, has_fit; /* read without faults */

    int n_metrics;
    const char **metric; /* names of the values that fit reports, in order */
    dt_dataset *data;    /* set once it is opened */
};

/* ---- source.c ---- */

/* Reads j->tree from file, base and overrides, and sets the directories. Returns all faults; after
 * a syntax error the tree is NULL. */
dt_status *dt_job_read_tree(dt_job *j, const dt_job_source *source) DT_MUST_USE;
/* Removes the top-level keys that begin with `x-`, which hold definitions; their aliases were
 * replaced while reading. */
void dt_job_drop_definitions(dt_tree *root);
/* Makes the paths to data files of an extended base relative to the job's own file. */
void dt_job_move_paths(dt_job *j);
/* Prepends `prefix` to relative paths of data files, for a copy of the job in another folder. */
void dt_job_prefix_paths(dt_job *j, const char *prefix);

/* ---- model.c ---- */

/* Replaces model.keras_config by the contents of its file; sets j->no_model if a missing file may
 * be reported later. */
dt_status *dt_job_import_model(dt_job *j) DT_MUST_USE;
/* Takes the model from the run's checkpoint if its file is missing. Called once output.dir is
 * known. */
dt_status *dt_job_recall_model(dt_job *j) DT_MUST_USE;

/* ---- substitute.c ---- */

/* Finds j->name and j->run_dir, then replaces substitutions in all texts of the tree. Returns all
 * faults. `path` is the job file's. */
dt_status *dt_job_substitute(dt_job *j, const char *path) DT_MUST_USE;

/* ---- sections.c ---- */

/* Reads all sections. Faults of the job (78) are appended to *faults; missing devices (69), which
 * are reported after them, to *missing. */
void dt_job_read_sections(dt_job *j, const dt_job_source *source, dt_status **faults,
                          dt_status **missing);
/* Returns an error if the job has several folds and none is chosen, since it then has a model
 * for each. */
dt_status *dt_job_check_fold(const dt_job *j) DT_MUST_USE;
/* Whether a job for this purpose has the key. */
bool dt_job_needs(const char *key, dt_purpose purpose);
/* The tables of the top level and of sections that this room reads. */
const dt_field *dt_job_fields(void);
const dt_field *dt_reproducible_fields(void);
const dt_field *dt_output_fields(void);

/* ---- section_backend.c ---- */

const dt_field *dt_backend_fields(void);
/* Reads the section `backend`; the tree is NULL if the job has none. Returns all faults. */
dt_status *dt_job_read_backend(dt_job *j, const dt_tree *t) DT_MUST_USE;
/* Applies the options of the command line, which take precedence over the job. */
void dt_job_take_backend(dt_job *j, const dt_job_source *source);

/* ---- data.c ---- */

/* Opens j->data on the first call. */
dt_status *dt_job_open_data(dt_job *j) DT_MUST_USE;
/* Sets the model's documents from the training data, if the job separates documents and its data is
 * not open yet. */
dt_status *dt_job_find_documents(dt_job *j) DT_MUST_USE;
/* Makes steps of `map` use the values that they learned in the checkpoint's run, even if the files
 * of the training part have changed. */
dt_status *dt_job_take_learned(dt_job *j, const dt_saved *c) DT_MUST_USE;

/* ---- rows.c ---- */

/* Opens examples of a file, a folder or a pipe, stored as in the job's data set, for its model.
 * Facts that the checkpoint lacks (dt_job_take_learned) are taken from the job's data. The caller
 * unrefs them before the job. */
dt_status *dt_job_open_rows(dt_job *j, const dt_predict_request *q, dt_dataset **out) DT_MUST_USE;
/* Opens such examples with targets, as a data set of which *part is to be evaluated. The caller
 * unrefs it before the job. */
dt_status *dt_job_open_input(dt_job *j, const char *path, dt_part *part,
                             dt_dataset **out) DT_MUST_USE;
/* Opens a text to predict, if the job's data are texts; *out is unchanged if the file has other
 * rows. */
dt_status *dt_job_open_text(dt_job *j, const char *path, dt_part *part,
                            dt_dataset **out) DT_MUST_USE;

/* Whether a source is the job's file or its base, not an override. source.c */
bool dt_job_is_of_files(const dt_job *j, const dt_source *source);

/* ---- begin.c ---- */

/* output.dir; the caller frees it. */
char *dt_job_output(const dt_job *j);
/* `init_from` with a complete path, in the job's arena; path NULL: weights are initialized
 * randomly. */
dt_init_from dt_job_first_weights(const dt_job *j);
/* Checks that the weights of `init_from` exist and fit, unless the run resumes from its own
 * checkpoint. */
dt_status *dt_job_check_first_weights(const dt_job *j) DT_MUST_USE;

/* ---- idle_keys.c ---- */

enum { DT_MOST_IDLE_KEYS = 64 };
/* Warnings about keys that change nothing in the job's model, in `arena`. */
dt_texts dt_job_idle_keys(const dt_job *j, dt_arena *arena);

/* ---- partition.c; its reading: job/partition.h ---- */

typedef struct dt_job_partition dt_job_partition;
/* Checks `partition` against the data, the model and the strategy. Returns all faults. */
dt_status *dt_job_check_partition(const dt_job *j) DT_MUST_USE;
/* Checks `partition` for elements whose sizes are known only once the data is open. Returns all
 * faults. */
dt_status *dt_job_check_targets(const dt_job *j) DT_MUST_USE;
/* Annotates steps that are traced with the model from now on, and its weights. */
dt_status *dt_job_annotate_model(dt_job *j, dt_model *m) DT_MUST_USE;

#endif
