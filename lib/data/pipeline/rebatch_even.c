/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebatch_even(n): each batch of b rows into exactly n pieces of ceil(b / n) until it is used up, the rest of them empty: 6 rows by 4
 * are 2, 2, 2, 0. The original's way where it does not know the size of a batch beforehand.
 */
#include "data/pipeline/build.h"

struct even {
    int64_t n;
};

struct state {
    dt_item item;
    int64_t rows, piece; /* of the item; the next piece of it */
};

static dt_status *next(dt_cursor *c, dt_item *out)
{
    int64_t n = ((const struct even *)c->pipe->args)->n;
    struct state *x = c->state;
    if (x->item.n == 0 || x->piece == n) {
        dt_item_release(&x->item);
        DT_TRY(dt_cursor_next(c->in[0], &x->item));
        if (x->item.n == 0)
            return NULL;
        DT_TRY(dt_item_rows(&x->item, &x->rows));
        x->piece = 0;
    }
    int64_t size = x->rows / n + (x->rows % n != 0), first = x->piece++ * size, left = x->rows > first ? x->rows - first : 0;
    return dt_item_slice(&x->item, left ? first : 0, left < size ? left : size, out);
}

static void close(dt_cursor *c)
{
    dt_item_release(&((struct state *)c->state)->item);
}

static int64_t count(const dt_pipe *p)
{
    int64_t n = dt_count_of_input(p), all;
    return n < 0 ? n : dt_mul_fits(n, ((const struct even *)p->args)->n, &all) ? all : DT_UNCOUNTED;
}

const dt_transform dt_transform_rebatch_even = {
    .name = "rebatch_even", .args_size = sizeof(struct even), .state_size = sizeof(struct state), .count = count, .next = next,
    .close = close,
};

dt_status *dt_pipe_rebatch_even(dt_pipe **out, dt_pipe *in, int64_t n)
{
    const struct even args = {n};
    int64_t rows;
    DT_TRY(dt_spec_rows(&in->spec, &rows));
    return dt_pipe_create(out, &(dt_pipe_parts){&dt_transform_rebatch_even, &in, 1, &args,
                                                dt_spec_with_rows(&in->spec, rows >= 0 && rows % n == 0 ? rows / n : DT_UNKNOWN_DIM)});
}

dt_status *dt_dataset_rebatch_even(dt_dataset **out, const dt_dataset *in, int64_t n)
{
    dt_pipe *p;
    DT_TRY(dt_pipeline_input(in, "rebatch_even"));
    if (n < 1 || n > (1 << 20))
        return dt_fail(DT_E_PIPELINE, NULL, "rebatch_even: 1 to %d pieces, got %lld", 1 << 20, (long long)n);
    DT_TRY(dt_pipe_rebatch_even(&p, in->pipe, n));
    return dt_dataset_adopt(out, p);
}
