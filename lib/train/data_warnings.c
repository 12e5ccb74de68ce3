/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the data before training. If there is nothing to train on, that is an error. What makes
 * a poor model or a meaningless figure is a warning, with the line that helps. A few examples are
 * enough for that. Classes have a file of their own, class_shares.c.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "train/trainer.h"

/* ---- nothing to train on ---- */

typedef struct count {
    const dt_class_weights *weights;
    bool any;
} count;

static bool see_class(const dt_view *target, void *user) {
    count *c = user;
    const int64_t class = dt_target_class(target);
    double weight = 1;
    for (int i = 0; i < c->weights->n; i++)
        weight = c->weights->number[i] == class ? c->weights->weight[i] : weight;
    c->any = weight != 0;
    return !c->any;
}

static bool see_weight(const dt_view *weight, void *user) {
    count *c = user;
    for (int64_t i = 0; i < dt_type_elements(&weight->type) && !c->any; i++)
        c->any = dt_cell_double(weight, i) != 0;
    return !c->any;
}

static bool has_zero(const dt_class_weights *w) {
    for (int i = 0; w && i < w->n; i++)
        if (w->weight[i] == 0) return true;
    return false;
}

dt_status *dt_match_counts(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m,
                           const dt_class_weights *w) {
    count classes = {.weights = w};
    if (has_zero(w)) {
        DT_TRY(dt_dataset_survey(&(dt_survey){.data = d,
                                              .part = DT_PART_TRAIN,
                                              .element = m->target[0],
                                              .see = see_class,
                                              .user = &classes}));
        if (!classes.any)
            return dt_fail(DT_E_LABELS, w->at.source ? &w->at : NULL,
                           "class_weight leaves nothing to train on: the class of every training "
                           "example counts 0");
    }
    for (int i = 0; i < c->n_outputs; i++) {
        const dt_output_use *output = &c->output[i];
        count weights = {0};
        if (m->weight[i] < 0) continue;
        DT_TRY(dt_dataset_survey(&(dt_survey){.data = d,
                                              .part = DT_PART_TRAIN,
                                              .element = m->weight[i],
                                              .see = see_weight,
                                              .user = &weights}));
        if (!weights.any)
            return dt_fail(
                DT_E_LABELS, output->sample_weight_at.source ? &output->sample_weight_at : NULL,
                "sample_weight leaves nothing to train on: '%.80s' of every training example is 0",
                output->sample_weight);
    }
    return NULL;
}

/* ---- ranges ---- */

enum { LOOKED_AT = 1000, MOST_NUMBERS = 1 << 16, MANY = 64 };
#define ORDERS 100.0 /* "orders of magnitude" */

typedef struct column {
    double least, most, sum, squares;
} column;

typedef struct ranges {
    column *column;
    int64_t n, seen;
} ranges;

static bool see_ranges(const dt_view *example, void *user) {
    ranges *r = user;
    for (int64_t i = 0; i < r->n; i++) {
        column *c = &r->column[i];
        const double x = dt_cell_double(example, i);
        c->least = r->seen == 0 || x < c->least ? x : c->least;
        c->most = r->seen == 0 || x > c->most ? x : c->most;
        c->sum += x;
        c->squares += x * x;
    }
    r->seen++;
    return true;
}

static double range_of(const column *c) { return c->most - c->least; }

static double deviation_of(const column *c, int64_t n) {
    const double mean = c->sum / (double)n;
    return sqrt(fmax(c->squares / (double)n - mean * mean, 0));
}

/*
 * The columns of the widest and of the narrowest range, where they are orders of magnitude apart; a
 * column of one value has none. Ranges and deviations must agree, for a normalized column may have
 * an outlier and a rare class few ones. Of very many columns that are alike, as pixels are, many
 * have the widest range.
 */
static bool differ(const ranges *r, int64_t *wide, int64_t *narrow) {
    int64_t alike = 0;
    *wide = *narrow = -1;
    for (int64_t i = 0; i < r->n; i++) {
        const double range = range_of(&r->column[i]);
        if (!(range > 0) || !isfinite(range)) continue;
        *wide = *wide < 0 || range > range_of(&r->column[*wide]) ? i : *wide;
        *narrow = *narrow < 0 || range < range_of(&r->column[*narrow]) ? i : *narrow;
    }
    if (*wide < 0 || range_of(&r->column[*wide]) < ORDERS * range_of(&r->column[*narrow]))
        return false;
    for (int64_t i = 0; i < r->n; i++)
        alike += range_of(&r->column[i]) * 2 >= range_of(&r->column[*wide]);
    return deviation_of(&r->column[*wide], r->seen) >=
               ORDERS * deviation_of(&r->column[*narrow], r->seen) &&
           (r->n <= MANY || alike * 10 < r->n);
}

/* Rows of numbers as they are stored, which no layer looks up or normalizes. */
static bool may_need_normalize(const dt_trainer *t, int input) {
    const dt_model_spec *m = &t->o.model->spec;
    const dt_element_spec *element;
    const int e = t->match.input[input];
    dt_dataset_elements(t->o.data, &element);
    bool needs = element[e].type.rank == 2 && element[e].type.dim[1] > 1 &&
                 element[e].type.dim[1] <= MOST_NUMBERS && dt_dataset_is_plain(t->o.data, e);
    for (int i = 0; needs && i < m->n_layers; i++)
        for (int k = 0; k < m->layer[i].n_in; k++)
            if (strcmp(m->layer[m->layer[i].from[k]].name, m->input[input].name) == 0)
                needs = !m->layer[i].row->rows &&
                        !strstr(m->layer[i].row->kind.name, "Normalization") &&
                        !strstr(m->layer[i].row->kind.name, "Rescaling");
    return needs;
}

static const char *column_name(const dt_element_spec *e, int64_t i, dt_arena *arena) {
    return i < e->names.n ? dt_arena_printf(arena, "'%.80s'", e->names.v[i])
                          : dt_arena_printf(arena, "column %lld", (long long)i);
}

static dt_status *doubt_ranges(const dt_trainer *t, int input, dt_arena *arena, dt_texts *out) {
    const dt_element_spec *element;
    const int e = t->match.input[input];
    int64_t wide, narrow;
    if (!may_need_normalize(t, input)) return NULL;
    dt_dataset_elements(t->o.data, &element);
    const dt_element_spec *x = &element[e];
    ranges r = {.n = x->type.dim[1]};
    r.column = dt_arena_array(arena, column, r.n);
    DT_TRY(dt_dataset_survey(&(dt_survey){.data = t->o.data,
                                          .part = DT_PART_TRAIN,
                                          .element = e,
                                          .most = LOOKED_AT,
                                          .see = see_ranges,
                                          .user = &r}));
    if (differ(&r, &wide, &narrow))
        out->v[out->n++] = dt_arena_printf(
            arena,
            "columns of '%s' differ by orders of magnitude: %s goes from %.4g to %.4g, %s from "
            "%.4g to %.4g. Most models learn "
            "better from normalized columns: add 'map: {%s: [normalize]}' to dataset",
            x->name, column_name(x, wide, arena), r.column[wide].least, r.column[wide].most,
            column_name(x, narrow, arena), r.column[narrow].least, r.column[narrow].most, x->name);
    return NULL;
}

/* ---- targets of metrics ---- */

/* The loss of the output has been asked already: what it refuses never comes here. */
static bool is_known(const dt_trainer *t, int output, const dt_limits *l) {
    const dt_loss_row *loss = (const dt_loss_row *)t->o.compile->output[output].loss.kind;
    return loss && loss->targets.low < loss->targets.high && loss->targets.low >= l->low &&
           loss->targets.high <= l->high;
}

/* Targets that a metric is not made for, such as the accuracy of a regression. The first of an
 * output's metrics is named. */
static dt_status *doubt_metrics(const dt_trainer *t, int output, dt_arena *arena, dt_texts *out) {
    const dt_compile_spec *c = t->o.compile;
    const dt_model_spec *m = &t->o.model->spec;
    for (int i = 0; i < c->n_metrics; i++) {
        const dt_limits l = dt_metric_targets(c->metric[i].row);
        if (c->metric[i].output != output || l.low >= l.high || is_known(t, output, &l) ||
            m->layer[m->output[output].layer].out_mask)
            continue;
        const int weight = c->metric[i].weighted ? t->match.weight[output] : -1;
        dt_status *s = dt_dataset_check_range(
            t->o.data, &(dt_target_range){t->match.target[output], weight, l.low, l.high});
        if (s && dt_status_number(s) != DT_E_LABEL_RANGE) return s;
        if (s)
            out->v[out->n++] =
                dt_arena_printf(arena, "%s: metric '%s' (%s) is not made for such targets",
                                dt_status_text(s), c->metric[i].key, c->metric[i].row->kind.name);
        const bool is_told = s != NULL;
        dt_status_free(s);
        if (is_told) break;
    }
    return NULL;
}

dt_status *dt_trainer_data_warnings(const dt_trainer *t, dt_arena *arena, dt_texts *out) {
    dt_texts rounded;
    dt_dataset_rounded(t->o.data, arena, &rounded);
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, rounded.n + DT_MAX_INPUTS)};
    for (int i = 0; i < rounded.n; i++) out->v[out->n++] = rounded.v[i];
    for (int i = 0; i < t->match.n_inputs; i++) DT_TRY(doubt_ranges(t, i, arena, out));
    return NULL;
}

dt_status *dt_trainer_target_warnings(const dt_trainer *t, dt_part part, dt_arena *arena,
                                      dt_texts *out) {
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, 2 * DT_MAX_OUTPUTS)};
    for (int i = 0; i < t->o.compile->n_outputs; i++) {
        DT_TRY(doubt_metrics(t, i, arena, out));
        DT_TRY(dt_trainer_class_warning(t, i, part, arena, &out->v[out->n]));
        out->n += out->v[out->n] != NULL;
    }
    return NULL;
}
