/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for fish: one `complete` for each option of each verb, under the condition that the verb stands before the cursor. */
#include <stdlib.h>
#include <string.h>

#include "complete.h"

static const char head[] =
    "# What dtrain's command line may go on with. Made by 'dtrain completions fish'.\n\n"
    "# Whether the verb before the cursor is $argv[1], words of a verb joined by '+'.\n"
    "function __dtrain_is\n"
    "    set -l verb\n"
    "    for word in (commandline -opc)[2..-1]\n"
    "        if contains -- (string join -- + $verb $word) $__dtrain_verbs\n"
    "            set verb (string join -- + $verb $word)\n"
    "        end\n"
    "    end\n"
    "    test \"$verb\" = \"$argv[1]\"\n"
    "end\n\n"
    "# A job file, and behind it keys, and behind '=' what they may be.\n"
    "function __dtrain_job\n"
    "    if not string match -qr '^(-|.*\\.ya?ml)$' -- (commandline -opc)[2..-1]\n"
    "        string match -r '.*(?:\\.ya?ml|/)(?:\\t.*)?$' -- (__fish_complete_path (commandline -ct))\n"
    "    else if string match -q '*=*' -- (commandline -ct)\n"
    "        printf '%s\\n' $__dtrain_values\n"
    "    else\n"
    "        printf '%b\\n' $__dtrain_keys\n"
    "    end\n"
    "end\n\n"
    "# Directories with checkpoints, and what leads to one.\n"
    "function __dtrain_runs\n"
    "    for dir in (__fish_complete_directories (commandline -ct) '')\n"
    "        set -l name (string replace -r '\\t.*' '' -- $dir)\n"
    "        set -l found $name/ckpt $name*/ckpt $name*/*/ckpt\n"
    "        test -d \"$found[1]\" -o (count $found) -gt 1; and echo $dir\n"
    "    end\n"
    "end\n\n"
    "# Whether the word before the cursor's is one of $argv, whose values may be missing.\n"
    "function __dtrain_behind\n"
    "    contains -- (commandline -opc)[-1] $argv\n"
    "end\n\n"
    "complete -c dtrain -f\n";

static void put_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        fprintf(to, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    fputc('\'', to);
}

/* "data+synth": a verb as one word. */
static void put_verb_name(FILE *to, const char *name)
{
    for (; *name; name++)
        fputc(*name == ' ' ? '+' : *name, to);
}

static void put_begin(FILE *to, const char *verb)
{
    fputs("complete -c dtrain", to);
    if (verb) {
        fputs(" -n '__dtrain_is ", to);
        put_verb_name(to, verb);
        fputc('\'', to);
    }
}

/* All that may follow is one word for fish, the argument of one -a. */
static void put_follow(FILE *to, const struct follow *f)
{
    static const struct {
        unsigned kinds;
        const char *words;
    } rows[] = {{FOLLOW_JOB | FOLLOW_KEY, "(__dtrain_job)"}, {FOLLOW_RUN, "(__dtrain_runs)"}, {FOLLOW_DIRECTORY, "(__fish_complete_directories)"},
                {FOLLOW_SLICE, "$__dtrain_slices"}, {FOLLOW_ERROR, "$__dtrain_errors"}, {FOLLOW_VERB, "(string match -v \"*+*\" $__dtrain_verbs)"}};
    const unsigned kinds = f->kinds & FOLLOW_FILE ? f->kinds & ~(unsigned)(FOLLOW_RUN | FOLLOW_DIRECTORY) : f->kinds;
    fputs(kinds & FOLLOW_FILE ? " -F" : "", to);
    if (!(kinds & ~(unsigned)(FOLLOW_FILE | FOLLOW_MAYBE)) && !*f->words)
        return;
    fputs(" -a '", to);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (kinds & rows[i].kinds)
            fprintf(to, "%s ", rows[i].words);
    for (const char *p = f->words; *p; p++)
        fprintf(to, "%s%c", strchr("<>", *p) ? "\\" : "", *p);
    fputc('\'', to);
}

/* A value that may be missing is none of the option's own for fish. */
static void put_maybe(FILE *to, const char *verb, const struct option *o, const struct follow *f)
{
    fputs("complete -c dtrain -n '__dtrain_is ", to);
    put_verb_name(to, verb);
    fprintf(to, "; and __dtrain_behind --%s'", o->name);
    put_follow(to, f);
    fputc('\n', to);
}

static void put_options(FILE *to, const char *verb, const struct option *table)
{
    for (const struct option *o = table; o->name; o++) {
        const struct follow f = follow_option(o);
        put_begin(to, verb);
        fprintf(to, " -l %s", o->name);
        if (o->letter)
            fprintf(to, " -s %c", o->letter);
        if (o->kind != OPTION_FLAG && o->kind != OPTION_MAYBE)
            fputs(f.kinds & FOLLOW_FILE ? " -r" : " -x", to);
        if (o->kind != OPTION_FLAG)
            put_follow(to, &f);
        fputs(" -d ", to);
        put_quoted(to, o->help);
        fputc('\n', to);
        if (o->kind == OPTION_MAYBE)
            put_maybe(to, verb, o, &f);
    }
}

/* A word of a verb: after nothing, or after the first of two. */
static void put_word(FILE *to, const char *after, const char *word, const char *line)
{
    int n = (int)strcspn(after, " ");
    fprintf(to, "complete -c dtrain -n '__dtrain_is \"%.*s\"' -a %.*s -d ", n, after, (int)strcspn(word, " "), word);
    put_quoted(to, line);
    fputc('\n', to);
}

static void put_verb(FILE *to, const struct verb *verb)
{
    const struct follow f = follow_operands(verb);
    if (!strchr(verb->name, ' '))
        put_word(to, "", verb->name, verb->line);
    put_options(to, verb->name, verb->options);
    if (!f.kinds && !*f.words)
        return;
    put_begin(to, verb->name);
    put_follow(to, &f);
    fputc('\n', to);
}

static void put_group(FILE *to, const char *group)
{
    char helped[64];
    snprintf(helped, sizeof helped, "help+%.*s", (int)strcspn(group, " "), group);
    put_word(to, "", group, "");
    for (int i = 0; verbs[i]; i++)
        if (verb_second(verbs[i], group)) {
            put_word(to, group, verb_second(verbs[i], group), verbs[i]->line);
            put_word(to, helped, verb_second(verbs[i], group), verbs[i]->line);
        }
}

/* Behind `help` any verb, once. */
static void put_verbs(FILE *to, const char *before)
{
    for (int i = 0; verbs[i]; i++) {
        fprintf(to, " %s", before);
        put_verb_name(to, verbs[i]->name);
    }
    for (int g = 0; verb_group(g); g++)
        fprintf(to, " %s%.*s", before, (int)strcspn(verb_group(g), " "), verb_group(g));
}

static void put_verb_list(FILE *to)
{
    fputs("set -g __dtrain_verbs", to);
    put_verbs(to, "");
    put_verbs(to, "help+");
    fputc('\n', to);
}

/* ---- keys ---- */

/* "fit.epochs=" with its help behind a tab. */
static void put_keys(FILE *to, const struct keys *keys)
{
    fputs("set -g __dtrain_keys", to);
    for (int i = 0; i < keys->n; i++) {
        fprintf(to, " \\\n    %s=\\\\t", keys->at[i].path);
        put_quoted(to, keys->at[i].help);
    }
    fputs("\n", to);
}

/* "dataset.last_batch=pad": each value that is known. */
static void put_key_values(FILE *to, const struct keys *keys)
{
    fputs("set -g __dtrain_values", to);
    for (int i = 0; i < keys->n; i++)
        for (const char *p = keys->at[i].values; *p;) {
            size_t n = strcspn(p, " ");
            fprintf(to, " \\\n    %s=%.*s", keys->at[i].path, (int)n, p);
            p += n + (p[n] == ' ');
        }
    fputs("\n\n", to);
}

static void put_list(FILE *to, const char *name, char *words)
{
    fprintf(to, "set -g __dtrain_%s %s\n", name, words);
    free(words);
}

static void print(FILE *to, const struct keys *keys)
{
    put_verb_list(to);
    put_list(to, "slices", slice_words());
    put_list(to, "errors", error_words());
    put_keys(to, keys);
    put_key_values(to, keys);
    fputs(head, to);
    put_options(to, NULL, common_options);
    for (int g = 0; verb_group(g); g++)
        put_group(to, verb_group(g));
    for (int i = 0; verbs[i]; i++)
        put_verb(to, verbs[i]);
}

const struct shell shell_fish = {"fish", print};
