/* SPDX-License-Identifier: Apache-2.0 */
/* take(count) and skip(count), which keep or skip the first elements, all of them if count is
 * negative; and select(numbers), which lists the elements to keep. */
#include <stdlib.h>

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

static void index_taken(const dt_dataset *d, const dt_indices *q) {
    const int64_t most = ((const struct part *)d->args)->count;
    for (int64_t i = 0; i < q->n; i++)
        if (most >= 0 && q->example[i] >= most) q->example[i] = -1;
}

static void index_left(const dt_dataset *d, const dt_indices *q) {
    const int64_t first = ((const struct part *)d->args)->count;
    for (int64_t i = 0; i < q->n; i++)
        q->example[i] = first < 0 || q->example[i] > INT64_MAX - first ? -1 : q->example[i] + first;
}

static const dt_transform take_row = {
    .name = "take",
    .args_size = sizeof(struct part),
    .count = count_taken,
    .index = index_taken,
};
static const dt_transform skip_row = {
    .name = "skip",
    .args_size = sizeof(struct part),
    .count = count_left,
    .index = index_left,
};

static dt_status *add(dt_dataset **out, const dt_dataset *in, int64_t count,
                      const dt_transform *row) {
    const struct part args = {count < 0 ? -1 : count};
    return dt_dataset_build(out, row, in, &args, dt_spec_copy(&in->spec));
}

dt_status *dt_dataset_add_take(dt_dataset **out, const dt_dataset *in, int64_t count) {
    return add(out, in, count, &take_row);
}

dt_status *dt_dataset_add_skip(dt_dataset **out, const dt_dataset *in, int64_t count) {
    return add(out, in, count, &skip_row);
}

dt_status *dt_dataset_take(dt_dataset **out, const dt_dataset *in, int64_t count) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "take"));
    return dt_dataset_add_take(out, in, count);
}

dt_status *dt_dataset_skip(dt_dataset **out, const dt_dataset *in, int64_t count) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "skip"));
    return dt_dataset_add_skip(out, in, count);
}

/* ---- select ---- */

struct list {
    uint32_t *example; /* [n] numbers of the input's examples, in increasing order */
    int64_t n;
};

static int64_t count_selected(const dt_dataset *d) { return ((const struct list *)d->args)->n; }

static void index_selected(const dt_dataset *d, const dt_indices *q) {
    const struct list *a = d->args;
    for (int64_t i = 0; i < q->n; i++)
        q->example[i] = q->example[i] < a->n ? (int64_t)a->example[q->example[i]] : -1;
}

static void release_list(void *args) { free(((struct list *)args)->example); }

static const dt_transform select_row = {
    .name = "select",
    .args_size = sizeof(struct list),
    .count = count_selected,
    .index = index_selected,
    .release = release_list,
};

dt_status *dt_dataset_add_select(dt_dataset **out, const dt_dataset *in, uint32_t *example,
                                 int64_t n) {
    const struct list args = {example, n};
    return dt_dataset_build(out, &select_row, in, &args, dt_spec_copy(&in->spec));
}
