/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds keys of a job that have no effect on its model: rematerialization of values that no layer
 * has, sequence_parallel and collective_products where they divide nothing, and documents that no
 * layer separates. Such a job runs, so these are warnings, each with its location in the file.
 */
#include <string.h>

#include "job/partition.h"

typedef struct looker {
    const dt_job *j;
    dt_arena *arena;
    dt_texts *out;
} looker;

static void warn(const looker *k, const dt_location *at, const char *text) {
    const char *place = "";
    if (k->out->n == DT_MOST_IDLE_KEYS) return;
    if (at && at->source)
        place = dt_arena_printf(k->arena, "%s:%d:%d: ", at->source->name, at->line, at->col);
    k->out->v[k->out->n++] = dt_arena_printf(k->arena, "%s%s", place, text);
}

static bool has_kernel(const dt_model_spec *m, const char *layer) {
    for (int i = 0; i < m->n_weights; i++)
        if (dt_is_kernel_of(m->weight[i]->path, layer)) return true;
    return false;
}

/* Returns those bits of `values`, kinds of values to keep or offload, that the model really has. */
static unsigned values_in(const dt_model_spec *m, unsigned values) {
    unsigned has = values & DT_REMAT_LAYER_INPUT;
    if ((values & DT_REMAT_CONTEXT) && has_kernel(m, "query")) has |= DT_REMAT_CONTEXT;
    for (int i = 0; i < DT_REMAT_PRODUCTS; i++)
        if ((values & dt_remat_products[i].value) && has_kernel(m, dt_remat_products[i].layer))
            has |= dt_remat_products[i].value;
    return has;
}

static void look_at_list(const looker *k, const dt_tree *list, const char *key) {
    for (int i = 0; list && list->kind == DT_TREE_LIST && i < list->n; i++) {
        const char *name = list->item[i]->text;
        if (values_in(&k->j->model, dt_remat_values_of(name))) continue;
        warn(k, &list->item[i]->at,
             dt_arena_printf(k->arena,
                             "model.rematerialize: %s: no layer of the model has '%s', so it is "
                             "computed again",
                             key, name));
    }
}

static void look_at_policy(const looker *k) {
    const dt_rematerialize *r = &k->j->model.rematerialize;
    const dt_tree *t = dt_tree_get(dt_tree_get(k->j->tree, "model"), "rematerialize");
    if (!t || !r->on) return;
    if (t->kind == DT_TREE_MAP) {
        look_at_list(k, dt_tree_get(t, "save"), "save");
        look_at_list(k, dt_tree_get(t, "offload"), "offload");
    } else if ((r->save | r->offload) && !values_in(&k->j->model, r->save | r->offload)) {
        warn(k, &t->at,
             dt_arena_printf(k->arena,
                             "model.rematerialize: no layer of the model has the values that %s "
                             "keeps, so it is the same as full",
                             r->name));
    }
}

static int logical_of(const dt_job *j) {
    return j->strategy.assignment ? dt_device_assignment_logical_devices(j->strategy.assignment)
                                  : 1;
}

static void look_at_tensors(const looker *k, const dt_job_tensors *list, const dt_location *at) {
    const int logical = logical_of(k->j);
    const dt_job_tensor *odd = NULL;
    bool any = false;
    for (int i = 0; i < list->n; i++) {
        const dt_job_tensor *t = &list->v[i];
        if (!dt_job_divides_sequence(k->j, t->name) || t->type.rank != 3) continue;
        if (t->type.dim[1] % logical == 0) any = true;
        else if (!odd) odd = t;
    }
    if (odd)
        warn(k, at,
             dt_arena_printf(k->arena,
                             "partition.sequence_parallel: %lld steps of '%s' do not divide evenly "
                             "over %d logical devices, so they stay whole",
                             (long long)odd->type.dim[1], odd->name, logical));
    else if (!any)
        warn(k, at,
             "partition.sequence_parallel is without effect: no layer is a block of KerasHub, a "
             "normalization or an embedding of sequences");
}

static void look_at_sequences(const looker *k) {
    const dt_job_partition *p = k->j->partition;
    const dt_tree *t = dt_tree_get(k->j->tree, "partition");
    if (!p || !(p->sequence_parallel || p->collective_products)) return;
    const char *key = p->sequence_parallel ? "sequence_parallel" : "collective_products";
    const dt_location *at = dt_tree_value_at(t, key);
    if (logical_of(k->j) == 1) {
        warn(k, at,
             dt_arena_printf(k->arena,
                             "partition.%s is without effect: each replica has one logical device",
                             key));
        return;
    }
    dt_job_tensors list = {0};
    dt_status *bad = p->sequence_parallel ? dt_job_list_tensors(k->j, &list) : NULL;
    if (!bad && p->sequence_parallel) look_at_tensors(k, &list, at);
    /* an error is dropped here, since it is reported when the model is traced */
    dt_status_free(bad);
    dt_job_tensors_release(&list);
}

/* Whether the model has a layer whose kind ends with the text `end`. */
static bool has_kind(const dt_model_spec *m, const char *end) {
    for (int i = 0; i < m->n_layers; i++) {
        const char *kind = m->layer[i].row->kind.name;
        const size_t n = strlen(kind), size = strlen(end);
        if (n >= size && strcmp(kind + n - size, end) == 0) return true;
    }
    return false;
}

static void look_at_documents(const looker *k) {
    const dt_job *j = k->j;
    const dt_model_spec *m = &j->model;
    const dt_format *f = j->has_dataset ? j->dataset.format : NULL;
    if (!f || !f->documents) return;
    const dt_documents d = f->documents(j->dataset.format_args);
    if (d.masked && !has_kind(m, "Attention") && !has_kernel(m, "query"))
        warn(k, dt_tree_value_at(j->dataset.tree, "reset_attention_mask"),
             "dataset.reset_attention_mask is without effect: no layer of the model has attention");
    if (d.restarts && !has_kind(m, "PositionEmbedding"))
        warn(
            k, dt_tree_value_at(j->dataset.tree, "reset_position_ids"),
            "dataset.reset_position_ids is without effect: no layer of the model learns positions");
}

dt_texts dt_job_idle_keys(const dt_job *j, dt_arena *arena) {
    dt_texts out = {.v = dt_arena_array(arena, const char *, DT_MOST_IDLE_KEYS)};
    const looker k = {j, arena, &out};
    if (!j->has_model) return out;
    look_at_policy(&k);
    look_at_sequences(&k);
    look_at_documents(&k);
    return out;
}
