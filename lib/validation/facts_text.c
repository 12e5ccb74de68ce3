/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in words. The text is cut into words; a number is told by the words beside it (rules), by an equals sign (D=4096), by a letter of
 * a mesh (X2) or by a percent sign. Words that say nothing are passed over.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validation/architectures.h"
#include "validation/facts.h"

enum { WORDS = 128, LENGTH = 48, REACH = 3, LARGEST_SIDE = 256 };
static const double LEAST_PEAK = 1e13; /* FLOP/s: what stands behind "at" and is larger is no memory's rate */

typedef struct words {
    char at[WORDS][LENGTH]; /* lower case, but for single letters and NAME=NUMBER */
    int n;
} words;

/* A number that has such a word near it: behind it within REACH words, or right before it. */
typedef struct rule {
    const char *word;
    bool before;
    const char *fact;
} rule;
static const rule rules[] = {
    {"flops", false, "flops"}, {"flop", false, "flops"},
    {"tokens", false, "tokens"},
    {"chips", false, "chips"}, {"chip", false, "chips"}, {"way", false, "ways"},
    {"devices", false, "chips"},
    {"axes", false, "axes"}, {"hops", false, "hops"}, {"layers", false, "L"},
    {"hours", false, "hours"}, {"active", false, "params"},
    {"parameters", false, "params"}, {"params", false, "params"},
    {"mfu", false, "mfu"}, {"bytes", false, "bytes"},
    {"bs", true, "B"}, {"batch", true, "B"}, {"sequences", false, "B"},
    {"over", true, "over"},
    {"seq", true, "T"}, {"length", true, "T"}, {"context", true, "T"}, {"context", false, "T"},
};

static const struct {
    const char *word;
    double bytes;
} element_bytes[] = {
    {"int4", 0.5}, {"int8", 1}, {"fp8", 1}, {"bf16", 2}, {"bfloat16", 2}, {"fp16", 2}, {"f32", 4}, {"fp32", 4}, {"float32", 4},
};

/* ---- words ---- */

static bool is_inside(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '%' || c == '=' || c == '+' || c == '_';
}

/* "5e-4" is one word, "8960-chip" two. */
static bool is_exponent(const char *text, const char *begin)
{
    return (*text == '-' || *text == '+') && text > begin + 1 && tolower((unsigned char)text[-1]) == 'e' && isdigit((unsigned char)begin[0]) &&
           isdigit((unsigned char)text[1]);
}

static void cut(words *w, const char *text)
{
    while (*text && w->n < WORDS) {
        const char *begin = text;
        while (is_inside(*text) || (*text && is_exponent(text, begin)))
            text++;
        size_t n = (size_t)(text - begin);
        while (n && begin[n - 1] == '.')
            n--;
        if (n && n < LENGTH) {
            bool keep = n == 1 || memchr(begin, '=', n);
            for (size_t i = 0; i < n; i++)
                w->at[w->n][i] = keep ? begin[i] : (char)tolower((unsigned char)begin[i]);
            w->at[w->n++][n] = '\0';
        }
        text += *text && !is_inside(*text);
    }
}

/* "6.3e24", "4mi", "16k", "40%"; false: no number. */
static bool read_number(const char *word, double *out)
{
    static const struct { const char *suffix; double scale; } suffixes[] = {
        {"", 1}, {"%", 0.01}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}, {"ki", 1024}, {"mi", 1048576}, {"gi", 1073741824},
    };
    char digits[LENGTH];
    size_t n = strspn(word, "0123456789.");
    if (n == 0 || !isdigit((unsigned char)word[0]))
        return false;
    size_t exponent = strspn(word + n, "e+-0123456789");
    if (word[n] == 'e' && exponent > 1)
        n += exponent;
    snprintf(digits, sizeof digits, "%.*s", (int)n, word);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(word + n, suffixes[i].suffix) == 0 && dt_parse_double(digits, out)) {
            *out *= suffixes[i].scale;
            return true;
        }
    return false;
}

/* ---- meaning ---- */

static bool has(const dt_facts *f, const char *name)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->at[i].name, name) == 0)
            return true;
    return false;
}

static void add_once(dt_facts *f, const char *name, double value)
{
    if (!has(f, name))
        dt_facts_add(f, name, value);
}

static const rule *rule_of(const char *word, bool before)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].before == before && strcmp(rules[i].word, word) == 0)
            return &rules[i];
    return NULL;
}

/* By the word before the number ("size" may stand between). */
static const rule *rule_before(const words *w, int i)
{
    bool filled = i > 0 && (strcmp(w->at[i - 1], "size") == 0 || strcmp(w->at[i - 1], "of") == 0);
    int back = filled ? i - 2 : i - 1;
    return back >= 0 ? rule_of(w->at[back], true) : NULL;
}

/* By the first telling word behind it, up to the next number; "8960 v5p" are chips. */
static const rule *rule_behind(const words *w, int i)
{
    const rule *r = NULL;
    double other;
    for (int k = i + 1; !r && k <= i + REACH && k < w->n && !read_number(w->at[k], &other); k++) {
        r = rule_of(w->at[k], false);
        if (!r && dt_chip_find(w->at[k]) && (k + 1 >= w->n || !rule_of(w->at[k + 1], false)))
            r = rule_of("chips", false);
    }
    return r;
}

static void tell(dt_facts *f, const words *w, int i, double value)
{
    const rule *found[] = {rule_before(w, i), rule_behind(w, i)};
    for (int k = 0; k < 2; k++)
        if (found[k])
            add_once(f, found[k]->fact, value);
    if (!found[0] && !found[1] && i > 0 && strcmp(w->at[i - 1], "at") == 0 && value > LEAST_PEAK)
        add_once(f, "peak", value);
}

/* "4x4x8": the sides of a mesh. */
static void tell_grid(dt_facts *f, const char *word)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    double side[3], chips = 1;
    int n = 0;
    for (char *end; n < 3; word = end + 1) {
        side[n] = (double)strtol(word, &end, 10);
        if (end == word || side[n] < 1 || side[n] > LARGEST_SIDE || (*end && *end != 'x'))
            return;
        chips *= side[n++];
        if (!*end)
            break;
    }
    for (int i = 0; n > 1 && i < n; i++)
        add_once(f, axes[i], side[i]);
    if (n > 1)
        add_once(f, "chips", chips);
}

/* D=4096 and X2. */
static void tell_named(dt_facts *f, const char *word)
{
    const char *equals = strchr(word, '=');
    char name[LENGTH];
    double value;
    if (equals && equals > word && read_number(equals + 1, &value)) {
        snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
        add_once(f, name, value);
    } else if ((word[0] == 'x' || word[0] == 'y' || word[0] == 'z') && isdigit((unsigned char)word[1]) && read_number(word + 1, &value)) {
        snprintf(name, sizeof name, "%c", toupper((unsigned char)word[0]));
        add_once(f, name, value);
    }
}

static void tell_word(dt_facts *f, const char *word)
{
    const dt_chip *chip = dt_chip_find(word);
    if (chip && !f->chip)
        f->chip = chip;
    for (size_t i = 0; i < sizeof element_bytes / sizeof *element_bytes; i++)
        if (strcmp(word, element_bytes[i].word) == 0)
            add_once(f, "bytes_per", element_bytes[i].bytes);
    tell_named(f, word);
    tell_grid(f, word);
}

void dt_facts_of_text(dt_facts *f, const char *text)
{
    words w = {.n = 0};
    double value;
    cut(&w, text);
    for (int i = 0; i < w.n; i++)
        if (read_number(w.at[i], &value))
            tell(f, &w, i, value);
        else
            tell_word(f, w.at[i]);
    dt_architecture_facts(f, dt_architecture_in(text));
}
