/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_join: what workers have summed of their own shards, added over all of them (fabric/tree.c). All joins of a segment are one exchange for each dtype,
 * which the first of them makes: their inputs are there before the segment begins (pass/partition.c), and a message costs more than its first kilobytes.
 */
#include <stdlib.h>

#include "exec/exec_impl.h"
#include "fabric/fabric.h"
#include "op/workers.h"

typedef struct join {
    int n, *node;          /* the joins of this one's dtype in its segment; 0: an earlier one has it */
    int32_t shards;
    dt_tree_item *item;    /* [n] */
} join;

static bool goes_along(const dt_exec *x, int first, int i)
{
    return dt_is_tree_join(&x->g->node[i]) && x->p->piece[i].segment == x->p->piece[first].segment && x->type[i].dtype == x->type[first].dtype;
}

static dt_status *prepare(dt_exec *x, dt_step *step)
{
    join *j = dt_arena_new(x->arena, join);
    step->state = j;
    for (int i = 0; i < step->node; i++)
        if (goes_along(x, step->node, i))
            return NULL;
    j->node = dt_arena_array(x->arena, int, x->g->n_nodes);
    for (int i = step->node; i < x->g->n_nodes; i++)
        if (goes_along(x, step->node, i))
            j->node[j->n++] = i;
    j->item = dt_arena_array(x->arena, dt_tree_item, j->n);
    j->shards = ((const dt_tree_join_attr *)x->g->node[step->node].attr)->shards;
    return NULL;
}

static void run(const dt_kernel_call *c)
{
    dt_exec *x = (dt_exec *)c->x; /* one task runs all of a segment's joins */
    const join *j = c->step->state;
    dt_member *m = x->env->member;
    if (j->n == 0 || x->failure)
        return;
    for (int i = 0; i < j->n; i++) {
        const dt_type *t = &x->type[j->node[i]];
        const int64_t rows = t->rank ? t->dim[0] : 1;
        j->item[i] = (dt_tree_item){.parts = x->at[x->g->node[j->node[i]].in[0]], .sum = x->at[j->node[i]], .rows = rows,
                                    .width = rows ? dt_type_elements(t) / rows : 0};
    }
    m->of = x->g->node[j->node[0]].path;
    x->failure = dt_tree_all_reduce(m, j->shards, x->type[j->node[0]].dtype, j->item, j->n);
    m->of = NULL;
}

const dt_kernel dt_kernel_join = {
    .name = "join", .op = &dt_op_tree_join, .prepare = prepare, .run = run,
};
