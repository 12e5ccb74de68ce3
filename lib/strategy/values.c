/* SPDX-License-Identifier: Apache-2.0 */
/* Named lists of tensors. */
#include "strategy/values.h"

#include "op/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Returns the entry of this name, without its old contents, or a new entry. `name` may point to the
 * name in the old entry. */
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
    /* keeps a reference, because t may be in the old contents of the entry, which are released */
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
    /* with one replica, dt_strategy_run returns the value itself */
    e->kind = n > 1 ? "PerReplica" : "Tensor";
    e->strategy = w->strategy ? dt_strategy_ref(w->strategy) : NULL;
    e->whole = dt_tensor_ref(w->tensor);
    e->spread = w->spread;
    e->offsets = w->spread == DT_ROWS ? row_offsets(w, n) : NULL;
}

void dt_values_set_each(dt_values *v, const char *name, int replicas) {
    ((dt_value_entry *)dt_values_find(v, name))->each = replicas;
}

/* ---- the value of one replica ---- */

static dt_tensor *cut_from_whole(const dt_value_entry *e, int replica) {
    dt_type type = e->whole->type;
    int64_t row = 1;

    if (e->spread == DT_UNIFORM) return dt_tensor_part(e->whole, &type, 0);
    for (int d = 1; d < type.rank; d++) row *= type.dim[d];
    if (e->spread == DT_ROWS) {
        type.dim[0] = e->offsets[replica + 1] - e->offsets[replica];
        return dt_tensor_part(e->whole, &type, e->offsets[replica] * row);
    }
    /* removes the first dimension, which counts replicas */
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
