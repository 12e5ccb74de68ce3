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

/* Shows all rows of train to the step that learns. memory has room for a stored row, a row after
 * `plan`, and scratch. */
static dt_status *take_rows(const dt_parts *d, int e, const dt_map_plan *plan, void *lesson,
                            char *memory) {
    const dt_rows *train = training_rows(d), *part = &d->rows[DT_PART_TRAIN];
    const dt_map_stage *s = dt_map_plan_pending(plan);
    const void *whole, *row;
    char *mapped = memory + dt_aligned(dt_rows_bytes(train, e)),
         *scratch = mapped + dt_aligned(dt_type_bytes(dt_map_plan_type(plan)));
    DT_TRY(dt_rows_whole(train, e, &whole));
    for (int64_t i = 0; i < train->count; i++) {
        const int64_t number = dt_rows_number(train, i);
        const dt_map_at at = {.example = number,
                              .group = part->single ? dt_windows_group_of_row(part->x, number) : 0};
        DT_TRY(dt_rows_get(train, e, i, whole, memory, &row));
        if (!dt_map_plan_is_empty(plan)) {
            DT_TRY(dt_map_run(plan, &at, row, mapped, scratch));
            row = mapped;
        }
        s->step->learning->take(lesson, s, &at, row);
    }
    return NULL;
}

static void add_lesson(dt_parts *d, const dt_lesson *lesson) {
    dt_lesson *all = dt_arena_array(d->arena, dt_lesson, d->learned.n + 1);
    for (int i = 0; i < d->learned.n; i++) all[i] = d->learned.lesson[i];
    all[d->learned.n++] = *lesson;
    d->learned.lesson = all;
}

static dt_status *learn(dt_parts *d, int e, const dt_map_plan *plan) {
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

/* Checks that steps have learned values for the groups of all windows. */
static dt_status *check_groups(const dt_parts *d, const dt_rows *r, int e) {
    for (int64_t i = 0; r->single && i < r->count; i++)
        if (!dt_map_plan_knows(r->plan[e], dt_rows_group(r, i)))
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
