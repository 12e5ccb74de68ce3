/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of one value with several kernels, such as the projections to queries, keys and values,
 * become one product with the concatenated kernels. A sum of products with these kernels, which is
 * the gradient of that value, becomes one product that sums over all of them:
 *
 *     x . q,  x . k,  x . v              ->  parts of  x . [q k v]
 *     dq . q' + dk . k' + dv . v'        ->  [dq dk dv] . [q k v]'
 *
 * One large product fills a device better than three small ones, and x is read once. Adjacent free
 * dimensions of a kernel are treated as one, so kernels of (8, 2, 4) and (8, 3, 5) can be joined,
 * too. Only kernels that do not depend on arguments are joined. Products of successive layers, such
 * as those of all layers of a decoder with the output of one encoder, are not joined (see
 * FARTHEST).
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"
#include "op/dot_general.h"
#include "op/shapes.h"
#include "pass/pass.h"

/* Two products are joined only if the longest paths from them to the end of the step differ by at
 * most this many products. If attention's scores are written as separate ops, the path from the
 * values has up to two products fewer than that from the queries. The next block is at least four
 * products away. */
enum { FARTHEST = 2 };

typedef struct products {
    const dt_graph *g;
    bool *follows; /* [nodes] whether the node depends on arguments */
    bool *inner;   /* [nodes] whether the node is a sum that is only a term of one other sum */
    int *uses;     /* [nodes] how often the node is read, also as a result or a new value */
    int *ahead;    /* [nodes] number of products on the longest path from the node to the end */
    /* [nodes] the first product of the node's group, at first the node itself; -1: the node is not
     * a product that can be joined with others */
    int *first;
    /* [nodes] for a product: the next product of its group; -1: it is the last one */
    int *next;
    /* [nodes] the last product with a group whose left operand is the node; -1: there is none */
    int *last;
    /* [nodes] the first product of the group in which the node is a kernel; -1: none */
    int *group;
    int64_t *at;  /* [nodes] for a product: where its part of the group's product begins */
    bool *wanted; /* [nodes] used by ready() to mark what must be computed early */
    /* [nodes] value of the node in the new graph if it was computed early; for the first product of
     * a group, the whole product */
    dt_value *early;
} products;

/* ---- operands with several dimensions joined to one ---- */

/* Type of an operand in which dimensions `axis` to `axis + n - 1` count as one; axis -1: all
 * dimensions are separate. */
typedef struct flat {
    dt_type type;
    int axis, n;
} flat;

/* A product that can be joined with others. Its kernel, or for a term of a sum both operands, can
 * be concatenated with those of the others along x[k].axis. */
typedef struct part {
    flat x[2];       /* the two operands; x[1] is the kernel */
    dt_dot_attr dot; /* the attributes of the product of operands with these types */
} part;

/* Joins n dimensions. Returns false if n is 0, if they are not adjacent, or if the batch is among
 * them. */
static bool flatten(const dt_type *t, const int8_t *dims, int n, flat *out) {
    const int axis = n ? dims[0] : -1;
    *out = (flat){.type = {.dtype = t->dtype, .rank = t->rank - n + 1}, .axis = axis, .n = n};
    for (int i = 0; i < n; i++)
        if (dims[i] != axis + i || dt_is_batch(t, dims[i])) return false;
    for (int d = 0; n && d < out->type.rank; d++) {
        out->type.dim[d] = t->dim[d <= axis ? d : d + n - 1];
        for (int i = 1; d == axis && i < n; i++) out->type.dim[d] *= t->dim[axis + i];
    }
    return n > 0;
}

static void renumber(const flat *f, int8_t *dims, int n) {
    for (int i = 0; i < n; i++)
        if (dims[i] >= f->axis + f->n) dims[i] = (int8_t)(dims[i] - (f->n - 1));
}

/* Describes product i with the free dimensions of its kernel joined to one. */
static bool part_beside(const dt_graph *g, int i, part *out) {
    const dt_node *n = &g->node[i];
    const dt_dot_attr *d = dt_dot_of(n);
    const dt_type *kernel = &g->node[n->in[1]].type;
    int8_t free[DT_MAX_RANK];
    *out = (part){.x[0] = {.type = g->node[n->in[0]].type, .axis = -1}, .dot = *d};
    if (d->in_order || !flatten(kernel, free, dt_dot_free(kernel, d, true, free), &out->x[1]))
        return false;
    renumber(&out->x[1], out->dot.rhs_batch, d->n_batch);
    renumber(&out->x[1], out->dot.rhs_contract, d->n_contract);
    return true;
}

/* Describes product i with the dimensions that it sums over joined to one. */
static bool part_of_sum(const dt_graph *g, int i, part *out) {
    const dt_node *n = &g->node[i];
    const dt_dot_attr *d = dt_dot_of(n);
    *out = (part){.dot = {.n_batch = d->n_batch, .n_contract = 1}};
    if (!flatten(&g->node[n->in[0]].type, d->lhs_contract, d->n_contract, &out->x[0]) ||
        !flatten(&g->node[n->in[1]].type, d->rhs_contract, d->n_contract, &out->x[1]))
        return false;
    memcpy(out->dot.lhs_batch, d->lhs_batch, (size_t)d->n_batch);
    memcpy(out->dot.rhs_batch, d->rhs_batch, (size_t)d->n_batch);
    renumber(&out->x[0], out->dot.lhs_batch, d->n_batch);
    renumber(&out->x[1], out->dot.rhs_batch, d->n_batch);
    out->dot.lhs_contract[0] = (int8_t)out->x[0].axis;
    out->dot.rhs_contract[0] = (int8_t)out->x[1].axis;
    return true;
}

/* Whether two operands have the same axis, and differ at most in their sizes along it. */
static bool are_alike(const flat *a, const flat *b) {
    dt_type t = b->type;
    if (a->axis != b->axis || a->type.rank != b->type.rank) return false;
    if (a->axis >= 0) t.dim[a->axis] = a->type.dim[a->axis];
    return dt_type_equal(&a->type, &t);
}

static bool fit(const part *a, const part *b) {
    return memcmp(&a->dot, &b->dot, sizeof a->dot) == 0 && are_alike(&a->x[0], &b->x[0]) &&
           are_alike(&a->x[1], &b->x[1]);
}

/* ---- groups ---- */

static const dt_node *node_at(const products *p, int i) { return &p->g->node[i]; }

static bool is_sum(const products *p, int i) { return dt_is_add(node_at(p, i)); }

static void count_uses(products *p) {
    const dt_graph *g = p->g;
    for (int i = 0; i < g->n_results; i++) p->uses[g->result[i].node]++;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) p->uses[g->state[i].update]++;
    for (int i = 0; i < g->n_nodes; i++) {
        p->follows[i] = g->node[i].op->role == DT_ROLE_ARGUMENT;
        for (int k = 0; k < g->node[i].n_in; k++) {
            p->uses[g->node[i].in[k]]++;
            p->follows[i] |= p->follows[g->node[i].in[k]];
        }
    }
}

static void look_ahead(products *p) {
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = node_at(p, i);
        const int here = p->ahead[i] + (n->op->role == DT_ROLE_PRODUCT);
        for (int k = 0; k < n->n_in; k++) {
            const int in = n->in[k];
            if (p->ahead[in] < here) p->ahead[in] = here;
            p->inner[in] = p->uses[in] == 1 && is_sum(p, in) && is_sum(p, i);
        }
    }
}

static bool belongs(const products *p, int group, int i) {
    part a, b;
    return abs(p->ahead[group] - p->ahead[i]) <= FARTHEST && part_beside(p->g, group, &a) &&
           part_beside(p->g, i, &b) && fit(&a, &b);
}

/* If node i is a product that can be joined with others (its left operand depends on arguments, its
 * kernel does not, and part_beside can describe it), puts it into the group of the last such
 * product with the same left operand. If there is none, or the two do not fit, the node begins a
 * group. Other nodes are in no group. */
static void put_into_group(products *p, int i) {
    const dt_node *n = node_at(p, i);
    const int before = p->last[n->in[0]];
    part own;
    if (!dt_dot_of(n) || !p->uses[i] || !p->follows[n->in[0]] || p->follows[n->in[1]] ||
        !part_beside(p->g, i, &own))
        return;
    p->first[i] = i;
    p->last[n->in[0]] = i;
    if (before >= 0 && belongs(p, p->first[before], i)) {
        p->first[i] = p->first[before];
        p->next[before] = i;
        p->group[node_at(p, before)->in[1]] = p->group[n->in[1]] = p->first[i];
    }
}

/* ---- the new graph ---- */

static dt_value reached(const dt_rewrite_call *c, const products *p, int i) {
    return c->map[i].trace ? c->map[i] : p->early[i];
}

/* Returns node i in the new graph. In the old graph a kernel may come after c->node. Since it does
 * not depend on arguments, it is then computed early, with everything that it depends on. */
static dt_value ready(const dt_rewrite_call *c, const products *p, int i) {
    if (reached(c, p, i).trace) return reached(c, p, i);
    p->wanted[i] = true;
    for (int k = i; k > c->node; k--)
        for (int j = 0; p->wanted[k] && j < node_at(p, k)->n_in; j++)
            if (!reached(c, p, node_at(p, k)->in[j]).trace) p->wanted[node_at(p, k)->in[j]] = true;
    for (int k = c->node + 1; k <= i; k++) {
        dt_value in[DT_MAX_IN];
        if (!p->wanted[k]) continue;
        for (int j = 0; j < node_at(p, k)->n_in; j++) in[j] = reached(c, p, node_at(p, k)->in[j]);
        p->early[k] = dt_emit_like(c->trace, c->graph, k, in);
        p->wanted[k] = false;
    }
    return p->early[i];
}

static dt_value ready_as(const dt_rewrite_call *c, const products *p, int i, const flat *as) {
    return dt_reshape(ready(c, p, i), as->type.rank, as->type.dim);
}

/* Returns the product of a whole group, whose first product is c->node. */
static dt_value product_of_group(const dt_rewrite_call *c, const products *p) {
    DT_LOCAL dt_value *kernel = NULL;
    part one = {.dot = {0}};
    int n = 0, cap = 0;
    int64_t at = 0;
    for (int i = c->node; i >= 0; i = p->next[i]) {
        part_beside(c->graph, i, &one);
        DT_GROW(kernel, cap, n + 1);
        kernel[n++] = ready_as(c, p, node_at(p, i)->in[1], &one.x[1]);
        p->at[i] = at;
        at += one.x[1].type.dim[one.x[1].axis];
    }
    return dt_dot_general(c->in[0], dt_concatenate(kernel, n, one.x[1].axis), &one.dot);
}

static dt_value part_of_group(const dt_rewrite_call *c, const products *p) {
    const dt_type *type = &node_at(p, c->node)->type;
    const int first = p->first[c->node];
    part own = {.dot = {0}};
    if (first == c->node) p->early[first] = product_of_group(c, p);
    part_beside(c->graph, c->node, &own);
    dt_value mine =
        dt_slice_axis(p->early[first], -1, p->at[c->node], own.x[1].type.dim[own.x[1].axis], 1);
    return dt_reshape(mine, type->rank, type->dim);
}

/* The terms of a sum, from left to right; -1 in place of a term that was computed together with
 * another one. */
typedef struct terms {
    int *node, n, cap;
} terms;

static void list_terms(const products *p, int sum, terms *out) {
    DT_LOCAL int *stack = NULL;
    int top = 0, cap = 0;
    DT_GROW(stack, cap, 1);
    stack[top++] = sum;
    while (top > 0) {
        const int i = stack[--top];
        if (i == sum || p->inner[i]) {
            DT_GROW(stack, cap, top + 2);
            stack[top++] = node_at(p, i)->in[1];
            stack[top++] = node_at(p, i)->in[0];
        } else {
            DT_GROW(out->node, out->cap, out->n + 1);
            out->node[out->n++] = i;
        }
    }
}

/* Whether product i belongs to a group of several products. */
static bool is_beside(const products *p, int i) {
    return p->first[i] >= 0 && p->next[p->first[i]] >= 0;
}

/* Returns the group whose kernel term i is multiplied by; -1: it has none, or the term cannot be
 * joined with others. */
static int group_of_term(const products *p, int i) {
    const dt_node *n = node_at(p, i);
    const bool is_free = dt_dot_of(n) && p->uses[i] == 1 && !is_beside(p, i);
    return is_free && p->follows[n->in[0]] ? p->group[n->in[1]] : -1;
}

/* Computes term `from` together with all later terms that fit into one product. */
static dt_value term_of(const dt_rewrite_call *c, const products *p, terms *t, int from) {
    const int first = t->node[from], group = group_of_term(p, first);
    dt_value *x[2] = {NULL, NULL}, all[2];
    int n = 0, cap[2] = {0, 0};
    part own, one;
    if (group < 0 || !part_of_sum(c->graph, first, &own)) return c->map[first];
    for (int i = from; i < t->n; i++) {
        const int node = t->node[i];
        if (node < 0 || group_of_term(p, node) != group || !part_of_sum(c->graph, node, &one) ||
            !fit(&own, &one))
            continue;
        for (int k = 0; k < 2; k++) {
            DT_GROW(x[k], cap[k], n + 1);
            x[k][n] = ready_as(c, p, node_at(p, node)->in[k], &one.x[k]);
        }
        n++;
        t->node[i] = -1;
    }
    for (int k = 0; k < 2; k++) {
        all[k] = dt_concatenate(x[k], n, own.x[k].axis);
        free(x[k]);
    }
    return n > 1 ? dt_dot_general(all[0], all[1], &own.dot) : c->map[first];
}

static dt_value sum_of(const dt_rewrite_call *c, const products *p) {
    dt_value sum = {0};
    terms t = {0};
    list_terms(p, c->node, &t);
    for (int i = 0; i < t.n; i++) {
        if (t.node[i] < 0) continue;
        const dt_value term = term_of(c, p, &t, i);
        sum = sum.trace ? dt_add(sum, term) : term;
    }
    free(t.node);
    return sum;
}

/* Whether two terms of the sum are products with kernels of one group. */
static bool has_products(const products *p, int sum) {
    terms t = {0};
    bool has = false;
    list_terms(p, sum, &t);
    for (int i = 0; i < t.n && !has; i++)
        for (int k = i + 1; k < t.n && !has && group_of_term(p, t.node[i]) >= 0; k++)
            has = group_of_term(p, t.node[i]) == group_of_term(p, t.node[k]);
    free(t.node);
    return has;
}

static dt_value joined(const dt_rewrite_call *c) {
    const products *p = c->user;
    if (is_beside(p, c->node)) return part_of_group(c, p);
    if (is_sum(p, c->node) && !p->inner[c->node] && has_products(p, c->node)) return sum_of(c, p);
    return dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_hlo_join_products(const dt_graph *g, dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    const size_t n = (size_t)g->n_nodes + 1;
    products p = {.g = g};
    bool **bools[] = {&p.follows, &p.inner, &p.wanted};
    int **ints[] = {&p.uses, &p.ahead, &p.first, &p.next, &p.last, &p.group};
    for (size_t k = 0; k < sizeof bools / sizeof *bools; k++)
        *bools[k] = dt_arena_array(arena, bool, n);
    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
        *ints[k] = dt_arena_array(arena, int, n);
    p.at = dt_arena_array(arena, int64_t, n);
    p.early = dt_arena_array(arena, dt_value, n);
    for (int i = 0; i < g->n_nodes; i++) p.first[i] = p.next[i] = p.last[i] = p.group[i] = -1;
    count_uses(&p);
    look_ahead(&p);
    for (int i = 0; i < g->n_nodes; i++) put_into_group(&p, i);
    return dt_rewrite(g, joined, &p, out);
}
