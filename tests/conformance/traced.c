/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of a step function, as calls of the library. */
#include "traced.h"

#include <stdlib.h>
#include <string.h>

static dt_value unknown(const traced_words *w, const char *what, const char *name) {
    differs(w->v, "unknown wording of a step function: %s '%s'", what, name);
    return (dt_value){0};
}

static int axis_of(const traced_words *w, const py *p) {
    if (py_is(p, "axis")) return w->axis;
    return !p || py_is(p, "None") ? DT_NO_AXIS
           : p->kind == PY_UNARY  ? -(int)p->in[0]->number
                                  : (int)p->number;
}

/* "SUM", ReduceOp.SUM, op */
static const char *op_of(const traced_words *w, const py *p) {
    const char *name = p && p->kind == PY_STRING ? p->text : py_name(p);
    if (strcmp(name, "op") == 0 && w->op) name = w->op;
    return strncmp(name, "ReduceOp.", 9) == 0 ? name + 9 : name;
}

/* ---- constants ---- */

static int numbers_of(const py *p, float *x, int most, int64_t *dim, int depth) {
    int n = 0;
    dim[depth] = p->n;
    for (int i = 0; i < p->n && n < most; i++)
        if (p->in[i]->kind == PY_LIST && depth < 3)
            n += numbers_of(p->in[i], x + n, most - n, dim, depth + 1);
        else
            x[n++] =
                (float)(p->in[i]->kind == PY_UNARY ? -p->in[i]->in[0]->number : p->in[i]->number);
    return n;
}

static int depth_of(const py *p) {
    return p->kind == PY_LIST && p->n > 0 ? 1 + depth_of(p->in[0]) : 0;
}

/* A list of numbers: a variable that is never assigned. */
static dt_value constant_list(const traced_words *w, const py *p) {
    float x[64];
    int64_t dim[4] = {0};
    int n = numbers_of(p, x, 64, dim, 0);
    dt_tensor *t = NULL;
    dt_variable *held = NULL;
    dt_value y = {0};

    dt_status *s = depth_of(p) <= 4 ? dt_tensor_create(&t, DT_FLOAT32, depth_of(p), dim, x) : NULL;
    if (s || !t || dt_tensor_elements(t) != n) {
        dt_status_free(s);
        dt_tensor_unref(t);
        return unknown(w, "a list of", "more than 64 numbers, or of uneven rows");
    }
    s = dt_variable_create(&held, t, NULL);
    if (s) dt_trace_fail(w->trace, s);
    else y = dt_variable_read(w->trace, held);
    dt_variable_unref(held);
    dt_tensor_unref(t);
    return y;
}

/* ---- calls ---- */

static dt_value activation(const traced_words *w, const char *name, const py *p) {
    static const char *const names[] = {"relu", "sigmoid", "tanh",     "softmax",
                                        "elu",  "gelu",    "softplus", "log_softmax"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return dt_activation_call(traced_value(w, p), "%s", name);
    return strcmp(name, "exp") == 0 ? dt_activation_call(traced_value(w, p), "exponential")
                                    : unknown(w, "there is no", name);
}

static dt_value call(const traced_words *w, const py *p) {
    const char *name = py_called(p);
    const py *first = py_argument(p, 0, "value"), *second = py_argument(p, 1, NULL),
             *axis = py_argument(p, 1, "axis");

    if (strcmp(name, "all_reduce") == 0)
        return dt_all_reduce_named(op_of(w, py_argument(p, 0, "reduce_op")),
                                   traced_value(w, py_argument(p, 1, "value")));
    if (strcmp(name, "num_replicas_in_sync") == 0) return dt_num_replicas(w->trace);
    if (!first) return unknown(w, "a call without arguments,", name);
    if (strcmp(name, "all_gather") == 0)
        return dt_all_gather(traced_value(w, first), axis ? axis_of(w, axis) : w->axis);
    if (strcmp(name, "reduce_sum") == 0 || strcmp(name, "sum") == 0)
        return dt_reduce_sum(traced_value(w, first), axis_of(w, axis));
    if (strcmp(name, "reduce_mean") == 0 || strcmp(name, "mean") == 0)
        return dt_reduce_mean(traced_value(w, first), axis_of(w, axis));
    if (strcmp(name, "square") == 0)
        return dt_multiply(traced_value(w, first), traced_value(w, first));
    if (strcmp(name, "add") == 0 && second)
        return dt_add(traced_value(w, first), traced_value(w, second));
    if (strcmp(name, "subtract") == 0 && second)
        return dt_subtract(traced_value(w, first), traced_value(w, second));
    if (strcmp(name, "multiply") == 0 && second)
        return dt_multiply(traced_value(w, first), traced_value(w, second));
    if (strcmp(name, "divide") == 0 && second)
        return dt_divide(traced_value(w, first), traced_value(w, second));
    if (strcmp(name, "matmul") == 0 && second)
        return dt_matmul(traced_value(w, first), traced_value(w, second));
    if (strcmp(name, "identity") == 0 || strcmp(name, "constant") == 0 ||
        strcmp(name, "convert_to_tensor") == 0)
        return traced_value(w, first);
    return activation(w, name, first);
}

/* ---- expressions ---- */

static bool is_replica_number(const py *p) {
    static const char *const names[] = {"replica_id_in_sync_group", "replica_id",
                                        "num_replicas_in_sync"};
    for (int i = 0; i < 3; i++)
        if (py_is(p, names[i])) return true;
    return false;
}

/* False: a number, which takes the dtype of what it meets. */
static bool dtype_in(const traced_words *w, const py *p, dt_dtype *out) {
    if (p->kind == PY_NUMBER) return false;
    if (p->kind == PY_NAME || p->kind == PY_ATTRIBUTE) {
        *out = is_replica_number(p) ? DT_INT32 : w->dtype;
        return true;
    }
    for (int i = p->kind == PY_CALL ? 1 : 0; i < p->n; i++)
        if (p->in[i]->kind != PY_STRING && !(i == 1 && strcmp(py_called(p), "all_reduce") == 0) &&
            dtype_in(w, p->in[i], out))
            return true;
    return false;
}

static dt_value operand(const traced_words *w, const py *p, const py *other) {
    dt_dtype dtype = DT_FLOAT32;
    if (p->kind != PY_NUMBER) return traced_value(w, p);
    dtype_in(w, other, &dtype);
    return dt_scalar(w->trace, dtype, p->number);
}

static dt_value binary(const traced_words *w, const py *p) {
    dt_value a = operand(w, p->in[0], p->in[1]), b = operand(w, p->in[1], p->in[0]);

    switch (*p->text) {
    case '+': return dt_add(a, b);
    case '-': return dt_subtract(a, b);
    case '*':
        if (p->text[1] != '*') return dt_multiply(a, b);
        return p->in[1]->number == 2   ? dt_multiply(a, a)
               : p->in[1]->number == 3 ? dt_multiply(a, dt_multiply(a, a))
                                       : unknown(w, "the operator", p->text);
    case '/': return p->text[1] ? unknown(w, "the operator", p->text) : dt_divide(a, b);
    case '@': return dt_matmul(a, b);
    default: return unknown(w, "the operator", p->text);
    }
}

static dt_value named(const traced_words *w, const py *p) {
    const char *name = py_name(p);
    if (is_replica_number(p))
        return *name == 'n' ? dt_num_replicas(w->trace) : dt_replica_id(w->trace);
    if (p->kind == PY_NAME && w->x.trace) /* a function of one argument: its only name */
        return w->x;
    return unknown(w, "the name", name);
}

dt_value traced_value(const traced_words *w, const py *p) {
    if (!p) return unknown(w, "an argument is", "missing");
    switch (p->kind) {
    case PY_NUMBER: return dt_constant(w->trace, p->number);
    case PY_NAME:
    case PY_ATTRIBUTE: return named(w, p);
    case PY_BINARY: return binary(w, p);
    case PY_UNARY: return dt_multiply(traced_value(w, p->in[0]), dt_constant(w->trace, -1));
    case PY_CALL: return call(w, p);
    case PY_LIST: return constant_list(w, p);
    default: return unknown(w, "there is", "something other than a value");
    }
}

/* ---- results ---- */

void traced_return(const traced_words *w, const char *path, const py *p) {
    char inner[128];

    if (py_is(p, "None")) return;
    if (p->kind != PY_TUPLE && p->kind != PY_LIST && p->kind != PY_DICT) {
        dt_return(w->trace, *path ? path : "result", traced_value(w, p));
        return;
    }
    for (int i = 0; i < p->n; i++) {
        if (p->in[i]->kind == PY_KEYWORD)
            snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "/" : "", p->in[i]->text);
        else snprintf(inner, sizeof inner, "%s%s%d", path, *path ? "/" : "", i);
        traced_return(w, inner, p->in[i]->kind == PY_KEYWORD ? p->in[i]->in[0] : p->in[i]);
    }
}

/* What leads into an expression, and a remark in brackets behind it, are no part of it. */
static py *expression_of(const traced_words *w, const char *text) {
    static const char *const leads[] = {"returns ", "return ", "constant ", "the ", "fn: "};
    const char *why, *start = text, *remark;

    if (strcmp(text, "identity") == 0) start = "x";
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (strncmp(start, leads[i], strlen(leads[i])) == 0) start += strlen(leads[i]);
    char *copy = strdup(start);
    py *p = py_read(copy, &why);
    if (!p && (remark = strstr(copy, " (")) != NULL) {
        copy[remark - copy] = '\0';
        p = py_read(copy, NULL);
    }
    if (!p) differs(w->v, "unknown wording of a step function, '%s': %s", text, why);
    free(copy);
    return p;
}

dt_value words_value(const traced_words *w, const char *text) {
    py *p = expression_of(w, text);
    dt_value y = p ? traced_value(w, py_body(p)) : (dt_value){0};
    py_free(p);
    return y;
}

void words_return(const traced_words *w, const char *text) {
    py *p = expression_of(w, text);
    if (p) traced_return(w, "", py_body(p));
    py_free(p);
}

dt_dtype words_dtype(const json_t *value) {
    const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
    const char *name = json_string_value(json_object_get(first, "dtype"));
    for (int d = 0; name && d <= DT_BFLOAT16; d++)
        if (strcmp(dtype_name((dt_dtype)d), name) == 0) return (dt_dtype)d;
    return DT_FLOAT32;
}
