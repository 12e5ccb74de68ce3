/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of Python's shape, by recursive descent. */
#include "python.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *at, *why; /* why: NULL, fine so far */
    int depth;
} reader;

enum { DEEPEST = 64 };

static py *expression(reader *r);
static py *level(reader *r, int l);

/* ---- nodes ---- */

static py *node(py_kind kind, const char *text, size_t n) {
    py *p = calloc(1, sizeof *p);
    p->kind = kind;
    p->text = text ? strndup(text, n) : NULL;
    return p;
}

static py *add(py *to, py *in) {
    to->in = realloc(to->in, (size_t)(to->n + 1) * sizeof *to->in);
    to->in[to->n++] = in;
    return to;
}

void py_free(py *p) {
    for (int i = 0; p && i < p->n; i++) py_free(p->in[i]);
    if (p) {
        free(p->in);
        free(p->text);
        free(p);
    }
}

static void blame(reader *r, const char *why) {
    if (!r->why) r->why = why;
}

static py *fail(reader *r, const char *why) {
    blame(r, why);
    return node(PY_NAME, "", 0);
}

/* ---- words ---- */

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t word(reader *r) {
    size_t n = 0;
    r->at += strspn(r->at, " \t\n");
    while (is_letter(r->at[n])) n++;
    return n;
}

static bool accept(reader *r, const char *text) {
    size_t n = strlen(text);
    r->at += strspn(r->at, " \t\n");
    if (strncmp(r->at, text, n) != 0 || (is_letter(text[n - 1]) && is_letter(r->at[n])))
        return false;
    r->at += n;
    return true;
}

/* ---- what stands alone ---- */

static py *string(reader *r) {
    const char quote = *r->at, *end = strchr(r->at + 1, quote);
    if (!end) return fail(r, "a string without its end");
    py *p = node(PY_STRING, r->at + 1, (size_t)(end - r->at) - 1);
    r->at = end + 1;
    return p;
}

/* "1..8" is no number with two points. */
static py *number(reader *r) {
    char *end;
    py *p = node(PY_NUMBER, NULL, 0);
    size_t digits = strspn(r->at, "0123456789_");
    bool range = r->at[digits] == '.' && r->at[digits + 1] == '.';

    p->number = range ? (double)strtoll(r->at, &end, 10) : strtod(r->at, &end);
    p->real = !range && strpbrk(r->at, ".eE") && strpbrk(r->at, ".eE") < end;
    r->at = end;
    return p;
}

/* Elements up to the bracket; entries "key: value", "key=value" or the value alone. */
static py *elements(reader *r, py *p, const char *bracket) {
    while (!r->why && !accept(r, bracket)) {
        py *x = expression(r);
        bool entry = p->kind == PY_DICT ? accept(r, ":")
                                        : p->kind == PY_CALL && x->kind == PY_NAME &&
                                              r->at[strspn(r->at, " ")] == '=' && accept(r, "=");
        if (entry) {
            py *key = add(node(PY_KEYWORD, x->text ? x->text : "", x->text ? strlen(x->text) : 0),
                          expression(r));
            py_free(x);
            x = key;
        } else if (p->kind == PY_LIST && accept(r, "..")) {
            accept(r, ".");
            x = add(add(node(PY_RANGE, NULL, 0), x), expression(r));
        }
        add(p, x);
        if (!accept(r, ",") && !(r->at += strspn(r->at, " "), strncmp(r->at, bracket, 1) == 0))
            blame(r, "a comma or the end of a bracket is missing");
        else if (p->kind == PY_TUPLE) p->real |= r->at[-1] == ','; /* (x,) is a tuple, (x) is not */
    }
    return p;
}

static py *bracketed(reader *r) {
    py *p = elements(r, node(PY_TUPLE, NULL, 0), ")");
    if (p->n != 1 || p->real) {
        p->real = false;
        return p;
    }
    py *alone = p->in[0];
    p->n = 0;
    py_free(p);
    return alone;
}

static py *lambda(reader *r) {
    py *p = node(PY_LAMBDA, NULL, 0);
    for (size_t n; !r->why && !accept(r, ":"); accept(r, ",")) {
        accept(r, "*");
        n = word(r);
        if (n == 0) return add(p, fail(r, "a lambda without its colon"));
        add(p, node(PY_NAME, r->at, n));
        r->at += n;
    }
    return add(p, expression(r));
}

static py *primary(reader *r) {
    size_t n = word(r);

    if (accept(r, "(")) return bracketed(r);
    if (accept(r, "[")) return elements(r, node(PY_LIST, NULL, 0), "]");
    if (accept(r, "{")) return elements(r, node(PY_DICT, NULL, 0), "}");
    if (*r->at == '\'' || *r->at == '"') return string(r);
    if (isdigit((unsigned char)*r->at) || (*r->at == '.' && isdigit((unsigned char)r->at[1])))
        return number(r);
    if (accept(r, "lambda")) return lambda(r);
    if (n == 0)
        return fail(r, *r->at ? "a sign that has no place there" : "an expression that stops");
    py *p = node(PY_NAME, r->at, n);
    r->at += n;
    return p;
}

static py *postfix(reader *r) {
    py *p = primary(r);

    while (!r->why) {
        size_t n;
        if (accept(r, "(")) {
            p = elements(r, add(node(PY_CALL, NULL, 0), p), ")");
        } else if (accept(r, "[")) {
            p = elements(r, add(node(PY_INDEX, NULL, 0), p), "]");
        } else if (strncmp(r->at, "..", 2) != 0 && accept(r, ".")) {
            n = word(r);
            p = add(node(PY_ATTRIBUTE, r->at, n), p);
            r->at += n;
            if (n == 0) blame(r, "a name behind a point is missing");
        } else if (accept(r, "of i")) {
            p = add(node(PY_UNARY, "of i", 4), p);
        } else {
            break;
        }
    }
    return p;
}

/* ---- operators ---- */

static const char *const ops[][7] = {
    {"or"}, {"and"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"//", "/", "%", "*", "@"},
    {"**"},
};
enum { LEVELS = sizeof ops / sizeof *ops };

static py *unary(reader *r) {
    const char *op = accept(r, "-") ? "-" : accept(r, "not") ? "not" : NULL;
    accept(r, "+");
    return op ? add(node(PY_UNARY, op, strlen(op)), level(r, 5)) : postfix(r);
}

/* ** is no *, and an arrow is no minus. */
static const char *operator_at(reader *r, int l) {
    r->at += strspn(r->at, " \t\n");
    for (int i = 0; i < 7 && ops[l][i]; i++) {
        bool other = strncmp(r->at, *ops[l][i] == '*' ? "**" : "->", 2) == 0 &&
                     ops[l][i][1] == '\0' && (*ops[l][i] == '*' || *ops[l][i] == '-');
        if (!other && accept(r, ops[l][i])) return ops[l][i];
    }
    return NULL;
}

static py *level(reader *r, int l) {
    if (l == LEVELS) return unary(r);
    py *p = level(r, l + 1);
    for (const char *op; !r->why && (op = operator_at(r, l)) != NULL;)
        p = add(add(node(PY_BINARY, op, strlen(op)), p), level(r, l + 1));
    return p;
}

static py *expression(reader *r) {
    if (++r->depth > DEEPEST) {
        r->depth--;
        return fail(r, "brackets in brackets in brackets ...");
    }
    py *p = level(r, 0);
    if (!r->why && accept(r, "->")) p = add(add(node(PY_LAMBDA, NULL, 0), p), expression(r));
    r->depth--;
    return p;
}

py *py_read(const char *text, const char **why) {
    reader r = {.at = text};
    py *p = expression(&r);

    r.at += strspn(r.at, " \t\n");
    if (!r.why && *r.at == ',') { /* a tuple needs no brackets */
        p = add(node(PY_TUPLE, NULL, 0), p);
        while (!r.why && accept(&r, ",") && r.at[strspn(r.at, " ")]) add(p, expression(&r));
    }
    if (!r.why && r.at[strspn(r.at, " \t\n")]) blame(&r, "something behind an expression");
    if (why) *why = r.why;
    if (!r.why) return p;
    py_free(p);
    return NULL;
}

/* ---- asking ---- */

const char *py_name(const py *p) {
    return p && (p->kind == PY_NAME || p->kind == PY_ATTRIBUTE) ? p->text : "";
}

const char *py_called(const py *p) { return p && p->kind == PY_CALL ? py_name(p->in[0]) : ""; }

bool py_is(const py *p, const char *name) { return strcmp(py_name(p), name) == 0; }

const py *py_argument(const py *call, int i, const char *keyword) {
    for (int k = 1; k < call->n; k++) {
        const py *x = call->in[k];
        if (x->kind == PY_KEYWORD && keyword && strcmp(x->text, keyword) == 0) return x->in[0];
        if (x->kind != PY_KEYWORD && i-- == 0) return x;
    }
    return NULL;
}

const py *py_body(const py *p) { return p && p->kind == PY_LAMBDA ? p->in[p->n - 1] : p; }

int py_parameters(const py *p) { return p && p->kind == PY_LAMBDA ? p->n - 1 : 0; }
