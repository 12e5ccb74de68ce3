/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what trials.h declares. */
#define _GNU_SOURCE /* makes the headers declare pipe2 */
#include "trials.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "verb.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "print.h"
#include "stop.h"

enum { LOOK_MS = 20, LOST = 69 };

struct command {
    dt_arena *arena;
    int n, room;
    char **word; /* [n] the words of a command line; a NULL ends the list */
};

static void add(struct command *c, const char *format, ...) DT_FORMAT(2, 3);
static void add(struct command *c, const char *format, ...) {
    DT_FORMATTED(text, format);
    DT_GROW(c->word, c->room, c->n + 2);
    c->word[c->n++] = dt_arena_take(c->arena, &text);
    c->word[c->n] = NULL;
}

static void release_command(struct command *c) {
    free(c->word);
    dt_arena_destroy(c->arena);
}

/* Returns the number of threads per trial: that of --threads or, if several trials train at the
 * same time, an equal share of the cores; 0: the trial chooses. */
static long long threads_of(const struct trials *w) {
    const long long each = dt_cores() / w->jobs;
    if (w->compute->threads) return w->compute->threads;
    return w->jobs == 1 ? 0 : each < 1 ? 1 : each;
}

static void make_command(const struct trials *w, const dt_sweep_trial *t, struct command *c) {
    const struct place *place = w->place;
    add(c, "dtrain");
    add(c, "fit");
    if (t->max_epochs) add(c, "--until-epoch=%lld", (long long)t->max_epochs);
    if (t->max_steps) add(c, "--steps=%lld", (long long)t->max_steps);
    if (place->directory) add(c, "--directory=%s", place->directory);
    if (place->backend) add(c, "--backend=%s", place->backend);
    if (place->plugin) add(c, "--plugin=%s", place->plugin);
    if (w->compute->kernels) add(c, "--kernels=%s", kernel_choices[w->compute->kernels]);
    if (threads_of(w)) add(c, "--threads=%lld", threads_of(w));
    add(c, "--resume=%s", w->resume ? w->resume : "auto");
    add(c, "--color=never");
    add(c, "--log-file=%s/fit.log", t->directory);
    add(c, "--"); /* "--" ends the options, because the job's name may begin with a dash. */
    add(c, "%s", w->source.path);
    for (int i = 0; i < t->n_overrides; i++) add(c, "%s", t->overrides[i]);
}

static void set_stop_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

/* Restores the default actions of stop signals. Otherwise a signal that arrives before execv
 * would only set a flag that the new program does not see. Signals that nohup ignores stay
 * ignored. */
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

/* Runs the trial in the child process. It has its own process group, so it gets the terminal's
 * signals once, from the parent. If the parent is killed, the trial ends too; the next sweep
 * resumes it. */
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

/* Forks. Blocks stop signals until the parent knows the child's pid and the child has restored
 * the default actions. */
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

static dt_status *start(struct trials *w, struct child *c, const dt_sweep_trial *t) {
    struct command command = {.arena = dt_arena_create()};
    int ends[2];
    dt_status *s = dt_dir_make(t->directory);
    if (!s && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        s = dt_status_create(ERROR_IO, "no pipe for %s %d: %s", w->trial, t->number,
                             strerror(errno));
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
    return dt_status_create(ERROR_NO_MEMORY, "%s %d could not be started: %s", w->trial, t->number,
                            strerror(why));
}

/* Reads a trial's standard error. Keeps the first bytes and discards the rest, so that the trial
 * never blocks on a full pipe. */
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

/* Returns the first error in a trial's standard error: the rest of a line that begins with "dtrain:
 * error: ", or a whole line that contains "error: "; "" if there is none. Cuts the text into
 * lines. */
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

/* Prints a trial's warnings about the job and its data, unless an earlier trial had the same ones.
 * Warnings of steps stay in the trial's fit.log. */
static void pass_warnings(struct trials *w, const struct child *c) {
    static const char prefix[] = "dtrain: warning: ";
    dt_local_str text = {0};
    for (const char *line = c->error, *end; (end = strchr(line, '\n')); line = end + 1) {
        dt_str_clear(&text);
        dt_str_add(&text, line, (size_t)(end - line));
        if (strncmp(line, prefix, strlen(prefix)) != 0 ||
            strncmp(line + strlen(prefix), "step ", 5) == 0 ||
            strstr(dt_str_text(&w->warned), dt_str_text(&text)))
            continue;
        dt_str_printf(&w->warned, "%s\n", dt_str_text(&text));
        out_warn(w->call->out, "%s", dt_str_text(&text) + strlen(prefix));
    }
}

static void report_trial(const struct trials *w, const struct child *c, int code, const char *error,
                         const char *text) {
    dt_local_str line = {0};
    dt_json j = {.out = &line, .compact = true};
    if (!w->json) {
        if (!w->call->out->quiet) out_line(w->call->out, "%s", text);
        else if (w->shows_faults && code && code != EXIT_STOPPED)
            out_note(w->call->out, "%s", text);
        return;
    }
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "event", w->trial);
    dt_json_int(&j, w->trial, c->number);
    dt_json_int(&j, "exit", code);
    dt_json_string(&j, "error", *error ? error : NULL);
    dt_json_close(&j, '}');
    out_line(w->call->out, "%s", dt_str_text(&line));
}

static dt_status *end(struct trials *w, struct child *c, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    DT_LOCAL char *text = NULL;
    read_errors(c);
    close(c->errors);
    c->pid = 0;
    pass_warnings(w, c);
    const char *error = first_error(c);
    dt_status *s = dt_sweep_ended(w->sweep, c->number, code, error, &text);
    if (text) report_trial(w, c, code, error, text);
    return s;
}

static void pass_on(struct trials *w) {
    const int stop = *stop_flag();
    for (int i = 0; i < w->jobs; i++) {
        if (w->child[i].pid == 0) continue;
        if (stop > w->passed) kill(w->child[i].pid, SIGTERM);
    }
    w->passed = stop;
}

/* Records the results of trials whose process has ended. Sets *any to whether other trials are
 * still being trained. */
static dt_status *reap(struct trials *w, bool *any) {
    dt_status *s = NULL;
    *any = false;
    for (int i = 0; i < w->jobs; i++) {
        struct child *c = &w->child[i];
        int status;
        if (c->pid == 0) continue;
        read_errors(c);
        if (waitpid(c->pid, &status, WNOHANG) == c->pid) dt_status_append(&s, end(w, c, status));
        else *any = true;
    }
    return s;
}

static dt_status *fill(struct trials *w, bool *any) {
    for (int i = 0; i < w->jobs && !*stop_flag(); i++) {
        dt_sweep_trial trial;
        if (w->child[i].pid) continue;
        dt_status *s = dt_sweep_next(w->sweep, &trial);
        if (s || trial.number == 0) return s;
        s = start(w, &w->child[i], &trial);
        *any |= !s;
        /* The error is recorded, so that the trial is started again when the sweep is resumed. */
        if (s) {
            const int code = dt_status_code(s);
            dt_status_free(dt_sweep_ended(w->sweep, trial.number, code, dt_status_text(s), NULL));
            return s;
        }
    }
    return NULL;
}

/* Trains all trials. After an error of this process itself, such as a full disk, stops the trials
 * and waits for them. */
dt_status *trials_train(struct trials *w) {
    dt_status *faults = NULL;
    bool any = true, stopped = false;
    stop_steps_begin();
    while (any) {
        dt_status_append(&faults, reap(w, &any));
        if (!faults) dt_status_append(&faults, fill(w, &any));
        pass_on(w);
        for (int i = 0; faults && !stopped && i < w->jobs; i++)
            if (w->child[i].pid) kill(w->child[i].pid, SIGTERM);
        stopped |= faults != NULL;
        if (any) nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
    }
    dt_str_release(&w->warned);
    return faults;
}

void trials_suggest_resume(const struct trials *w) {
    dt_local_str command = {0};
    put_again(&command, w->call);
    out_note(w->call->out, "to resume, run: %s", dt_str_text(&command));
}
