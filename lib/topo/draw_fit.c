/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how much of a slice is shown, and how. Small slices are drawn with space around the
 * chips. Larger ones are drawn tightly, with their planes side by side and in bands below each
 * other. If even that is too large, each axis longer than a limit is folded to its first chips,
 * "...", and its last one. The limit is the largest that fits, and it is odd: hosts have two chips
 * a side and should not be cut in half.
 */
#include <stddef.h>

#include "topo/draw.h"
#include "base/size.h"

enum {
    MOST_LINES = 44,
    ROOMY_MARGIN = 7,
    TIGHT_MARGIN = 6,
    ROOMY_GAP = 4,
    TIGHT_COLUMN = 4,
    WIDE_GAP = 3,
    FOLD = 5,
    ROOMY_BETWEEN = 6,
    TIGHT_BETWEEN = 2,
    NO_LIMIT = 1 << 20
};

int dt_shown_at(const dt_shown_axis *c, int i) {
    return c->folded && i == c->n - 1 ? c->size - 1 : i;
}

static void cut(dt_sketch *k, int limit) {
    for (int axis = 0; axis < 3; axis++) {
        int size = k->t->mesh[axis];
        k->cut[axis] =
            (dt_shown_axis){.n = size > limit ? limit : size, .folded = size > limit, .size = size};
    }
}

static void set_style(dt_sketch *k, bool roomy, int least_gap) {
    const int cores = k->t->mesh[3];
    k->roomy = roomy;
    /* the width of "[ a | b ]", or of "a|b" */
    k->cell = roomy ? cores * (k->label_width + 3) + 1 : cores * (k->label_width + 1) - 1;
    k->gap = roomy ? ROOMY_GAP : dt_max(TIGHT_COLUMN - k->cell, least_gap);
    k->margin = roomy ? ROOMY_MARGIN : TIGHT_MARGIN;
}

int dt_sketch_column(const dt_sketch *k, int i) {
    const dt_shown_axis *x = &k->cut[0];
    int fold = x->folded && i == x->n - 1 ? dt_max(FOLD - k->gap, 0) : 0;
    return i * (k->cell + k->gap) + fold + dt_topology_wraps(k->t, 0) * (k->roomy ? 2 : 1);
}

int dt_sketch_plane_width(const dt_sketch *k) {
    return dt_sketch_column(k, k->cut[0].n - 1) + k->cell +
           dt_topology_wraps(k->t, 0) * (k->roomy ? 2 : 1);
}

static int between(const dt_sketch *k) { return k->roomy ? ROOMY_BETWEEN : TIGHT_BETWEEN; }

int dt_sketch_plane_column(const dt_sketch *k, int plane) {
    int fold = k->cut[2].folded && plane == k->cut[2].n - 1 && plane % k->per_band ? FOLD - 1 : 0;
    return k->margin + plane % k->per_band * (dt_sketch_plane_width(k) + between(k)) + fold;
}

int dt_sketch_plane_lines(const dt_sketch *k) {
    return 1 + (k->t->mesh[2] > 1) + 2 * k->cut[1].n - 1 + 2 * dt_topology_wraps(k->t, 1);
}

int dt_sketch_bands(const dt_sketch *k) { return (k->cut[2].n + k->per_band - 1) / k->per_band; }

/* Puts as many planes side by side as fit on the page. False: not even one plane fits, or all bands
 * together have too many lines. */
static bool fits(dt_sketch *k) {
    int width = dt_sketch_plane_width(k),
        room = k->page - k->margin - (k->cut[2].folded ? FOLD - 1 : 0);
    k->per_band = dt_max((room + between(k)) / (width + between(k)), 1);
    /* makes the bands equally long */
    k->per_band = (k->cut[2].n + dt_sketch_bands(k) - 1) / dt_sketch_bands(k);
    return width <= room && dt_sketch_bands(k) * (dt_sketch_plane_lines(k) + 1) <= MOST_LINES;
}

void dt_sketch_fit(dt_sketch *k) {
    static const int limits[] = {NO_LIMIT, 17, 15, 13, 11, 9, 7, 5, 3};
    set_style(k, true, 0);
    cut(k, NO_LIMIT);
    if (fits(k)) return;
    set_style(k, false, 1);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        cut(k, limits[i]);
        if (fits(k)) {
            /* Widens the gaps between chips as long as that needs no further band. */
            const dt_sketch tight = *k;
            set_style(k, false, WIDE_GAP);
            if (!fits(k) || dt_sketch_bands(k) > dt_sketch_bands(&tight)) *k = tight;
            return;
        }
    }
}
