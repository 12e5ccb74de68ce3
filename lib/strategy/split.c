/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a split of a value over logical devices, and lists the possible splits. These are all
 * products of one factor per dimension, each of which divides its dimension, that equal the number
 * of devices. There are few enough to enumerate.
 */
#include "strategy/split.h"

#include <string.h>

#include "topo/topo.h"

enum { MOST_SHOWN = 4 };

/* ---- possible splits ---- */

typedef struct way {
    /* parts: [n] number of parts of each dimension; most: the largest of these numbers */
    int64_t parts[DT_MAX_RANK], most;
} way;

/* The state of the enumeration: the current split, and the MOST_SHOWN best ones so far, best
 * first. */
typedef struct walk {
    const dt_type *type;
    way now, best[MOST_SHOWN];
    int kept, n;
} walk;

/* Whether split a is suggested before b: the more even split comes first; of equally even ones, the
 * one that divides later dimensions into more parts. */
static bool is_before(const way *a, const way *b, int rank) {
    if (a->most != b->most) return a->most < b->most;
    for (int d = 0; d < rank; d++)
        if (a->parts[d] != b->parts[d]) return a->parts[d] < b->parts[d];
    return false;
}

static void keep_best(walk *w) {
    int at = w->kept < MOST_SHOWN ? w->kept++ : MOST_SHOWN - 1;

    w->n++;
    if (w->n > MOST_SHOWN && !is_before(&w->now, &w->best[at], w->type->rank)) return;
    for (; at > 0 && is_before(&w->now, &w->best[at - 1], w->type->rank); at--)
        w->best[at] = w->best[at - 1];
    w->best[at] = w->now;
}

/* Enumerates all ways to divide dimensions d, d + 1, ... into `left` parts in all. */
static void deal(walk *w, int d, int64_t left) {
    int64_t most = w->now.most;

    if (d == w->type->rank) {
        if (left == 1) keep_best(w);
        return;
    }
    for (int64_t parts = 1; parts <= left; parts++) {
        bool divides = parts == 1 || (w->type->dim[d] >= 0 && w->type->dim[d] % parts == 0);
        if (left % parts != 0 || !divides) continue;
        w->now.parts[d] = parts;
        w->now.most = parts > most ? parts : most;
        deal(w, d + 1, left / parts);
    }
    w->now.most = most;
}

/* Appends a shape such as "(32, 64, 64, 3)". */
static void print_shape(const dt_type *type, int64_t rows, dt_str *out) {
    const dt_type shown = rows > 0 ? dt_type_at(type, rows) : *type;
    dt_shape_print(&shown, out);
}

void dt_split_ways(const dt_type *type, int64_t rows, int logical, dt_str *out) {
    /* If the number of rows is unknown, 0 rows are assumed, which any number of parts divides
     * evenly. */
    const dt_type any = dt_type_at(type, rows > 0 ? rows : 0);
    walk w = {.type = type};

    deal(&w, 0, logical);
    if (w.n == 0) {
        w.type = &any;
        deal(&w, 0, logical);
    }
    if (w.n == 0) {
        print_shape(type, rows, out);
        dt_str_printf(out, " cannot be split into %d parts; replicate it", logical);
        return;
    }
    dt_str_printf(out, "%d way%s to split ", w.n, w.n == 1 ? "" : "s");
    print_shape(type, rows, out);
    dt_str_printf(out, " into %d: ", logical);
    for (int i = 0; i < w.kept; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_list_print(out, w.best[i].parts, type->rank);
    }
    dt_str_puts(out, w.n > w.kept ? ", ..." : "");
}

/* ---- checks ---- */

static dt_status *check_rank(const dt_split *s, const char *shape) {
    int rank = s->type->rank;

    if (s->n == rank) return NULL;
    return dt_fail(DT_E_SPLIT, NULL, "%s has %d number%s, but %s of shape %s has %d dimension%s",
                   s->what, s->n, s->n == 1 ? "" : "s", s->of, shape, rank, rank == 1 ? "" : "s");
}

static dt_status *check_sizes(const dt_split *s, const char *shape) {
    const dt_type type = s->rows > 0 ? dt_type_at(s->type, s->rows) : *s->type;

    for (int d = 0; d < s->n; d++) {
        int64_t parts = s->parts[d];
        if (parts < 1)
            return dt_fail(DT_E_SPLIT, NULL, "%s[%d] must be at least 1, got %lld", s->name, d,
                           (long long)parts);
        if (type.dim[d] >= 0 && type.dim[d] % parts != 0)
            return dt_fail(DT_E_SPLIT, NULL,
                           "%s[%d] is %lld, but dimension %d of %s of shape %s cannot be divided "
                           "into %lld equal parts",
                           s->name, d, (long long)parts, d, s->of, shape, (long long)parts);
    }
    return NULL;
}

/* Checks that there are as many parts as logical devices. shape: text of the shape; "": unknown. */
static dt_status *check_product(const dt_split *s, const char *shape) {
    const char *of = *shape ? s->of : "", *is = *shape ? " is of shape " : "",
               *colon = *shape ? ": " : "";
    int64_t product = 1;
    bool fits = true;

    for (int d = 0; d < s->n; d++) fits = fits && dt_mul_fits(product, s->parts[d], &product);
    if (!fits)
        return dt_fail(DT_E_SPLIT, NULL,
                       "%s makes more parts than can be counted, but a replica has %d logical "
                       "device%s%s%s%s%s",
                       s->what, s->logical, s->logical == 1 ? "" : "s", colon, of, is, shape);
    if (product == s->logical) return NULL;
    return dt_fail(DT_E_SPLIT, NULL,
                   "%s makes %lld part%s, but a replica has %d logical device%s%s%s%s%s", s->what,
                   (long long)product, product == 1 ? "" : "s", s->logical,
                   s->logical == 1 ? "" : "s", colon, of, is, shape);
}

static dt_status *suggest_ways(const dt_split *s, dt_status *bad) {
    dt_local_str ways = {0};

    dt_split_ways(s->type, s->rows, s->logical, &ways);
    return dt_suggest(bad, "%s", dt_str_text(&ways));
}

dt_status *dt_split_check_parts(const dt_split *s) {
    dt_local_str shape = {0};

    if (s->type) print_shape(s->type, s->rows, &shape);
    dt_status *bad = check_product(s, dt_str_text(&shape));
    return bad && s->type ? suggest_ways(s, bad) : bad;
}

dt_status *dt_split_check(const dt_split *s) {
    dt_local_str shape = {0};

    print_shape(s->type, s->rows, &shape);
    dt_status *bad = check_rank(s, dt_str_text(&shape));
    if (!bad) bad = check_sizes(s, dt_str_text(&shape));
    return bad ? suggest_ways(s, bad) : dt_split_check_parts(s);
}
