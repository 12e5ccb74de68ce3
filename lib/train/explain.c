/* SPDX-License-Identifier: Apache-2.0 */
/* Running the examples of a part once more, to explain its evaluation. See explain.h. */
#include "train/explain.h"

#include <stdlib.h>
#include <string.h>

#include "graph/tensor.h"
#include "train/trainer.h"

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

/* The values of a result of the step. All its results are float32. */
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
        if (dt_can_explain(output, target)) dt_tally_open(t, &p->meaning[i], output, target);
    }
}

static dt_status *take_rows(const dt_predicted_rows *p, void *user) {
    explaining *x = user;
    if (!x->is_open) open_tallies(x, p);
    for (int i = 0; i < x->n; i++) {
        dt_explained_tally *t = &x->tally[i];
        if (!t->is_open) continue;
        DT_TRY(dt_tally_rows(t, &(dt_explained_rows){.first = p->first,
                                                     .n = p->n_rows,
                                                     .output = floats_of(p, i),
                                                     .target = floats_of(p, t->target),
                                                     .loss = floats_of(p, t->loss)}));
    }
    return NULL;
}

/* Whether the evaluation of at least one output can be explained. If not, the pass over the
 * examples is skipped. */
static bool can_explain(const dt_trainer *t) {
    const dt_element_spec *element;
    dt_dataset_elements(t->o.data, &element);
    for (int i = 0; i < t->o.compile->n_outputs; i++)
        if (t->match.target[i] >= 0 && t->o.compile->output[i].loss.kind &&
            dt_can_explain(&t->o.model->spec.output[i].type, &element[t->match.target[i]].type))
            return true;
    return false;
}

static void locate_worst(const dt_explain_request *q, const dt_output_explained *o, int output) {
    /* this call may change the examples: they were allocated in the arena of the request */
    dt_worst_example *worst = (dt_worst_example *)o->worst;
    for (int i = 0; i < o->n_worst; i++) {
        dt_str where = {0};
        dt_dataset_locate(q->trainer->o.data, q->part, q->trainer->match.target[output],
                          worst[i].example, &where);
        worst[i].where = dt_arena_take(q->arena, &where);
    }
}

/* The names of an output's classes or columns. If the request has none, these are the names of the
 * target. */
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
    if (!can_explain(t)) return NULL;
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
    for (int i = 0; i < x->n; i++) dt_explained_tally_release(&x->tally[i]);
    free(x);
    return s;
}
