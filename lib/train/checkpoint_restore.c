/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restoring the checkpoint of a custom loop. Everything is read and checked first, tensors into
 * separate memory, positions into new iterators. After that nothing can fail, and all objects
 * change together. Only the state of optimizers that have made no update is created before
 * (prepare_optimizers).
 */
#include <stdlib.h>
#include <string.h>

#include "format/contents.h"
#include "strategy/variable.h"
#include "train/checkpoint.h"

typedef struct restoring {
    dt_checkpoint *c;
    dt_arena *arena;
    dt_saved saved;
    dt_loop loop;
    dt_bound bound[DT_BOUND_FILES];
    /* The tensors read so far. They become values of variables only after everything could be
     * read. */
    dt_arrays read[DT_BOUND_FILES];
    /* [c->n] for each tracked iterator or data set: an iterator at the position of the
     * checkpoint */
    dt_iterator **resumed;
} restoring;

static dt_status *open_saved(restoring *r, const char *path) {
    dt_status *s = dt_saved_open(&r->saved, path);
    if (s && dt_is_run(path))
        return dt_suggest(
            s, "it is a run's directory: ask dt_checkpoint_latest for the newest checkpoint in it");
    DT_TRY(s);
    if (!r->saved.state.loop)
        return dt_suggest(
            dt_fail(DT_E_CHECKPOINT_PARTS, NULL, "%s: was not saved by dt_checkpoint_save", path),
            "use dt_model_load for the model in it");
    return dt_loop_read(&r->saved, r->arena, &r->loop);
}

static dt_status *misses(const restoring *r, const char *who, const char *verb, const char *word,
                         const char *name) {
    dt_local_str shown = {0};
    dt_str_escaped(&shown, name, strlen(name), 256);
    return dt_fail(DT_E_CHECKPOINT_PARTS, NULL, "%s: %s %s %s '%s'", r->saved.path, who, verb, word,
                   dt_str_text(&shown));
}

/* Lists the names of one kind that a save would write now. Returns their number. */
static int list_names(const restoring *r, dt_tracked_kind kind, const char **names) {
    dt_tracked_optimizer *o;
    int n = 0;
    if (kind == DT_AN_OPTIMIZER) {
        n = dt_tracked_optimizers(r->c, r->arena, &o);
        for (int i = 0; i < n; i++) names[i] = o[i].name;
        return n;
    }
    for (int i = 0; i < r->c->n; i++)
        if (r->c->item[i].kind == kind) names[n++] = r->c->item[i].name;
    return n;
}

/* Reports all names that only the checkpoint or only the program has. */
static dt_status *check_names(const restoring *r) {
    const char **names = dt_arena_array(r->arena, const char *, r->c->n + 1);
    dt_status *all = NULL;
    for (int kind = 0; kind < DT_TRACKED_KINDS; kind++) {
        const int n = list_names(r, kind, names);
        for (int i = 0; i < n; i++)
            if (!dt_loop_find(&r->loop, kind, names[i]))
                dt_status_append(
                    &all, misses(r, "the checkpoint", "has no", dt_tracked_word(kind), names[i]));
        for (int k = 0; k < r->loop.n[kind]; k++) {
            bool has = false;
            for (int i = 0; i < n; i++) has |= strcmp(names[i], r->loop.item[kind][k].name) == 0;
            if (!has)
                dt_status_append(&all, misses(r, "the program", "added no", dt_tracked_word(kind),
                                              r->loop.item[kind][k].name));
        }
    }
    return all;
}

/* Creates the state of optimizers that have not made an update yet, if they have state in the
 * checkpoint: for the same variables. */
static dt_status *prepare_optimizers(const restoring *r) {
    dt_tracked_optimizer *o;
    const int n = dt_tracked_optimizers(r->c, r->arena, &o);
    for (int i = 0; i < n; i++) {
        const dt_loop_item *item = dt_loop_find(&r->loop, DT_AN_OPTIMIZER, o[i].name);
        dt_variables list = {.v = dt_arena_array(r->arena, dt_variable *, item->variables.n + 1)};
        for (int k = 0; k < item->variables.n; k++) {
            dt_variable *v = dt_tracked_find(r->c, item->variables.v[k], r->arena);
            if (!v)
                return misses(r, dt_arena_printf(r->arena, "optimizer '%s'", o[i].name),
                              "updated, and the program did not add, the", "variable",
                              item->variables.v[k]);
            list.v[list.n++] = v;
        }
        if (item->built) DT_TRY(dt_optimizer_prepare(o[i].optimizer, &list));
    }
    return NULL;
}

/* Lists the tensors to read: all but those of optimizers that have no state in the checkpoint and
 * will be reset. */
static dt_status *list_tensors(restoring *r) {
    int64_t *copies = dt_arena_array(r->arena, int64_t, r->c->n + 1);
    for (int i = 0, n = 0; i < r->c->n; i++)
        if (r->c->item[i].kind == DT_A_VARIABLE)
            copies[n++] = dt_loop_find(&r->loop, DT_A_VARIABLE, r->c->item[i].name)->number;
    DT_TRY(dt_bound_list(r->c, r->arena, copies, r->bound));
    dt_bound *slots = &r->bound[DT_BOUND_SLOTS];
    dt_tracked_optimizer *o;
    const int n = dt_tracked_optimizers(r->c, r->arena, &o);
    for (int i = 0; i < n; i++) {
        int n_own, kept = 0;
        dt_variable **own = dt_optimizer_variables(o[i].optimizer, r->arena, &n_own);
        if (dt_loop_find(&r->loop, DT_AN_OPTIMIZER, o[i].name)->built) continue;
        for (int k = 0; k < slots->n; k++) {
            bool unused = false;
            for (int j = 0; j < n_own; j++) unused |= slots->variable[k] == own[j];
            if (unused) continue;
            slots->array[kept] = slots->array[k];
            slots->variable[kept] = slots->variable[k];
            slots->copies[kept++] = slots->copies[k];
        }
        slots->n = kept;
    }
    return NULL;
}

static dt_status *make_room(const dt_bound *b, dt_arena *arena, dt_arrays *out) {
    dt_named_view *array = dt_arena_array(arena, dt_named_view, b->n + 1);
    *out = (dt_arrays){.array = array};
    for (int i = 0; i < b->n; i++) {
        const int64_t bytes = dt_type_bytes(&b->array[i].type);
        array[i] = b->array[i];
        array[i].data =
            bytes == INT64_MAX ? NULL : dt_try_alloc_dense((size_t)(bytes > 0 ? bytes : 1));
        if (!array[i].data)
            return dt_fail(DT_E_NO_MEMORY, NULL,
                           "no memory to read the tensor '%s' of a checkpoint", b->array[i].name);
        out->n++;
    }
    return NULL;
}

static dt_status *check_weights(const restoring *r) {
    const dt_digest found = dt_hash_end(dt_weights_hash(&r->read[DT_BOUND_WEIGHTS], r->arena));
    return dt_weights_compare(&r->saved, &found);
}

static dt_saved_copies saved_copies(const restoring *r, int f, int i) {
    const dt_bound *b = &r->bound[f];
    const dt_loop_item *item =
        f == DT_BOUND_VARIABLES ? dt_loop_find(&r->loop, DT_A_VARIABLE, b->array[i].name) : NULL;
    return (dt_saved_copies){r->read[f].array[i].data, b->copies[i],
                             item ? item->aggregation : DT_AGGREGATE_NONE};
}

static dt_status *prepare_variable(const restoring *r, int i) {
    const dt_bound *b = &r->bound[DT_BOUND_VARIABLES];
    const dt_saved_copies from = saved_copies(r, DT_BOUND_VARIABLES, i);
    return dt_note(dt_variable_prepare_restore(b->variable[i], &from), "the variable '%s' of %s",
                   b->array[i].name, r->saved.path);
}

static dt_status *read_tensors(restoring *r) {
    const dt_bound *variables = &r->bound[DT_BOUND_VARIABLES];
    for (int f = 0; f < DT_BOUND_FILES; f++) DT_TRY(make_room(&r->bound[f], r->arena, &r->read[f]));
    DT_TRY(dt_saved_load(&r->saved, &r->read[DT_BOUND_WEIGHTS], &r->read[DT_BOUND_SLOTS]));
    DT_TRY(dt_saved_load_variables(&r->saved, &r->read[DT_BOUND_VARIABLES]));
    DT_TRY(check_weights(r));
    for (int i = 0; i < variables->n; i++) DT_TRY(prepare_variable(r, i));
    return NULL;
}

static dt_status *open_positions(restoring *r) {
    r->resumed = dt_arena_array(r->arena, dt_iterator *, r->c->n + 1);
    for (int i = 0; i < r->c->n; i++) {
        const dt_tracked *t = &r->c->item[i];
        const dt_loop_item *item = dt_loop_find(&r->loop, t->kind, t->name);
        dt_status *s = t->kind == DT_AN_ITERATOR
                           ? dt_iterator_open_at(&r->resumed[i], t->object, &item->position)
                       : t->kind == DT_A_DATA_SET
                           ? dt_dist_dataset_open_at(&r->resumed[i], t->object, &item->position)
                           : NULL;
        DT_TRY(dt_note(s, "in the %s '%s', restored from %s", dt_tracked_word(t->kind), t->name,
                       r->saved.path));
    }
    return NULL;
}

static dt_status *prepare(restoring *r, const char *path) {
    DT_TRY(open_saved(r, path));
    DT_TRY(check_names(r));
    DT_TRY(prepare_optimizers(r));
    DT_TRY(list_tensors(r));
    DT_TRY(read_tensors(r));
    return open_positions(r);
}

static void reset_optimizers(const restoring *r) {
    dt_tracked_optimizer *o;
    const int n = dt_tracked_optimizers(r->c, r->arena, &o);
    for (int i = 0; i < n; i++)
        if (!dt_loop_find(&r->loop, DT_AN_OPTIMIZER, o[i].name)->built)
            dt_optimizer_reset(o[i].optimizer);
}

/* Changes all objects; nothing can fail here. Data sets come before iterators: if the checkpoint
 * also has an iterator over a data set, the iterator's own position counts. */
static void commit(const restoring *r) {
    reset_optimizers(r);
    for (int f = 0; f < DT_BOUND_FILES; f++)
        for (int i = 0; i < r->bound[f].n; i++) {
            const dt_saved_copies from = saved_copies(r, f, i);
            dt_variable_restore(r->bound[f].variable[i], &from);
        }
    for (int i = 0; i < r->c->n; i++) {
        const dt_tracked *t = &r->c->item[i];
        if (t->kind == DT_A_COUNTER)
            *(int64_t *)t->object = dt_loop_find(&r->loop, DT_A_COUNTER, t->name)->number;
        else if (t->kind == DT_A_DATA_SET) dt_dist_dataset_resume(t->object, r->resumed[i]);
    }
    for (int i = 0; i < r->c->n; i++)
        if (r->c->item[i].kind == DT_AN_ITERATOR)
            dt_iterator_resume(r->c->item[i].object, r->resumed[i]);
    dt_checkpoint_stand_on(r->c, r->saved.path, &r->saved.state);
}

dt_status *dt_checkpoint_restore(dt_checkpoint *c, const char *path) {
    DT_LIVE(c);
    DT_TRY(dt_checkpoint_check_call(c, "dt_checkpoint_restore"));
    if (!path) return NULL;
    restoring r = {.c = c, .arena = dt_arena_create()};
    dt_status *s = prepare(&r, path);
    if (!s) commit(&r);
    for (int i = 0; s && r.resumed && i < c->n; i++) dt_iterator_close(r.resumed[i]);
    for (int f = 0; f < DT_BOUND_FILES; f++)
        for (int i = 0; i < r.read[f].n; i++) free(r.read[f].array[i].data);
    dt_saved_release(&r.saved);
    dt_arena_destroy(r.arena);
    return s;
}
