/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the examples of a part through the model once more, and counts them in their order. See
 * explain.h. */
#include "train/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/tensor.h"
#include "train/trainer.h"

/* A batch to count: the values of the output and of the target, and the losses; losses NULL: they
 * are unknown. */
typedef struct explained_rows {
    int64_t first, n;
    /* shapes (n, ...), (n, ...) and (n): the values of n rows */
    const float *output, *target, *loss;
} explained_rows;

enum { FIRST_SLOTS = 64, MOST_SLOTS = 1 << 21 };

static int64_t width_of(const dt_type *t) { return t->rank == 2 ? t->dim[1] : 1; }

/* Whether an output of type `output`, (B, ...), can be explained with targets of type `target`. */
static bool can_explain(const dt_type *output, const dt_type *target) {
    return output->dtype == DT_FLOAT32 && output->rank >= 1 && output->rank <= 2 &&
           target->rank >= 1 && target->rank <= 2 &&
           (width_of(target) == 1 || width_of(target) == width_of(output));
}

static bool open_classes(dt_explained_tally *t) {
    t->pair = t->width == 2;
    t->as = t->pair ? DT_EXPLAINED_BINARY : DT_EXPLAINED_CLASSES;
    t->n_classes = t->width;
    return t->width >= 2;
}

static bool open_labels(dt_explained_tally *t, bool same_width) {
    t->as = t->width == 1 ? DT_EXPLAINED_BINARY : DT_EXPLAINED_LABELS;
    t->n_classes = t->width == 1 ? 2 : t->width;
    return same_width;
}

static bool open_values(dt_explained_tally *t, bool same_width) {
    t->as = DT_EXPLAINED_VALUES;
    t->n_classes = 0;
    if (!same_width || t->width > DT_MOST_COLUMNS) return false;
    t->column = dt_alloc((size_t)t->width * sizeof *t->column);
    return true;
}

/* Decides from the meaning of an output what is counted for it, and begins with counts of 0. */
static void tally_open(dt_explained_tally *t, const dt_output_meaning *meaning,
                       const dt_type *output, const dt_type *target) {
    const bool same_width = width_of(output) == width_of(target);
    t->width = width_of(output);
    t->one_hot = same_width && t->width > 1;
    t->logits = meaning->logits;
    t->is_open = meaning->kind == DT_OUTPUT_CLASSES  ? open_classes(t)
                 : meaning->kind == DT_OUTPUT_LABELS ? open_labels(t, same_width)
                                                     : open_values(t, same_width);
    if (t->is_open && t->n_classes > 0)
        t->class = dt_alloc((size_t)t->n_classes * sizeof *t->class);
}

static void explained_tally_release(dt_explained_tally *t) {
    for (int64_t i = 0; t->column && i < t->width; i++) dt_spread_release(&t->column[i].errors);
    free(t->column);
    free(t->class);
    free(t->pair_count);
    dt_spread_release(&t->scores);
}

static dt_pair_count *slot_of(dt_pair_count *in, int64_t slots, uint64_t key) {
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15);
    for (at ^= at >> 32;; at++) {
        dt_pair_count *s = &in[at & (uint64_t)(slots - 1)];
        if (s->key == 0 || s->key == key) return s;
    }
}

static void grow(dt_explained_tally *t) {
    const int64_t slots = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
    dt_pair_count *all = dt_alloc((size_t)slots * sizeof *all);
    for (int64_t i = 0; i < t->n_slots; i++)
        if (t->pair_count[i].key) *slot_of(all, slots, t->pair_count[i].key) = t->pair_count[i];
    free(t->pair_count);
    t->pair_count = all;
    t->n_slots = slots;
}

/* Counts a pair of classes. Once the table is full, new pairs are not counted. */
static void count_pair(dt_explained_tally *t, int64_t actual, int64_t predicted) {
    if (2 * t->n_pairs >= t->n_slots && t->n_slots < MOST_SLOTS) grow(t);
    dt_pair_count *s =
        slot_of(t->pair_count, t->n_slots, ((uint64_t)actual << 32 | (uint64_t)predicted) + 1);
    if (s->key == 0) {
        if (2 * t->n_pairs >= t->n_slots) return;
        s->key = ((uint64_t)actual << 32 | (uint64_t)predicted) + 1;
        t->n_pairs++;
    }
    s->count++;
}

static void keep_worst(dt_explained_tally *t, const dt_worst_example *x) {
    int at = t->n_worst;
    if (isnan(x->loss)) return;
    while (at > 0 && t->worst[at - 1].loss < x->loss) at--;
    if (at == DT_MOST_WORST) return;
    const int last = t->n_worst < DT_MOST_WORST ? t->n_worst++ : DT_MOST_WORST - 1;
    memmove(&t->worst[at + 1], &t->worst[at], (size_t)(last - at) * sizeof *t->worst);
    t->worst[at] = *x;
}

static int64_t largest(const float *v, int64_t n) {
    int64_t most = 0;
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[most]) most = i;
    return most;
}

/* Returns the class of a target. Returns -1 if the target is not a class, or if the loss ignores
 * the examples of its class. */
static int64_t class_of(const dt_explained_tally *t, const float *target) {
    if (t->ignores && !t->one_hot && *target == (float)t->ignored) return -1;
    if (t->as == DT_EXPLAINED_BINARY && !t->pair) return *target > 0.5F;
    if (t->one_hot) return largest(target, t->width);
    return *target >= 0 && *target < (float)t->n_classes ? (int64_t)*target : -1;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Returns the probability of class k. v: the scores of an example before a softmax (t->logits) or
 * after it. */
static double share_of(const dt_explained_tally *t, const float *v, int64_t k) {
    double sum = 0;
    if (!t->logits) return (double)v[k];
    for (int64_t i = 0; i < t->width; i++) sum += exp((double)v[i] - (double)v[k]);
    return 1 / sum;
}

static void count_class(dt_explained_tally *t, int64_t actual, int64_t predicted) {
    t->examples++;
    t->right += actual == predicted;
    t->class[actual].support++;
    t->class[predicted].predicted++;
    t->class[actual].hits += actual == predicted;
    count_pair(t, actual, predicted);
}

static void calibrate(dt_explained_tally *t, double p, bool is_one) {
    int bin = 0;
    while (bin < DT_CALIBRATION - 1 && p > (bin + 1) * 0.1) bin++;
    t->bin[bin].sum += p;
    t->bin[bin].count++;
    t->bin[bin].positive += is_one;
    t->squares += (p - is_one) * (p - is_one);
}

/* Returns the score by which examples are ordered: that of class 1 or, before a softmax of two
 * values, class 1's minus class 0's. Sets *p to the probability of class 1. */
static double binary_score(const dt_explained_tally *t, const float *v, double *p) {
    const double score = !t->pair    ? (double)v[0]
                         : t->logits ? (double)v[1] - (double)v[0]
                                     : (double)v[1];
    *p = t->logits ? sigmoid(score) : score;
    return score;
}

static dt_status *take_binary(dt_explained_tally *t, const float *v, int64_t actual,
                              dt_worst_example *x) {
    double p;
    const double score = binary_score(t, v, &p);
    const bool one = t->pair ? v[1] > v[0] : p > 0.5;
    count_class(t, actual, one);
    calibrate(t, p, actual == 1);
    x->predicted = one;
    x->score = actual == 1 ? p : 1 - p;
    return dt_spread_add(&t->scores, score, actual == 1);
}

/* Whether n values are finite. An example is counted only if its output and its target are. */
static bool is_finite(const float *v, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

static dt_status *take_class(dt_explained_tally *t, const float *v, const float *target,
                             dt_worst_example *x) {
    const int64_t actual = class_of(t, target);
    if (actual < 0) {
        x->loss = NAN;
        return NULL;
    }
    x->actual = (double)actual;
    if (t->as == DT_EXPLAINED_BINARY) return take_binary(t, v, actual, x);
    const int64_t predicted = largest(v, t->width);
    count_class(t, actual, predicted);
    x->predicted = (double)predicted;
    x->score = share_of(t, v, actual);
    return NULL;
}

static void take_labels(dt_explained_tally *t, const float *v, const float *target,
                        dt_worst_example *x) {
    bool all = true;
    for (int64_t i = 0; i < t->width; i++) {
        const bool is = target[i] > 0.5F, said = v[i] > (t->logits ? 0.0F : 0.5F);
        t->class[i].support += is;
        t->class[i].predicted += said;
        t->class[i].hits += is && said;
        all &= is == said;
    }
    t->examples++;
    t->right += all;
    x->actual = x->predicted = x->score = NAN;
}

static dt_status *take_values(dt_explained_tally *t, const float *v, const float *target,
                              dt_worst_example *x) {
    t->examples++;
    for (int64_t i = 0; i < t->width; i++) {
        dt_tallied_column *c = &t->column[i];
        const double y = (double)target[i], error = (double)v[i] - y, off = y - c->target_mean;
        c->error += error;
        c->absolute += fabs(error);
        c->squared += error * error;
        c->target_mean += off / (double)t->examples;
        c->target_spread += off * (y - c->target_mean);
        DT_TRY(dt_spread_add(&c->errors, error, false));
    }
    x->actual = (double)target[0];
    x->predicted = (double)v[0];
    x->score = NAN;
    return NULL;
}

static dt_status *tally_rows(dt_explained_tally *t, const explained_rows *r) {
    const int64_t each = t->one_hot ? t->width : 1;
    for (int64_t i = 0; i < r->n; i++) {
        const float *v = r->output + i * t->width, *target = r->target + i * each;
        dt_worst_example x = {.example = r->first + i, .loss = r->loss ? (double)r->loss[i] : NAN};
        if (!is_finite(v, t->width) || !is_finite(target, each)) continue;
        if (t->as == DT_EXPLAINED_VALUES) DT_TRY(take_values(t, v, target, &x));
        else if (t->as == DT_EXPLAINED_LABELS) take_labels(t, v, target, &x);
        else DT_TRY(take_class(t, v, target, &x));
        keep_worst(t, &x);
    }
    return NULL;
}

typedef struct explaining {
    const dt_trainer *trainer;
    dt_arena *arena;
    bool is_open;
    int n;
    dt_explained_tally tally[DT_MAX_OUTPUTS];
} explaining;

static int find_result(const dt_predicted_rows *p, const char *name) {
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->names[i], name) == 0) return i;
    return -1;
}

/* Returns the values of a result of the step, all of which are float32, by its index; -1: returns
 * NULL. */
static const float *floats_of(const dt_predicted_rows *p, int result) {
    return result >= 0 ? (const float *)p->values[result]->data : NULL;
}

static void note_ignored(explaining *x, int i) {
    const dt_named *loss = &x->trainer->o.compile->output[i].loss;
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    const int64_t *number = row && row->ignored ? row->ignored(loss->args) : NULL;
    x->tally[i].ignores = number != NULL;
    if (number) x->tally[i].ignored = *number;
}

static void open_tallies(explaining *x, const dt_predicted_rows *p) {
    const dt_compile_spec *c = x->trainer->o.compile;
    x->is_open = true;
    for (int i = 0; i < x->n; i++) {
        dt_explained_tally *t = &x->tally[i];
        note_ignored(x, i);
        t->loss = find_result(p, dt_loss_result(x->arena, c, i));
        t->target = find_result(p, dt_target_result(x->arena, i));
        if (t->target < 0) continue;
        const dt_type *output = &p->values[i]->type, *target = &p->values[t->target]->type;
        if (can_explain(output, target)) tally_open(t, &p->meaning[i], output, target);
    }
}

static dt_status *take_rows(const dt_predicted_rows *p, void *user) {
    explaining *x = user;
    if (!x->is_open) open_tallies(x, p);
    for (int i = 0; i < x->n; i++) {
        dt_explained_tally *t = &x->tally[i];
        if (!t->is_open) continue;
        DT_TRY(tally_rows(t, &(explained_rows){.first = p->first,
                                               .n = p->n_rows,
                                               .output = floats_of(p, i),
                                               .target = floats_of(p, t->target),
                                               .loss = floats_of(p, t->loss)}));
    }
    return NULL;
}

/* Whether the evaluation of at least one output can be explained. If not, the pass over the
 * examples is skipped. */
static bool can_explain_any(const dt_trainer *t) {
    const dt_element_spec *element;
    dt_dataset_elements(t->o.data, &element);
    for (int i = 0; i < t->o.compile->n_outputs; i++)
        if (t->match.target[i] >= 0 && t->o.compile->output[i].loss.kind &&
            can_explain(&t->o.model->spec.output[i].type, &element[t->match.target[i]].type))
            return true;
    return false;
}

static void locate_worst(const dt_explain_request *q, const dt_output_explained *o, int output) {
    /* This function may change the worst examples, although the result declares them const: it has
     * allocated them in the arena of the request. */
    dt_worst_example *worst = (dt_worst_example *)o->worst;
    for (int i = 0; i < o->n_worst; i++) {
        dt_str where = {0};
        dt_dataset_locate(q->trainer->o.data, q->part, q->trainer->match.target[output],
                          worst[i].example, &where);
        worst[i].where = dt_arena_take(q->arena, &where);
    }
}

/* Returns the names of an output's classes or columns: those of the request or, if it has none,
 * those of the target. */
static dt_texts names_of(const dt_explain_request *q, int output) {
    const dt_element_spec *element;
    if (q->names && q->names->of[output].n > 0) return q->names->of[output];
    dt_dataset_elements(q->trainer->o.data, &element);
    return element[q->trainer->match.target[output]].names;
}

static dt_status *finish(const dt_explain_request *q, explaining *x, dt_evaluation *out) {
    dt_output_explained *all = dt_arena_array(q->arena, dt_output_explained, x->n);
    *out = (dt_evaluation){.output = all};
    for (int i = 0; i < x->n; i++) {
        dt_output_explained *o = &all[out->n];
        if (!x->tally[i].is_open || x->tally[i].examples == 0) continue;
        const dt_texts names = names_of(q, i);
        DT_TRY(dt_tally_explain(&x->tally[i], &names, q->threshold_for, q->arena, o));
        o->name = q->trainer->o.model->spec.output[i].name;
        locate_worst(q, o, i);
        out->n++;
    }
    return NULL;
}

dt_status *dt_trainer_explain(const dt_explain_request *q, dt_evaluation *out) {
    const dt_trainer *t = q->trainer;
    explaining *x;
    int64_t most = 0;
    *out = (dt_evaluation){0};
    if (!can_explain_any(t)) return NULL;
    if (q->batches > 0 && !dt_mul_fits(q->batches, dt_dataset_batch_size(t->o.data), &most))
        most = 0;
    x = dt_alloc(sizeof *x);
    *x = (explaining){.trainer = t, .arena = q->arena, .n = t->o.compile->n_outputs};
    const dt_predict_rows from = {.data = t->o.data,
                                  .part = q->part,
                                  .batch = t->evaluation_rows,
                                  .compile = t->o.compile,
                                  .rows = take_rows,
                                  .user = x,
                                  .explains = t,
                                  .most = most};
    dt_status *s = dt_predict(t->o.model, &from);
    if (!s) s = finish(q, x, out);
    for (int i = 0; i < x->n; i++) explained_tally_release(&x->tally[i]);
    free(x);
    return s;
}
