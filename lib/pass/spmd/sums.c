/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when devices add up partial sums. Usually they do so at once, since a value must be
 * complete if it has several readers, or one that is not linear. But if the only reader is an
 * addition, it can add partial terms first. An operand that is complete is kept separate until
 * then:
 *
 *     ((residual + dv) + dk) + dq        dv, dk, dq partial: residual + all_reduce((dv + dk) + dq)
 *
 * so that several partial terms cost one sum over devices. Until it is complete, a value has two
 * parts, `value` and `pending`.
 */
#include "pass/spmd/spmd_impl.h"

static const dt_node *node_at(const dt_spmd_work *w, int i) { return &w->g->node[i]; }

/* Returns the only reader of node i. NULL if there are several or none, or if the reader is
 * annotated, computed for each of its own readers, on another device, or split in ways that its
 * rule lacks: it cannot take a partial sum then. */
static const dt_node *reader_of(const dt_spmd_work *w, int i) {
    int r = w->uses[i] == 1 ? w->reader[i] : -1;
    return r >= 0 && !w->fixed[r] && !w->free[r] && w->layout[r].on == w->layout[i].on &&
                   !node_at(w, r)->op->over_devices
               ? node_at(w, r)
               : NULL;
}

/* Whether reader n makes the value of node i larger, as broadcast_in_dim does. Adding up over
 * devices costs less before such a reader. */
static bool grows(const dt_spmd_work *w, int i, const dt_node *n) {
    const dt_type *from = &node_at(w, i)->type;
    const bool batch = dt_type_has_batch(&n->type);
    if (batch != dt_type_has_batch(from)) return batch;
    return !batch && dt_type_elements(&n->type) > dt_type_elements(from);
}

/* Whether adding up can wait: the only reader of node i adds partial sums itself, or passes them
 * on. */
static bool can_wait(const dt_spmd_work *w, int i) {
    const dt_node *n = reader_of(w, i);
    return n &&
           (n->op->traits.additive || (n->n_in == 1 && (n->op->linear & 1) && !grows(w, i, n)));
}

static bool is_added(const dt_spmd_work *w, int i) {
    const dt_node *n = reader_of(w, i);
    return n && dt_is_add(n);
}

/* ---- adding up ---- */

/* Returns the layout of a partial value after it is completed: that of node i, as far as this needs
 * no gather. */
static dt_layout layout_of_sum(const dt_spmd_work *w, int i, const dt_layout *partial) {
    dt_layout to = *partial;
    to.partial = 0;
    for (int d = 0; d < node_at(w, i)->type.rank; d++) {
        dt_mesh_axes now = to.axes[d], next = w->layout[i].axes[d];
        if (!(now & ~next) && !(next & dt_layout_axes(&to) & ~now)) to.axes[d] = next;
    }
    return to;
}

static void add_pending(dt_spmd_work *w, int i) {
    dt_made *m = &w->made[i], pending = {.value = m->pending, .layout = m->pending_layout};
    const dt_type *type = &node_at(w, i)->type;
    dt_layout to = layout_of_sum(w, i, &m->pending_layout);
    dt_value sum = dt_spmd_convert(w, &pending, type, &to);
    *m = (dt_made){.value = dt_add(dt_spmd_convert(w, m, type, &to), sum), .layout = to};
    dt_spmd_lies(w, m->value, &to);
}

void dt_spmd_settle(dt_spmd_work *w, int i) {
    dt_made *m = &w->made[i];
    if (m->pending.trace && !is_added(w, i)) add_pending(w, i);
    if (!m->layout.partial || (can_wait(w, i) && m->layout.kind == DT_REDUCE_SUM)) return;
    dt_layout to = layout_of_sum(w, i, &m->layout);
    m->value = dt_spmd_convert(w, m, &node_at(w, i)->type, &to);
    m->layout = to;
}

/* ---- sums of complete and partial values ---- */

/* An operand as a complete and a partial value. A value that the operand lacks has the trace
 * NULL. */
typedef struct term {
    dt_made whole, partial;
} term;

static term term_of(const dt_spmd_work *w, int i) {
    const dt_made *m = &w->made[i];
    dt_made pending = {.value = m->pending, .layout = m->pending_layout},
            value = {.value = m->value, .layout = m->layout};
    return m->layout.partial ? (term){.partial = value}
                             : (term){.whole = value, .partial = pending};
}

static bool agree(const dt_made *a, const dt_made *b) {
    return !a->value.trace || !b->value.trace || dt_layout_equal(&a->layout, &b->layout);
}

/* Returns the sum of two values in the layout `to`. Either value may be missing. */
static dt_value sum_of(dt_spmd_work *w, int i, const dt_made *a, const dt_made *b,
                       const dt_layout *to) {
    const dt_type *type = &node_at(w, i)->type;
    if (!a->value.trace || !b->value.trace)
        return dt_spmd_convert(w, a->value.trace ? a : b, type, to);
    dt_value sum = dt_add(dt_spmd_convert(w, a, type, to), dt_spmd_convert(w, b, type, to));
    dt_spmd_lies(w, sum, to);
    return sum;
}

bool dt_spmd_emit_sum(dt_spmd_work *w, int i) {
    const dt_node *n = node_at(w, i);
    if (!dt_is_add(n) || w->fixed[i] || !dt_dtype_is_float(n->type.dtype)) return false;
    term a = term_of(w, n->in[0]), b = term_of(w, n->in[1]);
    bool made = !w->free[n->in[0]] && !w->free[n->in[1]];
    bool mixed = (a.whole.value.trace || b.whole.value.trace) &&
                 (a.partial.value.trace || b.partial.value.trace);
    if (!made || !mixed || !agree(&a.partial, &b.partial)) {
        for (int k = 0; k < 2; k++)
            if (w->made[n->in[k]].pending.trace) add_pending(w, n->in[k]);
        return false;
    }
    dt_layout partial = a.partial.value.trace ? a.partial.layout : b.partial.layout,
              whole = layout_of_sum(w, i, &partial);
    w->made[i].pending = sum_of(w, i, &a.partial, &b.partial, &partial);
    w->made[i].pending_layout = partial;
    w->made[i].value = sum_of(w, i, &a.whole, &b.whole, &whole);
    w->made[i].layout = whole;
    return true;
}
