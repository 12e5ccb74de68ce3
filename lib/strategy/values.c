/* SPDX-License-Identifier: Apache-2.0 */
/* Named lists of tensors, also from a function per replica; saving a tensor. */
#include "strategy/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/array.h"
#include "file/file.h"
#include "op/cells.h"

/*
 * Makes values by calling a function once per replica. They are combined by name, as run combines
 * results. A strategy that distributes nothing calls the function once and keeps single values.
 */

typedef struct making {
    dt_strategy *strategy;
    dt_value_fn fn;
    void *user;
    int n;          /* number of calls: one for each replica, or 1 */
    dt_values **of; /* [n] the values that each call returned */
} making;

static dt_status *call_function(making *m, int replica) {
    const dt_value_context context = {replica, m->n};

    DT_TRY(dt_values_create(&m->of[replica]));
    dt_status *s = m->fn(&context, m->of[replica], m->user);
    return s ? dt_note(s, "in the values of replica %d", replica) : NULL;
}

static dt_status *same_paths(const making *m, int replica) {
    const dt_values *first = m->of[0], *v = m->of[replica];

    if (v->n != first->n)
        return dt_fail(DT_E_STRUCTURE, NULL,
                       "the function set %d value%s for replica %d, but %d for replica 0", v->n,
                       v->n == 1 ? "" : "s", replica, first->n);
    for (int i = 0; i < v->n; i++)
        if (!dt_values_find(first, v->entry[i].name))
            return dt_fail(DT_E_STRUCTURE, NULL,
                           "the function set '%s' for replica %d, but not for replica 0",
                           v->entry[i].name, replica);
    return NULL;
}

static dt_status *regroup(const making *m, const char *name, dt_values *out) {
    dt_tensor **t = dt_alloc((size_t)m->n * sizeof *t);
    dt_status *s = NULL;

    for (int r = 0; r < m->n && !s; r++) {
        const dt_value_entry *e = dt_values_find(m->of[r], name);
        t[r] = dt_entry_local(e, 0);
        if (e->per_replica)
            s = dt_fail(
                DT_E_STRUCTURE, NULL,
                "the function set '%s' for replica %d to a value per replica; set a single tensor",
                name, r);
    }
    if (!s)
        s = m->strategy->row->plain ? dt_values_set(out, name, t[0])
                                    : dt_values_set_per_replica(out, name, t, m->n);
    free(t);
    return s;
}

static dt_status *make(making *m, dt_values **out) {
    dt_values *all = NULL;
    dt_status *s = NULL;

    for (int r = 0; r < m->n; r++) {
        DT_GO(s, call_function(m, r));
        DT_GO(s, same_paths(m, r));
    }
    DT_GO(s, dt_values_create(&all));
    for (int i = 0; i < m->of[0]->n; i++) DT_GO(s, regroup(m, m->of[0]->entry[i].name, all));
    dt_values_unref(*out);
    *out = all;
    return NULL;
out:
    dt_values_unref(all);
    return s;
}

dt_status *dt_strategy_values_from_function(dt_strategy *s, dt_value_fn fn, void *user,
                                            dt_values **out) {
    DT_LIVE(s);
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(s, "dt_strategy_values_from_function", "strategy"));
    DT_TRY(fn ? NULL : dt_want(NULL, "dt_strategy_values_from_function", "function"));
    DT_TRY(dt_want(out, "dt_strategy_values_from_function", "handle to fill"));
    making m = {.strategy = s, .fn = fn, .user = user, .n = s->replicas};
    m.of = dt_alloc((size_t)m.n * sizeof(dt_values *));
    dt_status *bad = make(&m, out);
    for (int r = 0; r < m.n; r++) dt_values_unref(m.of[r]);
    free(m.of);
    return bad;
}

/* Saves tensors as NPY files, which numpy.load reads. */

dt_status *dt_tensor_save(const dt_tensor *t, const char *path) {
    DT_LIVE(t);
    dt_output o = {0};
    DT_TRY(dt_status_kept());
    if (!t || !path || !*path)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "dt_tensor_save needs a tensor and a path: %s is missing",
                       t ? "the path" : "the tensor");
    dt_npy_print_header(&t->type, 0, &o.text);
    dt_status *s = dt_output_open(&o, path);
    if (!s) s = dt_output_flush(&o);
    if (!s) s = dt_writer_put(&o.file, t->data, (size_t)dt_type_bytes(&t->type));
    if (!s) s = dt_output_finish(&o);
    dt_output_close(&o);
    return s;
}

double dt_tensor_item(const dt_tensor *t) {
    DT_LIVE(t);
    return t && dt_type_elements(&t->type) == 1 ? dt_cell_double(&(dt_view){t->type, t->data}, 0)
                                                : (double)NAN;
}

/* ---- lists ---- */

dt_status *dt_values_create(dt_values **out) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_values_create", "handle to fill"));
    dt_values *v = dt_alloc(sizeof *v);
    v->refs = 1;
    dt_values_unref(*out);
    *out = v;
    return NULL;
}

static void release_entry(dt_value_entry *e) {
    for (int i = 0; i < e->n; i++) dt_tensor_unref(e->local[i]);
    dt_tensor_unref(e->whole);
    dt_strategy_unref(e->strategy);
    free(e->local);
    free(e->offsets);
    free(e->name);
}

void dt_values_unref(dt_values *v) {
    if (!DT_LAST(v)) return;
    for (int i = 0; i < v->n; i++) release_entry(&v->entry[i]);
    free(v->entry);
    DT_RETIRE(v);
}

int dt_values_count(const dt_values *v) {
    DT_LIVE(v);
    return v ? v->n : 0;
}

const char *dt_values_name(const dt_values *v, int i) {
    DT_LIVE(v);
    return v && i >= 0 && i < v->n ? v->entry[i].name : NULL;
}

const dt_value_entry *dt_values_find(const dt_values *v, const char *name) {
    for (int i = 0; v && name && i < v->n; i++)
        if (strcmp(v->entry[i].name, name) == 0) return &v->entry[i];
    return NULL;
}

/* Returns the entry of this name, emptied, or a new entry. `name` may point to the name in the old
 * entry. */
static dt_value_entry *entry_for(dt_values *v, const char *name, int n) {
    dt_value_entry *e = (dt_value_entry *)dt_values_find(v, name);
    char *kept = dt_strdup(name);

    if (e) {
        release_entry(e);
    } else {
        DT_GROW(v->entry, v->cap, v->n + 1);
        e = &v->entry[v->n++];
    }
    *e = (dt_value_entry){.name = kept,
                          .kind = "Tensor",
                          .n = n,
                          .local = dt_alloc(dt_size_mul((size_t)n, sizeof *e->local))};
    return e;
}

/* Checks the arguments of a public function that sets an entry. */
static dt_status *check_entry(const dt_values *v, const char *name, const char *call) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(v, call, "values"));
    return dt_want(name, call, "name");
}

dt_status *dt_values_set(dt_values *v, const char *name, dt_tensor *t) {
    DT_LIVE(v);
    DT_LIVE(t);
    DT_TRY(check_entry(v, name, "dt_values_set"));
    DT_TRY(dt_want(t, "dt_values_set", "tensor"));
    /* The reference is kept, because t may be in the old contents of the entry, which are
     * released. */
    dt_tensor *kept = dt_tensor_ref(t);
    entry_for(v, name, 1)->local[0] = kept;
    return NULL;
}

dt_status *dt_values_set_per_replica(dt_values *v, const char *name, dt_tensor *const *t, int n) {
    DT_LIVE(v);
    DT_TRY(check_entry(v, name, "dt_values_set_per_replica"));
    DT_TRY(dt_want(t, "dt_values_set_per_replica", "tensors"));
    if (n < 1 || n > DT_MAX_REPLICAS)
        return dt_fail(DT_E_TENSOR, NULL, "'%s' has values for %d replicas; expected 1 to %d", name,
                       n, DT_MAX_REPLICAS);
    for (int i = 0; i < n; i++)
        if (!dt_live(t[i]))
            return dt_fail(DT_E_MISUSE, NULL,
                           "dt_values_set_per_replica got no tensor for replica %d", i);
    for (int i = 0; i < n; i++) dt_tensor_ref(t[i]);
    dt_value_entry *e = entry_for(v, name, n);
    memcpy(e->local, t, (size_t)n * sizeof(dt_tensor *));
    e->per_replica = true;
    e->kind = "PerReplica";
    return NULL;
}

/* Converts offsets from examples to rows. An example has several rows if a reshape has split it. */
static int64_t *row_offsets(const dt_whole *w, int n) {
    int64_t *offsets = dt_alloc(((size_t)n + 1) * sizeof *offsets),
            each = w->offsets[n] ? w->tensor->type.dim[0] / w->offsets[n] : 1;

    for (int r = 0; r <= n; r++) offsets[r] = w->offsets[r] * each;
    return offsets;
}

void dt_values_set_whole(dt_values *v, const char *name, const dt_whole *w) {
    int n = w->strategy ? w->strategy->replicas : 1;
    dt_value_entry *e = entry_for(v, name, n);

    e->per_replica = w->strategy != NULL;
    /* With one replica, dt_strategy_run returns the value itself, not a PerReplica. */
    e->kind = n > 1 ? "PerReplica" : "Tensor";
    e->strategy = w->strategy ? dt_strategy_ref(w->strategy) : NULL;
    e->whole = dt_tensor_ref(w->tensor);
    e->spread = w->spread;
    e->offsets = w->spread == DT_ROWS ? row_offsets(w, n) : NULL;
}

void dt_values_set_each(dt_values *v, const char *name, int replicas) {
    ((dt_value_entry *)dt_values_find(v, name))->each = replicas;
}

/* ---- entries ---- */

static dt_tensor *cut_from_whole(const dt_value_entry *e, int replica) {
    dt_type type = e->whole->type;
    int64_t row = 1;

    if (e->spread == DT_UNIFORM) return dt_tensor_part(e->whole, &type, 0);
    for (int d = 1; d < type.rank; d++) row *= type.dim[d];
    if (e->spread == DT_ROWS) {
        type.dim[0] = e->offsets[replica + 1] - e->offsets[replica];
        return dt_tensor_part(e->whole, &type, e->offsets[replica] * row);
    }
    /* This removes the first dimension, which counts replicas. */
    memmove(type.dim, type.dim + 1, sizeof type.dim - sizeof *type.dim);
    type.dim[--type.rank] = 0;
    return dt_tensor_part(e->whole, &type, replica * row);
}

dt_tensor *dt_entry_local(const dt_value_entry *e, int replica) {
    if (replica < 0 || replica >= e->n) return NULL;
    if (!e->local[replica]) {
        e->local[replica] = cut_from_whole(e, replica);
        e->local[replica]->device =
            e->strategy ? dt_strdup(e->strategy->device_name[replica]) : NULL;
    }
    return e->local[replica];
}

int dt_values_locals(const dt_values *v, const char *name) {
    DT_LIVE(v);
    const dt_value_entry *e = dt_values_find(v, name);
    return e ? e->n : 0;
}

bool dt_entry_is_distributed(const dt_value_entry *e) {
    return e->per_replica && !(e->whole && e->n == 1);
}

bool dt_values_is_per_replica(const dt_values *v, const char *name) {
    DT_LIVE(v);
    const dt_value_entry *e = dt_values_find(v, name);
    return e && dt_entry_is_distributed(e);
}

const char *dt_values_kind(const dt_values *v, const char *name) {
    DT_LIVE(v);
    const dt_value_entry *e = dt_values_find(v, name);
    return e ? e->kind : NULL;
}

const dt_tensor *dt_values_local(const dt_values *v, const char *name, int replica) {
    DT_LIVE(v);
    const dt_value_entry *e = dt_values_find(v, name);
    return e ? dt_entry_local(e, replica) : NULL;
}
