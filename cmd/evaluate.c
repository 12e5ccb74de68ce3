/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain evaluate: computes the loss and the metrics of a checkpoint. */
#include "env.h"
#include "result_files.h"
#include "verb.h"
#include "watch.h"
#include "local_workers.h"

struct evaluate {
    struct common common;
    struct place place;
    struct compute compute;
    const char *checkpoint, *input;
    int64_t steps; /* number of batches to evaluate; 0: all */
    int64_t workers, rank;
    int split, threshold_for;
    struct words expect;
    struct result_files files;
    bool json;
};

/* The names of scores in the order of dt_threshold_score, followed by the name that the tables of
 * `evaluate` print for the F1 score. */
enum { F1_SCORE = DT_THRESHOLD_RECALL + 1 };
static const char *const scores[] = {"f1",        "accuracy", "balanced_accuracy",     "mcc",
                                     "precision", "recall",   [F1_SCORE] = "f1_score", NULL};
static const char *const splits[] = {"validation", "test", "train", NULL};

static dt_status *evaluate(const struct call *call, dt_job *job, struct watch *watch) {
    const struct evaluate *my = call->settings;
    dt_run_options options = {
        .threads = env_threads(call->out, my->compute.threads),
        .kernels = (dt_kernels)my->compute.kernels,
        .max_steps = my->steps,
        .input = my->input,
        .threshold_for =
            my->threshold_for == F1_SCORE ? DT_THRESHOLD_F1 : (dt_threshold_score)my->threshold_for,
        .event = watch_event,
        .user = watch,
    };
    return dt_job_evaluate(job, my->checkpoint, splits[my->split < 0 ? 0 : my->split], &options);
}

static const char *part_of(const struct evaluate *my) {
    return my->input ? "input" : splits[my->split < 0 ? 0 : my->split];
}

static int run_here(const struct call *call) {
    const struct evaluate *my = call->settings;
    struct expectations expectations;
    dt_job_source source;
    dt_job *job = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    if (!s) s = expect_parse(call, my->expect, &expectations);
    if (!s && my->input && my->split >= 0)
        s = usage_error(call, "--split names a part of the job's data, which --input replaces; "
                              "leave one of them out");
    if (s) return out_error(call->out, s);
    struct watch watch = {.out = call->out, .json = my->json, .path = source.path};
    source.purpose = DT_FOR_EVALUATE;
    workers_take_rank(&source, my->rank);
    s = dt_job_open(&job, &source);
    watch.silent = dt_job_worker(job) > 0;
    if (!s) s = expect_check(&expectations, job, part_of(my));
    if (!s) s = evaluate(call, job, &watch);
    int code = s ? watch_error(&watch, s) : watch.silent ? 0 : expect_judge(&expectations, &watch);
    code = result_files_write(&my->files, &watch, &expectations, code);
    watch_end(&watch, code);
    watch_release(&watch);
    dt_job_unref(job);
    return code;
}

static int run(const struct call *call) {
    const struct evaluate *my = call->settings;
    int code = 0;
    return workers_begin(call, my->workers, &code) ? run_here(call) : code;
}

static const struct option options[] = {
    PATH(struct evaluate, checkpoint, "ckpt", "PATH",
         "the checkpoint; default: the newest in output.dir"),
    PATH(struct evaluate, input, "input", "FILE",
         "evaluate these examples instead of a split: a file with inputs and targets (NPZ, CSV, "
         "JSON lines, TFRecord), or a text or a folder of classes where the job's data are such"),
    CHOICE(struct evaluate, split, "split", "PART", splits, "the split to evaluate", .min = -1),
    CHOICE(struct evaluate, threshold_for, "threshold-for", "METRIC", scores,
           "of two classes: find the threshold at which this score is largest"),
    INTEGER(struct evaluate, steps, "steps", "N", "evaluate only the first N batches", .min = 1),
    LIST(
        struct evaluate, expect, "expect", "EXPR",
        "exit with 80 unless NAME OP NUMBER holds; OP is >=, <=, >, <, ==; NUMBER may be that of a "
        "run or of a file that --metrics wrote: 'accuracy >= runs/main - 0.005'",
        .words = EXPECT_WORDS),
    RESULT_FILE_OPTIONS(struct evaluate),
    WORKERS_OPTION(struct evaluate, "evaluate"),
    RANK_OPTION(struct evaluate),
    FLAG(struct evaluate, json, "json", "print JSON lines"),
    COMPUTE_OPTIONS(struct evaluate),
    BACKEND_OPTIONS(struct evaluate),
    PLACE_OPTIONS(struct evaluate),
    OPTIONS_END};
const struct verb verb_evaluate = {
    .name = "evaluate",
    .group = "Train",
    .line = "compute the metrics of a checkpoint",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain evaluate job.yaml                                        the newest checkpoint "
        "on the validation data\n"
        "  dtrain evaluate job.yaml --ckpt runs/a/ckpt/step-00000295       this checkpoint\n"
        "  dtrain evaluate job.yaml --split test --expect 'accuracy>=0.94'\n"
        "  dtrain evaluate job.yaml --expect 'accuracy >= runs/main - 0.005'  no worse than a run\n"
        "  dtrain evaluate job.yaml --input new.csv                        rows with targets from "
        "a "
        "file, in any format\n"
        "  dtrain evaluate job.yaml --steps 10                             the first ten batches\n"
        "  dtrain evaluate job.yaml --workers 4                             on four processes, "
        "with the same digits\n",
    .options = options,
    .runs_jobs = true,
    .size = sizeof(struct evaluate),
    .run = run,
};
