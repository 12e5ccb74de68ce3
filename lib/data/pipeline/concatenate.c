/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate(a, b): all of a, then all of b. */
#include "data/pipeline/build.h"

static int64_t count(const dt_dataset *p) {
    int64_t a = dt_dataset_cardinality(p->in[0]), b = dt_dataset_cardinality(p->in[1]), all;
    if (a == DT_ENDLESS || b == DT_ENDLESS) return DT_ENDLESS;
    return a >= 0 && b >= 0 && dt_add_fits(a, b, &all) ? all : DT_UNCOUNTED;
}

static int64_t batch_size(const dt_dataset *p) {
    int64_t a = dt_dataset_search_batch(p->in[0]), b = dt_dataset_search_batch(p->in[1]);
    return a == b ? a : DT_UNKNOWN_DIM;
}

static dt_status *at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    (void)it; /* `next` reads the inputs in order */
    const int64_t n = d->in[0]->length;
    const bool first = n == DT_ENDLESS || i < n;
    return dt_dataset_at(d->in[first ? 0 : 1], first ? i : i - n, out);
}

/* Opens the second input when the first one has ended. */
static dt_status *next(dt_iterator *it, dt_example *out) {
    for (int i = 0; i < 2; i++) {
        if (!it->in[i]) DT_TRY(dt_iterator_open(&it->in[i], it->dataset->in[i], it->epoch, 0));
        DT_TRY(dt_iterator_next_example(it->in[i], out));
        if (out->n > 0) return NULL;
    }
    return NULL;
}

static const dt_transform concatenate_row = {
    .name = "concatenate",
    .opens_inputs = true,
    .batch_size = batch_size,
    .count = count,
    .at = at,
    .next = next,
};

dt_status *dt_dataset_concatenate(dt_dataset **out, const dt_dataset *first,
                                  const dt_dataset *second) {
    DT_LIVE(first);
    DT_LIVE(second);
    dt_example_spec spec;
    DT_TRY(dt_dataset_check_input(first, "concatenate"));
    DT_TRY(dt_dataset_check_input(second, "concatenate"));
    DT_TRY(dt_spec_common(&first->spec, &second->spec, &spec));
    const dt_dataset *const in[] = {first, second};
    return dt_dataset_build_of(
        out, &(dt_dataset){.row = &concatenate_row, .in = in, .n_in = 2, .spec = spec});
}
