/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions for bash: tables in `case`s, and one function that walks over the words before the cursor. bash cuts words at '=' and ':', so the
 * function cuts the line itself, at blanks, and gives back what stands behind the last of these characters. A word cut at '@' keeps it.
 */
#include <stdlib.h>
#include <string.h>

#include "complete.h"

static const char head[] =
    "# What dtrain's command line may go on with. Made by 'dtrain completions bash'.\n"
    "\n"
    "# $1: the verb; $2: an option. Sets words, and kinds: f(iles), d(irectories), r(uns), m(aybe none at all), or n(othing) where it takes no value.\n";

static const char walk[] =
    "# Keys one step at a time: 'fit.' before 'fit.epochs='.\n"
    "_dtrain_add_keys() {\n"
    "    local key step\n"
    "    local -A told=()\n"
    "    for key in \"${_dtrain_keys[@]}\"; do\n"
    "        if [[ $key != \"$1\"* ]]; then continue; fi\n"
    "        step=${key#\"$1\"}\n"
    "        case $step in *.*) step=${step%%.*}. ;; *) step+='=' ;; esac\n"
    "        if [[ -z ${told[$step]-} ]]; then told[$step]=1 COMPREPLY+=(\"$1$step\"); fi\n"
    "    done\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "# $1: kinds; $2: a file. A run has checkpoints, and what leads to one is offered, too.\n"
    "_dtrain_fits() {\n"
    "    case $1 in *f*) return 0 ;; esac\n"
    "    if [[ $1 == *d* && -d $2 ]]; then return 0; fi\n"
    "    if [[ $1 == *j* && ( -d $2 || $2 == *.yaml || $2 == *.yml ) ]]; then return 0; fi\n"
    "    [[ $1 == *r* ]] && { [[ -d $2/ckpt ]] || compgen -G \"$2/*/ckpt\" || compgen -G \"$2/*/*/ckpt\"; } >/dev/null\n"
    "}\n"
    "\n"
    "_dtrain_add_files() {\n"
    "    local file\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r file; do\n"
    "        if _dtrain_fits \"$1\" \"$file\"; then COMPREPLY+=(\"$file\"); fi\n"
    "    done < <(compgen -f -- \"$2\")\n"
    "}\n"
    "\n"
    "# Whether the word $1 is a value where one may be missing.\n"
    "_dtrain_is_free() { case $1 in -* | *=* | *.yaml | *.yml) return 1 ;; esac; }\n"
    "\n"
    "_dtrain() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} cur='' verb='' before='' job='' words='' kinds='' options='' maybe='' quote='' word i\n"
    "    local -a past\n"
    "    COMPREPLY=()\n"
    "    read -ra past <<<\"$line\"\n"
    "    if [[ $line != *[[:space:]] ]]; then cur=${past[-1]} && unset 'past[-1]'; fi\n"
    "    for ((i = 1; i < ${#past[@]}; i++)); do\n"
    "        word=${past[i]}\n"
    "        kinds=n words=''\n"
    "        if [[ $before == -* && $before != *=* ]]; then _dtrain_value \"$verb\" \"$before\"; fi\n"
    "        before=$word\n"
    "        if [[ $kinds == *m* ]] && ! _dtrain_is_free \"$word\"; then kinds=n words=''; fi\n"
    "        if [[ $kinds != n || -n $words ]]; then before='' && continue; fi\n"
    "        case $word in\n"
    "        -?*) ;;\n"
    "        *.yaml | *.yml | -) job=yes ;;\n"
    "        *) case \" $_dtrain_verbs \" in *\" ${verb:+$verb+}$word \"*) verb=${verb:+$verb+}$word ;; esac ;;\n"
    "        esac\n"
    "    done\n"
    "    kinds=n words=''\n"
    "    if [[ $before == -* && $before != *=* ]]; then _dtrain_value \"$verb\" \"$before\"; fi\n"
    "    if [[ $kinds == *m* ]]; then kinds=n maybe=$words words=''; fi\n"
    "    case $cur in [\\'\\\"]*) quote=${cur:0:1} cur=${cur:1} ;; esac\n"
    "    if [[ $kinds == n && -z $words ]]; then\n"
    "        case $cur in\n"
    "        --*=*) _dtrain_value \"$verb\" \"${cur%%=*}\"; maybe='' cur=${cur#*=} ;;\n"
    "        -*) _dtrain_verb \"$verb\"; kinds='' words=$options ;;\n"
    "        *=*) _dtrain_key \"${cur%%=*}\"; cur=${cur#*=} ;;\n"
    "        *) _dtrain_verb \"$verb\" ;;\n"
    "        esac\n"
    "    fi\n"
    "    case $kinds in *k*) if [[ -n $job ]]; then _dtrain_add_keys \"$cur\" && kinds=${kinds//[jk]/}; fi ;; esac\n"
    "    case $kinds in *[fdjr]*) _dtrain_add_files \"$kinds\" \"$cur\" ;; esac\n"
    "    # shellcheck disable=SC2207 # words of our own, without blanks\n"
    "    COMPREPLY+=($(compgen -W \"$words $maybe\" -- \"$cur\"))\n"
    "    case ${COMPREPLY[0]-} in *[\\<\\>]=) compopt -o filenames 2>/dev/null ;; esac\n"
    "    case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
    "    word=${cur##*[=:]}\n"
    "    case $word in *@*) word=@${word##*@} ;; esac\n"
    "    if [[ -z $quote ]]; then COMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"$word\"}\"}\"); fi\n"
    "}\n"
    "complete -F _dtrain dtrain\n";

/* "data+synth": a verb as one word. */
static void put_verb(FILE *to, const char *name)
{
    for (; *name; name++)
        fputc(*name == ' ' ? '+' : *name, to);
}

/* Of all verbs, each once. */
static void put_first_words(FILE *to)
{
    for (int i = 0; verbs[i]; i++)
        if (!strchr(verbs[i]->name, ' '))
            fprintf(to, " %s", verbs[i]->name);
    for (int g = 0; verb_group(g); g++)
        fprintf(to, " %.*s", (int)strcspn(verb_group(g), " "), verb_group(g));
}

static void put_follow(FILE *to, const struct follow *f)
{
    static const struct {
        unsigned kind;
        char letter;
    } letters[] = {{FOLLOW_FILE, 'f'}, {FOLLOW_DIRECTORY, 'd'}, {FOLLOW_JOB, 'j'}, {FOLLOW_KEY, 'k'}, {FOLLOW_RUN, 'r'}, {FOLLOW_MAYBE, 'm'}};
    fputs("kinds='", to);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (f->kinds & letters[i].kind)
            fputc(letters[i].letter, to);
    fprintf(to, "' words=\"%s", f->words);
    if (f->kinds & FOLLOW_VERB)
        put_first_words(to);
    fprintf(to, "%s%s\" ;;\n", f->kinds & FOLLOW_SLICE ? "$_dtrain_slices" : "", f->kinds & FOLLOW_ERROR ? "$_dtrain_errors" : "");
}

/* ---- values of options ---- */

static void put_values(FILE *to, const char *verb, const struct option *table)
{
    for (const struct option *o = table; o->name; o++) {
        const struct follow f = follow_option(o);
        if (o->kind == OPTION_FLAG)
            continue;
        fputs("    ", to);
        put_verb(to, verb);
        fprintf(to, "' --%s'", o->name);
        if (o->letter) {
            fputs(" | ", to);
            put_verb(to, verb);
            fprintf(to, "' -%c'", o->letter);
        }
        fputs(") ", to);
        put_follow(to, &f);
    }
}

static void put_value_function(FILE *to)
{
    fputs("_dtrain_value() {\n    kinds=n words=''\n    case \"$1 $2\" in\n", to);
    for (int i = 0; verbs[i]; i++)
        put_values(to, verbs[i]->name, verbs[i]->options);
    put_values(to, "*", common_options);
    fputs("    esac\n}\n\n", to);
}

/* ---- verbs ---- */

static void put_options(FILE *to, const struct option *table)
{
    for (const struct option *o = table; o->name; o++) {
        fprintf(to, " --%s", o->name);
        if (o->letter)
            fprintf(to, " -%c", o->letter);
    }
}

static void put_verb_function(FILE *to)
{
    fputs("# $1: the verb. Sets options, and words and kinds of its operands: f, d, j(obs), k(eys).\n_dtrain_verb() {\n    case $1 in\n", to);
    for (int i = 0; verbs[i]; i++) {
        const struct follow f = follow_operands(verbs[i]);
        fputs("    ", to);
        put_verb(to, verbs[i]->name);
        fputs(") options='", to);
        put_options(to, verbs[i]->options);
        put_options(to, common_options);
        fputs("' ", to);
        put_follow(to, &f);
    }
    for (int g = 0; verb_group(g); g++) {
        const int n = (int)strcspn(verb_group(g), " ");
        fprintf(to, "    %.*s | help+%.*s) kinds='' words='", n, verb_group(g), n, verb_group(g));
        for (int i = 0; verbs[i]; i++)
            if (verb_second(verbs[i], verb_group(g)))
                fprintf(to, " %s", verb_second(verbs[i], verb_group(g)));
        fputs("' options='", to);
        put_options(to, common_options);
        fputs("' ;;\n", to);
    }
    fputs("    help+*) kinds='' words='' options='", to);
    put_options(to, common_options);
    fputs("' ;;\n", to);
    fputs("    *) kinds='''' words='", to);
    put_first_words(to);
    fputs("' options='", to);
    put_options(to, common_options);
    fputs("' ;;\n    esac\n}\n\n", to);
}

/* Behind `help` any verb, once. */
static void put_verbs(FILE *to, const char *before)
{
    for (int i = 0; verbs[i]; i++) {
        fprintf(to, " %s", before);
        put_verb(to, verbs[i]->name);
    }
    for (int g = 0; verb_group(g); g++)
        fprintf(to, " %s%.*s", before, (int)strcspn(verb_group(g), " "), verb_group(g));
}

static void put_verb_list(FILE *to)
{
    fputs("_dtrain_verbs='", to);
    put_verbs(to, "");
    put_verbs(to, "help+");
    fputs("'\n", to);
}

/* ---- keys ---- */

static void put_keys(FILE *to, const struct keys *keys)
{
    fputs("_dtrain_keys=(\n", to);
    for (int i = 0; i < keys->n; i++)
        fprintf(to, "    %s\n", keys->at[i].path);
    fputs(")\n\n# $1: a key. Sets the words that it may be.\n_dtrain_key() {\n    kinds='' words=''\n    case $1 in\n", to);
    for (int i = 0; i < keys->n; i++)
        if (*keys->at[i].values)
            fprintf(to, "    %s) words='%s' ;;\n", keys->at[i].path, keys->at[i].values);
    fputs("    esac\n}\n\n", to);
}

static void put_list(FILE *to, const char *name, char *words)
{
    fprintf(to, "_dtrain_%s='%s'\n", name, words);
    free(words);
}

static void print(FILE *to, const struct keys *keys)
{
    fputs(head, to);
    put_value_function(to);
    put_verb_function(to);
    put_verb_list(to);
    put_list(to, "slices", slice_words());
    put_list(to, "errors", error_words());
    put_keys(to, keys);
    fputs(walk, to);
}

const struct shell shell_bash = {"bash", print};
