/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain help: prints the usage screen, the page of a verb, or keys of job files, generated from
 * the tables. */
#include <limits.h>
#include <string.h>

#include "kinds.h"
#include "print.h"
#include "verb.h"

enum { NAME_COLUMN = 24, GROUP_COLUMN = 11, SCREEN = 76 };

static void put_group(dt_str *to, const char *group, int screen) {
    size_t line = to->size;
    dt_str_printf(to, "%-*s", GROUP_COLUMN, group);
    for (int i = 0; verbs[i]; i++) {
        if (strcmp(verbs[i]->group, group) != 0) continue;
        if (to->size - line + strlen(verbs[i]->name) > (size_t)screen) {
            dt_str_putc(to, '\n');
            line = to->size;
            dt_str_printf(to, "%*s", GROUP_COLUMN, "");
        }
        dt_str_printf(to, "%s%s", to->size - line > GROUP_COLUMN ? "  " : "", verbs[i]->name);
    }
    dt_str_putc(to, '\n');
}

static void put_usage(dt_str *to, int screen) {
    dt_str_puts(to,
                "Train neural networks from one YAML file, on one core or on a simulated pod.\n\n"
                "  dtrain config init tabular > job.yaml    write a job to start from\n"
                "  dtrain validate job.yaml                 report all errors of a job at once\n"
                "  dtrain fit job.yaml                      train; run it again to resume\n"
                "  dtrain topology --tpu v3-8               draw a slice and its cores\n\n");
    static const char *const groups[] = {"Train", "Check", "Inspect", "Other"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) put_group(to, groups[i], screen);
    dt_str_puts(
        to,
        "\nRun 'dtrain help VERB' for options and examples,\n'dtrain help Dense' for the keys of "
        "a layer, an optimizer, a loss, ...\n");
}

void usage_print(void) {
    dt_local_str page = {0};
    put_usage(&page, SCREEN);
    fputs(dt_str_text(&page), stderr);
}

/* Writes the names of an option as help pages show them: " -C, --directory DIR ". */
static void put_names(dt_str *to, const struct option *o) {
    dt_local_str name = {0};
    if (o->letter) dt_str_printf(&name, "  -%c, --%s", o->letter, o->name);
    else dt_str_printf(&name, "      --%s", o->name);
    if (o->kind == OPTION_MAYBE) dt_str_printf(&name, "[=%s]", o->value);
    else if (o->value) dt_str_printf(&name, " %s", o->value);
    dt_str_printf(to, "%-*s  ", NAME_COLUMN, dt_str_text(&name));
}

static void put_notes(dt_str *to, const struct option *o) {
    char env[64];
    for (int i = 0; o->choices && o->choices[i]; i++)
        dt_str_printf(to, "%s%s", i ? ", " : ": ", o->choices[i]);
    if (o->kind == OPTION_CHOICE) dt_str_printf(to, " (default %s)", o->choices[o->fallback]);
    if (o->kind == OPTION_LIST) dt_str_puts(to, "; may be repeated");
    if (o->env) {
        option_env_name(o, env, sizeof env);
        dt_str_printf(to, " [%s]", env);
    }
}

static void put_options(dt_str *to, const char *title, const struct option *table) {
    if (!table->name) return;
    dt_str_printf(to, "\n%s\n", title);
    for (const struct option *o = table; o->name; o++) {
        put_names(to, o);
        dt_str_puts(to, o->help);
        put_notes(to, o);
        dt_str_putc(to, '\n');
    }
}

static void verb_print(dt_str *to, const struct verb *verb) {
    dt_str_printf(to, "dtrain %s: %s\n\nExamples\n%s\nUsage\n  dtrain %s%s%s [options]\n",
                  verb->name, verb->line, verb->examples, verb->name, *verb->operands ? " " : "",
                  verb->operands);
    put_options(to, "Options", verb->options);
    put_options(to, "Common options", common_options);
    if (verb->more) dt_str_printf(to, "\n%s", verb->more);
}

void help_show(struct out *out, const struct verb *verb) {
    dt_local_str page = {0};
    if (verb) verb_print(&page, verb);
    else put_usage(&page, INT_MAX);
    out_page(out, dt_str_text(&page));
}

struct help {
    struct common common;
};

/* Returns the error about a topic of `help` that is neither a verb nor a name in job files.
 * no_verb, the error about an unknown verb, is returned if it suggests a verb. Otherwise it is
 * freed, and the error suggests the most similar name in job files, if there is one. */
static dt_status *unknown_topic(const struct call *call, dt_status *no_verb) {
    const char *name = call->operands.at[0];
    DT_LOCAL char *nearest = kinds_nearest(name);
    dt_status *s = no_verb;
    if (!strstr(dt_status_text(no_verb), "did you mean")) {
        dt_status_free(no_verb);
        s = nearest
                ? usage_error(call,
                              "'%s' is neither a verb nor a name of a job file; did you mean '%s'?",
                              cut_word(name).text, nearest)
                : usage_error(call,
                              "'%s' is neither a verb nor a layer, optimizer, loss or other name "
                              "of a job file",
                              cut_word(name).text);
    }
    return s;
}

/* Prints the keys of the layer, metric or other kind, or of the section, that has this name.
 * Returns false if the name is unknown. */
static bool show_kind(struct out *out, const char *name) {
    dt_local_str page = {0};
    bool known = kinds_put(&page, name);
    if (known) out_page(out, dt_str_text(&page));
    return known;
}

/* Lists the verbs that begin with `word`, such as those of `ckpt`. Returns false if no verb
 * does. */
static bool show_group(struct out *out, const char *word) {
    const size_t n = strlen(word);
    dt_local_str page = {0};
    bool any = false;
    for (int i = 0; verbs[i]; i++) {
        if (strncmp(verbs[i]->name, word, n) != 0 || verbs[i]->name[n] != ' ') continue;
        dt_str_printf(&page, "  dtrain %-18s  %s\n", verbs[i]->name, verbs[i]->line);
        any = true;
    }
    dt_str_printf(&page, "\nRun 'dtrain help VERB' for options and examples.\n");
    if (any) out_page(out, dt_str_text(&page));
    return any;
}

static int run(const struct call *call) {
    const char *word = call->operands.n == 1 ? call->operands.at[0] : NULL;
    const struct verb *verb = NULL;
    dt_status *s = NULL;
    int used = 0;
    if (call->operands.n) verb = verb_find(&call->operands, &used, &s);
    if (s && word && (show_group(call->out, word) || show_kind(call->out, word))) {
        dt_status_free(s);
        return 0;
    }
    if (!s && used < call->operands.n)
        s = usage_error(call, "one verb expected, got '%s', too",
                        cut_word(call->operands.at[used]).text);
    else if (s && word) s = unknown_topic(call, s);
    if (s) return out_error(call->out, s);
    help_show(call->out, verb);
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_help = {
    .name = "help",
    .group = "Other",
    .line = "show help for a verb, or the keys of a layer, optimizer, loss, ...",
    .operands = "[VERB|NAME]",
    .examples = "  dtrain help fit       options and examples of a verb\n"
                "  dtrain help Dense     keys of a layer, optimizer, loss, metric, callback or "
                "step of map\n",
    .options = options,
    .size = sizeof(struct help),
    .run = run,
};
