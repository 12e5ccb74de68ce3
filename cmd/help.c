/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain help: the usage screen and the page of a verb, both made from the tables. */
#include <string.h>

#include "text.h"
#include "verb.h"

enum { NAME_COLUMN = 24 };

static void put_group(FILE *to, const char *group)
{
    fprintf(to, "%-11s", group);
    const char *gap = "";
    for (int i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->group, group) == 0) {
            fprintf(to, "%s%s", gap, verbs[i]->name);
            gap = "  ";
        }
    fputc('\n', to);
}

void usage_print(FILE *to)
{
    fputs("Train models on one core or on a simulated pod, from one YAML file.\n\n"
          "  dtrain fit configs/quickstart.yaml         train; the same again goes on\n"
          "  dtrain validate configs/quickstart.yaml    all errors of a job at once\n"
          "  dtrain topology --tpu v3-8                 a slice and its cores, drawn\n\n", to);
    static const char *const groups[] = {"Work", "Check", "Look", "Other"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        put_group(to, groups[i]);
    fputs("\n'dtrain help VERB' shows options and examples.\n", to);
}

/* "  -C, --directory DIR     ": the part of a line that names an option. */
static void put_names(FILE *to, const struct option *o)
{
    struct text name;
    text_open(&name);
    if (o->letter)
        fprintf(name.to, "  -%c, --%s", o->letter, o->name);
    else
        fprintf(name.to, "      --%s", o->name);
    if (o->kind == OPTION_MAYBE)
        fprintf(name.to, "[=%s]", o->value);
    else if (o->value)
        fprintf(name.to, " %s", o->value);
    fprintf(to, "%-*s  ", NAME_COLUMN, text_bytes(&name));
    text_close(&name);
}

static void put_notes(FILE *to, const struct option *o)
{
    char env[64];
    for (int i = 0; o->choices && o->choices[i]; i++)
        fprintf(to, "%s%s", i ? ", " : ": ", o->choices[i]);
    if (o->kind == OPTION_CHOICE)
        fprintf(to, " (default %s)", o->choices[o->fallback]);
    if (o->kind == OPTION_LIST)
        fputs("; may be repeated", to);
    if (o->env) {
        option_env_name(o, env, sizeof env);
        fprintf(to, " [%s]", env);
    }
}

static void put_options(FILE *to, const char *title, const struct option *table)
{
    if (!table->name)
        return;
    fprintf(to, "\n%s\n", title);
    for (const struct option *o = table; o->name; o++) {
        put_names(to, o);
        fputs(o->help, to);
        put_notes(to, o);
        fputc('\n', to);
    }
}

static void verb_print(FILE *to, const struct verb *verb)
{
    fprintf(to, "dtrain %s: %s\n\nExamples\n%s\nUsage\n  dtrain %s%s%s [options]\n", verb->name, verb->line, verb->examples, verb->name,
            *verb->operands ? " " : "", verb->operands);
    put_options(to, "Options", verb->options);
    put_options(to, "Common options", common_options);
    if (verb->more)
        fprintf(to, "\n%s", verb->more);
}

void help_show(struct out *out, const struct verb *verb)
{
    struct text page;
    text_open(&page);
    if (verb)
        verb_print(page.to, verb);
    else
        usage_print(page.to);
    out_page(out, text_bytes(&page));
    text_close(&page);
}

/* ---- the verb ---- */

struct help {
    struct common common;
};

static int run(const struct call *call)
{
    const struct verb *verb = NULL;
    dt_status *s = NULL;
    int used = 0;
    if (call->operands.n)
        verb = verb_find(&call->operands, &used, &s);
    if (!s && used < call->operands.n)
        s = usage_error(call, "one verb expected, got '%s', too", cut_word(call->operands.at[used]).text);
    if (s)
        return out_error(call->out, s);
    help_show(call->out, verb);
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_help = {
    .name = "help",
    .group = "Other",
    .line = "show what a verb does, its options and examples",
    .operands = "[VERB]",
    .examples = "  dtrain help fit\n",
    .options = options,
    .size = sizeof(struct help),
    .run = run,
};
