/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the steps of `map`, and lets steps learn on the way. A plan ends before a step that still
 * has to learn. All rows of the training part go through that plan, in order, and the step sees
 * each result; then the plan is made again. One thread adds everything up in one order, so the
 * results have the same bits on every machine.
 */
#include <stdlib.h>

#include "data/parts.h"
#include "base/size.h"
#include "data/map/step.h"

static const dt_rows *training_rows(const dt_parts *d) {
    const dt_rows *train = &d->rows[DT_PART_TRAIN];
    return train->single ? train->single : train;
}

static void add_lesson(dt_parts *d, const dt_lesson *lesson) {
    dt_lesson *all = dt_arena_array(d->arena, dt_lesson, d->learned.n + 1);
    for (int i = 0; i < d->learned.n; i++) all[i] = d->learned.lesson[i];
    all[d->learned.n++] = *lesson;
    d->learned.lesson = all;
}

/* Shows all rows of train to the step that learns. */
static dt_status *learn(dt_parts *d, int e, const dt_map_plan *plan) {
    const dt_rows *train = training_rows(d);
    const dt_map_stage *s = dt_map_plan_pending(plan);
    const dt_map_learning *how = s->step->learning;
    dt_lesson learned = {.step = s->purpose};
    dt_element_rows x;
    void *lesson = how->begin(s);
    dt_status *bad = dt_element_rows_open(&x, train, e, plan);
    for (int64_t i = 0; !bad && i < dt_rows_count(train); i++) {
        const void *row;
        bad = dt_element_rows_get(&x, i, &row);
        if (!bad) how->take(lesson, s, &x.at, row);
    }
    how->end(lesson, s, bad ? NULL : d->arena, &learned);
    if (!bad) add_lesson(d, &learned);
    free(x.memory);
    return bad;
}

/* Checks that steps have learned values for the groups of all windows. */
static dt_status *check_groups(const dt_parts *d, const dt_rows *r, int e) {
    for (int64_t i = 0; r->single && i < dt_rows_count(r); i++)
        if (!dt_map_plan_knows(r->plan[e], dt_rows_group(r, dt_rows_number(r, i))))
            return dt_suggest(
                dt_fail(DT_E_DATA_FILE, &d->spec.window.group_at,
                        "%s: row %lld is of a series that the training data does not have, so "
                        "'%.80s' has no mean for it",
                        r->stored[r->index[e]].file,
                        (long long)dt_windows_row(r->x, r->index[e], dt_rows_number(r, i)) + 1,
                        d->element[e].name),
                "leave out its rows; a series must have length + horizon rows in training");
    return NULL;
}

dt_status *dt_rows_plan(dt_parts *d, dt_rows *r, int e) {
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
    return check_groups(d, r, e);
}
