/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `class_weight: balanced`, as in scikit-learn: the weight of a class is the number of training
 * examples divided by the number of classes that occur and by the examples of the class. So the
 * examples of each class have the same weight together, and the weights' mean over the examples is
 * 1. Examples of a class that the loss ignores are not counted.
 */
#include <math.h>

#include "op/cells.h"
#include "train/trainer.h"

enum { MOST_CLASSES = 1000 }; /* classes are numbered from 0 to MOST_CLASSES - 1 */

typedef struct counts {
    int64_t *of; /* [MOST_CLASSES] number of examples of each class */
    int64_t examples;
    /* the class whose examples the loss ignores; NULL: no class is ignored */
    const int64_t *ignored;
    /* whether a target was found that is not the number of a class; `odd` is then its value */
    bool is_odd;
    double odd;
} counts;

static bool see(const dt_view *target, void *user) {
    counts *c = user;
    const double class = dt_type_elements(&target->type) == 1 ? dt_cell_double(target, 0)
                                                              : (double)dt_target_class(target);
    if (c->ignored && class == (double)*c->ignored) return true;
    c->is_odd = !(class >= 0 && class < MOST_CLASSES && class == trunc(class));
    c->odd = class;
    if (c->is_odd) return false;
    c->of[(int64_t) class]++;
    c->examples++;
    return true;
}

static void set_weights(dt_arena *arena, const counts *c, dt_class_weights *w) {
    int n = 0;
    for (int k = 0; k < MOST_CLASSES; k++) n += c->of[k] > 0;
    double *weight = dt_arena_array(arena, double, n);
    w->number = dt_arena_array(arena, int64_t, n);
    w->name = dt_arena_array(arena, const char *, n);
    w->key_at = dt_arena_array(arena, dt_location, n);
    w->weight = weight;
    for (int k = 0; k < MOST_CLASSES; k++) {
        if (c->of[k] == 0) continue;
        w->number[w->n] = k;
        weight[w->n++] = (double)c->examples / ((double)n * (double)c->of[k]);
    }
}

dt_status *dt_trainer_balance(dt_trainer *t) {
    dt_class_weights *w = &t->class_weight;
    const dt_named *loss = &t->o.compile->output[0].loss;
    const dt_loss_row *row = (const dt_loss_row *)loss->kind;
    const dt_element_spec *element;
    counts c = {.of = dt_arena_array(t->arena, int64_t, MOST_CLASSES),
                .ignored = row && row->ignored ? row->ignored(loss->args) : NULL};
    if (!w->balanced) return NULL;
    DT_TRY(dt_dataset_survey(&(dt_survey){.data = t->o.data,
                                          .part = DT_PART_TRAIN,
                                          .element = t->match.target[0],
                                          .see = see,
                                          .user = &c}));
    dt_dataset_elements(t->o.data, &element);
    const dt_location *at = w->at.source ? &w->at : NULL;
    if (c.is_odd)
        return dt_fail(DT_E_LABELS, at,
                       "class_weight: balanced needs classes, numbers from 0 to %d; '%.80s' has %g",
                       MOST_CLASSES - 1, element[t->match.target[0]].name, c.odd);
    if (c.examples == 0)
        return dt_suggest(dt_fail(DT_E_LABELS, at,
                                  "class_weight: balanced counts classes of stored examples, and "
                                  "this data set has none"),
                          "write the weight of each class: {0: 1, 1: 2.5}");
    set_weights(t->arena, &c, w);
    return NULL;
}
