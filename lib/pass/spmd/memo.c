/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers how ops were split. A model of a hundred equal blocks has each node a hundred times.
 * How an op is split depends on the op with its attributes and types, and on the layouts of its
 * operands. So nodes are sorted into kinds, and the choice made for one node is used for all others
 * of its kind with the same layouts.
 *
 *     block_0/dense   dot_general  bf16[B,64], bf16[64,256]   kind 7   [{0}, -] x [-, {1}]  chosen
 *     block_1/dense   dot_general  bf16[B,64], bf16[64,256]   kind 7   [{0}, -] x [-, {1}]  known
 */
#include "pass/spmd/spmd_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"

/* All inputs of dt_spmd_weigh that may differ between nodes. The struct has no padding, because
 * such structs are compared with memcmp. */
typedef struct question {
    int32_t kind;
    dt_mesh_axes only;
    uint32_t fixed, free;
    dt_layout out, in[DT_MAX_IN]; /* layouts of the result and of the inputs */
} question;

typedef struct answer {
    question asked;
    dt_mesh_axes factor[DT_MAX_FACTORS];
} answer;

struct dt_spmd_memo {
    int n_kinds, cap_kinds, n_answers, cap_answers;
    int *model; /* [kinds] the first node of each kind */
    answer *answer;
    dt_hash_index kinds, answers;
};

/* ---- kinds ---- */

static uint64_t hash_types(const dt_graph *g, const dt_node *n) {
    uint64_t h = dt_hash_bytes((uint64_t)(uintptr_t)n->op, &n->type, sizeof n->type);
    h = dt_hash_bytes(h, n->attr, n->op->attr.size);
    for (int k = 0; k < n->n_in; k++) h = dt_hash_bytes(h, &g->node[n->in[k]].type, sizeof n->type);
    return h;
}

static bool are_alike(const dt_graph *g, const dt_node *a, const dt_node *b) {
    if (a->op != b->op || !dt_type_equal(&a->type, &b->type) ||
        (a->op->attr.size && memcmp(a->attr, b->attr, a->op->attr.size) != 0))
        return false;
    for (int k = 0; k < a->n_in; k++)
        if (!dt_type_equal(&g->node[a->in[k]].type, &g->node[b->in[k]].type)) return false;
    return true;
}

static int kind_of(dt_spmd_memo *a, const dt_graph *g, int node) {
    const uint64_t hash = hash_types(g, &g->node[node]);
    for (int i = dt_hash_index_first(&a->kinds, hash); i >= 0; i = dt_hash_index_next(&a->kinds, i))
        if (are_alike(g, &g->node[a->model[i]], &g->node[node])) return i;
    dt_hash_index_add(&a->kinds, hash);
    DT_GROW(a->model, a->cap_kinds, a->n_kinds + 1);
    a->model[a->n_kinds] = node;
    return a->n_kinds++;
}

/* ---- choices that were made before ---- */

static question question_of(const dt_spmd_work *w, int i) {
    const dt_node *n = &w->g->node[i];
    question q = {.kind = kind_of(w->alike, w->g, i),
                  .only = w->only[i],
                  .fixed = w->fixed[i],
                  .free = w->free[i],
                  .out = w->layout[i]};
    for (int k = 0; k < n->n_in; k++) q.in[k] = w->made[n->in[k]].layout;
    return q;
}

static const answer *answer_to(const dt_spmd_memo *a, const question *q, uint64_t hash) {
    for (int i = dt_hash_index_first(&a->answers, hash); i >= 0;
         i = dt_hash_index_next(&a->answers, i))
        if (memcmp(&a->answer[i].asked, q, sizeof *q) == 0) return &a->answer[i];
    return NULL;
}

void dt_spmd_choose(const dt_spmd_work *w, int i, dt_mesh_axes *factor) {
    dt_spmd_memo *a = w->alike;
    const question q = question_of(w, i);
    const uint64_t hash = dt_hash_bytes(0, &q, sizeof q);
    const answer *known = answer_to(a, &q, hash);
    if (!known) {
        answer found = {.asked = q};
        dt_spmd_weigh(w, i, found.factor);
        dt_hash_index_add(&a->answers, hash);
        DT_GROW(a->answer, a->cap_answers, a->n_answers + 1);
        a->answer[a->n_answers] = found;
        known = &a->answer[a->n_answers++];
    }
    memcpy(factor, known->factor, sizeof known->factor);
}

dt_spmd_memo *dt_spmd_memo_create(void) { return dt_alloc(sizeof(dt_spmd_memo)); }

void dt_spmd_memo_destroy(dt_spmd_memo *a) {
    dt_hash_index_release(&a->kinds);
    dt_hash_index_release(&a->answers);
    free(a->model);
    free(a->answer);
    free(a);
}
