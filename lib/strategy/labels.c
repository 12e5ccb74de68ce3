/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the labels that are passed to a step: a class number that has no score is an error before
 * the step runs, as in TensorFlow. Labels of a job's data sets are checked when the job opens; this
 * check is for programs with their own training loops.
 */
#include <math.h>

#include "op/cells.h"
#include "strategy/labels.h"

enum { MOST_SHOWN = 20 };

/* Follows reshapes and conversions back from node i. Returns the argument where they begin; -1:
 * node i is not made from an argument in this way. */
static int argument_behind(const dt_graph *g, int i) {
    while (g->node[i].op->role == DT_ROLE_NAME || g->node[i].op->role == DT_ROLE_CONVERT)
        i = g->node[i].in[0];
    for (int k = 0; k < g->n_args; k++)
        if (g->arg[k].node == i) return k;
    return -1;
}

static dt_status *out_of_range(const dt_view *labels, double label, int64_t classes) {
    int64_t n = dt_type_elements(&labels->type);
    dt_local_str text = {0};
    for (int64_t i = 0; i < n && i < MOST_SHOWN; i++)
        dt_str_printf(&text, " %.15g", dt_cell_double(labels, i));
    return dt_fail(DT_E_LABEL_RANGE, NULL,
                   "label %.15g is %s [0, %lld), the classes that have a score; labels are%s%s",
                   label, label == trunc(label) ? "outside of" : "not a whole number in",
                   (long long)classes, dt_str_text(&text), n > MOST_SHOWN ? " ..." : "");
}

static dt_status *check(const dt_view *labels, int64_t classes) {
    for (int64_t i = 0, n = dt_type_elements(&labels->type); i < n; i++) {
        double label = dt_cell_double(labels, i);
        if (!(label >= 0 && label < (double)classes && label == trunc(label)))
            return out_of_range(labels, label, classes);
    }
    return NULL;
}

dt_status *dt_check_labels(const dt_graph *g, const dt_view *arg) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        if (n->op != &dt_op_softmax_cross_entropy) continue;
        const dt_type *logits = &g->node[n->in[0]].type, *target = &g->node[n->in[1]].type;
        int k = dt_dtype_is_float(target->dtype) ? -1 : argument_behind(g, n->in[1]);
        if (k >= 0) DT_TRY(check(&arg[k], logits->dim[logits->rank - 1]));
    }
    return NULL;
}
