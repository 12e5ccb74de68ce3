/* SPDX-License-Identifier: Apache-2.0 */
/* repeat(count): gives the input `count` times. Each pass is an iteration of its own, so a shuffle
 * below may use a new order. */
#include "data/pipeline/build.h"

struct repeat {
    int64_t count; /* -1: endlessly */
};

struct state {
    dt_iterator *pass;
    int64_t passes; /* passes begun so far */
};

static int64_t count(const dt_dataset *p) {
    int64_t times = ((const struct repeat *)p->args)->count, n = dt_length_of_input(p), all;
    if (n == 0 || times == 0) return 0;
    if (n == DT_UNCOUNTED) return DT_UNCOUNTED;
    return times < 0 || n == DT_ENDLESS  ? DT_ENDLESS
           : dt_mul_fits(n, times, &all) ? all
                                         : DT_UNCOUNTED;
}

/* Passes are numbered consecutively through all iterations; if they are endless, from 0 in each
 * iteration. Neighbours are mostly of the same pass, which saves divisions. */
static void index_in_pass(const dt_dataset *d, const dt_indices *q) {
    const int64_t times = ((const struct repeat *)d->args)->count, n = dt_length_of_input(d);
    for (int64_t i = 0, pass = 0; n > 0 && i < q->n; i++) {
        if (q->example[i] < pass * n || q->example[i] - pass * n >= n) pass = q->example[i] / n;
        q->example[i] -= pass * n;
        q->pass[i] = (times > 0 ? q->pass[i] * times : 0) + pass;
    }
}

/* Begins the next pass. Passes of one iteration must not have the numbers of passes of the next
 * iteration, so the numbers of iterations are spread far apart. */
static dt_status *begin_pass(dt_iterator *it, struct state *x) {
    dt_iterator_close(x->pass);
    x->pass = NULL;
    return dt_iterator_open(&x->pass, it->dataset->in[0],
                            it->epoch * 0x9e3779b97f4a7c15 + (uint64_t)x->passes++, 0);
}

/* An empty pass is the last one, because repeating nothing endlessly would not return. */
static dt_status *next(dt_iterator *it, dt_example *out) {
    const struct repeat *r = it->dataset->args;
    struct state *x = it->state;
    for (;;) {
        if (x->pass) {
            DT_TRY(dt_iterator_next_example(x->pass, out));
            if (out->n > 0 || x->pass->at == 0) return NULL;
        }
        if (x->passes == r->count) return NULL;
        DT_TRY(begin_pass(it, x));
    }
}

static void close(dt_iterator *it) { dt_iterator_close(((struct state *)it->state)->pass); }

static const dt_transform repeat_row = {
    .name = "repeat",
    .args_size = sizeof(struct repeat),
    .state_size = sizeof(struct state),
    .opens_inputs = true,
    .count = count,
    .index = index_in_pass,
    .next = next,
    .close = close,
};

dt_status *dt_dataset_add_repeat(dt_dataset **out, const dt_dataset *in, int64_t times) {
    const struct repeat args = {times < 0 ? -1 : times};
    return dt_dataset_build(out, &repeat_row, in, &args, dt_spec_copy(&in->spec));
}

dt_status *dt_dataset_repeat(dt_dataset **out, const dt_dataset *in, int64_t times) {
    DT_LIVE(in);
    DT_TRY(dt_dataset_check_input(in, "repeat"));
    return dt_dataset_add_repeat(out, in, times);
}
