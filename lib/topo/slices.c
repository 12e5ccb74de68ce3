/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slices exist, and their names. "v3-8" counts cores (chips on v5e and v6e), "v4:2x2x2" gives
 * the grid of chips, "_twisted" after a grid selects its wiring, and the prefix "sim:" says that
 * the slice is simulated. For an unknown slice of a generation the error suggests the nearest ones:
 * the largest with at most as many chips, the smallest with more and, for a grid, the most similar
 * of these.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "topo/topo_impl.h"

/*
 * Determines which slices exist. One rule applies to all generations, with numbers from the
 * generation's row in topo/chips.h. That row also lists the slices that are not boxes of cubes. A
 * pod with optical switches (v4, v5p, tpu7x) joins whole cubes of 4x4x4 chips into any box up to a
 * number of cubes, either with its sides in any order or only from short to long:
 *
 *     4x4x4   4x4x8   4x4x12 ... 4x8x8 ... 12x16x16 ... 16x16x24
 *
 * Of the boxes with the same number of chips, Cloud TPU uses the one closest to a cube by default;
 * its documentation says "the default topology associated with a given quantity of chips is the one
 * that's most similar to a cube". Only that box has a name with a number, such as "v4-512". Boxes
 * of k x k x 2k and k x 2k x 2k can be wired with a twist (topo/wiring.c); on tpu7x, so can k x 2k
 * x 4k and longer ones, as libtpu's list of slices shows.
 */

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

/* Reads one shape of a list such as "1x1 2x2 4x4" into `side`. Returns the rest of the list, or
 * NULL at its end. */
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

/* Whether the shape is a box of whole cubes that the generation's pods can join. */
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

/* Orders slices of a generation by their number of chips, then from the most to the least cubic (by
 * the sum of sides, then by the longest side), then by the sides x and y, then untwisted ones
 * first. */
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

/* Lists all slices of a generation with `chips` chips; chips 0: with any number. */
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

/* ---- complete slices, and queries ---- */

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

/* Finds the slice of a generation that Cloud TPU offers by default with this number of chips.
 * Returns false, and does not change *out, if there is none. */
static bool slice_of_chips(const dt_chip *c, int chips, dt_slice *out) {
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

static bool slice_of_shape(const dt_chip *c, const int side[3], bool twisted, dt_slice *out) {
    dt_slice s = {.chip = c, .chips = {side[0], side[1], side[2]}, .twisted = twisted}, first = {0};
    if (!exists(&s)) return false;
    bool named = slice_of_chips(c, dt_slice_chips(&s), &first);
    complete(&s, named && by_size(&first, &s) == 0);
    *out = s;
    return true;
}

/* ---- slices with room for blocks, and what a name says ---- */

int64_t dt_slice_room(const dt_slice *s, int devices, const int64_t block[4]) {
    return s->chips[0] / block[0] * (s->chips[1] / block[1]) * (s->chips[2] / block[2]) *
           (devices / block[3]);
}

/* Returns the first slice of all[n] with room for `blocks` blocks, or NULL. Sets *devices to the
 * devices that each of its chips must show: more than usual only if a block needs more along the
 * axis of cores, since each device then has less memory. */
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

/* The name of a slice, and the parts of it that could be read. */
typedef struct wanted {
    const char *name;      /* the name as the user wrote it */
    dt_error row;          /* the error with which an unknown name fails */
    const dt_location *at; /* the source location of the name, for errors; may be NULL */
    const dt_chip *chip;   /* the generation; NULL: the name has none */
    int64_t chips;         /* the number of chips */
    int64_t side[3];       /* if `grid`: the number of chips along x, y and z */
    bool grid, twisted;    /* whether the name has a grid such as 2x2, and asks for a twist */
} wanted;

/* ---- what is wrong with a name ---- */

static int by_length(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Returns how much the shape of a slice differs from the requested grid: the sum of the differences
 * between their sides, both sorted by length. 0: no grid was requested, or they are alike. */
static int64_t unlike(const wanted *w, const dt_slice *s) {
    int have[3] = {s->chips[0], s->chips[1], s->chips[2]},
        want[3] = {(int)w->side[0], (int)w->side[1], (int)w->side[2]};
    int64_t sum = 0;
    qsort(have, 3, sizeof *have, by_length);
    qsort(want, 3, sizeof *want, by_length);
    for (int axis = 0; axis < 3; axis++) sum += abs(have[axis] - want[axis]);
    return w->grid ? sum : 0;
}

/* Whether s is nearer to the request than `best` (NULL: no slice has been found). Both have at most
 * the requested number of chips, or both have more. Of two with equally many chips, the one whose
 * shape is more like the requested grid is nearer. */
static bool is_nearer(const wanted *w, const dt_slice *s, const dt_slice *best) {
    if (!best || dt_slice_chips(s) == dt_slice_chips(best))
        return !best || unlike(w, s) < unlike(w, best);
    return (dt_slice_chips(s) > dt_slice_chips(best)) == (dt_slice_chips(s) <= w->chips);
}

static bool is_any_twisted(const dt_slice *all, int n) {
    bool any = false;
    for (int i = 0; i < n; i++) any = any || all[i].twisted;
    return any;
}

static void print_slice(const wanted *w, const dt_slice *s, dt_str *text) {
    dt_str_puts(text, s->name);
    if (w->grid && !strchr(s->name, ':'))
        dt_str_printf(text, s->chip->dims == 2 ? " (%dx%d)" : " (%dx%dx%d)", s->chips[0],
                      s->chips[1], s->chips[2]);
}

/* Appends "the nearest are v3-8 and v3-16": the nearest slice of the generation with at most the
 * requested number of chips, and the nearest with more. Either may not exist. If a twist was
 * requested and the generation has twists, only twisted slices are considered, else only others. */
static void print_nearest(const wanted *w, dt_str *text) {
    int n;
    DT_LOCAL dt_slice *all = dt_slices_of(w->chip, &n);
    const dt_slice *below = NULL, *above = NULL;
    bool twisted = w->twisted && is_any_twisted(all, n);
    for (int i = 0; i < n; i++) {
        const dt_slice **best = dt_slice_chips(&all[i]) <= w->chips ? &below : &above;
        if (all[i].twisted == twisted && is_nearer(w, &all[i], *best)) *best = &all[i];
    }
    dt_str_puts(text, below && above ? "the nearest are " : "the nearest is ");
    if (below) print_slice(w, below, text);
    dt_str_puts(text, below && above ? " and " : "");
    if (above) print_slice(w, above, text);
}

static void print_generations(dt_str *text) {
    int n;
    const dt_chip *const *chip = dt_chips(&n);
    dt_str_puts(text, "generations are ");
    for (int i = 0; i < n; i++)
        dt_str_printf(text, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", chip[i]->generation);
    dt_str_puts(text, "; write v3-8 or v4:2x2x2");
}

static dt_status *unknown(const wanted *w) {
    dt_local_str text = {0};
    if (w->chip) print_nearest(w, &text);
    else print_generations(&text);
    return dt_fail(w->row, w->at, "unknown slice '%.80s'; %s", w->name, dt_str_text(&text));
}

/* ---- grids ---- */

static dt_status *not_a_grid(const wanted *w) {
    return dt_fail(w->row, w->at, "'%.80s' is not of the form AxB or AxBxC", w->name);
}

/* Reads one side of a shape, a number of at least 1, into *out. Fails with w->row otherwise. */
static dt_status *read_side(const wanted *w, const char *digits, int64_t *out) {
    if (!dt_parse_int64(digits, out)) {
        if (errno == ERANGE)
            return dt_fail(w->row, w->at, "'%.80s': size %.40s is out of range", w->name, digits);
        return not_a_grid(w);
    }
    if (*out < 1)
        return dt_fail(w->row, w->at, "'%.80s': every size must be at least 1, got %lld", w->name,
                       (long long)*out);
    return NULL;
}

/* Reads the first `length` bytes of a text, such as "2x2" or "4x4x8", into w->side, and sets
 * w->grid and w->chips. A third side that is missing is 1. Fails with w->row if they are no
 * grid. */
static dt_status *read_grid(wanted *w, const char *text, size_t length) {
    char side[64];
    w->side[2] = 1;
    w->grid = true;
    const char *stop = text + length;
    int n = 0;
    for (const char *end; text; text = end < stop ? end + 1 : NULL, n++) {
        end = text + strcspn(text, "xX");
        end = end < stop ? end : stop;
        if (n == 3 || (size_t)(end - text) >= sizeof side) return not_a_grid(w);
        memcpy(side, text, (size_t)(end - text));
        side[end - text] = '\0';
        DT_TRY(read_side(w, side, &w->side[n]));
    }
    if (n < 2) return not_a_grid(w);
    if (!dt_mul_fits(w->side[0], w->side[1], &w->chips) ||
        !dt_mul_fits(w->chips, w->side[2], &w->chips))
        return dt_fail(w->row, w->at, "'%.80s': the number of chips is out of range", w->name);
    return NULL;
}

/* Returns the length of a grid without "_twisted" or "_untwisted" at its end, in upper or lower
 * case, and sets w->twisted. With any other suffix, returns the length of the whole text. */
static size_t read_twist(wanted *w, const char *grid) {
    size_t length = strcspn(grid, "_");
    w->twisted = strcasecmp(grid + length, "_twisted") == 0;
    return w->twisted || strcasecmp(grid + length, "_untwisted") == 0 ? length : strlen(grid);
}

static dt_status *find_grid(wanted *w, const char *grid, dt_slice *out) {
    DT_TRY(read_grid(w, grid, read_twist(w, grid)));
    /* Sides are limited to a value that is larger than any slice's. */
    for (int axis = 0; axis < 3; axis++)
        w->side[axis] = w->side[axis] < 1 << 20 ? w->side[axis] : 1 << 20;
    const int side[3] = {(int)w->side[0], (int)w->side[1], (int)w->side[2]};
    return slice_of_shape(w->chip, side, w->twisted, out) ? NULL : unknown(w);
}

/* ---- names ---- */

static const dt_chip *chip_of(const char *name, size_t length) {
    char generation[16];
    if (length >= sizeof generation) return NULL;
    memcpy(generation, name, length);
    generation[length] = '\0';
    return dt_chip_find(generation);
}

/* Returns the number with which a malformed count begins, such as 512 in "512_twisted", so that
 * slices of that size can be suggested; 0: it begins with no positive number; INT64_MAX: the number
 * is out of range. Sets w->twisted, so that twisted slices are suggested, if "_twisted" follows. */
static int64_t meant(wanted *w, const char *digits) {
    errno = 0;
    const long long n = strtoll(digits, NULL, 10);
    w->twisted = strcasecmp(digits + strspn(digits, "0123456789"), "_twisted") == 0;
    return errno == ERANGE ? INT64_MAX : n > 0 ? n : 0;
}

static dt_status *find_count(wanted *w, const char *digits, dt_slice *out) {
    int64_t n = 0, unit = w->chip->counts_cores ? w->chip->cores : 1;
    bool read = dt_parse_int64(digits, &n);
    if (!read) n = meant(w, digits);
    w->chips = n / unit;
    bool whole = read && n % unit == 0 && w->chips > 0 && w->chips <= INT32_MAX;
    return whole && slice_of_chips(w->chip, (int)w->chips, out) ? NULL : unknown(w);
}

dt_status *dt_slice_find(const char *name, dt_error unknown_row, const dt_location *at,
                         dt_slice *out) {
    wanted w = {.name = name, .row = unknown_row, .at = at};
    if (strncasecmp(name, "sim:", 4) == 0) name += 4;
    /* Both v5p:4x4x4 and v5p-4x4x4, as xpk writes it, are accepted. */
    size_t length = strcspn(name, "-:");
    w.chip = chip_of(name, length);
    const char *x = strpbrk(name + length, "xX");
    const bool has_shape = name[length] == ':' || (x && isdigit((unsigned char)x[1]));
    if (w.chip && has_shape) return find_grid(&w, name + length + 1, out);
    if (w.chip && name[length] == '-') return find_count(&w, name + length + 1, out);
    if (*name && strspn(name, "+-0123456789xX") == strlen(name)) {
        DT_TRY(read_grid(&w, name, strlen(name)));
        return dt_fail(w.row, at, "'%.80s' names no chip generation; write v3:2x2 or v3-8", w.name);
    }
    return unknown(&w);
}
