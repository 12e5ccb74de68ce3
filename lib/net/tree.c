/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums values over workers. The result has the same bits as one fixed tree over V shards, no matter
 * which worker has summed which shards (op/workers.h). Several values are sent together, as if they
 * were one array.
 *
 * Each worker has summed some nodes of the tree, which are called leaves here. At first a leaf owns
 * the whole array. From the leaves up, the two sides of a node add the elements that both own and
 * divide them evenly, so that afterwards each element has one owner below the node. Example with
 * three workers (the owner of each element):
 *
 *     elements       0    1    2    3    4    5
 *     leaves         0 1  0 1  0 1  0 1  0 1  0 1                 2  2  2  2  2  2
 *     node (0, 1)    0    0    0    1    1    1     each sends a half
 *     all            0    0    2    1    1    2     0 and 1 send a third of theirs, 2 sends to both
 *
 * Then the same steps in reverse send each owner's sums to all. If each has one leaf, n workers
 * together send 2 (n - 1) arrays, which is the minimum. No worker sends more than two, and there
 * are 2 ceil(log2 n) rounds. In a round, a worker exchanges messages with more than one other
 * worker if the other side has more workers than its own, and over all rounds with at most n - 1.
 * For 2, 4, 8, ... workers this is recursive halving and doubling.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/transfer.h"
#include "op/workers.h"

/* A node of the tree, over the shards [from, to), that one worker has summed. */
typedef struct leaf {
    /* rank: of the worker; node: index of the leaf among the nodes that this worker has summed */
    int rank, node;
    int32_t from, to;
    bool summed; /* whether the elements of this leaf already include those of another leaf */
} leaf;

/* The leaf that owns the elements from `begin` up to the `begin` of the next owner. */
typedef struct owner {
    int64_t begin;
    int leaf;
} owner;

typedef struct owners {
    owner *owner;
    int n, leaves;
} owners;

typedef enum step_kind { STEP_SEND, STEP_ADD, STEP_LOCAL } step_kind;
/* Work on one stretch of elements of a leaf of this worker: to send it to another worker, to add
 * what another worker sends, or to add another leaf of this worker. */
typedef struct step {
    step_kind kind;
    /* The rank to exchange the stretch with. STEP_LOCAL: the index of the leaf to add. */
    int peer;
    int leaf;
    int round;
    bool summed; /* whether the elements are sums already, not the original values of the leaf */
    dt_stretch stretch;
} step;

typedef struct dt_tree_plan dt_tree_plan;
struct dt_tree_plan {
    dt_tree_plan *next;
    int32_t shards;
    /* most: number of elements of the largest stretch that is received and added */
    int64_t elements, most;
    dt_arena *arena;
    leaf *leaf; /* [leaves] the leaves of all workers */
    owners owners;
    step *step;
    int leaves, steps, cap;
};

/* ---- plans ---- */

typedef struct planner {
    dt_tree_plan *plan;
    dt_arena *scratch;
    int rank, next, rounds;
} planner;

static void add_step(planner *p, const step *s) {
    dt_tree_plan *plan = p->plan;
    if (s->stretch.begin == s->stretch.end) return;
    DT_GROW(plan->step, plan->cap, plan->steps + 1);
    plan->step[plan->steps++] = *s;
    const int64_t n = s->stretch.end - s->stretch.begin;
    if (s->kind == STEP_ADD && n > plan->most) plan->most = n;
}

/* Adds the steps for a stretch that leaf x owns on one side of a node and leaf y on the other.
 * Leaf x gives away the part `given` and keeps `kept`. */
static void share(planner *p, step_kind kind, int x, int y, dt_stretch given, dt_stretch kept) {
    const leaf *own = &p->plan->leaf[x], *other = &p->plan->leaf[y];
    if (own->rank != p->rank) return;
    const bool local = other->rank == p->rank;
    step s = {.kind = kind, .peer = other->rank, .leaf = x, .round = p->rounds};
    s.summed = own->summed;
    s.stretch = kind == STEP_SEND ? given : kept;
    if (local && kind == STEP_ADD) {
        s.kind = STEP_LOCAL;
        s.peer = y;
    }
    if (!local || kind == STEP_ADD) add_step(p, &s);
}

static void add_owner(owners *o, int64_t begin, int64_t end, int who) {
    if (begin < end) o->owner[o->n++] = (owner){begin, who};
}

static int64_t end_of(const planner *p, const owners *o, int i) {
    return i + 1 < o->n ? o->owner[i + 1].begin : p->plan->elements;
}

/* Divides all stretches between the owners of both sides, in proportion to the sides' leaves. This
 * is called for the sends first, so that a worker sends everything before it waits. */
static void share_all(planner *p, const owners *l, const owners *r, step_kind kind, owners *out) {
    int64_t at = 0;
    for (int i = 0, k = 0; i < l->n && k < r->n;) {
        const int64_t left = end_of(p, l, i), right = end_of(p, r, k),
                      end = left < right ? left : right,
                      cut = at + (end - at) * l->leaves / (l->leaves + r->leaves);
        const int x = l->owner[i].leaf, y = r->owner[k].leaf;
        share(p, kind, x, y, (dt_stretch){cut, end}, (dt_stretch){at, cut});
        share(p, kind, y, x, (dt_stretch){at, cut}, (dt_stretch){cut, end});
        if (out) add_owner(out, at, cut, x);
        if (out) add_owner(out, cut, end, y);
        i += end == left;
        k += end == right;
        at = end;
    }
}

static owners join(planner *p, int32_t from, int32_t to) {
    leaf *first = &p->plan->leaf[p->next];
    owners out = {.leaves = 1};
    if (first->from == from && first->to == to) {
        out.owner = dt_arena_array(p->scratch, owner, 1);
        add_owner(&out, 0, p->plan->elements, p->next++);
        return out;
    }
    const int begin = p->next;
    const int32_t middle = from + (int32_t)dt_tree_left(to - from);
    const owners l = join(p, from, middle), r = join(p, middle, to);
    out.leaves = l.leaves + r.leaves;
    out.owner = dt_arena_array(p->scratch, owner, 2 * (l.n + r.n));
    share_all(p, &l, &r, STEP_SEND, NULL);
    share_all(p, &l, &r, STEP_ADD, &out);
    for (int i = begin; i < p->next; i++) p->plan->leaf[i].summed = true;
    p->rounds++;
    return out;
}

static void list_leaves(dt_tree_plan *plan, int ranks) {
    plan->leaf = dt_arena_array(plan->arena, leaf, (int64_t)ranks * DT_TREE_NODES);
    for (int r = 0; r < ranks; r++) {
        dt_tree_node node[DT_TREE_NODES];
        const dt_shard_range range = dt_shards_of_worker(plan->shards, ranks, r);
        const int n = dt_tree_nodes(&range, node);
        for (int k = 0; k < n; k++) {
            leaf *x = &plan->leaf[plan->leaves++];
            *x = (leaf){.rank = r, .node = k};
            dt_tree_leaves(plan->shards, node[k], &x->from, &x->to);
        }
    }
}

static dt_tree_plan *make_plan(const dt_member *m, int32_t shards, int64_t elements) {
    dt_tree_plan *plan = dt_alloc(sizeof *plan);
    *plan = (dt_tree_plan){.shards = shards, .elements = elements, .arena = dt_arena_create()};
    list_leaves(plan, m->group->ranks);
    planner p = {.plan = plan, .scratch = dt_arena_create(), .rank = m->rank};
    const owners all = join(&p, 0, shards);
    plan->owners = all;
    plan->owners.owner = dt_arena_array(plan->arena, owner, all.n + 1);
    for (int i = 0; i < all.n; i++) plan->owners.owner[i] = all.owner[i];
    dt_arena_destroy(p.scratch);
    return plan;
}

void dt_tree_plans_release(dt_member *m) {
    for (dt_tree_plan *p = m->plans; p; p = m->plans) {
        m->plans = p->next;
        dt_arena_destroy(p->arena);
        free(p->step);
        free(p);
    }
    m->n_plans = 0;
}

/* The most plans that are kept; when one more is needed, all are dropped. A job has few buckets of
 * gradients and needs the same plans in every step. */
enum { PLANS_MOST = 256 };
static const dt_tree_plan *find_plan(dt_member *m, int32_t shards, int64_t elements) {
    for (const dt_tree_plan *p = m->plans; p; p = p->next)
        if (p->shards == shards && p->elements == elements) return p;
    if (m->n_plans == PLANS_MOST) dt_tree_plans_release(m);
    dt_tree_plan *p = make_plan(m, shards, elements);
    p->next = m->plans;
    m->plans = p;
    m->n_plans++;
    return p;
}

/* ---- sums ---- */

/* A sum in progress. It has one transfer for each node of this worker. A single node is sent
 * directly from the items. Several nodes are first copied one after the other, and summed in the
 * copy. */
typedef struct tree {
    const dt_tree_plan *plan;
    dt_transfer all; /* the transfer of the caller's items */
    dt_transfer *of; /* [nodes] the transfer of each node */
    int nodes;
} tree;

static int nodes_of(const dt_tree_plan *plan, int rank) {
    int n = 0;
    for (int i = 0; i < plan->leaves; i++) n += plan->leaf[i].rank == rank;
    return n;
}

static void pack_node(const tree *t, int k, char *to) {
    for (int i = 0; i < t->all.items; i++) {
        const dt_tree_item *x = &t->all.item[i];
        const size_t width = (size_t)x->width * t->all.size;
        for (int64_t row = 0; row < x->rows; row++, to += width)
            memcpy(to, (const char *)x->parts + (size_t)(row * t->nodes + k) * width, width);
    }
}

/* Lists the items as they are laid out in a copy that begins at `at`. Messages are cut where
 * items end, which must be the same on all workers. */
static void place_items(const tree *t, dt_tree_item *item, char *at) {
    for (int i = 0; i < t->all.items; i++) {
        item[i] = t->all.item[i];
        item[i].parts = item[i].sum = at;
        at += (size_t)(item[i].rows * item[i].width) * t->all.size;
    }
}

static dt_status *make_room(tree *t) {
    const size_t items = sizeof(dt_tree_item) * (size_t)t->all.items,
                 node = (size_t)t->all.n * t->all.size,
                 nodes = t->nodes > 1 ? (items + node) * (size_t)t->nodes : 0;
    DT_TRY(dt_member_room(t->all.m, nodes + dt_transfer_room(&t->all, t->plan->most)));
    char *room = t->all.m->room, *packed = room + items * (size_t)t->nodes;
    dt_transfer_use_room(&t->all, room + nodes);
    for (int k = 0; k < t->nodes; k++) {
        t->of[k] = t->all;
        if (t->nodes == 1) continue;
        dt_tree_item *item = (dt_tree_item *)(void *)room + (size_t)k * (size_t)t->all.items;
        pack_node(t, k, packed + node * (size_t)k);
        place_items(t, item, packed + node * (size_t)k);
        t->of[k].item = item;
    }
    return NULL;
}

static dt_status *reduce(tree *t, const step *s) {
    dt_transfer *x = &t->of[t->plan->leaf[s->leaf].node];
    x->tag.round = s->round;
    x->tag.flags = x->m->flags;
    switch (s->kind) {
    case STEP_SEND: return dt_transfer_send(x, s->peer, s->stretch, s->summed);
    case STEP_ADD: return dt_transfer_add(x, s->peer, s->stretch, s->summed);
    case STEP_LOCAL: break;
    }
    const dt_transfer *other = &t->of[t->plan->leaf[s->peer].node];
    const size_t at = (size_t)s->stretch.begin * x->size;
    dt_array_add(x->dtype, (char *)x->item->sum + at, (const char *)other->item->sum + at,
                 s->stretch.end - s->stretch.begin);
    return NULL;
}

/* If sums were computed in copies, copies those that this worker owns to the items. */
static void put_own(const tree *t) {
    for (int i = 0; i < t->plan->owners.n; i++) {
        const owner *o = &t->plan->owners.owner[i];
        const leaf *x = &t->plan->leaf[o->leaf];
        const int64_t end =
            i + 1 < t->plan->owners.n ? t->plan->owners.owner[i + 1].begin : t->plan->elements;
        if (x->rank != t->all.m->rank || t->nodes == 1) continue;
        dt_transfer_unpack(&t->all, (dt_stretch){o->begin, end}, t->of[x->node].item->sum);
    }
}

/* Does a step in reverse: the rank that kept a stretch sends its sum to the rank that gave the
 * stretch away. */
static dt_status *gather(tree *t, const step *s) {
    t->all.tag.round = s->round;
    t->all.tag.flags = t->all.m->flags;
    if (s->kind == STEP_LOCAL) return NULL;
    return s->kind == STEP_ADD ? dt_transfer_send(&t->all, s->peer, s->stretch, true)
                               : dt_transfer_receive(&t->all, s->peer, s->stretch);
}

static dt_status *all_reduce(tree *t) {
    const dt_tree_plan *plan = t->plan;
    DT_TRY(make_room(t));
    for (int i = 0; i < plan->steps; i++) DT_TRY(reduce(t, &plan->step[i]));
    /* The next steps overwrite the bytes that were sent, so this waits for them. */
    DT_TRY(dt_member_settle(t->all.m));
    put_own(t);
    t->all.tag.collective = DT_ALL_GATHER;
    for (int i = plan->steps; i-- > 0;) DT_TRY(gather(t, &plan->step[i]));
    t->all.m->flag_sums += plan->elements > 0;
    return dt_member_settle(t->all.m);
}

/* Computes the sum over a single node, which is that node: copies the parts. */
static void copy_parts(const dt_transfer *x) {
    for (int i = 0; i < x->items; i++)
        if (x->item[i].sum != x->item[i].parts && x->item[i].rows * x->item[i].width > 0)
            memcpy(x->item[i].sum, x->item[i].parts,
                   (size_t)(x->item[i].rows * x->item[i].width) * x->size);
}

dt_status *dt_tree_all_reduce(dt_member *m, int32_t shards, dt_dtype dtype,
                              const dt_tree_item *item, int n) {
    tree t = {.all = {.m = m, .item = item, .items = n, .dtype = dtype}};
    DT_TRY(dt_transfer_begin(&t.all, DT_REDUCE_SCATTER));
    t.plan = find_plan(m, shards, t.all.n);
    if (t.plan->leaves == 1) {
        copy_parts(&t.all);
        return NULL;
    }
    dt_transfer of[DT_TREE_NODES];
    t.of = of;
    t.nodes = nodes_of(t.plan, m->rank);
    return all_reduce(&t);
}
