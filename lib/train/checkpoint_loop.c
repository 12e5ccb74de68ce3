/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checkpoint of a custom loop has: the list of its tensors and, in state.json, the names
 * of all objects and the state of each.
 *
 *     {"models": {"model": true},
 *      "optimizers": {"adam": ["dense/kernel", "dense/bias"], "unused": null},
 *      "variables": {"total": [8, "SUM"]}, "counters": {"step": 120}, "iterators": {},
 *      "data": {"train": {"epoch": 2, "steps": 20, "ended": false, "last": "8c1e..."}}}
 *
 * An optimizer has the list of the variables that it keeps state for, in the order in which it was
 * given them; null: it has no state yet. A variable has the number of its copies and, if replicas
 * have copies of their own, the aggregation that combines them into one.
 */
#include <string.h>

#include "base/json.h"
#include "file/json_read.h"
#include "format/contents.h"
#include "strategy/variable.h"
#include "train/checkpoint.h"

/* ---- tracked optimizers, and names ---- */

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

/* Returns the name of a model's weight in this checkpoint: its path, as in a run, if the checkpoint
 * has a single model, else "MODEL/PATH", in `arena`. */
static const char *weight_path(const dt_checkpoint *c, const dt_tracked *model,
                               const dt_variable *v, dt_arena *arena) {
    return count(c, DT_A_MODEL) == 1 ? v->path
                                     : dt_arena_printf(arena, "%s/%s", model->name, v->path);
}

/* Returns the name of a variable in this checkpoint, in `arena`; NULL: the checkpoint does not have
 * it. dt_tracked_find is the inverse. */
static const char *tracked_path(const dt_checkpoint *c, const dt_variable *v, dt_arena *arena) {
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
    const char *of = tracked_path(c, slot->of, arena);
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

static const char *const keys[] = {"models",   "optimizers", "variables",
                                   "counters", "iterators",  "data"};

/* ---- writing ---- */

static void put_optimizer(const dt_checkpoint *c, const dt_tracked_optimizer *o, dt_arena *arena,
                          dt_json *j) {
    if (!o->optimizer->iteration) {
        dt_json_null(j, o->name);
        return;
    }
    dt_json_open(j, o->name, '[');
    for (int i = 0; i < o->optimizer->n; i++)
        dt_json_string(j, NULL, tracked_path(c, o->optimizer->slot[i].of, arena));
    dt_json_close(j, ']');
}

static void put_position(const char *name, const dt_position *p, dt_json *j) {
    dt_json_open(j, name, '{');
    dt_json_int(j, "epoch", p->epoch);
    dt_json_int(j, "steps", p->steps);
    dt_json_bool(j, "ended", p->ended);
    dt_json_string(j, "last", *p->last.hex ? p->last.hex : NULL);
    dt_json_close(j, '}');
}

static void put_variable(const char *name, const dt_variable *v, dt_json *j) {
    if (!v->stack) {
        dt_json_int(j, name, 1);
        return;
    }
    dt_json_open(j, name, '[');
    dt_json_int(j, NULL, v->stack->type.dim[0]);
    dt_json_string(j, NULL, dt_aggregation_name(v->aggregation));
    dt_json_close(j, ']');
}

static void put_item(const dt_tracked *t, dt_json *j) {
    dt_position p;
    switch (t->kind) {
    case DT_A_VARIABLE: put_variable(t->name, t->object, j); break;
    case DT_A_COUNTER: dt_json_int(j, t->name, *(const int64_t *)t->object); break;
    case DT_AN_ITERATOR:
        p = dt_iterator_position(t->object);
        put_position(t->name, &p, j);
        break;
    case DT_A_DATA_SET:
        p = dt_dist_dataset_position(t->object);
        put_position(t->name, &p, j);
        break;
    default: dt_json_bool(j, t->name, true);
    }
}

const char *dt_loop_print(const dt_checkpoint *c, dt_arena *arena) {
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_tracked_optimizer *o;
    const int n = dt_tracked_optimizers(c, arena, &o);
    dt_json_open(&j, NULL, '{');
    for (int k = 0; k < DT_TRACKED_KINDS; k++) {
        dt_json_open(&j, keys[k], '{');
        for (int i = 0; k != DT_AN_OPTIMIZER && i < c->n; i++)
            if ((int)c->item[i].kind == k) put_item(&c->item[i], &j);
        for (int i = 0; k == DT_AN_OPTIMIZER && i < n; i++) put_optimizer(c, &o[i], arena, &j);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, '}');
    return dt_arena_take(arena, &out);
}

/* ---- reading ---- */

static bool get_count(const json_t *value, int64_t most, int64_t *out) {
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= most;
}

/* Reads a variable's entry, [COPIES, AGGREGATION], into *out. Returns false if it is not valid. The
 * number of copies may stand alone, without a list: as 1 for a variable that all replicas share,
 * and in all checkpoints of dtrain 0.1. */
static bool get_variable(const json_t *value, dt_loop_item *out) {
    const bool pair = json_is_array(value) && json_array_size(value) == 2;
    const char *name = json_string_value(pair ? json_array_get(value, 1) : NULL);
    out->aggregation = DT_AGGREGATE_NONE;
    while (name && out->aggregation <= DT_AGGREGATE_ONLY_FIRST_REPLICA &&
           strcmp(name, dt_aggregation_name(out->aggregation)) != 0)
        out->aggregation++;
    return get_count(pair ? json_array_get(value, 0) : value, DT_MAX_REPLICAS, &out->number) &&
           out->number > 0 && (name || !pair) &&
           out->aggregation <= DT_AGGREGATE_ONLY_FIRST_REPLICA;
}

static bool get_position(const json_t *value, dt_position *p) {
    const json_t *last = json_object_get(value, "last"), *ended = json_object_get(value, "ended");
    const char *hex = json_string_value(last);
    p->ended = json_is_true(ended);
    if (hex && (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)) return false;
    if (hex) memcpy(p->last.hex, hex, 65);
    return get_count(json_object_get(value, "epoch"), INT32_MAX, &p->epoch) &&
           get_count(json_object_get(value, "steps"), INT64_MAX - 1, &p->steps) &&
           json_is_boolean(ended) && (hex || json_is_null(last));
}

static bool get_item(dt_tracked_kind kind, const json_t *value, dt_arena *arena,
                     dt_loop_item *out) {
    switch (kind) {
    case DT_AN_OPTIMIZER:
        out->built = !json_is_null(value);
        return !out->built || dt_json_texts(arena, value, &out->variables);
    case DT_A_VARIABLE: return get_variable(value, out);
    case DT_A_COUNTER: out->number = json_integer_value(value); return json_is_integer(value);
    case DT_AN_ITERATOR:
    case DT_A_DATA_SET: return get_position(value, &out->position);
    default: return json_is_true(value);
    }
}

static bool get_kind(dt_tracked_kind kind, json_t *object, dt_arena *arena, dt_loop *out) {
    const char *name;
    json_t *value;
    bool ok = json_is_object(object);
    out->item[kind] = dt_arena_array(arena, dt_loop_item, json_object_size(object) + 1);
    json_object_foreach(object, name, value) {
        dt_loop_item *item = &out->item[kind][out->n[kind]++];
        item->name = dt_arena_strdup(arena, name);
        ok = ok && get_item(kind, value, arena, item);
    }
    return ok;
}

dt_status *dt_loop_read(const dt_saved *saved, dt_arena *arena, dt_loop *out) {
    json_t *root = NULL;
    bool ok = true;
    const dt_json_text text = {.path = saved->path,
                               .part = "'loop' of state.json",
                               .member = "kind",
                               .text = saved->state.loop,
                               .size = strlen(saved->state.loop),
                               .fault = DT_E_CHECKPOINT};
    *out = (dt_loop){0};
    DT_TRY(dt_json_parse(&text, &root));
    for (int k = 0; k < DT_TRACKED_KINDS; k++)
        ok = ok && get_kind((dt_tracked_kind)k, json_object_get(root, keys[k]), arena, out);
    json_decref(root);
    return ok ? NULL
              : dt_fail(DT_E_CHECKPOINT, NULL,
                        "%s/state.json: 'loop' is not as dt_checkpoint_save writes it",
                        saved->path);
}

const dt_loop_item *dt_loop_find(const dt_loop *l, dt_tracked_kind kind, const char *name) {
    for (int i = 0; i < l->n[kind]; i++)
        if (strcmp(l->item[kind][i].name, name) == 0) return &l->item[kind][i];
    return NULL;
}
