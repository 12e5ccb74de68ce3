/* SPDX-License-Identifier: Apache-2.0 */
/* take(count) and skip(count); a count of -1 means all elements. */
#include "data/pipeline/build.h"

struct part {
    int64_t count;
};

static int64_t count_taken(const dt_dataset *p) {
    int64_t most = ((const struct part *)p->args)->count, n = dt_length_of_input(p);
    if (most < 0 || n == DT_UNCOUNTED) return most == 0 ? 0 : n;
    return n == DT_ENDLESS || n > most ? most : n;
}

static int64_t count_left(const dt_dataset *p) {
    int64_t first = ((const struct part *)p->args)->count, n = dt_length_of_input(p);
    if (first < 0) return 0;
    return n < 0 ? n : n > first ? n - first : 0;
}

static int64_t index_taken(const dt_dataset *d, int64_t i) {
    const int64_t most = ((const struct part *)d->args)->count;
    return most >= 0 && i >= most ? -1 : i;
}

static int64_t index_left(const dt_dataset *d, int64_t i) {
    const int64_t first = ((const struct part *)d->args)->count;
    int64_t at;
    return first >= 0 && dt_add_fits(i, first, &at) ? at : -1;
}

static const dt_transform take_row = {
    .name = "take",
    .args_size = sizeof(struct part),
    .batch_size = dt_batch_of_input,
    .count = count_taken,
    .index = index_taken,
};
static const dt_transform skip_row = {
    .name = "skip",
    .args_size = sizeof(struct part),
    .batch_size = dt_batch_of_input,
    .count = count_left,
    .index = index_left,
};

static dt_status *build(dt_dataset **out, const dt_dataset *in, int64_t count,
                        const dt_transform *row) {
    DT_TRY(dt_dataset_check_input(in, row->name));
    const struct part args = {count < 0 ? -1 : count};
    return dt_dataset_build(out, row, in, &args, dt_spec_copy(&in->spec));
}

dt_status *dt_dataset_take(dt_dataset **out, const dt_dataset *in, int64_t count) {
    DT_LIVE(in);
    return build(out, in, count, &take_row);
}

dt_status *dt_dataset_skip(dt_dataset **out, const dt_dataset *in, int64_t count) {
    DT_LIVE(in);
    return build(out, in, count, &skip_row);
}
