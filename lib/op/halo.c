/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of windows that are divided among devices: see halo.h. */
#include "op/halo.h"

#include "op/window.h"

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

bool dt_halo_find(const dt_window_sweep *s, int parts, dt_halo *out) {
    const dt_window *w = &s->window;
    int64_t places = s->places / parts, own = s->in / parts, base = w->base_dilation;
    if (places < 1 || own < 1 || s->taps < 1 || s->places % parts || s->in % parts ||
        places * w->stride % base)
        return false;
    /* on the dilated dimension, relative to the beginning of the device's part, its windows
     * cover start .. end */
    int64_t start = -w->low, end = (places - 1) * w->stride - w->low + (s->taps - 1) * w->dilation;
    int64_t first = ceil_divide(start, base), last = floor_divide(end, base);
    *out = (dt_halo){.low = -first,
                     .high = last - (own - 1),
                     .drift = places * w->stride / base - own,
                     .window = *w};
    out->window.low = first * base - start;
    out->window.high = end - last * base;
    return last >= first;
}

dt_value dt_halo_exchange(const dt_partition_call *c, dt_value x, int dim, dt_mesh_axes axes,
                          const dt_halo *r, double fill) {
    dt_across_attr a = dt_partition_across(c, axes);
    a.dim = dim;
    a.low = r->low;
    a.high = r->high;
    a.drift = r->drift;
    a.fill = fill;
    return r->low || r->high || r->drift ? dt_across(x, &dt_op_across_collective_permute, &a) : x;
}

void dt_halo_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)attr, (void)in;
    for (int d = 0; d < out->rank; d++) rule->in[0][d] = rule->out[d] = (int8_t)d;
}
