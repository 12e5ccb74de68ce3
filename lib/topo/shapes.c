/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which slices exist. One rule applies to all generations, with numbers from the
 * generation's row in topo/chips.h. Small slices are listed in that row. A pod with optical
 * switches (v4, v5p, tpu7x) joins whole cubes of 4x4x4 chips into any box up to a number of cubes,
 * either with its sides in any order or only from short to long:
 *
 *     4x4x4   4x4x8   4x4x12 ... 4x8x8 ... 12x16x16 ... 16x16x24
 *
 * Of the boxes with the same number of chips, Cloud TPU uses the one closest to a cube by default;
 * its documentation says "the default topology associated with a given quantity of chips is the one
 * that's most similar to a cube". Only that box has a name that counts chips, such as "v4-512".
 * Boxes of k x k x 2k and k x 2k x 2k can be wired with a twist (topo/wiring.c); on tpu7x, so can
 * k x 2k x 4k and longer ones, as libtpu's list of slices shows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/slice.h"

enum { CUBE = 4, LONGEST_SIDE = 256 };

int dt_slice_chips(const dt_slice *s) { return s->chips[0] * s->chips[1] * s->chips[2]; }

/* ---- hosts ---- */

/* Whether the slice is one of the small ones that are a single large host. */
static bool is_lone(const dt_slice *s) {
    const int *most = s->chip->lone_host;
    return s->chips[0] <= most[0] && s->chips[1] <= most[1] && s->chips[2] <= most[2];
}

void dt_slice_host(const dt_slice *s, int host[3]) {
    const int *most = is_lone(s) ? s->chip->lone_host : s->chip->host;
    for (int axis = 0; axis < 3; axis++)
        host[axis] = s->chips[axis] < most[axis] ? s->chips[axis] : most[axis];
}

/* ---- the rules ---- */

/* Reads one shape of a list like "1x1 2x2 4x4"; returns the rest of the list, or NULL at its
 * end. */
static const char *read_shape(const char *list, int side[3]) {
    side[0] = side[1] = side[2] = 1;
    if (!*list) return NULL;
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        side[axis] = (int)strtol(list, &end, 10);
        list = end + (*end == 'x');
        if (*end != 'x') break;
    }
    return list + (*list == ' ');
}

static bool same(const int a[3], const int b[3]) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool is_listed(const dt_chip *c, const int side[3]) {
    int one[3];
    for (const char *at = c->shapes; at && (at = read_shape(at, one));)
        if (same(one, side)) return true;
    return false;
}

/* Whether the shape is a box of whole cubes. */
static bool is_box(const dt_chip *c, const int side[3]) {
    int64_t cubes = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (side[axis] < 1 || side[axis] % CUBE || side[axis] > LONGEST_SIDE) return false;
        cubes *= side[axis] / CUBE;
    }
    return cubes <= c->cubes && (c->any_order || (side[0] <= side[1] && side[1] <= side[2]));
}

/* Whether a box can be twisted: it is k x k x 2k or k x 2k x 2k or, with long twists, k x 2k x 4k,
 * 8k or 16k. */
static bool can_twist(const dt_chip *c, const int side[3]) {
    const int k = side[0];
    if (!is_box(c, side) || side[2] % (2 * k)) return false;
    int ends = side[2] / k;
    bool power = (ends & (ends - 1)) == 0;
    return (side[1] == k && ends == 2) ||
           (side[1] == 2 * k && (ends == 2 || (c->long_twists && power && ends <= 16)));
}

static bool exists(const dt_slice *s) {
    return s->twisted ? can_twist(s->chip, s->chips)
                      : is_listed(s->chip, s->chips) || is_box(s->chip, s->chips);
}

static bool axis_wraps(const dt_slice *s, int axis) {
    return s->chip->dims == 2 ? s->chips[axis] == s->chip->wrap : is_box(s->chip, s->chips);
}

/* ---- lists ---- */

typedef struct shelf {
    dt_slice *slice;
    int n, cap;
} shelf;

static void put(shelf *all, const dt_slice *s) {
    if (!exists(s)) return;
    DT_GROW(all->slice, all->cap, all->n + 1);
    all->slice[all->n++] = *s;
}

static int longest(const dt_slice *s) {
    int most = s->chips[0] > s->chips[1] ? s->chips[0] : s->chips[1];
    return most > s->chips[2] ? most : s->chips[2];
}

/* Orders slices by their number of chips, then from the most to the least cubic, then by ascending
 * sides, then untwisted ones first. */
static int by_size(const void *a, const void *b) {
    const dt_slice *s = a, *t = b;
    const int order[] = {dt_slice_chips(s) - dt_slice_chips(t),
                         s->chips[0] + s->chips[1] + s->chips[2] - t->chips[0] - t->chips[1] -
                             t->chips[2],
                         longest(s) - longest(t),
                         s->chips[0] - t->chips[0],
                         s->chips[1] - t->chips[1],
                         s->twisted - t->twisted};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i]) return order[i];
    return 0;
}

static void put_boxes(shelf *all, const dt_chip *c) {
    for (int x = 1; x <= c->cubes; x++)
        for (int y = 1; x * y <= c->cubes; y++)
            for (int z = 1; x * y * z <= c->cubes; z++) {
                dt_slice s = {.chip = c, .chips = {CUBE * x, CUBE * y, CUBE * z}};
                put(all, &s);
                s.twisted = true;
                put(all, &s);
            }
}

/* Lists all slices of the generation with `chips` chips; 0: with any number. */
static shelf list(const dt_chip *c, int chips) {
    shelf all = {0};
    dt_slice s = {.chip = c};
    for (const char *at = c->shapes; at && (at = read_shape(at, s.chips));) put(&all, &s);
    put_boxes(&all, c);
    int n = 0;
    for (int i = 0; i < all.n; i++)
        if (chips == 0 || dt_slice_chips(&all.slice[i]) == chips) all.slice[n++] = all.slice[i];
    all.n = n;
    if (n > 0) qsort(all.slice, (size_t)n, sizeof *all.slice, by_size);
    return all;
}

/* ---- names ---- */

static void name_default(dt_slice *s) {
    const dt_chip *c = s->chip;
    snprintf(s->name, sizeof s->name, "%s-%d", c->type ? c->type : c->generation,
             dt_slice_chips(s) * (c->counts_cores ? c->cores : 1));
}

static void name_shape(dt_slice *s) {
    int n = snprintf(s->name, sizeof s->name, "%s:%dx%d", s->chip->generation, s->chips[0],
                     s->chips[1]);
    if (s->chip->dims == 3)
        n += snprintf(s->name + n, sizeof s->name - (size_t)n, "x%d", s->chips[2]);
    if (s->twisted) snprintf(s->name + n, sizeof s->name - (size_t)n, "_twisted");
}

static void complete(dt_slice *s, bool is_default) {
    for (int axis = 0; axis < 3; axis++) s->wrap[axis] = axis_wraps(s, axis);
    (is_default ? name_default : name_shape)(s);
}

dt_slice *dt_slices_of(const dt_chip *c, int *n) {
    shelf all = list(c, 0);
    for (int i = 0; i < all.n; i++)
        complete(&all.slice[i],
                 i == 0 || dt_slice_chips(&all.slice[i]) != dt_slice_chips(&all.slice[i - 1]));
    *n = all.n;
    return all.slice;
}

bool dt_slice_of_chips(const dt_chip *c, int chips, dt_slice *out) {
    shelf all = list(c, chips);
    bool found = all.n > 0;
    if (found) {
        *out = all.slice[0];
        complete(out, true);
    }
    free(all.slice);
    return found;
}

bool dt_slice_is_twisted_by_default(const dt_slice *s) {
    return s->chip->twists && !s->twisted && can_twist(s->chip, s->chips);
}

bool dt_slice_exceeds_job(const dt_slice *s) {
    return s->chip->job_cubes > 0 && dt_slice_chips(s) > s->chip->job_cubes * CUBE * CUBE * CUBE;
}

bool dt_slice_of_shape(const dt_chip *c, const int side[3], bool twisted, dt_slice *out) {
    dt_slice s = {.chip = c, .chips = {side[0], side[1], side[2]}, .twisted = twisted}, first = {0};
    if (!exists(&s)) return false;
    bool named = dt_slice_of_chips(c, dt_slice_chips(&s), &first);
    complete(&s, named && by_size(&first, &s) == 0);
    *out = s;
    return true;
}

/* ---- slices with room for blocks ---- */

int64_t dt_slice_room(const dt_slice *s, int devices, const int64_t block[4]) {
    return s->chips[0] / block[0] * (s->chips[1] / block[1]) * (s->chips[2] / block[2]) *
           (devices / block[3]);
}

/* The first slice of a list with enough room. Chips show more devices than usual only if a block
 * needs more, since each device has less memory then. */
static const dt_slice *first_with_room(const dt_slice *all, int n, const int64_t block[4],
                                       int64_t blocks, int *devices) {
    for (int i = 0; i < n; i++)
        if (block[3] <= all[i].chip->cores) {
            *devices = block[3] > all[i].chip->devices ? (int)block[3] : all[i].chip->devices;
            if (dt_slice_room(&all[i], *devices, block) >= blocks) return &all[i];
        }
    return NULL;
}

bool dt_slice_with_room(const dt_chip *c, const int64_t block[4], int64_t blocks, dt_slice *out,
                        int *devices) {
    int chips, n, show;
    const dt_chip *const *chip = dt_chips(&chips);
    bool any = false;
    for (int i = 0; i < chips; i++) {
        if (c && chip[i] != c) continue;
        DT_LOCAL dt_slice *all = dt_slices_of(chip[i], &n);
        const dt_slice *s = first_with_room(all, n, block, blocks, &show);
        if (s && (!any || dt_slice_chips(s) < dt_slice_chips(out))) {
            *out = *s;
            *devices = show;
            any = true;
        }
    }
    return any;
}
