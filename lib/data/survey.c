/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function with examples of a part, mapped as outside of training, one after the other
 * until it returns false. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"
#include "data/parts.h"

/* Returns which example to take from a range of `step` consecutive examples, as an offset in it.
 * The offset differs from range to range, because labels may follow a regular pattern. */
static int64_t within(int64_t stretch, int64_t step) {
    return step > 1 ? (int64_t)(dt_hash_bytes(0, &stretch, sizeof stretch) % (uint64_t)step) : 0;
}

/* Maps the examples and calls the function. memory has room for a stored row, a row after `map`,
 * and scratch. */
static dt_status *see_rows(const dt_survey *q, const dt_rows *r, const void *whole, char *memory) {
    const dt_map_plan *plan = r->plan[q->element];
    const dt_type *type = dt_map_plan_type(plan);
    char *mapped = memory + dt_aligned(dt_rows_bytes(r, q->element)),
         *scratch = mapped + dt_aligned(dt_type_bytes(type));
    const int64_t step = q->most > 0 && r->count > q->most ? r->count / q->most : 1;
    bool more = true;
    for (int64_t first = 0; more && first < r->count; first += step) {
        const int64_t at = first + within(first, step), i = at < r->count ? at : first;
        const void *row;
        DT_TRY(dt_rows_get(r, q->element, i, whole, memory, &row));
        const dt_map_at here = {.example = dt_rows_number(r, i), .group = dt_rows_group(r, i)};
        DT_TRY(dt_map_run(plan, &here, row, mapped, scratch));
        const dt_view example = {.type = *type, .data = mapped};
        more = q->see_row ? q->see_row(&example, i, q->user) : q->see(&example, q->user);
    }
    return NULL;
}

dt_status *dt_dataset_survey(const dt_survey *q) {
    const dt_parts *d = dt_parts_of(q->data);
    const dt_rows *r = &d->rows[q->part];
    const void *whole;
    if (r->count == 0) return NULL;
    const dt_map_plan *plan = r->plan[q->element];
    DT_TRY(dt_rows_whole(r, q->element, &whole));
    char *memory = dt_try_alloc((size_t)(dt_aligned(dt_rows_bytes(r, q->element)) +
                                         dt_aligned(dt_type_bytes(dt_map_plan_type(plan))) +
                                         dt_map_plan_scratch(plan)));
    if (!memory)
        return dt_fail(DT_E_NO_MEMORY, &d->spec.at, "out of memory for a row of '%s'",
                       d->element[q->element].name);
    dt_status *s = see_rows(q, r, whole, memory);
    free(memory);
    return s;
}

bool dt_dataset_is_plain(const dt_dataset *data, int element) {
    return dt_map_plan_is_plain(dt_rows_of(data, DT_PART_TRAIN)->plan[element]);
}
