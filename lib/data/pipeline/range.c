/* SPDX-License-Identifier: Apache-2.0 */
/* range(start, stop, step): the numbers from start up to but not including stop, as int64
 * scalars. */
#include <string.h>

#include "data/pipeline/build.h"

struct range {
    int64_t start, stop, step;
};

static int64_t count(const dt_dataset *p) {
    const struct range *r = p->args;
    uint64_t span, step;
    if (r->step > 0 ? r->start >= r->stop : r->start <= r->stop) return 0;
    span = r->step > 0 ? (uint64_t)r->stop - (uint64_t)r->start
                       : (uint64_t)r->start - (uint64_t)r->stop;
    step = r->step > 0 ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    uint64_t n = (span - 1) / step + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static dt_status *at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    (void)it;
    const struct range *r = d->args;
    const dt_type scalar = dt_scalar_type(DT_INT64);
    *out = dt_example_make(1);
    DT_TRY(dt_tensor_new(&out->tensor[0], &scalar));
    int64_t value = (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->step);
    memcpy(out->tensor[0]->data, &value, sizeof value);
    return NULL;
}

static const dt_transform range_row = {
    .name = "range",
    .args_size = sizeof(struct range),
    .count = count,
    .at = at,
};

dt_status *dt_dataset_range(dt_dataset **out, int64_t start, int64_t stop, int64_t step) {
    const dt_type scalar = dt_scalar_type(DT_INT64);
    const struct range args = {start, stop, step};
    DT_TRY(dt_status_kept());
    if (step == 0) return dt_fail(DT_E_PIPELINE, NULL, "range: step cannot be 0");
    return dt_dataset_build(out, &range_row, NULL, &args,
                            dt_spec_single(DT_ONLY_COMPONENT, &scalar));
}
