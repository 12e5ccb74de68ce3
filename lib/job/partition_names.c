/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `partition` can name. Inputs and targets are elements of the data; the rest is found by
 * tracing the model's forward pass once, with variables that have no memory: every value that asks
 * for an annotation says its name and its shape.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "job/partition.h"

/* ---- the list ---- */

const dt_job_tensor *dt_job_find_tensor(const dt_job_tensors *list, const char *name) {
    for (int i = dt_hash_index_first(&list->at, dt_name_hash(name)); i >= 0;
         i = dt_hash_index_next(&list->at, i))
        if (strcmp(list->v[i].name, name) == 0) return &list->v[i];
    return NULL;
}

void dt_job_tensors_release(dt_job_tensors *list) {
    free(list->v);
    dt_hash_index_release(&list->at);
}

static void add(dt_job_tensors *list, const char *noun, const char *name, const dt_type *type) {
    if (dt_job_find_tensor(list, name)) return;
    DT_GROW(list->v, list->cap, list->n + 1);
    dt_hash_index_add(&list->at, dt_name_hash(name));
    list->v[list->n++] = (dt_job_tensor){noun, name, *type};
}

/* What the model asks of each value; names are kept by the job's arena. */
typedef struct asker {
    dt_arena *arena;
    dt_job_tensors *list;
} asker;

static dt_value note(const void *user, const char *name, dt_value x) {
    const asker *a = user;
    dt_type type = dt_type_of_value(x);

    if (x.trace)
        add(a->list, strchr(name, '/') ? "value" : "layer", dt_arena_strdup(a->arena, name), &type);
    return x;
}

static dt_status *trace_forward(dt_model *m) {
    dt_trace *t = dt_trace_create("outline");
    dt_value x[DT_MAX_INPUTS], y[DT_MAX_OUTPUTS];
    dt_graph *g = NULL;

    for (int i = 0; i < m->spec.n_inputs; i++)
        x[i] = dt_trace_declare(t, m->spec.input[i].name, &m->spec.input[i].type);
    dt_model_emit_outputs(m, x, m->spec.n_inputs, DT_TRAINING, y);
    for (int i = 0; i < m->spec.n_outputs; i++)
        dt_return(t, dt_output_result(dt_trace_arena(t), &m->spec, i), y[i]);
    dt_status *s = dt_trace_end(t, &g);
    dt_graph_destroy(g);
    return s;
}

dt_status *dt_job_list_tensors(const dt_job *j, dt_job_tensors *out) {
    const asker a = {j->arena, out};
    dt_model *m = NULL;

    *out = (dt_job_tensors){0};
    for (int i = 0; i < j->model.n_inputs; i++)
        add(out, "input", j->model.input[i].name, &j->model.input[i].type);
    DT_TRY(dt_model_outline(&m, &j->model, NULL));
    m->annotate = note;
    m->annotate_user = &a;
    dt_status *s = trace_forward(m);
    dt_model_unref(m);
    return s ? dt_at(s, &j->model.input[0].at) : NULL;
}

/* ---- names that are none ---- */

/* Elements of the data, then layers. */
static int list_names(const dt_job *j, const char **names) {
    int n = 0;
    for (int i = 0; i < j->elements.n; i++) names[n++] = j->elements.v[i];
    for (int i = 0; i < j->model.n_layers; i++) names[n++] = j->model.layer[i].name;
    return n;
}

static dt_status *no_such_name(const dt_job *j, const dt_job_value *v) {
    const char **names = dt_arena_array(j->arena, const char *, j->elements.n + j->model.n_layers);
    int n = list_names(j, names);
    dt_status *s = dt_fail(
        DT_E_UNKNOWN_KEY, &v->at,
        "partition names '%.80s', which is neither an element of the data nor a layer", v->name);
    const char *nearest = dt_nearest(v->name, names, n);
    return nearest ? dt_suggest(s, "did you mean '%.80s'?", nearest) : s;
}

static bool is_layer(const dt_job *j, const char *name, size_t length) {
    for (int i = 0; i < j->model.n_layers; i++)
        if (strlen(j->model.layer[i].name) == length &&
            strncmp(j->model.layer[i].name, name, length) == 0)
            return true;
    return false;
}

/* "layer 'decoder_0' has no value 'decoder_0/atention'": it has others, or none. */
static dt_status *no_such_value(const dt_job *j, const dt_job_tensors *list,
                                const dt_job_value *v) {
    size_t length = strcspn(v->name, "/");
    const char **names = dt_arena_array(j->arena, const char *, list->n + 1);
    dt_str all = {0};
    int n = 0;
    for (int i = 0; i < list->n; i++)
        if (strncmp(list->v[i].name, v->name, length + 1) == 0) {
            dt_str_printf(&all, "%s%s", n ? ", " : "", list->v[i].name);
            names[n++] = list->v[i].name;
        }
    dt_status *s = dt_fail(DT_E_UNKNOWN_KEY, &v->at, "layer '%.*s' has no value '%.80s'",
                           length > 80 ? 80 : (int)length, v->name, v->name);
    const char *nearest = dt_nearest(v->name, names, n);
    s = nearest ? dt_suggest(s, "did you mean '%.80s'?", nearest)
        : n     ? dt_suggest(s, "it has %s", dt_str_text(&all))
                : dt_suggest(s,
                             "'%.*s' is its output; weights have rules of their own, "
                                 "partition.weights",
                             (int)length, v->name);
    dt_str_release(&all);
    return s;
}

static bool is_element(const dt_job *j, const char *name) {
    for (int i = 0; i < j->elements.n; i++)
        if (strcmp(j->elements.v[i], name) == 0) return true;
    return false;
}

dt_status *dt_job_check_names(const dt_job *j, const dt_job_tensors *list) {
    dt_status *faults = NULL;
    for (int i = 0; i < j->partition->n_values; i++) {
        const dt_job_value *v = &j->partition->value[i];
        if (is_element(j, v->name) || dt_job_find_tensor(list, v->name)) continue;
        bool inside = strchr(v->name, '/') && is_layer(j, v->name, strcspn(v->name, "/"));
        dt_status_append(&faults, inside ? no_such_value(j, list, v) : no_such_name(j, v));
    }
    return faults;
}
