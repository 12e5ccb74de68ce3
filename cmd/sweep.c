/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain sweep: trains a job with several settings. The library chooses the trials and remembers
 * their results; here each trial is a process, `dtrain fit JOB key=value...`, so that a fault of
 * one cannot end the others. What such a process prints goes to fit.log in its trial's folder; of
 * its errors the first one is kept for the leaderboard.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "print.h"
#include "stop.h"
#include "verb.h"

enum { MOST_JOBS = 64, LOOK_MS = 20, ERROR_BYTES = 4096, LOST = 69 };

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

/* A trial that is being trained. */
struct child {
    pid_t pid;          /* 0: none */
    int number, errors; /* errors: the end of a pipe that has its standard error */
    size_t n;
    char error[ERROR_BYTES];
};

struct sweeping {
    const struct call *call;
    const struct sweep *my;
    dt_job_source source;
    dt_sweep *sweep;
    struct child child[MOST_JOBS];
    int passed; /* the stop flag that was passed to the children last */
};

/* ---- the command of a trial ---- */

struct command {
    dt_arena *arena;
    int n, room;
    char **word; /* [n], then NULL */
};

static void add(struct command *c, const char *format, ...) DT_FORMAT(2, 3);
static void add(struct command *c, const char *format, ...) {
    dt_str text = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    DT_GROW(c->word, c->room, c->n + 2);
    c->word[c->n++] = dt_arena_strdup(c->arena, dt_str_text(&text));
    c->word[c->n] = NULL;
    dt_str_release(&text);
}

static void release_command(struct command *c) {
    free(c->word);
    dt_arena_destroy(c->arena);
}

/* Cores are divided among the trials that train at a time. */
static long long threads_of(const struct sweep *my) {
    const long long each = dt_cores() / my->jobs;
    if (my->compute.threads) return my->compute.threads;
    return my->jobs == 1 ? 0 : each < 1 ? 1 : each;
}

static void make_command(const struct sweeping *w, const dt_sweep_trial *t, struct command *c) {
    const struct sweep *my = w->my;
    add(c, "dtrain");
    add(c, "fit");
    if (t->max_epochs) add(c, "--until-epoch=%lld", (long long)t->max_epochs);
    if (t->max_steps) add(c, "--steps=%lld", (long long)t->max_steps);
    if (my->place.directory) add(c, "--directory=%s", my->place.directory);
    if (my->place.backend) add(c, "--backend=%s", my->place.backend);
    if (my->place.plugin) add(c, "--plugin=%s", my->place.plugin);
    if (my->compute.kernels) add(c, "--kernels=%s", kernel_choices[my->compute.kernels]);
    if (threads_of(my)) add(c, "--threads=%lld", threads_of(my));
    add(c, "--resume=auto");
    add(c, "--color=never");
    add(c, "--log-file=%s/fit.log", t->directory);
    add(c, "--"); /* the job's name may begin with a dash */
    add(c, "%s", w->source.path);
    for (int i = 0; i < t->n_overrides; i++) add(c, "%s", t->overrides[i]);
}

static void set_stop_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

/* Our handlers would only note a signal that arrives before the program is replaced, and the trial
 * would train on. Without them it ends; what nohup ignores stays ignored. */
static void reset_stop_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    sigset_t set;
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(numbers[i], SIG_DFL);
    set_stop_signals(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The terminal's signals come through the parent, once. A trial ends with a killed parent: the next
 * sweep resumes it. */
static _Noreturn void become_trial(char *const *word, int errors, pid_t parent) {
    const int nothing = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    reset_stop_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || nothing < 0) _exit(LOST);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    unsetenv("DTRAIN_WORKER");
    unsetenv("DTRAIN_LOG_FILE");
    execv("/proc/self/exe", word);
    _exit(LOST);
}

/* Signals wait until the child's pid is known, and the child has none of our handlers. */
static pid_t fork_trial(char *const *word, int errors) {
    const pid_t parent = getpid();
    sigset_t set, before;
    set_stop_signals(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    const pid_t pid = fork();
    if (pid == 0) become_trial(word, errors, parent);
    const int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return pid;
}

static dt_status *start(struct sweeping *w, struct child *c, const dt_sweep_trial *t) {
    struct command command = {.arena = dt_arena_create()};
    int ends[2];
    dt_status *s = dt_dir_make(t->directory);
    if (!s && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        s = dt_status_create(ERROR_IO, "no pipe for trial %d: %s", t->number, strerror(errno));
    if (s) {
        release_command(&command);
        return s;
    }
    make_command(w, t, &command);
    *c = (struct child){.number = t->number, .errors = ends[0]};
    fflush(NULL);
    c->pid = fork_trial(command.word, ends[1]);
    const int why = errno;
    close(ends[1]);
    release_command(&command);
    if (c->pid > 0) return NULL;
    c->pid = 0;
    close(ends[0]);
    return dt_status_create(ERROR_NO_MEMORY, "trial %d could not be started: %s", t->number,
                            strerror(why));
}

/* ---- an end ---- */

/* Keeps the first bytes, and reads the rest, so that the trial never waits. */
static void read_errors(struct child *c) {
    char rest[ERROR_BYTES];
    for (;;) {
        const bool room = c->n < sizeof c->error - 1;
        const ssize_t n = room ? read(c->errors, c->error + c->n, sizeof c->error - 1 - c->n)
                               : read(c->errors, rest, sizeof rest);
        if (n <= 0) break;
        if (room) c->n += (size_t)n;
    }
    c->error[c->n] = '\0';
}

/* The line of the first error, without "dtrain: error: "; "" if there is none. */
static const char *first_error(struct child *c) {
    static const char prefix[] = "dtrain: error: ", mark[] = "error: ";
    for (char *line = c->error, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        if (strncmp(line, prefix, strlen(prefix)) == 0) return line + strlen(prefix);
        if (strstr(line, mark)) return line;
    }
    return "";
}

static void report_trial(const struct sweeping *w, const struct child *c, int code,
                         const char *error, const char *text) {
    dt_str line = {0};
    dt_json j = {.out = &line, .compact = true};
    if (!w->my->json) {
        if (!w->call->out->quiet) out_line(w->call->out, "%s", text);
        return;
    }
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "event", "trial");
    dt_json_int(&j, "trial", c->number);
    dt_json_int(&j, "exit", code);
    dt_json_string(&j, "error", *error ? error : NULL);
    dt_json_close(&j, '}');
    out_line(w->call->out, "%s", dt_str_text(&line));
    dt_str_release(&line);
}

static dt_status *end(struct sweeping *w, struct child *c, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    char *text = NULL;
    read_errors(c);
    close(c->errors);
    c->pid = 0;
    const char *error = first_error(c);
    dt_status *s = dt_sweep_ended(w->sweep, c->number, code, error, &text);
    if (text) report_trial(w, c, code, error, text);
    free(text);
    return s;
}

/* ---- all trials ---- */

static void pass_on(struct sweeping *w) {
    const int stop = *stop_flag();
    for (int i = 0; i < w->my->jobs; i++) {
        if (w->child[i].pid == 0) continue;
        if (stop > w->passed) kill(w->child[i].pid, SIGTERM);
    }
    w->passed = stop;
}

/* Ends what can be ended; *any: a trial is still being trained. */
static dt_status *reap(struct sweeping *w, bool *any) {
    dt_status *s = NULL;
    *any = false;
    for (int i = 0; i < w->my->jobs; i++) {
        struct child *c = &w->child[i];
        int status;
        if (c->pid == 0) continue;
        read_errors(c);
        if (waitpid(c->pid, &status, WNOHANG) == c->pid) dt_status_append(&s, end(w, c, status));
        else *any = true;
    }
    return s;
}

static dt_status *fill(struct sweeping *w, bool *any) {
    for (int i = 0; i < w->my->jobs && !*stop_flag(); i++) {
        dt_sweep_trial trial;
        if (w->child[i].pid) continue;
        dt_status *s = dt_sweep_next(w->sweep, &trial);
        if (s || trial.number == 0) return s;
        s = start(w, &w->child[i], &trial);
        *any |= !s;
        if (s) { /* the trial waits again when the sweep is resumed */
            const int code = dt_status_code(s);
            dt_status_free(dt_sweep_ended(w->sweep, trial.number, code, dt_status_text(s), NULL));
            return s;
        }
    }
    return NULL;
}

/* After a fault of our own, such as a full disk, trials that train are stopped and waited for. */
static dt_status *train_all(struct sweeping *w) {
    dt_status *faults = NULL;
    bool any = true, stopped = false;
    stop_steps_begin();
    while (any) {
        dt_status_append(&faults, reap(w, &any));
        if (!faults) dt_status_append(&faults, fill(w, &any));
        pass_on(w);
        for (int i = 0; faults && !stopped && i < w->my->jobs; i++)
            if (w->child[i].pid) kill(w->child[i].pid, SIGTERM);
        stopped |= faults != NULL;
        if (any) nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
    }
    return faults;
}

/* ---- the end ---- */

static dt_status *print_board(const struct sweeping *w) {
    char *text = NULL, *job = NULL, *report = NULL;
    struct out *out = w->call->out;
    dt_status *s = dt_sweep_text(w->sweep, w->my->json, &text);
    if (!s) out_text(out, text);
    if (!s) s = dt_sweep_write(w->sweep, &job, &report);
    if (!s && job && !w->my->json) {
        out_field(out, "best", "trial %d: %s", dt_sweep_count(w->sweep).best, job);
        out_field(out, "report", "%s", report);
    }
    free(text);
    free(job);
    free(report);
    return s;
}

static void print_resume_command(const struct sweeping *w) {
    dt_str command = {0};
    put_again(&command, w->call);
    out_note(w->call->out, "to resume, run: %s", dt_str_text(&command));
    dt_str_release(&command);
}

/* How the sweep ended: 0 if a trial is completed, and none is left. */
static int judge(const struct sweeping *w) {
    const dt_sweep_counts c = dt_sweep_count(w->sweep);
    struct out *out = w->call->out;
    if (w->my->dry_run) return 0;
    if (c.halted_code) {
        out_note(out, "no more trials are started, because files cannot be written (exit code %d)",
                 c.halted_code);
        print_resume_command(w);
        return c.halted_code;
    }
    if (c.interrupted || c.waiting) {
        out_note(out, "%d of %d trials are not finished", c.interrupted + c.waiting, c.trials);
        print_resume_command(w);
        return *stop_flag() == 2 ? stop_exit_code() : EXIT_STOPPED;
    }
    if (c.best) return 0;
    if (c.failed == 0)
        return out_error(out, dt_status_create(ERROR_EXPECT_METRIC,
                                               "no trial has a value of the metric; see --metric"));
    out_note(out, "all trials failed; the exit code is that of the first");
    return c.failed_code;
}

static int finish(struct sweeping *w, dt_status *s) {
    int code = out_error(w->call->out, s);
    dt_str line = {0};
    if (w->sweep) {
        int its = out_error(w->call->out, print_board(w));
        code = code ? code : its;
        its = judge(w);
        code = code ? code : its;
    }
    if (w->my->json) {
        dt_str_printf(&line, "{\"v\":1,\"event\":\"end\",\"exit\":%d}", code);
        out_line(w->call->out, "%s", dt_str_text(&line));
        dt_str_release(&line);
    }
    dt_sweep_unref(w->sweep);
    return code;
}

static dt_status *read_call(struct sweeping *w) {
    dt_status *s = take_job(w->call, &w->my->place, &w->source);
    if (s) return s;
    if (strcmp(w->source.path, "-") == 0)
        return usage_error(
            w->call, "each trial reads the job, which standard input cannot give: name a file");
    return NULL;
}

static int run(const struct call *call) {
    struct sweep mine = *(const struct sweep *)call->settings;
    struct sweeping w = {.call = call, .my = &mine};
    if (mine.json) stop_report_json();
    dt_status *s = read_call(&w);
    if (s) return out_error(call->out, s);
    s = dt_sweep_open(&w.sweep, &(dt_sweep_options){.source = &w.source,
                                                    .method = (dt_sweep_method)mine.method,
                                                    .trials = mine.trials,
                                                    .seed = mine.seed,
                                                    .halving = mine.halve ? mine.halving : 0,
                                                    .metric = mine.metric,
                                                    .mode = (dt_sweep_mode)mine.mode,
                                                    .dry_run = mine.dry_run});
    if (!s && !mine.json && !call->out->quiet) {
        out_field(call->out, "sweep", "%s", dt_sweep_title(w.sweep));
        out_field(call->out, "folder", "%s", dt_sweep_directory(w.sweep));
    }
    if (!s && !mine.dry_run) s = train_all(&w);
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
