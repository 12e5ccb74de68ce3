/* SPDX-License-Identifier: Apache-2.0 */
/* From counts to scores. See explain.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/explain.h"

const double dt_error_quantiles[DT_ERROR_QUANTILES] = {0,    0.01, 0.05, 0.25, 0.5,
                                                       0.75, 0.95, 0.99, 1};

static double quotient(double a, double b) { return b > 0 ? a / b : 0; }

static dt_class_score score_of(const dt_tallied_class *c) {
    const double hits = (double)c->hits;
    return (dt_class_score){.support = c->support,
                            .precision = quotient(hits, (double)c->predicted),
                            .recall = quotient(hits, (double)c->support),
                            .f1_score =
                                quotient(2 * hits, (double)c->predicted + (double)c->support)};
}

static void add_score(dt_class_score *to, const dt_class_score *s, double weight) {
    to->precision += weight * s->precision;
    to->recall += weight * s->recall;
    to->f1_score += weight * s->f1_score;
}

static void average(const dt_explained_tally *t, const dt_class_score *score,
                    dt_output_explained *out) {
    int64_t seen = 0, support = 0;
    for (int64_t i = 0; i < t->n_classes; i++) {
        seen += t->as == DT_EXPLAINED_LABELS || t->class[i].support + t->class[i].predicted > 0;
        support += t->class[i].support;
    }
    for (int64_t i = 0; i < t->n_classes; i++) {
        add_score(&out->macro_average, &score[i], quotient(1, (double)seen));
        add_score(&out->weighted_average, &score[i],
                  quotient((double)score[i].support, (double)support));
    }
    out->macro_average.support = out->weighted_average.support = support;
}

static void explain_classes(const dt_explained_tally *t, const dt_texts *names, dt_arena *arena,
                            dt_output_explained *out) {
    dt_class_score *score = dt_arena_array(arena, dt_class_score, t->n_classes);
    for (int64_t i = 0; i < t->n_classes; i++) {
        score[i] = score_of(&t->class[i]);
        score[i].number = i;
        score[i].name = i < names->n ? names->v[i] : dt_arena_printf(arena, "%lld", (long long)i);
    }
    out->n_classes = t->n_classes;
    out->class_score = score;
    out->accuracy = quotient((double)t->right, (double)t->examples);
    average(t, score, out);
}

/* ---- confusions ---- */

static dt_confused confused_of(const dt_pair_count *p) {
    return (dt_confused){.actual = (int64_t)((p->key - 1) >> 32),
                         .predicted = (int64_t)((p->key - 1) & UINT32_MAX),
                         .count = p->count};
}

/* Larger counts first, then by class. */
static bool is_before(const dt_confused *a, const dt_confused *b) {
    if (a->count != b->count) return a->count > b->count;
    return a->actual != b->actual ? a->actual < b->actual : a->predicted < b->predicted;
}

static void keep_confused(dt_confused *all, int *n, const dt_confused *x) {
    int at = *n;
    while (at > 0 && is_before(x, &all[at - 1])) at--;
    if (at == DT_MOST_SHOWN) return;
    const int last = *n < DT_MOST_SHOWN ? (*n)++ : DT_MOST_SHOWN - 1;
    memmove(&all[at + 1], &all[at], (size_t)(last - at) * sizeof *all);
    all[at] = *x;
}

static void explain_confusion(const dt_explained_tally *t, dt_arena *arena,
                              dt_output_explained *out) {
    dt_confused *most = dt_arena_array(arena, dt_confused, DT_MOST_SHOWN);
    int64_t *matrix = t->n_classes <= DT_MOST_SHOWN
                          ? dt_arena_array(arena, int64_t, t->n_classes * t->n_classes)
                          : NULL;
    for (int64_t i = 0; i < t->n_slots; i++) {
        if (!t->pair_count[i].key) continue;
        const dt_confused x = confused_of(&t->pair_count[i]);
        if (matrix) matrix[x.actual * t->n_classes + x.predicted] = x.count;
        if (x.actual != x.predicted) keep_confused(most, &out->n_confused, &x);
    }
    out->confused = most;
    out->confusion = matrix;
}

/* ---- values ---- */

static dt_status *explain_column(dt_tallied_column *c, double n, dt_error_scores *out) {
    dt_spread_group *group = NULL;
    int64_t groups = 0;
    DT_TRY(dt_spread_groups(&c->errors, &group, &groups));
    out->mean_error = quotient(c->error, n);
    out->mean_absolute_error = quotient(c->absolute, n);
    out->root_mean_squared_error = sqrt(quotient(c->squared, n));
    out->r2_score = c->target_spread > 0 ? 1 - c->squared / c->target_spread : NAN;
    for (int i = 0; i < DT_ERROR_QUANTILES; i++)
        out->quantile[i] = dt_spread_quantile(group, groups, dt_error_quantiles[i]);
    free(group);
    return NULL;
}

static dt_status *explain_values(dt_explained_tally *t, const dt_texts *names, dt_arena *arena,
                                 dt_output_explained *out) {
    dt_error_scores *error = dt_arena_array(arena, dt_error_scores, t->width);
    for (int64_t i = 0; i < t->width; i++) {
        DT_TRY(explain_column(&t->column[i], (double)t->examples, &error[i]));
        error[i].name = names->n == t->width ? names->v[i] : NULL;
    }
    out->n_values = (int)t->width;
    out->error = error;
    return NULL;
}

dt_status *dt_tally_explain(dt_explained_tally *t, const dt_texts *names, dt_threshold_score best,
                            dt_arena *arena, dt_output_explained *out) {
    out->as = t->as;
    out->examples = t->examples;
    out->n_worst = t->n_worst;
    out->worst = dt_arena_copy(arena, t->worst, sizeof t->worst);
    if (t->as == DT_EXPLAINED_VALUES) return explain_values(t, names, arena, out);
    explain_classes(t, names, arena, out);
    if (t->as == DT_EXPLAINED_LABELS) return NULL;
    explain_confusion(t, arena, out);
    return t->as == DT_EXPLAINED_BINARY ? dt_tally_explain_binary(t, best, arena, out) : NULL;
}
