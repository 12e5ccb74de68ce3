/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a step: the type of each for one replica, and the values of all replicas joined
 * into one array, which compiled steps take.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/step.h"

/* ---- checks ---- */

/* Checks one argument. Sets *alike to false if the replicas' values differ in a dimension other
 * than the first. */
static dt_status *check_entry(const dt_value_entry *e, int replicas, bool *alike) {
    if (e->per_replica && e->n != replicas)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "argument '%s' has values for %d replicas, but the strategy has %d", e->name,
                       e->n, replicas);
    for (int r = 1; r < e->n && !e->whole; r++) {
        const dt_type *a = &e->local[0]->type, *b = &e->local[r]->type;
        if (a->dtype != b->dtype || a->rank != b->rank)
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "argument '%s' of replica %d differs from that of replica 0 in dtype or "
                           "in the number of dimensions",
                           e->name, r);
        for (int d = 1; d < a->rank; d++) *alike &= a->dim[d] == b->dim[d];
    }
    return NULL;
}

static bool has_rows(const dt_value_entry *e) {
    return e->per_replica && dt_entry_local(e, 0)->type.rank > 0;
}

bool dt_step_has_rows(const dt_step_call *c) {
    for (int i = 0; c->args && i < c->args->n; i++)
        if (has_rows(&c->args->entry[i])) return true;
    return false;
}

static int64_t rows_of(const dt_value_entry *e, int r) {
    if (e->whole && e->spread == DT_ROWS) return e->offsets[r + 1] - e->offsets[r];
    return dt_entry_local(e, r)->type.dim[0];
}

/* Sets the offsets from the first argument with rows. All other arguments must have as many rows
 * on each replica. */
static dt_status *find_offsets(const dt_step_call *c, const dt_value_entry *e,
                               const dt_value_entry *first) {
    int32_t *offsets = c->offsets;

    for (int r = 0; r < c->strategy->replicas; r++) {
        int64_t rows = rows_of(e, r);
        if (first && rows != offsets[r + 1] - offsets[r])
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "on replica %d, argument '%s' has %lld rows and '%s' has %d", r, e->name,
                           (long long)rows, first->name, offsets[r + 1] - offsets[r]);
        if (!first && offsets[r] + rows > INT32_MAX)
            return dt_fail(DT_E_ARGUMENT, NULL, "argument '%s' has more than 2^31 rows", e->name);
        if (!first) offsets[r + 1] = (int32_t)(offsets[r] + rows);
    }
    return NULL;
}

/* Whether all replicas have the same number of rows. */
static bool is_even(const dt_step_call *c) {
    for (int r = 1; r < c->strategy->replicas; r++)
        if (c->offsets[r + 1] - c->offsets[r] != c->offsets[1]) return false;
    return true;
}

dt_status *dt_step_check(dt_step_call *c) {
    const dt_value_entry *first = NULL;
    bool alike = true;

    for (int i = 0; c->args && i < c->args->n; i++)
        DT_TRY(check_entry(&c->args->entry[i], c->strategy->replicas, &alike));
    if (!alike && c->sizing == DT_SIZES_EXACT)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "fixed_batch_size needs arguments of the same shape on every replica");
    if (!alike) {
        c->sizing = DT_SIZES_EACH;
        return NULL;
    }
    for (int r = 0; r <= c->strategy->replicas; r++) c->offsets[r] = r;
    for (int i = 0; c->args && i < c->args->n; i++) {
        const dt_value_entry *e = &c->args->entry[i];
        if (!has_rows(e)) continue;
        DT_TRY(find_offsets(c, e, first));
        first = first ? first : e;
    }
    c->even = is_even(c);
    return NULL;
}

/* ---- types ---- */

dt_type dt_step_type(const dt_step_call *c, const dt_value_entry *e) {
    dt_type t = dt_entry_local(e, c->each && e->per_replica ? c->each->replica : 0)->type;

    if (has_rows(e) && !c->each && c->sizing != DT_SIZES_EXACT) t.dim[0] = DT_BATCH;
    return t;
}

void dt_step_sign(const dt_step_call *c, dt_str *out) {
    for (int i = 0; c->args && i < c->args->n; i++) {
        const dt_value_entry *e = &c->args->entry[i];
        dt_type t = dt_step_type(c, e);
        dt_str_printf(out, "%zu:%s%s", strlen(e->name), e->name, e->per_replica ? "*" : "");
        dt_type_print(&t, out);
        dt_str_puts(out, ",");
    }
    if (c->sizing == DT_SIZES_TOTAL)
        dt_str_printf(out, "%d rows", c->offsets[c->strategy->replicas]);
}

/* ---- values ---- */

/* Returns the type of all replicas' values joined. */
static dt_type gathered_type(const dt_step_call *c, const dt_value_entry *e) {
    dt_type t = dt_step_type(c, e);

    if (!e->per_replica) return t;
    if (!dt_type_has_batch(&t)) return dt_stack_type(c->strategy->replicas, &t);
    t.dim[0] = c->offsets[c->strategy->replicas];
    return t;
}

dt_status *dt_step_argument(const dt_step_call *c, const dt_value_entry *e, dt_view *out,
                            void **owned) {
    /* the values are already one array */
    bool together = e->whole && (!e->per_replica || e->spread != DT_UNIFORM);
    int64_t at = 0;

    *owned = NULL;
    *out = (dt_view){.type = gathered_type(c, e)};
    if (together || !e->per_replica) {
        out->data = together ? e->whole->data : e->local[0]->data;
        return NULL;
    }
    *owned = out->data = dt_try_alloc((size_t)dt_type_bytes(&out->type) + 64);
    if (!*owned)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: argument '%s' needs %lld bytes",
                       e->name, (long long)dt_type_bytes(&out->type));
    for (int r = 0; r < c->strategy->replicas; r++) {
        const dt_tensor *t = dt_entry_local(e, r);
        memcpy((char *)*owned + at, t->data, (size_t)dt_type_bytes(&t->type));
        at += dt_type_bytes(&t->type);
    }
    return NULL;
}
