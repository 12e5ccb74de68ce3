/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over workers with the bits of one fixed tree over V shards, wherever the shards were summed
 * (op/workers.h). Several values travel together, as if they were one array.
 *
 *     every worker has one node, and there are 2, 4, 8, ... of them:    recursive halving, whose sums are that very tree if partners are neighbours first:
 *                                                                       rank at position p of the schedule: p with its bits reversed
 *     otherwise:   each worker owns a part of the array; it gets all nodes of it, adds them as the
 *                  tree says, and gives all the sum:
 *
 *                  worker 0 [ | | ]      worker 1 [ | | ]      worker 2 [ | | ]       nodes of part 0 to worker 0, ...
 *                            \____________/\____________________/                      its sum from worker 0 to all
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "fabric/fabric.h"
#include "op/workers.h"

typedef struct bucket {
    dt_member *m;
    int32_t shards;
    dt_dtype dtype;
    size_t size; /* of an element */
    const dt_tree_item *item;
    int n;
    int64_t elements; /* of all items' sums */
    int nodes;        /* of this rank */
    dt_tag tag;
} bucket;

static int nodes_of(int32_t shards, const dt_team *t, int rank, dt_tree_node out[DT_TREE_NODES]) {
    const dt_shard_range r = dt_shards_of_worker(shards, t->ranks, rank);
    return dt_tree_nodes(&r, out);
}

/* ---- packing: node by node, items one after the other ---- */

static void pack_node(const bucket *b, int k, char *to) {
    for (int i = 0; i < b->n; i++) {
        const dt_tree_item *x = &b->item[i];
        const size_t width = (size_t)x->width * b->size;
        for (int64_t row = 0; row < x->rows; row++, to += width)
            memcpy(to,
                   (const char *)x->parts + ((size_t)row * (size_t)b->nodes + (size_t)k) * width,
                   width);
    }
}

static void unpack(const bucket *b, const char *from) {
    for (int i = 0; i < b->n; i++) {
        const size_t bytes = (size_t)(b->item[i].rows * b->item[i].width) * b->size;
        memcpy(b->item[i].sum, from, bytes);
        from += bytes;
    }
}

/* ---- halving ---- */

static bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

static bool halves(const bucket *b) {
    const int ranks = b->m->team->ranks;
    const int32_t each = b->shards / ranks;
    return is_power_of_two(ranks) && b->shards % ranks == 0 && is_power_of_two((int)each);
}

static dt_status *make_halving(dt_member *m) {
    const int ranks = m->team->ranks;
    int *order = dt_alloc((size_t)ranks * sizeof *order);
    for (int p = 0; p < ranks; p++)
        for (int bit = 1, mirror = ranks / 2; bit < ranks; bit *= 2, mirror /= 2)
            order[p] |= p & bit ? mirror : 0;
    dt_status *s = dt_schedule_create(&m->halving,
                                      &(dt_schedule_spec){.collective = DT_ALL_REDUCE,
                                                          .algorithm = dt_algorithm_find("halving"),
                                                          .ranks = ranks,
                                                          .order = order});
    free(order);
    return s;
}

static dt_status *reduce_by_halving(bucket *b) {
    if (!b->m->halving) DT_TRY(make_halving(b->m));
    return dt_schedule_run(b->m->halving, b->m, b->dtype, b->item, b->n);
}

/* ---- owners ---- */

static int64_t part_begin(const bucket *b, int rank) {
    return b->elements * rank / b->m->team->ranks;
}

static int64_t part_size(const bucket *b, int rank) {
    return part_begin(b, rank + 1) - part_begin(b, rank);
}

/* Nodes wait on a stack until their neighbour is there. */
typedef struct stack {
    struct {
        dt_tree_node node;
        char *at;
    } entry[DT_TREE_NODES];
    int n;
} stack;

/* Where a node has no right neighbour it is the one above it. */
static dt_tree_node rise(int32_t shards, dt_tree_node n) {
    while (n.index > 0 ? n.index % 2 == 0 && ((int64_t)n.index + 1) << n.level >= shards : false)
        n = (dt_tree_node){n.level + 1, n.index / 2};
    return n;
}

static void push(const bucket *b, stack *s, dt_tree_node node, char *at, int64_t n) {
    s->entry[s->n].node = rise(b->shards, node);
    s->entry[s->n++].at = at;
    while (s->n > 1) {
        const dt_tree_node left = s->entry[s->n - 2].node, right = s->entry[s->n - 1].node;
        if (left.level != right.level || right.index != left.index + 1 || left.index % 2) return;
        dt_array_add(b->dtype, s->entry[s->n - 2].at, s->entry[s->n - 1].at, n);
        s->n--;
        s->entry[s->n - 1].node = rise(b->shards, (dt_tree_node){left.level + 1, left.index / 2});
    }
}

/* Sends every owner the nodes of its part: packed as they are, a node's part is one stretch. */
static dt_status *send_parts(bucket *b, const char *packed) {
    for (int r = 0; r < b->m->team->ranks; r++)
        for (int k = 0; r != b->m->rank && k < b->nodes; k++) {
            b->tag.round = k;
            DT_TRY(dt_member_send(b->m, r, &b->tag,
                                  packed + (size_t)(b->elements * k + part_begin(b, r)) * b->size,
                                  (size_t)part_size(b, r) * b->size));
        }
    return NULL;
}

/* The own part, from all ranks in order; the sum ends in the first node's place. */
static dt_status *sum_own(bucket *b, char *packed, char *came) {
    const int own = b->m->rank;
    const int64_t n = part_size(b, own);
    stack s = {.n = 0};
    for (int r = 0; r < b->m->team->ranks; r++) {
        dt_tree_node node[DT_TREE_NODES];
        const int nodes = nodes_of(b->shards, b->m->team, r, node);
        for (int k = 0; k < nodes; k++) {
            char *at = packed + (size_t)(b->elements * k + part_begin(b, own)) * b->size;
            if (r != own) {
                at = came;
                came += (size_t)n * b->size;
                b->tag.round = k;
                DT_TRY(dt_member_recv(b->m, r, &b->tag, at, (size_t)n * b->size));
            }
            push(b, &s, node[k], at, n);
        }
    }
    char *to = packed + (size_t)part_begin(b, own) * b->size;
    if (to != s.entry[0].at) memmove(to, s.entry[0].at, (size_t)n * b->size);
    return NULL;
}

static dt_status *spread_sums(bucket *b, char *packed) {
    const int own = b->m->rank;
    b->tag.collective = DT_ALL_GATHER;
    b->tag.round = 0;
    for (int r = 0; r < b->m->team->ranks; r++)
        if (r != own)
            DT_TRY(dt_member_send(b->m, r, &b->tag, packed + (size_t)part_begin(b, own) * b->size,
                                  (size_t)part_size(b, own) * b->size));
    for (int r = 0; r < b->m->team->ranks; r++)
        if (r != own)
            DT_TRY(dt_member_recv(b->m, r, &b->tag, packed + (size_t)part_begin(b, r) * b->size,
                                  (size_t)part_size(b, r) * b->size));
    return dt_member_settle(b->m);
}

static dt_status *reduce_by_owners(bucket *b) {
    int64_t all = 0;
    for (int r = 0; r < b->m->team->ranks; r++) {
        dt_tree_node node[DT_TREE_NODES];
        all += r == b->m->rank ? 0 : nodes_of(b->shards, b->m->team, r, node);
    }
    const size_t packed = (size_t)b->elements * (size_t)b->nodes * b->size;
    DT_TRY(dt_member_room(b->m, packed + (size_t)(part_size(b, b->m->rank) * all) * b->size));
    char *room = b->m->room;
    for (int k = 0; k < b->nodes; k++) pack_node(b, k, room + (size_t)(b->elements * k) * b->size);
    DT_TRY(send_parts(b, room));
    DT_TRY(sum_own(b, room, room + packed));
    DT_TRY(dt_member_settle(b->m)); /* what others own of node 0 is written over next */
    DT_TRY(spread_sums(b, room));
    unpack(b, room);
    return NULL;
}

dt_status *dt_tree_all_reduce(dt_member *m, int32_t shards, dt_dtype dtype,
                              const dt_tree_item *item, int n) {
    dt_tree_node node[DT_TREE_NODES];
    bucket b = {.m = m,
                .shards = shards,
                .dtype = dtype,
                .size = dt_dtype_size(dtype),
                .item = item,
                .n = n};
    b.nodes = nodes_of(shards, m->team, m->rank, node);
    for (int i = 0; i < n; i++) b.elements += item[i].rows * item[i].width;
    if (m->team->ranks > 1 && halves(&b)) return reduce_by_halving(&b);
    b.tag = (dt_tag){.number = ++m->number,
                     .collective = DT_REDUCE_SCATTER,
                     .dtype = dtype,
                     .elements = b.elements,
                     .step = m->step};
    snprintf(b.tag.of, sizeof b.tag.of, "%s", m->of ? m->of : "");
    return reduce_by_owners(&b);
}
