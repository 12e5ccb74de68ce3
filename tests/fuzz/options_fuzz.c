/* The command line: a word a line; verbs and the values of their options. Nothing is run. */
#include <stdlib.h>
#include <string.h>

#include "../../cmd/verb.h"
#include "fuzz.h"

enum { MOST_WORDS = 32 };

static void read_options(const struct verb *verb, struct words words)
{
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

FUZZ_TARGET(options)
{
    const char *word[MOST_WORDS];
    struct words words = {.at = word};
    char *rest;
    for (char *at = strtok_r((char *)(uintptr_t)fuzz_string(data, size), "\n", &rest); at && words.n < MOST_WORDS; at = strtok_r(NULL, "\n", &rest))
        word[words.n++] = at;
    int used = 0;
    dt_status *s = NULL;
    const struct verb *verb = words.n > 0 ? verb_find(&words, &used, &s) : NULL;
    if (verb)
        read_options(verb, (struct words){word + used, words.n - used});
    fuzz_done(s);
    return 0;
}
