/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a custom loop's checkpoint and their names: see checkpoint.h. */
#include <string.h>

#include "format/contents.h"
#include "train/checkpoint.h"

/* ---- names ---- */

static int count(const dt_checkpoint *c, dt_tracked_kind kind) {
    int n = 0;
    for (int i = 0; i < c->n; i++) n += c->item[i].kind == kind;
    return n;
}

int dt_tracked_optimizers(const dt_checkpoint *c, dt_arena *arena, dt_tracked_optimizer **out) {
    int n = 0;
    *out = dt_arena_array(arena, dt_tracked_optimizer, c->n + 1);
    for (int i = 0; i < c->n; i++) {
        const dt_tracked *t = &c->item[i];
        if (t->kind == DT_AN_OPTIMIZER) (*out)[n++] = (dt_tracked_optimizer){t->name, t->object};
        else if (t->kind == DT_A_MODEL && ((dt_model *)t->object)->optimizer)
            (*out)[n++] = (dt_tracked_optimizer){dt_arena_printf(arena, "%s/optimizer", t->name),
                                                 ((dt_model *)t->object)->optimizer};
    }
    return n;
}

/* A single model's weights have the same names as in a run. */
static const char *weight_path(const dt_checkpoint *c, const dt_tracked *model,
                               const dt_variable *v, dt_arena *arena) {
    return count(c, DT_A_MODEL) == 1 ? v->path
                                     : dt_arena_printf(arena, "%s/%s", model->name, v->path);
}

const char *dt_tracked_path(const dt_checkpoint *c, const dt_variable *v, dt_arena *arena) {
    for (int i = 0; i < c->n; i++) {
        const dt_tracked *t = &c->item[i];
        const dt_model *m = t->kind == DT_A_MODEL ? t->object : NULL;
        for (int k = 0; m && k < m->n_weights; k++)
            if (m->weight[k] == v) return weight_path(c, t, v, arena);
        if (t->kind == DT_A_VARIABLE && t->object == v) return t->name;
    }
    return NULL;
}

dt_variable *dt_tracked_find(const dt_checkpoint *c, const char *path, dt_arena *arena) {
    for (int i = 0; i < c->n; i++) {
        const dt_tracked *t = &c->item[i];
        const dt_model *m = t->kind == DT_A_MODEL ? t->object : NULL;
        for (int k = 0; m && k < m->n_weights; k++)
            if (strcmp(weight_path(c, t, m->weight[k], arena), path) == 0) return m->weight[k];
        if (t->kind == DT_A_VARIABLE && strcmp(t->name, path) == 0) return t->object;
    }
    return NULL;
}

/* ---- lists ---- */

static dt_type stacked(const dt_variable *v, int64_t copies) {
    dt_type t = v->type;
    if (copies == 1) return t;
    memmove(t.dim + 1, t.dim, (DT_MAX_RANK - 1) * sizeof *t.dim);
    t.dim[0] = copies;
    t.rank++;
    return t;
}

static void make_room(dt_bound *b, dt_arena *arena, int n) {
    *b = (dt_bound){.array = dt_arena_array(arena, dt_named_view, n + 1),
                    .variable = dt_arena_array(arena, dt_variable *, n + 1),
                    .copies = dt_arena_array(arena, int64_t, n + 1)};
}

static void bind(dt_bound *b, const char *name, dt_variable *v, int64_t copies) {
    b->array[b->n] = (dt_named_view){.name = name, .type = stacked(v, copies)};
    b->variable[b->n] = v;
    b->copies[b->n++] = copies;
}

static void bind_weights(const dt_checkpoint *c, dt_arena *arena, dt_bound *out) {
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += c->item[i].kind == DT_A_MODEL ? ((const dt_model *)c->item[i].object)->n_weights : 0;
    make_room(out, arena, n);
    for (int i = 0; i < c->n; i++) {
        const dt_model *m = c->item[i].kind == DT_A_MODEL ? c->item[i].object : NULL;
        for (int k = 0; m && k < m->n_weights; k++)
            bind(out, weight_path(c, &c->item[i], m->weight[k], arena), m->weight[k], 1);
    }
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static dt_status *slot_name(const dt_checkpoint *c, const char *head, const dt_tracked_optimizer *o,
                            const dt_variable *slot, dt_arena *arena, const char **out) {
    if (!slot->of) {
        *out = dt_arena_printf(arena, "%s/%s", head, last_part(slot->path));
        return NULL;
    }
    const char *of = dt_tracked_path(c, slot->of, arena);
    if (!of)
        return dt_suggest(
            dt_fail(DT_E_CHECKPOINT_PARTS, NULL,
                    "optimizer '%s' updates the variable '%s', which is not in the checkpoint",
                    o->name, slot->of->path),
            "add it, or the model that it belongs to");
    *out = dt_arena_printf(arena, "%s/%s/%s", head, of, last_part(slot->path));
    return NULL;
}

static dt_status *bind_slots(const dt_checkpoint *c, dt_arena *arena, dt_bound *out) {
    dt_tracked_optimizer *o;
    const int n_optimizers = dt_tracked_optimizers(c, arena, &o);
    int all = 0, n;
    for (int i = 0; i < n_optimizers; i++) {
        dt_optimizer_variables(o[i].optimizer, arena, &n);
        all += n;
    }
    make_room(out, arena, all);
    for (int i = 0; i < n_optimizers; i++) {
        dt_variable **v = dt_optimizer_variables(o[i].optimizer, arena, &n);
        for (int k = 0; k < n; k++) {
            const char *name = NULL;
            DT_TRY(slot_name(c, n_optimizers == 1 ? "optimizer" : o[i].name, &o[i], v[k], arena,
                             &name));
            bind(out, name, v[k], 1);
        }
    }
    return NULL;
}

static dt_status *bind_variables(const dt_checkpoint *c, dt_arena *arena, const int64_t *n_copies,
                                 dt_bound *out) {
    make_room(out, arena, count(c, DT_A_VARIABLE));
    for (int i = 0, k = 0; i < c->n; i++) {
        dt_variable *v = c->item[i].object;
        if (c->item[i].kind != DT_A_VARIABLE) continue;
        const int64_t copies = n_copies ? n_copies[k++] : v->stack ? v->stack->type.dim[0] : 1;
        if (copies > 1 && v->type.rank == DT_MAX_RANK)
            return dt_fail(
                DT_E_CHECKPOINT_PARTS, NULL,
                "variable '%s' has %d dimensions: too many to be saved with copies for replicas",
                c->item[i].name, v->type.rank);
        bind(out, c->item[i].name, v, copies);
    }
    return NULL;
}

dt_status *dt_bound_list(const dt_checkpoint *c, dt_arena *arena, const int64_t *n_copies,
                         dt_bound out[DT_BOUND_FILES]) {
    bind_weights(c, arena, &out[DT_BOUND_WEIGHTS]);
    DT_TRY(bind_slots(c, arena, &out[DT_BOUND_SLOTS]));
    return bind_variables(c, arena, n_copies, &out[DT_BOUND_VARIABLES]);
}

dt_arrays dt_bound_arrays(const dt_bound *b) { return (dt_arrays){.n = b->n, .array = b->array}; }
