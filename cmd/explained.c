/* SPDX-License-Identifier: Apache-2.0 */
/* Implements explained_put. */
#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "table.h"

/* Up to MOST_CLASSES classes are all listed. Of more, SHOWN_CLASSES are listed. MOST_WIDTH is the
 * largest width of a confusion matrix in characters. */
enum { MOST_CLASSES = 100, SHOWN_CLASSES = 20, MOST_WIDTH = 110 };

struct putting {
    dt_str *to;
    const dt_output_explained *o;
    /* markdown: tables are written in Markdown; named: each table's heading names the output,
     * because the model has several */
    bool markdown, named;
};

static void put_title(const struct putting *p, const char *title) {
    dt_str_puts(p->to, p->markdown ? "\n### " : "\n");
    dt_str_puts(p->to, title);
    if (p->named) {
        dt_str_puts(p->to, " of ");
        put_plain(p->to, p->o->name, p->markdown);
    }
    dt_str_puts(p->to, p->markdown ? "\n\n" : "\n");
}

static void put_note(const struct putting *p, const char *note) {
    dt_str_printf(p->to, "%s%s\n", p->markdown ? "\n" : "", note);
}

static const char *name_of(const dt_output_explained *o, int64_t number) {
    return o->class_score[number].name;
}

static void add_head(struct table *t, const char *first, const char *const *names) {
    t->columns = 1;
    table_text(t, first);
    for (int i = 0; names[i]; i++, t->columns++) table_text(t, names[i]);
}

static void add_score(struct table *t, const char *name, const dt_class_score *s) {
    table_text(t, name);
    table_value(t, s->precision);
    table_value(t, s->recall);
    table_value(t, s->f1_score);
    table_printf(t, "%lld", (long long)s->support);
}

static int by_f1(const void *a, const void *b) {
    const dt_class_score *x = *(const dt_class_score *const *)a,
                         *y = *(const dt_class_score *const *)b;
    if (x->f1_score != y->f1_score) return x->f1_score < y->f1_score ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Adds a row for each class. If `shown` is less than the number of classes, adds only the `shown`
 * classes with the lowest F1 scores, lowest first. */
static void add_classes(struct table *t, const dt_output_explained *o, int64_t shown) {
    DT_LOCAL const dt_class_score **row = dt_alloc((size_t)o->n_classes * sizeof *row);
    for (int64_t i = 0; i < o->n_classes; i++) row[i] = &o->class_score[i];
    if (shown < o->n_classes) qsort(row, (size_t)o->n_classes, sizeof *row, by_f1);
    for (int64_t i = 0; i < shown; i++) add_score(t, name_of(o, row[i]->number), row[i]);
}

static void put_classes(const struct putting *p) {
    static const char *const names[] = {"precision", "recall", "f1_score", "support", NULL};
    const int64_t n = p->o->n_classes, shown = n > MOST_CLASSES ? SHOWN_CLASSES : n;
    struct table t = {0};
    char note[120];
    put_title(p, p->o->as == DT_EXPLAINED_LABELS ? "labels" : "classes");
    add_head(&t, p->o->as == DT_EXPLAINED_LABELS ? "label" : "class", names);
    add_classes(&t, p->o, shown);
    add_score(&t, "macro average", &p->o->macro_average);
    add_score(&t, "weighted average", &p->o->weighted_average);
    table_put(p->to, &t, p->markdown);
    if (shown == n) return;
    snprintf(note, sizeof note, "the %lld of %lld classes with the lowest f1_score; --json has all",
             (long long)shown, (long long)n);
    put_note(p, note);
}

static void add_matrix(struct table *t, const dt_output_explained *o) {
    t->columns = (int)o->n_classes + 1;
    table_text(t, "actual \\ predicted");
    for (int64_t c = 0; c < o->n_classes; c++) table_text(t, name_of(o, c));
    for (int64_t r = 0; r < o->n_classes; r++) {
        table_text(t, name_of(o, r));
        for (int64_t c = 0; c < o->n_classes; c++)
            table_printf(t, "%lld", (long long)o->confusion[r * o->n_classes + c]);
    }
}

static void add_confused(struct table *t, const dt_output_explained *o) {
    t->columns = 3;
    table_text(t, "actual");
    table_text(t, "predicted");
    table_text(t, "count");
    for (int i = 0; i < o->n_confused; i++) {
        table_text(t, name_of(o, o->confused[i].actual));
        table_text(t, name_of(o, o->confused[i].predicted));
        table_printf(t, "%lld", (long long)o->confused[i].count);
    }
}

static void put_confusion(const struct putting *p) {
    struct table t = {0};
    dt_str dropped = {0};
    if (p->o->confusion) {
        add_matrix(&t, p->o);
        if (table_width(&t) <= MOST_WIDTH) {
            put_title(p, "confusion matrix");
            table_put(p->to, &t, p->markdown);
            return;
        }
        table_put(&dropped, &t, false);
        dt_str_release(&dropped);
    }
    if (p->o->n_confused == 0) return;
    put_title(p, "largest confusions");
    add_confused(&t, p->o);
    table_put(p->to, &t, p->markdown);
}

static void add_threshold(struct table *t, const dt_threshold *x) {
    table_printf(t, "%.4g", x->threshold);
    table_value(t, x->precision);
    table_value(t, x->recall);
    table_value(t, x->f1);
    table_value(t, x->accuracy);
    table_value(t, x->balanced_accuracy);
    table_value(t, x->mcc);
}

static void put_thresholds(const struct putting *p) {
    static const char *const names[] = {"precision",         "recall", "f1", "accuracy",
                                        "balanced_accuracy", "mcc",    NULL};
    const dt_output_explained *o = p->o;
    struct table t = {0};
    char note[160];
    put_title(p, "thresholds");
    add_head(&t, "threshold", names);
    for (int i = 0; i < o->n_thresholds; i++) add_threshold(&t, &o->threshold[i]);
    table_put(p->to, &t, p->markdown);
    snprintf(note, sizeof note, "best %s: %.4f at a threshold of %.6g", o->best_for, o->best_score,
             o->best.threshold);
    put_note(p, note);
    dt_str_printf(p->to, "%sclass ", p->markdown ? "\n" : "");
    put_plain(p->to, name_of(o, 1), p->markdown);
    dt_str_puts(p->to, ": roc_auc ");
    put_value(p->to, o->roc_auc);
    dt_str_puts(p->to, "  average_precision ");
    put_value(p->to, o->average_precision);
    dt_str_puts(p->to, "  brier_score ");
    put_value(p->to, o->brier_score);
    dt_str_putc(p->to, '\n');
}

static const double quantiles[DT_ERROR_QUANTILES] = {0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1};

static void add_quantiles(struct table *t, const dt_error_scores *e) {
    table_text(t, e->name ? e->name : "error");
    for (int i = 0; i < DT_ERROR_QUANTILES; i++) table_printf(t, "%.4g", e->quantile[i]);
}

static void put_errors(const struct putting *p) {
    const dt_output_explained *o = p->o;
    struct table t = {.columns = DT_ERROR_QUANTILES + 1};
    put_title(p, "errors (prediction - target)");
    table_text(&t, "quantile");
    for (int i = 0; i < DT_ERROR_QUANTILES; i++)
        table_printf(&t,
                     i == 0                        ? "min"
                     : i == DT_ERROR_QUANTILES - 1 ? "max"
                                                   : "%g %%",
                     100 * quantiles[i]);
    for (int i = 0; i < o->n_values; i++) add_quantiles(&t, &o->error[i]);
    table_put(p->to, &t, p->markdown);
    for (int i = 0; i < o->n_values; i++) {
        dt_local_str line = {0};
        if (o->error[i].name) {
            put_plain(&line, o->error[i].name, p->markdown);
            dt_str_puts(&line, ": ");
        }
        dt_str_printf(&line, "mean error %.4g, mean absolute %.4g, root mean squared %.4g, r2 ",
                      o->error[i].mean_error, o->error[i].mean_absolute_error,
                      o->error[i].root_mean_squared_error);
        put_value(&line, o->error[i].r2_score);
        put_note(p, dt_str_text(&line));
    }
}

static void add_worst(struct table *t, const dt_output_explained *o, const dt_worst_example *w) {
    table_text(t, w->where ? w->where : "");
    table_value(t, w->loss);
    if (o->as == DT_EXPLAINED_VALUES) {
        table_printf(t, "%.6g", w->actual);
        table_printf(t, "%.6g", w->predicted);
    } else if (o->as != DT_EXPLAINED_LABELS) {
        table_text(t, name_of(o, (int64_t)w->actual));
        table_text(t, name_of(o, (int64_t)w->predicted));
        table_value(t, w->score);
    }
}

static void put_worst(const struct putting *p) {
    static const char *const labels[] = {"example_loss", NULL},
                             *const values[] = {"example_loss", "actual", "predicted", NULL},
                             *const classes[] = {"example_loss", "actual", "predicted",
                                                 "probability of actual", NULL};
    const dt_output_explained *o = p->o;
    struct table t = {0};
    if (o->n_worst == 0) return;
    put_title(p, "worst examples");
    add_head(&t, "example",
             o->as == DT_EXPLAINED_VALUES   ? values
             : o->as == DT_EXPLAINED_LABELS ? labels
                                            : classes);
    for (int i = 0; i < o->n_worst; i++) add_worst(&t, o, &o->worst[i]);
    table_put(p->to, &t, p->markdown);
}

void explained_put(dt_str *to, const dt_evaluation *e, bool markdown) {
    for (int i = 0; i < e->n; i++) {
        const dt_output_explained *o = &e->output[i];
        const struct putting p = {to, o, markdown, e->n > 1};
        if (o->as != DT_EXPLAINED_VALUES) put_classes(&p);
        if (o->as == DT_EXPLAINED_BINARY || o->as == DT_EXPLAINED_CLASSES) put_confusion(&p);
        if (o->as == DT_EXPLAINED_BINARY) put_thresholds(&p);
        if (o->as == DT_EXPLAINED_VALUES) put_errors(&p);
        put_worst(&p);
    }
}
