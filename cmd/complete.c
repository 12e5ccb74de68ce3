/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes command lines for shells:
 *
 *     dtrain __complete SHELL WORD...     the words after `dtrain` up to the cursor; the last one
 *                                         is incomplete, and may be empty
 *
 * Prints a line for each word that the last one may become, followed by a tab and its meaning.
 * After a word that ends in '=' or '.', the user continues to type. The shell itself lists files:
 * the lines ":files PREFIX", ":directories PREFIX", ":jobs PREFIX" and ":runs PREFIX" ask for them,
 * where PREFIX is what precedes the path in the last word. Proposals follow from the words that the
 * tables of verbs have for operands and values ("JOB [key.path=value...]", "FILE"), and from the
 * keys of job files, so that nothing is written twice. The code for shells is in cmd/shell.
 */
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "verb.h"

/* A command line that is being typed. */
struct line {
    struct words words; /* all words of the command line before the last one */
    const char *last;
    char path[64];           /* the verb's words that have been typed so far, such as "help ckpt" */
    const struct verb *verb; /* the verb that was typed; NULL if it is not complete yet */
    const struct option *pending; /* the option whose value is the last word; NULL: none */
    bool job;                     /* whether one of the operands is a job file */
    /* Whether to propose whole keys of a job at once, for shells that match the typed text anywhere
     * in a proposal; false: component by component. */
    bool all_keys;
};

/* The word to complete, and where its proposals are written. `begun` is the last word of the line
 * without a prefix such as "--tpu="; each proposal gets the first n_prefix bytes of `prefix`
 * back. */
struct goal {
    const struct line *line;
    const char *prefix, *begun;
    int n_prefix;
    dt_str *to; /* the proposals so far: an empty line, then a line for each proposal */
};

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Proposes the first n bytes of `word` followed by `end`, with `help` as their meaning, if they
 * begin with the word typed so far and were not proposed yet. */
static void offer(const struct goal *g, const char *word, size_t n, const char *end,
                  const char *help) {
    dt_str line = {0};
    dt_str_printf(&line, "%.*s%s", (int)n, word, end);
    if (begins(dt_str_text(&line), g->begun)) {
        DT_LOCAL char *whole = dt_strdup(dt_str_text(&line));
        dt_str_release(&line);
        dt_str_printf(&line, "\n%.*s%s\t", g->n_prefix, g->prefix, whole);
        if (!strstr(dt_str_text(g->to), dt_str_text(&line)))
            dt_str_printf(g->to, "%s%s\n", dt_str_text(&line) + 1, help);
    }
    dt_str_release(&line);
}

/* Proposes the words of a list such as "digits auto never". */
static void offer_words(const struct goal *g, const char *words) {
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        offer(g, words, n, "", "");
    }
}

/* ---- verbs ---- */

/* Proposes the next words of verbs whose names begin with `path`. Each word is proposed once. */
static void offer_verbs(const struct goal *g, const char *path) {
    const size_t n = strlen(path);
    for (int i = 0; verbs[i]; i++) {
        const char *rest = verbs[i]->name + n + (n > 0);
        if (strncmp(verbs[i]->name, path, n) != 0 || (n > 0 && verbs[i]->name[n] != ' ')) continue;
        const size_t m = strcspn(rest, " ");
        bool offered = false;
        for (int k = 0; k < i; k++)
            offered |= strncmp(verbs[k]->name, verbs[i]->name,
                               (size_t)(rest - verbs[i]->name) + m + (rest[m] == ' ')) == 0;
        if (!offered) offer(g, rest, m, "", rest[m] ? "" : verbs[i]->line);
    }
}

/* Whether `path` is a verb's name, or the first words of one. If it is the whole name of a verb,
 * sets *verb to that verb. */
static bool is_path(const char *path, const struct verb **verb) {
    const size_t n = strlen(path);
    for (int i = 0; verbs[i]; i++)
        if (strncmp(verbs[i]->name, path, n) == 0 &&
            (verbs[i]->name[n] == '\0' || verbs[i]->name[n] == ' ')) {
            *verb = verbs[i]->name[n] ? *verb : verbs[i];
            return true;
        }
    return false;
}

static void take_path(struct line *l, const char *word) {
    char path[sizeof l->path];
    const struct verb *helped = NULL;
    const int n = snprintf(path, sizeof path, "%s%s%s", l->path, *l->path ? " " : "", word);
    if (n < (int)sizeof path && (begins(path, "help ") ? is_path(path + strlen("help "), &helped)
                                                       : is_path(path, &l->verb)))
        memcpy(l->path, path, sizeof path);
}

/* ---- options ---- */

/* Finds the option that a word such as "--name", "--name=value" or "-n" names, among those of the
 * verb and those of all verbs. Returns NULL for other words. */
static const struct option *option_of(const struct line *l, const char *word) {
    const struct option *tables[] = {l->verb ? l->verb->options : common_options, common_options};
    for (int t = 0; t < 2; t++)
        for (const struct option *o = tables[t]; o->name; o++) {
            const size_t n = strlen(o->name);
            if (begins(word, "--") && begins(word + 2, o->name) &&
                (word[2 + n] == '\0' || word[2 + n] == '='))
                return o;
            if (o->letter && word[0] == '-' && word[1] == o->letter) return o;
        }
    return NULL;
}

static bool is_used(const struct line *l, const struct option *o) {
    for (int i = 0; i < l->words.n; i++)
        if (o->kind != OPTION_LIST && l->words.at[i][0] == '-' && option_of(l, l->words.at[i]) == o)
            return true;
    return false;
}

static void offer_options(const struct goal *g, const struct option *table) {
    for (const struct option *o = table; o->name; o++) {
        const char name[] = {'-', o->letter, '\0'};
        if (is_used(g->line, o)) continue;
        offer(g, "--", 2, o->name, o->help);
        if (o->letter) offer(g, name, 2, "", o->help);
    }
}

/* ---- keys of jobs ---- */

static void offer_key(const dt_job_key *k, void *user) {
    const struct goal *g = user;
    const char *equals = strchr(g->begun, '=');
    const size_t n = strlen(k->path), m = strlen(g->begun);
    /* Keys inside lists are not proposed, because list entries have no names to complete. Mappings
     * are not proposed either, because users set the keys inside them one by one. */
    if (k->refused || strpbrk(k->path, "[*") || begins(k->type, "mapping") ||
        begins(k->type, "list"))
        return;
    if (equals && strlen(k->path) == (size_t)(equals - g->begun) && begins(g->begun, k->path)) {
        const struct goal value = {g->line, g->begun, equals + 1, (int)n + 1, g->to};
        for (int i = 0; k->choices && k->choices[i]; i++)
            offer(&value, k->choices[i], strlen(k->choices[i]), "", "");
        if (!k->choices && strcmp(k->type, "boolean") == 0) offer_words(&value, "true false");
    } else if (!equals &&
               /* Unless all_keys is set, keys are proposed one component at a time: 'fit.' before
                * 'fit.epochs='. */
               begins(k->path, g->begun)) {
        const size_t step = m + strcspn(k->path + m, ".");
        const bool whole = g->line->all_keys || !k->path[step];
        offer(g, k->path, whole ? n : step, whole ? "=" : ".", whole && k->help ? k->help : "");
    }
}

/* ---- operands and values ---- */

static bool is(const char *word, size_t n, const char *known) {
    return strlen(known) == n && memcmp(word, known, n) == 0;
}

static void offer_slices(const struct goal *g) {
    char *names = NULL;
    dt_status *s = dt_slice_names(&names);
    /* If the names cannot be determined, nothing is proposed, because a shell cannot show the
     * error. */
    dt_status_free(s);
    for (char *p = names; p && *p; p++) *p = *p == '\n' ? ' ' : *p;
    offer_words(g, names ? names : "");
    free(names);
}

static void offer_errors(const struct goal *g) {
    enum { MOST = 1000 };
    for (int i = 0; i < MOST; i++) {
        char name[16];
        snprintf(name, sizeof name, "DT%03d", i);
        if (dt_explain(i)) offer(g, name, strlen(name), "", "");
    }
}

/* Proposes values for a placeholder of n bytes in a verb's operands: names of files for "FILE" or
 * "JOB" (which the shell lists), keys of the job for "key.path=value", slices for "TYPE", errors
 * for "DTnnn". A lower-case word, such as "bash", is itself the proposal. any_file: the operand may
 * be any file, so DIR, CKPT, RUN and JOB propose nothing more. Keys are proposed only after a job
 * file, and no second job. */
static void offer_one(const struct goal *g, const char *word, size_t n, bool any_file) {
    static const char *const files[][2] = {{"FILE", ":files"},       {"PATH", ":files"},
                                           {"ROWS.json", ":files"},  {"DIR", ":directories"},
                                           {"CKPT", ":directories"}, {"RUN", ":runs"},
                                           {"JOB", ":jobs"}};
    const struct goal plain = {g->line, "", "", 0, g->to};
    const bool job = g->line->job;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (is(word, n, files[i][0]) && !(any_file && i > 2) && !(job && i == 6)) {
            char directive[256];
            snprintf(directive, sizeof directive, "%s %.*s", files[i][1], g->n_prefix, g->prefix);
            offer(&plain, directive, strlen(directive), "", "");
        }
    if (job && (is(word, n, "key.path=value") || is(word, n, "KEY=VALUE")))
        dt_job_keys(offer_key, (void *)(uintptr_t)g);
    else if (is(word, n, "TYPE")) offer_slices(g);
    else if (is(word, n, "DTnnn")) offer_errors(g);
    else if (strspn(word, "abcdefghijklmnopqrstuvwxyz-") >= n) offer(g, word, n, "", "");
}

/* Proposes values for each alternative of "RUN|CKPT" or "JOB [key.path=value...]". Brackets and
 * dots are ignored. */
static void offer_all(const struct goal *g, const char *words) {
    const bool any_file = strstr(words, "FILE") != NULL;
    for (size_t n; *words; words += n) {
        words += strspn(words, " []|");
        n = strcspn(words, " []|");
        if (n > 0) offer_one(g, words, n > 3 && is(words + n - 3, 3, "...") ? n - 3 : n, any_file);
    }
}

static void offer_values(const struct goal *g, const struct option *o) {
    enum { FEW = 8 };
    for (int i = 0; o->choices && o->choices[i]; i++)
        offer(g, o->choices[i], strlen(o->choices[i]), "", "");
    if (o->words) offer_words(g, o->words);
    if (!o->choices && o->value) offer_all(g, o->value);
    for (int64_t n = o->min;
         o->kind == OPTION_INTEGER && n <= o->max && o->max - o->min < FEW && o->max > 0; n++) {
        char digits[24];
        offer(g, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)n), "", "");
    }
}

/* ---- the line ---- */

/* Whether a word may be the value of an option whose value is optional: it is neither an option nor
 * an override nor a job file. */
static bool is_free(const char *word) {
    return word[0] != '-' && !strchr(word, '=') && !is_job(word);
}

static void read_line(struct line *l) {
    for (int i = 0; i < l->words.n; i++) {
        const char *word = l->words.at[i];
        const struct option *o = l->pending;
        l->pending = NULL;
        if (o && (o->kind != OPTION_MAYBE || is_free(word))) continue;
        o = word[0] == '-' && word[1] ? option_of(l, word) : NULL;
        if (o && o->kind != OPTION_FLAG && !strchr(word, '=') && (word[1] == '-' || !word[2]))
            l->pending = o;
        else if (word[0] != '-' || !word[1]) {
            l->job |= is_job(word);
            take_path(l, word);
        }
    }
}

static void offer_last(const struct line *l, dt_str *to) {
    const struct goal whole = {l, "", l->last, 0, to};
    const struct option *o = l->last[0] == '-' ? option_of(l, l->last) : NULL;
    /* If the word is an option together with the beginning of its value, such as "--tpu=v4-8" or
     * "-Cruns", the value begins at byte n, and only the value is completed. */
    const int n = begins(l->last, "--") ? (int)strcspn(l->last, "=") + 1 : 2;
    if (l->pending) offer_values(&whole, l->pending);
    if (l->pending && l->pending->kind != OPTION_MAYBE) return;
    if (o && o->kind != OPTION_FLAG && (int)strlen(l->last) >= n && (n > 2 || l->last[2])) {
        offer_values(&(struct goal){l, l->last, l->last + n, n, to}, o);
    } else if (l->last[0] == '-') {
        if (l->verb) offer_options(&whole, l->verb->options);
        offer_options(&whole, common_options);
    } else if (strcmp(l->path, "help") == 0 || begins(l->path, "help ")) {
        offer_verbs(&whole, l->path[4] ? l->path + strlen("help ") : "");
    } else if (l->verb) {
        offer_all(&whole, l->verb->operands);
    } else {
        offer_verbs(&whole, l->path);
    }
}

int complete_print(struct words words) {
    dt_local_str t = {0};
    if (words.n < 2) return EXIT_USAGE;
    struct line l = {.words = {words.at + 1, words.n - 2},
                     .last = words.at[words.n - 1],
                     .all_keys = strcmp(words.at[0], "fish") == 0};
    read_line(&l);
    dt_str_putc(&t, '\n');
    offer_last(&l, &t);
    const bool written = fputs(dt_str_text(&t) + 1, stdout) >= 0 && fflush(stdout) == 0;
    return written ? 0 : EXIT_IO;
}

/* ---- completions: prints shell code that calls `dtrain __complete` ---- */

/* The lines of cmd/shell/dtrain.SHELL, which the build embeds. */

static const char *const bash[] = {
#include "dtrain.bash.inc"
    NULL};
static const char *const zsh[] = {
#include "dtrain.zsh.inc"
    NULL};
static const char *const fish[] = {
#include "dtrain.fish.inc"
    NULL};
static const struct {
    const char *name;
    const char *const *line; /* the lines of the shell code; a NULL ends the list */
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
enum { SHELLS = sizeof shells / sizeof *shells };

struct completions {
    struct common common;
};

static dt_status *find(const struct call *call, const char *const **line) {
    if (call->operands.n == 0)
        return usage_error(call, "name of a shell missing: bash, zsh or fish");
    if (call->operands.n > 1)
        return usage_error(call, "one shell expected, got %d operands", call->operands.n);
    for (int i = 0; i < SHELLS && !*line; i++)
        if (strcmp(shells[i].name, call->operands.at[0]) == 0) *line = shells[i].line;
    return *line ? NULL
                 : usage_error(call, "expected bash, zsh or fish, got '%s'",
                               cut_word(call->operands.at[0]).text);
}

static int run(const struct call *call) {
    const char *const *line = NULL;
    dt_local_str t = {0};
    dt_status *s = find(call, &line);
    if (s) return out_error(call->out, s);
    for (; *line; line++) dt_str_puts(&t, *line);
    out_text(call->out, dt_str_text(&t));
    return 0;
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_completions = {
    .name = "completions",
    .group = "Other",
    .line = "print a completion script for verbs, options, values and keys of jobs",
    .operands = "bash|zsh|fish",
    .examples = "  source <(dtrain completions bash)          in this shell; 'make install' "
                "installs all three\n"
                "  dtrain completions zsh > ~/.zfunc/_dtrain\n"
                "  dtrain completions fish > ~/.config/fish/completions/dtrain.fish\n",
    .options = options,
    .size = sizeof(struct completions),
    .run = run,
};
