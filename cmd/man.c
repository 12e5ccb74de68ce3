/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain man: prints manual pages in roff, made from the tables that command lines and job files
 * are read by: dtrain.1, one for each verb (dtrain-fit.1), and dtrain-job.5 with every key. `make
 * install` puts them where man looks.
 */
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "verb.h"

/* ---- roff ---- */

/* Writes text literally, escaping what roff would interpret. */
static void put_roff(dt_str *to, const char *text) {
    for (bool first = true; *text; text++) {
        if (first && (*text == '.' || *text == '\'')) dt_str_puts(to, "\\&");
        if (*text == '\\') dt_str_puts(to, "\\e");
        else if (*text == '-') dt_str_puts(to, "\\-");
        else dt_str_putc(to, *text);
        first = *text == '\n';
    }
}

static void put_dashed(dt_str *to, const char *name) {
    for (; *name; name++)
        dt_str_puts(to, *name == ' ' || *name == '-' ? "\\-" : (char[]){*name, '\0'});
}

static void put_title(dt_str *to, const char *name, int section, const char *line) {
    dt_str_puts(to, ".TH dtrain");
    put_dashed(to, name);
    dt_str_printf(to, " %d \"\" \"dtrain %s\" \"dtrain\"\n.ad l\n.nh\n.SH NAME\ndtrain", section,
                  dt_version());
    put_dashed(to, name);
    dt_str_puts(to, " \\- ");
    put_roff(to, line);
    dt_str_putc(to, '\n');
}

static char *line_of(const char *text) {
    dt_local_str line = {0};
    dt_str_printf(&line, "%.*s", (int)strcspn(text, "\n"), text);
    return dt_strdup(dt_str_text(&line));
}

static const char *next_line(const char *text) {
    text += strcspn(text, "\n");
    return *text ? text + 1 : text;
}

/* Writes a section with this heading and paragraphs, whose lines man fills. An indented line stays
 * a line of its own. */
static void put_prose(dt_str *to, const char *heading, const char *text) {
    dt_str_printf(to, ".SH %s\n", heading);
    for (; *text; text = next_line(text)) {
        DT_LOCAL char *line = line_of(text);
        if (!*line) dt_str_puts(to, ".PP\n");
        else if (*line == ' ') dt_str_puts(to, ".br\n");
        put_roff(to, line + strspn(line, " "));
        dt_str_puts(to, *line == ' ' ? "\n.br\n" : *line ? "\n" : "");
    }
}

/* Writes examples such as "  dtrain fit job.yaml      what it does": the command, and its
 * description below it. */
static void put_examples(dt_str *to, const char *text) {
    dt_str_puts(to, ".SH EXAMPLES\n");
    for (bool first = true; *text; text = next_line(text), first = false) {
        char *line = line_of(text), *command = line + strspn(line, " "),
             *about = strstr(command, "  ");
        if (about) *about++ = '\0';
        dt_str_puts(to, first ? "\\fB" : ".PP\n\\fB");
        put_roff(to, command);
        dt_str_puts(to, "\\fR\n");
        if (about) {
            dt_str_puts(to, ".RS\n");
            put_roff(to, about + strspn(about, " "));
            dt_str_puts(to, "\n.RE\n");
        }
        free(line);
    }
}

/* ---- options and the environment ---- */

static void put_option(dt_str *to, const struct option *o) {
    dt_str_puts(to, ".TP\n");
    if (o->letter) dt_str_printf(to, "\\fB\\-%c\\fR, ", o->letter);
    dt_str_puts(to, "\\fB\\-\\-");
    put_dashed(to, o->name);
    dt_str_puts(to, "\\fR");
    if (o->value)
        dt_str_printf(to, o->kind == OPTION_MAYBE ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", o->value);
    dt_str_putc(to, '\n');
    put_roff(to, o->help);
    for (int i = 0; o->choices && o->choices[i]; i++)
        dt_str_printf(to, "%s%s", i ? ", " : ": ", o->choices[i]);
    if (o->kind == OPTION_CHOICE) dt_str_printf(to, " (default %s)", o->choices[o->fallback]);
    dt_str_puts(to, o->kind == OPTION_LIST ? "; may be repeated\n" : "\n");
}

static void put_options(dt_str *to, const char *heading, const struct option *table) {
    if (!table->name) return;
    dt_str_printf(to, ".SH %s\n", heading);
    for (const struct option *o = table; o->name; o++) put_option(to, o);
}

static void put_environment(dt_str *to, const struct option *table) {
    char name[64];
    for (const struct option *o = table; o->name; o++) {
        if (!o->env) continue;
        option_env_name(o, name, sizeof name);
        dt_str_printf(to, ".TP\n.B %s\nstands for \\fB\\-\\-", name);
        put_dashed(to, o->name);
        dt_str_puts(to, "\\fR\n");
    }
}

/* ---- pages ---- */

static void print_verb(dt_str *to, const struct verb *verb) {
    char name[64];
    snprintf(name, sizeof name, " %s", verb->name);
    put_title(to, name, 1, verb->line);
    dt_str_printf(to, ".SH SYNOPSIS\n.B dtrain %s\n", verb->name);
    put_roff(to, verb->operands);
    dt_str_puts(to, "\n[\\fIoptions\\fR]\n");
    if (verb->more) put_prose(to, "DESCRIPTION", verb->more);
    put_options(to, "OPTIONS", verb->options);
    put_options(to, "COMMON OPTIONS", common_options);
    dt_str_puts(to, ".SH ENVIRONMENT\n");
    put_environment(to, verb->options);
    put_environment(to, common_options);
    put_examples(to, verb->examples);
    dt_str_puts(to, ".SH SEE ALSO\n.BR dtrain (1),\n.BR dtrain\\-job (5)\n");
}

static const struct {
    int code;
    const char *meaning;
} codes[] = {
    {0, "success"},
    {64, "invalid command line"},
    {65, "data or a checkpoint is malformed, corrupt, or from another job"},
    {66, "an input is missing or cannot be opened"},
    {69, "a device, back end, library or worker is not available"},
    {70, "internal error: a bug"},
    {71, "out of memory, threads or descriptors"},
    {73, "an output cannot be created, or another job is using the run directory"},
    {74, "a read or write failed"},
    {75, "stopped by a signal or --time, state saved; run it again to resume"},
    {76, "workers disagree"},
    {77, "permission denied, or refused as unsafe"},
    {78, "the job is invalid, or does not fit"},
    {79, "diverged: the loss or a weight is not finite"},
    {80, "an --expect condition was not met"},
    {130, "ended by a second SIGINT"},
    {141, "standard output was closed (not fit, which trains to its end)"},
    {143, "ended by a second SIGTERM"},
};

static void put_verbs(dt_str *to) {
    dt_str_puts(to, ".SH VERBS\n");
    for (int i = 0; verbs[i]; i++) {
        dt_str_puts(to, ".TP\n.BR dtrain\\-");
        put_dashed(to, verbs[i]->name);
        dt_str_puts(to, " (1)\n");
        put_roff(to, verbs[i]->line);
        dt_str_putc(to, '\n');
    }
}

static void print_program(dt_str *to) {
    put_title(to, "", 1,
              "train neural networks from one YAML file, on one core or on a simulated pod");
    dt_str_puts(to, ".SH SYNOPSIS\n.B dtrain\n\\fIverb\\fR [\\fIoperands\\fR] [\\fIoptions\\fR]\n");
    put_verbs(to);
    put_options(to, "COMMON OPTIONS", common_options);
    dt_str_puts(to, ".SH ENVIRONMENT\n");
    put_environment(to, common_options);
    dt_str_puts(
        to,
        ".TP\n.B DTRAIN_INSTRUCTIONS\nbase, avx2 or avx512: takes the processor for one that has "
        "no more\n"
        ".TP\n.B DTRAIN_SECRET_FILE\nfile with the secret of a run whose workers are connected "
        "without MPI; none: no secret, on any interface\n"
        ".TP\n.B DTRAIN_INTERFACE\nname or address of the interface on which such a worker "
        "listens\n.SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        dt_str_printf(to, ".TP\n.B %d\n", codes[i].code);
        put_roff(to, codes[i].meaning);
        dt_str_putc(to, '\n');
    }
    dt_str_puts(to, ".SH SEE ALSO\n.BR dtrain\\-job (5)\n");
}

/* ---- the job file ---- */

static void put_limits(dt_str *to, const dt_job_key *k) {
    if (k->has_min && k->has_max)
        dt_str_printf(to, ", %s%.17g to %s%.17g", k->above_min ? "above " : "", k->min,
                      k->below_max ? "below " : "", k->max);
    else if (k->has_min)
        dt_str_printf(to, ", %s%.17g", k->above_min ? "above " : "at least ", k->min);
}

/* Writes the path of a key. If it has more than 60 bytes, man may break it after each dot. */
static void put_path(dt_str *to, const char *path) {
    enum { LONG = 60 };
    const bool breaks = strlen(path) > LONG;
    for (const char *dot; breaks && (dot = strchr(path, '.')); path = dot + 1)
        dt_str_printf(to, "%.*s.\\:", (int)(dot - path), path);
    put_roff(to, path);
}

static void put_key(const dt_job_key *k, void *user) {
    dt_str *to = user;
    if (k->refused) return;
    dt_str_puts(to, ".TP\n\\fB");
    put_path(to, k->path);
    dt_str_printf(to, "\\fR\n%s", k->type);
    put_limits(to, k);
    if (k->required) dt_str_puts(to, ", required");
    if (k->preset && *k->preset) {
        dt_str_puts(to, ", default ");
        put_roff(to, k->preset);
    }
    if (k->kind && !strstr(k->path, k->kind)) dt_str_printf(to, ", of %s", k->kind);
    dt_str_puts(to, "\n.br\n");
    put_roff(to, k->help ? k->help : "as in Keras");
    for (int i = 0; k->choices && k->choices[i]; i++)
        dt_str_printf(to, "%s%s", i ? ", " : ": ", k->choices[i]);
    dt_str_putc(to, '\n');
}

static void print_job(dt_str *to) {
    put_title(to, " job", 5, "what a job file may say");
    dt_str_puts(
        to,
        ".SH DESCRIPTION\nA job is a YAML file; each key may be set on the command line, too, as "
        "\\fIkey.path\\fR=\\fIvalue\\fR. An entry of a list is\n"
        "addressed by its number: model.layers.1.Dense.units=64; here it is written []. A kind "
        "(a layer, an optimizer, a loss) is a bare name or\n"
        "a mapping of one name to its keys.\n.SH KEYS\n");
    dt_job_keys(put_key, to);
    dt_str_puts(to, ".SH SEE ALSO\n.BR dtrain (1),\n.BR dtrain\\-fit (1)\n");
}

/* ---- the verb ---- */

struct man {
    struct common common;
    bool list;
};

/* Returns the verb of a page: "data synth" for "dtrain-data-synth.1"; NULL: it is not the page of a
 * verb. */
static const struct verb *verb_of(const char *page) {
    for (int i = 0; verbs[i]; i++) {
        char name[80];
        int n = snprintf(name, sizeof name, "dtrain-%s.1", verbs[i]->name);
        for (int c = 0; c < n && c < (int)sizeof name; c++)
            name[c] = name[c] == ' ' ? '-' : name[c];
        if (strcmp(name, page) == 0) return verbs[i];
    }
    return NULL;
}

static void list(dt_str *to) {
    dt_str_puts(to, "dtrain.1\ndtrain-job.5\n");
    for (int i = 0; verbs[i]; i++) {
        dt_str_puts(to, "dtrain-");
        for (const char *p = verbs[i]->name; *p; p++) dt_str_putc(to, *p == ' ' ? '-' : *p);
        dt_str_puts(to, ".1\n");
    }
}

static dt_status *print_page(const struct call *call, dt_str *to) {
    const char *page = call->operands.n ? call->operands.at[0] : "dtrain.1";
    const struct verb *verb = verb_of(page);
    if (call->operands.n > 1)
        return usage_error(call, "one page expected, got %d operands", call->operands.n);
    if (verb) print_verb(to, verb);
    else if (strcmp(page, "dtrain.1") == 0) print_program(to);
    else if (strcmp(page, "dtrain-job.5") == 0) print_job(to);
    else
        return usage_error(call, "there is no page '%s'; see 'dtrain man --list'",
                           cut_word(page).text);
    return NULL;
}

static int run(const struct call *call) {
    const struct man *my = call->settings;
    dt_local_str t = {0};
    dt_status *s = NULL;
    if (my->list) list(&t);
    else s = print_page(call, &t);
    if (!s) out_text(call->out, dt_str_text(&t));
    return out_error(call->out, s);
}

static const struct option options[] = {FLAG(struct man, list, "list", "list all pages"),
                                        OPTIONS_END};
const struct verb verb_man = {
    .name = "man",
    .group = "Other",
    .line = "print a manual page of the program, a verb or job files",
    .operands = "[PAGE]",
    .examples = "  dtrain man dtrain-fit.1 | man -l -\n  dtrain man dtrain-job.5 | man -l -      "
                "every key of a job\n  dtrain man --list\n",
    .options = options,
    .size = sizeof(struct man),
    .run = run,
};
