/* SPDX-License-Identifier: Apache-2.0 */
/* Words to calls: a table of words, each with the function that applies it. */
#include "pipelines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 16 };

/* A word taken apart: name(args). */
typedef struct call {
    words *w;
    char name[32];
    char *kept, *arg[MOST_ARGS];
    int n; /* -1: no brackets */
} call;

/* ---- arguments ---- */

static dt_status *broken(words *w, const char *text, const char *why)
{
    differs(w->v, "the words '%s' cannot be read: %s", text, why);
    return NULL;
}

/* A number; `otherwise` when it is not given. False: a difference, or an error in *s. */
static bool integer(const call *c, int i, int64_t otherwise, int64_t *out, dt_status **s)
{
    const names n = { .c = c->w->context };
    const char *why;
    array a;

    *out = otherwise;
    if (i >= c->n)
        return true;
    const char *text = strchr(c->arg[i], '=') ? strchr(c->arg[i], '=') + 1 : c->arg[i];
    if (strstr(text, "AUTOTUNE") || strcmp(text, "None") == 0)
        return true;
    if (!array_eval(text, &n, &a, &why, s)) {
        if (!*s)
            broken(c->w, c->arg[i], why);
        return false;
    }
    *out = (int64_t)a.v[0];
    array_release(&a);
    return true;
}

/* "drop_remainder", "drop_remainder=True", "True" */
static bool flag(const call *c, const char *name)
{
    for (int i = 1; i < c->n; i++)
        if (strcmp(c->arg[i], "True") == 0 || (strncmp(c->arg[i], name, strlen(name)) == 0 && !strstr(c->arg[i], "False")))
            return true;
    return false;
}

static void keep(words *w, void *p)
{
    if (w->n_kept < 64)
        w->kept[w->n_kept++] = p;
}

/* ---- sources ---- */

static dt_status *apply_range(const call *c, dt_dataset **d)
{
    int64_t start = 0, stop = 0, step = 1;
    dt_status *s = NULL;

    if (!integer(c, c->n > 1 ? 1 : 0, 0, &stop, &s) || (c->n > 1 && !integer(c, 0, 0, &start, &s)) || !integer(c, 2, 1, &step, &s))
        return s;
    return dt_dataset_range(d, start, stop, step);
}

static bool set_component(words *w, dt_values *v, const char *name, const char *text)
{
    const names n = { .c = w->context };
    const char *why;
    dt_status *s = NULL;
    array a;

    if (!array_eval(text, &n, &a, &why, &s)) {
        broken(w, text, why);
        dt_status_free(s);
        return false;
    }
    dt_tensor *t = array_tensor(&a);
    expect_ok(w->v, "a component", dt_values_set(v, name, t));
    dt_tensor_unref(t);
    array_release(&a);
    return true;
}

/* "(a, b)", "{a: x, b: y}", or one array. */
static bool set_nest(words *w, dt_values *v, char *text)
{
    char *kept, *part[MOST_ARGS], name[16];
    size_t n = strlen(text);
    bool tuple = text[0] == '(', map = text[0] == '{', ok = true;

    if (!tuple && !map)
        return set_component(w, v, "value", text);
    text[n - 1] = '\0';
    int parts = split_arguments(text + 1, &kept, part, MOST_ARGS);
    for (int i = 0; i < parts && ok; i++) {
        char *colon = map ? strchr(part[i], ':') : NULL;
        snprintf(name, sizeof name, "%d", i);
        if (colon)
            *colon = '\0';
        for (char *p = part[i]; colon && (p = strpbrk(p, "'\" "));)
            memmove(p, p + 1, strlen(p));
        ok = set_component(w, v, colon ? part[i] : name, colon ? colon + 1 : part[i]);
    }
    free(kept);
    return ok && parts > 0;
}

static dt_status *apply_tensors(const call *c, dt_dataset **d)
{
    dt_values *v = NULL;
    dt_status *s = NULL;

    expect_ok(c->w->v, "values", dt_values_create(&v));
    if (c->n != 1 || !set_nest(c->w, v, c->arg[0]))
        broken(c->w, c->name, "one array, tuple or mapping is needed");
    else
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

static dt_status *apply_files(const call *c, dt_dataset **d)
{
    const dt_spec spec = { .name = "value", .dtype = DT_INT64 };
    dt_status *s = NULL;
    int64_t cycle;

    if (!integer(c, 0, 1, &cycle, &s))
        return s;
    DT_GO(s, dt_dataset_list_files(d, c->w->files, c->w->n_files));
    DT_GO(s, dt_dataset_read_files(d, *d, &(dt_file_options){ .kind = DT_TFRECORD, .cycle_length = cycle }));
    DT_GO(s, dt_dataset_map(d, *d, &(dt_map_options){ .fn = decode, .spec = &spec, .n_spec = 1 }));
out:
    return s;
}

/* ---- functions of an element ---- */

typedef struct lambda {
    words *w;
    char *text;
} lambda;

static dt_status *eval(const lambda *l, const dt_values *element, array *out)
{
    array x = array_of_tensor(dt_values_local(element, dt_values_name(element, 0), 0));
    const names n = { .x = &x, .c = l->w->context };
    const char *why;
    dt_status *s = NULL;
    bool ok = array_eval(l->text, &n, out, &why, &s);

    array_release(&x);
    return ok || s ? s : dt_status_create(70, "'%s' cannot be read: %s", l->text, why);
}

static dt_status *filter(const dt_values *element, void *user, bool *keep_it)
{
    const lambda *l = user;
    array a;

    *keep_it = true;
    if (!*l->text)
        return NULL;
    dt_status *s = eval(l, element, &a);
    if (s)
        return s;
    *keep_it = a.v[0] != 0;
    array_release(&a);
    return NULL;
}

static dt_status *map(const dt_values *element, void *user, dt_values *result)
{
    array a;
    dt_status *s = eval(user, element, &a);

    if (s)
        return s;
    dt_tensor *t = array_tensor(&a);
    s = dt_values_set(result, "value", t);
    dt_tensor_unref(t);
    array_release(&a);
    return s;
}

static lambda *lambda_of(const call *c)
{
    const char *text = c->n > 0 ? c->arg[0] : "";
    lambda *l = calloc(1, sizeof *l);

    if (strncmp(text, "lambda x:", 9) == 0 || strncmp(text, "x -> ", 5) == 0)
        text = strpbrk(text, ":>") + 1;
    *l = (lambda){ c->w, strdup(text) };
    keep(c->w, l->text);
    keep(c->w, l);
    return l;
}

/* The result's shape, from two elements whose unknown dimensions, and values, are 2 and 3: what differs is unknown. */
static bool infer(const lambda *l, const dt_spec *in, dt_spec *out)
{
    array result[2] = { { 0 }, { 0 } };
    bool ok = true;

    for (int k = 0; k < 2 && ok; k++) {
        array x = { .dtype = in->dtype, .rank = in->rank, .n = 1 };
        for (int i = 0; i < in->rank; i++)
            x.n *= x.dim[i] = in->shape[i] < 0 ? 2 + k : in->shape[i];
        x.v = calloc((size_t)x.n + 1, sizeof *x.v);
        for (int64_t i = 0; i < x.n; i++)
            x.v[i] = 2 + k; /* sizes may come from values too: range(x) */
        const names n = { .x = &x, .c = l->w->context };
        const char *why;
        dt_status *s = NULL;
        ok = array_eval(l->text, &n, &result[k], &why, &s);
        if (!ok)
            broken(l->w, l->text, why);
        dt_status_free(s);
        array_release(&x);
    }
    *out = (dt_spec){ .name = "value", .dtype = result[0].dtype, .rank = result[0].rank };
    for (int i = 0; ok && i < out->rank; i++)
        out->shape[i] = result[0].dim[i] == result[1].dim[i] ? result[0].dim[i] : -1;
    array_release(&result[0]);
    array_release(&result[1]);
    return ok;
}

static dt_status *apply_map(const call *c, dt_dataset **d)
{
    lambda *l = lambda_of(c);
    dt_spec in, out;

    if (!*l->text) /* a map that changes nothing: only that it is one counts */
        l->text = strcpy(realloc(l->text, 2), "x"), c->w->kept[c->w->n_kept - 2] = l->text;
    if (!dt_dataset_element_spec(*d, 0, &in) || !infer(l, &in, &out))
        return NULL;
    return dt_dataset_map(d, *d, &(dt_map_options){ .fn = map, .user = l, .spec = &out, .n_spec = 1 });
}

static dt_status *apply_filter(const call *c, dt_dataset **d)
{
    return dt_dataset_filter(d, *d, filter, lambda_of(c));
}

/* ---- pipelines as arguments: "range(3).batch(2)" ---- */

/* Cut at the dots between calls. */
static dt_status *build_chain(words *w, const char *text, dt_dataset **d)
{
    char *copy = strdup(text), *start = copy;
    int depth = 0;
    dt_status *s = NULL;

    for (char *p = copy; !s; p++) {
        depth += *p && strchr("([{", *p);
        depth -= *p && strchr(")]}", *p);
        if (*p && (*p != '.' || depth > 0))
            continue;
        bool last = !*p;
        *p = '\0';
        s = words_apply(w, start, d);
        start = p + 1;
        if (last)
            break;
    }
    free(copy);
    return s;
}

static dt_status *apply_concatenate(const call *c, dt_dataset **d)
{
    dt_dataset *other = NULL;
    dt_status *s = c->n == 1 ? build_chain(c->w, c->arg[0], &other) : NULL;

    if (c->n < 1) /* with itself */
        s = dt_dataset_concatenate(d, *d, *d);
    if (!s && other)
        s = dt_dataset_concatenate(d, *d, other);
    dt_dataset_unref(other);
    return s;
}

/* zip(a, b) begins a pipeline, or goes on with one: the first then. */
static dt_status *apply_zip(const call *c, dt_dataset **d)
{
    dt_dataset *in[MOST_ARGS + 1] = { *d };
    dt_status *s = NULL;
    int n = *d ? 1 : 0;

    *d = NULL;
    for (int i = 0; i < c->n && !s; i++, n++)
        s = build_chain(c->w, c->arg[i], &in[n]);
    bool whole = true;
    for (int i = 0; i < n; i++)
        whole &= in[i] != NULL;
    if (!s && whole)
        s = dt_dataset_zip(d, (const dt_dataset *const *)in, n);
    for (int i = 0; i < n; i++)
        dt_dataset_unref(in[i]);
    return s;
}

/* Without a text, each element as a data set of its own. */
static dt_status *expand(const dt_values *element, void *user, dt_dataset **result)
{
    const lambda *l = user;
    const dt_tensor *x = dt_values_local(element, dt_values_name(element, 0), 0);
    char number[24], *text = calloc(strlen(l->text) * sizeof number + 1, 1);

    if (!*l->text) {
        free(text);
        return dt_dataset_from_tensors(result, element);
    }
    snprintf(number, sizeof number, "%lld", (long long)dt_tensor_item(x));
    for (const char *p = l->text; *p; p++) {
        bool alone = *p == 'x' && (p == l->text || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[1]);
        if (alone)
            strcat(text, number);
        else
            strncat(text, p, 1);
    }
    dt_status *s = build_chain(l->w, text, result);
    free(text);
    return s;
}

/* Elements of what the first one becomes say what all are like. */
static dt_status *apply_interleave(const call *c, dt_dataset **d)
{
    lambda *l = lambda_of(c);
    dt_dataset *sample = NULL;
    dt_values *v = NULL;
    dt_tensor *zero = NULL;
    dt_status *s = NULL;
    int64_t cycle = 1;
    dt_spec spec[8];
    int n = 0;

    if (strcmp(c->name, "interleave") == 0 && !integer(c, 1, 1, &cycle, &s))
        return s;
    DT_GO(s, dt_values_create(&v));
    DT_GO(s, dt_tensor_create(&zero, DT_INT64, 0, NULL, NULL));
    DT_GO(s, dt_values_set(v, "value", zero));
    if (!*l->text)
        while (n < 8 && dt_dataset_element_spec(*d, n, &spec[n]))
            n++;
    else
        DT_GO(s, expand(v, l, &sample));
    while (sample && n < 8 && dt_dataset_element_spec(sample, n, &spec[n]))
        n++;
    if (n > 0)
        s = dt_dataset_interleave(d, *d, &(dt_interleave_options){ .fn = expand, .user = l, .spec = spec, .n_spec = n, .cycle_length = cycle });
out:
    dt_dataset_unref(sample);
    dt_tensor_unref(zero);
    dt_values_unref(v);
    return s;
}

/* ---- one number and a flag ---- */

static dt_status *apply_numbers(const call *c, dt_dataset **d)
{
    const char *name = c->name;
    bool batch = strstr(name, "batch") != NULL, drop = flag(c, "drop_remainder");
    dt_status *s = NULL;
    int64_t n, seed = 0;

    if (batch && c->n < 1)
        return broken(c->w, name, "a size is needed");
    if (!integer(c, 0, strcmp(name, "enumerate") == 0 ? 0 : -1, &n, &s))
        return s;
    if (strcmp(name, "batch") == 0)
        return dt_dataset_batch(d, *d, n, drop);
    if (strcmp(name, "padded_batch") == 0)
        return dt_dataset_padded_batch(d, *d, n, drop);
    if (strcmp(name, "repeat") == 0)
        return dt_dataset_repeat(d, *d, n);
    if (strcmp(name, "take") == 0)
        return dt_dataset_take(d, *d, n);
    if (strcmp(name, "skip") == 0)
        return dt_dataset_skip(d, *d, n);
    if (strcmp(name, "prefetch") == 0)
        return dt_dataset_prefetch(d, *d, n);
    if (strcmp(name, "enumerate") == 0)
        return dt_dataset_enumerate(d, *d, n);
    return integer(c, 1, 0, &seed, &s) ? dt_dataset_shuffle(d, *d, n, (uint64_t)seed, true) : s;
}

static dt_status *apply_shard(const call *c, dt_dataset **d)
{
    int64_t shards, index;
    dt_status *s = NULL;

    if (!integer(c, 0, 0, &shards, &s) || !integer(c, 1, 0, &index, &s))
        return s;
    return dt_dataset_shard(d, *d, shards, index);
}

static dt_status *apply_unbatch(const call *c, dt_dataset **d)
{
    (void)c;
    return dt_dataset_unbatch(d, *d);
}

/* Where elements are kept is no part of what they are. */
static dt_status *apply_nothing(const call *c, dt_dataset **d)
{
    (void)c;
    (void)d;
    return NULL;
}

/* ---- the table ---- */

static const struct {
    const char *word;
    bool source;
    dt_status *(*apply)(const call *c, dt_dataset **d);
} table[] = {
    { "range", true, apply_range }, { "from_tensors", true, apply_tensors }, { "from_tensor_slices", true, apply_tensors },
    { "files", true, apply_files }, { "zip", true, apply_zip }, { "batch", false, apply_numbers }, { "padded_batch", false, apply_numbers },
    { "unbatch", false, apply_unbatch }, { "repeat", false, apply_numbers }, { "take", false, apply_numbers }, { "skip", false, apply_numbers },
    { "shuffle", false, apply_numbers }, { "prefetch", false, apply_numbers }, { "enumerate", false, apply_numbers },
    { "shard", false, apply_shard }, { "map", false, apply_map }, { "filter", false, apply_filter }, { "concatenate", false, apply_concatenate },
    { "flat_map", false, apply_interleave }, { "interleave", false, apply_interleave }, { "cache", false, apply_nothing },
};

bool policy_of(const char *name, dt_auto_shard_policy *out)
{
    static const char *const policies[] = { "AUTO", "FILE", "DATA", "OFF", "HINT" };

    for (int i = 0; name && i < 5; i++)
        if (strcmp(name, policies[i]) == 0) {
            *out = (dt_auto_shard_policy)i;
            return true;
        }
    return false;
}

/* Words about the distribution, not the data. */
static bool apply_option(words *w, const char *word)
{
    if (sscanf(word, "first %d steps", &w->first_steps) == 1)
        return true;
    if (strncmp(word, "auto_shard_policy=", 18) == 0)
        return policy_of(word + 18, &w->policy);
    if (strncmp(word, "returns ", 8) == 0)
        return w->returns_nothing = true;
    return false;
}

static bool take_apart(words *w, const char *word, call *c)
{
    const char *bracket = strchr(word, '(');
    size_t n = bracket ? (size_t)(bracket - word) : strlen(word);

    *c = (call){ .w = w, .n = -1 };
    if (n >= sizeof c->name || (bracket && word[strlen(word) - 1] != ')'))
        return false;
    snprintf(c->name, sizeof c->name, "%.*s", (int)n, word);
    if (!bracket)
        return true;
    char *inner = strndup(bracket + 1, strlen(bracket) - 2);
    c->n = split_arguments(inner, &c->kept, c->arg, MOST_ARGS);
    free(inner);
    return c->n >= 0;
}

dt_status *words_apply(words *w, const char *word, dt_dataset **d)
{
    dt_status *s = NULL;
    call c = { 0 };

    if (apply_option(w, word))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!take_apart(w, word, &c) || strcmp(table[i].word, c.name) != 0) {
            free(c.kept);
            continue;
        }
        if (!*d && !table[i].source) /* "padded_batch(3)": any source would do */
            expect_ok(w->v, "range", dt_dataset_range(d, 0, 8, 1));
        s = table[i].apply(&c, d);
        free(c.kept);
        return s;
    }
    differs(w->v, "unknown word '%s' in a pipeline", word);
    return NULL;
}

dt_status *words_build(words *w, const json_t *pipeline, dt_dataset **d)
{
    dt_status *s = NULL;
    size_t i;
    const json_t *word;

    json_array_foreach((json_t *)pipeline, i, word) {
        if (json_is_string(word))
            s = apply_option(w, json_string_value(word)) ? NULL : build_chain(w, json_string_value(word), d);
        if (s || w->v->differences)
            break;
    }
    return s;
}

void words_release(words *w)
{
    while (w->n_kept > 0)
        free(w->kept[--w->n_kept]);
}
