/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halos: the elements that a device needs from its neighbours if the input of a window op is
 * divided among devices.
 *
 * A dimension of x is cut in parts, and so are the places of a window that goes over it: every
 * device has the same count of either. The input under a device's places is a range that begins
 * `low` elements before its own part of x (from the second device on `drift` elements further
 * each), and ends `high` behind it: collective_permute brings it, and then `window` goes over what
 * has come.
 *
 *     3 taps, padding SAME, 8 elements and places on 2 devices   0123|4567   ->   -01234, 34567-
 *
 * The range is shorter than low and high of the window say where the window skips elements. The
 * range includes the padding, so the window over it has none, except where holes leave some at its
 * ends.
 */
#ifndef DT_OP_HALO_H
#define DT_OP_HALO_H

#include "op/partition.h"

typedef struct dt_halo {
    int64_t low, high, drift;
    dt_window window;
} dt_halo;

/* One dimension: `places` windows of `taps` elements over `in` elements. */
typedef struct dt_window_sweep {
    dt_window window;
    int64_t taps, places, in;
} dt_window_sweep;

/* The rule over devices of ops whose dimensions are those of their first input. */
void dt_halo_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
/* False: the ranges of devices are not at equal distances, or a size is not divisible. */
bool dt_halo_find(const dt_window_sweep *s, int parts, dt_halo *out);
/* Exchanges neighbours' elements. x is the part of a device, cut along `dim` by `axes`; the
 * result is the range that the device needs. */
dt_value dt_halo_exchange(const dt_partition_call *c, dt_value x, int dim, dt_mesh_axes axes,
                          const dt_halo *r, double fill);

#endif
