/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the command line, word by word, with the tables of options.
 *
 * The rules are GNU's: `--name value`, `--name=value`, `-n`, `-C DIR`, `-CDIR`, `-qn`; options and
 * operands may come in any order; `--` ends the options; `-` is an operand. Names are not
 * abbreviated: a new option would change what an old script means.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "verb.h"

static const char *const color_choices[] = {"auto", "always", "never", NULL};
const char *const kernel_choices[] = {"auto", "openblas", "onednn", "own", NULL};

const struct option common_options[] = {
    FLAG(struct common, quiet, "quiet", "print errors and warnings only", .letter = 'q'),
    FLAG(struct common, verbose, "verbose", "print more", .letter = 'v'),
    CHOICE(struct common, color, "color", "WHEN", color_choices, "colour the output", .env = true),
    PATH(struct common, log_file, "log-file", "FILE", "append all lines to FILE, too", .env = true),
    FLAG(struct common, help, "help", "show this text", .letter = 'h'),
    FLAG(struct common, version, "version", "show the version", .letter = 'V'),
    OPTIONS_END};
static const struct option no_options[] = {OPTIONS_END};

/* One pass over the words of the command line. */
struct walk {
    /* the two tables of options: the verb's own, and those that all verbs have */
    const struct option *tables[2];
    const char *verb; /* prefix of messages, such as "fit: " */
    void *settings;
    struct words words;
    int next;       /* index of the word to read next */
    bool overrides; /* whether the verb's operands may be overrides, key.path=value */
    /* whether the current option comes from an environment variable and not from a word */
    bool variable;
};

/* An option that the user wrote as a word or set by an environment variable. */
struct use {
    const struct option *option;
    /* the value; NULL: the option has none, or it is the next word, which was not read yet */
    const char *value;
    const char *written; /* "--steps", "-C" or the name of the environment variable */
};

static void *field(const struct walk *w, const struct option *o) {
    return (char *)w->settings + o->at;
}

static dt_status *usage(const struct walk *w, const char *format, ...) DT_FORMAT(2, 3);
static dt_status *usage(const struct walk *w, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return dt_status_create(w->variable ? ERROR_VARIABLE : ERROR_USAGE, "%s%s", w->verb, text);
}

/* Whether a text consists of decimal digits with an optional sign. */
static bool is_integer(const char *text) {
    text += *text == '-' || *text == '+';
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static dt_status *read_integer(struct walk *w, const struct use *u) {
    const struct option *o = u->option;
    errno = 0;
    /* strtoll returns the nearest representable number if the value is out of range. */
    long long n = strtoll(u->value, NULL, 10);
    int64_t max = o->max ? o->max : INT64_MAX;
    if (!is_integer(u->value))
        return usage(w, "%s: expected an integer, got '%s'", u->written, cut_word(u->value).text);
    if (n < o->min)
        return usage(w, "%s: must be at least %" PRId64 ", got %s", u->written, o->min,
                     cut_word(u->value).text);
    if (n > max || (n == LLONG_MAX && errno == ERANGE))
        return usage(w, "%s: must be at most %" PRId64 ", got %s", u->written, max,
                     cut_word(u->value).text);
    *(int64_t *)field(w, o) = n;
    return NULL;
}

static dt_status *read_unsigned(struct walk *w, const struct use *u) {
    errno = 0;
    unsigned long long n = strtoull(u->value, NULL, 10);
    if (!is_integer(u->value) || *u->value == '-')
        return usage(w, "%s: expected an integer of at least 0, got '%s'", u->written,
                     cut_word(u->value).text);
    if (errno)
        return usage(w, "%s: must be at most %" PRIu64 ", got %s", u->written, UINT64_MAX,
                     cut_word(u->value).text);
    *(uint64_t *)field(w, u->option) = n;
    return NULL;
}

/* Returns the seconds of a duration such as "1h30m". Returns 0 if the text is not a duration, or
 * the duration is zero. */
static double seconds_of(const char *text) {
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    double all = 0;
    for (const char *p = text; *p;) {
        char *unit;
        double n = strspn(p, "0123456789.") ? strtod(p, &unit) : -1, each = 0;
        for (size_t i = 0; n >= 0 && i < sizeof units / sizeof *units; i++)
            each = *unit == units[i].letter ? units[i].seconds : each;
        if (each == 0 || unit != p + strspn(p, "0123456789.")) return 0;
        all += n * each;
        p = unit + 1;
    }
    return all;
}

static dt_status *read_seconds(struct walk *w, const struct use *u) {
    double seconds = seconds_of(u->value);
    if (!(seconds > 0) || seconds > 1e9)
        return usage(w, "%s: expected a time as in 90s, 55m or 1h30m, got '%s'", u->written,
                     cut_word(u->value).text);
    *(double *)field(w, u->option) = seconds;
    return NULL;
}

static int count_names(const char *const *names) {
    int n = 0;
    while (names[n]) n++;
    return n;
}

static dt_status *read_choice(struct walk *w, const struct use *u) {
    const char *const *choices = u->option->choices;
    int n = count_names(choices);
    for (int i = 0; i < n; i++)
        if (strcmp(choices[i], u->value) == 0) {
            *(int *)field(w, u->option) = i;
            return NULL;
        }
    char known[200] = "";
    for (int i = 0; i < n; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                 i ? i + 1 < n ? ", " : " or " : "", choices[i]);
    return usage(w, "%s: expected %s, got '%s'", u->written, known, cut_word(u->value).text);
}

/* Adds a value to a list. The list has room, since it never has more entries than the command line
 * has words. */
static dt_status *add_to_list(struct walk *w, const struct use *u) {
    struct words *list = field(w, u->option);
    const char **at = (const char **)(uintptr_t)list->at;
    if (!at && !(at = calloc((size_t)w->words.n + 1, sizeof *at)))
        return dt_status_create(ERROR_NO_MEMORY, "out of memory");
    at[list->n++] = u->value;
    list->at = at;
    return NULL;
}

static dt_status *store(struct walk *w, const struct use *u) {
    if (u->value && u->option->path) DT_TRY(dt_path_check(u->value));
    switch (u->option->kind) {
    case OPTION_FLAG: *(bool *)field(w, u->option) = true; return NULL;
    case OPTION_TEXT:
    case OPTION_MAYBE: *(const char **)field(w, u->option) = u->value ? u->value : ""; return NULL;
    case OPTION_LIST: return add_to_list(w, u);
    case OPTION_INTEGER: return read_integer(w, u);
    case OPTION_UNSIGNED: return read_unsigned(w, u);
    case OPTION_SECONDS: return read_seconds(w, u);
    case OPTION_CHOICE: return read_choice(w, u);
    }
    return NULL;
}

/* Whether the next word is the value of an option whose value is optional. It is not if it looks
 * like an option ("-..."), an override (it contains '=') or a job (*.yaml, *.yml), as in `dtrain
 * topology --tpu job.yaml`. */
static bool is_free_value(const char *word) {
    return *word != '-' && !strchr(word, '=') && !dt_ends_with(word, ".yaml") &&
           !dt_ends_with(word, ".yml");
}

static const char *next_word(struct walk *w) {
    return w->next < w->words.n ? w->words.at[w->next] : NULL;
}

static dt_status *use_option(struct walk *w, struct use *u) {
    enum option_kind kind = u->option->kind;
    const char *next = next_word(w);
    if (kind == OPTION_FLAG && u->value) return usage(w, "option '%s' takes no value", u->written);
    bool wants = kind == OPTION_MAYBE ? next && is_free_value(next) : kind != OPTION_FLAG;
    if (!u->value && wants) {
        if (!next) return usage(w, "option '%s' needs a value: %s", u->written, u->option->value);
        u->value = next;
        w->next++;
    }
    if (u->value && !*u->value)
        return usage(
            w, "%s: the value is empty; if it comes from a shell variable, the variable is not set",
            u->written);
    return store(w, u);
}

static const struct option *find_letter(const struct walk *w, char letter) {
    for (int t = 0; t < 2; t++)
        for (const struct option *o = w->tables[t]; o->name; o++)
            if (o->letter == letter) return o;
    return NULL;
}

static const struct option *find_name(const struct walk *w, const char *name, size_t length) {
    for (int t = 0; t < 2; t++)
        for (const struct option *o = w->tables[t]; o->name; o++)
            if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) return o;
    return NULL;
}

static dt_status *unknown_option(const struct walk *w, const char *name, const char *value) {
    const struct foreign_option f = {
        .tables = w->tables, .name = name, .value = value, .overrides = w->overrides};
    dt_local_str hint = {0};
    const bool found = option_hint(&f, &hint);
    return usage(w, "unknown option '--%s'%s%s", cut_word(name).text, found ? "; " : "",
                 found ? dt_str_text(&hint) : "");
}

/* Returns the word that follows an unknown option, if it is probably meant as the option's value;
 * else NULL. */
static const char *following(const struct walk *w) {
    const char *next = w->next < w->words.n ? w->words.at[w->next] : NULL;
    return next && *next && is_free_value(next) ? next : NULL;
}

static dt_status *read_long(struct walk *w, const char *word) {
    const char *name = word + 2, *equals = strchr(name, '=');
    char bare[64], written[66];
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    struct use u = {.option = find_name(w, name, length),
                    .value = equals ? equals + 1 : NULL,
                    .written = written};
    snprintf(bare, sizeof bare, "%.*s", (int)(length < 63 ? length : 63), name);
    snprintf(written, sizeof written, "--%s", bare);
    if (!u.option)
        return unknown_option(w, length < 63 ? bare : name, u.value ? u.value : following(w));
    return use_option(w, &u);
}

/* Reads a word of one-letter options, such as -qn or -CDIR. */
static dt_status *read_letters(struct walk *w, const char *word) {
    dt_status *s = NULL;
    for (const char *p = word + 1; *p && !s; p++) {
        char written[] = {'-', *p, '\0'};
        struct use u = {.option = find_letter(w, *p), .written = written};
        if (!u.option)
            return usage(w, "unknown option '%s'",
                         (unsigned char)*p < 0x80 ? written : cut_word(word).text);
        bool flag = u.option->kind == OPTION_FLAG;
        if (!flag && p[1]) u.value = p + 1;
        s = use_option(w, &u);
        if (!flag) break;
    }
    return s;
}

void option_env_name(const struct option *o, char *name, size_t size) {
    snprintf(name, size, "DTRAIN_%s", o->name);
    for (char *p = name; *p; p++) *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

static dt_status *read_environment(struct walk *w, const struct option *o) {
    char name[64];
    option_env_name(o, name, sizeof name);
    const char *value = getenv(name);
    if (!value || !*value) return NULL;
    w->variable = true;
    dt_status *s = store(w, &(struct use){.option = o, .value = value, .written = name});
    w->variable = false;
    return s;
}

/* Returns the value of a choice that is not given; -1: none of the choices. */
static int choice_fallback(const struct option *o) { return o->min < 0 ? -1 : (int)o->fallback; }

static void set_fallback(struct walk *w, const struct option *o) {
    if (o->kind == OPTION_INTEGER) *(int64_t *)field(w, o) = o->fallback;
    if (o->kind == OPTION_CHOICE) *(int *)field(w, o) = choice_fallback(o);
}

static dt_status *read_words(struct walk *w, struct words *operands) {
    dt_status *s = NULL;
    const char **operand = operands ? (const char **)(uintptr_t)operands->at : NULL;
    for (bool options = true; !s && w->next < w->words.n;) {
        const char *word = w->words.at[w->next];
        bool is_option = options && word[0] == '-' && word[1];
        if (!is_option && !operands) break;
        w->next++;
        if (!is_option && !*word)
            s = usage(
                w,
                "operand %d is empty; if it comes from a shell variable, the variable is not set",
                operands->n + 1);
        else if (!is_option) operand[operands->n++] = word;
        else if (strcmp(word, "--") == 0) options = false;
        else s = word[1] == '-' ? read_long(w, word) : read_letters(w, word);
    }
    return s;
}

/* Sets each option of the table to its default or, if it may be set by an environment variable that
 * is set, to the variable's value. Words that are read later replace these. */
static dt_status *read_defaults(struct walk *w, const struct option *table) {
    dt_status *s = NULL;
    for (const struct option *o = table; o->name && !s; o++) {
        set_fallback(w, o);
        if (o->env) s = read_environment(w, o);
    }
    return s;
}

/* Reads the options of a verb. Options of all verbs may also stand before the verb's name; a first
 * call, with verb NULL, has read these and set their defaults. */
dt_status *options_parse(const struct parse *p, struct words *operands, int *used) {
    char verb[40] = "";
    struct walk w = {.verb = verb, .settings = p->settings, .words = p->words};
    w.tables[0] = p->verb ? p->verb->options : no_options;
    w.tables[1] = common_options;
    if (p->verb) snprintf(verb, sizeof verb, "%s: ", p->verb->name);
    w.overrides = p->verb && strstr(p->verb->operands, "key.path=value");
    dt_status *s = read_defaults(&w, w.tables[p->verb ? 0 : 1]);
    if (!s) s = read_words(&w, operands);
    *used = w.next;
    return s;
}

void options_release(const struct verb *verb, void *settings) {
    for (const struct option *o = verb->options; o->name; o++)
        if (o->kind == OPTION_LIST)
            free((void *)(uintptr_t)((struct words *)(void *)((char *)settings + o->at))->at);
}

/* ---- the command line again. Values are taken from the parsed options, so a value that came from
 * the environment is written as an option, too. ---- */

static void put_name(dt_str *to, const struct option *o) {
    if (o->letter) dt_str_printf(to, " -%c", o->letter);
    else dt_str_printf(to, " --%s", o->name);
}

static void put_text(dt_str *to, const struct option *o, const char *value) {
    put_name(to, o);
    dt_str_putc(to, ' ');
    put_word(to, value);
}

/* Writes an option that can be given without a value, such as "--tpu". */
static void put_maybe(dt_str *to, const struct option *o, const char *value) {
    if (*value) put_text(to, o, value);
    else put_name(to, o);
}

static void put_seconds(dt_str *to, const struct option *o, double seconds) {
    char digits[400];
    /* Numbers are written without an exponent, because durations on the command line do not accept
     * one. */
    for (int decimals = 0; decimals <= 17; decimals++) {
        snprintf(digits, sizeof digits, "%.*f", decimals, seconds);
        if (strtod(digits, NULL) == seconds) break;
    }
    put_name(to, o);
    dt_str_printf(to, " %ss", digits);
}

static void put_option(dt_str *to, const struct option *o, const void *value) {
    const struct words *list = value;
    switch (o->kind) {
    case OPTION_FLAG:
        if (*(const bool *)value) put_name(to, o);
        return;
    case OPTION_TEXT:
        if (*(const char *const *)value) put_text(to, o, *(const char *const *)value);
        return;
    case OPTION_MAYBE:
        if (*(const char *const *)value) put_maybe(to, o, *(const char *const *)value);
        return;
    case OPTION_LIST:
        for (int i = 0; i < list->n; i++) put_text(to, o, list->at[i]);
        return;
    case OPTION_INTEGER:
        if (*(const int64_t *)value != o->fallback)
            dt_str_printf(to, " --%s %" PRId64, o->name, *(const int64_t *)value);
        return;
    case OPTION_UNSIGNED:
        if (*(const uint64_t *)value != (uint64_t)o->fallback)
            dt_str_printf(to, " --%s %" PRIu64, o->name, *(const uint64_t *)value);
        return;
    case OPTION_SECONDS:
        if (*(const double *)value > 0) put_seconds(to, o, *(const double *)value);
        return;
    case OPTION_CHOICE:
        if (*(const int *)value >= 0 && *(const int *)value != choice_fallback(o))
            put_text(to, o, o->choices[*(const int *)value]);
        return;
    }
}

void put_again(dt_str *to, const struct call *call) {
    dt_str_printf(to, "dtrain %s", call->verb->name);
    for (int i = 0; i < call->operands.n; i++) {
        dt_str_putc(to, ' ');
        put_word(to, call->operands.at[i]);
    }
    for (const struct option *o = call->verb->options; o->name; o++)
        if (!o->once) put_option(to, o, (const char *)call->settings + o->at);
}
