/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance runner: golden cases recorded from the original, run through the public API. A
 * file holds cases, a case names an operation, and each operation is one row of a table: the
 * function that runs such a case and writes down what differs. An operation without a row is a
 * failure, so nothing is passed over in silence; what needs Python itself has a row that says why.
 *
 *     build/tests/conformance tests/golden              each difference, then "N passed, N failed,
 *                                                       N skipped"
 *
 * Schemas of cases: tests/golden/README.md. Cases of one area lie together:
 * tests/conformance/AREA.c with its rows, and one line in areas.h.
 */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include <jansson.h>

#include "dtrain.h"

typedef struct golden_case {
    const char *id, *op;
    const json_t *in, *out; /* out NULL: an error is expected */
    const json_t *error;    /* {"type", "message", "core"} */
} golden_case;

/* What differs in the case at hand; printed as it is found. */
typedef struct verdict {
    const golden_case *c;
    int differences;
    bool quiet;
    const char *skipped; /* set where a case turns out to tell too little to be run: why */
    char reason[160];    /* room for it, where it is not a literal */
} verdict;

typedef struct golden_op {
    const char *op; /* NULL ends a table */
    void (*run)(const golden_case *c, verdict *v);
    const char *skip; /* instead of run: why such a case needs Python */
} golden_op;

/* ---- what is said ---- */

void differs(verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A case that cannot be set up: a key is missing, or a call failed that should not. Frees s, which
 * may be NULL. */
void expect_ok(verdict *v, const char *what, dt_status *s);
/*
 * The case expects an error: s must be one, of that kind, and its text must hold every number of
 * the recorded one. Frees s. A kind that is an accident of Python (AttributeError, IndexError ...
 * of the interpreter) is named by the caller with what ours is instead.
 */
void expect_error(verdict *v, dt_status *s);
/* Of an error whose recorded text is an accident: the kind, and these numbers in the text. */
void expect_error_of(verdict *v, dt_status *s, const char *kind, const int *numbers, int n);
void expect_error_kind(verdict *v, dt_status *s, const char *kind);

/* ---- values ---- */

typedef struct tolerance {
    double relative, absolute;
} tolerance;
#define EXACT ((tolerance){0, 0})
#define ELEMENTWISE ((tolerance){1e-6, 1e-7}) /* golden/README.md */
#define PRODUCTS ((tolerance){1e-5, 1e-6})

/* A number, or "nan", "inf", "-inf", or an integer in quotes. */
double json_double(const json_t *j);
/* A TENSOR of the schema; NULL with a difference if it is none. The caller unrefs it. */
dt_tensor *tensor_of(verdict *v, const json_t *tensor);
void expect_tensor(verdict *v, const char *what, const json_t *want, const dt_tensor *got,
                   tolerance t);
void expect_int(verdict *v, const char *what, const json_t *want, int64_t got);
void expect_double(verdict *v, const char *what, const json_t *want, double got, tolerance t);
void expect_text(verdict *v, const char *what, const json_t *want, const char *got);
/* Whole structures: both are compared as JSON, numbers by t. got is freed. */
void expect_json(verdict *v, const char *what, const json_t *want, json_t *got, tolerance t);
/* {"shape", "dtype", "data"} of a tensor. */
json_t *json_of_tensor(const dt_tensor *t);
const char *dtype_name(dt_dtype t);

/* ---- values of any kind ---- */

typedef struct value_at {
    const char *what;
    const dt_values *values;
    const char *path;                      /* "" for the whole, "b/0" within */
    const char *(*name)(const char *path); /* of the entry at that path */
    int replica;                           /* -1: the value, else this replica's part of it */
} value_at;
/* A VALUE of the schema. */
void expect_value(verdict *v, const value_at *at, const json_t *want);
/* A list of VALUEs, the i-th for replica i. */
void expect_locals(verdict *v, const char *what, const json_t *want, const dt_values *values);
/* The path itself, "result" for the whole. */
const char *result_name(const char *path);

/* The value of a case: a list of values of the replicas, unless the case says that it is one
 * tensor. */
bool set_case_value(verdict *v, dt_values *out, const char *name, const json_t *in);
/* A list of TENSORs as the entry `name` of out, one per replica; a single TENSOR as a single value.
 * False with a difference. */
bool set_value(verdict *v, dt_values *out, const char *name, const json_t *value);

/* ---- what cases have in common ---- */

/* "strategy": {"type": "MirroredStrategy", "num_replicas": 2}, ...; NULL with a difference. The
 * caller unrefs it. */
dt_strategy *strategy_of(verdict *v, const json_t *strategy);
/* "SUM", "mEaN", or the enum itself, "ReduceOp.SUM". */
dt_status *reduce_op_of(const char *name, dt_reduce_op *op);
/* The fragment of a job file for {"class": "Adam", "arguments": {"learning_rate": 0.1}}: "Adam:
 * {learning_rate: 0.1}"; free it. */
char *fragment_of(const char *name, const json_t *arguments);

#define AREA(name) extern const golden_op name##_ops[];
#include "areas.h"
#undef AREA

#endif
