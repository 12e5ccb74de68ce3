/* SPDX-License-Identifier: Apache-2.0 */
/* See complete.h. */
#include "complete.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* ---- words of the tables ---- */

static const struct {
    const char *word;
    unsigned kinds;
} known[] = {
    {"FILE", FOLLOW_FILE}, {"PATH", FOLLOW_FILE}, {"ROWS.json", FOLLOW_FILE}, {"DIR", FOLLOW_DIRECTORY}, {"RUN", FOLLOW_RUN},
    {"CKPT", FOLLOW_DIRECTORY}, {"JOB", FOLLOW_JOB}, {"key.path=value", FOLLOW_KEY}, {"KEY=VALUE", FOLLOW_KEY}, {"VERB", FOLLOW_VERB},
    {"TYPE", FOLLOW_SLICE}, {"DTnnn", FOLLOW_ERROR},
};

static void add_word(struct follow *f, const char *word, size_t n)
{
    size_t used = strlen(f->words);
    if (used + n + 2 <= sizeof f->words)
        snprintf(f->words + used, sizeof f->words - used, "%s%.*s", used ? " " : "", (int)n, word);
}

/* "digits": a word that is meant as it stands. */
static bool is_literal(const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)word[i]) && word[i] != '-')
            return false;
    return n > 0;
}

static void add_one(struct follow *f, const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].word) == n && memcmp(known[i].word, word, n) == 0) {
            f->kinds |= known[i].kinds;
            return;
        }
    if (is_literal(word, n))
        add_word(f, word, n);
}

/* "RUN|CKPT", "bash|zsh": any of them. */
static void add(struct follow *f, const char *word, size_t n)
{
    while (n) {
        size_t m = strcspn(word, "|");
        m = m < n ? m : n;
        add_one(f, word, m);
        word += m + (m < n);
        n -= m + (m < n);
    }
}

/* Numbers of which there are a few. */
static void add_numbers(struct follow *f, const struct option *o)
{
    enum { FEW = 8 };
    for (int64_t n = o->min; n <= o->max && o->max - o->min < FEW; n++) {
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
        add_word(f, digits, (size_t)length);
    }
}

struct follow follow_option(const struct option *o)
{
    struct follow f = {.kinds = o->kind == OPTION_MAYBE ? FOLLOW_MAYBE : 0};
    for (int i = 0; o->choices && o->choices[i]; i++)
        add_word(&f, o->choices[i], strlen(o->choices[i]));
    if (o->words)
        add_word(&f, o->words, strlen(o->words));
    if (!o->choices && o->value)
        add(&f, o->value, strlen(o->value));
    if (o->kind == OPTION_INTEGER && o->max > 0)
        add_numbers(&f, o);
    return f;
}

char *slice_words(void)
{
    char *names = NULL;
    dt_status *s = dt_slice_names(&names);
    if (s) { /* nothing else can be wrong */
        fprintf(stderr, "dtrain: %s\n", dt_status_text(s));
        exit(EXIT_MEMORY);
    }
    for (char *p = names; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    return names;
}

char *error_words(void)
{
    enum { MOST = 1000 };
    struct text t;
    text_open(&t);
    for (int i = 0; i < MOST; i++)
        if (dt_explain(i))
            fprintf(t.to, "DT%03d ", i);
    char *words = text_copy(text_bytes(&t));
    text_close(&t);
    return words;
}

/* Brackets and dots say how often, not what. */
struct follow follow_operands(const struct verb *verb)
{
    struct follow f = {0};
    for (const char *p = verb->operands; *p;) {
        p += strspn(p, " []");
        size_t n = strcspn(p, " []");
        size_t bare = n > 3 && memcmp(p + n - 3, "...", 3) == 0 ? n - 3 : n;
        add(&f, p, bare);
        p += n;
    }
    return f;
}

/* ---- verbs of two words ---- */

static size_t first_of_two(const struct verb *verb)
{
    const char *space = strchr(verb->name, ' ');
    return space ? (size_t)(space - verb->name) : 0;
}

static bool is_told(int i)
{
    size_t n = first_of_two(verbs[i]);
    for (int j = 0; j < i; j++)
        if (first_of_two(verbs[j]) == n && memcmp(verbs[j]->name, verbs[i]->name, n) == 0)
            return true;
    return false;
}

const char *verb_group(int i)
{
    for (int v = 0; verbs[v]; v++)
        if (first_of_two(verbs[v]) && !is_told(v) && i-- == 0)
            return verbs[v]->name;
    return NULL;
}

const char *verb_second(const struct verb *verb, const char *first)
{
    size_t n = strcspn(first, " ");
    return first_of_two(verb) == n && memcmp(verb->name, first, n) == 0 ? verb->name + n + 1 : NULL;
}

/* ---- keys ---- */

static char *values_of(const dt_job_key *k)
{
    struct text t;
    text_open(&t);
    for (int i = 0; k->choices && k->choices[i]; i++)
        fprintf(t.to, "%s%s", i ? " " : "", k->choices[i]);
    if (!k->choices && strcmp(k->type, "boolean") == 0)
        fputs("true false", t.to);
    char *values = text_copy(text_bytes(&t));
    text_close(&t);
    return values;
}

/* Entries of lists have no name that a shell could know, and mappings are set key by key. */
static bool is_set_by_name(const dt_job_key *k)
{
    return !strpbrk(k->path, "[*") && strncmp(k->type, "mapping", 7) != 0 && strncmp(k->type, "list", 4) != 0;
}

static bool has(const struct keys *keys, const char *path)
{
    for (int i = 0; i < keys->n; i++)
        if (strcmp(keys->at[i].path, path) == 0)
            return true;
    return false;
}

static void add_key(const dt_job_key *k, void *user)
{
    struct keys *keys = user;
    if (k->refused || !is_set_by_name(k) || has(keys, k->path))
        return;
    assert(keys->n < MOST_KEYS);
    keys->at[keys->n++] = (struct key){text_copy(k->path), values_of(k), text_copy(k->help ? k->help : "")};
}

void keys_open(struct keys *keys)
{
    keys->n = 0;
    dt_job_keys(add_key, keys);
}

void keys_close(struct keys *keys)
{
    for (int i = 0; i < keys->n; i++) {
        free(keys->at[i].path);
        free(keys->at[i].values);
        free(keys->at[i].help);
    }
}
