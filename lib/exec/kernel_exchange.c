/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops that exchange values between workers: tree_join adds the sums of their shards
 * (net/tree.c), worker_rows concatenates their rows (net/fabric.c). exchange.c decides which nodes
 * are exchanged together, when, and by which thread.
 */
#include "exec/exchange.h"
#include "exec/exec_impl.h"
#include "net/fabric.h"
#include "op/workers.h"

static dt_status *carry_join(const dt_exec *x, const dt_exchange *e) {
    dt_tree_item *item = e->item;
    for (int i = 0; i < e->n; i++) {
        const dt_type *t = &x->type[e->node[i]];
        const int64_t rows = t->rank ? t->dim[0] : 1;
        item[i] = (dt_tree_item){.parts = x->at[x->g->node[e->node[i]].in[0]],
                                 .sum = x->at[e->node[i]],
                                 .rows = rows,
                                 .width = rows ? dt_type_elements(t) / rows : 0};
    }
    const dt_tree_join_attr *a = x->g->node[e->node[0]].attr;
    return dt_tree_all_reduce(x->env->member, a->shards, x->type[e->node[0]].dtype, item, e->n);
}

static dt_status *carry_rows(const dt_exec *x, const dt_exchange *e) {
    dt_rows_item *item = e->item;
    for (int i = 0; i < e->n; i++) {
        const dt_type *t = &x->type[e->node[i]];
        item[i] =
            (dt_rows_item){.own = x->at[x->g->node[e->node[i]].in[0]],
                           .whole = x->at[e->node[i]],
                           .rows = t->dim[0],
                           .row_bytes = t->dim[0] ? (size_t)(dt_type_bytes(t) / t->dim[0]) : 0};
    }
    return dt_rows_all_gather(x->env->member, item, e->n);
}

static void run(const dt_kernel_call *c) {
    /* one task of a segment runs all exchanges of the segment, so that two lanes never run
     * exchanges at the same time */
    dt_exchanges_reach((dt_exec *)c->x, c->step->node, c->lane);
}

const dt_kernel dt_kernel_join = {
    .name = "join",
    .op = &dt_op_tree_join,
    .run = run,
    .carry = carry_join,
    .item_bytes = sizeof(dt_tree_item),
};

const dt_kernel dt_kernel_worker_rows = {
    .name = "worker_rows",
    .op = &dt_op_worker_rows,
    .run = run,
    .carry = carry_rows,
    .item_bytes = sizeof(dt_rows_item),
};
