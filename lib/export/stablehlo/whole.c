/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a repeat without a loop. Blocks that read rows of stacks, are element-wise and do not
 * depend on each other are written as one block over whole stacks:
 *
 *     loop over i: m[i] = 0.9 * m[i] + 0.1 * g[i]          becomes          m = 0.9 * m + 0.1 * g
 *
 * Optimizers consist of such blocks. A compiler fuses these statements, and new values overwrite
 * old ones. In a loop, XLA would copy the whole stack in each iteration if two fusions read the
 * stack before one writes it.
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"

static const dt_node *node_of(const dt_hlo_writer *w, int item) {
    return &w->plan.o->g->node[w->plan.o->item[item].node];
}

/* ---- repeats that need no loop ---- */

/* Whether the rows are consecutive, in ascending order if step is 1, in descending order if it is
 * -1. */
static bool are_neighbours(const int *row, int n, int step) {
    for (int b = 0; b < n; b++)
        if (row[b] < 0 || row[b] != row[0] + b * step) return false;
    return true;
}

/* Whether rows are read, and all rows that are read or written are consecutive, in the same
 * order. */
static bool lie_alike(const dt_hlo_repeat *r, const struct dt_hlo_traffic *t) {
    const int step = r->n_lists ? t->read[0].row[1] - t->read[0].row[0] : 0;
    bool alike = step == 1 || step == -1;
    for (int i = 0; alike && i < r->n_lists; i++)
        alike = are_neighbours(t->read[i].row, r->n, step);
    for (int i = 0; alike && i < t->n_writes; i++)
        alike = are_neighbours(t->write[i].row, r->n, step);
    return alike;
}

/* Whether statement j can be written for all blocks at once. Sets each[j] to whether its value
 * differs between blocks. A value that is the same for all blocks need not be element-wise. */
static bool is_element_wise(const dt_hlo_writer *w, const dt_hlo_repeat *r, int j, bool *each) {
    const dt_node *n = node_of(w, r->first + j);
    for (int k = 0; k < n->n_in; k++) {
        const dt_hlo_bind *b = &r->bind[j][k];
        each[j] |= b->from == DT_HLO_EACH || (b->from == DT_HLO_INSIDE && each[b->at]);
    }
    return !r->numbered[j] && n->op->forms.stablehlo && (!each[j] || dt_is_elementwise(n->op));
}

bool dt_hlo_is_whole(const dt_hlo_writer *w, int repeat) {
    const dt_hlo_repeat *r = &w->plan.repeats.repeat[repeat];
    bool *each = dt_alloc((size_t)r->period * sizeof *each),
         whole = r->n_carries == 0 && lie_alike(r, &w->plan.traffic[repeat]);
    memset(each, 0, (size_t)r->period * sizeof *each);
    for (int j = 0; j < r->period && whole; j++) whole = is_element_wise(w, r, j, each);
    free(each);
    return whole;
}

/* ---- statements over whole stacks ---- */

typedef struct whole {
    dt_hlo_writer *w;
    const dt_hlo_repeat *r;
    const struct dt_hlo_traffic *t;
    dt_hlo_value *list; /* [lists] the rows that all blocks read, as one value */
    /* [items of a block] a value with one row for each block, or a single value that all blocks
     * share; its rank tells which */
    dt_hlo_value *made;
} whole;

static int first_row(const whole *x, const int *row) {
    return row[0] < row[x->r->n - 1] ? row[0] : row[x->r->n - 1];
}

static void read_rows(const whole *x, int repeat) {
    for (int i = 0; i < x->r->n_lists; i++) {
        dt_hlo_value v =
            dt_hlo_stack_now(x->w, dt_hlo_read_from(&x->w->plan, repeat, &x->t->read[i]));
        x->list[i] = v.type.dim[0] == x->r->n
                         ? v
                         : dt_hlo_slice(&x->w->hlo, v, 0, first_row(x, x->t->read[i].row), x->r->n);
    }
}

/* Repeats a value once for each block, along a new first dimension. A value of more dimensions than
 * `row` has one row for each block already and is returned as it is. */
static dt_hlo_value spread(const whole *x, dt_hlo_value v, const dt_type *row) {
    const dt_type t = dt_hlo_stacked(&v.type, x->r->n);
    int8_t dims[DT_MAX_RANK];
    if (v.type.rank > row->rank) return v;
    for (int d = 0; d < v.type.rank; d++) dims[d] = (int8_t)(d + 1);
    return dt_hlo_broadcast(&x->w->hlo, v, &t, dims);
}

static dt_hlo_value input_of(const whole *x, int j, int k) {
    const dt_hlo_bind *b = &x->r->bind[j][k];
    return b->from == DT_HLO_EACH     ? x->list[b->at]
           : b->from == DT_HLO_INSIDE ? x->made[b->at]
                                      : dt_hlo_value_of(x->w, b->at);
}

static dt_status *put_statement(const whole *x, int j) {
    const int item = x->r->first + j;
    const dt_node *n = node_of(x->w, item);
    dt_hlo_call c = {.hlo = &x->w->hlo, .node = n, .type = dt_hlo_type_of(&x->w->plan, item)};
    bool each = false;
    for (int k = 0; k < n->n_in; k++) {
        c.in[k] = input_of(x, j, k);
        each |= c.in[k].type.rank > n->type.rank && dt_is_elementwise(n->op);
    }
    if (!each) {
        DT_TRY(dt_hlo_write_item(x->w, item, c.in, NULL));
        x->made[j] = x->w->value[item];
        return NULL;
    }
    for (int k = 0; k < n->n_in; k++) c.in[k] = spread(x, c.in[k], &c.type);
    c.type = dt_hlo_stacked(&c.type, x->r->n);
    x->w->hlo.layer = n->path;
    x->made[j] = n->op->forms.stablehlo(&c);
    return NULL;
}

static dt_hlo_value row_of(const whole *x, int offset, int row) {
    const dt_type t = dt_hlo_type_of(&x->w->plan, x->r->first + offset);
    dt_hlo_value v = x->made[offset];
    return v.type.rank == t.rank
               ? v
               : dt_hlo_reshape(&x->w->hlo, dt_hlo_slice(&x->w->hlo, v, 0, row, 1), t.rank, t.dim);
}

static void write_rows(const whole *x) {
    for (int i = 0; i < x->t->n_writes; i++) {
        const dt_hlo_rows *write = &x->t->write[i];
        const dt_type row = dt_hlo_type_of(&x->w->plan, x->r->first + write->offset);
        dt_hlo_set_rows(x->w, write->stack, first_row(x, write->row),
                        spread(x, x->made[write->offset], &row));
    }
}

static void keep_last(const whole *x) {
    const int n = x->r->n, last = x->t->read[0].row[0] < x->t->read[0].row[n - 1] ? n - 1 : 0;
    for (int i = 0; i < x->t->n_lasts; i++) {
        const int offset = x->t->last[i], item = x->r->first + (n - 1) * x->r->period + offset;
        dt_hlo_set_value(x->w, item, row_of(x, offset, last));
        dt_hlo_put_row(x->w, item);
    }
}

dt_status *dt_hlo_write_whole(dt_hlo_writer *w, int repeat) {
    const dt_hlo_repeat *r = &w->plan.repeats.repeat[repeat];
    whole x = {.w = w, .r = r, .t = &w->plan.traffic[repeat]};
    dt_status *bad = NULL;
    x.list = dt_alloc(dt_size_mul((size_t)r->n_lists + 1, sizeof *x.list));
    x.made = dt_alloc(dt_size_mul((size_t)r->period, sizeof *x.made));
    read_rows(&x, repeat);
    for (int j = 0; j < r->period && !bad; j++) bad = put_statement(&x, j);
    if (!bad) {
        write_rows(&x);
        keep_last(&x);
    }
    free(x.list);
    free(x.made);
    return bad;
}
