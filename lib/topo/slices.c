/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of slices. "v3-8" counts cores (chips on v5e and v6e), "v4:2x2x2" gives the grid of chips,
 * "_twisted" after a grid selects its wiring, and the prefix "sim:" says that the slice is
 * simulated. topo/shapes.c lists the slices that exist. For an unknown name the error suggests the
 * nearest ones: the next smaller and next larger by chips and, for a grid, the most similar of
 * these.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "topo/slice.h"

/* A name, and the parts of it that could be read. */
typedef struct wanted {
    const char *name; /* the name as it was written */
    dt_error row;
    const dt_location *at;
    const dt_chip *chip;
    int64_t chips;
    int64_t side[3];
    bool grid, twisted;
} wanted;

/* ---- what is wrong with a name ---- */

static int by_length(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The difference between the shape of a slice and the requested shape, for any order of sides. */
static int64_t unlike(const wanted *w, const dt_slice *s) {
    int have[3] = {s->chips[0], s->chips[1], s->chips[2]},
        want[3] = {(int)w->side[0], (int)w->side[1], (int)w->side[2]};
    int64_t sum = 0;
    qsort(have, 3, sizeof *have, by_length);
    qsort(want, 3, sizeof *want, by_length);
    for (int axis = 0; axis < 3; axis++) sum += abs(have[axis] - want[axis]);
    return w->grid ? sum : 0;
}

/* Whether s is nearer to the request than `best` (NULL: none so far). Compares only slices that are
 * smaller, or only slices that are larger, than the request. */
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

/* prints "the nearest are v3-8 and v3-16" */
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

/* Reads one side, a number of at least 1. */
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

/* Reads "2x2" or "4x4x8" into w->side; a missing third side is 1. */
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

/* Removes "_twisted" or "_untwisted" from a grid; returns the remaining length. */
static size_t read_twist(wanted *w, const char *grid) {
    size_t length = strcspn(grid, "_");
    w->twisted = strcasecmp(grid + length, "_twisted") == 0;
    return w->twisted || strcasecmp(grid + length, "_untwisted") == 0 ? length : strlen(grid);
}

static dt_status *find_grid(wanted *w, const char *grid, dt_slice *out) {
    DT_TRY(read_grid(w, grid, read_twist(w, grid)));
    /* Limits sides to a value that is larger than any slice's. */
    for (int axis = 0; axis < 3; axis++)
        w->side[axis] = w->side[axis] < 1 << 20 ? w->side[axis] : 1 << 20;
    const int side[3] = {(int)w->side[0], (int)w->side[1], (int)w->side[2]};
    return dt_slice_of_shape(w->chip, side, w->twisted, out) ? NULL : unknown(w);
}

/* ---- names ---- */

static const dt_chip *chip_of(const char *name, size_t length) {
    char generation[16];
    if (length >= sizeof generation) return NULL;
    memcpy(generation, name, length);
    generation[length] = '\0';
    return dt_chip_find(generation);
}

/* The number of chips in a name with a suffix ("512_twisted"). Slices of that size are
 * suggested, twisted ones if the suffix says so. */
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
    return whole && dt_slice_of_chips(w->chip, (int)w->chips, out) ? NULL : unknown(w);
}

dt_status *dt_slice_find(const char *name, dt_error unknown_row, const dt_location *at,
                         dt_slice *out) {
    wanted w = {.name = name, .row = unknown_row, .at = at};
    if (strncasecmp(name, "sim:", 4) == 0) name += 4;
    size_t length = strcspn(name, "-:"); /* accepts v5p:4x4x4, and v5p-4x4x4 as xpk writes it */
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
