/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, and finding one in it. */
#include <stdio.h>
#include <string.h>

#include "verb.h"

#define VERB(name) extern const struct verb verb_##name;
#include "verbs.h"
#undef VERB

const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "verbs.h"
#undef VERB
    NULL
};

static const struct verb *find(const char *name)
{
    for (int i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static dt_status *unknown(const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST];
    int n = 0;
    for (; verbs[n] && n < MOST; n++)
        names[n] = verbs[n]->name;
    const char *nearest = dt_nearest(name, names, n);
    if (nearest)
        return dt_status_create(ERROR_USAGE, "unknown command '%s'; did you mean '%s'?", cut_word(name).text, nearest);
    return dt_status_create(ERROR_USAGE, "unknown command '%s'", cut_word(name).text);
}

/* The first verb that begins with "word ". */
static const struct verb *find_group(const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; verbs[i]; i++)
        if (strncmp(verbs[i]->name, word, n) == 0 && verbs[i]->name[n] == ' ')
            return verbs[i];
    return NULL;
}

const struct verb *verb_find(const struct words *words, int *used, dt_status **s)
{
    const struct verb *verb = find(words->at[0]), *group = verb ? NULL : find_group(words->at[0]);
    char both[2 * sizeof(struct cut)];
    *used = group && words->n > 1 ? 2 : 1;
    *s = NULL;
    if (verb)
        return verb;
    if (group && words->n == 1) {
        *s = dt_status_create(ERROR_USAGE, "%s: a second word is missing: '%s'", words->at[0], group->name);
        return NULL;
    }
    snprintf(both, sizeof both, "%s%s%s", cut_word(words->at[0]).text, group ? " " : "", group ? cut_word(words->at[1]).text : "");
    verb = find(both);
    if (!verb)
        *s = unknown(both);
    return verb;
}
