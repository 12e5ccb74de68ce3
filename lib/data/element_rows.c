/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads single elements of a part, mapped as outside of training: for surveys, for checks, and for
 * steps of `map` that learn.
 *
 * A plan ends before a step that still has to learn. All rows of the training part go through that
 * plan, in order, and the step sees each result; then the plan is made again. One thread adds
 * everything up in one order, so the results have the same bits on every machine.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"
#include "data/map/step.h"
#include "data/parts.h"

dt_status *dt_element_rows_open(dt_element_rows *x, const dt_rows *r, int e,
                                const dt_map_plan *plan) {
    const dt_element_spec *spec = &r->stored[r->index[e]];
    const int64_t stored = dt_aligned(dt_rows_bytes(r, e)),
                  mapped = plan ? dt_aligned(dt_type_bytes(dt_map_plan_type(plan))) : 0,
                  scratch = plan ? dt_map_plan_scratch(plan) : 0;
    *x = (dt_element_rows){.rows = r, .e = e, .plan = plan};
    DT_TRY(dt_rows_whole(r, e, &x->whole));
    x->memory = dt_try_alloc((size_t)(stored + mapped + scratch + 1));
    if (!x->memory)
        return dt_fail(DT_E_NO_MEMORY, &spec->at, "%s: out of memory for a row of '%.80s'",
                       spec->file, spec->name);
    x->mapped = x->memory + stored;
    x->scratch = x->mapped + mapped;
    return NULL;
}

dt_status *dt_examples_read_one(dt_examples *x, int index, int64_t number, dt_read_buffer *buffer,
                                void *out) {
    void **wanted = dt_alloc((size_t)x->n * sizeof *wanted);
    wanted[index] = out;
    dt_status *s = x->reader->at(x, number, buffer, wanted);
    free(wanted);
    return s;
}

dt_status *dt_element_rows_get(dt_element_rows *x, int64_t i, const void **row) {
    const dt_rows *r = x->rows;
    const int64_t number = dt_rows_number(r, i);
    const char *stored = x->memory;
    dt_read_buffer buffer = {0};
    dt_status *bad = NULL;
    x->at = (dt_map_at){.example = number, .group = dt_rows_group(r, number)};
    if (x->whole) stored = (const char *)x->whole + number * dt_rows_bytes(r, x->e);
    else bad = dt_examples_read_one(r->x, r->index[x->e], number, &buffer, x->memory);
    dt_str_release(&buffer.bytes);
    DT_TRY(bad);
    const bool maps = x->plan && !dt_map_plan_is_empty(x->plan);
    *row = maps ? x->mapped : stored;
    return maps ? dt_map_run(x->plan, &x->at, stored, x->mapped, x->scratch) : NULL;
}

/* Returns which example to take from a range of `step` consecutive examples, as an offset in it.
 * stretch: the index of the range's first example.
 * The offset differs from range to range, because labels may follow a regular pattern. */
static int64_t within(int64_t stretch, int64_t step) {
    return step > 1 ? (int64_t)(dt_hash_bytes(0, &stretch, sizeof stretch) % (uint64_t)step) : 0;
}

static dt_status *see_rows(const dt_survey *q, dt_element_rows *x) {
    const int64_t n = dt_rows_count(x->rows), step = q->most > 0 && n > q->most ? n / q->most : 1;
    bool more = true;
    for (int64_t first = 0; more && first < n; first += step) {
        const int64_t at = first + within(first, step), i = at < n ? at : first;
        const void *row;
        DT_TRY(dt_element_rows_get(x, i, &row));
        const dt_view example = {.type = *dt_map_plan_type(x->plan), .data = (void *)row};
        more = q->see_row ? q->see_row(&example, i, q->user) : q->see(&example, q->user);
    }
    return NULL;
}

dt_status *dt_dataset_survey(const dt_survey *q) {
    const dt_rows *r = dt_rows_of(q->data, q->part);
    dt_element_rows x;
    if (dt_rows_count(r) == 0) return NULL;
    dt_status *s = dt_element_rows_open(&x, r, q->element, r->plan[q->element]);
    if (!s) s = see_rows(q, &x);
    free(x.memory);
    return s;
}

bool dt_dataset_is_plain(const dt_dataset *data, int element) {
    return dt_map_plan_is_plain(dt_rows_of(data, DT_PART_TRAIN)->plan[element]);
}

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

/* Lets the plan's first step that still has to learn see all rows of the training part in order,
 * and adds what it learned to d->learned. */
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
