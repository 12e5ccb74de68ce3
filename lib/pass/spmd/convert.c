/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a value from one layout to another, by the cheapest collectives:
 *
 *     partial, then cut by the same axes    reduce_scatter
 *     partial, then whole                   all_reduce
 *     cut, then cut elsewhere               all_to_all
 *     cut, then whole                       all_gather
 *     whole, then cut                       each device takes its part, without communication; done
 *                                           as early as possible, so that less is sent
 *
 * The axes of a dimension are ordered, so gathering begins with the last one: gathering along the
 * first axis while a second one still divides the dimension would leave gaps. If the layouts need
 * that, everything after the common prefix is gathered and divided again.
 */
#include "pass/spmd/spmd_impl.h"

typedef struct conversion {
    dt_spmd_work *w;
    dt_value value;
    dt_layout now;
    int rank;
} conversion;

/* ---- sets as lists in ascending order ---- */

/* Returns the longest common prefix of two lists of axes. */
static dt_mesh_axes common_start(dt_mesh_axes a, dt_mesh_axes b) {
    dt_mesh_axes start = 0;
    for (dt_mesh_axes bit = 1; bit; bit <<= 1) {
        if ((a & bit) != (b & bit)) break;
        start |= a & bit;
    }
    return start;
}

/* Whether a | b begins with all axes of a, so that dividing by the axes of b is possible after
 * dividing by a. */
static bool comes_behind(dt_mesh_axes b, dt_mesh_axes a) { return common_start(a, a | b) == a; }

/* ---- steps ---- */

static void step(conversion *c, const dt_op *op, dt_across_attr a) {
    a.mesh = c->w->mesh;
    c->value = dt_across(c->value, op, &a);
    dt_spmd_lies(c->w, c->value, &c->now);
}

static void add_up(conversion *c, const dt_layout *to) {
    dt_mesh_axes partial = c->now.partial & ~to->partial;
    int kind = c->now.kind;
    for (int d = 0; d < c->rank; d++) {
        dt_mesh_axes here = to->axes[d] & partial;
        if (!here || !comes_behind(here, c->now.axes[d]) ||
            common_start(c->now.axes[d] | here, to->axes[d]) != (c->now.axes[d] | here))
            continue;
        c->now.axes[d] |= here;
        c->now.partial &= ~here;
        partial &= ~here;
        step(c, &dt_op_across_reduce_scatter,
             (dt_across_attr){.axes = here, .dim = d, .kind = kind});
    }
    c->now.partial &= ~partial;
    if (partial) step(c, &dt_op_across_all_reduce, (dt_across_attr){.axes = partial, .kind = kind});
}

static bool moves(const conversion *c, const dt_layout *to, int d, int e, dt_mesh_axes away) {
    dt_mesh_axes there = c->now.axes[e];
    return e != d && away && (away & to->axes[e]) == away && comes_behind(away, there) &&
           common_start(there | away, to->axes[e]) == (there | away);
}

static void move(conversion *c, const dt_layout *to) {
    for (int d = 0; d < c->rank; d++)
        for (int e = 0; e < c->rank; e++) {
            dt_mesh_axes away = c->now.axes[d] & ~common_start(c->now.axes[d], to->axes[d]);
            if (!moves(c, to, d, e, away)) continue;
            c->now.axes[d] &= ~away;
            c->now.axes[e] |= away;
            step(c, &dt_op_across_all_to_all, (dt_across_attr){.axes = away, .dim = d, .to = e});
        }
}

/* Returns those of `axes` that come before the first of `axes` over which the value is still a
 * partial sum; all of `axes` if it is a partial sum over none of them. */
static dt_mesh_axes before_sums(dt_mesh_axes axes, dt_mesh_axes partial) {
    dt_mesh_axes summed = axes & partial, lowest = summed & -summed;
    return summed ? axes & (lowest - 1) : axes;
}

static void cut(conversion *c, const dt_layout *to) {
    for (int d = 0; d < c->rank; d++) {
        dt_mesh_axes now = c->now.axes[d], more = before_sums(to->axes[d] & ~now, c->now.partial);
        if (!more || (more & dt_layout_axes(&c->now)) || !comes_behind(more, now) ||
            (now & ~to->axes[d]))
            continue;
        c->now.axes[d] |= more;
        step(c, &dt_op_across_own_part, (dt_across_attr){.axes = more, .dim = d});
    }
}

static void gather(conversion *c, const dt_layout *to) {
    for (int d = 0; d < c->rank; d++) {
        dt_mesh_axes gone = c->now.axes[d] & ~common_start(c->now.axes[d], to->axes[d]);
        if (!gone) continue;
        c->now.axes[d] &= ~gone;
        step(c, &dt_op_across_all_gather, (dt_across_attr){.axes = gone, .dim = d});
    }
}

/* Sends the value from the only device that has it to those that the layout names. */
static void transfer(conversion *c, const dt_layout *to) {
    const dt_mesh *m = &c->w->mesh;
    dt_across_attr a = {.axes = (((dt_mesh_axes)1 << m->n) - 1) & ~(m->time | m->replicas),
                        .dim = c->now.on - 1,
                        .to = to->on - 1};
    c->now.on = to->on;
    step(c, &dt_op_across_transfer, a);
}

dt_value dt_spmd_convert(dt_spmd_work *w, const dt_made *m, const dt_type *whole,
                         const dt_layout *to) {
    conversion c = {.w = w, .value = m->value, .now = m->layout, .rank = whole->rank};
    if (dt_layout_equal(&m->layout, to)) return c.value;
    if (c.now.on && c.now.on != to->on) {
        add_up(&c, to);
        transfer(&c, to);
    }
    cut(&c, to);
    add_up(&c, to);
    move(&c, to);
    cut(&c, to);
    gather(&c, to);
    cut(&c, to);
    return c.value;
}

/* ---- the cost of a conversion ---- */

/* How much a byte of a gather counts, where a byte of an all-reduce counts 2, since that sends each
 * byte twice. A gathered value needs more memory, and each reader computes with all of it. */
static const double dear = 3;

double dt_spmd_convert_bytes(const dt_spmd_work *w, const dt_type *whole, const dt_layout *from,
                             const dt_layout *to) {
    dt_type at = dt_type_at(whole, w->batch);
    double held = (double)dt_type_bytes(&at) / dt_mesh_parts(&w->mesh, dt_layout_axes(from)),
           bytes = 0;
    dt_mesh_axes partial = from->partial & ~to->partial, scattered = partial & dt_layout_axes(to);
    held /= dt_mesh_parts(&w->mesh, dt_layout_axes(to) & ~dt_layout_axes(from) & ~partial);
    double n = dt_mesh_parts(&w->mesh, scattered);
    bytes += held * (n - 1) / n;
    held /= n;
    n = dt_mesh_parts(&w->mesh, partial & ~scattered);
    bytes += 2 * held * (n - 1) / n + (from->on && from->on != to->on ? held : 0);
    for (int d = 0; d < whole->rank; d++) {
        dt_mesh_axes gone = from->axes[d] & ~common_start(from->axes[d], to->axes[d]),
                     moved = gone & dt_layout_axes(to);
        n = dt_mesh_parts(&w->mesh, gone);
        bytes += gone && gone == moved ? held * (n - 1) / n : dear * held * (n - 1);
        held *= gone == moved ? 1 : n;
    }
    return bytes;
}
