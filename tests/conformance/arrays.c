/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over small arrays, by recursive descent. Everything is a double with a dtype beside it: recorded numbers are small. */
#include "pipelines.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

static array make(dt_dtype dtype, int rank, const int64_t *dim)
{
    array a = { .dtype = dtype, .rank = rank, .n = 1 };

    for (int i = 0; i < rank; i++)
        a.n *= a.dim[i] = dim[i];
    a.v = calloc((size_t)a.n + 1, sizeof *a.v);
    return a;
}

static array number(dt_dtype dtype, double x)
{
    array a = make(dtype, 0, NULL);
    a.v[0] = x;
    return a;
}

static array count(int rank, const int64_t *dim)
{
    array a = make(DT_INT64, rank, dim);
    for (int64_t i = 0; i < a.n; i++)
        a.v[i] = (double)i;
    return a;
}

void array_release(array *a)
{
    free(a->v);
    *a = (array){ 0 };
}

static json_t *json_of_value(const array *a, int64_t i)
{
    return a->dtype == DT_BOOL ? json_boolean(a->v[i] != 0) : a->dtype == DT_FLOAT32 || a->dtype == DT_FLOAT64 ? json_real(a->v[i])
                                                                                                                : json_integer((json_int_t)a->v[i]);
}

/* By way of the schema's form, which knows every dtype. */
dt_tensor *array_tensor(const array *a)
{
    json_t *shape = json_array(), *data = json_array();
    verdict quiet = { 0 };

    for (int i = 0; i < a->rank; i++)
        json_array_append_new(shape, json_integer(a->dim[i]));
    for (int64_t i = 0; i < a->n; i++)
        json_array_append_new(data, json_of_value(a, i));
    json_t *j = json_pack("{s:o,s:s,s:o}", "shape", shape, "dtype", dtype_name(a->dtype), "data", data);
    dt_tensor *t = tensor_of(&quiet, j);
    json_decref(j);
    return t;
}

array array_of_tensor(const dt_tensor *t)
{
    int64_t dim[ARRAY_RANK] = { 0 };
    int rank = dt_tensor_rank(t) < ARRAY_RANK ? dt_tensor_rank(t) : ARRAY_RANK;
    json_t *j = json_of_tensor(t), *data = json_object_get(j, "data");

    for (int i = 0; i < rank; i++)
        dim[i] = dt_tensor_dim(t, i);
    array a = make(dt_tensor_dtype(t), rank, dim);
    for (int64_t i = 0; i < a.n; i++) {
        const json_t *x = json_array_get(data, (size_t)i);
        a.v[i] = json_is_boolean(x) ? json_is_true(x) : json_double(x);
    }
    json_decref(j);
    return a;
}

static array copy(const array *a)
{
    array b = make(a->dtype, a->rank, a->dim);
    memcpy(b.v, a->v, (size_t)a->n * sizeof *a->v);
    return b;
}

/* ---- the reader ---- */

typedef struct reader {
    const char *at;
    const names *names;
    const char *why; /* NULL: fine so far */
    dt_status *s;
} reader;

static array expression(reader *r, int level);

static array fail(reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return number(DT_INT64, 0);
}

static bool accept(reader *r, const char *text)
{
    r->at += strspn(r->at, " ");
    if (strncmp(r->at, text, strlen(text)) != 0)
        return false;
    r->at += strlen(text);
    return true;
}

/* Lists of sizes: 0, 1, ... in that shape, which "of i" says too. */
static array shape(reader *r)
{
    int64_t dim[ARRAY_RANK];
    int rank = 0;

    do {
        array one = expression(r, 0);
        if (rank < ARRAY_RANK)
            dim[rank++] = (int64_t)one.v[0];
        array_release(&one);
    } while (accept(r, ","));
    if (!accept(r, "]"))
        return fail(r, "a list without its ]");
    accept(r, "of i");
    return count(rank, dim);
}

static array sum(const array *a)
{
    array out = number(a->dtype, 0);
    for (int64_t i = 0; i < a->n; i++)
        out.v[0] += a->v[i];
    return out;
}

static array filled(const array *like, dt_dtype dtype, double x)
{
    array out = make(dtype, like->rank, like->dim);
    for (int64_t i = 0; i < out.n; i++)
        out.v[i] = x;
    return out;
}

static array cast(const array *a, dt_dtype dtype)
{
    array out = make(dtype, a->rank, a->dim);
    memcpy(out.v, a->v, (size_t)a->n * sizeof *a->v);
    return out;
}

static array per_replica_batch_size(reader *r, const array *global)
{
    int64_t size = 0;

    if (!r->names->c)
        return fail(r, "ctx where there is none");
    dt_status *s = dt_input_context_per_replica_batch_size(r->names->c, (int64_t)global->v[0], &size);
    if (s) {
        r->s = s;
        return fail(r, "an error");
    }
    return number(DT_INT64, (double)size);
}

static array call(reader *r, const char *name)
{
    array a = expression(r, 0), out;

    if (strncmp(name, "tf.", 3) == 0)
        name += 3;
    if (!accept(r, ")"))
        out = fail(r, "a call without its )");
    else if (strcmp(name, "range") == 0)
        out = count(1, &(int64_t){ (int64_t)a.v[0] });
    else if (strcmp(name, "sum") == 0 || strcmp(name, "reduce_sum") == 0)
        out = sum(&a);
    else if (strcmp(name, "zeros") == 0 || strcmp(name, "ones") == 0)
        out = filled(&a, DT_FLOAT32, name[0] == 'o');
    else if (strcmp(name, "float32") == 0 || strcmp(name, "float64") == 0)
        out = cast(&a, name[5] == '3' ? DT_FLOAT32 : DT_FLOAT64);
    else if (strcmp(name, "int32") == 0 || strcmp(name, "int64") == 0)
        out = cast(&a, name[3] == '3' ? DT_INT32 : DT_INT64);
    else if (strcmp(name, "ctx.get_per_replica_batch_size") == 0)
        out = per_replica_batch_size(r, &a);
    else
        out = fail(r, "an unknown function");
    array_release(&a);
    return out;
}

static array named(reader *r, const char *name)
{
    const dt_input_context *c = r->names->c;

    if (strcmp(name, "x") == 0 && r->names->x)
        return copy(r->names->x);
    if (c && strcmp(name, "ctx.num_input_pipelines") == 0)
        return number(DT_INT64, c->num_input_pipelines);
    if (c && strcmp(name, "ctx.input_pipeline_id") == 0)
        return number(DT_INT64, c->input_pipeline_id);
    if (c && strcmp(name, "ctx.num_replicas_in_sync") == 0)
        return number(DT_INT64, c->num_replicas_in_sync);
    if (strcmp(name, "SHARD_HINT") == 0)
        return number(DT_INT64, DT_SHARD_HINT);
    if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0)
        return number(DT_BOOL, name[0] == 'T');
    return fail(r, "an unknown name");
}

static array primary(reader *r)
{
    char name[64] = "";
    size_t n = 0;

    if (accept(r, "(")) {
        array a = expression(r, 0);
        return accept(r, ")") ? a : (array_release(&a), fail(r, "a bracket without its )"));
    }
    if (accept(r, "["))
        return shape(r);
    if (accept(r, "-")) {
        array a = primary(r);
        for (int64_t i = 0; i < a.n; i++)
            a.v[i] = -a.v[i];
        return a;
    }
    r->at += strspn(r->at, " ");
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        double x = strtod(r->at, &end);
        bool real = memchr(r->at, '.', (size_t)(end - r->at)) != NULL;
        r->at = end;
        return number(real ? DT_FLOAT32 : DT_INT64, x);
    }
    while ((isalnum((unsigned char)r->at[n]) || (r->at[n] && strchr("._", r->at[n]))) && n < sizeof name - 1)
        n++;
    snprintf(name, sizeof name, "%.*s", (int)n, r->at);
    r->at += n;
    if (n == 0)
        return fail(r, "an expression that stops");
    return accept(r, "(") ? call(r, name) : named(r, name);
}

/* ---- operators ---- */

typedef enum op { ADD, SUB, MUL, FLOOR, DIV, MOD, EQ, NE, LE, GE, LT, GT } op;
static const struct {
    const char *text;
    int level; /* binds the stronger the higher */
    op op;
} ops[] = {
    { "==", 0, EQ }, { "!=", 0, NE }, { "<=", 0, LE }, { ">=", 0, GE }, { "<", 0, LT }, { ">", 0, GT },
    { "+", 1, ADD }, { "-", 1, SUB }, { "*", 2, MUL }, { "//", 2, FLOOR }, { "/", 2, DIV }, { "%", 2, MOD },
};
enum { OPS = sizeof ops / sizeof *ops, LEVELS = 3 };

static double compute(op o, double a, double b)
{
    switch (o) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case FLOOR: return floor(a / b);
    case DIV: return a / b;
    case MOD: return a - floor(a / b) * b;
    case EQ: return a == b;
    case NE: return a != b;
    case LE: return a <= b;
    case GE: return a >= b;
    case LT: return a < b;
    case GT: return a > b;
    }
    return NAN;
}

/* A single number goes with every element of the other side. */
static array apply(reader *r, op o, const array *a, const array *b)
{
    const array *like = a->rank >= b->rank ? a : b;

    if (a->rank && b->rank && a->n != b->n)
        return fail(r, "arrays of different sizes");
    array out = make(o >= EQ ? DT_BOOL : o == DIV ? DT_FLOAT64 : a->dtype == DT_INT64 ? b->dtype : a->dtype, like->rank, like->dim);
    for (int64_t i = 0; i < out.n; i++)
        out.v[i] = compute(o, a->v[a->rank ? i : 0], b->v[b->rank ? i : 0]);
    return out;
}

static array expression(reader *r, int level)
{
    array a = level == LEVELS ? primary(r) : expression(r, level + 1);

    for (int i = 0; i < OPS && !r->why && level < LEVELS; i++) {
        if (ops[i].level != level || !accept(r, ops[i].text))
            continue;
        array b = expression(r, level + 1), out = apply(r, ops[i].op, &a, &b);
        array_release(&a);
        array_release(&b);
        a = out;
        i = -1;
    }
    return a;
}

bool array_eval(const char *text, const names *n, array *out, const char **why, dt_status **s)
{
    reader r = { .at = text, .names = n };

    *out = expression(&r, 0);
    if (!r.why && r.at[strspn(r.at, " ")] != '\0')
        r.why = "something behind an expression";
    *why = r.why;
    *s = r.s;
    if (r.why)
        array_release(out);
    return r.why == NULL;
}

int split_arguments(const char *text, char **kept, char **parts, int most)
{
    int depth = 0, n = 0;
    char *p = *kept = strdup(text);

    p += strspn(p, " ");
    if (!*p)
        return 0;
    parts[n++] = p;
    for (; *p; p++) {
        depth += strchr("([{", *p) != NULL;
        depth -= strchr(")]}", *p) != NULL;
        if (*p != ',' || depth > 0)
            continue;
        if (n == most)
            return -1;
        *p = '\0';
        parts[n++] = p + 1 + strspn(p + 1, " ");
    }
    return n;
}
