/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_join: the sum of the tree_part results of all workers: see op/workers.h. Workers exchange
 * them when a program runs. `eval` is for a worker that has all shards, so its only node is the
 * sum.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/workers.h"

static dt_status *infer(dt_infer *q) {
    const dt_tree_join_attr *a = q->attr;
    const int64_t m = a->type.rank ? a->type.dim[0] : 1,
                  all = dt_type_elements(&a->type) * a->nodes;
    q->out = a->type;
    DT_TRY(dt_check_result(q, 1));
    if (a->nodes < 1 || dt_type_elements(&q->in[0]) != all || q->in[0].dtype != a->type.dtype ||
        (a->type.rank && q->in[0].dim[0] != m))
        return dt_bad_shape(q, "expected %d nodes of %s, got %s", (int)a->nodes,
                            dt_text_of(&a->type).s, dt_text_of(&q->in[0]).s);
    return NULL;
}

static void print(const void *attr, dt_str *out) {
    const dt_tree_join_attr *a = attr;
    dt_str_printf(out, "shards %d, nodes %d", (int)a->shards, (int)a->nodes);
}

bool dt_is_tree_join(const dt_node *n) { return n->op == &dt_op_tree_join; }

const dt_op dt_op_tree_join = {
    .name = "tree_join",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_tree_join_attr),
             .type = 1 + offsetof(dt_tree_join_attr, type),
             .print = print},
    .infer = infer,
    .rule = dt_rule_none,
    .eval = dt_eval_copy,
};
