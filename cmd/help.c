/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain help: the usage screen and the page of a verb, both made from the tables. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "text.h"
#include "verb.h"

enum { NAME_COLUMN = 24, GROUP_COLUMN = 11, SCREEN = 76 };

static void put_group(FILE *to, const char *group, int screen) {
    int at = fprintf(to, "%-*s", GROUP_COLUMN, group);
    for (int i = 0; verbs[i]; i++) {
        const int width = (int)strlen(verbs[i]->name);
        if (strcmp(verbs[i]->group, group) != 0) continue;
        if (at + width > screen) at = fprintf(to, "\n%*s", GROUP_COLUMN, "") - 1;
        at += fprintf(to, "%s%s", at > GROUP_COLUMN ? "  " : "", verbs[i]->name);
    }
    fputc('\n', to);
}

static void put_usage(FILE *to, int screen) {
    fputs("Train neural networks from one YAML file, on one core or on a simulated pod.\n\n"
          "  dtrain config init tabular > job.yaml    write a job to start from\n"
          "  dtrain validate job.yaml                 report all errors of a job at once\n"
          "  dtrain fit job.yaml                      train; run it again to resume\n"
          "  dtrain topology --tpu v3-8               draw a slice and its cores\n\n",
          to);
    static const char *const groups[] = {"Train", "Check", "Inspect", "Other"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) put_group(to, groups[i], screen);
    fputs("\nRun 'dtrain help VERB' for options and examples,\n'dtrain help Dense' for the keys of "
          "a layer, an optimizer, a loss, ...\n",
          to);
}

void usage_print(FILE *to) { put_usage(to, SCREEN); }

/* "  -C, --directory DIR     ": the part of a line that names an option. */
static void put_names(FILE *to, const struct option *o) {
    struct text name;
    text_open(&name);
    if (o->letter) fprintf(name.to, "  -%c, --%s", o->letter, o->name);
    else fprintf(name.to, "      --%s", o->name);
    if (o->kind == OPTION_MAYBE) fprintf(name.to, "[=%s]", o->value);
    else if (o->value) fprintf(name.to, " %s", o->value);
    fprintf(to, "%-*s  ", NAME_COLUMN, text_bytes(&name));
    text_close(&name);
}

static void put_notes(FILE *to, const struct option *o) {
    char env[64];
    for (int i = 0; o->choices && o->choices[i]; i++)
        fprintf(to, "%s%s", i ? ", " : ": ", o->choices[i]);
    if (o->kind == OPTION_CHOICE) fprintf(to, " (default %s)", o->choices[o->fallback]);
    if (o->kind == OPTION_LIST) fputs("; may be repeated", to);
    if (o->env) {
        option_env_name(o, env, sizeof env);
        fprintf(to, " [%s]", env);
    }
}

static void put_options(FILE *to, const char *title, const struct option *table) {
    if (!table->name) return;
    fprintf(to, "\n%s\n", title);
    for (const struct option *o = table; o->name; o++) {
        put_names(to, o);
        fputs(o->help, to);
        put_notes(to, o);
        fputc('\n', to);
    }
}

static void verb_print(FILE *to, const struct verb *verb) {
    fprintf(to, "dtrain %s: %s\n\nExamples\n%s\nUsage\n  dtrain %s%s%s [options]\n", verb->name,
            verb->line, verb->examples, verb->name, *verb->operands ? " " : "", verb->operands);
    put_options(to, "Options", verb->options);
    put_options(to, "Common options", common_options);
    if (verb->more) fprintf(to, "\n%s", verb->more);
}

void help_show(struct out *out, const struct verb *verb) {
    struct text page;
    text_open(&page);
    if (verb) verb_print(page.to, verb);
    else put_usage(page.to, INT_MAX);
    out_page(out, text_bytes(&page));
    text_close(&page);
}

/* ---- the verb ---- */

struct help {
    struct common common;
};

/* What a word can be the name of: a verb, else something of a job file. */
static dt_status *unknown_topic(const struct call *call, dt_status *no_verb) {
    const char *name = call->operands.at[0];
    char *nearest = kinds_nearest(name);
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
    free(nearest);
    return s;
}

/* False: nothing of a job file is called so. */
static bool show_kind(struct out *out, const char *name) {
    struct text page;
    text_open(&page);
    bool known = kinds_put(page.to, name);
    if (known) out_page(out, text_bytes(&page));
    text_close(&page);
    return known;
}

/* The verbs that begin with `word`, as those of `ckpt`. False: there are none. */
static bool show_group(struct out *out, const char *word) {
    const size_t n = strlen(word);
    struct text page;
    bool any = false;
    text_open(&page);
    for (int i = 0; verbs[i]; i++) {
        if (strncmp(verbs[i]->name, word, n) != 0 || verbs[i]->name[n] != ' ') continue;
        fprintf(page.to, "  dtrain %-18s  %s\n", verbs[i]->name, verbs[i]->line);
        any = true;
    }
    fprintf(page.to, "\nRun 'dtrain help VERB' for options and examples.\n");
    if (any) out_page(out, text_bytes(&page));
    text_close(&page);
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
