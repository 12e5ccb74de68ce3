/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts of the folded batch: see segment.h. */
#include "op/segment.h"

#include <string.h>

#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

dt_status *dt_segment_check(const dt_infer *q, int c) {
    const dt_segment_attr *a = q->attr;
    if (a->cut < DT_CUT_REPLICAS || a->cut > DT_CUT_TILES || a->count < 1)
        return dt_bad_shape(q, "(C%d) unknown cut %d into %d segments", c, (int)a->cut,
                            (int)a->count);
    return NULL;
}

dt_status *dt_segment_wants_batch(const dt_infer *q, const dt_type *t, int c) {
    if (t->rank < 1 || !dt_is_batch(t, 0))
        return dt_bad_shape(q, "(C%d) expected the batch as dimension 0, got %s", c,
                            dt_text_of(t).s);
    return NULL;
}

dt_segment_attr dt_segment_attr_of(const dt_fold_call *c) {
    dt_segment_attr a;
    memset(&a, 0,
           sizeof a); /* clears the padding as well, since attributes are compared with memcmp */
    a.cut = c->cut;
    a.count = c->segments;
    return a;
}

int dt_cut_of(const dt_node *n) {
    bool segments = n->op == &dt_op_segment_reduce || n->op == &dt_op_segment_dot_general ||
                    n->op == &dt_op_segment_convolution || n->op == &dt_op_segment_broadcast ||
                    n->op == &dt_op_segment_sizes || n->op == &dt_op_segment_deviations;
    return segments ? ((const dt_segment_attr *)n->attr)->cut : -1;
}

int dt_segment_count(const dt_node *n) { return ((const dt_segment_attr *)n->attr)->count; }

void dt_segment_piece(int64_t batch, int count, int s, int64_t *lo, int64_t *hi) {
    *lo = batch * s / count;
    *hi = batch * (s + 1) / count;
}

int64_t dt_segment_border(const dt_call *c, int s) {
    const dt_segment_attr *a = c->node->attr;
    int64_t lo, hi;
    if (a->cut != DT_CUT_TILES)
        return (a->cut == DT_CUT_SHARDS ? c->env->shards : c->env->offsets)[s];
    dt_segment_piece(c->env->batch, a->count, s, &lo, &hi);
    return lo;
}

dt_view dt_segment_rows(const dt_call *c, const dt_view *x, int s) {
    const dt_segment_attr *a = c->node->attr;
    int64_t examples = dt_segment_border(c, a->count), from = dt_segment_border(c, s),
            to = dt_segment_border(c, s + 1);
    int64_t rows_each = examples > 0 ? x->type.dim[0] / examples : 0;
    return dt_view_rows(x, rows_each * from, rows_each * (to - from));
}

void dt_segment_stack_rule(const dt_type *out, dt_rule *rule) {
    rule->in[0][0] = rule->in[1][0] = -1;
    for (int d = out->rank - 1; d > 0; d--) rule->out[d] = rule->out[d - 1];
    rule->out[0] = -1;
}

/* ---- in StableHLO ---- */

bool dt_segment_hlo_is_even(const dt_hlo_call *c) {
    return !c->hlo->offsets || ((const dt_segment_attr *)c->node->attr)->cut != DT_CUT_REPLICAS;
}

int64_t dt_segment_hlo_border(const dt_hlo_call *c, const dt_type *x, int s) {
    const dt_segment_attr *a = c->node->attr;
    const int64_t rows = x->dim[0], examples = c->hlo->batch;
    return dt_segment_hlo_is_even(c) ? rows / a->count * s : rows / examples * c->hlo->offsets[s];
}

void dt_segment_print(const dt_segment_attr *a, dt_str *out) {
    static const char *const names[] = {"replicas", "shards", "pieces"};
    dt_str_printf(out, "%s %d", names[a->cut], (int)a->count);
}

/* ---- over devices ---- */

enum { REPLICA_FACTOR = DT_MAX_FACTORS - 1 };

void dt_segment_replica_factor(dt_rule *rule, int n_in) {
    rule->out[0] = REPLICA_FACTOR;
    for (int i = 0; i < n_in; i++) rule->in[i][0] = REPLICA_FACTOR;
}

bool dt_segment_can(const dt_partition_call *c) {
    const dt_segment_attr *a = c->node->attr;
    dt_mesh_axes axes = c->factor[REPLICA_FACTOR];
    return !axes || (axes == c->mesh->replicas && a->cut == DT_CUT_REPLICAS &&
                     a->count == dt_mesh_parts(c->mesh, axes));
}

dt_value dt_segment_emit(dt_partition_call *c) {
    dt_segment_attr a = *(const dt_segment_attr *)c->node->attr;
    a.count /= dt_mesh_parts(c->mesh, c->factor[REPLICA_FACTOR]);
    if (c->node->op->attr.type) a.type = dt_partition_type(c);
    return dt_emit(c->trace, c->node->op, c->in, c->node->n_in, &a);
}
