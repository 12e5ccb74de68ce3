/* SPDX-License-Identifier: Apache-2.0 */
/* filter(predicate) keeps the elements that a C function of the caller chooses; map(function)
 * replaces each element by one that such a function makes of it. */
#include "data/pipeline/build.h"

void dt_example_function_release(void *args) {
    const dt_example_function *f = args;
    if (f->release) f->release(f->user);
}

static dt_status *filter(dt_iterator *it, dt_example *out) {
    const dt_example_function *f = it->dataset->args;
    for (;; dt_example_release(out)) {
        bool keep = false;
        DT_TRY(dt_iterator_next_example(it->in[0], out));
        if (out->n == 0) return NULL;
        DT_TRY(f->filter(out, f->user, &keep));
        if (keep) return NULL;
    }
}

static dt_status *map(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    const dt_example_function *f = d->args;
    dt_example in;
    DT_TRY(dt_input_at(d, 0, i, it, &in));
    if (in.n == 0) return NULL;
    dt_status *s = f->map(&in, f->user, out);
    dt_example_release(&in);
    return s ? s : dt_spec_check(&d->spec, out, "map");
}

static int64_t count_filtered(const dt_dataset *p) {
    return dt_length_of_input(p) == 0 ? 0 : DT_UNCOUNTED;
}

static const dt_transform filter_row = {
    .name = "filter",
    .args_size = sizeof(dt_example_function),
    .batch_size = dt_batch_of_input,
    .count = count_filtered,
    .next = filter,
    .release = dt_example_function_release,
};
static const dt_transform map_row = {
    .name = "map",
    .args_size = sizeof(dt_example_function),
    .count = dt_length_of_input,
    .at = map,
    .release = dt_example_function_release,
};

dt_status *dt_dataset_build_filter(dt_dataset **out, const dt_dataset *in,
                                   const dt_example_function *f) {
    return dt_dataset_build(out, &filter_row, in, f, dt_spec_copy(&in->spec));
}

dt_status *dt_dataset_build_map(dt_dataset **out, const dt_dataset *in,
                                const dt_example_function *f, dt_example_spec spec) {
    return dt_dataset_build(out, &map_row, in, f, spec);
}
