/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded cases hold programs, functions and pipelines in words of Python's shape. This reads one
 * expression of them into a tree:
 *
 *     numbers, 'strings', names, None          a.b, f(x, key=y), x[i], [a..b]
 *     [..], (.., ..), {key: ..}                + - * / // % **, comparisons, and or not
 *     lambda x, y: EXPRESSION, x -> EXPRESSION [..] of i: 0, 1, ... in that shape
 *
 * README.md says what programs and pipelines may hold, and what is made of them.
 */
#ifndef TESTS_CONFORMANCE_PYTHON_H
#define TESTS_CONFORMANCE_PYTHON_H

#include <stdbool.h>

typedef enum py_kind {
    PY_NUMBER,
    PY_STRING,
    PY_NAME,
    PY_ATTRIBUTE,
    PY_CALL,
    PY_LIST,
    PY_TUPLE,
    PY_DICT,
    PY_INDEX,
    PY_RANGE,
    PY_BINARY,
    PY_UNARY,
    PY_LAMBDA,
    PY_KEYWORD
} py_kind;

typedef struct py {
    py_kind kind;
    /* a string, a name, an operator; of an ATTRIBUTE and a KEYWORD the name, also of an entry of
     * a DICT */
    char *text;
    double number;
    bool real; /* written with a point or an exponent */
    int n;
    /* CALL: what is called, arguments; ATTRIBUTE, INDEX: of what; LAMBDA: parameters, then the
     * body */
    struct py **in;
} py;

/* NULL with what is wrong in *why, which may be NULL. */
py *py_read(const char *text, const char **why);
void py_free(py *p);
/* The last part of a name, whatever module it is found in: "reduce_sum" of tf.math.reduce_sum; ""
 * where it is none. */
const char *py_name(const py *p);
/* The name that is called; "" where nothing is. */
const char *py_called(const py *p);
bool py_is(const py *p, const char *name);
/* Argument i of a call, or the one with that keyword; NULL: it is not given. */
const py *py_argument(const py *call, int i, const char *keyword);
/* A lambda's body and parameters; anything else is its own body. */
const py *py_body(const py *p);
int py_parameters(const py *p);

#endif
