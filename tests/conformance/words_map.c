/* SPDX-License-Identifier: Apache-2.0 */
/* map, filter, flat_map and interleave: functions in words, called with the element's
 * components. */
#include "words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What a function of the pipeline is made of: its parameters, and what it gives. */
typedef struct lambda {
    words *w;
    const py *p; /* NULL: what comes goes on as it is */
} lambda;

static lambda *lambda_of(const call *c, const char *keyword) {
    lambda *l = words_keep(c->w, malloc(sizeof *l));
    const py *p = words_argument(c, 0, keyword);
    *l = (lambda){
        c->w, p && (p->kind != PY_NAME || py_is(p, "x") || py_is(p, "True") || py_is(p, "False"))
                  ? p
                  : NULL};
    return l;
}

/* An element's components and what a function calls them: parameters in order; of one parameter "x"
 * also "x/0", "x/a". */
typedef struct bound {
    int n;
    char name[2 * MOST_PARTS][64];
    const char *names[2 * MOST_PARTS];
    array value[2 * MOST_PARTS];
    const array *values[2 * MOST_PARTS];
} bound;

static void bind(bound *b, const char *name, const array *a) {
    if (b->n >= 2 * MOST_PARTS) return;
    snprintf(b->name[b->n], sizeof b->name[0], "%s", name);
    b->names[b->n] = b->name[b->n];
    b->value[b->n] = (array){a->dtype, a->rank, {0}, a->n, calloc((size_t)a->n + 1, sizeof *a->v)};
    memcpy(b->value[b->n].dim, a->dim, sizeof a->dim);
    memcpy(b->value[b->n].v, a->v, (size_t)a->n * sizeof *a->v);
    b->values[b->n] = &b->value[b->n];
    b->n++;
}

static void unbind(bound *b) {
    while (b->n > 0) array_release(&b->value[--b->n]);
}

static void bind_component(bound *b, const py *p, int i, const char *component, const array *a) {
    int parameters = py_parameters(p);
    char path[64];

    if (parameters > 1 && i < parameters) bind(b, p->in[i]->text, a);
    else if (i == 0 || parameters > 1) bind(b, parameters == 1 ? p->in[0]->text : "x", a);
    snprintf(path, sizeof path, "%s/%s", parameters == 1 ? p->in[0]->text : "x", component);
    bind(b, path, a);
    if (parameters == 0 && !isdigit((unsigned char)*component)) bind(b, component, a);
}

/* The results of a function: one, or those of a tuple or mapping. */
typedef struct results {
    int n;
    char name[MOST_PARTS][32];
    array value[MOST_PARTS];
} results;

static void results_release(results *r) {
    while (r->n > 0) array_release(&r->value[--r->n]);
}

static const char *results_of(const lambda *l, const bound *b, results *r, dt_status **s) {
    const py *body = py_body(l->p);
    bool nest = body->kind == PY_TUPLE || body->kind == PY_DICT;
    const names n = {.n = b->n, .name = b->names, .value = b->values, .c = l->w->context};
    const char *why = NULL;

    *r = (results){0};
    for (int i = 0; !why && i < (nest ? body->n : 1) && r->n < MOST_PARTS; i++) {
        const py *x = nest ? body->in[i] : body;
        snprintf(r->name[i], sizeof r->name[0], nest ? "%d" : "value", i);
        if (x->kind == PY_KEYWORD) snprintf(r->name[i], sizeof r->name[0], "%s", x->text);
        if (array_eval(x->kind == PY_KEYWORD ? x->in[0] : x, &n, &r->value[i], &why, s)) r->n++;
    }
    if (why) results_release(r);
    return why;
}

static dt_status *evaluate(const lambda *l, const dt_values *element, results *r) {
    dt_status *s = NULL;
    bound b = {0};

    for (int i = 0; i < dt_values_count(element); i++) {
        const char *name = dt_values_name(element, i);
        array a = array_of_tensor(dt_values_local(element, name, 0));
        bind_component(&b, l->p, i, name, &a);
        array_release(&a);
    }
    const char *why = results_of(l, &b, r, &s);
    unbind(&b);
    return !why || s ? s
                     : dt_status_create(70, "a function of the pipeline cannot be read: %s", why);
}

static dt_status *filter(const dt_values *element, void *user, bool *keep_it) {
    const lambda *l = user;
    results r;

    *keep_it = true;
    if (!l->p) return NULL;
    dt_status *s = evaluate(l, element, &r);
    if (s) return s;
    *keep_it = r.n > 0 && r.value[0].v[0] != 0;
    results_release(&r);
    return NULL;
}

static dt_status *map(const dt_values *element, void *user, dt_values *result) {
    results r;
    dt_status *s = evaluate(user, element, &r);

    for (int i = 0; !s && i < r.n; i++) {
        dt_tensor *t = array_tensor(&r.value[i]);
        s = dt_values_set(result, r.name[i], t);
        dt_tensor_unref(t);
    }
    if (!s) results_release(&r);
    return s;
}

/* An element whose unknown dimensions, and values, are `unknown`. */
static void bind_sample(const lambda *l, const dt_spec *in, int n, int64_t unknown, bound *b) {
    for (int k = 0; k < n; k++) {
        array x = {.dtype = in[k].dtype,
                   .rank = in[k].rank < ARRAY_RANK ? in[k].rank : ARRAY_RANK,
                   .n = 1};
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
static int infer(const lambda *l, const dt_spec *in, int n, dt_spec *out) {
    results r[2] = {{0}};
    const char *why = NULL;
    dt_status *s = NULL;

    for (int k = 0; k < 2 && !why; k++) {
        bound b = {0};
        bind_sample(l, in, n, 2 + k, &b);
        why = results_of(l, &b, &r[k], &s);
        unbind(&b);
    }
    dt_status_free(s);
    if (why) words_broken(l->w, "a function of an element", why);
    for (int i = 0; !why && i < r[0].n; i++) {
        const array *a = &r[0].value[i];
        out[i] = (dt_spec){
            .name = words_keep(l->w, strdup(r[0].name[i])), .dtype = a->dtype, .rank = a->rank};
        for (int d = 0; d < a->rank; d++)
            out[i].shape[d] = a->dim[d] == r[1].value[i].dim[d] ? a->dim[d] : -1;
    }
    int m = why ? 0 : r[0].n;
    results_release(&r[0]);
    results_release(&r[1]);
    return m;
}

/* A map that changes nothing is still a map: the size of its batches is unknown. */
static dt_status *pass_on(const dt_values *element, void *user, dt_values *result) {
    dt_status *s = NULL;
    (void)user;
    for (int i = 0; i < dt_values_count(element) && !s; i++)
        s = dt_values_set(result, dt_values_name(element, i),
                          (dt_tensor *)dt_values_local(element, dt_values_name(element, i), 0));
    return s;
}

static int specs_of(const dt_dataset *d, dt_spec *spec) {
    int n = 0;
    while (n < MOST_PARTS && dt_dataset_element_spec(d, n, &spec[n])) n++;
    return n;
}

dt_status *words_map(const call *c, dt_dataset **d) {
    lambda *l = lambda_of(c, "map_func");
    dt_spec in[MOST_PARTS], out[MOST_PARTS];
    int n = specs_of(*d, in), m = l->p ? infer(l, in, n, out) : 0;

    if (!l->p)
        return dt_dataset_map(d, *d, &(dt_map_options){.fn = pass_on, .spec = in, .n_spec = n});
    return m ? dt_dataset_map(d, *d,
                              &(dt_map_options){.fn = map, .user = l, .spec = out, .n_spec = m})
             : NULL;
}

dt_status *words_filter(const call *c, dt_dataset **d) {
    return dt_dataset_filter(d, *d, filter, lambda_of(c, "predicate"));
}

/* ---- flat_map, interleave ---- */

/* The function's pipeline with the element's value in the place of its parameter. */
static void replace(py *p, const char *name, double value) {
    if (p->kind == PY_NAME && strcmp(p->text, name) == 0) {
        p->kind = PY_NUMBER;
        p->number = value;
        p->real = false;
    }
    for (int i = 0; i < p->n; i++) replace(p->in[i], name, value);
}

static py *copy_of(const py *p) {
    py *c = calloc(1, sizeof *c);
    *c = (py){p->kind, p->text ? strdup(p->text) : NULL,       p->number, p->real,
              p->n,    calloc((size_t)p->n + 1, sizeof *p->in)};
    for (int i = 0; i < p->n; i++) c->in[i] = copy_of(p->in[i]);
    return c;
}

/* Without a function, each element as a data set of its own. */
static dt_status *expand(const dt_values *element, void *user, dt_dataset **result) {
    const lambda *l = user;

    if (!l->p) return dt_dataset_from_tensors(result, element);
    py *body = copy_of(py_body(l->p));
    replace(body, py_parameters(l->p) ? l->p->in[0]->text : "x",
            dt_tensor_item(dt_values_local(element, dt_values_name(element, 0), 0)));
    dt_status *s = words_chain(l->w, body, result);
    py_free(body);
    return s;
}

/* A function that opens files: "interleave(TFRecordDataset, cycle_length=2)" is how they are
 * read. */
static bool reads_files(const py *p) {
    return p &&
           (py_is(p, "TFRecordDataset") || strcmp(py_called(py_body(p)), "TFRecordDataset") == 0);
}

/* Elements of what the first one becomes say what all are like. */
dt_status *words_interleave(const call *c, dt_dataset **d) {
    lambda *l = lambda_of(c, "map_func");
    dt_dataset *sample = NULL;
    dt_values *v = NULL;
    dt_tensor *zero = NULL;
    dt_status *s = NULL;
    int64_t cycle = 1;
    dt_spec spec[MOST_PARTS];
    int n = 0;

    if (strcmp(c->name, "interleave") == 0 && !words_integer(c, 1, "cycle_length", 1, &cycle, &s))
        return s;
    if (reads_files(words_argument(c, 0, "map_func"))) return words_read_files(c->w, cycle, d);
    DT_GO(s, dt_values_create(&v));
    DT_GO(s, dt_tensor_create(&zero, DT_INT64, 0, NULL, NULL));
    DT_GO(s, dt_values_set(v, "value", zero));
    if (l->p) DT_GO(s, expand(v, l, &sample));
    if (!l->p || sample) n = specs_of(l->p ? sample : *d, spec);
    if (n > 0)
        s = dt_dataset_interleave(
            d, *d,
            &(dt_interleave_options){
                .fn = expand, .user = l, .spec = spec, .n_spec = n, .cycle_length = cycle});
out:
    dt_dataset_unref(sample);
    dt_tensor_unref(zero);
    dt_values_unref(v);
    return s;
}
