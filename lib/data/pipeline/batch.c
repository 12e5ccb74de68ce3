/* SPDX-License-Identifier: Apache-2.0 */
/* batch(size, drop_remainder), and padded_batch, which pads shorter elements with zeros. */
#include "data/pipeline/build.h"

enum { LARGEST = 1 << 24 }; /* same limit as a job's global batch */

struct batch {
    int64_t size;
    bool drop, padded;
};

static int64_t batch_size(const dt_dataset *p) { return ((const struct batch *)p->args)->size; }

static int64_t count(const dt_dataset *p) {
    const struct batch *b = p->args;
    int64_t n = dt_length_of_input(p);
    return n < 0 ? n : n / b->size + (n % b->size != 0 && !b->drop);
}

static dt_status *collect(const dt_dataset *d, int64_t i, const dt_iterator *it,
                          dt_example_list *examples) {
    const int64_t size = ((const struct batch *)d->args)->size;
    int64_t first;
    if (!dt_mul_fits(i, size, &first) || first > INT64_MAX - size) return NULL;
    while (examples->n < size) {
        dt_example example;
        DT_TRY(dt_input_at(d, 0, first + examples->n, it, &example));
        if (example.n == 0) return NULL;
        dt_example_list_push(examples, &example);
    }
    return NULL;
}

static dt_status *at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    const struct batch *b = d->args;
    dt_example_list examples = {0};
    dt_status *s = collect(d, i, it, &examples);
    if (!s && examples.n > 0 && (examples.n == b->size || !b->drop))
        s = dt_examples_stack(examples.v, examples.n, b->padded, out);
    dt_example_list_clear(&examples);
    return s;
}

#define BATCHES                                                                                    \
    .args_size = sizeof(struct batch), .batch_size = batch_size, .count = count, .at = at
static const dt_transform batch_row = {.name = "batch", BATCHES};
static const dt_transform padded_batch_row = {.name = "padded_batch", BATCHES};

static dt_status *build(dt_dataset **out, const dt_dataset *in, const struct batch *b) {
    const dt_transform *row = b->padded ? &padded_batch_row : &batch_row;
    dt_example_spec spec;
    DT_TRY(dt_dataset_check_input(in, row->name));
    if (b->size < 1 || b->size > LARGEST)
        return dt_fail(DT_E_BATCH_SIZE, NULL, "%s: the batch size must be from 1 to %d, got %lld",
                       row->name, LARGEST, (long long)b->size);
    DT_TRY(dt_spec_batched(&in->spec, b->drop ? b->size : DT_UNKNOWN_DIM, &spec));
    return dt_dataset_build(out, row, in, b, spec);
}

dt_status *dt_dataset_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                            bool drop_remainder) {
    DT_LIVE(in);
    return build(out, in, &(struct batch){size, drop_remainder, false});
}

dt_status *dt_dataset_padded_batch(dt_dataset **out, const dt_dataset *in, int64_t size,
                                   bool drop_remainder) {
    DT_LIVE(in);
    return build(out, in, &(struct batch){size, drop_remainder, true});
}
