/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip(a, b, ...): puts elements side by side, until one input ends. Component `value` of input i is
 * called "i", any other component "i/name", like a path in a nested structure. enumerate is a zip
 * with a counter.
 */
#include "data/pipeline/build.h"

#include <stdlib.h>
#include <string.h>

static int64_t count(const dt_dataset *p) {
    int64_t least = DT_ENDLESS;
    for (int i = 0; i < p->n_in; i++) {
        int64_t n = dt_dataset_cardinality(p->in[i]);
        if (n == DT_UNCOUNTED) return DT_UNCOUNTED;
        if (n >= 0 && (least == DT_ENDLESS || n < least)) least = n;
    }
    return least;
}

static int64_t batch_size(const dt_dataset *p) {
    int64_t size = dt_dataset_search_batch(p->in[0]);
    for (int i = 1; i < p->n_in; i++)
        if (dt_dataset_search_batch(p->in[i]) != size) return DT_UNKNOWN_DIM;
    return size;
}

static dt_status *at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    dt_example all = dt_example_make(d->spec.n);
    int at = 0;
    for (int input = 0; input < d->n_in; input++) {
        dt_example one;
        dt_status *s = dt_input_at(d, input, i, it, &one);
        if (s || one.n == 0) {
            dt_example_release(&all);
            return s;
        }
        for (int k = 0; k < one.n; k++) all.tensor[at++] = dt_tensor_ref(one.tensor[k]);
        dt_example_release(&one);
    }
    *out = all;
    return NULL;
}

static const dt_transform zip_row = {
    .name = "zip", .batch_size = batch_size, .count = count, .at = at};

static char *path_of(int input, const char *name) {
    dt_str path = {0};
    if (strcmp(name, DT_ONLY_COMPONENT) == 0) dt_str_printf(&path, "%d", input);
    else dt_str_printf(&path, "%d/%s", input, name);
    return dt_str_take(&path);
}

static dt_example_spec join_specs(const dt_dataset *const *in, int n) {
    int total = 0, at = 0;
    for (int i = 0; i < n; i++) total += in[i]->spec.n;
    dt_example_spec spec = dt_spec_make(total);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < in[i]->spec.n; k++)
            spec.c[at++] = (dt_element_spec){.name = path_of(i, in[i]->spec.c[k].name),
                                             .type = in[i]->spec.c[k].type};
    return spec;
}

dt_status *dt_dataset_zip(dt_dataset **out, const dt_dataset *const *in, int n) {
    if (!in) return dt_fail(DT_E_PIPELINE, NULL, "zip: no data sets given");
    if (n < 1 || n > DT_MOST_INPUTS)
        return dt_fail(DT_E_PIPELINE, NULL, "zip: expected 1 to %d data sets, got %d",
                       DT_MOST_INPUTS, n);
    for (int i = 0; i < n; i++) DT_TRY(dt_dataset_check_input(dt_live(in[i]), "zip"));
    return dt_dataset_build_of(
        out, &(dt_dataset){.row = &zip_row, .in = in, .n_in = n, .spec = join_specs(in, n)});
}

dt_status *dt_dataset_enumerate(dt_dataset **out, const dt_dataset *in, int64_t start) {
    DT_LIVE(in);
    dt_dataset *counted = NULL;
    DT_TRY(dt_dataset_check_input(in, "enumerate"));
    DT_TRY(dt_dataset_range(&counted, start, INT64_MAX, 1));
    dt_status *s = dt_dataset_zip(out, (const dt_dataset *const[]){counted, in}, 2);
    dt_dataset_unref(counted);
    return s;
}
