/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: values that outlive a step. Unless they are outlines, their memory is allocated when
 * they are made, so that a lack of it is reported early. */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

dt_variable *dt_variable_declare(const char *path, const dt_type *type, bool trainable) {
    dt_variable *v = dt_alloc(sizeof *v);
    *v = (dt_variable){.refs = 1, .path = dt_strdup(path), .type = *type, .trainable = trainable};
    return v;
}

dt_status *dt_variable_alloc(dt_variable **out, const char *path, const dt_type *type,
                             bool trainable) {
    assert(!dt_type_has_batch(type));
    int64_t bytes = dt_type_bytes(type);
    void *data = bytes == INT64_MAX ? NULL : dt_try_alloc_dense((size_t)(bytes > 0 ? bytes : 1));
    if (!data) {
        return dt_fail(DT_E_NO_MEMORY, NULL, "no memory for the variable '%s' of type %s", path,
                       dt_text_of(type).s);
    }
    memset(data, 0, (size_t)bytes);
    *out = dt_variable_declare(path, type, trainable);
    (*out)->host_data = data;
    return NULL;
}

dt_variable *dt_variable_rows(dt_variable *whole, int64_t first, int64_t rows) {
    const int64_t row = dt_type_bytes(&whole->type) / whole->type.dim[0];
    dt_str path = {0};
    dt_type type = whole->type;
    type.dim[0] = rows;
    dt_str_printf(&path, "%s[%lld:%lld]", whole->path, (long long)first, (long long)(first + rows));
    dt_variable *v = dt_variable_declare(dt_str_text(&path), &type, whole->trainable);
    dt_str_release(&path);
    if (whole->host_data) v->host_data = (char *)whole->host_data + first * row;
    v->slot = whole->slot;
    v->whole = whole;
    v->first_row = first;
    whole->refs++;
    return v;
}

/* Returns the type of a stack, (R, ...), where R is the number of replicas. */
static dt_type stacked_type(const dt_type *own, int replicas) {
    dt_type t = *own;

    memmove(t.dim + 1, t.dim, (DT_MAX_RANK - 1) * sizeof *t.dim);
    t.dim[0] = replicas;
    t.rank++;
    return t;
}

dt_status *dt_variable_diverge(dt_variable *v, int replicas) {
    if (v->stack) return NULL;
    if (v->type.rank == DT_MAX_RANK)
        return dt_fail(
            DT_E_MODEL_SHAPE, NULL,
            "the variable '%s' has %d dimensions: too many to hold one value per replica", v->path,
            DT_MAX_RANK);
    DT_TRY(dt_variable_fetch(v));
    dt_type type = stacked_type(&v->type, replicas);
    size_t bytes = (size_t)dt_type_bytes(&v->type);
    DT_TRY(dt_variable_alloc(&v->stack, v->path, &type, v->trainable));
    for (int r = 0; r < replicas; r++)
        memcpy((char *)v->stack->host_data + (size_t)r * bytes, v->host_data, bytes);
    free(v->host_data);
    v->host_data = v->stack->host_data;
    v->revision++;
    return NULL;
}

bool dt_variable_is_outline(const dt_variable *v) { return !v->host_data; }

/* Returns the variable whose value devices hold instead of that of v: its stack, or the variable of
 * which v is rows. Otherwise returns v itself. */
static dt_variable *stored(const dt_variable *v) {
    return (dt_variable *)(v->stack ? v->stack : v->whole ? v->whole : v);
}

dt_status *dt_variable_fetch(const dt_variable *v) {
    dt_variable *is = stored(v);

    if (!is->newer) return NULL;
    DT_TRY(is->newer->fetch(is->newer->state, is));
    is->newer = NULL;
    return NULL;
}

dt_status *dt_variables_fetch(dt_variable *const *v, int n) {
    for (int i = 0; i < n; i++) DT_TRY(dt_variable_fetch(v[i]));
    return NULL;
}

const void *dt_host_data(const dt_variable *v) {
    assert(!stored(v)->newer);
    return v->host_data;
}

unsigned dt_variable_written(const dt_variable *v) { return stored(v)->written; }

void *dt_host_edit(dt_variable *v) {
    stored(v)->newer = NULL;
    stored(v)->written++;
    return v->host_data;
}

dt_status *dt_variable_edit(dt_variable *v) {
    DT_TRY(dt_variable_fetch(v));
    dt_host_edit(v);
    return NULL;
}

static void give_up(dt_variable *v) {
    const dt_variable_holder *held = v->held;
    v->held = v->newer = NULL;
    if (held && held->forget) held->forget(held->state);
}

dt_status *dt_variable_hold(dt_variable *v, const dt_variable_holder *by) {
    if (v->held == by) return NULL;
    DT_TRY(dt_variable_fetch(v));
    give_up(v);
    v->held = by;
    return NULL;
}

void dt_variable_unref(dt_variable *v) {
    if (!DT_LAST(v)) return;
    give_up(v);
    if (v->forget) v->forget(v);
    if (v->stack || v->whole) dt_variable_unref(v->stack ? v->stack : v->whole);
    else free(v->host_data);
    free(v->constraint);
    free(v->sharding);
    free(v->path);
    DT_RETIRE(v);
}

bool dt_is_seed_counter(const char *path) {
    size_t n = strlen(path), m = strlen("/" DT_SEED_COUNTER);
    return n > m && strcmp(path + n - m, "/" DT_SEED_COUNTER) == 0;
}
