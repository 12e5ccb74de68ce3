/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a job. The table below is the top level; each section is read by the part of lib/
 * that it configures. Every section is read even if another one is faulty, so that all faults of a
 * file are reported in one run. A key of the top level that is usual elsewhere, such as `epochs`,
 * is refused with what to write instead.
 */
#include <string.h>

#include "job/partition.h"

struct top {
    int64_t version, seed;
    const char *name, *extends;
    const dt_tree *let, *backend, *strategy, *partition, *reproducible, *dataset, *model, *compile,
        *fit, *checkpoint, *output;
};

#define SECTION(member, means_, help_)                                                             \
    DT_TREE(struct top, member, .as = DT_TREE_MAP, .means = means_, .help = help_)

static const dt_field top_fields[] = {
    DT_INT(struct top, version, .min = 1, .max = INFINITY, .required = true,
           .help = "version of the job format: 1"),
    DT_ONE_OF(name,
              DT_FORMS(DT_TEXT(struct top, name, .pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$")),
              .help = "name of the run: letters, digits, '.', '_', '-'; default: the file's name"),
    DT_INT(struct top, seed, .max = INFINITY,
           .help = "seed of initial weights, shuffling and generated data"),
    DT_TREE(struct top, let, .as = DT_TREE_MAP, .forms = DT_FORMS(DT_MAP_OF(DT_ANY)),
            .help = "variables: {width: 32} replaces '{width}' in all texts of the job"),
    DT_ONE_OF(extends, DT_FORMS(DT_PLAIN(TEXT, struct top, extends)),
              .help = "base job file; this file overrides its keys"),
    SECTION(backend, "type",
            "what computes: {type: cpu}, {type: pjrt, plugin: PATH}; default: the strategy's own"),
    SECTION(
        strategy, "type",
        "number of replicas and their devices; default: {type: default}, one replica on all cores"),
    SECTION(partition, NULL, "how values are split over the logical devices of a replica"),
    SECTION(reproducible, "strict",
            "{shards: 8}: identical results on any number of machines; {strict: "
            "false}: libraries compute where they are installed"),
    SECTION(dataset, "train", "files, preprocessing, batches"),
    SECTION(model, NULL, "layers"),
    SECTION(compile, "optimizer", "optimizer, loss, metrics"),
    SECTION(fit, "epochs", "how long to train"),
    SECTION(checkpoint, "resume", "how often to save, how many to keep, whether to resume"),
    SECTION(output, "dir", "where and what to write"),
    DT_INSTEAD("data", "write 'dataset'"),
    DT_INSTEAD("train", "write 'fit', and data files in 'dataset'"),
    DT_INSTEAD("layers", "write model.layers"),
    DT_INSTEAD("optimizer", "write compile.optimizer"),
    DT_INSTEAD("loss", "write compile.loss"),
    DT_INSTEAD("metrics", "write compile.metrics"),
    DT_INSTEAD("epochs", "write fit.epochs"),
    DT_INSTEAD("batch_size", "write dataset.global_batch_size"),
    DT_END};
enum { TOP_FIELDS = sizeof top_fields / sizeof *top_fields };

/* ---- keys at the top of the job ---- */

bool dt_job_needs(const char *key, dt_purpose purpose) {
    static const struct {
        const char *key;
        dt_purpose last; /* the last purpose, in the order of dt_purpose, that needs the key */
    } rows[] = {
        {"dataset", DT_FOR_TOPOLOGY},
        {"model", DT_FOR_TOPOLOGY},
        {"compile", DT_FOR_EVALUATE},
        {"fit", DT_FOR_FIT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].key, key) == 0) return purpose <= rows[i].last;
    return false;
}

static dt_status *read_top(dt_job *j, struct top *x) {
    dt_field fields[TOP_FIELDS];
    memcpy(fields, top_fields, sizeof fields);
    for (dt_field *f = fields; f->kind != DT_FIELD_END; f++)
        f->required |= dt_job_needs(f->name, j->purpose);
    dt_status *faults = dt_fields_read(j->arena, fields, j->tree, &j->at, NULL, x);
    if (x->version > 1)
        dt_status_append(
            &faults, dt_fail(DT_E_RANGE, dt_tree_value_at(j->tree, "version"),
                             "version %lld of job files is not known; this dtrain reads version 1",
                             (long long)x->version));
    j->seed = (uint64_t)x->seed;
    return faults;
}

/* ---- reproducible ---- */

static const dt_field reproducible_fields[] = {
    DT_KEY(INT, "shards", dt_job, how.shards, .min = 1, .max = DT_MAX_REPLICAS,
           .help = "parts of a global batch, summed in one fixed order"),
    DT_FLAG(dt_job, strict, DT_SET(dt_job, chooses_strict),
            .help =
                "true: dtrain's own kernels, with the same bits on every processor; false: oneDNN "
                "where it is installed; default: true, but false without FMA and with --kernels; "
                "with mixed_bfloat16 what is fastest: oneDNN with AMX, else own kernels"),
    DT_END};

static dt_status *read_reproducible(dt_job *j, const dt_tree *t) {
    return t ? dt_fields_read(j->arena, reproducible_fields, t, &t->at, "reproducible", j) : NULL;
}

/* ---- model ---- */

static dt_status *read_model(dt_job *j, const dt_tree *t) {
    dt_status *s = t ? dt_model_read(j->arena, t, &j->at, &j->model) : NULL;
    j->has_model = t && !s;
    return s;
}

/* ---- output ---- */

struct output {
    const char *dir;
    bool tensorboard, traces;
    dt_ints steps;
    int report;
    dt_location dir_at, tensorboard_at, steps_at;
};
static const dt_field trace_fields[] = {DT_INTS(struct output, steps, .min = 1, .max = INFINITY,
                                                .required = true, DT_AT(struct output, steps_at),
                                                .help = "[first, last], counted from 1"),
                                        DT_END};

static const char *const none_words[] = {"none", NULL};
static const char *const reports[] = {"none", "html", NULL};
static const dt_field output_fields[] = {
    DT_TEXT(struct output, dir, .min = 1, .max = 4000, DT_AT(struct output, dir_at),
            .help = "directory of the run: checkpoints, history, report"),
    DT_FLAG(struct output, tensorboard, DT_AT(struct output, tensorboard_at),
            .help = "write event files for TensorBoard"),
    DT_ONE_OF(trace,
              DT_FORMS(DT_WORDS(none_words),
                       DT_FORM(DT_FIELD_TABLE, .table = trace_fields, .noun = "output.trace",
                               DT_SET(struct output, traces))),
              .help = "none, or {steps: [first, last]}: record these steps in trace.json.gz"),
    DT_ENUM(struct output, report, reports,
            .help = "none, or html: write report.html when the run ends"),
    DT_END};

/* Checks the lengths of the directory's names now, rather than when the first checkpoint is saved,
 * which may be an hour later. */
static dt_status *check_dir(const char *dir, const dt_location *at) {
    for (const char *part = dir; part && *part;) {
        size_t n = strcspn(part, "/");
        if (n > 255) return dt_fail(DT_E_RANGE, at, "output.dir: file name too long, %zu bytes", n);
        part += n + (part[n] == '/');
    }
    return NULL;
}

static dt_status *check_steps(const struct output *x) {
    if (!x->traces || (x->steps.n == 2 && x->steps.v[0] <= x->steps.v[1])) return NULL;
    return dt_suggest(
        dt_fail(DT_E_RANGE, &x->steps_at,
                "steps must be the first and the last step, at least 1, in this order"),
        "steps: [10, 12]");
}

static dt_status *read_output(dt_job *j, const dt_tree *t) {
    struct output x;
    if (!t) return NULL;
    dt_status *faults = dt_fields_read(j->arena, output_fields, t, &t->at, "output", &x);
    if (!faults) faults = check_steps(&x);
    if (x.traces && !faults) j->trace = (dt_steps_recorded){x.steps.v[0], x.steps.v[1]};
    if (x.dir) dt_status_append(&faults, check_dir(x.dir, &x.dir_at));
    if (x.tensorboard && j->has_fit)
        dt_status_append(
            &faults, dt_callbacks_add_tensorboard(j->arena, &x.tensorboard_at, &j->fit.callbacks));
    j->report = x.report > 0;
    return faults;
}

/* ---- the other sections ---- */

static dt_status *read_strategy(dt_job *j, const dt_tree *t) {
    j->strategy = (dt_strategy_spec){.backend = j->backend,
                                     .plugin = j->plugin,
                                     .settings = j->settings,
                                     .sealed = j->sealed,
                                     .rank = j->rank};
    dt_status *s = t ? dt_strategy_read(j->arena, t, &j->at, &j->strategy) : NULL;
    j->has_strategy = t && !s;
    return s;
}

static dt_status *read_partition(dt_job *j, const dt_tree *t) {
    return t ? dt_job_partition_read(j, t, dt_tree_key_at(j->tree, "partition")) : NULL;
}

static dt_status *read_dataset(dt_job *j, const dt_tree *t) {
    dt_status *s = t ? dt_dataset_read(j->arena, t, j->data_directory, j->seed, &j->dataset) : NULL;
    j->has_dataset = t && !s;
    return s;
}

static dt_status *read_compile(dt_job *j, const dt_tree *t) {
    dt_status *s =
        t ? dt_compile_read(j->arena, t, &j->at, j->has_model ? &j->model : NULL, &j->compile)
          : NULL;
    j->has_compile = t && !s;
    return s;
}

static dt_status *read_fit(dt_job *j, const dt_tree *t) {
    dt_status *s = t ? dt_fit_read(j->arena, t, &j->at, &j->fit) : NULL;
    j->has_fit = t && !s;
    return s;
}

static dt_status *read_checkpoint(dt_job *j, const dt_tree *t) {
    return dt_checkpoint_spec_read(j->arena, t, &j->at, &j->checkpoint);
}

void dt_job_read_sections(dt_job *j, const dt_job_source *source, dt_status **faults,
                          dt_status **missing) {
    struct top x = {0};
    dt_status_append(faults, read_top(j, &x));
    dt_status_append(faults, dt_job_read_backend(j, x.backend));
    dt_job_take_backend(j, source);
    dt_status *s = read_strategy(j, x.strategy);
    dt_status_append(dt_status_code(s) == 69 ? missing : faults, s);
    dt_status_append(faults, read_partition(j, x.partition));
    dt_status_append(faults, read_reproducible(j, x.reproducible));
    dt_status_append(faults, read_dataset(j, x.dataset));
    dt_status_append(faults, read_model(j, x.model));
    dt_status_append(faults, read_compile(j, x.compile));
    dt_status_append(faults, read_fit(j, x.fit));
    dt_status_append(faults, read_checkpoint(j, x.checkpoint));
    dt_status_append(faults, read_output(j, x.output));
}

void dt_job_read_trained(dt_job *j) {
    struct top x = {0};
    dt_status_free(read_top(j, &x));
    dt_status_free(read_reproducible(j, x.reproducible));
    dt_status_free(read_dataset(j, x.dataset));
    dt_status_free(read_model(j, x.model));
    dt_status_free(read_compile(j, x.compile));
}

/* ---- the tables, for lists of all keys ---- */

const dt_field *dt_job_fields(void) { return top_fields; }

const dt_field *dt_reproducible_fields(void) { return reproducible_fields; }

const dt_field *dt_output_fields(void) { return output_fields; }
