/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_permute over devices, the halo exchange: along `dim` a device gets its own elements,
 * the `low` ones before them and the `high` ones behind them, from as many neighbours as
 * necessary. If low or high is negative, that many of its own elements are cut off. `fill` comes
 * before the first and after the last element.
 *
 *     9 elements on 3 devices, low 1, high 2     012|345|678  ->  -01234  234567  5678--
 *     (- is fill)
 *
 * Without a drift, the range of each device begins as many elements after the range of the previous
 * device as a device holds. The drift is added to that distance; it is negative where there are
 * fewer windows than elements. Drift -1 changes the example to  -01234  123456  345678.
 *
 * (C1) x and the result have at least one element along `dim`.
 */
#include "op/across.h"

#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_across_attr *a = q->attr;
    int64_t own = q->in[0].dim[a->dim];
    q->out = q->in[0];
    q->out.dim[a->dim] += a->low + a->high;
    if (own < 1 || q->out.dim[a->dim] < 1)
        return dt_bad_shape(q, "(C1) cannot take %lld elements before and %lld behind those of %s",
                            (long long)a->low, (long long)a->high, dt_text_of(&q->in[0]).s);
    return NULL;
}

/* ---- ranges of the whole dimension ---- */

typedef struct range {
    int64_t from, to;
} range;

static range wanted_by(const dt_across_attr *a, int rank, int64_t own) {
    int64_t from = rank * (own + a->drift) - a->low;
    return (range){from, from + own + a->low + a->high};
}

/* Returns the part of `wanted` that the device of rank `rank` stores; each device stores `own`
 * elements. If it stores none of them, the result's `to` is at most its `from`. */
static range held_of(range wanted, int rank, int64_t own) {
    range held = {rank * own, (rank + 1) * own};
    return (range){wanted.from > held.from ? wanted.from : held.from,
                   wanted.to < held.to ? wanted.to : held.to};
}

static int64_t count(range r) { return r.to > r.from ? r.to - r.from : 0; }

/* ---- evaluation, expression in other ops, bytes received, StableHLO ---- */

static void eval(const dt_call *c) {
    const dt_across_attr *a = c->node->attr;
    int device = c->env->replica;
    int64_t own = c->in[device].type.dim[a->dim];
    range wanted = wanted_by(a, dt_across_rank(a, device), own);
    dt_node splat = {.op = &dt_op_constant,
                     .type = c->out.type,
                     .attr = &(dt_constant_attr){c->out.type, a->fill}};
    dt_op_constant.eval(&(dt_call){.node = &splat, .out = c->out});
    for (int r = 0; r < dt_mesh_parts(&a->mesh, a->axes); r++) {
        range held = held_of(wanted, r, own);
        dt_block b = dt_whole_block(&c->out.type);
        b.size[a->dim] = count(held);
        b.from[a->dim] = held.from - r * own;
        b.at[a->dim] = held.from - wanted.from;
        if (count(held) > 0) dt_copy_block(&c->out, &c->in[dt_across_peer(a, device, r)], &b);
    }
}

static dt_value splat_of(const dt_plain_call *c, int64_t n) {
    const dt_across_attr *a = c->node->attr;
    dt_type t = dt_type_of_value(c->in[c->device]);
    t.dim[a->dim] = n;
    return dt_splat(c->in[c->device].trace, &t, a->fill);
}

static dt_value part_of(const dt_plain_call *c, int rank, range held, int64_t own) {
    const dt_across_attr *a = c->node->attr;
    dt_value x = c->in[dt_across_peer(a, c->device, rank)];
    return count(held) == own ? x
                              : dt_slice_axis(x, a->dim, held.from - rank * own, count(held), 1);
}

static dt_value plain(const dt_plain_call *c) {
    const dt_across_attr *a = c->node->attr;
    int parts = dt_mesh_parts(&a->mesh, a->axes), n = 0;
    int64_t own = dt_type_of_value(c->in[c->device]).dim[a->dim];
    range wanted = wanted_by(a, dt_across_rank(a, c->device), own);
    range before = {wanted.from, wanted.to < 0 ? wanted.to : 0},
          behind = {wanted.from > parts * own ? wanted.from : parts * own, wanted.to};
    dt_value *piece = dt_arena_array(dt_trace_arena(c->in[0].trace), dt_value, parts + 2);
    if (count(before) > 0) piece[n++] = splat_of(c, count(before));
    for (int r = 0; r < parts; r++) {
        range held = held_of(wanted, r, own);
        if (count(held) > 0) piece[n++] = part_of(c, r, held, own);
    }
    if (count(behind) > 0) piece[n++] = splat_of(c, count(behind));
    return dt_join_parts(piece, n, a->dim);
}

/* Returns the bytes that a device receives, for the device that receives the most. */
static double bytes(const dt_across_attr *a, const dt_type *in) {
    int64_t own = in->dim[a->dim], most = 0;
    int parts = dt_mesh_parts(&a->mesh, a->axes);
    for (int r = 0; r < parts; r++) {
        range wanted = wanted_by(a, r, own),
              there = {wanted.from > 0 ? wanted.from : 0,
                       wanted.to < parts * own ? wanted.to : parts * own};
        int64_t received = count(there) - count(held_of(wanted, r, own));
        most = received > most ? received : most;
    }
    return (double)dt_type_bytes(in) / (double)own * (double)most;
}

static void print(const void *attr, dt_str *out) {
    const dt_across_attr *a = attr;
    dt_across_print(attr, out);
    dt_str_printf(out, " dim=%d low=%lld high=%lld", a->dim, (long long)a->low, (long long)a->high);
    if (a->drift) dt_str_printf(out, " drift=%lld", (long long)a->drift);
    if (a->fill != 0) dt_str_printf(out, " fill=%g", a->fill);
}

static const struct dt_across_row row = {DT_ACROSS_COLLECTIVE_PERMUTE, plain, bytes};

/*
 * The StableHLO form: a permute for each neighbour within reach brings the elements next to this
 * device's part. If ranges drift, each device then slices its own range. `fill` is put before the
 * first and after the last device, since a permute yields zeros there.
 */
typedef struct halo {
    const dt_hlo_call *c;
    dt_hlo_value rank;
    /* own: elements of a device's part; low, high: the most elements that any device needs from
     * lower and from higher ranks, none if it is negative */
    int64_t own, low, high;
} halo;

static char *pairs_of(const dt_across_attr *a, int away) {
    dt_str s = {0};
    int n = 0, parts = dt_mesh_parts(&a->mesh, a->axes);
    dt_str_puts(&s, "dense<[");
    for (int device = 0; device < dt_mesh_devices(&a->mesh); device++) {
        int to = dt_across_rank(a, device) + away;
        if (to >= 0 && to < parts)
            dt_str_printf(&s, "%s[%d, %d]", n++ ? ", " : "", device, dt_across_peer(a, device, to));
    }
    dt_str_printf(&s, "]> : tensor<%dx2xi64>", n);
    return dt_str_take(&s);
}

static dt_hlo_value filled(const halo *h, dt_hlo_value y, int away) {
    const dt_across_attr *a = h->c->node->attr;
    dt_hlo *hlo = h->c->hlo;
    dt_type bools = y.type;
    bools.dtype = DT_BOOL;
    dt_hlo_value first =
        dt_hlo_like(hlo, h->rank, away > 0 ? away : dt_mesh_parts(&a->mesh, a->axes) + away);
    dt_hlo_value there = dt_hlo_compare(hlo, away > 0 ? DT_GE : DT_LT, h->rank, first);
    return a->fill == 0 ? y
                        : dt_hlo_select(hlo, dt_hlo_broadcast(hlo, there, &bools, NULL), y,
                                        dt_hlo_like(hlo, y, a->fill));
}

/* Returns the last `size` elements of the device `away` ranks before this one or, if `away` is
 * negative, the first `size` of the device -away ranks after it; `fill` where there is no such
 * device. */
static dt_hlo_value from_neighbour(const halo *h, int away, int64_t size) {
    const dt_across_attr *a = h->c->node->attr;
    dt_hlo_value part =
        dt_hlo_slice(h->c->hlo, h->c->in[0], a->dim, away > 0 ? h->own - size : 0, size);
    int parts = dt_mesh_parts(&a->mesh, a->axes);
    if (away >= parts || -away >= parts) return dt_hlo_like(h->c->hlo, part, a->fill);
    DT_LOCAL char *pairs = pairs_of(a, away);
    dt_hlo_value y = dt_hlo_op(h->c->hlo, "collective_permute", &part, 1, &part.type,
                               "source_target_pairs = %s", pairs);
    return filled(h, y, away);
}

static halo halo_of(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    halo h = {
        .c = c, .rank = dt_hlo_rank(c->hlo, &a->mesh, a->axes), .own = c->in[0].type.dim[a->dim]};
    int64_t last = (dt_mesh_parts(&a->mesh, a->axes) - 1) * a->drift;
    h.low = a->low + (last < 0 ? -last : 0);
    h.high = a->high + (last > 0 ? last : 0);
    return h;
}

/* Returns how many of the `want` elements on one side belong to the neighbour `away` ranks away. */
static int64_t wanted_of(const halo *h, int64_t want, int64_t away) {
    int64_t left = want - (away - 1) * h->own;
    return left > h->own ? h->own : left;
}

static dt_hlo_value widened(const halo *h, int64_t low, int64_t high) {
    int before = low > 0 ? (int)((low + h->own - 1) / h->own) : 0,
        behind = high > 0 ? (int)((high + h->own - 1) / h->own) : 0, n = 0;
    DT_LOCAL dt_hlo_value *part =
        dt_alloc(dt_size_mul((size_t)(before + behind + 1), sizeof *part));
    for (int k = before; k > 0; k--) part[n++] = from_neighbour(h, k, wanted_of(h, low, k));
    part[n++] = h->c->in[0];
    for (int k = 1; k <= behind; k++) part[n++] = from_neighbour(h, -k, wanted_of(h, high, k));
    return dt_hlo_concatenate(h->c->hlo, part, n, ((const dt_across_attr *)h->c->node->attr)->dim);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    halo h = halo_of(c);
    int64_t low = h.low > 0 ? h.low : 0, high = h.high > 0 ? h.high : 0, size = c->type.dim[a->dim];
    dt_hlo_value y = widened(&h, low, high);
    if (a->drift == 0) return dt_hlo_slice(c->hlo, y, a->dim, low - a->low, size);
    dt_hlo_value moved =
        dt_hlo_binary(c->hlo, "multiply", h.rank, dt_hlo_like(c->hlo, h.rank, (double)a->drift));
    dt_hlo_value from =
        dt_hlo_binary(c->hlo, "add", moved, dt_hlo_like(c->hlo, moved, (double)(low - a->low)));
    return dt_hlo_dynamic_slice(c->hlo, y, a->dim, from, size);
}

const dt_op dt_op_across_collective_permute = {
    .name = "collective_permute",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .traits.collective = true,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};
