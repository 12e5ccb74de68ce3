/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to split a convolution over devices that its rule does not have.
 *
 *     space    a spatial dimension of lhs is divided together with the positions of the window,
 *              which are the result's. In the gradient of the kernel, dy takes the place of the
 *              kernel: its elements are the positions, and the sum over them is partial. In both
 *              cases a device needs the elements under its positions, including the borders of its
 *              neighbours' parts (op/halo.h)
 *     groups   each device has some of the groups, of features or of the batch
 */
#include "op/convolution.h"
#include "op/halo.h"
#include "op/shapes.h"
#include "op/window.h"

enum { SPACE = 3, GROUPS = SPACE + DT_MAX_SPATIAL };

/* Whether the positions of the window along spatial dimension i are the elements of rhs, as in a
 * kernel's gradient, and those of the result are the kernel's: the result has size 1 there, or rhs
 * has the batch, or neither has it and rhs is larger. False if rhs has size 1 and the result has
 * not. */
static bool sums_over_places(const dt_type *rhs, const dt_type *out, const dt_convolution_attr *a,
                             int i) {
    int64_t size = rhs->dim[a->rhs_spatial[i]], places = out->dim[a->out_spatial[i]];
    if (size == 1 || places == 1) return places == 1;
    return dt_type_has_batch(rhs) || (!dt_type_has_batch(out) && size > places);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_convolution_attr *a = attr;
    dt_convolution_rule(in, a, rule);
    for (int i = 0; i < a->n_spatial; i++) {
        rule->in[0][a->lhs_spatial[i]] = (int8_t)(SPACE + i);
        if (sums_over_places(&in[1], out, a, i))
            rule->in[1][a->rhs_spatial[i]] = (int8_t)(SPACE + i);
        else rule->out[a->out_spatial[i]] = (int8_t)(SPACE + i);
    }
    if (a->feature_groups > 1)
        rule->in[0][a->lhs_feature] = rule->in[1][a->rhs_out] = rule->out[a->out_feature] = GROUPS;
    if (a->batch_groups > 1)
        rule->in[0][a->lhs_batch] = rule->in[1][a->rhs_out] = rule->out[a->out_feature] = GROUPS;
}

/* Returns the window with stride and dilation exchanged, for a convolution in which the elements of
 * the kernel take the place of positions. */
static dt_window exchanged(dt_window w) {
    int64_t stride = w.stride;
    w.stride = w.dilation;
    w.dilation = stride;
    return w;
}

static bool find(const dt_partition_call *c, const dt_convolution_attr *a, const dt_type *out,
                 int i, dt_halo *r) {
    bool sums = sums_over_places(&c->type[1], out, a, i);
    int64_t size = c->type[1].dim[a->rhs_spatial[i]], places = out->dim[a->out_spatial[i]];
    dt_window_sweep s = {.window = a->window[i],
                         .taps = size,
                         .places = places,
                         .in = c->type[0].dim[a->lhs_spatial[i]]};
    if (sums) {
        s.window = exchanged(s.window);
        s.taps = places;
        s.places = size;
    }
    if (!dt_halo_find(&s, dt_mesh_parts(c->mesh, c->factor[SPACE + i]), r)) return false;
    r->window = sums ? exchanged(r->window) : r->window;
    return true;
}

static bool can(const dt_partition_call *c) {
    const dt_convolution_attr *a = c->node->attr;
    dt_halo r;
    for (int i = 0; i < a->n_spatial; i++)
        if (c->factor[SPACE + i] && !find(c, a, &c->node->type, i, &r)) return false;
    return a->feature_groups * a->batch_groups % dt_mesh_parts(c->mesh, c->factor[GROUPS]) == 0;
}

dt_convolution_attr dt_convolution_split(dt_partition_call *c, const dt_convolution_attr *a,
                                         const dt_type *out) {
    dt_convolution_attr local = *a;
    int groups = dt_mesh_parts(c->mesh, c->factor[GROUPS]);
    for (int i = 0; i < a->n_spatial; i++) {
        dt_halo r;
        if (!c->factor[SPACE + i] || !find(c, a, out, i, &r)) continue;
        c->in[0] = dt_halo_exchange(c, c->in[0], a->lhs_spatial[i], c->factor[SPACE + i], &r, 0);
        local.window[i] = r.window;
    }
    local.feature_groups /= a->feature_groups > 1 ? groups : 1;
    local.batch_groups /= a->batch_groups > 1 ? groups : 1;
    return local;
}

static dt_value emit(dt_partition_call *c) {
    dt_convolution_attr local = dt_convolution_split(c, c->node->attr, &c->node->type);
    return dt_convolution(c->in[0], c->in[1], &local);
}

const dt_partition_row dt_convolution_over_devices = {rule, can, emit};
