/* SPDX-License-Identifier: Apache-2.0 */
/* batch(size, drop_remainder), and padded_batch, which pads shorter elements with zeros. */
#include "data/pipeline/build.h"

enum { LARGEST = 1 << 24 }; /* same limit as a job's global batch */

struct batch {
    int64_t size;
    bool drop;
};

static int64_t batch_size(const dt_dataset *p) { return ((const struct batch *)p->args)->size; }

static int64_t count(const dt_dataset *p) {
    const struct batch *b = p->args;
    int64_t n = dt_count_of_input(p);
    return n < 0 ? n : n / b->size + (n % b->size != 0 && !b->drop);
}

static dt_status *collect(dt_iterator *it, dt_example_list *examples) {
    const struct batch *b = it->dataset->args;
    while (examples->n < b->size) {
        dt_example example;
        DT_TRY(dt_iterator_next_example(it->in[0], &example));
        if (example.n == 0) return NULL;
        dt_example_list_push(examples, &example);
    }
    return NULL;
}

static dt_status *next_batch(dt_iterator *it, bool padded, dt_example *out) {
    const struct batch *b = it->dataset->args;
    dt_example_list examples = {0};
    dt_status *s = collect(it, &examples);
    if (!s && examples.n > 0 && (examples.n == b->size || !b->drop))
        s = dt_examples_stack(examples.v, examples.n, padded, out);
    dt_example_list_clear(&examples);
    return s;
}

static dt_status *next(dt_iterator *it, dt_example *out) { return next_batch(it, false, out); }

static dt_status *next_padded(dt_iterator *it, dt_example *out) {
    return next_batch(it, true, out);
}

static const dt_transform batch_row = {
    .name = "batch",
    .args_size = sizeof(struct batch),
    .batch_size = batch_size,
    .count = count,
    .next = next,
};
static const dt_transform padded_batch_row = {
    .name = "padded_batch",
    .args_size = sizeof(struct batch),
    .batch_size = batch_size,
    .count = count,
    .next = next_padded,
};

static dt_status *build(dt_dataset **out, const dt_dataset *in, const struct batch *b,
                        const dt_transform *row) {
    dt_example_spec spec;
    DT_TRY(dt_dataset_check_input(in, row->name));
    if (b->size < 1 || b->size > LARGEST)
        return dt_fail(DT_E_BATCH_SIZE, NULL, "%s: the batch size must be from 1 to %d, got %lld",
                       row->name, LARGEST, (long long)b->size);
    DT_TRY(dt_spec_batched(&in->spec, b->drop ? b->size : DT_UNKNOWN_DIM, &spec));
    return dt_dataset_build(
        out, &(dt_dataset){.row = row, .in = &in, .n_in = 1, .args = b, .spec = spec});
}

dt_status *dt_dataset_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                            bool drop_remainder) {
    DT_LIVE(in);
    return build(out, in, &(struct batch){size, drop_remainder}, &batch_row);
}

dt_status *dt_dataset_padded_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                                   bool drop_remainder) {
    DT_LIVE(in);
    return build(out, in, &(struct batch){size, drop_remainder}, &padded_batch_row);
}
