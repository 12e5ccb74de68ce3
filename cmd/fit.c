/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain fit: trains a job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verb.h"
#include "env.h"
#include "folds.h"
#include "result_files.h"
#include "stop.h"
#include "print.h"
#include "watch.h"
#include "local_workers.h"

struct fit {
    struct common common;
    struct place place;
    struct compute compute;
    bool dry_run, fresh, json, every_step;
    const char *resume;
    int64_t steps, until_epoch;
    double time; /* seconds after which to stop; 0: no limit */
    int64_t workers, max_restarts, rank;
    struct words expect, inject;
    struct result_files files;
};

/* The state of one call of `fit`. One function releases all of it. */
struct training {
    const struct call *call;
    const struct fit *fit;
    dt_job_source source;
    struct expectations expectations;
    struct watch watch;
    dt_job *job;
    /* the overrides of a dry run, among them the one that selects the first fold; owned */
    const char **overrides;
};

static dt_resume resume_of(const struct fit *fit) {
    static const struct {
        const char *word;
        dt_resume resume;
    } rows[] = {{"auto", DT_RESUME_AUTO}, {"never", DT_RESUME_NEVER}, {"must", DT_RESUME_MUST}};
    if (fit->fresh) return DT_RESUME_NEVER;
    if (!fit->resume) return DT_RESUME_JOB;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(fit->resume, rows[i].word) == 0) return rows[i].resume;
    return DT_RESUME_PATH;
}

static dt_status *read_call(struct training *t) {
    const struct fit *fit = t->fit;
    dt_status *s = take_job(t->call, &fit->place, &t->source);
    if (s) return s;
    t->source.inspect = fit->dry_run;
    if (fit->fresh && fit->resume && strcmp(fit->resume, "never") != 0)
        return usage_error(t->call, "--fresh and --resume %s contradict each other",
                           cut_word(fit->resume).text);
    if (fit->resume && !*fit->resume)
        return usage_error(t->call, "--resume: expected auto, never, must or a path, got ''");
    return expect_parse(t->call, fit->expect, &t->expectations);
}

static dt_status *train(struct training *t) {
    const struct fit *fit = t->fit;
    dt_resume resume = resume_of(fit);
    dt_run_options options = {
        .threads = env_threads(t->call->out, fit->compute.threads),
        .kernels = (dt_kernels)fit->compute.kernels,
        .resume = resume,
        .resume_path = resume == DT_RESUME_PATH ? fit->resume : NULL,
        .max_steps = fit->steps,
        .max_epochs = fit->until_epoch,
        .max_seconds = fit->time,
        .dry_run = fit->dry_run,
        .every_step = fit->every_step,
        .event = watch_event,
        .user = &t->watch,
        .inject = fit->inject.at,
        .n_inject = fit->inject.n,
        .stop = stop_flag(),
        .save = stop_save_flag(),
        .program = t->call->argv,
    };
    return dt_job_fit(t->job, &options);
}

/* Whether the job's `resume` is `never` or a checkpoint's path, so that the same command would not
 * resume this run. */
static bool begins_elsewhere(const dt_job *job) {
    dt_resume resume = dt_job_resume(job);
    return resume == DT_RESUME_NEVER || resume == DT_RESUME_PATH;
}

/* Prints the command that resumes this run from its newest checkpoint. The run itself may have
 * started from another one. */
static void suggest_resume(const struct training *t) {
    dt_local_str command = {0};
    put_again(&command, t->call);
    if (begins_elsewhere(t->job)) dt_str_puts(&command, " --resume auto");
    out_note(t->call->out, "to resume, run: %s", dt_str_text(&command));
}

/* Ends a run that was stopped on request or because its time was up. Frees s, because such a stop
 * is not an error, and returns the exit code. */
static int stopped(struct training *t, dt_status *s) {
    dt_status_free(s);
    if (t->watch.silent)
        return *stop_flag() == 2 && !t->watch.saved_after_stop ? stop_exit_code() : EXIT_STOPPED;
    if (*stop_flag() == 2 && !t->watch.saved_after_stop) {
        out_note(t->call->out, "stopped at once; %s%s",
                 t->watch.checkpoint ? "the newest checkpoint is "
                                     : "nothing was saved in this run",
                 t->watch.checkpoint ? t->watch.checkpoint : "");
        return stop_exit_code();
    }
    if (!*stop_flag())
        out_note(t->call->out, "the time is up; saved after step %lld", (long long)t->watch.step);
    suggest_resume(t);
    return EXIT_STOPPED;
}

/* If fit kept the weights of an earlier epoch, replaces the training metrics in the watch by those
 * of that epoch. Later comparisons with this run, such as --expect 'loss <= RUN', read the same
 * values. Validation metrics need no change, since they were computed again. */
static dt_status *take_kept(struct watch *w) {
    dt_local_str run = {0};
    dt_status *s = NULL;
    double value;
    const char *end = w->checkpoint ? strstr(w->checkpoint, "/ckpt/") : NULL;
    for (const char *next = end; next; next = strstr(next + 1, "/ckpt/")) end = next;
    if (!end) return NULL;
    dt_str_add(&run, w->checkpoint, (size_t)(end - w->checkpoint));
    for (int i = 0; i < w->n_last && !s; i++) {
        if (strncmp(w->last[i].name, "val_", 4) == 0) continue;
        s = dt_run_metric(dt_str_text(&run), w->last[i].name, &value);
        if (!s && !isnan(value)) w->last[i].value = value;
    }
    return s;
}

static int finish(struct training *t, dt_status *s) {
    int code = dt_status_code(s);
    if (code == EXIT_STOPPED || (*stop_flag() && (code >= 128 || (code && *stop_flag() == 2))))
        return stopped(t, s);
    if (s) return watch_error(&t->watch, s);
    if (t->fit->dry_run) {
        if (!t->fit->json && !t->call->out->quiet && !t->watch.silent)
            out_field(t->call->out, "dry run", "the job is ready to train; nothing was written");
        return 0;
    }
    if (t->watch.silent) return 0;
    const bool asked = t->expectations.n > 0 || t->fit->files.metrics || t->fit->files.summary;
    if (asked) s = take_kept(&t->watch);
    if (s) return watch_error(&t->watch, s);
    code = expect_judge(&t->expectations, &t->watch);
    return result_files_write(&t->fit->files, &t->watch, &t->expectations, code);
}

/* Refuses options and inputs that need a single run, which a job with folds does not have. */
static dt_status *check_folds(const struct training *t) {
    const struct fit *fit = t->fit;
    const dt_resume resume = resume_of(fit);
    if (strcmp(t->source.path, "-") == 0)
        return usage_error(
            t->call, "each fold reads the job, which standard input cannot give: name a file");
    if (resume == DT_RESUME_PATH)
        return usage_error(t->call, "--resume: one checkpoint is not the beginning of %d folds",
                           dt_job_folds(t->job));
    if (fit->workers > 1 || fit->rank >= 0)
        return usage_error(t->call,
                           "the folds of a job train in one process each, without workers");
    if (fit->steps || fit->until_epoch || fit->inject.n)
        return usage_error(t->call, "%s is for one model; choose a fold: dataset.fold=1",
                           fit->inject.n ? "--inject"
                           : fit->steps  ? "--steps"
                                         : "--until-epoch");
    return NULL;
}

static int fit_folds(struct training *t) {
    const struct fit *fit = t->fit;
    dt_status *s = check_folds(t);
    if (s) return out_error(t->call->out, s);
    struct folds f = {.trials = {.call = t->call,
                                 .place = &fit->place,
                                 .compute = &fit->compute,
                                 .jobs = 1,
                                 .json = fit->json,
                                 .shows_faults = true,
                                 .trial = "fold",
                                 .resume = fit->fresh ? "never" : fit->resume,
                                 .source = t->source},
                      .job = t->job,
                      .path = t->source.path,
                      .fresh = resume_of(fit) == DT_RESUME_NEVER,
                      .seconds = fit->time,
                      .expect = &t->expectations,
                      .files = &fit->files};
    return folds_fit(&f);
}

/* Opens the job again with its first fold. A dry run shows that fold. */
static dt_status *open_first_fold(struct training *t) {
    const int n = t->source.n_overrides;
    t->overrides = dt_alloc(((size_t)n + 1) * sizeof *t->overrides);
    for (int i = 0; i < n; i++) t->overrides[i] = t->source.overrides[i];
    t->overrides[n] = "dataset.fold=1";
    t->source.overrides = t->overrides;
    t->source.n_overrides = n + 1;
    dt_job_unref(t->job);
    t->job = NULL;
    return dt_job_open(&t->job, &t->source);
}

/* Trains in this process, or in each of the workers if there are several. */
static int run_here(const struct call *call) {
    const struct fit *fit = call->settings;
    struct training t = {.call = call, .fit = fit};
    if (fit->json) stop_report_json();
    dt_status *s = read_call(&t);
    if (s) return out_error(call->out, s);
    workers_take_rank(&t.source, fit->rank);
    t.watch = (struct watch){.out = call->out,
                             .json = fit->json,
                             .every_step = fit->every_step,
                             .training = true,
                             .path = t.source.path};
    s = dt_job_open(&t.job, &t.source);
    t.watch.silent = dt_job_worker(t.job) > 0;
    if (!s) s = expect_check(&t.expectations, t.job, NULL);
    const int folds = s ? 0 : dt_job_folds(t.job);
    if (folds && !fit->dry_run) {
        const int code = fit_folds(&t);
        watch_release(&t.watch);
        dt_job_unref(t.job);
        return code;
    }
    if (folds) s = open_first_fold(&t);
    if (!s) s = train(&t);
    int code = finish(&t, s);
    watch_end(&t.watch, code);
    watch_release(&t.watch);
    dt_job_unref(t.job);
    free(t.overrides);
    return code;
}

static dt_status *check_workers(const struct call *call) {
    const struct fit *fit = call->settings;
    if (fit->max_restarts && fit->workers < 2)
        return usage_error(call, "--max-restarts needs --workers");
    return workers_check(call, fit->workers);
}

static int run(const struct call *call) {
    struct fit fit = *(const struct fit *)call->settings;
    struct call own = *call;
    bool again = false;
    int code = 0;
    dt_status *s = check_workers(call);
    if (s) return out_error(call->out, s);
    if (fit.workers > 1 &&
        !workers_start(call->out, (int)fit.workers, fit.max_restarts, &again, &code))
        return code;
    /* A retry always resumes from the newest checkpoint, even if the first attempt was started from
     * another checkpoint or from scratch. */
    if (again) {
        fit.fresh = false;
        fit.resume = "auto";
    }
    own.settings = &fit;
    return run_here(&own);
}

static const struct option options[] = {
    FLAG(struct fit, dry_run, "dry-run", "read, check and compile the job, write nothing",
         .letter = 'n', .once = true),
    PATH(struct fit, resume, "resume", "WHEN|PATH",
         "resume from a checkpoint: auto, never, must, or the path of a checkpoint or run; "
         "default: the job's checkpoint.resume",
         .once = true, .words = "auto never must"),
    FLAG(
        struct fit, fresh, "fresh",
        "same as --resume never: delete old checkpoints and history once a new checkpoint is saved",
        .once = true),
    INTEGER(struct fit, steps, "steps", "N", "save and stop when N steps are done in total",
            .min = 1),
    INTEGER(struct fit, until_epoch, "until-epoch", "N",
            "save and stop when N epochs are done in total", .min = 1),
    SECONDS(struct fit, time, "time", "TIME",
            "save and exit with 75 after this time (90s, 55m, 1h30m), at the end of a step"),
    LIST(struct fit, expect, "expect", "EXPR",
         "exit with 80 unless NAME OP NUMBER holds at the end; OP is >=, <=, >, <, ==; NUMBER may "
         "be "
         "that of a run or of a file that --metrics wrote: 'val_loss <= runs/main + 0.01'",
         .words = EXPECT_WORDS),
    RESULT_FILE_OPTIONS(struct fit),
    WORKERS_OPTION(struct fit, "train"),
    RANK_OPTION(struct fit),
    INTEGER(struct fit, max_restarts, "max-restarts", "K",
            "with --workers: start all again, at most K times, after one was lost"),
    LIST(struct fit, inject, "inject", "FAULT",
         "rehearse a fault: kill:core=5@step=120, slow-link:x=1,y=2@step=50*4, nan@step=7, "
         "flip:worker=1@step=7 or hbm=8GiB",
         .once = true, .words = "kill:core= slow-link:x= nan@step= hbm="),
    FLAG(struct fit, json, "json", "print one JSON object per event"),
    FLAG(struct fit, every_step, "every-step",
         "with --json: print every step, not about two per second"),
    COMPUTE_OPTIONS(struct fit),
    BACKEND_OPTIONS(struct fit),
    PLACE_OPTIONS(struct fit),
    OPTIONS_END};
const struct verb verb_fit = {
    .name = "fit",
    .group = "Train",
    .line = "train a job, evaluate it, save checkpoints",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain fit job.yaml                                     train; run it again to resume\n"
        "  dtrain fit job.yaml fit.epochs=1 output.dir=runs/try    override keys of the file\n"
        "  dtrain fit job.yaml --expect 'val_accuracy>=0.94'       quality gate for CI: exit 80 if "
        "not met\n"
        "  dtrain fit job.yaml --time 55m                          save and exit with 75 after 55 "
        "minutes; run it again to resume\n"
        "  dtrain fit job.yaml -n                                  check and compile, but do not "
        "train\n"
        "  dtrain fit job.yaml --workers 4 --max-restarts 3        four processes; if one is lost, "
        "all start again from the newest checkpoint\n"
        "  dtrain fit job.yaml --inject kill:core=5@step=120       rehearse the failure of a core\n"
        "  dtrain fit - --json < job.yaml > run.jsonl              for programs\n",
    .more = "JOB is a file, or - for standard input. Everything is written below output.dir. "
            "SIGINT, SIGTERM and SIGHUP finish the step,\n"
            "save and exit with 75; run it again to resume. SIGUSR1 saves and continues. SIGALRM "
            "is handled like SIGTERM.\n"
            "If standard output is closed, training continues without it.\n\n"
            "Each JSON line has an \"event\": start, step, epoch, eval, callback, checkpoint, "
            "warning, workers,\n"
            "fault, data, report, error, end. `step` events carry the loss of the batch and the "
            "running metrics\n"
            "of the epoch. `eval` precedes its `epoch`. `end` is always last.\n\n"
            "A job with dataset.validation_folds trains a model for each fold, as 'dtrain fit JOB "
            "dataset.fold=K\n"
            "output.dir=DIR/fold-K' would, and reports mean and deviation of each metric, which "
            "--expect and the result\n"
            "files look at. folds.json in output.dir has them, too. Run it again to resume.\n\n"
            "Exit codes: 0 success; 64 invalid command line; 65 data or checkpoint malformed, "
            "corrupt or from another job; 66 input missing; 69 device not\n"
            "available; 70 a fault of dtrain itself; 71 out of memory; 73 output cannot be "
            "created, or another job\n"
            "uses it; 74 read or write failed; 75 stopped, state saved; 76 workers disagree; 77 "
            "permission\n"
            "denied; 78 job invalid, or does not fit; 79 diverged; 80 --expect not met; 130 and "
            "143 ended by a\n"
            "second signal.\n",
    .options = options,
    .runs_jobs = true,
    .trains = true,
    .size = sizeof(struct fit),
    .run = run,
};
