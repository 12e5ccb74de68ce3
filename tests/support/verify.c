/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include "base/str.h"

static dt_status *verify_type(const dt_graph *g, int i) {
    const dt_node *n = &g->node[i];
    dt_type in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) in[k] = g->node[n->in[k]].type;
    dt_infer q = {.op = n->op, .in = in, .n_in = n->n_in, .attr = n->attr};
    dt_status *s = n->op->infer(&q), *bad = NULL;
    if (s) {
        bad = dt_fail(DT_E_INTERNAL, NULL, "node %%%d of graph '%s': %s", i, g->name,
                      dt_status_text(s));
        dt_status_free(s);
    } else if (!dt_type_equal(&q.out, &n->type)) {
        bad = dt_fail(DT_E_INTERNAL, NULL,
                      "node %%%d (%s) of graph '%s' has type %s, its inputs make it %s", i,
                      n->op->name, g->name, dt_text_of(&n->type).s, dt_text_of(&q.out).s);
    }
    return bad;
}

dt_status *verify_types(const dt_graph *g) {
    DT_TRY(dt_graph_verify(g));
    for (int i = 0; i < g->n_nodes; i++) DT_TRY(verify_type(g, i));
    return NULL;
}
