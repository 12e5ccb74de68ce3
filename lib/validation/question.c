/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the rule for a question: words, unit, facts. */
#include "validation/question.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SHORT = 3 };

/* Calls `each` for the words of a list; stops at the first that it does not accept. */
static bool all_words(const char *list, bool (*each)(const char *word, void *context), void *context)
{
    char word[64];
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (n && !each(word, context))
            return false;
        p += n + (p[n] == ' ');
    }
    return true;
}

/* Short words ("dp") stand by themselves; longer ones may be part of another ("gather" of "allgather"). */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p++)
        if (n > SHORT || ((p == text || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n])))
            return true;
    return false;
}

/* "a|b": one of them stands in the text; '_' stands for a blank. */
static bool has_one(const char *text, const char *alternatives)
{
    char word[64];
    for (const char *p = alternatives; *p;) {
        size_t n = strcspn(p, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        for (char *c = word; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        if (has_word(text, word))
            return true;
        p += n + (p[n] == '|');
    }
    return false;
}

static bool word_fits(const char *word, void *context)
{
    const dt_ask *ask = context;
    return *word == '!' ? !has_one(ask->text, word + 1) : has_one(ask->text, word);
}

static bool unit_differs(const char *unit, void *context)
{
    const dt_ask *ask = context;
    return strcmp(unit, ask->unit) != 0;
}

typedef struct needing {
    dt_ask *ask;
    int n;
} needing;

static bool take_need(const char *name, void *context)
{
    needing *t = context;
    const dt_facts *from = *name == '=' ? t->ask->own : t->ask->all;
    return t->n < DT_QUESTION_NEEDS && dt_facts_find(from, name + (*name == '='), &t->ask->v[t->n++]);
}

static bool fits(const dt_question *q, dt_ask *ask)
{
    return all_words(q->words, word_fits, ask) && !all_words(q->unit, unit_differs, ask) && all_words(q->needs, take_need, &(needing){.ask = ask});
}

bool dt_question_answer(dt_ask *ask, double *out)
{
    int n;
    const dt_question *q = dt_questions(&n);
    for (int i = 0; i < n; i++)
        if (fits(&q[i], ask) && q[i].answer(ask, out))
            return true;
    return false;
}

double dt_ask_or(const dt_ask *ask, const char *name, double otherwise)
{
    double value;
    return dt_facts_find(ask->all, name, &value) ? value : otherwise;
}
