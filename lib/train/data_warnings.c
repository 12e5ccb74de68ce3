/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the data before training. If there is nothing to train on, that is an error. What makes a poor model or a meaningless figure is a warning, with the line
 * that helps. A few examples are enough for that; all are read only if those are all the same.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "train/trainer.h"

/* ---- nothing to train on ---- */

/* The class of a target: a number, or where a one-hot vector has its one. */
static int64_t class_of(const dt_view *target)
{
    const int64_t n = dt_type_elements(&target->type);
    int64_t most = 0;
    for (int64_t i = 1; i < n; i++)
        if (dt_cell_double(target, i) > dt_cell_double(target, most))
            most = i;
    return n == 1 ? (int64_t)dt_cell_double(target, 0) : most;
}

typedef struct count {
    const dt_class_weights *weights;
    bool any;
} count;

static bool see_class(const dt_view *target, void *user)
{
    count *c = user;
    const int64_t class = class_of(target);
    double weight = 1;
    for (int i = 0; i < c->weights->n; i++)
        weight = c->weights->number[i] == class ? c->weights->weight[i] : weight;
    c->any = weight != 0;
    return !c->any;
}

static bool see_weight(const dt_view *weight, void *user)
{
    count *c = user;
    for (int64_t i = 0; i < dt_type_elements(&weight->type) && !c->any; i++)
        c->any = dt_cell_double(weight, i) != 0;
    return !c->any;
}

static bool has_zero(const dt_class_weights *w)
{
    for (int i = 0; w && i < w->n; i++)
        if (w->weight[i] == 0)
            return true;
    return false;
}

dt_status *dt_match_counts(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m, const dt_class_weights *w)
{
    count classes = { .weights = w };
    if (has_zero(w)) {
        DT_TRY(dt_dataset_survey(&(dt_survey){ .data = d, .part = DT_PART_TRAIN, .element = m->target[0], .see = see_class, .user = &classes }));
        if (!classes.any)
            return dt_fail(DT_E_LABELS, w->at.source ? &w->at : NULL, "class_weight leaves nothing to train on: the class of every training example counts 0");
    }
    for (int i = 0; i < c->n_outputs; i++) {
        const dt_output_use *output = &c->output[i];
        count weights = { 0 };
        if (m->weight[i] < 0)
            continue;
        DT_TRY(dt_dataset_survey(&(dt_survey){ .data = d, .part = DT_PART_TRAIN, .element = m->weight[i], .see = see_weight, .user = &weights }));
        if (!weights.any)
            return dt_fail(DT_E_LABELS, output->sample_weight_at.source ? &output->sample_weight_at : NULL,
                           "sample_weight leaves nothing to train on: '%.80s' of every training example is 0", output->sample_weight);
    }
    return NULL;
}

/* ---- one class ---- */

typedef struct classes {
    int64_t first, seen;
    bool several;
} classes;

static bool see_classes(const dt_view *target, void *user)
{
    classes *c = user;
    const int64_t class = class_of(target);
    c->several = c->seen++ > 0 && class != c->first;
    c->first = c->several ? c->first : class;
    return !c->several;
}

static dt_status *look_at_classes(const dt_trainer *t, dt_part part, int output, classes *out)
{
    *out = (classes){ 0 };
    return dt_dataset_survey(&(dt_survey){ .data = t->o.data, .part = part, .element = t->match.target[output], .see = see_classes, .user = out });
}

/* Whether an example of the output has one class. Several labels may all be right. */
static bool is_of_classes(const dt_trainer *t, int output)
{
    const dt_loss_row *loss = (const dt_loss_row *)t->o.compile->output[output].loss.kind;
    const dt_element *element;
    if (!loss || loss->of == DT_OUTPUT_VALUES || t->match.target[output] < 0)
        return false;
    dt_dataset_elements(t->o.data, &element);
    const dt_type *target = &element[t->match.target[output]].type;
    const bool lone = target->rank == 1 || (target->rank == 2 && target->dim[1] == 1);
    return lone || (loss->of == DT_OUTPUT_CLASSES && !loss->sparse && target->rank == 2);
}

static dt_status *doubt_validation(const dt_trainer *t, int output, dt_arena *arena, dt_texts *out)
{
    const dt_element *element;
    classes validation, training;
    if (!is_of_classes(t, output) || dt_dataset_count(t->o.data, DT_PART_VALIDATION) < 2)
        return NULL;
    DT_TRY(look_at_classes(t, DT_PART_VALIDATION, output, &validation));
    if (validation.several)
        return NULL;
    DT_TRY(look_at_classes(t, DT_PART_TRAIN, output, &training));
    if (!training.several && training.first == validation.first)
        return NULL;
    dt_dataset_elements(t->o.data, &element);
    const dt_element *target = &element[t->match.target[output]];
    const char *name = validation.first >= 0 && validation.first < target->names.n ? target->names.v[validation.first] : "";
    out->v[out->n++] = dt_arena_printf(arena, "all validation examples are of one class, '%s' %lld%s%.80s%s: metrics on them say nothing about the other classes%s",
                                       target->name, (long long)validation.first, *name ? " (" : "", name, *name ? ")" : "",
                                       dt_dataset_spec_of(t->o.data)->validation_split > 0
                                           ? "; validation_split takes the last examples; shuffle the file first" : "");
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

static bool see_ranges(const dt_view *example, void *user)
{
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

static double range_of(const column *c)
{
    return c->most - c->least;
}

static double deviation_of(const column *c, int64_t n)
{
    const double mean = c->sum / (double)n;
    return sqrt(fmax(c->squares / (double)n - mean * mean, 0));
}

/*
 * The columns of the widest and of the narrowest range, where they are orders of magnitude apart; a column of one value has none. Ranges and deviations
 * must agree, for a normalized column may have an outlier and a rare class few ones. Of very many columns that are alike, as pixels are, many have the
 * widest range.
 */
static bool differ(const ranges *r, int64_t *wide, int64_t *narrow)
{
    int64_t alike = 0;
    *wide = *narrow = -1;
    for (int64_t i = 0; i < r->n; i++) {
        const double range = range_of(&r->column[i]);
        if (!(range > 0) || !isfinite(range))
            continue;
        *wide = *wide < 0 || range > range_of(&r->column[*wide]) ? i : *wide;
        *narrow = *narrow < 0 || range < range_of(&r->column[*narrow]) ? i : *narrow;
    }
    if (*wide < 0 || range_of(&r->column[*wide]) < ORDERS * range_of(&r->column[*narrow]))
        return false;
    for (int64_t i = 0; i < r->n; i++)
        alike += range_of(&r->column[i]) * 2 >= range_of(&r->column[*wide]);
    return deviation_of(&r->column[*wide], r->seen) >= ORDERS * deviation_of(&r->column[*narrow], r->seen) && (r->n <= MANY || alike * 10 < r->n);
}

/* Rows of numbers as they are stored, which no layer looks up or normalizes. */
static bool may_need_normalize(const dt_trainer *t, int input)
{
    const dt_model_spec *m = &t->o.model->spec;
    const dt_element *element;
    const int e = t->match.input[input];
    dt_dataset_elements(t->o.data, &element);
    bool needs = element[e].type.rank == 2 && element[e].type.dim[1] > 1 && element[e].type.dim[1] <= MOST_NUMBERS && dt_dataset_is_plain(t->o.data, e);
    for (int i = 0; needs && i < m->n_layers; i++)
        for (int k = 0; k < m->layer[i].n_in; k++)
            if (strcmp(m->layer[m->layer[i].from[k]].name, m->input[input].name) == 0)
                needs = !m->layer[i].row->rows && !strstr(m->layer[i].row->kind.name, "Normalization") && !strstr(m->layer[i].row->kind.name, "Rescaling");
    return needs;
}

static const char *column_name(const dt_element *e, int64_t i, dt_arena *arena)
{
    return i < e->names.n ? dt_arena_printf(arena, "'%.80s'", e->names.v[i]) : dt_arena_printf(arena, "column %lld", (long long)i);
}

static dt_status *doubt_ranges(const dt_trainer *t, int input, dt_arena *arena, dt_texts *out)
{
    const dt_element *element;
    const int e = t->match.input[input];
    int64_t wide, narrow;
    if (!may_need_normalize(t, input))
        return NULL;
    dt_dataset_elements(t->o.data, &element);
    const dt_element *x = &element[e];
    ranges r = { .n = x->type.dim[1] };
    r.column = dt_arena_array(arena, column, r.n);
    DT_TRY(dt_dataset_survey(&(dt_survey){ .data = t->o.data, .part = DT_PART_TRAIN, .element = e, .most = LOOKED_AT, .see = see_ranges, .user = &r }));
    if (differ(&r, &wide, &narrow))
        out->v[out->n++] = dt_arena_printf(arena, "columns of '%s' differ by orders of magnitude: %s goes from %.4g to %.4g, %s from %.4g to %.4g. Most models learn "
                                           "better from normalized columns: add 'map: {%s: [normalize]}' to dataset", x->name, column_name(x, wide, arena),
                                           r.column[wide].least, r.column[wide].most, column_name(x, narrow, arena), r.column[narrow].least,
                                           r.column[narrow].most, x->name);
    return NULL;
}

dt_status *dt_trainer_data_warnings(const dt_trainer *t, dt_arena *arena, dt_texts *out)
{
    *out = (dt_texts){ .v = dt_arena_array(arena, const char *, DT_MAX_INPUTS + DT_MAX_OUTPUTS) };
    for (int i = 0; i < t->match.n_inputs; i++)
        DT_TRY(doubt_ranges(t, i, arena, out));
    for (int i = 0; i < t->o.compile->n_outputs; i++)
        DT_TRY(doubt_validation(t, i, arena, out));
    return NULL;
}
