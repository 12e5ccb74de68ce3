/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines in words: calls of tf.data's names, one to a string or chained with points, read by
 * python.c and made of the library's calls by a table of words. What stands before a call
 * (tf.data.Dataset, ds) goes unread; "batch 4" and "batch of 4" are batch(4).
 */
#include "words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

dt_status *words_broken(words *w, const char *name, const char *why) {
    differs(w->v, "unknown wording of '%s': %s", name, why);
    return NULL;
}

const py *words_argument(const call *c, int i, const char *keyword) {
    return c->p ? py_argument(c->p, i, keyword) : NULL;
}

/* A number; `otherwise` when it is not given, or None. False: a difference, or an error in *s. */
bool words_integer(const call *c, int i, const char *keyword, int64_t otherwise, int64_t *out,
                   dt_status **s) {
    const py *x = words_argument(c, i, keyword);
    const names n = {.c = c->w->context};
    const char *why;
    array a;

    *out = otherwise;
    if (!x || py_is(x, "None") || py_is(x, "AUTOTUNE")) return true;
    if (!array_eval(x, &n, &a, &why, s)) {
        if (!*s) words_broken(c->w, c->name, why);
        return false;
    }
    *out = (int64_t)a.v[0];
    array_release(&a);
    return true;
}

/* "drop_remainder", "drop_remainder=True", "True" */
static bool flag(const call *c, int i, const char *name) {
    for (int k = 1; c->p && k < c->p->n; k++)
        if (py_is(c->p->in[k], name)) return true;
    const py *x = words_argument(c, i, name);
    return x && (py_is(x, "True") || (x->kind == PY_NUMBER && x->number != 0));
}

void *words_keep(words *w, void *p) {
    if (w->n_kept < MOST_KEPT) w->kept[w->n_kept++] = p;
    return p;
}

/* ---- sources ---- */

static dt_status *apply_range(const call *c, dt_dataset **d) {
    bool both = words_argument(c, 1, "stop") != NULL;
    int64_t start = 0, stop = 0, step = 1;
    dt_status *s = NULL;

    if (!words_integer(c, both ? 1 : 0, "stop", 0, &stop, &s) ||
        (both && !words_integer(c, 0, "start", 0, &start, &s)) ||
        !words_integer(c, 2, "step", 1, &step, &s))
        return s;
    return dt_dataset_range(d, start, stop, step);
}

/* Tuples and lists of lists in brackets are nests of components "0", "1/a"; anything else is an
 * array. */
static bool set_nest(words *w, dt_values *v, const char *path, const py *p, bool shapes) {
    const names n = {.c = w->context, .shapes = shapes};
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
            else snprintf(name, sizeof name, "%s%s%d", path, *path ? "/" : "", i);
            ok = set_nest(w, v, name, x->kind == PY_KEYWORD ? x->in[0] : x, shapes);
        }
        return ok && p->n > 0;
    }
    if (!array_eval(p, &n, &a, &why, &s)) {
        dt_status_free(s);
        words_broken(w, "a component", why);
        return false;
    }
    dt_tensor *t = array_tensor(&a);
    expect_ok(w->v, "a component", dt_values_set(v, *path ? path : "value", t));
    dt_tensor_unref(t);
    array_release(&a);
    return true;
}

/* Whether components have as many rows each; where they have not, lists of whole numbers were no
 * shapes. */
static bool rows_agree(const dt_values *v) {
    int64_t rows = -1;
    for (int i = 0; i < dt_values_count(v); i++) {
        const dt_tensor *t = dt_values_local(v, dt_values_name(v, i), 0);
        if (i > 0 && dt_tensor_dim(t, 0) != rows) return false;
        rows = dt_tensor_dim(t, 0);
    }
    return true;
}

static dt_status *apply_tensors(const call *c, dt_dataset **d) {
    const py *tensors = words_argument(c, 0, "tensors");
    dt_values *v = NULL;
    dt_status *s = NULL;

    expect_ok(c->w->v, "values", dt_values_create(&v));
    if (!tensors) words_broken(c->w, c->name, "one array, tuple or mapping is needed");
    else if (set_nest(c->w, v, "", tensors, true) &&
             (rows_agree(v) || set_nest(c->w, v, "", tensors, false)))
        s = strcmp(c->name, "from_tensors") == 0 ? dt_dataset_from_tensors(d, v)
                                                 : dt_dataset_from_tensor_slices(d, v);
    dt_values_unref(v);
    return s;
}

/* files() reads the case's files in turn, files(n) n at a time. Records are numbers in decimals. */
static dt_status *decode(const dt_values *element, void *user, dt_values *result) {
    const dt_tensor *t = dt_values_local(element, "value", 0);
    char digits[24];
    dt_tensor *out = NULL;
    (void)user;

    snprintf(digits, sizeof digits, "%.*s", (int)dt_tensor_elements(t),
             (const char *)dt_tensor_data(t));
    dt_status *s = dt_tensor_create(&out, DT_INT64, 0, NULL, &(int64_t){strtoll(digits, NULL, 10)});
    if (!s) s = dt_values_set(result, "value", out);
    dt_tensor_unref(out);
    return s;
}

dt_status *words_read_files(words *w, int64_t cycle, dt_dataset **d) {
    const dt_spec spec = {.name = "value", .dtype = DT_INT64};
    dt_status *s = NULL;

    DT_GO(s, dt_dataset_list_files(d, w->files, w->n_files));
    DT_GO(s, dt_dataset_read_files(d, *d,
                                   &(dt_file_options){.kind = DT_TFRECORD, .cycle_length = cycle}));
    DT_GO(s, dt_dataset_map(d, *d, &(dt_map_options){.fn = decode, .spec = &spec, .n_spec = 1}));
out:
    return s;
}

static dt_status *apply_files(const call *c, dt_dataset **d) {
    const py *first = words_argument(c, 0, NULL);
    bool list = first && first->kind != PY_NUMBER;
    dt_status *s = NULL;
    int64_t cycle = 1;

    if (!words_integer(c, list ? 99 : 0, list ? "num_parallel_reads" : "cycle_length", 1, &cycle,
                       &s))
        return s;
    return words_read_files(c->w, cycle, d);
}

/* ---- pipelines as arguments: "range(3).batch(2)" ---- */

static dt_status *apply_concatenate(const call *c, dt_dataset **d) {
    const py *x = words_argument(c, 0, "dataset");
    dt_dataset *other = NULL;
    dt_status *s = x && x->kind != PY_NAME ? words_chain(c->w, x, &other) : NULL;

    if (!s && (other || !x || x->kind == PY_NAME)) /* without one: with itself */
        s = dt_dataset_concatenate(d, *d, other ? other : *d);
    dt_dataset_unref(other);
    return s;
}

/* zip(a, b) or zip((a, b)) begins a pipeline, or goes on with one: the first then. */
static dt_status *apply_zip(const call *c, dt_dataset **d) {
    const py *list = words_argument(c, 0, "datasets");
    dt_dataset *in[MOST_PARTS + 1] = {*d};
    dt_status *s = NULL;
    int n = *d ? 1 : 0;
    bool inner = list && (list->kind == PY_TUPLE || list->kind == PY_LIST), whole = true;

    *d = NULL;
    for (int i = inner ? 0 : 1; c->p && i < (inner ? list->n : c->p->n) && n < MOST_PARTS && !s;
         i++, n++)
        s = words_chain(c->w, inner ? list->in[i] : c->p->in[i], &in[n]);
    for (int i = 0; i < n; i++) whole &= in[i] != NULL;
    if (!s && whole) s = dt_dataset_zip(d, (const dt_dataset *const *)in, n);
    for (int i = 0; i < n; i++) dt_dataset_unref(in[i]);
    return s;
}

/* ---- one number and a flag ---- */

static dt_status *apply_batch(const call *c, dt_dataset **d) {
    bool padded = strcmp(c->name, "padded_batch") == 0,
         drop = flag(c, padded ? 3 : 1, "drop_remainder");
    dt_status *s = NULL;
    int64_t n;

    if (!words_argument(c, 0, "batch_size")) return words_broken(c->w, c->name, "a size is needed");
    if (!words_integer(c, 0, "batch_size", 1, &n, &s)) return s;
    return padded ? dt_dataset_padded_batch(d, *d, n, drop) : dt_dataset_batch(d, *d, n, drop);
}

static dt_status *apply_repeat(const call *c, dt_dataset **d) {
    dt_status *s = NULL;
    int64_t n;
    return words_integer(c, 0, "count", -1, &n, &s) ? dt_dataset_repeat(d, *d, n) : s;
}

static dt_status *apply_take(const call *c, dt_dataset **d) {
    dt_status *s = NULL;
    int64_t n;
    if (!words_integer(c, 0, "count", -1, &n, &s)) return s;
    return strcmp(c->name, "take") == 0 ? dt_dataset_take(d, *d, n) : dt_dataset_skip(d, *d, n);
}

static dt_status *apply_prefetch(const call *c, dt_dataset **d) {
    dt_status *s = NULL;
    int64_t n;
    return words_integer(c, 0, "buffer_size", -1, &n, &s) ? dt_dataset_prefetch(d, *d, n) : s;
}

static dt_status *apply_enumerate(const call *c, dt_dataset **d) {
    dt_status *s = NULL;
    int64_t n;
    return words_integer(c, 0, "start", 0, &n, &s) ? dt_dataset_enumerate(d, *d, n) : s;
}

/* The numbers that the original draws are its own: a buffer of one element shuffles nothing, and is
 * all that can be compared. */
static dt_status *apply_shuffle(const call *c, dt_dataset **d) {
    int64_t n, seed = 0;
    dt_status *s = NULL;

    if (!words_integer(c, 0, "buffer_size", 1, &n, &s) ||
        !words_integer(c, 1, "seed", 0, &seed, &s))
        return s;
    if (n > 1 && !c->w->order_free)
        c->w->v->skipped =
            "cannot be said in C: the order in which the original's random numbers shuffle";
    return dt_dataset_shuffle(d, *d, n, (uint64_t)seed,
                              !py_is(words_argument(c, 2, "reshuffle_each_iteration"), "False"));
}

static dt_status *apply_shard(const call *c, dt_dataset **d) {
    int64_t shards, index;
    dt_status *s = NULL;

    if (!words_integer(c, 0, "num_shards", 0, &shards, &s) ||
        !words_integer(c, 1, "index", 0, &index, &s))
        return s;
    return dt_dataset_shard(d, *d, shards, index);
}

static dt_status *apply_unbatch(const call *c, dt_dataset **d) {
    (void)c;
    return dt_dataset_unbatch(d, *d);
}

/* Where elements are kept, and what they are taken to be like, is no part of what they are. */
static dt_status *apply_nothing(const call *c, dt_dataset **d) {
    (void)c;
    (void)d;
    return NULL;
}

/* "with_options(auto_shard_policy=DATA)" */
static dt_status *apply_options(const call *c, dt_dataset **d) {
    const py *policy = words_argument(c, 99, "auto_shard_policy");
    (void)d;
    if (policy &&
        !policy_of(policy->kind == PY_STRING ? policy->text : py_name(policy), &c->w->policy))
        words_broken(c->w, c->name, "no such policy");
    return NULL;
}

/* ---- the table ---- */

static const struct {
    const char *word;
    bool source;
    dt_status *(*apply)(const call *c, dt_dataset **d);
} table[] = {
    {"range", true, apply_range},
    {"from_tensors", true, apply_tensors},
    {"from_tensor_slices", true, apply_tensors},
    {"files", true, apply_files},
    {"TFRecordDataset", true, apply_files},
    {"tfrecord", true, apply_files},
    {"list_files", true, apply_files},
    {"zip", true, apply_zip},
    {"batch", false, apply_batch},
    {"padded_batch", false, apply_batch},
    {"unbatch", false, apply_unbatch},
    {"repeat", false, apply_repeat},
    {"take", false, apply_take},
    {"skip", false, apply_take},
    {"shuffle", false, apply_shuffle},
    {"prefetch", false, apply_prefetch},
    {"enumerate", false, apply_enumerate},
    {"shard", false, apply_shard},
    {"map", false, words_map},
    {"filter", false, words_filter},
    {"concatenate", false, apply_concatenate},
    {"flat_map", false, words_interleave},
    {"interleave", false, words_interleave},
    {"cache", false, apply_nothing},
    {"ignore_errors", false, apply_nothing},
    {"assert_cardinality", false, apply_nothing},
    {"apply", false, apply_nothing},
    {"with_options", false, apply_options},
};

/* Transformations of tf.data that the library does not have. */
static const char *const missing[] = {
    "window",
    "group_by_window",
    "bucket_by_sequence_length",
    "scan",
    "take_while",
    "unique",
    "rejection_resample",
    "sample_from_datasets",
    "choose_from_datasets",
    "from_generator",
    "sparse_batch",
    "ragged_batch",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "snapshot",
    "save",
    "load",
    "random",
    "counter",
    "Counter",
    "rebatch",
    "reduce",
    "FixedLengthRecordDataset",
    "TextLineDataset",
    "from_sparse_tensor_slices",
};

bool policy_of(const char *name, dt_auto_shard_policy *out) {
    static const char *const policies[] = {"AUTO", "FILE", "DATA", "OFF", "HINT"};
    const char *last = name ? strrchr(name, '.') : NULL;

    for (int i = 0; name && i < 5; i++)
        if (strcmp(policies[i], last ? last + 1 : name) == 0) {
            *out = (dt_auto_shard_policy)i;
            return true;
        }
    return false;
}

static dt_status *apply(const call *c, dt_dataset **d) {
    verdict *v = c->w->v;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].word, c->name) != 0) continue;
        if (!*d && !table[i].source) /* "padded_batch(3)": any source would do */
            expect_ok(c->w->v, "range", dt_dataset_range(d, 0, 8, 1));
        return table[i].apply(c, d);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(missing[i], c->name) == 0) {
            snprintf(v->reason, sizeof v->reason,
                     "cannot be said in C: the library has no transformation '%s'", c->name);
            v->skipped = v->reason;
            return NULL;
        }
    differs(c->w->v,
            "unknown wording: there is no word '%s' for pipelines; tests/conformance/README.md has "
            "those that there are",
            c->name);
    return NULL;
}

/* What stands before the first call is where Python finds it. */
dt_status *words_chain(words *w, const py *p, dt_dataset **d) {
    dt_status *s = NULL;
    const py *callee = p->kind == PY_CALL ? p->in[0] : p;

    if (callee->kind == PY_ATTRIBUTE && callee->in[0]->kind != PY_NAME &&
        callee->in[0]->kind != PY_ATTRIBUTE)
        s = words_chain(w, callee->in[0], d);
    if (s || w->v->differences || w->v->skipped) return s;
    if (*py_name(callee))
        return apply(&(call){w, py_name(callee), p->kind == PY_CALL ? p : NULL}, d);
    return words_broken(w, "a pipeline", "neither a word nor a call");
}

/* ---- strings ---- */

/* Words about the distribution, not the data. */
static bool apply_option(words *w, const char *word) {
    const char *policy = strstr(word, "olicy");
    int n;

    if (sscanf(word, "first %d ste", &n) == 1 || sscanf(word, "only the first %d ste", &n) == 1 ||
        sscanf(word, "take first %d ste", &n) == 1)
        return w->first_steps = n, true;
    if (strncmp(word, "returns ", 8) == 0) return w->returns_nothing = true;
    if (!policy || strchr(word, '(')) return false;
    for (const char *p = policy; *p; p++) {
        char name[8];
        if (isupper((unsigned char)*p) && sscanf(p, "%7[A-Z]", name) == 1 && strlen(name) > 1)
            return policy_of(name, &w->policy);
    }
    return false;
}

/* "batch 4", "batch of 4": the brackets are added. */
static char *with_brackets(const char *word) {
    static const char *const little[] = {"of ", "by ", "size ", "with ", "to "};
    char name[32], *out;
    int n = 0;

    if (sscanf(word, " %31[A-Za-z_]%n", name, &n) < 1 || word[n] != ' ' ||
        strncmp(word + n, " =", 2) == 0 || strchr("=-.(", word[n + 1]))
        return strdup(word);
    for (size_t i = 0; i < sizeof little / sizeof *little; i++)
        if (strncmp(word + n + 1, little[i], strlen(little[i])) == 0) n += (int)strlen(little[i]);
    out = malloc(strlen(word) + 8);
    sprintf(out, "%s(%s)", name, word + n + 1);
    return out;
}

/* "ds = ...", "return ..." */
static const char *behind_assignment(const char *word) {
    const char *equal = strstr(word, " = ");
    word += strspn(word, " ");
    if (strncmp(word, "return ", 7) == 0) return word + 7;
    return equal && equal < strpbrk(word, "(") ? equal + 3 : word;
}

dt_status *words_apply(words *w, const char *word, dt_dataset **d) {
    const char *why;

    if (apply_option(w, word)) return NULL;
    char *text = with_brackets(behind_assignment(word));
    py *p = py_read(text, &why);
    if (!p) differs(w->v, "unknown wording '%s' in a pipeline: %s", word, why);
    free(text);
    if (!p) return NULL;
    if (w->n_trees < MOST_KEPT) w->tree[w->n_trees++] = p;
    return words_chain(w, p, d);
}

dt_status *words_build(words *w, const json_t *pipeline, dt_dataset **d) {
    dt_status *s = NULL;
    size_t i;
    const json_t *word;

    if (json_is_string(pipeline)) return words_apply(w, json_string_value(pipeline), d);
    json_array_foreach((json_t *)pipeline, i, word) {
        if (json_is_string(word)) s = words_apply(w, json_string_value(word), d);
        if (s || w->v->differences || w->v->skipped) break;
    }
    return s;
}

void words_release(words *w) {
    while (w->n_kept > 0) free(w->kept[--w->n_kept]);
    while (w->n_trees > 0) py_free(w->tree[--w->n_trees]);
}
