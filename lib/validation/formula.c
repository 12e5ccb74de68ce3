/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic as books write it, by recursive descent:
 *
 *     sum     = product { (+|-) product }
 *     product = power { (*|/|nothing) power }        2D/C, 6NT: nothing, not even a blank
 *     power   = atom [ (^|**) power ]
 *     atom    = number | name | name(sum {, sum}) | (sum) | - atom
 *
 * A name that is no fact may be several of one letter each: NT is N * T.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "validation/facts.h"

typedef struct reading {
    const dt_facts *facts;
    const char *at;
    char *unknown;
    size_t size;
    bool failed;
    int depth;
} reading;

enum { DEEPEST = 100 };

static double sum(reading *r);

static double fail(reading *r, const char *text, size_t n)
{
    if (!r->failed)
        snprintf(r->unknown, r->size, "%.*s", (int)(n < 60 ? n : 60), text);
    r->failed = true;
    return 0;
}

static void skip(reading *r)
{
    r->at += strspn(r->at, " \t\n");
}

/* Where the token does not stand, nothing is passed over: a blank ends a product without a sign. */
static bool take(reading *r, const char *token)
{
    const char *at = r->at + strspn(r->at, " \t\n");
    size_t n = strlen(token);
    bool there = strncmp(at, token, n) == 0;
    if (there)
        r->at = at + n;
    return there;
}

/* ---- atoms ---- */

static size_t number_length(const char *text)
{
    size_t n = strspn(text, "0123456789");
    if (text[n] == '.')
        n += 1 + strspn(text + n + 1, "0123456789");
    size_t sign = text[n] == 'e' ? (text[n + 1] == '-' || text[n + 1] == '+') : 0;
    if (text[n] == 'e' && isdigit((unsigned char)text[n + 1 + sign]))
        n += 1 + sign + strspn(text + n + 1 + sign, "0123456789");
    return n;
}

/* dt_parse_double wants digits on both sides of a point: .4 is read as 0.4. */
static double number(reading *r)
{
    size_t n = number_length(r->at);
    double value = 0;
    char digits[64];
    snprintf(digits, sizeof digits, "0%.*s", (int)(n < 60 ? n : 60), r->at);
    if (!dt_parse_double(digits, &value))
        return fail(r, r->at, n ? n : 1);
    r->at += n;
    return value;
}

typedef struct function {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
} function;
static const function functions[] = {
    {"ceil", ceil, NULL}, {"floor", floor, NULL}, {"sqrt", sqrt, NULL}, {"log2", log2, NULL}, {"log", log, NULL}, {"exp", exp, NULL},
    {"round", round, NULL}, {"min", NULL, fmin}, {"max", NULL, fmax},
};

static double call(reading *r, const function *f)
{
    double value = sum(r);
    while (f->two && take(r, ","))
        value = f->two(value, sum(r));
    if (!take(r, ")"))
        return fail(r, r->at, strlen(r->at));
    return f->one ? f->one(value) : value;
}

static const function *find_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

/* N is a number of heads or of parameters, T a length or all tokens: the second where the first is not known. */
static bool find_letter(const reading *r, char letter, double *out)
{
    char name[2] = {letter, '\0'};
    if (dt_facts_find(r->facts, name, out))
        return true;
    const char *other = letter == 'N' ? "params" : letter == 'T' ? "tokens" : NULL;
    return other && dt_facts_find(r->facts, other, out);
}

/* NT as N * T, when each letter is a fact. */
static double letters(reading *r, const char *name)
{
    double product = 1, value;
    for (const char *p = name; *p; p++) {
        if (!isupper((unsigned char)*p) || !find_letter(r, *p, &value))
            return fail(r, name, strlen(name));
        product *= value;
    }
    return product;
}

static double named(reading *r)
{
    char name[64];
    double value;
    size_t n = 0;
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
        n++;
    if (n == 0 || n >= sizeof name)
        return fail(r, *r->at ? r->at : "its end", *r->at ? strlen(r->at) : 7);
    memcpy(name, r->at, n);
    name[n] = '\0';
    r->at += n;
    const function *f = find_function(name);
    if (f && take(r, "("))
        return call(r, f);
    return dt_facts_find(r->facts, name, &value) ? value : letters(r, name);
}

static double in_parentheses(reading *r)
{
    double value = sum(r);
    return take(r, ")") || r->failed ? value : fail(r, r->at, strlen(r->at));
}

static double atom(reading *r)
{
    double value;
    skip(r);
    if (++r->depth > DEEPEST)
        value = fail(r, "its depth", 9);
    else if (take(r, "-"))
        value = -atom(r);
    else if (take(r, "("))
        value = in_parentheses(r);
    else
        value = isdigit((unsigned char)*r->at) || *r->at == '.' ? number(r) : named(r);
    r->depth--;
    return value;
}

/* ---- operators ---- */

static double power(reading *r)
{
    double base = atom(r);
    return !r->failed && (take(r, "**") || take(r, "^")) ? pow(base, power(r)) : base;
}

static bool begins_atom(const reading *r)
{
    return isalnum((unsigned char)*r->at) || *r->at == '(' || *r->at == '.';
}

static double product(reading *r)
{
    double value = power(r);
    while (!r->failed) {
        if (begins_atom(r) || take(r, "*"))
            value *= power(r);
        else if (take(r, "/"))
            value /= power(r);
        else
            break;
    }
    return value;
}

static double sum(reading *r)
{
    double value = product(r);
    while (!r->failed) {
        if (take(r, "+"))
            value += product(r);
        else if (take(r, "-"))
            value -= product(r);
        else
            break;
    }
    return value;
}

/* A remark behind the end: words and no more arithmetic. */
static bool is_remark(const reading *r)
{
    double value;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(r->at, " ,;)"), r->at);
    return !strpbrk(r->at, "+*/^=0123456789") && !dt_facts_find(r->facts, word, &value);
}

bool dt_formula(const dt_facts *f, const char *text, double *out, char *unknown, size_t size)
{
    reading r = {.facts = f, .at = text, .unknown = unknown, .size = size};
    *out = sum(&r);
    skip(&r);
    if (!r.failed && *r.at && !is_remark(&r))
        fail(&r, r.at, strlen(r.at));
    return !r.failed;
}
