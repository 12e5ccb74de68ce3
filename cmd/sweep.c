/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain sweep: trains a job with several settings (trials.h). */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "stop.h"
#include "trials.h"

struct sweep {
    struct common common;
    struct place place;
    struct compute compute;
    int64_t trials, jobs, halving;
    uint64_t seed;
    int method, mode;
    const char *metric;
    bool halve, dry_run, json;
};

static dt_status *print_board(const struct trials *w) {
    char *text = NULL, *job = NULL, *report = NULL;
    struct out *out = w->call->out;
    dt_status *s = dt_sweep_text(w->sweep, w->json, &text);
    if (!s) out_text(out, text);
    if (!s) s = dt_sweep_write(w->sweep, &job, &report);
    if (!s && job && !w->json) {
        out_field(out, "best", "trial %d: %s", dt_sweep_count(w->sweep).best, job);
        out_field(out, "report", "%s", report);
    }
    free(text);
    free(job);
    free(report);
    return s;
}

/* Returns the exit code of a sweep: 0 in a dry run, or if all trials have ended and one of them is
 * the best; else that of files that cannot be written, of a stop, of the first failed trial or, if
 * none failed, that no trial has a value of the metric. Prints the reason. */
static int judge(const struct trials *w) {
    const dt_sweep_counts c = dt_sweep_count(w->sweep);
    struct out *out = w->call->out;
    const struct sweep *my = w->call->settings;
    if (my->dry_run) return 0;
    if (c.halted_code) {
        out_note(out, "no more trials are started, because files cannot be written (exit code %d)",
                 c.halted_code);
        trials_suggest_resume(w);
        return c.halted_code;
    }
    if (c.interrupted || c.waiting) {
        out_note(out, "%d of %d trials are not finished", c.interrupted + c.waiting, c.trials);
        trials_suggest_resume(w);
        return *stop_flag() == 2 ? stop_exit_code() : EXIT_STOPPED;
    }
    if (c.best) return 0;
    if (c.failed == 0)
        return out_error(out, dt_status_create(ERROR_EXPECT_METRIC,
                                               "no trial has a value of the metric; see --metric"));
    out_note(out, "all trials failed; the exit code is that of the first");
    return c.failed_code;
}

static int finish(struct trials *w, dt_status *s) {
    int code = out_error(w->call->out, s);
    dt_str line = {0};
    if (w->sweep) {
        int its = out_error(w->call->out, print_board(w));
        code = code ? code : its;
        its = judge(w);
        code = code ? code : its;
    }
    if (w->json) {
        dt_str_printf(&line, "{\"v\":1,\"event\":\"end\",\"exit\":%d}", code);
        out_line(w->call->out, "%s", dt_str_text(&line));
        dt_str_release(&line);
    }
    dt_sweep_unref(w->sweep);
    return code;
}

static dt_status *read_call(struct trials *w) {
    dt_status *s = take_job(w->call, w->place, &w->source);
    if (s) return s;
    if (strcmp(w->source.path, "-") == 0)
        return usage_error(
            w->call, "each trial reads the job, which standard input cannot give: name a file");
    return NULL;
}

static int run(const struct call *call) {
    const struct sweep *my = call->settings;
    struct trials w = {.call = call,
                       .place = &my->place,
                       .compute = &my->compute,
                       .jobs = my->jobs,
                       .json = my->json,
                       .trial = "trial"};
    if (my->json) stop_report_json();
    dt_status *s = read_call(&w);
    if (s) return out_error(call->out, s);
    s = dt_sweep_open(&w.sweep, &(dt_sweep_options){.source = &w.source,
                                                    .method = (dt_sweep_method)my->method,
                                                    .trials = my->trials,
                                                    .seed = my->seed,
                                                    .halving = my->halve ? my->halving : 0,
                                                    .metric = my->metric,
                                                    .mode = (dt_sweep_mode)my->mode,
                                                    .dry_run = my->dry_run});
    if (!s && !my->json && !call->out->quiet) {
        out_field(call->out, "sweep", "%s", dt_sweep_title(w.sweep));
        out_field(call->out, "folder", "%s", dt_sweep_directory(w.sweep));
    }
    if (!s && !my->dry_run) s = trials_train(&w);
    return finish(&w, s);
}

static const char *const methods[] = {"auto", "grid", "random", NULL}, *const modes[] = {
                                                                           "auto", "min", "max",
                                                                           NULL};
static const struct option options[] = {
    INTEGER(struct sweep, trials, "trials", "N",
            "number of trials; default: all combinations of the lists", .min = 1, .max = 10000),
    INTEGER(struct sweep, jobs, "jobs", "N", "trials to train at a time; they share the cores",
            .letter = 'j', .min = 1, .max = MOST_JOBS, .fallback = 1),
    CHOICE(struct sweep, method, "method", "HOW", methods,
           "grid: all combinations; random; auto: random if there is a range, or fewer trials than "
           "combinations"),
    UNSIGNED(struct sweep, seed, "seed", "N", "seed of random trials; not that of the job"),
    TEXT(struct sweep, metric, "metric", "NAME",
         "metric that decides; default: val_loss, without validation data loss",
         .words = "val_loss val_accuracy loss accuracy"),
    CHOICE(struct sweep, mode, "mode", "MODE", modes,
           "whether a smaller or a larger value is better; auto: depends on the metric"),
    FLAG(struct sweep, halve, "halving",
         "successive halving: short trainings first, and only the best trials resume"),
    INTEGER(struct sweep, halving, "factor", "N",
            "with --halving: one trial of N resumes, for N times as long", .min = 2, .max = 100,
            .fallback = 3),
    FLAG(struct sweep, dry_run, "dry-run", "list the trials, train and write nothing",
         .letter = 'n', .once = true),
    FLAG(struct sweep, json, "json", "print one JSON object per event"),
    COMPUTE_OPTIONS(struct sweep),
    BACKEND_OPTIONS(struct sweep),
    PLACE_OPTIONS(struct sweep),
    OPTIONS_END};
const struct verb verb_sweep = {
    .name = "sweep",
    .group = "Train",
    .line = "train a job with several settings and find the best",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain sweep job.yaml let.width=32,64,128                       a grid: one trial a "
        "value\n"
        "  dtrain sweep job.yaml compile.optimizer.Adam.learning_rate=log:1e-4..1e-1 "
        "let.width=32,64 --trials 20 --jobs 2\n"
        "  dtrain sweep job.yaml let.width=16..256 --trials 27 --halving   short trainings first\n"
        "  dtrain sweep job.yaml let.width=32,64 output.dir=runs/width -n  list the trials\n"
        "  dtrain fit runs/width/best.yaml output.dir=runs/again           train the best one "
        "again\n",
    .more =
        "key=a,b,c is a list; key=LO..HI a range of numbers, or of integers if both ends are; "
        "key=log:LO..HI the same,\nevenly distributed by the logarithm. Any other override holds "
        "for all trials. Trial N is a run in\noutput.dir/trial-N, as 'dtrain fit' with its "
        "settings would make it. The folder also gets sweep.json\n(the settings), trials.jsonl "
        "(the results), best.yaml (the job of the best trial) and sweep.html (a report).\nRun the "
        "same command again to resume: a finished trial is never repeated.\n\n"
        "The first SIGINT, SIGTERM or SIGHUP lets the trials save and stop; the second stops them "
        "at once.\nA trial that fails does not end the others.\n\n"
        "Exit codes: 0 a trial is completed and none is left; 64 invalid command line; 65 the "
        "folder has another\nsweep; 73, 74, 77 files cannot be written; 75 stopped, or a trial was "
        "interrupted: run it again to resume;\n78 job invalid; 130 and 143 ended by a second "
        "signal. If all trials failed: the first one's exit code.\n",
    .options = options,
    .runs_jobs = true,
    .trains = true,
    .size = sizeof(struct sweep),
    .run = run,
};
