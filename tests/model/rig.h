/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of this room share: recorded cases (tests/golden), models made by hand from text,
 * and graphs run by the reference interpreter. Functions are static inline, since each test is a
 * program of its own.
 */
#ifndef TESTS_MODEL_RIG_H
#define TESTS_MODEL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "model/model.h"
#include "../support/status.h"

/* ---- recorded cases ---- */

/* The cases of tests/golden/NAME.json; the caller calls json_decref on *file. */
static inline json_t *golden(const char *name, json_t **file) {
    char path[128];
    snprintf(path, sizeof path, "tests/golden/%s.json", name);
    *file = json_load_file(path, 0, NULL);
    if (!*file) fail_msg("%s cannot be read", path);
    return json_object_get(*file, "cases");
}

static inline const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static inline double number_of(const json_t *x) {
    if (json_is_string(x)) {
        const char *text = json_string_value(x);
        return strcmp(text, "nan") == 0 ? NAN : *text == '-' ? -INFINITY : INFINITY;
    }
    return json_number_value(x);
}

/* A recorded tensor; free(view.data). */
static inline dt_view view_of(const json_t *tensor) {
    const json_t *shape = json_object_get(tensor, "shape"), *data = json_object_get(tensor, "data");
    int64_t dim[DT_MAX_RANK] = {0};
    dt_dtype dtype = DT_FLOAT32;
    int rank = (int)json_array_size(shape);
    for (int i = 0; i < rank; i++) dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
    assert_true(dt_dtype_parse(text_of(tensor, "dtype"), &dtype));
    dt_view v = {.type = dt_type_of(dtype, rank, dim)};
    size_t n = json_array_size(data);
    v.data = dt_alloc((n ? n : 1) * 8);
    for (size_t i = 0; i < n; i++) {
        double x = number_of(json_array_get(data, i));
        if (dtype == DT_FLOAT32) ((float *)v.data)[i] = (float)x;
        else if (dtype == DT_FLOAT64) ((double *)v.data)[i] = x;
        else if (dtype == DT_INT32) ((int32_t *)v.data)[i] = (int32_t)x;
        else if (dtype == DT_INT64) ((int64_t *)v.data)[i] = (int64_t)x;
        else fail_msg("no dtype %s in these tests", dt_dtype_name(dtype));
    }
    return v;
}

static inline double element(const dt_view *v, int64_t i) {
    return v->type.dtype == DT_FLOAT64   ? ((const double *)v->data)[i]
           : v->type.dtype == DT_FLOAT32 ? (double)((const float *)v->data)[i]
           : v->type.dtype == DT_INT64   ? (double)((const int64_t *)v->data)[i]
                                         : (double)((const int32_t *)v->data)[i];
}

static inline void assert_near(const char *id, double is, double ought, double relative,
                               double absolute) {
    bool equal = is == ought || (isnan(is) && isnan(ought)) ||
                 fabs(is - ought) <= relative * fabs(ought) + absolute;
    if (!equal) fail_msg("%s: got %.9g, recorded %.9g", id, is, ought);
}

/* Compares with a recorded tensor, shape and dtype included. */
static inline void assert_view(const char *id, const dt_view *is, const json_t *recorded,
                               double relative, double absolute) {
    dt_view ought = view_of(recorded);
    if (!dt_type_equal(&is->type, &ought.type)) {
        dt_str a = {0}, b = {0};
        dt_type_print(&is->type, &a);
        dt_type_print(&ought.type, &b);
        fail_msg("%s: type %s, recorded %s", id, dt_str_text(&a), dt_str_text(&b));
    }
    for (int64_t i = 0; i < dt_type_elements(&is->type); i++)
        assert_near(id, element(is, i), element(&ought, i), relative, absolute);
    free(ought.data);
}

/* "{...}" of a recorded mapping of arguments, as job files write it; Python's None is left out.
 * free() it. */
static inline char *arguments_text(const json_t *arguments) {
    json_t *given = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)arguments, key, value) if (!json_is_null(value))
        json_object_set(given, key, value);
    char *text = json_dumps(given, JSON_REAL_PRECISION(17));
    json_decref(given);
    return text;
}

static inline bool is_known(const dt_kind *const *rows, int n, const char *class_name) {
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i]->name, class_name) == 0) return true;
    return false;
}

/* Cases that were run, and the classes of those that were not. */
typedef struct tally {
    int run, skipped;
    dt_str classes;
} tally;

static inline void tally_skip(tally *t, const char *class_name) {
    char word[64];
    snprintf(word, sizeof word, " %s,", class_name);
    if (!strstr(dt_str_text(&t->classes), word)) dt_str_puts(&t->classes, word);
    t->skipped++;
}

static inline void tally_end(tally *t, const char *what) {
    print_message("%s: %d cases, %d left out:%s\n", what, t->run, t->skipped,
                  dt_str_text(&t->classes));
    dt_str_release(&t->classes);
    assert_true(t->run > 0);
}

/* ---- running ---- */

/* A type with B in front of the sizes that a recorded tensor has behind its first. */
static inline dt_type batched(const dt_type *t) {
    dt_type type = *t;
    if (type.rank > 0) type.dim[0] = DT_BATCH;
    return type;
}

typedef struct feed {
    const char *name;
    dt_view view;
} feed;

typedef struct outcome {
    dt_graph *graph;
    dt_interpretation r;
} outcome;

static inline dt_graph *end_trace(dt_trace *t) {
    dt_graph *g = NULL;
    ok(dt_trace_end(t, &g));
    return g;
}

/* Runs g over feeds[replica * n + k]; batch sizes are those of each replica's first feed. */
static inline outcome run_graph(dt_graph *g, int replicas, const feed *feeds, int n) {
    int64_t batch[16] = {0};
    dt_view arg[16 * 8];
    for (int r = 0; r < replicas; r++) {
        batch[r] = n && feeds[r * n].view.type.rank ? feeds[r * n].view.type.dim[0] : 1;
        for (int i = 0; i < g->n_args; i++)
            for (int k = 0; k < n; k++)
                if (strcmp(feeds[r * n + k].name, g->arg[i].name) == 0)
                    arg[r * g->n_args + i] = feeds[r * n + k].view;
    }
    outcome o = {.graph = g};
    ok(dt_interpret(g, NULL, replicas, batch, arg, &o.r));
    return o;
}

static inline const dt_view *result_of(const outcome *o, int replica, const char *name) {
    for (int i = 0; i < o->r.n_results; i++)
        if (strcmp(o->graph->result[i].name, name) == 0)
            return &o->r.result[replica * o->r.n_results + i];
    fail_msg("no result '%s'", name);
    return NULL;
}

/* Stores the step's updates in the variables, and forgets the run. */
static inline void finish(outcome *o) {
    for (int i = 0; i < o->r.n_states; i++)
        if (o->r.update[i].data)
            memcpy(o->graph->state[i].variable->host_data, o->r.update[i].data,
                   (size_t)dt_type_bytes(&o->r.update[i].type));
    dt_interpretation_release(&o->r);
}

/* ---- models ---- */

static inline dt_tree *parse(dt_arena *arena, const char *name, const char *text) {
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = (dt_source){name, dt_arena_strdup(arena, text), strlen(text)};
    dt_tree *tree = NULL;
    ok(dt_tree_parse(arena, source, &tree));
    return tree;
}

/* A model without a strategy, its weights drawn from `seed`. */
static inline dt_model *model_of(const char *layers, uint64_t seed) {
    dt_model *m = dt_alloc(sizeof *m);
    m->refs = 1;
    m->arena = dt_arena_create();
    dt_location at = {0};
    ok(dt_model_read(m->arena, parse(m->arena, "layers", layers), &at, &m->spec));
    m->n_weights = m->spec.n_weights;
    m->weight = dt_arena_array(m->arena, dt_variable *, m->n_weights);
    m->trainable.v = dt_arena_array(m->arena, dt_variable *, m->n_weights);
    for (int i = 0; i < m->n_weights; i++) {
        const dt_weight_spec *w = m->spec.weight[i];
        ok(dt_variable_alloc(&m->weight[i], w->path, &w->type, w->trainable));
        dt_initialize(&w->initializer, seed, w->n_inputs, m->weight[i]);
        if (w->trainable) m->trainable.v[m->trainable.n++] = m->weight[i];
    }
    return m;
}

static inline void model_free(dt_model *m) {
    for (int i = 0; i < m->n_weights; i++) dt_variable_unref(m->weight[i]);
    dt_arena_destroy(m->arena);
    free(m);
}

static inline void set_variable(dt_variable *v, const dt_view *value) {
    assert_true(dt_type_equal(&v->type, &value->type));
    memcpy(v->host_data, value->data, (size_t)dt_type_bytes(&v->type));
}

#endif
