/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines in words: calls of tf.data's names, one to a string or chained with points, read by python.c and made of the library's calls by
 * a table of words. What stands before a call (tf.data.Dataset, ds) goes unread; "batch 4" and "batch of 4" are batch(4).
 */
#include "pipelines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 8 };

/* A word at work: its call, NULL where the word came without brackets. */
typedef struct call {
    words *w;
    const char *name;
    const py *p;
} call;

/* ---- arguments ---- */

static dt_status *broken(words *w, const char *name, const char *why)
{
    differs(w->v, "unknown wording of '%s': %s", name, why);
    return NULL;
}

static const py *argument(const call *c, int i, const char *keyword)
{
    return c->p ? py_argument(c->p, i, keyword) : NULL;
}

/* A number; `otherwise` when it is not given, or None. False: a difference, or an error in *s. */
static bool integer(const call *c, int i, const char *keyword, int64_t otherwise, int64_t *out, dt_status **s)
{
    const py *x = argument(c, i, keyword);
    const names n = { .c = c->w->context };
    const char *why;
    array a;

    *out = otherwise;
    if (!x || py_is(x, "None") || py_is(x, "AUTOTUNE"))
        return true;
    if (!array_eval(x, &n, &a, &why, s)) {
        if (!*s)
            broken(c->w, c->name, why);
        return false;
    }
    *out = (int64_t)a.v[0];
    array_release(&a);
    return true;
}

/* "drop_remainder", "drop_remainder=True", "True" */
static bool flag(const call *c, int i, const char *name)
{
    for (int k = 1; c->p && k < c->p->n; k++)
        if (py_is(c->p->in[k], name))
            return true;
    const py *x = argument(c, i, name);
    return x && (py_is(x, "True") || (x->kind == PY_NUMBER && x->number != 0));
}

static void *keep(words *w, void *p)
{
    if (w->n_kept < MOST_KEPT)
        w->kept[w->n_kept++] = p;
    return p;
}

/* ---- sources ---- */

static dt_status *apply_range(const call *c, dt_dataset **d)
{
    bool both = argument(c, 1, "stop") != NULL;
    int64_t start = 0, stop = 0, step = 1;
    dt_status *s = NULL;

    if (!integer(c, both ? 1 : 0, "stop", 0, &stop, &s) || (both && !integer(c, 0, "start", 0, &start, &s)) || !integer(c, 2, "step", 1, &step, &s))
        return s;
    return dt_dataset_range(d, start, stop, step);
}

/* Tuples and lists of lists in brackets are nests of components "0", "1/a"; anything else is an array. */
static bool set_nest(words *w, dt_values *v, const char *path, const py *p, bool shapes)
{
    const names n = { .c = w->context, .shapes = shapes };
    char name[128];
    const char *why;
    dt_status *s = NULL;
    array a;
    bool ok = true;

    if (p->kind == PY_TUPLE || p->kind == PY_DICT) {
        for (int i = 0; i < p->n && ok; i++) {
            const py *x = p->in[i];
            if (p->kind == PY_DICT)
                snprintf(name, sizeof name, "%s%s%s", path, *path ? "/" : "", x->text);
            else
                snprintf(name, sizeof name, "%s%s%d", path, *path ? "/" : "", i);
            ok = set_nest(w, v, name, x->kind == PY_KEYWORD ? x->in[0] : x, shapes);
        }
        return ok && p->n > 0;
    }
    if (!array_eval(p, &n, &a, &why, &s)) {
        dt_status_free(s);
        broken(w, "a component", why);
        return false;
    }
    dt_tensor *t = array_tensor(&a);
    expect_ok(w->v, "a component", dt_values_set(v, *path ? path : "value", t));
    dt_tensor_unref(t);
    array_release(&a);
    return true;
}

/* Whether components have as many rows each; where they have not, lists of whole numbers were no shapes. */
static bool rows_agree(const dt_values *v)
{
    int64_t rows = -1;
    for (int i = 0; i < dt_values_count(v); i++) {
        const dt_tensor *t = dt_values_local(v, dt_values_name(v, i), 0);
        if (i > 0 && dt_tensor_dim(t, 0) != rows)
            return false;
        rows = dt_tensor_dim(t, 0);
    }
    return true;
}

static dt_status *apply_tensors(const call *c, dt_dataset **d)
{
    const py *tensors = argument(c, 0, "tensors");
    dt_values *v = NULL;
    dt_status *s = NULL;

    expect_ok(c->w->v, "values", dt_values_create(&v));
    if (!tensors)
        broken(c->w, c->name, "one array, tuple or mapping is needed");
    else if (set_nest(c->w, v, "", tensors, true) && (rows_agree(v) || set_nest(c->w, v, "", tensors, false)))
        s = strcmp(c->name, "from_tensors") == 0 ? dt_dataset_from_tensors(d, v) : dt_dataset_from_tensor_slices(d, v);
    dt_values_unref(v);
    return s;
}

/* files() reads the case's files in turn, files(n) n at a time. Records are numbers in decimals. */
static dt_status *decode(const dt_values *element, void *user, dt_values *result)
{
    const dt_tensor *t = dt_values_local(element, "value", 0);
    char digits[24];
    dt_tensor *out = NULL;
    (void)user;

    snprintf(digits, sizeof digits, "%.*s", (int)dt_tensor_elements(t), (const char *)dt_tensor_data(t));
    dt_status *s = dt_tensor_create(&out, DT_INT64, 0, NULL, &(int64_t){ strtoll(digits, NULL, 10) });
    if (!s)
        s = dt_values_set(result, "value", out);
    dt_tensor_unref(out);
    return s;
}

static dt_status *read_files(words *w, int64_t cycle, dt_dataset **d)
{
    const dt_spec spec = { .name = "value", .dtype = DT_INT64 };
    dt_status *s = NULL;

    DT_GO(s, dt_dataset_list_files(d, w->files, w->n_files));
    DT_GO(s, dt_dataset_read_files(d, *d, &(dt_file_options){ .kind = DT_TFRECORD, .cycle_length = cycle }));
    DT_GO(s, dt_dataset_map(d, *d, &(dt_map_options){ .fn = decode, .spec = &spec, .n_spec = 1 }));
out:
    return s;
}

static dt_status *apply_files(const call *c, dt_dataset **d)
{
    const py *first = argument(c, 0, NULL);
    bool list = first && first->kind != PY_NUMBER;
    dt_status *s = NULL;
    int64_t cycle = 1;

    if (!integer(c, list ? 99 : 0, list ? "num_parallel_reads" : "cycle_length", 1, &cycle, &s))
        return s;
    return read_files(c->w, cycle, d);
}

/* ---- functions of an element ---- */

/* What a function of the pipeline is made of: its parameters, and what it gives. */
typedef struct lambda {
    words *w;
    const py *p; /* NULL: what comes goes on as it is */
} lambda;

static lambda *lambda_of(const call *c, const char *keyword)
{
    lambda *l = keep(c->w, malloc(sizeof *l));
    const py *p = argument(c, 0, keyword);
    *l = (lambda){ c->w, p && (p->kind != PY_NAME || py_is(p, "x") || py_is(p, "True") || py_is(p, "False")) ? p : NULL };
    return l;
}

/* An element's components and what a function calls them: parameters in order; of one parameter "x" also "x/0", "x/a". */
typedef struct bound {
    int n;
    char name[2 * MOST_PARTS][64];
    const char *names[2 * MOST_PARTS];
    array value[2 * MOST_PARTS];
    const array *values[2 * MOST_PARTS];
} bound;

static void bind(bound *b, const char *name, const array *a)
{
    if (b->n >= 2 * MOST_PARTS)
        return;
    snprintf(b->name[b->n], sizeof b->name[0], "%s", name);
    b->names[b->n] = b->name[b->n];
    b->value[b->n] = (array){ a->dtype, a->rank, { 0 }, a->n, calloc((size_t)a->n + 1, sizeof *a->v) };
    memcpy(b->value[b->n].dim, a->dim, sizeof a->dim);
    memcpy(b->value[b->n].v, a->v, (size_t)a->n * sizeof *a->v);
    b->values[b->n] = &b->value[b->n];
    b->n++;
}

static void unbind(bound *b)
{
    while (b->n > 0)
        array_release(&b->value[--b->n]);
}

static void bind_component(bound *b, const py *p, int i, const char *component, const array *a)
{
    int parameters = py_parameters(p);
    char path[64];

    if (parameters > 1 && i < parameters)
        bind(b, p->in[i]->text, a);
    else if (i == 0 || parameters > 1)
        bind(b, parameters == 1 ? p->in[0]->text : "x", a);
    snprintf(path, sizeof path, "%s/%s", parameters == 1 ? p->in[0]->text : "x", component);
    bind(b, path, a);
    if (parameters == 0 && !isdigit((unsigned char)*component))
        bind(b, component, a);
}

/* The results of a function: one, or those of a tuple or mapping. */
typedef struct results {
    int n;
    char name[MOST_PARTS][32];
    array value[MOST_PARTS];
} results;

static void results_release(results *r)
{
    while (r->n > 0)
        array_release(&r->value[--r->n]);
}

static const char *results_of(const lambda *l, const bound *b, results *r, dt_status **s)
{
    const py *body = py_body(l->p);
    bool nest = body->kind == PY_TUPLE || body->kind == PY_DICT;
    const names n = { .n = b->n, .name = b->names, .value = b->values, .c = l->w->context };
    const char *why = NULL;

    *r = (results){ 0 };
    for (int i = 0; !why && i < (nest ? body->n : 1) && r->n < MOST_PARTS; i++) {
        const py *x = nest ? body->in[i] : body;
        snprintf(r->name[i], sizeof r->name[0], nest ? "%d" : "value", i);
        if (x->kind == PY_KEYWORD)
            snprintf(r->name[i], sizeof r->name[0], "%s", x->text);
        if (array_eval(x->kind == PY_KEYWORD ? x->in[0] : x, &n, &r->value[i], &why, s))
            r->n++;
    }
    if (why)
        results_release(r);
    return why;
}

static dt_status *evaluate(const lambda *l, const dt_values *element, results *r)
{
    dt_status *s = NULL;
    bound b = { 0 };

    for (int i = 0; i < dt_values_count(element); i++) {
        const char *name = dt_values_name(element, i);
        array a = array_of_tensor(dt_values_local(element, name, 0));
        bind_component(&b, l->p, i, name, &a);
        array_release(&a);
    }
    const char *why = results_of(l, &b, r, &s);
    unbind(&b);
    return !why || s ? s : dt_status_create(70, "a function of the pipeline cannot be read: %s", why);
}

static dt_status *filter(const dt_values *element, void *user, bool *keep_it)
{
    const lambda *l = user;
    results r;

    *keep_it = true;
    if (!l->p)
        return NULL;
    dt_status *s = evaluate(l, element, &r);
    if (s)
        return s;
    *keep_it = r.n > 0 && r.value[0].v[0] != 0;
    results_release(&r);
    return NULL;
}

static dt_status *map(const dt_values *element, void *user, dt_values *result)
{
    results r;
    dt_status *s = evaluate(user, element, &r);

    for (int i = 0; !s && i < r.n; i++) {
        dt_tensor *t = array_tensor(&r.value[i]);
        s = dt_values_set(result, r.name[i], t);
        dt_tensor_unref(t);
    }
    if (!s)
        results_release(&r);
    return s;
}

/* An element whose unknown dimensions, and values, are `unknown`. */
static void bind_sample(const lambda *l, const dt_spec *in, int n, int64_t unknown, bound *b)
{
    for (int k = 0; k < n; k++) {
        array x = { .dtype = in[k].dtype, .rank = in[k].rank < ARRAY_RANK ? in[k].rank : ARRAY_RANK, .n = 1 };
        for (int i = 0; i < x.rank; i++)
            x.n *= x.dim[i] = in[k].shape[i] < 0 ? unknown : in[k].shape[i];
        x.v = calloc((size_t)x.n + 1, sizeof *x.v);
        for (int64_t i = 0; i < x.n; i++)
            x.v[i] = (double)unknown; /* sizes may come from values too: range(x) */
        bind_component(b, l->p, k, in[k].name, &x);
        array_release(&x);
    }
}

/* The results' shapes, from two elements: what differs is unknown. */
static int infer(const lambda *l, const dt_spec *in, int n, dt_spec *out)
{
    results r[2] = { { 0 } };
    const char *why = NULL;
    dt_status *s = NULL;

    for (int k = 0; k < 2 && !why; k++) {
        bound b = { 0 };
        bind_sample(l, in, n, 2 + k, &b);
        why = results_of(l, &b, &r[k], &s);
        unbind(&b);
    }
    dt_status_free(s);
    if (why)
        broken(l->w, "a function of an element", why);
    for (int i = 0; !why && i < r[0].n; i++) {
        const array *a = &r[0].value[i];
        out[i] = (dt_spec){ .name = keep(l->w, strdup(r[0].name[i])), .dtype = a->dtype, .rank = a->rank };
        for (int d = 0; d < a->rank; d++)
            out[i].shape[d] = a->dim[d] == r[1].value[i].dim[d] ? a->dim[d] : -1;
    }
    int m = why ? 0 : r[0].n;
    results_release(&r[0]);
    results_release(&r[1]);
    return m;
}

/* A map that changes nothing is still a map: its batches are of a size that nobody knows. */
static dt_status *pass_on(const dt_values *element, void *user, dt_values *result)
{
    dt_status *s = NULL;
    (void)user;
    for (int i = 0; i < dt_values_count(element) && !s; i++)
        s = dt_values_set(result, dt_values_name(element, i), (dt_tensor *)dt_values_local(element, dt_values_name(element, i), 0));
    return s;
}

static int specs_of(const dt_dataset *d, dt_spec *spec)
{
    int n = 0;
    while (n < MOST_PARTS && dt_dataset_element_spec(d, n, &spec[n]))
        n++;
    return n;
}

static dt_status *apply_map(const call *c, dt_dataset **d)
{
    lambda *l = lambda_of(c, "map_func");
    dt_spec in[MOST_PARTS], out[MOST_PARTS];
    int n = specs_of(*d, in), m = l->p ? infer(l, in, n, out) : 0;

    if (!l->p)
        return dt_dataset_map(d, *d, &(dt_map_options){ .fn = pass_on, .spec = in, .n_spec = n });
    return m ? dt_dataset_map(d, *d, &(dt_map_options){ .fn = map, .user = l, .spec = out, .n_spec = m }) : NULL;
}

static dt_status *apply_filter(const call *c, dt_dataset **d)
{
    return dt_dataset_filter(d, *d, filter, lambda_of(c, "predicate"));
}

/* ---- pipelines as arguments: "range(3).batch(2)" ---- */

static dt_status *build(words *w, const py *p, dt_dataset **d);

static dt_status *apply_concatenate(const call *c, dt_dataset **d)
{
    const py *x = argument(c, 0, "dataset");
    dt_dataset *other = NULL;
    dt_status *s = x && x->kind != PY_NAME ? build(c->w, x, &other) : NULL;

    if (!s && (other || !x || x->kind == PY_NAME)) /* without one: with itself */
        s = dt_dataset_concatenate(d, *d, other ? other : *d);
    dt_dataset_unref(other);
    return s;
}

/* zip(a, b) or zip((a, b)) begins a pipeline, or goes on with one: the first then. */
static dt_status *apply_zip(const call *c, dt_dataset **d)
{
    const py *list = argument(c, 0, "datasets");
    dt_dataset *in[MOST_PARTS + 1] = { *d };
    dt_status *s = NULL;
    int n = *d ? 1 : 0;
    bool inner = list && (list->kind == PY_TUPLE || list->kind == PY_LIST), whole = true;

    *d = NULL;
    for (int i = inner ? 0 : 1; c->p && i < (inner ? list->n : c->p->n) && n < MOST_PARTS && !s; i++, n++)
        s = build(c->w, inner ? list->in[i] : c->p->in[i], &in[n]);
    for (int i = 0; i < n; i++)
        whole &= in[i] != NULL;
    if (!s && whole)
        s = dt_dataset_zip(d, (const dt_dataset *const *)in, n);
    for (int i = 0; i < n; i++)
        dt_dataset_unref(in[i]);
    return s;
}

/* The function's pipeline with the element's value in the place of its parameter. */
static void replace(py *p, const char *name, double value)
{
    if (p->kind == PY_NAME && strcmp(p->text, name) == 0) {
        p->kind = PY_NUMBER;
        p->number = value;
        p->real = false;
    }
    for (int i = 0; i < p->n; i++)
        replace(p->in[i], name, value);
}

static py *copy_of(const py *p)
{
    py *c = calloc(1, sizeof *c);
    *c = (py){ p->kind, p->text ? strdup(p->text) : NULL, p->number, p->real, p->n, calloc((size_t)p->n + 1, sizeof *p->in) };
    for (int i = 0; i < p->n; i++)
        c->in[i] = copy_of(p->in[i]);
    return c;
}

/* Without a function, each element as a data set of its own. */
static dt_status *expand(const dt_values *element, void *user, dt_dataset **result)
{
    const lambda *l = user;

    if (!l->p)
        return dt_dataset_from_tensors(result, element);
    py *body = copy_of(py_body(l->p));
    replace(body, py_parameters(l->p) ? l->p->in[0]->text : "x", dt_tensor_item(dt_values_local(element, dt_values_name(element, 0), 0)));
    dt_status *s = build(l->w, body, result);
    py_free(body);
    return s;
}

/* A function that opens files: "interleave(TFRecordDataset, cycle_length=2)" is how they are read. */
static bool reads_files(const py *p)
{
    return p && (py_is(p, "TFRecordDataset") || strcmp(py_called(py_body(p)), "TFRecordDataset") == 0);
}

/* Elements of what the first one becomes say what all are like. */
static dt_status *apply_interleave(const call *c, dt_dataset **d)
{
    lambda *l = lambda_of(c, "map_func");
    dt_dataset *sample = NULL;
    dt_values *v = NULL;
    dt_tensor *zero = NULL;
    dt_status *s = NULL;
    int64_t cycle = 1;
    dt_spec spec[MOST_PARTS];
    int n = 0;

    if (strcmp(c->name, "interleave") == 0 && !integer(c, 1, "cycle_length", 1, &cycle, &s))
        return s;
    if (reads_files(argument(c, 0, "map_func")))
        return read_files(c->w, cycle, d);
    DT_GO(s, dt_values_create(&v));
    DT_GO(s, dt_tensor_create(&zero, DT_INT64, 0, NULL, NULL));
    DT_GO(s, dt_values_set(v, "value", zero));
    if (l->p)
        DT_GO(s, expand(v, l, &sample));
    if (!l->p || sample)
        n = specs_of(l->p ? sample : *d, spec);
    if (n > 0)
        s = dt_dataset_interleave(d, *d, &(dt_interleave_options){ .fn = expand, .user = l, .spec = spec, .n_spec = n, .cycle_length = cycle });
out:
    dt_dataset_unref(sample);
    dt_tensor_unref(zero);
    dt_values_unref(v);
    return s;
}

/* ---- one number and a flag ---- */

static dt_status *apply_batch(const call *c, dt_dataset **d)
{
    bool padded = strcmp(c->name, "padded_batch") == 0, drop = flag(c, padded ? 3 : 1, "drop_remainder");
    dt_status *s = NULL;
    int64_t n;

    if (!argument(c, 0, "batch_size"))
        return broken(c->w, c->name, "a size is needed");
    if (!integer(c, 0, "batch_size", 1, &n, &s))
        return s;
    return padded ? dt_dataset_padded_batch(d, *d, n, drop) : dt_dataset_batch(d, *d, n, drop);
}

static dt_status *apply_repeat(const call *c, dt_dataset **d)
{
    dt_status *s = NULL;
    int64_t n;
    return integer(c, 0, "count", -1, &n, &s) ? dt_dataset_repeat(d, *d, n) : s;
}

static dt_status *apply_take(const call *c, dt_dataset **d)
{
    dt_status *s = NULL;
    int64_t n;
    if (!integer(c, 0, "count", -1, &n, &s))
        return s;
    return strcmp(c->name, "take") == 0 ? dt_dataset_take(d, *d, n) : dt_dataset_skip(d, *d, n);
}

static dt_status *apply_prefetch(const call *c, dt_dataset **d)
{
    dt_status *s = NULL;
    int64_t n;
    return integer(c, 0, "buffer_size", -1, &n, &s) ? dt_dataset_prefetch(d, *d, n) : s;
}

static dt_status *apply_enumerate(const call *c, dt_dataset **d)
{
    dt_status *s = NULL;
    int64_t n;
    return integer(c, 0, "start", 0, &n, &s) ? dt_dataset_enumerate(d, *d, n) : s;
}

/* The numbers that the original draws are its own: a buffer of one element shuffles nothing, and is all that can be compared. */
static dt_status *apply_shuffle(const call *c, dt_dataset **d)
{
    int64_t n, seed = 0;
    dt_status *s = NULL;

    if (!integer(c, 0, "buffer_size", 1, &n, &s) || !integer(c, 1, "seed", 0, &seed, &s))
        return s;
    if (n > 1 && !c->w->order_free)
        c->w->v->skipped = "cannot be said in C: the order in which the original's random numbers shuffle";
    return dt_dataset_shuffle(d, *d, n, (uint64_t)seed, !flag(c, 2, "no_reshuffle"));
}

static dt_status *apply_shard(const call *c, dt_dataset **d)
{
    int64_t shards, index;
    dt_status *s = NULL;

    if (!integer(c, 0, "num_shards", 0, &shards, &s) || !integer(c, 1, "index", 0, &index, &s))
        return s;
    return dt_dataset_shard(d, *d, shards, index);
}

static dt_status *apply_unbatch(const call *c, dt_dataset **d)
{
    (void)c;
    return dt_dataset_unbatch(d, *d);
}

/* Where elements are kept, and what they are taken to be like, is no part of what they are. */
static dt_status *apply_nothing(const call *c, dt_dataset **d)
{
    (void)c;
    (void)d;
    return NULL;
}

/* "with_options(auto_shard_policy=DATA)" */
static dt_status *apply_options(const call *c, dt_dataset **d)
{
    const py *policy = argument(c, 99, "auto_shard_policy");
    (void)d;
    if (policy && !policy_of(policy->kind == PY_STRING ? policy->text : py_name(policy), &c->w->policy))
        broken(c->w, c->name, "no such policy");
    return NULL;
}

/* ---- the table ---- */

static const struct {
    const char *word;
    bool source;
    dt_status *(*apply)(const call *c, dt_dataset **d);
} table[] = {
    { "range", true, apply_range }, { "from_tensors", true, apply_tensors }, { "from_tensor_slices", true, apply_tensors },
    { "files", true, apply_files }, { "TFRecordDataset", true, apply_files }, { "tfrecord", true, apply_files }, { "list_files", true, apply_files },
    { "zip", true, apply_zip }, { "batch", false, apply_batch }, { "padded_batch", false, apply_batch }, { "unbatch", false, apply_unbatch },
    { "repeat", false, apply_repeat }, { "take", false, apply_take }, { "skip", false, apply_take }, { "shuffle", false, apply_shuffle },
    { "prefetch", false, apply_prefetch }, { "enumerate", false, apply_enumerate }, { "shard", false, apply_shard }, { "map", false, apply_map },
    { "filter", false, apply_filter }, { "concatenate", false, apply_concatenate }, { "flat_map", false, apply_interleave },
    { "interleave", false, apply_interleave }, { "cache", false, apply_nothing }, { "ignore_errors", false, apply_nothing },
    { "assert_cardinality", false, apply_nothing }, { "apply", false, apply_nothing }, { "with_options", false, apply_options },
};

/* Transformations of tf.data that the library does not have. */
static const char *const missing[] = {
    "window", "group_by_window", "bucket_by_sequence_length", "scan", "take_while", "unique", "rejection_resample", "sample_from_datasets",
    "choose_from_datasets", "from_generator", "sparse_batch", "ragged_batch", "dense_to_ragged_batch", "dense_to_sparse_batch", "snapshot", "save",
    "load", "random", "counter", "Counter", "rebatch", "reduce", "FixedLengthRecordDataset", "TextLineDataset", "from_sparse_tensor_slices",
};

bool policy_of(const char *name, dt_auto_shard_policy *out)
{
    static const char *const policies[] = { "AUTO", "FILE", "DATA", "OFF", "HINT" };
    const char *last = name ? strrchr(name, '.') : NULL;

    for (int i = 0; name && i < 5; i++)
        if (strcmp(policies[i], last ? last + 1 : name) == 0) {
            *out = (dt_auto_shard_policy)i;
            return true;
        }
    return false;
}

static dt_status *apply(const call *c, dt_dataset **d)
{
    verdict *v = c->w->v;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].word, c->name) != 0)
            continue;
        if (!*d && !table[i].source) /* "padded_batch(3)": any source would do */
            expect_ok(c->w->v, "range", dt_dataset_range(d, 0, 8, 1));
        return table[i].apply(c, d);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(missing[i], c->name) == 0) {
            snprintf(v->reason, sizeof v->reason, "cannot be said in C: the library has no transformation '%s'", c->name);
            v->skipped = v->reason;
            return NULL;
        }
    differs(c->w->v, "unknown wording: there is no word '%s' for pipelines; tests/conformance/README.md has those that there are", c->name);
    return NULL;
}

/* What stands before the first call is where Python finds it. */
static dt_status *build(words *w, const py *p, dt_dataset **d)
{
    dt_status *s = NULL;
    const py *callee = p->kind == PY_CALL ? p->in[0] : p;

    if (callee->kind == PY_ATTRIBUTE && callee->in[0]->kind != PY_NAME && callee->in[0]->kind != PY_ATTRIBUTE)
        s = build(w, callee->in[0], d);
    if (s || w->v->differences || w->v->skipped)
        return s;
    if (*py_name(callee))
        return apply(&(call){ w, py_name(callee), p->kind == PY_CALL ? p : NULL }, d);
    return broken(w, "a pipeline", "neither a word nor a call");
}

/* ---- strings ---- */

/* Words about the distribution, not the data. */
static bool apply_option(words *w, const char *word)
{
    const char *policy = strstr(word, "olicy");
    int n;

    if (sscanf(word, "first %d ste", &n) == 1 || sscanf(word, "only the first %d ste", &n) == 1 || sscanf(word, "take first %d ste", &n) == 1)
        return w->first_steps = n, true;
    if (strncmp(word, "returns ", 8) == 0)
        return w->returns_nothing = true;
    if (!policy || strchr(word, '('))
        return false;
    for (const char *p = policy; *p; p++) {
        char name[8];
        if (isupper((unsigned char)*p) && sscanf(p, "%7[A-Z]", name) == 1 && strlen(name) > 1)
            return policy_of(name, &w->policy);
    }
    return false;
}

/* "batch 4", "batch of 4": the brackets are added. */
static char *with_brackets(const char *word)
{
    static const char *const little[] = { "of ", "by ", "size ", "with ", "to " };
    char name[32], *out;
    int n = 0;

    if (sscanf(word, " %31[A-Za-z_]%n", name, &n) < 1 || word[n] != ' ' || strncmp(word + n, " =", 2) == 0 || strchr("=-.(", word[n + 1]))
        return strdup(word);
    for (size_t i = 0; i < sizeof little / sizeof *little; i++)
        if (strncmp(word + n + 1, little[i], strlen(little[i])) == 0)
            n += (int)strlen(little[i]);
    out = malloc(strlen(word) + 8);
    sprintf(out, "%s(%s)", name, word + n + 1);
    return out;
}

/* "ds = ...", "return ..." */
static const char *behind_assignment(const char *word)
{
    const char *equal = strstr(word, " = ");
    word += strspn(word, " ");
    if (strncmp(word, "return ", 7) == 0)
        return word + 7;
    return equal && equal < strpbrk(word, "(") ? equal + 3 : word;
}

dt_status *words_apply(words *w, const char *word, dt_dataset **d)
{
    const char *why;

    if (apply_option(w, word))
        return NULL;
    char *text = with_brackets(behind_assignment(word));
    py *p = py_read(text, &why);
    if (!p)
        differs(w->v, "unknown wording '%s' in a pipeline: %s", word, why);
    free(text);
    if (!p)
        return NULL;
    if (w->n_trees < MOST_KEPT)
        w->tree[w->n_trees++] = p;
    return build(w, p, d);
}

dt_status *words_build(words *w, const json_t *pipeline, dt_dataset **d)
{
    dt_status *s = NULL;
    size_t i;
    const json_t *word;

    if (json_is_string(pipeline))
        return words_apply(w, json_string_value(pipeline), d);
    json_array_foreach((json_t *)pipeline, i, word) {
        if (json_is_string(word))
            s = words_apply(w, json_string_value(word), d);
        if (s || w->v->differences || w->v->skipped)
            break;
    }
    return s;
}

void words_release(words *w)
{
    while (w->n_kept > 0)
        free(w->kept[--w->n_kept]);
    while (w->n_trees > 0)
        py_free(w->tree[--w->n_trees]);
}
