/* SPDX-License-Identifier: Apache-2.0 */
/* Reads operands (the job and its overrides), and explains what is wrong with them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "print.h"
#include "verb.h"

struct cut cut_word(const char *word) {
    enum { MOST = 80 };
    struct cut cut;
    size_t n = strlen(word);
    if (n <= MOST) {
        memcpy(cut.text, word, n + 1);
        return cut;
    }
    n = MOST;
    /* moves back to the beginning of a UTF-8 character */
    while (n > 0 && ((unsigned char)word[n] & 0xc0) == 0x80) n--;
    memcpy(cut.text, word, n);
    memcpy(cut.text + n, "...", 4);
    return cut;
}

dt_status *usage_error(const struct call *call, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return dt_status_create(ERROR_USAGE, "%s: %s", call->verb->name, text);
}

/* Whether an operand is an override. A key begins with neither a dot nor a slash, so
 * ./lr=0.1/job.yaml is a file. */
bool is_override(const char *operand) {
    return *operand != '.' && *operand != '/' && strchr(operand, '=') != NULL;
}

int count_jobs(const struct call *call) {
    int jobs = 0;
    for (int i = 0; i < call->operands.n; i++) jobs += !is_override(call->operands.at[i]);
    return jobs;
}

bool is_job(const char *operand) {
    const size_t n = strlen(operand);
    return strcmp(operand, "-") == 0 || (n > 5 && strcmp(operand + n - 5, ".yaml") == 0) ||
           (n > 4 && strcmp(operand + n - 4, ".yml") == 0);
}

/* Whether the user wrote an override with blanks: the shell splits `fit.epochs = 3` into three
 * words. */
static bool is_spaced(const struct call *call) {
    for (int i = 1; i < call->operands.n; i++)
        if (*call->operands.at[i] == '=') return true;
    return false;
}

/* Returns the error about operands that are not exactly one job and overrides: names both jobs if
 * there are two, else the operand that is neither a job nor an override. */
static dt_status *too_many(const struct call *call) {
    const char *job = NULL, *other = NULL;
    for (int i = 0; i < call->operands.n; i++) {
        const char *operand = call->operands.at[i];
        if (is_override(operand)) continue;
        if (!job || (!is_job(job) && is_job(operand))) {
            other = job ? job : other;
            job = operand;
        } else if (!other) {
            other = operand;
        }
    }
    if (is_spaced(call))
        return usage_error(call, "a setting has no blanks around '=': write key.path=value");
    if (is_job(other))
        return usage_error(call, "one job file expected, got '%s' and '%s'", cut_word(job).text,
                           cut_word(other).text);
    return usage_error(call, "'%s' is neither a job file nor an override, key.path=value",
                       cut_word(other).text);
}

dt_status *take_job(const struct call *call, const struct place *place, dt_job_source *source) {
    int jobs = count_jobs(call);
    if (jobs == 0) return usage_error(call, "job file missing");
    if (jobs > 1) return too_many(call);
    if (place->backend && strcmp(place->backend, "cpu") != 0 && strcmp(place->backend, "pjrt") != 0)
        return usage_error(call, "--backend: expected cpu or pjrt, got '%s'",
                           cut_word(place->backend).text);
    if (place->plugin && !*place->plugin)
        return usage_error(call, "--plugin: expected a path, got ''");
    if (is_override(call->operands.at[0]))
        return usage_error(call, "the job file comes first, then '%s'",
                           cut_word(call->operands.at[0]).text);
    *source = (dt_job_source){
        .path = call->operands.at[0],
        .directory = place->directory,
        .backend = place->backend,
        .plugin = place->plugin,
        .inspect = !call->verb->runs_jobs,
        .overrides = call->operands.at + 1,
        .n_overrides = call->operands.n - 1,
    };
    return NULL;
}

dt_status *take_no_operands(const struct call *call) {
    if (call->operands.n == 0) return NULL;
    return usage_error(call, "no operand expected, got '%s'", cut_word(call->operands.at[0]).text);
}

/* Whether the operand is a directory, since a run may have the same name as its job. */
static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

dt_status *take_no_job(const struct call *call, const char *hint) {
    for (int i = 0; i < call->operands.n; i++)
        if (is_job(call->operands.at[i]) && !is_directory(call->operands.at[i]))
            return usage_error(call, "'%s' is a job: give the run that its output.dir names%s",
                               cut_word(call->operands.at[i]).text, hint);
    return NULL;
}

/* ---- jobs on another slice: --tpu ---- */

dt_status *tpu_check(const char *tpu) {
    DT_LOCAL char *text = NULL;
    return tpu ? dt_topology_text(&(dt_topology_request){.tpu = tpu, .json = true}, &text) : NULL;
}

static void add_overrides(struct tpu_job *j, const char *tpu, const char *more) {
    int n = j->source.n_overrides;
    if (n) memcpy(j->word, j->source.overrides, (size_t)n * sizeof *j->word);
    if (tpu) {
        snprintf(j->slice, sizeof j->slice, "strategy.cluster_resolver.tpu=%s%s",
                 strncmp(tpu, "sim:", 4) == 0 || !*tpu ? "" : "sim:", tpu);
        j->word[n++] = "strategy.type=tpu";
        j->word[n++] = j->slice;
    }
    if (more) j->word[n++] = more;
    j->source.overrides = j->word;
    j->source.n_overrides = n;
}

dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out) {
    *out = (struct tpu_job){0};
    dt_status *s = take_job(call, place, &out->source);
    if (s) return s;
    out->word = malloc(((size_t)out->source.n_overrides + 3) * sizeof *out->word);
    if (!out->word) return dt_status_create(ERROR_NO_MEMORY, "no memory for the command line");
    add_overrides(out, tpu, more);
    return NULL;
}

void tpu_release(struct tpu_job *j) { free(j->word); }
