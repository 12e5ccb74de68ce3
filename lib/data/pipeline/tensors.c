/* SPDX-License-Identifier: Apache-2.0 */
/* Examples held in memory: from_tensors gives one example, from_tensor_slices one for each row. */
#include "data/pipeline/build.h"

struct held {
    dt_example example;
    int64_t rows; /* number of rows, each of which becomes an example; 0 for from_tensors */
};

static void release(void *args) {
    struct held *h = args;
    dt_example example = h->example;
    dt_example_release(&example);
}

static int64_t one(const dt_dataset *p) {
    (void)p;
    return 1;
}

static int64_t count_rows(const dt_dataset *p) { return ((const struct held *)p->args)->rows; }

static dt_status *whole(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    (void)i, (void)it;
    *out = dt_example_ref(&((const struct held *)d->args)->example);
    return NULL;
}

static dt_status *row_at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    (void)it;
    return dt_example_row(&((const struct held *)d->args)->example, i, out);
}

static const dt_transform tensors_row = {
    .name = "from_tensors",
    .args_size = sizeof(struct held),
    .count = one,
    .at = whole,
    .release = release,
};
static const dt_transform slices_row = {
    .name = "from_tensor_slices",
    .args_size = sizeof(struct held),
    .count = count_rows,
    .at = row_at,
    .release = release,
};

dt_status *dt_dataset_build_tensors(dt_dataset **out, dt_example *example, dt_example_spec spec) {
    const struct held args = {.example = *example};
    *example = (dt_example){0};
    return dt_dataset_build(out, &tensors_row, NULL, &args, spec);
}

dt_status *dt_dataset_build_slices(dt_dataset **out, dt_example *example, dt_example_spec spec) {
    struct held args = {.example = *example};
    dt_example_spec row = {0};
    dt_status *s = dt_example_rows(example, &args.rows);
    if (!s) s = dt_spec_unbatched(&spec, &row);
    dt_spec_release(&spec);
    if (s) {
        dt_example_release(example);
        return dt_note(s, "in dt_dataset_from_tensor_slices");
    }
    *example = (dt_example){0};
    return dt_dataset_build(out, &slices_row, NULL, &args, row);
}
