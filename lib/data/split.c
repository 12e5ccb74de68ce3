/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the examples of `train` that are set aside for validation. Without shuffle, stratify and
 * folds these are the last ones, as in Keras: train is `take` and validation is `skip` of the same
 * source. Otherwise each part is a `select` of its examples, in file order, which depend on the
 * seed and the data alone.
 *
 *     stratify: examples are grouped by the stored value of an element, and each group is divided
 *               in the same proportion; without it, all examples are one group
 *     shuffle:  the order within a group is a permutation by the seed; without it, file order
 *
 *     fraction: the last members of each group are for validation
 *     fold:     members are dealt to the folds in turn or, without stratify and shuffle, a fold is
 *               a range of the file; one fold is for validation
 */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/size.h"
#include "data/parts.h"
#include "data/pipeline/build.h"

typedef struct member {
    uint64_t class; /* hash of the stored value of the `stratify` element; 0 without it */
    uint32_t row;
} member;

/* The members [first, first + n) have the same class; without folds, `aside` of them are for
 * validation. */
typedef struct group {
    int64_t first, n, aside;
    /* the fraction lost by rounding `aside` down; -1 if no further member can be set aside */
    double rest;
} group;

typedef struct division {
    const dt_parts *d;
    const dt_validation_split *q;
    int64_t n;
    member *member; /* [n] the examples, sorted by class, then by row */
    group *group;   /* [groups] sorted by their first rows */
    int64_t groups;
    bool *aside; /* [n] whether each row is set aside for validation */
} division;

/* Returns floor(n * (1 - f)), corrected for the rounding of the product, so that 10,000 * (1 - 0.2)
 * is 8,000. */
static int64_t training_count(int64_t n, double f) {
    double x = (double)n * (1 - f), near = round(x);
    return (int64_t)(fabs(x - near) < 1e-9 * (double)n ? near : floor(x));
}

static dt_status *no_memory(const division *v) {
    return dt_fail(DT_E_NO_MEMORY, &v->d->spec.at, "out of memory to divide %lld examples",
                   (long long)v->n);
}

/* ---- groups ---- */

static int by_class(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static dt_status *read_classes(division *v, const dt_rows *train, int element) {
    const dt_rows one = {
        .x = train->x, .examples = train->examples, .stored = train->stored, .index = &element};
    dt_element_rows x;
    dt_status *s = dt_element_rows_open(&x, &one, 0, NULL);
    for (int64_t i = 0; !s && i < v->n; i++) {
        const void *row;
        s = dt_element_rows_get(&x, i, &row);
        if (!s) v->member[i].class = dt_hash_bytes(0, row, (size_t)dt_rows_bytes(&one, 0));
    }
    free(x.memory);
    if (!s) qsort(v->member, (size_t)v->n, sizeof *v->member, by_class);
    return s;
}

static dt_status *find_classes(division *v, const dt_rows *train) {
    const int e = dt_element_find(train->stored, train->x->n, v->q->stratify);
    if (e >= 0) return read_classes(v, train, e);
    const int n = train->x->n;
    const char **names = dt_arena_array(v->d->arena, const char *, n);
    for (int i = 0; i < n; i++) names[i] = train->stored[i].name;
    return dt_suggest_names(dt_fail(DT_E_DATASET_KEYS, &v->q->stratify_at,
                                    "stratify: the data has no element '%.80s'", v->q->stratify),
                            dt_nearest(v->q->stratify, names, n), names, n, "known:");
}

static int by_first_row(const void *a, const void *b, void *members) {
    const member *m = members;
    const uint32_t x = m[((const group *)a)->first].row, y = m[((const group *)b)->first].row;
    return x < y ? -1 : x > y;
}

static int64_t count_groups(const division *v) {
    int64_t n = 1;
    for (int64_t i = 1; i < v->n; i++) n += v->member[i].class != v->member[i - 1].class;
    return n;
}

/* Refuses to group by an element that has more than n / 2 different values in n examples. A
 * regression target has about as many values as there are examples, so each group would be a single
 * example. */
static dt_status *check_groups(const division *v) {
    if (v->groups == 1 || v->groups <= v->n / 2) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &v->q->stratify_at,
                              "stratify: '%.80s' has %lld different values in %lld examples",
                              v->q->stratify, (long long)v->groups, (long long)v->n),
                      "name an element of classes, or leave 'stratify' out");
}

static dt_status *make_groups(division *v) {
    v->groups = count_groups(v);
    if (v->q->stratify_unasked && v->groups > v->n / 2) {
        for (int64_t i = 0; i < v->n; i++) v->member[i] = (member){.row = (uint32_t)i};
        v->groups = 1;
    }
    if (v->q->stratify) DT_TRY(check_groups(v));
    v->group = dt_try_alloc((size_t)v->groups * sizeof *v->group);
    if (!v->group) return no_memory(v);
    for (int64_t i = 0, at = -1; i < v->n; i++) {
        if (i == 0 || v->member[i].class != v->member[i - 1].class)
            v->group[++at] = (group){.first = i};
        v->group[at].n++;
    }
    qsort_r(v->group, (size_t)v->groups, sizeof *v->group, by_first_row, v->member);
    return NULL;
}

/* ---- how many members of each group to set aside ---- */

static int by_rest(const void *a, const void *b, void *groups) {
    const group *g = groups, *x = &g[*(const int64_t *)a], *y = &g[*(const int64_t *)b];
    if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sets how many members of each group are set aside: n * fraction, rounded down. The groups with
 * the largest remainders get the examples that rounding down left over, one each. If there are
 * several groups, each keeps at least one example for training. */
static dt_status *apportion(division *v) {
    int64_t left = v->n - training_count(v->n, v->q->fraction);
    int64_t *order = dt_try_alloc((size_t)v->groups * sizeof *order);
    if (!order) return no_memory(v);
    for (int64_t i = 0; i < v->groups; i++) {
        group *g = &v->group[i];
        const int64_t most = v->groups > 1 ? g->n - 1 : g->n;
        order[i] = i;
        g->aside = dt_min((int64_t)floor((double)g->n * v->q->fraction + 1e-9), most);
        g->rest = g->aside < most ? (double)g->n * v->q->fraction - (double)g->aside : -1;
        left -= g->aside;
    }
    qsort_r(order, (size_t)v->groups, sizeof *order, by_rest, v->group);
    for (int64_t i = 0; i < v->groups && left > 0; i++) {
        group *g = &v->group[order[i]];
        if (g->rest < 0) break;
        g->aside++;
        left--;
    }
    free(order);
    return NULL;
}

/* ---- dividing the examples ---- */

/* Returns the row at position i in a group's order. */
static uint32_t row_of(const division *v, const group *g, const dt_permutation *p, int64_t i) {
    const int64_t at = v->q->shuffle ? (int64_t)dt_permutation_at(p, (uint64_t)i) : i;
    return v->member[g->first + at].row;
}

/* Returns the fold of member i of a group of n members; `dealt` members are in the groups before
 * it. Without shuffling and grouping, folds are consecutive ranges of the file, and the first ones
 * are longer by one example, as in scikit-learn's KFold. Otherwise members are dealt in turn. */
static int64_t fold_of(const dt_validation_split *q, int64_t dealt, int64_t i, int64_t n) {
    const int64_t each = n / q->folds, longer = n % q->folds, in_longer = longer * (each + 1);
    if (q->shuffle || q->stratify) return (dealt + i) % q->folds;
    return i < in_longer ? i / (each + 1) : longer + (i - in_longer) / each;
}

/* Sets aside members of one group. `dealt` is the number of members in the groups before it;
 * members are assigned to folds from there on, so that the sizes of the folds differ by at most one
 * example. */
static void set_aside(division *v, int64_t number, int64_t dealt) {
    const group *g = &v->group[number];
    const dt_validation_split *q = v->q;
    const dt_permutation p =
        dt_permutation_make(q->seed, "validation_split", (uint64_t)number, (uint64_t)g->n);
    /* If fold is 0, training uses each fold in turn; elsewhere the first one is used. */
    const int64_t fold = dt_max(q->fold, 1) - 1;
    for (int64_t i = 0; i < g->n; i++)
        v->aside[row_of(v, g, &p, i)] =
            q->folds > 0 ? fold_of(q, dealt, i, g->n) == fold : i >= g->n - g->aside;
}

static dt_status *divide(division *v, const dt_rows *train) {
    int64_t dealt = 0;
    for (int64_t i = 0; i < v->n; i++) v->member[i] = (member){.row = (uint32_t)i};
    if (v->q->stratify) DT_TRY(find_classes(v, train));
    DT_TRY(make_groups(v));
    if (v->q->folds == 0) DT_TRY(apportion(v));
    for (int64_t i = 0; i < v->groups; i++) {
        set_aside(v, i, dealt);
        dealt += v->group[i].n;
    }
    return NULL;
}

/* ---- the parts ---- */

static dt_status *put_parts(dt_parts *d, const division *v) {
    dt_rows *train = &d->rows[DT_PART_TRAIN], *validation = &d->rows[DT_PART_VALIDATION];
    int64_t n[2] = {0}; /* the number of examples kept, and of those set aside */
    for (int64_t i = 0; i < v->n; i++) n[v->aside[i]]++;
    uint32_t *list[2] = {dt_try_alloc((size_t)n[0] * sizeof **list + 1),
                         dt_try_alloc((size_t)n[1] * sizeof **list + 1)};
    if (!list[0] || !list[1]) {
        free(list[0]);
        free(list[1]);
        return no_memory(v);
    }
    n[0] = n[1] = 0;
    for (int64_t i = 0; i < v->n; i++) list[v->aside[i]][n[v->aside[i]]++] = (uint32_t)i;
    *validation = *train;
    validation->examples = NULL;
    dt_status *s = dt_dataset_add_select(&validation->examples, train->examples, list[1], n[1]);
    dt_status_append(&s, dt_dataset_add_select(&train->examples, train->examples, list[0], n[0]));
    return s;
}

static dt_status *nothing_left(const dt_parts *d, const char *of, int64_t all) {
    return dt_fail(DT_E_DATA_EMPTY, &d->spec.at,
                   "validation_split leaves no examples to %s (%lld in all)", of, (long long)all);
}

static dt_status *split_by_table(dt_parts *d) {
    division v = {.d = d, .q = &d->spec.split, .n = dt_rows_count(&d->rows[DT_PART_TRAIN])};
    if (v.n < v.q->folds)
        return dt_fail(DT_E_DATA_EMPTY, &d->spec.at,
                       "validation_folds: %lld examples cannot be divided into %lld folds",
                       (long long)v.n, (long long)v.q->folds);
    if (v.n > UINT32_MAX)
        return dt_fail(DT_E_TOO_LARGE, &d->spec.at,
                       "%lld examples are too many to shuffle a split of; give validation files",
                       (long long)v.n);
    v.member = dt_try_alloc((size_t)v.n * sizeof *v.member + 1);
    v.aside = dt_try_alloc((size_t)v.n * sizeof *v.aside + 1);
    dt_status *s = v.member && v.aside ? divide(&v, &d->rows[DT_PART_TRAIN]) : no_memory(&v);
    if (!s) s = put_parts(d, &v);
    free(v.member);
    free(v.group);
    free(v.aside);
    if (s) return s;
    if (dt_rows_count(&d->rows[DT_PART_TRAIN]) == 0) return nothing_left(d, "train on", v.n);
    return dt_rows_count(&d->rows[DT_PART_VALIDATION]) == 0 ? nothing_left(d, "validate with", v.n)
                                                            : NULL;
}

static dt_status *split_by_range(dt_parts *d) {
    dt_rows *train = &d->rows[DT_PART_TRAIN], *validation = &d->rows[DT_PART_VALIDATION];
    const int64_t all = dt_rows_count(train), rest = training_count(all, d->spec.split.fraction);
    if (rest == 0) return nothing_left(d, "train on", all);
    const int64_t kept = d->spec.window.length > 0 ? dt_windows_before(train->x, rest, all) : rest;
    *validation = *train;
    validation->examples = NULL;
    DT_TRY(dt_dataset_add_skip(&validation->examples, train->examples, rest));
    if (kept == 0)
        return dt_fail(DT_E_DATA_EMPTY, &d->spec.window.at,
                       "validation_split leaves no windows to train on: none of %lld ends before "
                       "the targets of the last %lld begin",
                       (long long)all, (long long)(all - rest));
    return dt_dataset_add_take(&train->examples, train->examples, kept);
}

dt_status *dt_parts_split(dt_parts *d) {
    dt_rows *train = &d->rows[DT_PART_TRAIN];
    const dt_validation_split *q = &d->spec.split;
    if (d->spec.take > 0)
        DT_TRY(dt_dataset_add_take(&train->examples, train->examples, d->spec.take));
    if (!dt_validation_splits(q)) return NULL;
    return q->shuffle || q->stratify || q->folds > 0 ? split_by_table(d) : split_by_range(d);
}
