/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over small arrays. Everything is a double with a dtype beside it: recorded numbers
 * are small. */
#include "pipelines.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

static array make(dt_dtype dtype, int rank, const int64_t *dim) {
    array a = {.dtype = dtype, .rank = rank, .n = 1};

    for (int i = 0; i < rank; i++) a.n *= a.dim[i] = dim[i];
    a.v = calloc((size_t)a.n + 1, sizeof *a.v);
    return a;
}

static array number(dt_dtype dtype, double x) {
    array a = make(dtype, 0, NULL);
    a.v[0] = x;
    return a;
}

static array count(int rank, const int64_t *dim) {
    array a = make(DT_INT64, rank, dim);
    for (int64_t i = 0; i < a.n; i++) a.v[i] = (double)i;
    return a;
}

void array_release(array *a) {
    free(a->v);
    *a = (array){0};
}

static json_t *json_of_value(const array *a, int64_t i) {
    return a->dtype == DT_BOOL                                ? json_boolean(a->v[i] != 0)
           : a->dtype == DT_FLOAT32 || a->dtype == DT_FLOAT64 ? json_real(a->v[i])
                                                              : json_integer((json_int_t)a->v[i]);
}

/* By way of the schema's form, which knows every dtype. */
dt_tensor *array_tensor(const array *a) {
    json_t *shape = json_array(), *data = json_array();
    verdict quiet = {0};

    for (int i = 0; i < a->rank; i++) json_array_append_new(shape, json_integer(a->dim[i]));
    for (int64_t i = 0; i < a->n; i++) json_array_append_new(data, json_of_value(a, i));
    json_t *j =
        json_pack("{s:o,s:s,s:o}", "shape", shape, "dtype", dtype_name(a->dtype), "data", data);
    dt_tensor *t = tensor_of(&quiet, j);
    json_decref(j);
    return t;
}

array array_of_tensor(const dt_tensor *t) {
    int64_t dim[ARRAY_RANK] = {0};
    int rank = dt_tensor_rank(t) < ARRAY_RANK ? dt_tensor_rank(t) : ARRAY_RANK;
    json_t *j = json_of_tensor(t), *data = json_object_get(j, "data");

    for (int i = 0; i < rank; i++) dim[i] = dt_tensor_dim(t, i);
    array a = make(dt_tensor_dtype(t), rank, dim);
    for (int64_t i = 0; i < a.n; i++) {
        const json_t *x = json_array_get(data, (size_t)i);
        a.v[i] = json_is_boolean(x) ? json_is_true(x) : json_double(x);
    }
    json_decref(j);
    return a;
}

static array copy(const array *a) {
    array b = make(a->dtype, a->rank, a->dim);
    memcpy(b.v, a->v, (size_t)a->n * sizeof *a->v);
    return b;
}

/* ---- evaluating ---- */

typedef struct run {
    const names *names;
    const char *why; /* NULL: fine so far */
    dt_status *s;
} run;

static array eval(run *r, const py *p);

static array fail(run *r, const char *why) {
    if (!r->why) r->why = why;
    return number(DT_INT64, 0);
}

static bool is_real(dt_dtype d) { return d == DT_FLOAT32 || d == DT_FLOAT64; }

static array filled(int rank, const int64_t *dim, dt_dtype dtype, double x) {
    array out = make(dtype, rank, dim);
    for (int64_t i = 0; i < out.n; i++) out.v[i] = x;
    return out;
}

static array cast(const array *a, dt_dtype dtype) {
    array out = copy(a);
    out.dtype = dtype;
    for (int64_t i = 0; i < out.n; i++)
        out.v[i] = dtype == DT_BOOL ? a->v[i] != 0 : is_real(dtype) ? a->v[i] : trunc(a->v[i]);
    return out;
}

/* ---- lists ---- */

/* [1..8] is all of them. */
static int64_t length(const py *p) {
    int64_t n = 0;
    for (int i = 0; i < p->n; i++)
        n += p->in[i]->kind == PY_RANGE
                 ? (int64_t)(p->in[i]->in[1]->number - p->in[i]->in[0]->number) + 1
                 : 1;
    return n;
}

/* One row of the literal after the other; all have the shape of the first. */
static void put_row(run *r, array *out, int64_t *at, const array *row) {
    bool same = row->rank == out->rank - 1;
    for (int d = 0; same && d < row->rank; d++) same = row->dim[d] == out->dim[d + 1];
    if (!same) {
        fail(r, "rows of a list differ");
        return;
    }
    memcpy(out->v + *at, row->v, (size_t)row->n * sizeof *row->v);
    *at += row->n;
}

static array literal(run *r, const py *p) {
    int64_t dim[ARRAY_RANK] = {length(p)}, at = 0;
    if (p->n == 0) return make(DT_FLOAT32, 1, dim);
    array first = p->in[0]->kind == PY_RANGE ? number(DT_INT32, 0) : eval(r, p->in[0]);
    if (first.rank >= ARRAY_RANK || dim[0] < 0 || dim[0] > 1 << 20) {
        array_release(&first);
        return fail(r, "a list of too many dimensions");
    }
    memcpy(dim + 1, first.dim, (size_t)first.rank * sizeof *dim);
    array out = make(first.dtype == DT_INT64 ? DT_INT32 : first.dtype, first.rank + 1, dim);
    array_release(&first);
    for (int i = 0; i < p->n && !r->why; i++) {
        if (p->in[i]->kind == PY_RANGE) {
            for (double x = p->in[i]->in[0]->number; x <= p->in[i]->in[1]->number; x++)
                out.v[at++] = x;
            continue;
        }
        array row = eval(r, p->in[i]);
        if (is_real(row.dtype) && !is_real(out.dtype)) out.dtype = row.dtype;
        put_row(r, &out, &at, &row);
        array_release(&row);
    }
    return out;
}

/* A list of a few whole numbers, which may be a shape. */
static bool is_shape(const py *p) {
    bool all = p->n > 0 && p->n <= ARRAY_RANK;
    for (int i = 0; all && i < p->n; i++)
        all = p->in[i]->kind == PY_NUMBER && !p->in[i]->real && p->in[i]->number > 0;
    return all;
}

/* A number, a list or a tuple as a shape. */
static int shape_of(run *r, const py *p, int64_t dim[ARRAY_RANK]) {
    array a = p ? eval(&(run){&(names){0}, NULL, NULL}, p) : number(DT_INT64, 0);
    int rank = a.rank == 0 ? 1 : (int)a.n;
    if (!p || rank > ARRAY_RANK) {
        array_release(&a);
        fail(r, "a shape is missing, or has too many dimensions");
        return 0;
    }
    for (int i = 0; i < rank; i++) dim[i] = (int64_t)a.v[i];
    array_release(&a);
    return rank;
}

static array counted(run *r, const py *p) {
    int64_t dim[ARRAY_RANK];
    int rank = shape_of(r, p, dim);
    return count(rank, dim);
}

/* ---- functions ---- */

static bool dtype_named(const char *name, dt_dtype *out) {
    static const struct {
        const char *name;
        dt_dtype dtype;
    } rows[] = {
        {"float", DT_FLOAT32}, {"int", DT_INT64}, {"bool_", DT_BOOL}, {"double", DT_FLOAT64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return *out = rows[i].dtype, true;
    for (int d = 0; d <= DT_BFLOAT16; d++)
        if (strcmp(dtype_name((dt_dtype)d), name) == 0) return *out = (dt_dtype)d, true;
    return false;
}

static const char *named_dtype(const py *p) {
    return p && p->kind == PY_STRING ? p->text : py_name(p);
}

/* Sum, mean, largest, smallest of all. */
static array reduced(const array *a, char how) {
    dt_dtype d = how == 'm' && !is_real(a->dtype) ? DT_FLOAT64
                 : a->dtype == DT_BOOL            ? DT_INT64
                                                  : a->dtype;
    array out = number(d, a->n > 0 && (how == 'x' || how == 'y') ? a->v[0] : 0);
    for (int64_t i = 0; i < a->n; i++)
        out.v[0] = how == 'x'   ? fmax(out.v[0], a->v[i])
                   : how == 'y' ? fmin(out.v[0], a->v[i])
                                : out.v[0] + a->v[i];
    if (how == 'm') out.v[0] /= (double)a->n;
    return out;
}

static array per_replica_batch_size(run *r, const array *global) {
    int64_t size = 0;

    if (!r->names->c) return fail(r, "an InputContext where there is none");
    dt_status *s =
        dt_input_context_per_replica_batch_size(r->names->c, (int64_t)global->v[0], &size);
    if (s) {
        r->s = s;
        return fail(r, "an error");
    }
    return number(DT_INT64, (double)size);
}

static double compute(const char *op, double a, double b) {
    static const char *const ops[] = {
        "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<=", ">=", "<", ">", "and", "or", NULL};
    int i = 0;
    while (ops[i] && strcmp(ops[i], op) != 0) i++;
    const double all[] = {
        a + b,      a - b,  a * b,  a / b,  floor(a / b), a - floor(a / b) * b, pow(a, b),
        a == b,     a != b, a <= b, a >= b, a<b, a> b,    a != 0 && b != 0,     a != 0 || b != 0,
        (double)NAN};
    return all[i];
}

/* A single number goes with every element of the other side. */
static array apply(run *r, const char *op, const array *a, const array *b) {
    const array *like = a->rank >= b->rank ? a : b;
    bool truth = strchr("=!<>ao", *op) != NULL;

    if (a->rank && b->rank && a->n != b->n) return fail(r, "arrays of different sizes");
    array out = make(truth                                                              ? DT_BOOL
                     : strcmp(op, "/") == 0 && !is_real(a->dtype) && !is_real(b->dtype) ? DT_FLOAT64
                     : a->dtype == DT_INT64                                             ? b->dtype
                                                                                        : a->dtype,
                     like->rank, like->dim);
    for (int64_t i = 0; i < out.n; i++)
        out.v[i] = compute(op, a->v[a->rank ? i : 0], b->v[b->rank ? i : 0]);
    return out;
}

/* Functions that are operators by another name. */
static const char *operator_named(const char *name) {
    static const char *const rows[][2] = {
        {"equal", "=="},      {"not_equal", "!="},     {"less", "<"},    {"greater", ">"},
        {"less_equal", "<="}, {"greater_equal", ">="}, {"add", "+"},     {"subtract", "-"},
        {"multiply", "*"},    {"divide", "/"},         {"truediv", "/"}, {"mod", "%"},
        {"floormod", "%"},    {"floordiv", "//"},      {"pow", "**"},    {"logical_and", "and"},
        {"logical_or", "or"}, {"power", "**"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], name) == 0) return rows[i][1];
    return NULL;
}

/* Modules and objects whose functions are no methods of arrays. */
static bool is_module(const py *p) {
    static const char *const modules[] = {"tf",    "np",      "math",          "numpy",
                                          "keras", "ops",     "jnp",           "strategy",
                                          "ctx",   "context", "input_context", "self"};
    while (p->kind == PY_ATTRIBUTE) p = p->in[0];
    for (size_t i = 0; p->kind == PY_NAME && i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i], p->text) == 0) return true;
    return false;
}

static array reshaped(run *r, const array *a, const py *shape) {
    array out = copy(a);
    int64_t dim[ARRAY_RANK], known = 1;
    int rank = shape_of(r, shape, dim);
    for (int i = 0; i < rank; i++) known *= dim[i] < 0 ? 1 : dim[i];
    out.rank = rank;
    for (int i = 0; i < rank; i++) out.dim[i] = dim[i] < 0 && known ? out.n / known : dim[i];
    return out;
}

/* Functions of one array, and perhaps something that is none. */
static array call_on(run *r, const char *name, const array *a, const py *second, const py *dtype) {
    static const char *const reductions[][2] = {
        {"sum", "s"}, {"reduce_sum", "s"}, {"mean", "m"}, {"reduce_mean", "m"},
        {"max", "x"}, {"reduce_max", "x"}, {"min", "y"},  {"reduce_min", "y"}};
    static const char *const same[] = {
        "constant", "convert_to_tensor", "identity",      "asarray", "list", "numpy", "tolist",
        "copy",     "Variable",          "stop_gradient", "array"};
    dt_dtype d;

    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(reductions[i][0], name) == 0) return reduced(a, *reductions[i][1]);
    if (strcmp(name, "cast") == 0 || strcmp(name, "astype") == 0)
        return dtype_named(named_dtype(second ? second : dtype), &d) ? cast(a, d)
                                                                     : fail(r, "an unknown dtype");
    if (strcmp(name, "reshape") == 0) return reshaped(r, a, second);
    if (strcmp(name, "get_per_replica_batch_size") == 0) return per_replica_batch_size(r, a);
    if (strcmp(name, "len") == 0) return number(DT_INT64, a->rank ? (double)a->dim[0] : 0);
    if (strcmp(name, "zeros_like") == 0 || strcmp(name, "ones_like") == 0)
        return filled(a->rank, a->dim, a->dtype, *name == 'o');
    if (strcmp(name, "square") == 0) return apply(r, "*", a, a);
    if (strcmp(name, "abs") == 0 || strcmp(name, "logical_not") == 0 ||
        strcmp(name, "negative") == 0) {
        array out = copy(a);
        for (int64_t i = 0; i < a->n; i++)
            out.v[i] = *name == 'a' ? fabs(a->v[i]) : *name == 'l' ? a->v[i] == 0 : -a->v[i];
        return out;
    }
    if (dtype_named(name, &d)) return cast(a, d);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(same[i], name) == 0) {
            const py *wanted = dtype ? dtype : second;
            if (wanted)
                return dtype_named(named_dtype(wanted), &d) ? cast(a, d)
                                                            : fail(r, "an unknown dtype");
            return strcmp(name, "array") == 0 && a->dtype == DT_FLOAT32 ? cast(a, DT_FLOAT64)
                   : strcmp(name, "array") == 0 && a->dtype == DT_INT32 ? cast(a, DT_INT64)
                                                                        : copy(a);
        }
    return fail(r, "an unknown function");
}

static array range(run *r, const py *p) {
    const py *second = py_argument(p, 1, "limit"), *third = py_argument(p, 2, "delta"),
             *dtype = py_argument(p, 9, "dtype");
    array a = eval(r, py_argument(p, 0, "start") ? py_argument(p, 0, "start") : p),
          b = second ? eval(r, second) : number(DT_INT64, 0);
    array c = third ? eval(r, third) : number(DT_INT64, 1);
    double from = second ? a.v[0] : 0, to = second ? b.v[0] : a.v[0], step = c.v[0];
    int64_t n = step != 0 && (to - from) / step > 0 ? (int64_t)ceil((to - from) / step) : 0;
    dt_dtype d = is_real(a.dtype) ? a.dtype : DT_INT64;

    if (dtype) dtype_named(named_dtype(dtype), &d);
    array out = n <= 1 << 20 ? make(d, 1, &n) : fail(r, "a range that is too long");
    for (int64_t i = 0; i < out.n && out.rank; i++) out.v[i] = from + step * (double)i;
    array_release(&a);
    array_release(&b);
    array_release(&c);
    return out;
}

static array full(run *r, const py *p, const char *name) {
    int64_t dim[ARRAY_RANK];
    int rank = shape_of(r, py_argument(p, 0, "shape"), dim);
    const py *fill = py_argument(p, 1, "fill_value"),
             *dtype = py_argument(p, *name == 'f' ? 2 : 1, "dtype");
    dt_dtype d = DT_FLOAT32;
    array x = *name == 'f' && fill ? eval(r, fill) : number(DT_FLOAT32, *name == 'o');

    if (*name == 'f') d = x.dtype;
    if (!dtype && p->in[0]->kind == PY_ATTRIBUTE && py_is(p->in[0]->in[0], "np")) d = DT_FLOAT64;
    if (dtype && !dtype_named(named_dtype(dtype), &d)) fail(r, "an unknown dtype");
    array out = filled(rank, dim, d, x.v[0]);
    array_release(&x);
    return out;
}

static array call(run *r, const py *p) {
    const char *name = py_called(p), *op = operator_named(name);
    bool method = p->in[0]->kind == PY_ATTRIBUTE && !is_module(p->in[0]->in[0]);
    const py *first = method ? p->in[0]->in[0] : py_argument(p, 0, NULL),
             *second = py_argument(p, method ? 0 : 1, NULL);

    if (strcmp(name, "range") == 0 || strcmp(name, "arange") == 0) return range(r, p);
    if (strcmp(name, "zeros") == 0 || strcmp(name, "ones") == 0 || strcmp(name, "fill") == 0 ||
        strcmp(name, "full") == 0)
        return full(r, p, name);
    if (!first)
        first = py_argument(p, 0, p->n > 1 && p->in[1]->kind == PY_KEYWORD ? p->in[1]->text : NULL);
    if (!first) return fail(r, "a function without arguments");
    const names plain = {.n = r->names->n,
                         .c = r->names->c,
                         .vc = r->names->vc,
                         .name = r->names->name,
                         .value = r->names->value};
    run inner = {&plain, NULL, NULL};
    array a = eval(&inner, first), out = {0};
    if (!inner.why && op && second) {
        array b = eval(&inner, second);
        out = apply(&inner, op, &a, &b);
        array_release(&b);
    } else if (!inner.why) {
        out = call_on(&inner, name, &a, second, py_argument(p, 99, "dtype"));
    }
    array_release(&a);
    r->s = inner.s;
    return inner.why ? (array_release(&out), fail(r, inner.why)) : out;
}

/* ---- names ---- */

static array named(run *r, const py *p) {
    const char *name = py_name(p);
    const dt_input_context *c = r->names->c;
    const dt_value_context *vc = r->names->vc;
    const struct {
        const char *name;
        bool known;
        double value;
    } rows[] = {
        {"num_input_pipelines", c != NULL, c ? c->num_input_pipelines : 0},
        {"input_pipeline_id", c != NULL, c ? c->input_pipeline_id : 0},
        {"num_replicas_in_sync", c || vc,
         c    ? c->num_replicas_in_sync
         : vc ? vc->num_replicas_in_sync
              : 0},
        {"num_replicas", c || vc,
         c    ? c->num_replicas_in_sync
         : vc ? vc->num_replicas_in_sync
              : 0},
        {"replica_id_in_sync_group", vc != NULL, vc ? vc->replica_id_in_sync_group : 0},
        {"replica_id", vc != NULL, vc ? vc->replica_id_in_sync_group : 0},
        {"id", vc != NULL, vc ? vc->replica_id_in_sync_group : 0},
        {"SHARD_HINT", true, DT_SHARD_HINT},
        {"AUTOTUNE", true, -1},
        {"INFINITE_CARDINALITY", true, -1},
    };

    for (int i = 0; i < r->names->n; i++)
        if (p->kind == PY_NAME && strcmp(r->names->name[i], name) == 0)
            return copy(r->names->value[i]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].known && strcmp(rows[i].name, name) == 0)
            return number(vc ? DT_INT32 : DT_INT64, rows[i].value);
    if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0)
        return number(DT_BOOL, name[0] == 'T');
    return fail(r, "an unknown name");
}

/* "x['a']", "x[1]": a component of the element, which is bound under that path. */
static const array *component(const run *r, const py *p) {
    char path[64];
    if (p->in[1]->kind == PY_STRING)
        snprintf(path, sizeof path, "%s/%s", py_name(p->in[0]), p->in[1]->text);
    else snprintf(path, sizeof path, "%s/%.0f", py_name(p->in[0]), p->in[1]->number);
    for (int i = 0; i < r->names->n; i++)
        if (strcmp(r->names->name[i], path) == 0) return r->names->value[i];
    return NULL;
}

static array indexed(run *r, const py *p) {
    const array *part = component(r, p);
    if (part) return copy(part);
    array a = eval(r, p->in[0]), i = eval(r, p->in[1]), out;
    int64_t at = (int64_t)i.v[0], row = 1;

    for (int d = 1; d < a.rank; d++) row *= a.dim[d];
    at += at < 0 && a.rank ? a.dim[0] : 0;
    if (r->why || a.rank == 0) {
        out = fail(r, "an index into no array");
    } else if (at < 0 || at >= a.dim[0]) {
        r->s = dt_status_create(INDEX_ERROR, "index %lld is outside an array of %lld along axis 0",
                                (long long)at, (long long)a.dim[0]);
        out = fail(r, "an error");
    } else {
        out = make(a.dtype, a.rank - 1, a.dim + 1);
        memcpy(out.v, a.v + at * row, (size_t)row * sizeof *a.v);
    }
    array_release(&a);
    array_release(&i);
    return out;
}

static array eval(run *r, const py *p) {
    array a, b, out;

    switch (p->kind) {
    case PY_NUMBER: return number(p->real ? DT_FLOAT32 : DT_INT64, p->number);
    case PY_NAME:
    case PY_ATTRIBUTE: return named(r, p);
    case PY_TUPLE:
    case PY_LIST: return r->names->shapes && is_shape(p) ? counted(r, p) : literal(r, p);
    case PY_CALL: return call(r, p);
    case PY_INDEX: return p->n == 2 ? indexed(r, p) : fail(r, "an index of several numbers");
    case PY_UNARY:
        if (strcmp(p->text, "of i") == 0) return counted(r, p->in[0]);
        a = eval(r, p->in[0]);
        b = number(DT_INT64, 0);
        out = *p->text == '-' ? apply(r, "-", &b, &a) : apply(r, "==", &a, &b);
        break;
    case PY_BINARY:
        a = eval(r, p->in[0]);
        b = eval(r, p->in[1]);
        out = apply(r, p->text, &a, &b);
        break;
    default: return fail(r, "something other than an array");
    }
    array_release(&a);
    array_release(&b);
    return out;
}

bool array_eval(const py *p, const names *n, array *out, const char **why, dt_status **s) {
    run r = {.names = n};

    *out = p ? eval(&r, p) : number(DT_INT64, 0);
    *why = p ? r.why : "nothing to be read";
    *s = r.s;
    if (*why) array_release(out);
    return *why == NULL;
}

dt_tensor *tensor_of_words(verdict *v, const py *p, dt_status **s) {
    dt_tensor *t = NULL;
    const char *why;
    array a;

    if (array_eval(p, &(names){0}, &a, &why, s)) {
        t = array_tensor(&a);
        array_release(&a);
    } else if (!*s) {
        differs(v, "unknown wording of a value: %s", why);
    }
    return t;
}
