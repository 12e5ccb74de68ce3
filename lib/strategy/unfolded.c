/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a step that cannot be made one graph for all replicas, replica by replica. The interpreter
 * executes the step with each replica's own rows. The results are laid out as those of
 * other steps.
 */
#include "strategy/compiled.h"

#include <stdlib.h>
#include <string.h>

static int64_t row_bytes(const dt_type *t) {
    int64_t n = (int64_t)dt_dtype_size(t->dtype);
    for (int d = 1; d < t->rank; d++) n *= t->dim[d];
    return n;
}

/* Returns the part of an argument that replica r gets. */
static dt_view part_of(const dt_view *whole, dt_replication spread, const int32_t *offsets, int r) {
    dt_view v = *whole;

    if (spread == DT_UNIFORM) return v;
    v.data = (char *)v.data + (spread == DT_ROWS ? offsets[r] : r) * row_bytes(&v.type);
    if (spread == DT_ROWS) {
        v.type.dim[0] = offsets[r + 1] - offsets[r];
    } else {
        memmove(v.type.dim, v.type.dim + 1, sizeof v.type.dim - sizeof *v.type.dim);
        v.type.dim[--v.type.rank] = 0;
    }
    return v;
}

/* Returns the type of a result with the rows of all replicas. */
static dt_type joined_type(const dt_compiled *c, const dt_view *first, dt_replication spread,
                           int64_t rows) {
    dt_type t = first->type;

    if (spread == DT_ROWS) {
        t.dim[0] = rows;
    } else if (spread == DT_STACKED) {
        memmove(t.dim + 1, t.dim, sizeof t.dim - sizeof *t.dim);
        t.dim[0] = c->strategy->replicas;
        t.rank++;
    }
    return t;
}

static dt_status *join_result(dt_compiled *c, const dt_interpretation *in, int i, dt_view *out) {
    const dt_view *first = &in->result[i];
    int64_t rows = 0, at = 0;
    int parts = c->result[i] == DT_UNIFORM ? 1 : in->replicas;

    for (int r = 0; r < in->replicas; r++)
        rows += first->type.rank ? in->result[r * in->n_results + i].type.dim[0] : 0;
    out->type = joined_type(c, first, c->result[i], rows);
    free(c->joined[i]);
    c->joined[i] = out->data = dt_try_alloc((size_t)dt_type_bytes(&out->type) + 64);
    if (!out->data)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: a step's result needs %lld bytes",
                       (long long)dt_type_bytes(&out->type));
    for (int r = 0; r < parts; r++) {
        const dt_view *v = &in->result[r * in->n_results + i];
        memcpy((char *)out->data + at, v->data, (size_t)dt_type_bytes(&v->type));
        at += dt_type_bytes(&v->type);
    }
    return NULL;
}

static dt_status *take_results(dt_compiled *c, const dt_interpretation *in, dt_view *result) {
    if (!c->joined) c->joined = dt_alloc((size_t)(c->step->n_results + 1) * sizeof *c->joined);
    for (int i = 0; i < in->n_results; i++) DT_TRY(join_result(c, in, i, &result[i]));
    for (int i = 0; i < in->n_states; i++)
        if (in->update[i].data)
            memcpy(dt_host_edit(c->step->state[i].variable), in->update[i].data,
                   (size_t)dt_type_bytes(&in->update[i].type));
    return NULL;
}

dt_status *dt_unfolded_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) {
    int replicas = c->strategy->replicas, n = c->step->n_args;
    DT_LOCAL dt_view *parts =
        dt_alloc(dt_size_mul((size_t)replicas, (size_t)(n + 1) * sizeof *parts));
    DT_LOCAL int64_t *batch = dt_alloc(dt_size_mul((size_t)replicas, sizeof *batch));
    dt_interpretation in = {0};
    dt_refusal refusal = {0};
    const dt_env env = {.replicas = replicas, .refusal = &refusal};

    for (int r = 0; r < replicas; r++) {
        batch[r] = offsets[r + 1] - offsets[r];
        for (int i = 0; i < n; i++) parts[r * n + i] = part_of(&arg[i], c->arg[i], offsets, r);
    }
    dt_status *s = dt_interpret(c->alone ? c->alone : c->step, &env, replicas, batch, parts, &in);
    if (!s) s = dt_refusal_status(&refusal);
    if (!s) s = take_results(c, &in, result);
    dt_interpretation_release(&in);
    return s;
}
