/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halos: the elements that a device needs from its neighbours if the input of a window op is
 * divided among devices.
 *
 * A dimension of x is cut into equal parts, and so are the positions of the window that moves over
 * it. The elements under a device's positions form a range. The range begins `low` elements before
 * the device's own part of x and ends `high` elements behind it; with a `drift`, it moves by that
 * many elements more from each device to the next. collective_permute brings the range, and then
 * `window` moves over it.
 *
 *     3 taps, padding SAME, 8 elements and positions on 2 devices   0123|4567   ->   -01234, 34567-
 *
 * Where the window skips elements, the range is shorter than low and high of the window would
 * suggest. The range includes the padding, so the window over it has none, except where holes leave
 * some at its ends.
 */
#ifndef DT_OP_HALO_H
#define DT_OP_HALO_H

#include "op/partition.h"

typedef struct dt_halo {
    int64_t low, high, drift;
    dt_window window;
} dt_halo;

/* A window that moves along one dimension: it has `places` positions, covers `taps` elements at
 * each of them, and moves over `in` elements. */
typedef struct dt_window_sweep {
    dt_window window;
    int64_t taps, places, in;
} dt_window_sweep;

/* The rule over devices of ops whose result has as many dimensions as their first input: dimension
 * d of both may be divided, by one factor. Further inputs stay whole. */
void dt_halo_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
/* Computes the halo of each device. Returns false if the ranges of devices are not at equal
 * distances, if a size is not divisible by `parts` or a part is empty, or if the windows of a
 * device cover only holes of the dilation. */
bool dt_halo_find(const dt_window_sweep *s, int parts, dt_halo *out);
/* Brings elements from neighbours. x is a device's part, cut along `dim` by `axes`. Returns the
 * range of elements that the device needs. */
dt_value dt_halo_exchange(const dt_partition_call *c, dt_value x, int dim, dt_mesh_axes axes,
                          const dt_halo *r, double fill);

#endif
