/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: a word a line; verbs and the values of their options. Words such as
 * DTRAIN_seed=3 are variables of the environment. Nothing is run. */
#define _GNU_SOURCE /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cmd/verb.h"
#include "fuzz.h"

enum { MOST_WORDS = 32 };

static void read_options(const struct verb *verb, struct words words) {
    const char *operand[MOST_WORDS];
    struct words operands = {.at = operand};
    int used;
    void *settings = calloc(1, verb->size);
    FUZZ_CHECK(settings, "no memory");
    fuzz_done(options_parse(&(struct parse){verb, settings, words}, &operands, &used));
    FUZZ_CHECK(operands.n <= words.n, "more operands than words");
    options_release(verb, settings);
    free(settings);
}

/* Whether that was a variable: it is set, or with `set` false taken away. */
static bool use_variable(const char *word, bool set) {
    static const char head[] = "DTRAIN_";
    char name[64];
    const char *equals = strchr(word, '=');
    if (strncmp(word, head, strlen(head)) != 0 || !equals || (size_t)(equals - word) >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    if (set) setenv(name, equals + 1, 1);
    else unsetenv(name);
    return true;
}

FUZZ_TARGET(options) {
    const char *word[MOST_WORDS], *variable[MOST_WORDS];
    struct words words = {.at = word};
    int used = 0, variables = 0;
    char *rest;
    for (char *at = strtok_r(fuzz_copy(data, size), "\n", &rest);
         at && words.n + variables < MOST_WORDS; at = strtok_r(NULL, "\n", &rest))
        if (use_variable(at, true)) variable[variables++] = at;
        else word[words.n++] = at;
    dt_status *s = NULL;
    const struct verb *verb = words.n > 0 ? verb_find(&words, &used, &s) : NULL;
    if (verb) read_options(verb, (struct words){word + used, words.n - used});
    fuzz_done(s);
    while (variables > 0) use_variable(variable[--variables], false);
    return 0;
}
