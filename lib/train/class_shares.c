/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of the training data beside those of a part that is evaluated. A table that is sorted by
 * class, split at its end, trains on some classes and is measured on others; its figures mean
 * nothing.
 *
 * A class is named when
 *   - training has none of it, or
 *   - its share of the two parts differs by a factor of 2 or more, and dividing the same examples
 *     at random would do that in fewer than one of 1,000 cases: Fisher's exact test, corrected for
 *     the number of classes. Small parts and rare classes differ by chance.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "train/trainer.h"

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

/* ---- counting ---- */

typedef struct tally {
    int64_t *count; /* [classes] */
    int64_t classes, seen;
    bool whole;   /* every example was looked at */
    bool numbers; /* targets are classes: whole numbers below `classes` */
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

static dt_status *count(const dt_trainer *t, dt_part part, int element, dt_arena *arena,
                        tally *out) {
    out->count = dt_arena_array(arena, int64_t, out->classes);
    out->whole = dt_dataset_count(t->o.data, part) <= MOST_EXAMPLES;
    out->numbers = true;
    return dt_dataset_survey(&(dt_survey){.data = t->o.data,
                                          .part = part,
                                          .element = element,
                                          .most = MOST_EXAMPLES,
                                          .see = see,
                                          .user = out});
}

/* ---- chance ---- */

static double log_choose(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Of n examples k are of a class. How probable it is that m of the n, drawn at random, have `hits`
 * of the class or still fewer, or still more: whichever is rarer. */
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

/* By a factor of 2, and not by chance. */
static bool is_beyond_chance(const tally *training, const tally *part, int64_t class, int tests) {
    const double a = (double)training->count[class], b = (double)part->count[class],
                 in_a = a / (double)training->seen, in_b = b / (double)part->seen;
    if (a + b == 0 || (in_a < FACTOR * in_b && in_b < FACTOR * in_a)) return false;
    return chance_of((double)(training->seen + part->seen), a + b, (double)part->seen, b) * 2 *
               tests <
           CHANCE;
}

static bool differs(const tally *training, const tally *part, int64_t class, int tests) {
    const bool is_missing =
        training->count[class] == 0 && part->count[class] > 0 && training->whole;
    return is_missing || is_beyond_chance(training, part, class, tests);
}

/* ---- words ---- */

/* "2 (Chinstrap)" */
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
    const dt_element_spec *target;
    const tally *training, *seen;
} finding;

/* What is to be done, where a split of one file made the parts. */
static const char *split_cure(const finding *f) {
    const bool split =
        f->part == DT_PART_VALIDATION && dt_dataset_spec_of(f->t->o.data)->validation_split > 0;
    return split ? "; validation_split takes the last examples; shuffle the file's rows first" : "";
}

/* Rare classes that are missing by chance are another matter. */
static const char *cure(const finding *f) {
    const int tests = present(f->training, f->seen);
    for (int64_t i = 0; i < f->seen->classes; i++)
        if (is_beyond_chance(f->training, f->seen, i, tests)) return split_cure(f);
    return "";
}

/* Those of `missing`, which training does not have, or the others; how many there are, of which
 * MOST_NAMED are named. */
static int put_differing(const finding *f, bool missing, int n, dt_str *out) {
    const int tests = present(f->training, f->seen);
    for (int64_t i = 0; i < f->seen->classes; i++) {
        if ((f->training->count[i] == 0) != missing || !differs(f->training, f->seen, i, tests) ||
            n++ >= MOST_NAMED)
            continue;
        dt_str_printf(out, "%s", n > 1 ? "; " : "");
        put_class(out, f->target, i);
        put_shares(out, f->training, f->seen, i, dt_part_name(f->part));
    }
    return n;
}

static const char *describe(const finding *f, dt_arena *arena) {
    dt_str list = {0};
    const char *words = NULL;
    const int n = put_differing(f, false, put_differing(f, true, 0, &list), &list);
    if (n > MOST_NAMED) dt_str_printf(&list, "; and %d more", n - MOST_NAMED);
    if (n > 0)
        words = dt_arena_printf(
            arena, "classes of '%.80s' differ between the training and the %s data: %s%s",
            f->target->name, dt_part_name(f->part), dt_str_text(&list), cure(f));
    dt_str_release(&list);
    return words;
}

/* All of one class, where training has that one and others. */
static const char *describe_only(const finding *f, dt_arena *arena) {
    int64_t only = -1;
    for (int64_t i = 0; i < f->seen->classes; i++)
        if (f->seen->count[i] == f->seen->seen) only = i;
    if (only < 0 || f->training->count[only] == 0 || f->training->count[only] == f->training->seen)
        return NULL;
    dt_str class = {0};
    put_class(&class, f->target, only);
    const char *words =
        dt_arena_printf(arena,
                        "all %s examples are of one class, '%s' %s: metrics on "
                        "them say nothing about the other classes%s",
                        dt_part_name(f->part), f->target->name, dt_str_text(&class), split_cure(f));
    dt_str_release(&class);
    return words;
}

/* ---- the whole ---- */

/* How many classes an example of the output has one of; 0: several may be right, or it is no
 * classifier. */
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

dt_status *dt_trainer_class_warning(const dt_trainer *t, int output, dt_part part, dt_arena *arena,
                                    const char **out) {
    const int64_t classes = classes_of(t, output);
    const int element = t->match.target[output];
    tally training = {.classes = classes}, seen = {.classes = classes};
    const dt_element_spec *elements;
    *out = NULL;
    if (classes == 0 || part == DT_PART_TRAIN || dt_dataset_count(t->o.data, part) < 2 ||
        dt_dataset_count(t->o.data, DT_PART_TRAIN) == 0)
        return NULL;
    DT_TRY(count(t, part, element, arena, &seen));
    DT_TRY(count(t, DT_PART_TRAIN, element, arena, &training));
    if (!seen.numbers || !training.numbers) return NULL;
    dt_dataset_elements(t->o.data, &elements);
    const finding f = {t, part, &elements[element], &training, &seen};
    *out = describe_only(&f, arena);
    if (!*out) *out = describe(&f, arena);
    return NULL;
}
