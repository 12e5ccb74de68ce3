/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses how an op is split. Propagation gives its operands layouts. If these disagree, there are
 * several ways to split the op, and the cost of each is estimated: the bytes to convert the inputs
 * to the layouts that it needs, the bytes to convert the result, and each device's share of the
 * work. One way is always possible: every device has all inputs and computes the whole result.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "pass/spmd/spmd_impl.h"

/* Assumed rates of a device: in the time in which a link moves one byte it computes 200 flops, or
 * reads 16 bytes of its memory. */
static const double flops_per_byte = 200, memory_per_byte = 16;

enum { MOST_WAYS = DT_MAX_IN + 4 };

typedef struct way {
    dt_mesh_axes factor[DT_MAX_FACTORS];
} way;

/* ---- partial sums that an op can pass on ---- */

static bool hands_on(const dt_node *n) {
    bool is_sum = dt_reduce_kind_of(n) == DT_REDUCE_SUM;
    bool is_float = dt_dtype_is_float(n->type.dtype);
    return is_float && is_sum && !n->op->over_devices &&
           (n->op->traits.additive || (n->n_in == 1 && (n->op->linear & 1)));
}

dt_mesh_axes dt_spmd_handed_on(const dt_spmd_work *w, int i) {
    const dt_node *n = &w->g->node[i];
    dt_mesh_axes partial = n->n_in > 0 ? w->made[n->in[0]].layout.partial : 0;
    if (!partial || w->fixed[i] || w->free[i] || !hands_on(n)) return 0;
    for (int k = 0; k < n->n_in; k++) {
        const dt_layout *l = &w->made[n->in[k]].layout;
        if (l->partial != partial || l->kind != DT_REDUCE_SUM || l->on != w->layout[i].on) return 0;
    }
    return partial;
}

/* ---- ways to split an op ---- */

static bool names_rows(const dt_spmd_work *w, int i, int f) {
    const dt_node *n = &w->g->node[i];
    for (int k = -1; k < n->n_in; k++) {
        const dt_type *t = &w->g->node[k < 0 ? i : n->in[k]].type;
        const int8_t *factor = k < 0 ? w->rule[i].out : w->rule[i].in[k];
        if (dt_type_has_batch(t) && (f < 0 || factor[0] == f)) return true;
    }
    return false;
}

/* Changes the way y so that rows stay divided among replicas. If weights and rows are both divided
 * among replicas, the weights are gathered, never the rows. */
static void leave_rows_alone(const dt_spmd_work *w, int i, way *y) {
    for (int f = 0; f < DT_MAX_FACTORS && names_rows(w, i, -1); f++)
        if ((y->factor[f] & w->mesh.replicas) && !names_rows(w, i, f))
            y->factor[f] &= ~w->mesh.replicas;
}

static void finish(const dt_spmd_work *w, int i, way *y) {
    leave_rows_alone(w, i, y);
    dt_mesh_axes partial = dt_spmd_handed_on(w, i);
    for (int f = 0; f < DT_MAX_FACTORS; f++)
        y->factor[f] = y->factor[f] & partial ? 0 : y->factor[f] & w->only[i];
    dt_spmd_drop_factors(w, i, y->factor);
}

static int list_ways(const dt_spmd_work *w, int i, way *list) {
    const dt_node *node = &w->g->node[i];
    int n = 0;
    memset(list, 0, MOST_WAYS * sizeof *list);
    /* the factors of the result's layout, then those of the inputs' layouts */
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n].factor);
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n].factor);
    n++;
    /* the factors of the inputs' layouts, then those of the result's; the factors of the result
     * alone; of each input alone; and none */
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n].factor);
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n++].factor);
    dt_spmd_add_factors(w, i, -1, &w->layout[i], list[n++].factor);
    for (int k = 0; k < node->n_in; k++)
        dt_spmd_add_factors(w, i, k, &w->made[node->in[k]].layout, list[n++].factor);
    n++;
    for (int y = 0; y < n; y++) finish(w, i, &list[y]);
    return n;
}

/* ---- the costs of splits ---- */

static double work_of(const dt_spmd_work *w, const dt_node *n) {
    dt_view in[DT_MAX_IN];
    dt_cost cost = {0};
    for (int k = 0; k < n->n_in; k++)
        in[k] = (dt_view){.type = dt_type_at(&w->g->node[n->in[k]].type, w->batch)};
    dt_call c = {.node = n, .in = in, .out = {.type = dt_type_at(&n->type, w->batch)}};
    if (n->op->cost) n->op->cost(&c, &cost);
    else cost.bytes = (double)dt_type_bytes(&c.out.type);
    return cost.flops / flops_per_byte + cost.bytes / memory_per_byte;
}

static dt_mesh_axes all_factors(const way *y) {
    dt_mesh_axes all = 0;
    for (int f = 0; f < DT_MAX_FACTORS; f++) all |= y->factor[f];
    return all;
}

static double cost_of(const dt_spmd_work *w, int i, const way *y) {
    const dt_node *n = &w->g->node[i];
    dt_mesh_axes partial = dt_spmd_handed_on(w, i);
    double bytes = work_of(w, n) / dt_mesh_parts(&w->mesh, all_factors(y));
    for (int k = 0; k < n->n_in; k++) {
        dt_layout want = dt_spmd_by_factors(w, i, k, y->factor);
        want.partial = partial;
        want.on = w->layout[i].on;
        bytes +=
            dt_spmd_convert_bytes(w, &w->g->node[n->in[k]].type, &w->made[n->in[k]].layout, &want);
    }
    dt_layout out = dt_spmd_by_factors(w, i, -1, y->factor);
    out.on = w->layout[i].on;
    out.partial = n->op->over_devices ? 0 : dt_spmd_summed(w, i, y->factor);
    return bytes + dt_spmd_convert_bytes(w, &n->type, &out, &w->layout[i]);
}

/* Finds the cheapest factors for node i, given the layouts of its inputs. */
static void weigh(const dt_spmd_work *w, int i, dt_mesh_axes *factor) {
    way list[MOST_WAYS];
    int n = list_ways(w, i, list), best = 0;
    double least = cost_of(w, i, &list[0]);
    for (int y = 1; y < n; y++) {
        double cost = cost_of(w, i, &list[y]);
        if (cost < least) {
            least = cost;
            best = y;
        }
    }
    memcpy(factor, list[best].factor, sizeof list[best].factor);
}

/* ---- memory of choices ---- */

/*
 * Remembers how ops were split. A model of a hundred equal blocks has each node a hundred times.
 * How an op is split depends on the op with its attributes and types, and on the layouts of its
 * operands. So nodes are sorted into kinds, and the choice made for one node is used for all others
 * of its kind with the same layouts.
 *
 *     block_0/dense   dot_general  bf16[B,64], bf16[64,256]   kind 7   [{0}, -] x [-, {1}]  chosen
 *     block_1/dense   dot_general  bf16[B,64], bf16[64,256]   kind 7   [{0}, -] x [-, {1}]  known
 */

/* Everything that `weigh` depends on and that differs between nodes. Compared with memcmp, so the
 * struct must not have padding. */
typedef struct question {
    int32_t kind;
    dt_mesh_axes only;
    uint32_t fixed, free;
    dt_layout out, in[DT_MAX_IN]; /* layouts of the node's result and of its inputs */
} question;

typedef struct answer {
    question asked;
    dt_mesh_axes factor[DT_MAX_FACTORS];
} answer;

struct dt_spmd_memo {
    int n_kinds, cap_kinds, n_answers, cap_answers;
    int *model; /* [kinds] the first node of each kind, which stands for all nodes of the kind */
    answer *answer;
    dt_hash_index kinds, answers;
};

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
        weigh(w, i, found.factor);
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
