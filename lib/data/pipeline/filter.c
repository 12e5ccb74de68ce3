/* SPDX-License-Identifier: Apache-2.0 */
/* filter(predicate) and map(function): a C function of the caller decides which elements to keep,
 * or makes another element of each. */
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

static dt_status *map(dt_iterator *it, dt_example *out) {
    const dt_example_function *f = it->dataset->args;
    dt_example in;
    DT_TRY(dt_iterator_next_example(it->in[0], &in));
    if (in.n == 0) return NULL;
    dt_status *s = f->map(&in, f->user, out);
    dt_example_release(&in);
    return s ? s : dt_spec_check(&it->dataset->spec, out, "map");
}

static int64_t count_filtered(const dt_dataset *p) {
    return dt_count_of_input(p) == 0 ? 0 : DT_UNCOUNTED;
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
    .count = dt_count_of_input,
    .next = map,
    .release = dt_example_function_release,
};

dt_status *dt_dataset_build_filter(dt_dataset **out, const dt_dataset *in,
                                   const dt_example_function *f) {
    return dt_dataset_build(
        out,
        &(dt_dataset){
            .row = &filter_row, .in = &in, .n_in = 1, .args = f, .spec = dt_spec_copy(&in->spec)});
}

dt_status *dt_dataset_build_map(dt_dataset **out, const dt_dataset *in,
                                const dt_example_function *f, dt_example_spec spec) {
    return dt_dataset_build(
        out, &(dt_dataset){.row = &map_row, .in = &in, .n_in = 1, .args = f, .spec = spec});
}
