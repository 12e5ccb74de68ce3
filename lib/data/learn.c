/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the steps of `map`, and lets steps learn on the way. A plan ends before a step that still
 * has to learn. All rows of the training part go through that plan, in order, and the step sees
 * each result; then the plan is made again. One thread adds everything up in one order, so the
 * results have the same bits on every machine.
 */
#include <stdlib.h>

#include "data/dataset.h"
#include "base/size.h"
#include "data/map/step.h"

static const dt_rows *training_rows(const dt_dataset *d) {
    const dt_rows *train = &d->rows[DT_PART_TRAIN];
    return train->single ? train->single : train;
}

/* Shows all rows of train to the step that learns. memory: room for a stored row, a row after
 * `plan`, and scratch. */
static dt_status *take_rows(const dt_dataset *d, int e, const dt_map_plan *plan, void *lesson,
                            char *memory) {
    const dt_rows *train = training_rows(d);
    const dt_map_stage *s = dt_map_plan_pending(plan);
    const void *whole, *row;
    char *mapped = memory + dt_aligned(dt_rows_bytes(train, e)),
         *scratch = mapped + dt_aligned(dt_type_bytes(dt_map_plan_type(plan)));
    DT_TRY(dt_rows_whole(train, e, &whole));
    for (int64_t i = 0; i < train->count; i++) {
        DT_TRY(dt_rows_get(train, e, i, whole, memory, &row));
        if (!dt_map_plan_is_empty(plan)) {
            DT_TRY(dt_map_run(plan, &(dt_map_at){.example = dt_rows_number(train, i)}, row, mapped,
                              scratch));
            row = mapped;
        }
        s->step->learning->take(lesson, s, row);
    }
    return NULL;
}

static void add_lesson(dt_dataset *d, const dt_lesson *lesson) {
    dt_lesson *all = dt_arena_array(d->arena, dt_lesson, d->learned.n + 1);
    for (int i = 0; i < d->learned.n; i++) all[i] = d->learned.lesson[i];
    all[d->learned.n++] = *lesson;
    d->learned.lesson = all;
}

static dt_status *learn(dt_dataset *d, int e, const dt_map_plan *plan) {
    const dt_rows *train = training_rows(d);
    const dt_map_stage *s = dt_map_plan_pending(plan);
    const dt_map_learning *how = s->step->learning;
    char *memory = dt_try_alloc((size_t)(dt_aligned(dt_rows_bytes(train, e)) +
                                         dt_aligned(dt_type_bytes(dt_map_plan_type(plan))) +
                                         dt_map_plan_scratch(plan) + 1));
    if (!memory)
        return dt_fail(DT_E_NO_MEMORY, s->at, "%s: out of memory for one of its rows", s->file);
    void *lesson = how->begin(s);
    dt_status *bad = take_rows(d, e, plan, lesson, memory);
    dt_lesson learned = {.step = s->purpose};
    how->end(lesson, s, bad ? NULL : d->arena, &learned);
    if (!bad) add_lesson(d, &learned);
    free(memory);
    return bad;
}

dt_status *dt_rows_plan(dt_dataset *d, dt_rows *r, int e) {
    const dt_map_request q = {.map = d->spec.map,
                              .stored = &r->stored[r->index[e]],
                              .directory = d->spec.directory,
                              .learned = &d->learned,
                              .none = d->spec.as_stored};
    if (r->single) DT_TRY(dt_rows_plan(d, r->single, e));
    DT_TRY(dt_map_plan_make(d->arena, &q, &r->plan[e]));
    while (dt_map_plan_pending(r->plan[e])) {
        if (d->spec.rows)
            return dt_fail(DT_E_ELEMENTS, NULL,
                           "%s: a step of 'map' for '%.80s' is learned from the training data, and "
                           "no learned values are stored",
                           d->spec.rows->path->text, d->element[e].name);
        DT_TRY(learn(d, e, r->plan[e]));
        DT_TRY(dt_map_plan_make(d->arena, &q, &r->plan[e]));
    }
    return NULL;
}
