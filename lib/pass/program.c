/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of divided programs: names of values, the rows of a piece, and printing. */
#include "base/size.h"
#include "pass/pass.h"

bool dt_is_name(const dt_node *n) { return n->op->role == DT_ROLE_NAME; }

int dt_named_by(const dt_graph *g, int node) {
    while (dt_is_name(&g->node[node])) node = g->node[node].in[0];
    return node;
}

int64_t dt_heads_of(const dt_graph *g, int node) {
    return g->node[g->node[node].in[1]].type.dim[2];
}

void dt_piece_rows(const dt_program *p, int node, int unit, int64_t *lo, int64_t *hi) {
    dt_part_rows(p, node, unit, p->piece[node].units, lo, hi);
}

int64_t dt_dot_columns(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_dot_attr *a = dt_dot_of(n);
    const dt_type *b = &g->node[n->in[1]].type;
    int64_t columns = dt_type_elements(b);
    for (int k = 0; k < a->n_contract; k++) columns /= dt_max(1, b->dim[a->rhs_contract[k]]);
    return columns;
}

/* Divides n columns into pieces that begin at multiples of DT_COLUMN_BLOCK. */
static void part_of_columns(int64_t n, int unit, int units, int64_t *lo, int64_t *hi) {
    const int64_t blocks = (n + DT_COLUMN_BLOCK - 1) / DT_COLUMN_BLOCK;
    *lo = blocks * unit / units * DT_COLUMN_BLOCK;
    *hi = dt_min(n, blocks * (unit + 1) / units * DT_COLUMN_BLOCK);
}

void dt_part_rows(const dt_program *p, int node, int unit, int units, int64_t *lo, int64_t *hi) {
    const dt_type *t = &p->graph->node[node].type;
    int64_t size = t->rank == 0    ? 1
                   : t->dim[0] < 0 ? p->batch
                                   : t->dim[0],
            k = t->rank && t->dim[0] < 0 ? -t->dim[0] : 1;

    if (p->piece[node].by == DT_BY_COLUMNS) {
        part_of_columns(dt_dot_columns(p->graph, node), unit, units, lo, hi);
        return;
    }
    if (p->piece[node].by == DT_BY_TIME) size *= t->dim[1];
    if (p->piece[node].by == DT_BY_HEADS) size *= dt_heads_of(p->graph, node);
    if (p->cut && t->rank && t->dim[0] < 0 && units == p->cuts && units > 1) {
        *lo = p->cut[unit] * k;
        *hi = p->cut[unit + 1] * k;
        return;
    }
    *lo = size * unit / units * k;
    *hi = size * (unit + 1) / units * k;
}

/* ---- text ---- */

static void print_piece(const dt_graph *g, int i, dt_str *out, void *user) {
    const dt_program *p = user;
    const dt_node_division *piece = &p->piece[i];

    if (piece->absorbed)
        dt_str_puts(out, dt_concatenate_of(&g->node[i]) ? "  [within its reader]"
                                                        : "  [within the tree]");
    else if (piece->segment >= 0 && piece->units > 1)
        dt_str_printf(out, "  [segment %d, group %d, %d pieces%s]", piece->segment, piece->group,
                      piece->units,
                      piece->by == DT_BY_TIME      ? " by time"
                      : piece->by == DT_BY_HEADS   ? " by heads"
                      : piece->by == DT_BY_COLUMNS ? " by columns"
                                                   : "");
    else if (piece->segment >= 0)
        dt_str_printf(out, "  [segment %d, group %d, whole]", piece->segment, piece->group);
}

void dt_program_print(const dt_program *p, dt_str *out) {
    dt_str_printf(out, "program for B = %lld: %d segment%s, %d group%s\n", (long long)p->batch,
                  p->n_segments, p->n_segments == 1 ? "" : "s", p->n_groups,
                  p->n_groups == 1 ? "" : "s");
    dt_graph_print_notes(p->graph, print_piece, (void *)p, out);
    for (int s = 0; s < p->graph->n_states; s++)
        if (p->copy_back[s])
            dt_str_printf(out, "copy back %s\n", p->graph->state[s].variable->path);
}
