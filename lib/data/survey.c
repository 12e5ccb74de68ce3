/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single elements of a part, mapped as outside of training: for steps that learn, for checks,
 * and for callers of dt_dataset_survey. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"
#include "data/parts.h"

/* ---- the rows of an element ---- */

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

/* Reads one element of an example. */
static dt_status *read_alone(dt_examples *x, int index, int64_t number, void *out) {
    dt_read_buffer buffer = {0};
    void **wanted = dt_alloc((size_t)x->n * sizeof *wanted);
    wanted[index] = out;
    dt_status *s = x->reader->at(x, number, &buffer, wanted);
    free(wanted);
    dt_str_release(&buffer.bytes);
    return s;
}

dt_status *dt_element_rows_get(dt_element_rows *x, int64_t i, const void **row) {
    const dt_rows *r = x->rows;
    const int64_t number = dt_rows_number(r, i);
    const void *stored = x->memory;
    x->at = (dt_map_at){.example = number, .group = dt_rows_group(r, number)};
    if (x->whole) stored = (const char *)x->whole + number * dt_rows_bytes(r, x->e);
    else DT_TRY(read_alone(r->x, r->index[x->e], number, x->memory));
    const bool maps = x->plan && !dt_map_plan_is_empty(x->plan);
    *row = maps ? x->mapped : stored;
    return maps ? dt_map_run(x->plan, &x->at, stored, x->mapped, x->scratch) : NULL;
}

/* ---- surveys ---- */

/* Returns which example to take from a range of `step` consecutive examples, as an offset in it.
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
