/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the data before training. It is an error if there is nothing to train on. Data that gives
 * a poor model or a meaningless metric gets a warning, where possible with a change to the job that
 * helps.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "train/trainer.h"

/*
 * ---- classes ----
 *
 * The classes of the training data are compared with those of the part that is evaluated. A table
 * that is sorted by class and split near its end trains on some classes and is measured on others:
 * its metrics mean nothing. A class is named when
 *   - the training part, read to its end, has none of it, or
 *   - the other part, read to its end, has none, although its share of the training data predicts
 *     at least two examples there, or
 *   - its shares of the two parts differ by a factor of 2 or more, and a random division of the
 *     same examples would do that in fewer than one of 1,000 cases: Fisher's exact test, corrected
 *     for the number of classes. Small parts and rare classes differ by chance.
 */

enum { MOST_EXAMPLES = 1 << 16, MOST_CLASSES = 1 << 20, MOST_NAMED = 3 };
#define FACTOR 2.0
#define CHANCE 1e-3

int64_t dt_target_class(const dt_view *target) {
    const int64_t n = dt_type_elements(&target->type);
    int64_t most = 0;
    for (int64_t i = 1; i < n; i++)
        if (dt_cell_double(target, i) > dt_cell_double(target, most)) most = i;
    return n == 1 ? (int64_t)dt_cell_double(target, 0) : most;
}

typedef struct tally {
    int64_t *count; /* [classes] number of examples of each class */
    int64_t classes, seen;
    bool whole; /* whether all examples of the part were read */
    /* whether the targets that were read are all whole numbers from 0 to `classes` - 1, or vectors,
     * which are taken to be one-hot */
    bool numbers;
} tally;

static bool see(const dt_view *target, void *user) {
    tally *t = user;
    const double first = dt_cell_double(target, 0);
    const bool alone = dt_type_elements(&target->type) == 1;
    t->numbers = !alone || (first >= 0 && first < (double)t->classes && first == trunc(first));
    if (t->numbers) {
        t->count[dt_target_class(target)]++;
        t->seen++;
    }
    return t->numbers;
}

static dt_status *count_classes(const dt_dataset *d, dt_part part, int element, dt_arena *arena,
                                tally *out) {
    out->count = dt_arena_array(arena, int64_t, out->classes);
    out->whole = dt_dataset_count(d, part) <= MOST_EXAMPLES;
    out->numbers = true;
    return dt_dataset_survey(&(dt_survey){.data = d,
                                          .part = part,
                                          .element = element,
                                          .most = MOST_EXAMPLES,
                                          .see = see,
                                          .user = out});
}

/* ---- differences beyond chance ---- */

static double log_choose(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Suppose that k of n examples have a class, and that m of the n are drawn at random. If `hits` is
 * below the expected number of examples of the class among these, returns the probability of `hits`
 * or fewer, else of `hits` or more. */
static double chance_of(double n, double k, double m, double hits) {
    const int step = hits * n < k * m ? -1 : 1;
    double p = exp(log_choose(k, hits) + log_choose(n - k, m - hits) - log_choose(n, m)), sum = 0;
    for (double x = hits; p > sum * 1e-12 && p > 0; x += step) {
        sum += p;
        p *= step > 0 ? (k - x) * (m - x) / ((x + 1) * (n - k - m + x + 1))
                      : x * (n - k - m + x) / ((k - x + 1) * (m - x + 1));
    }
    return sum;
}

static int present(const tally *a, const tally *b) {
    int n = 0;
    for (int64_t i = 0; i < a->classes; i++) n += a->count[i] + b->count[i] > 0;
    return n;
}

/* Whether the class's shares of the two parts differ by the factor FACTOR, and by more than chance
 * explains: 2 * chance_of(...) * tests < CHANCE, where `tests` is the number of classes that are
 * tested. */
static bool is_beyond_chance(const tally *training, const tally *part, int64_t class, int tests) {
    const double a = (double)training->count[class], b = (double)part->count[class],
                 in_a = a / (double)training->seen, in_b = b / (double)part->seen;
    if (a + b == 0 || (in_a < FACTOR * in_b && in_b < FACTOR * in_a)) return false;
    return chance_of((double)(training->seen + part->seen), a + b, (double)part->seen, b) * 2 *
               tests <
           CHANCE;
}

/* Whether the part `lacks`, which was read to its end, has no example of a class that the part
 * `has` contains. */
static bool is_missing(const tally *lacks, const tally *has, int64_t class) {
    return lacks->count[class] == 0 && has->count[class] > 0 && lacks->whole;
}

static bool is_expected(const tally *training, const tally *part, int64_t class) {
    return (double)training->count[class] * (double)part->seen >= 2 * (double)training->seen;
}

static bool differs(const tally *training, const tally *part, int64_t class, int tests) {
    return is_missing(training, part, class) ||
           (is_missing(part, training, class) && is_expected(training, part, class)) ||
           is_beyond_chance(training, part, class, tests);
}

/* ---- words ---- */

/* Writes a class as "2 (Chinstrap)", or as "2" if it has no name. */
static void put_class(dt_str *out, const dt_element_spec *target, int64_t class) {
    const char *name = class < target->names.n ? target->names.v[class] : "";
    dt_str_printf(out, "%lld%s%.80s%s", (long long)class, *name ? " (" : "", name,
                  *name ? ")" : "");
}

static void put_shares(dt_str *out, const tally *training, const tally *part, int64_t class,
                       const char *name) {
    const double in_training = 100 * (double)training->count[class] / (double)training->seen,
                 in_part = 100 * (double)part->count[class] / (double)part->seen;
    if (in_training == 0)
        dt_str_printf(out, " is missing in the training data and is %.3g %% of the %s data",
                      in_part, name);
    else
        dt_str_printf(out, " is %.3g %% of the training and %.3g %% of the %s data", in_training,
                      in_part, name);
}

typedef struct finding {
    const dt_trainer *t;
    dt_part part;
    const char *name; /* the name of the part in messages, such as "validation" */
    const dt_element_spec *target;
    const tally *training, *seen;
} finding;

/* Suggests a line for the job that would divide the examples better. Writes nothing unless dtrain
 * has split off the validation part itself, without stratifying by this target. */
static void put_cure(const finding *f, dt_str *out) {
    const dt_validation_split *q = &dt_dataset_spec_of(f->t->o.data)->split;
    const bool is_stratified = q->stratify && strcmp(q->stratify, f->target->name) == 0;
    if (f->part != DT_PART_VALIDATION || !dt_validation_splits(q) || is_stratified) return;
    if (!q->shuffle)
        dt_str_puts(out, q->folds ? "; folds are successive examples"
                                  : "; validation_split takes the last examples");
    if (q->folds)
        dt_str_printf(out, "; write 'validation_folds: {folds: %lld", (long long)q->folds);
    else dt_str_printf(out, "; write 'validation_split: {fraction: %.15g", q->fraction);
    dt_str_printf(out, ", shuffle: true, stratify: %.80s}' in 'dataset'", f->target->name);
}

/* Writes the names of classes whose shares differ: with `missing` those that training lacks, else
 * the others. n is the number of classes named so far. At most MOST_NAMED are written in all.
 * Returns n plus the number of classes found here. */
static int put_differing(const finding *f, bool missing, int n, dt_str *out) {
    const int tests = present(f->training, f->seen);
    for (int64_t i = 0; i < f->seen->classes; i++) {
        if ((f->training->count[i] == 0) != missing || !differs(f->training, f->seen, i, tests) ||
            n++ >= MOST_NAMED)
            continue;
        dt_str_printf(out, "%s", n > 1 ? "; " : "");
        put_class(out, f->target, i);
        put_shares(out, f->training, f->seen, i, f->name);
    }
    return n;
}

static const char *describe(const finding *f, dt_arena *arena) {
    dt_local_str list = {0};
    const char *words = NULL;
    const int n = put_differing(f, false, put_differing(f, true, 0, &list), &list);
    if (n > MOST_NAMED) dt_str_printf(&list, "; and %d more", n - MOST_NAMED);
    put_cure(f, &list);
    if (n > 0)
        words = dt_arena_printf(
            arena, "classes of '%.80s' differ between the training and the %s data: %s",
            f->target->name, f->name, dt_str_text(&list));
    return words;
}

/* Describes a part whose examples all have one class, if training has this class and others. Else
 * returns NULL. */
static const char *describe_only(const finding *f, dt_arena *arena) {
    int64_t only = -1;
    for (int64_t i = 0; i < f->seen->classes; i++)
        if (f->seen->count[i] == f->seen->seen) only = i;
    if (only < 0 || f->training->count[only] == 0 || f->training->count[only] == f->training->seen)
        return NULL;
    dt_local_str class = {0}, line = {0};
    put_class(&class, f->target, only);
    put_cure(f, &line);
    return dt_arena_printf(arena,
                           "all %s examples are of one class, '%s' %s: metrics on "
                           "them say nothing about the other classes%s",
                           f->name, f->target->name, dt_str_text(&class), dt_str_text(&line));
}

/* ---- warnings about classes ---- */

/* Returns the number of classes of an output whose examples have exactly one class; 0 for other
 * outputs, and for more than MOST_CLASSES classes. */
static int64_t classes_of(const dt_trainer *t, int output) {
    const dt_loss_row *loss = (const dt_loss_row *)t->o.compile->output[output].loss.kind;
    const dt_type *scores = &t->o.model->spec.output[output].type;
    const dt_element_spec *element;
    if (!loss || loss->of == DT_OUTPUT_VALUES || t->match.target[output] < 0) return 0;
    dt_dataset_elements(t->o.data, &element);
    const dt_type *target = &element[t->match.target[output]].type;
    const bool lone = target->rank == 1 || (target->rank == 2 && target->dim[1] == 1);
    if (!lone && (loss->of != DT_OUTPUT_CLASSES || loss->sparse || target->rank != 2)) return 0;
    const int64_t n = scores->rank > 1 ? scores->dim[scores->rank - 1] : 1;
    return n > MOST_CLASSES ? 0 : n > 1 ? n : 2;
}

/* Returns the index of the element of d that has the name of `like` and as many values. Returns -1
 * if d has no such element. */
static int find_element(const dt_dataset *d, const dt_element_spec *like) {
    const dt_element_spec *element;
    for (int e = dt_dataset_elements(d, &element) - 1; e >= 0; e--)
        if (strcmp(element[e].name, like->name) == 0)
            return dt_type_elements(&element[e].type) == dt_type_elements(&like->type) ? e : -1;
    return -1;
}

/* Sets *out to a warning, in the arena, if the classes of an output's targets differ between the
 * training part of `training` and the given part of the trainer's data; else to NULL. It is also
 * NULL if there is nothing to compare, for example because `training` is NULL, lacks the targets,
 * or is another data set that cannot be read. */
static dt_status *warn_of_classes(const dt_trainer *t, int output, dt_part part,
                                  const dt_dataset *training, dt_arena *arena, const char **out) {
    const int64_t classes = classes_of(t, output);
    const int element = t->match.target[output];
    tally trained = {.classes = classes}, seen = {.classes = classes};
    const dt_element_spec *elements;
    *out = NULL;
    if (classes == 0 || !training || (training == t->o.data && part == DT_PART_TRAIN) ||
        dt_dataset_count(t->o.data, part) < 2 || dt_dataset_count(training, DT_PART_TRAIN) == 0)
        return NULL;
    dt_dataset_elements(t->o.data, &elements);
    const int same = find_element(training, &elements[element]);
    if (same < 0) return NULL;
    DT_TRY(count_classes(t->o.data, part, element, arena, &seen));
    dt_status *bad = count_classes(training, DT_PART_TRAIN, same, arena, &trained);
    if (bad && training == t->o.data) return bad;
    const bool counted = !bad;
    dt_status_free(bad);
    if (!counted || !seen.numbers || !trained.numbers) return NULL;
    const finding f = {t,        part, dt_dataset_part_name(t->o.data, part), &elements[element],
                       &trained, &seen};
    *out = describe_only(&f, arena);
    if (!*out) *out = describe(&f, arena);
    return NULL;
}

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
/* The ranges of two columns count as very different if one is this many times the other. */
#define ORDERS 100.0

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
 * Finds the columns with the widest and with the narrowest range. Returns whether they are orders
 * of magnitude apart. A column with a single value is left out. The standard deviations must differ
 * as much as the ranges, because a normalized column may have an outlier, and a column for a rare
 * class is 0 almost everywhere. With more than MANY columns, fewer than a tenth of them may have at
 * least half of the widest range: where more do, as in pixels, a narrow column is nothing
 * unusual.
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

/* Whether the model uses an input's stored numbers as they are, although they may need to be
 * normalized: the input has 2 to MOST_NUMBERS columns of numbers that `map` does not change, and no
 * layer that reads it embeds, normalizes or rescales them. */
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

/* ---- targets of metrics, and the lists of warnings ---- */

/* Whether the loss guarantees that all targets are in the metric's range. Targets that the loss
 * does not allow have been refused before. */
static bool is_known(const dt_trainer *t, int output, const dt_loss_limits *l) {
    const dt_loss_row *loss = (const dt_loss_row *)t->o.compile->output[output].loss.kind;
    return loss && loss->targets.low < loss->targets.high && loss->targets.low >= l->low &&
           loss->targets.high <= l->high;
}

/* Warns of targets that do not suit a metric, such as the accuracy of a regression. Names the
 * first such metric of an output. */
static dt_status *doubt_metrics(const dt_trainer *t, int output, dt_arena *arena, dt_texts *out) {
    const dt_compile_spec *c = t->o.compile;
    const dt_model_spec *m = &t->o.model->spec;
    for (int i = 0; i < c->n_metrics; i++) {
        const dt_loss_limits l = dt_metric_targets(c->metric[i].row);
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
        const bool is_reported = s != NULL;
        dt_status_free(s);
        if (is_reported) break;
    }
    return NULL;
}

dt_status *dt_trainer_data_warnings(const dt_trainer *t, dt_arena *arena, dt_texts *out) {
    dt_texts rounded, left_out;
    dt_dataset_rounded(t->o.data, arena, &rounded);
    dt_dataset_left_out(t->o.data, &left_out);
    *out = (dt_texts){
        .v = dt_arena_array(arena, const char *, rounded.n + left_out.n + DT_MAX_INPUTS)};
    for (int i = 0; i < rounded.n; i++) out->v[out->n++] = rounded.v[i];
    for (int i = 0; i < left_out.n; i++) out->v[out->n++] = left_out.v[i];
    for (int i = 0; i < t->match.n_inputs; i++) DT_TRY(doubt_ranges(t, i, arena, out));
    return NULL;
}

dt_status *dt_trainer_target_warnings(const dt_trainer *t, dt_part part, const dt_dataset *training,
                                      dt_arena *arena, dt_texts *out) {
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, 2 * DT_MAX_OUTPUTS)};
    for (int i = 0; i < t->o.compile->n_outputs; i++) {
        DT_TRY(doubt_metrics(t, i, arena, out));
        DT_TRY(warn_of_classes(t, i, part, training, arena, &out->v[out->n]));
        out->n += out->v[out->n] != NULL;
    }
    return NULL;
}
