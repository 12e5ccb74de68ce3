/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_rows: what workers hold in parts, put together (fabric/rows.c). As with joins, the first one of a segment makes one exchange of all: their inputs are
 * there before the segment begins (pass/partition.c).
 */
#include "exec/exec_impl.h"
#include "fabric/fabric.h"
#include "op/workers.h"

typedef struct rows {
    int n, *node;          /* those of its segment; 0: an earlier one has it */
    dt_rows_item *item;    /* [n] */
} rows;

static bool goes_along(const dt_exec *x, int first, int i)
{
    return dt_is_worker_rows(&x->g->node[i]) && x->p->piece[i].segment == x->p->piece[first].segment;
}

static dt_status *prepare(dt_exec *x, dt_step *step)
{
    rows *r = dt_arena_new(x->arena, rows);
    step->state = r;
    for (int i = 0; i < step->node; i++)
        if (goes_along(x, step->node, i))
            return NULL;
    r->node = dt_arena_array(x->arena, int, x->g->n_nodes);
    for (int i = step->node; i < x->g->n_nodes; i++)
        if (goes_along(x, step->node, i))
            r->node[r->n++] = i;
    r->item = dt_arena_array(x->arena, dt_rows_item, r->n);
    return NULL;
}

static void run(const dt_kernel_call *c)
{
    dt_exec *x = (dt_exec *)c->x; /* one task runs all of a segment's */
    const rows *r = c->step->state;
    if (r->n == 0 || x->failure)
        return;
    for (int i = 0; i < r->n; i++) {
        const dt_type *t = &x->type[r->node[i]];
        r->item[i] = (dt_rows_item){.own = x->at[x->g->node[r->node[i]].in[0]], .whole = x->at[r->node[i]], .rows = t->dim[0],
                                    .row_bytes = t->dim[0] ? (size_t)(dt_type_bytes(t) / t->dim[0]) : 0};
    }
    x->env->member->of = x->g->node[r->node[0]].path;
    x->failure = dt_rows_all_gather(x->env->member, r->item, r->n);
    x->env->member->of = NULL;
}

const dt_kernel dt_kernel_worker_rows = {
    .name = "worker_rows", .op = &dt_op_worker_rows, .prepare = prepare, .run = run,
};
