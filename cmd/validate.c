/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain validate: reports all errors of jobs, without training. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "verb.h"

enum form { FORM_TEXT, FORM_JSON, FORM_GITHUB };

struct validate {
    struct common common;
    struct place place;
    int format; /* the format of the output: a value of enum form */
    bool json, no_data, data;
};

static const char *const formats[] = {"text", "json", "github", NULL};

static void print_json(struct out *out, const dt_status *s) {
    struct json j;
    json_open(&j);
    json_error(&j.to, s);
    json_print(&j, out);
}

/* Writes a text for GitHub, with '%', line ends and the characters in `special` as %XX. Properties
 * need `special`, because these characters would end them. text NULL: writes nothing. */
static void put_github(dt_str *to, const char *text, const char *special) {
    for (; text && *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' || strchr(special, *text))
            dt_str_printf(to, "%%%02X", (unsigned)(unsigned char)*text);
        else dt_str_putc(to, *text);
}

/* Prints an error as GitHub's annotation: ::error file=job.yaml,line=29,col=5,title=DT001::unknown
 * key 'layesr' in model; did you mean 'layers'? GitHub drops an annotation whose file does not
 * exist. So for an override or standard input the text begins with its name instead. */
static void print_github(struct out *out, const dt_status *s) {
    dt_local_str t = {0};
    const char *file = dt_status_file(s);
    const bool shows = file && access(file, F_OK) == 0;
    dt_str_puts(&t, "::error ");
    if (shows) {
        dt_str_puts(&t, "file=");
        put_github(&t, file, ":,");
        if (dt_status_line(s))
            dt_str_printf(&t, ",line=%d,col=%d", dt_status_line(s), dt_status_column(s));
        dt_str_putc(&t, ',');
    }
    dt_str_printf(&t, "title=DT%03d::", dt_status_number(s));
    if (file && !shows) {
        put_github(&t, file, "");
        dt_str_puts(&t, ": ");
    }
    put_github(&t, dt_status_text(s), "");
    if (dt_status_suggestion(s)) {
        dt_str_puts(&t, "; ");
        put_github(&t, dt_status_suggestion(s), "");
    }
    dt_str_putc(&t, '\n');
    out_text(out, dt_str_text(&t));
}

static void print_errors(const struct call *call, const dt_status *s, enum form form) {
    if (form == FORM_TEXT) out_show_error(call->out, s);
    else
        for (; s; s = dt_status_next(s))
            (form == FORM_JSON ? print_json : print_github)(call->out, s);
}

/* Whether the line, a warning, begins with a source location in the file at `path`. */
static bool is_placed(const char *line, const char *path) {
    const size_t n = strlen(path);
    return strncmp(line, path, n) == 0 && line[n] == ':';
}

static void print_warning(const struct call *call, const char *path, const char *line,
                          enum form form) {
    dt_local_str t = {0};
    struct json j;
    if (form == FORM_TEXT) {
        if (is_placed(line, path)) out_warn(call->out, "%s", line);
        else out_warn(call->out, "%s: %s", path, line);
        return;
    }
    if (form == FORM_JSON) {
        json_open(&j);
        json_warning(&j.to, path, line);
        json_print(&j, call->out);
        return;
    }
    dt_str_puts(&t, "::warning file=");
    put_github(&t, path, ":,");
    dt_str_puts(&t, "::");
    put_github(&t, line, "");
    dt_str_putc(&t, '\n');
    out_text(call->out, dt_str_text(&t));
}

static void print_warnings(const struct call *call, const char *path, char *lines, enum form form) {
    for (char *line = lines, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        print_warning(call, path, line, form);
    }
}

/* Returns the more urgent one of two exit codes: 78 (an error in the job) first, then 66 (a file is
 * missing), then 65 (bad contents), then any other; 0: both are 0. */
static int worse(int a, int b) {
    static const int order[] = {78, 66, 65};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i]) return order[i];
    return a ? a : b;
}

/* Texts about a valid job that will be printed at the end; owned. */
struct findings {
    char *about, *warnings;
};

static dt_status *check(const dt_job_source *source, const struct validate *my,
                        struct findings *found) {
    dt_job *job = NULL;
    dt_status *s = dt_job_open(&job, source);
    if (!s && my->data) s = dt_job_check_examples(job);
    if (!s && !my->no_data) s = dt_job_check_data(job);
    if (!s) s = dt_job_partition_text(job, &found->about);
    if (!s) s = dt_job_warnings(job, &found->warnings);
    dt_job_unref(job);
    return s;
}

static int check_one(const struct call *call, const dt_job_source *source) {
    const struct validate *my = call->settings;
    enum form form = my->json ? FORM_JSON : (enum form)my->format;
    struct findings found = {0};
    dt_status *s = check(source, my, &found);
    int code = dt_status_code(s);
    if (s) print_errors(call, s, form);
    else print_warnings(call, source->path, found.warnings, form);
    if (!s && form == FORM_TEXT && !call->out->quiet) {
        out_line(call->out, "%s: ok", source->path);
        out_text(call->out, found.about);
    }
    free(found.about);
    free(found.warnings);
    dt_status_free(s);
    return code;
}

/* Checks all operands that are jobs, each with the same overrides, the other operands
 * (is_override). */
static int check_all(const struct call *call, dt_job_source *source) {
    int code = 0, bad = 0, jobs = count_jobs(call);
    for (int i = 0; i < call->operands.n; i++) {
        if (is_override(call->operands.at[i])) continue;
        source->path = call->operands.at[i];
        int one = check_one(call, source);
        code = worse(code, one);
        bad += one != 0;
    }
    if (bad && jobs > 1) out_note(call->out, "%d of %d jobs are not valid", bad, jobs);
    return code;
}

static int run(const struct call *call) {
    const struct validate *my = call->settings;
    if (count_jobs(call) == 0) return out_error(call->out, usage_error(call, "job file missing"));
    if (my->data && my->no_data)
        return out_error(call->out, usage_error(call, "--data reads what --no-data leaves out"));
    const char **overrides = calloc((size_t)call->operands.n, sizeof *overrides);
    if (!overrides) return out_error(call->out, dt_status_create(ERROR_NO_MEMORY, "out of memory"));
    dt_job_source source = {
        .directory = my->place.directory, .overrides = overrides, .inspect = true};
    for (int i = 0; i < call->operands.n; i++)
        if (is_override(call->operands.at[i]))
            overrides[source.n_overrides++] = call->operands.at[i];
    int code = check_all(call, &source);
    free(overrides);
    return code;
}

static const struct option options[] = {
    CHOICE(struct validate, format, "format", "FORM", formats, "format of the errors"),
    FLAG(struct validate, json, "json", "same as --format json: one object per error"),
    FLAG(struct validate, data, "data", "decode every picture, and list all that cannot be read"),
    FLAG(struct validate, no_data, "no-data", "do not open data files"),
    PLACE_OPTIONS(struct validate),
    OPTIONS_END};
const struct verb verb_validate = {
    .name = "validate",
    .group = "Check",
    .line = "report all errors of jobs (keys, types, shapes, placement, data) without training",
    .operands = "JOB... [key.path=value...]",
    .examples =
        "  dtrain validate job.yaml\n"
        "  dtrain validate --no-data configs/*.yaml             without the data files\n"
        "  dtrain validate --data job.yaml                      all pictures that are broken\n"
        "  dtrain validate --format github configs/*.yaml       annotations for GitHub Actions\n",
    .more = "Text goes to standard error; json and github go to standard output. Exit codes: 0 all "
            "jobs are valid, 78 a job\n"
            "is invalid, 66 a file is missing, 65 data is malformed. If several apply, the first "
            "of these is used.\n",
    .options = options,
    .size = sizeof(struct validate),
    .run = run,
};
