/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for zsh: _arguments with a specification for each option, made from the tables; keys of jobs one step at a time. */
#include <stdlib.h>
#include <string.h>

#include "complete.h"

static const char head[] =
    "#compdef dtrain\n"
    "# What dtrain's command line may go on with. Made by 'dtrain completions zsh'.\n\n";

static const char job[] =
    "# A job file, and behind it keys, one step at a time: 'fit.' before 'fit.epochs='.\n"
    "_dtrain_job() {\n"
    "    local key step\n"
    "    local -a steps\n"
    "    if (( ! ${words[(I)(-|*.(yaml|yml))]} )); then _files -g '*.(yaml|yml)'; return; fi\n"
    "    if compset -P '*='; then _dtrain_value ${IPREFIX%=}; return; fi\n"
    "    for key in $_dtrain_keys; do\n"
    "        [[ $key == \"$PREFIX\"* ]] || continue\n"
    "        step=${key#\"$PREFIX\"}\n"
    "        case $step in (*.*) steps+=(\"$PREFIX${step%%.*}.\") ;; (*) steps+=(\"$PREFIX$step=\") ;; esac\n"
    "    done\n"
    "    compadd -S '' -- ${(u)steps}\n"
    "}\n\n";

static const char runs[] =
    "# Directories with checkpoints, and what leads to one.\n"
    "_dtrain_is_run() { local -a found=($REPLY/{,*/,*/*/}ckpt(N/)); (( $#found )) }\n"
    "_dtrain_runs() { _path_files -g '*(-/+_dtrain_is_run)'; }\n\n";

static const char tail[] =
    "if [[ $funcstack[1] == _dtrain ]]; then _dtrain \"$@\"; else compdef _dtrain dtrain; fi\n";

/* Within single quotes, and within [...] or in front of ':' of a specification. */
static void put_quoted(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", to);
        else
            fprintf(to, "%s%c", strchr("[]:\\", *text) ? "\\" : "", *text);
}

/* Words of which some go on by themselves ("hbm=") have no blank behind them. */
static void put_words(FILE *to, const char *words)
{
    fprintf(to, "compadd %s-- ", strchr(words, '=') ? "-S \"\" " : "");
    for (const char *p = words; *p; p++)
        fprintf(to, "%s%c", strchr(":<>", *p) ? "\\" : "", *p);
}

/* What may follow, as one action of _arguments. */
static void put_action(FILE *to, const struct follow *f)
{
    static const struct {
        unsigned kinds;
        const char *action;
    } rows[] = {{FOLLOW_JOB | FOLLOW_KEY, "_dtrain_job"}, {FOLLOW_RUN, "_dtrain_runs"}, {FOLLOW_FILE, "_files"}, {FOLLOW_DIRECTORY, "_directories"},
                {FOLLOW_VERB, "_dtrain_helped"}, {FOLLOW_SLICE, "compadd -a _dtrain_slices"}, {FOLLOW_ERROR, "compadd -a _dtrain_errors"}};
    unsigned kinds = f->kinds & ~(unsigned)(f->kinds & FOLLOW_FILE ? FOLLOW_DIRECTORY | FOLLOW_RUN | FOLLOW_MAYBE : FOLLOW_MAYBE);
    const char *gap = "";
    fputc(kinds || *f->words ? '{' : ' ', to);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (kinds & rows[i].kinds) {
            fprintf(to, "%s%s", gap, rows[i].action);
            gap = "; ";
        }
    if (*f->words) {
        fputs(gap, to);
        put_words(to, f->words);
    }
    fputs(kinds || *f->words ? "}" : "", to);
}

/* One of the names of an option: '--steps=[help]:N:action' takes the value behind '=' or as the next word, '-C+' behind the letter, too. */
static void put_name(FILE *to, const struct option *o, bool letter)
{
    const struct follow f = follow_option(o);
    bool flag = o->kind == OPTION_FLAG, maybe = o->kind == OPTION_MAYBE;
    fprintf(to, "        '%s", o->kind == OPTION_LIST ? "*" : "");
    if (letter)
        fprintf(to, "-%c%s", o->letter, flag ? "" : "+");
    else
        fprintf(to, "--%s%s", o->name, flag ? "" : "=");
    fputc('[', to);
    put_quoted(to, o->help);
    fputc(']', to);
    if (!flag) {
        fputs(maybe ? "::" : ":", to);
        put_quoted(to, o->value);
        fputc(':', to);
        put_action(to, &f);
    }
    fputs("'\n", to);
}

static void put_options(FILE *to, const struct option *table)
{
    for (const struct option *o = table; o->name; o++) {
        put_name(to, o, false);
        if (o->letter)
            put_name(to, o, true);
    }
}

static void put_described(FILE *to, const char *name, const char *line)
{
    fputs("        '", to);
    put_quoted(to, name);
    fputc(':', to);
    put_quoted(to, line);
    fputs("'\n", to);
}

/* ---- verbs ---- */

static void put_verbs(FILE *to)
{
    fputs("_dtrain_verbs() {\n    local -a verbs=(\n", to);
    for (int i = 0; verbs[i]; i++)
        if (!strchr(verbs[i]->name, ' '))
            put_described(to, verbs[i]->name, verbs[i]->line);
    for (int g = 0; verb_group(g); g++)
        fprintf(to, "        %.*s\n", (int)strcspn(verb_group(g), " "), verb_group(g));
    fputs("    )\n    _describe -t verbs verb verbs\n}\n\n", to);
}

/* A verb of two words: the second one, or both as one. */
static void put_group(FILE *to, const char *group)
{
    int n = (int)strcspn(group, " ");
    fprintf(to, "    if [[ $verb == %.*s ]]; then\n        seconds=(\n", n, group);
    for (int i = 0; verbs[i]; i++)
        if (verb_second(verbs[i], group))
            put_described(to, verb_second(verbs[i], group), verbs[i]->line);
    fputs("        )\n        if (( ++i == CURRENT )); then _describe -t verbs verb seconds; return; fi\n        verb+=\" $words[i]\"\n    fi\n", to);
}

/* Behind `help`: a verb, or the second word of one. */
static void put_helped(FILE *to)
{
    fputs("_dtrain_helped() {\n    local -a seconds\n    if (( CURRENT == 2 )); then _dtrain_verbs; return; fi\n    case $words[2] in\n", to);
    for (int g = 0; verb_group(g); g++) {
        fprintf(to, "    (%.*s) seconds=(\n", (int)strcspn(verb_group(g), " "), verb_group(g));
        for (int i = 0; verbs[i]; i++)
            if (verb_second(verbs[i], verb_group(g)))
                put_described(to, verb_second(verbs[i], verb_group(g)), verbs[i]->line);
        fputs("        ) ;;\n", to);
    }
    fputs("    esac\n    if (( CURRENT == 3 && $#seconds )); then _describe -t verbs verb seconds; fi\n}\n\n", to);
}

static void put_verb(FILE *to, const struct verb *verb)
{
    const struct follow f = follow_operands(verb);
    fprintf(to, "    ('%s') specs=(\n", verb->name);
    put_options(to, verb->options);
    fputs("        '*: :", to);
    put_action(to, &f);
    fputs("'\n        ) ;;\n", to);
}

/* Those whose value may stand between the program and the verb. */
static void put_with_values(FILE *to)
{
    const char *gap = "";
    for (const struct option *o = common_options; o->name; o++)
        if (o->kind != OPTION_FLAG) {
            fprintf(to, "%s--%s", gap, o->name);
            gap = "|";
        }
}

static void put_main(FILE *to)
{
    fputs("_dtrain() {\n    local verb\n    local -a common seconds specs\n    integer i\n    common=(\n", to);
    put_options(to, common_options);
    fputs("    )\n    for (( i = 2; i < CURRENT; i++ )); do\n        case $words[i] in\n        (", to);
    put_with_values(to);
    fputs(") (( i++ )) ;;\n        (-*) ;;\n        (*) verb=$words[i]; break ;;\n        esac\n    done\n"
          "    if [[ -z $verb ]]; then _arguments $common '*: :_dtrain_verbs'; return; fi\n", to);
    for (int g = 0; verb_group(g); g++)
        put_group(to, verb_group(g));
    fputs("    # As if the verb were the program.\n    words=(dtrain \"${(@)words[i+1,-1]}\")\n    (( CURRENT -= i - 1 ))\n    case $verb in\n", to);
    for (int i = 0; verbs[i]; i++)
        put_verb(to, verbs[i]);
    fputs("    esac\n    _arguments $common $specs\n}\n\n", to);
}

/* ---- keys ---- */

static void put_keys(FILE *to, const struct keys *keys)
{
    fputs("typeset -ga _dtrain_keys\n_dtrain_keys=(\n", to);
    for (int i = 0; i < keys->n; i++)
        fprintf(to, "    %s\n", keys->at[i].path);
    fputs(")\n\n# What the key $1 may be.\n_dtrain_value() {\n    case $1 in\n", to);
    for (int i = 0; i < keys->n; i++)
        if (*keys->at[i].values)
            fprintf(to, "    (%s) compadd -- %s ;;\n", keys->at[i].path, keys->at[i].values);
    fputs("    esac\n}\n\n", to);
}

static void put_list(FILE *to, const char *name, char *words)
{
    fprintf(to, "typeset -ga _dtrain_%s\n_dtrain_%s=(%s)\n", name, name, words);
    free(words);
}

static void print(FILE *to, const struct keys *keys)
{
    fputs(head, to);
    put_keys(to, keys);
    fputs(job, to);
    fputs(runs, to);
    put_list(to, "slices", slice_words());
    put_list(to, "errors", error_words());
    put_verbs(to);
    put_helped(to);
    put_main(to);
    fputs(tail, to);
}

const struct shell shell_zsh = {"zsh", print};
