/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebatch_even(n): cuts each batch of b rows into exactly n pieces of ceil(b / n) rows until the
 * rows are used up; the remaining pieces are empty. 6 rows in 4 pieces are 2, 2, 2, 0. TensorFlow
 * does this if it does not know the batch size beforehand. Components whose batches differ in size,
 * as zip may make them, are each cut by their own size.
 */
#include "data/pipeline/build.h"

struct even {
    int64_t n;
};

/* The state is the example that is being cut. */
static dt_status *next(dt_iterator *it, dt_example *out) {
    int64_t n = ((const struct even *)it->dataset->args)->n;
    dt_example *x = it->state;
    if (it->at % n == 0) {
        dt_example_release(x);
        DT_TRY(dt_iterator_next_example(it->in[0], x));
        if (x->n == 0) return NULL;
    }
    return dt_example_piece(x, it->at % n, n, out);
}

static void close(dt_iterator *it) { dt_example_release(it->state); }

static int64_t count(const dt_dataset *p) {
    int64_t n = dt_length_of_input(p), all;
    return n < 0 ? n : dt_mul_fits(n, ((const struct even *)p->args)->n, &all) ? all : DT_UNCOUNTED;
}

static const dt_transform rebatch_even_row = {
    .name = "rebatch_even",
    .args_size = sizeof(struct even),
    .state_size = sizeof(dt_example),
    .count = count,
    .next = next,
    .close = close,
};

dt_status *dt_dataset_add_rebatch_even(dt_dataset **out, const dt_dataset *in, int64_t n) {
    const struct even args = {n};
    dt_example_spec spec;
    DT_TRY(dt_spec_divided(&in->spec, n, &spec));
    return dt_dataset_build(out, &rebatch_even_row, in, &args, spec);
}

dt_status *dt_dataset_rebatch_even(dt_dataset **out, const dt_dataset *in, int64_t n) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "rebatch_even"));
    if (n < 1 || n > (1 << 20))
        return dt_fail(DT_E_PIPELINE, NULL, "rebatch_even: 1 to %d pieces, got %lld", 1 << 20,
                       (long long)n);
    return dt_dataset_add_rebatch_even(out, in, n);
}
