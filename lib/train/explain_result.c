/* SPDX-License-Identifier: Apache-2.0 */
/* Computes scores and curves from the counts of an evaluation (see explain.h), and writes them as
 * JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "train/explain.h"

static const double error_quantiles[DT_ERROR_QUANTILES] = {0,    0.01, 0.05, 0.25, 0.5,
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

/* Whether pair a is listed before pair b: larger counts first, then lower class numbers. */
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
        out->quantile[i] = dt_spread_quantile(group, groups, error_quantiles[i]);
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

/*
 * ---- two classes ----
 *
 * Curves over all thresholds, and the best threshold. The threshold moves from the highest score
 * down, so that more and more examples are decided to be class 1. Examples with equal scores are
 * decided together. Areas are those of the whole curves, even though at most 201 points of a curve
 * are kept.
 */

enum { MOST_POINTS = 201 };

static const char *const score_names[] = {"f1",  "accuracy",  "balanced_accuracy",
                                          "mcc", "precision", "recall"};

static double score_by(const dt_threshold *t, dt_threshold_score score) {
    const double of[] = {t->f1, t->accuracy, t->balanced_accuracy, t->mcc, t->precision, t->recall};
    return of[score];
}

/* The state at one threshold: how many examples of either class are decided to be class 1, and how
 * many examples of either class there are. */
typedef struct decided {
    double false_one, true_one, zeros, ones;
} decided;

static dt_threshold scores_at(const decided *d, double threshold) {
    const double tn = d->zeros - d->false_one, fn = d->ones - d->true_one;
    const double square =
        /* This is the square of the divisor of Matthews' correlation coefficient. */
        (d->true_one + d->false_one) * d->ones * d->zeros * (tn + fn);
    dt_threshold t = {.threshold = threshold,
                      .precision = quotient(d->true_one, d->true_one + d->false_one),
                      .recall = quotient(d->true_one, d->ones),
                      .accuracy = quotient(d->true_one + tn, d->ones + d->zeros)};
    t.f1 = quotient(2 * d->true_one, d->ones + d->true_one + d->false_one);
    /* The balanced accuracy is the mean of the recalls of the classes that occur. */
    t.balanced_accuracy = (t.recall + quotient(tn, d->zeros)) / ((d->ones > 0) + (d->zeros > 0));
    t.mcc = square > 0 ? (d->true_one * tn - d->false_one * fn) / sqrt(square) : 0;
    return t;
}

static double probability(const dt_explained_tally *t, double score) {
    return t->logits ? 1 / (1 + exp(-score)) : score;
}

/* The groups of equal scores, which are visited from the highest score down. */
typedef struct descent {
    const dt_explained_tally *t;
    const dt_spread_group *group; /* [n] the groups, in ascending order */
    int64_t n;
    double zeros, ones;
} descent;

/* Decides group k of the descent to be class 1 as well. Returns the group's probability of class 1,
 * which is the threshold that decides so. */
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

/* Computes the ROC curve and the precision-recall curve, and the areas roc_auc and
 * average_precision, which are NaN if all examples, or none, are of class 1 (average_precision:
 * only if none is). The ROC curve begins at (0, 0) and the precision-recall curve at (0, 1), both
 * with the threshold infinity. */
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
        if (k == 0 || score_by(&t, score) > score_by(&best, score)) best = t;
    }
    return best;
}

/* Sets table[i], for i from 0 to n - 1, to the scores at the threshold (i + 1) / (n + 1): 0.1, 0.2,
 * ..., 0.9 for n = 9. */
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

static dt_status *explain_binary(dt_explained_tally *t, dt_threshold_score best, dt_arena *arena,
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
    out->best_score = score_by(&out->best, best);
    out->brier_score = t->examples > 0 ? t->squares / (double)t->examples : NAN;
    draw_curves(&x, dt_arena_array(arena, dt_curve_point, MOST_POINTS + 2),
                dt_arena_array(arena, dt_curve_point, MOST_POINTS + 2), out);
    draw_calibration(t, arena, &out->calibration);
    free(group);
    return NULL;
}

/* ---- an output, and JSON ---- */

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
    return t->as == DT_EXPLAINED_BINARY ? explain_binary(t, best, arena, out) : NULL;
}

/* Writes an explained evaluation as JSON, for programs and for the report of a run. */

static const char *const kinds[] = {"classes", "binary", "labels", "values"};

static void put_score(dt_json *j, const dt_class_score *s) {
    dt_json_double(j, "precision", s->precision);
    dt_json_double(j, "recall", s->recall);
    dt_json_double(j, "f1_score", s->f1_score);
    dt_json_int(j, "support", s->support);
}

static void put_average(dt_json *j, const char *key, const dt_class_score *s) {
    dt_json_open(j, key, '{');
    put_score(j, s);
    dt_json_close(j, '}');
}

static void put_class(dt_json *j, const char *key, const dt_output_explained *o, int64_t number) {
    dt_json_string(j, key, o->class_score[number].name);
}

static void put_classes(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, "classes", '[');
    for (int64_t i = 0; i < o->n_classes; i++) {
        dt_json_open(j, NULL, '{');
        put_class(j, "class", o, i);
        put_score(j, &o->class_score[i]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    dt_json_double(j, "accuracy", o->accuracy);
    put_average(j, "macro_average", &o->macro_average);
    put_average(j, "weighted_average", &o->weighted_average);
}

static void put_matrix(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, "confusion_matrix", '[');
    for (int64_t r = 0; r < o->n_classes; r++) {
        dt_json_open(j, NULL, '[');
        for (int64_t c = 0; c < o->n_classes; c++)
            dt_json_int(j, NULL, o->confusion[r * o->n_classes + c]);
        dt_json_close(j, ']');
    }
    dt_json_close(j, ']');
}

static void put_confused(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, "confused", '[');
    for (int i = 0; i < o->n_confused; i++) {
        dt_json_open(j, NULL, '{');
        put_class(j, "actual", o, o->confused[i].actual);
        put_class(j, "predicted", o, o->confused[i].predicted);
        dt_json_int(j, "count", o->confused[i].count);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static const dt_json_member threshold[] = {
    DT_JSON(dt_threshold, threshold), DT_JSON(dt_threshold, precision),
    DT_JSON(dt_threshold, recall),    DT_JSON(dt_threshold, f1),
    DT_JSON(dt_threshold, accuracy),  DT_JSON(dt_threshold, balanced_accuracy),
    DT_JSON(dt_threshold, mcc),       {0},
};

static void put_curve(dt_json *j, const char *key, const dt_curve *c, const char *const *names) {
    dt_json_open(j, key, '{');
    for (int k = 0; k < 3; k++) {
        dt_json_open(j, names[k], '[');
        for (int i = 0; i < c->n; i++) {
            const dt_curve_point *p = &c->point[i];
            dt_json_double(j, NULL, k == 0 ? p->x : k == 1 ? p->y : p->at);
        }
        dt_json_close(j, ']');
    }
    dt_json_close(j, '}');
}

static void put_binary(dt_json *j, const dt_output_explained *o) {
    static const char *const roc[] = {"fpr", "tpr", "thresholds"},
                             *const pr[] = {"recall", "precision", "thresholds"},
                             *const calibration[] = {"prob_pred", "prob_true", "count"};
    dt_json_double(j, "roc_auc", o->roc_auc);
    dt_json_double(j, "average_precision", o->average_precision);
    dt_json_double(j, "brier_score", o->brier_score);
    dt_json_open(j, "best_threshold", '{');
    dt_json_string(j, "for", o->best_for);
    dt_json_members(j, threshold, &o->best);
    dt_json_close(j, '}');
    dt_json_open(j, "thresholds", '[');
    for (int i = 0; i < o->n_thresholds; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_members(j, threshold, &o->threshold[i]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
    put_curve(j, "roc_curve", &o->roc, roc);
    put_curve(j, "precision_recall_curve", &o->precision_recall, pr);
    put_curve(j, "calibration_curve", &o->calibration, calibration);
}

static const dt_json_member error[] = {
    DT_JSON(dt_error_scores, name, .if_set = true),
    DT_JSON(dt_error_scores, mean_error),
    DT_JSON(dt_error_scores, mean_absolute_error),
    DT_JSON(dt_error_scores, root_mean_squared_error),
    DT_JSON(dt_error_scores, r2_score),
    {0},
};

static void put_errors(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, "errors", '[');
    for (int i = 0; i < o->n_values; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_members(j, error, &o->error[i]);
        dt_json_open(j, "quantiles", '{');
        for (int k = 0; k < DT_ERROR_QUANTILES; k++) {
            char key[16];
            snprintf(key, sizeof key, "%g", error_quantiles[k]);
            dt_json_double(j, key, o->error[i].quantile[k]);
        }
        dt_json_close(j, '}');
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static void put_worst(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, "worst", '[');
    for (int i = 0; i < o->n_worst; i++) {
        const dt_worst_example *w = &o->worst[i];
        dt_json_open(j, NULL, '{');
        dt_json_int(j, "example", w->example + 1);
        dt_json_string(j, "where", w->where);
        dt_json_double(j, "example_loss", w->loss);
        if (o->as == DT_EXPLAINED_VALUES) {
            dt_json_double(j, "actual", w->actual);
            dt_json_double(j, "predicted", w->predicted);
        } else if (o->as != DT_EXPLAINED_LABELS) {
            put_class(j, "actual", o, (int64_t)w->actual);
            put_class(j, "predicted", o, (int64_t)w->predicted);
            dt_json_double(j, "probability", w->score);
        }
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}

static void put_output(dt_json *j, const dt_output_explained *o) {
    dt_json_open(j, o->name, '{');
    dt_json_string(j, "as", kinds[o->as]);
    dt_json_int(j, "examples", o->examples);
    if (o->as != DT_EXPLAINED_VALUES) put_classes(j, o);
    if (o->confusion) put_matrix(j, o);
    if (o->as < DT_EXPLAINED_LABELS) put_confused(j, o);
    if (o->as == DT_EXPLAINED_BINARY) put_binary(j, o);
    if (o->as == DT_EXPLAINED_VALUES) put_errors(j, o);
    put_worst(j, o);
    dt_json_close(j, '}');
}

DT_API dt_status *dt_evaluation_json(const dt_evaluation *e, char **text) {
    dt_str out = {0};
    dt_json j = {.out = &out, .compact = true};
    DT_REQUIRE({e, "evaluation"}, {text, "place for the text"});
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < e->n; i++) put_output(&j, &e->output[i]);
    dt_json_close(&j, '}');
    *text = dt_str_take(&out);
    return NULL;
}
