/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two classes: curves over all thresholds, and the best threshold. Examples are decided from the
 * highest score down; where scores are equal they are decided together. The areas are of the whole
 * curves, of which at most 201 points are kept.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/explain.h"

enum { MOST_POINTS = 201 };

static const char *const score_names[] = {"f1",  "accuracy",  "balanced_accuracy",
                                          "mcc", "precision", "recall"};

static double score_of(const dt_threshold *t, dt_threshold_score score) {
    const double of[] = {t->f1, t->accuracy, t->balanced_accuracy, t->mcc, t->precision, t->recall};
    return of[score];
}

/* How many of the two classes are decided to be class 1, and how many there are. */
typedef struct decided {
    double false_one, true_one, zeros, ones;
} decided;

static double quotient(double a, double b) { return b > 0 ? a / b : 0; }

static dt_threshold scores_at(const decided *d, double threshold) {
    const double tn = d->zeros - d->false_one, fn = d->ones - d->true_one;
    const double square =
        (d->true_one + d->false_one) * d->ones * d->zeros * (tn + fn); /* of the divisor of mcc */
    dt_threshold t = {.threshold = threshold,
                      .precision = quotient(d->true_one, d->true_one + d->false_one),
                      .recall = quotient(d->true_one, d->ones),
                      .accuracy = quotient(d->true_one + tn, d->ones + d->zeros)};
    t.f1 = quotient(2 * d->true_one, d->ones + d->true_one + d->false_one);
    /* the mean of the recalls of the classes that there are */
    t.balanced_accuracy = (t.recall + quotient(tn, d->zeros)) / ((d->ones > 0) + (d->zeros > 0));
    t.mcc = square > 0 ? (d->true_one * tn - d->false_one * fn) / sqrt(square) : 0;
    return t;
}

static double probability(const dt_explained_tally *t, double score) {
    return t->logits ? 1 / (1 + exp(-score)) : score;
}

/* The groups from the highest score down. */
typedef struct descent {
    const dt_explained_tally *t;
    const dt_spread_group *group; /* [n] ascending */
    int64_t n;
    double zeros, ones;
} descent;

/* Adds group k of the descent to what is decided to be class 1. */
static double step_down(const descent *x, int64_t k, decided *d) {
    const dt_spread_group *g = &x->group[x->n - 1 - k];
    d->false_one += (double)g->count[0];
    d->true_one += (double)g->count[1];
    return probability(x->t, g->value);
}

static bool is_kept(int64_t k, int64_t n) {
    const int64_t most = MOST_POINTS - 1;
    return n <= most || (k + 1) * (most - 1) / n != k * (most - 1) / n || k == 0;
}

/* ROC: the first point is (0, 0) at infinity. Precision-recall: (0, 1) there. */
static void draw_curves(const descent *x, dt_curve_point *roc, dt_curve_point *pr,
                        dt_output_explained *out) {
    decided d = {.zeros = x->zeros, .ones = x->ones}, before = d;
    int n = 0;
    out->roc_auc = out->average_precision = 0;
    roc[n] = (dt_curve_point){.at = INFINITY};
    pr[n++] = (dt_curve_point){.y = 1, .at = INFINITY};
    for (int64_t k = 0; k < x->n; before = d, k++) {
        const double at = step_down(x, k, &d), recall = quotient(d.true_one, d.ones),
                     precision = quotient(d.true_one, d.true_one + d.false_one);
        out->roc_auc += (d.false_one - before.false_one) * (d.true_one + before.true_one) / 2;
        out->average_precision += (d.true_one - before.true_one) * precision;
        if (!is_kept(k, x->n)) continue;
        roc[n] = (dt_curve_point){quotient(d.false_one, d.zeros), recall, at};
        pr[n++] = (dt_curve_point){recall, precision, at};
    }
    out->roc_auc = x->zeros > 0 && x->ones > 0 ? out->roc_auc / (x->zeros * x->ones) : NAN;
    out->average_precision = x->ones > 0 ? out->average_precision / x->ones : NAN;
    out->roc = (dt_curve){n, roc};
    out->precision_recall = (dt_curve){n, pr};
}

static dt_threshold find_best(const descent *x, dt_threshold_score score) {
    decided d = {.zeros = x->zeros, .ones = x->ones};
    dt_threshold best = {0};
    for (int64_t k = 0; k < x->n; k++) {
        const double at = step_down(x, k, &d);
        const dt_threshold t = scores_at(&d, at);
        if (k == 0 || score_of(&t, score) > score_of(&best, score)) best = t;
    }
    return best;
}

/* The scores at 0.1, 0.2, ..., 0.9. */
static void make_table(const descent *x, dt_threshold *table, int n) {
    decided d = {.zeros = x->zeros, .ones = x->ones};
    int64_t k = 0;
    for (int i = n - 1; i >= 0; i--) {
        const double at = (i + 1) / (double)(n + 1);
        while (k < x->n && probability(x->t, x->group[x->n - 1 - k].value) >= at)
            step_down(x, k++, &d);
        table[i] = scores_at(&d, at);
    }
}

static void draw_calibration(const dt_explained_tally *t, dt_arena *arena, dt_curve *out) {
    dt_curve_point *p = dt_arena_array(arena, dt_curve_point, DT_CALIBRATION);
    int n = 0;
    for (int i = 0; i < DT_CALIBRATION; i++) {
        const double count = (double)t->bin[i].count;
        if (count > 0)
            p[n++] =
                (dt_curve_point){t->bin[i].sum / count, (double)t->bin[i].positive / count, count};
    }
    *out = (dt_curve){n, p};
}

dt_status *dt_tally_explain_binary(dt_explained_tally *t, dt_threshold_score best, dt_arena *arena,
                                   dt_output_explained *out) {
    enum { TABLE = 9 };
    dt_spread_group *group = NULL;
    descent x = {.t = t, .zeros = (double)t->class[0].support, .ones = (double)t->class[1].support};
    DT_TRY(dt_spread_groups(&t->scores, &group, &x.n));
    x.group = group;
    dt_threshold *table = dt_arena_array(arena, dt_threshold, TABLE);
    make_table(&x, table, TABLE);
    out->n_thresholds = TABLE;
    out->threshold = table;
    out->best = find_best(&x, best);
    out->best_for = score_names[best];
    out->best_score = score_of(&out->best, best);
    out->brier_score = t->examples > 0 ? t->squares / (double)t->examples : NAN;
    draw_curves(&x, dt_arena_array(arena, dt_curve_point, MOST_POINTS + 2),
                dt_arena_array(arena, dt_curve_point, MOST_POINTS + 2), out);
    draw_calibration(t, arena, &out->calibration);
    free(group);
    return NULL;
}
