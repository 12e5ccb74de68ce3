/* SPDX-License-Identifier: Apache-2.0 */
/* An explained evaluation as JSON, for programs and for the report. */
#include <math.h>

#include "base/json.h"
#include "train/explain.h"

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
            snprintf(key, sizeof key, "%g", dt_error_quantiles[k]);
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
