/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebatch(sizes): joins the rows of all elements into one stream, and cuts it into pieces, whose
 * sizes are taken from the list in turn:
 *
 *     [0 1 2 3] [4 5 6]   by 2, 1, 1   ->   [0 1] [2] [3]  [4 5] [6]
 *
 * A size of 0 gives an empty piece without reading from the stream. So the stream ends when a piece
 * that needs rows finds none, or after a piece that got fewer rows than its size.
 */
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"

struct rebatch {
    int64_t *sizes; /* [n] numbers of rows of the pieces, which are used in turn */
    int n;
    bool drop;
};

struct state {
    /* the input's current example, of which the rows [row, rows) are still unused */
    dt_example example;
    int64_t row, rows;
};

static void release(void *args) { free(((const struct rebatch *)args)->sizes); }

/* Makes sure that at least one row of x->example is unused, unless the input has ended. */
static dt_status *refill(dt_iterator *it, struct state *x) {
    while (x->row == x->rows) {
        dt_example_release(&x->example);
        x->row = x->rows = 0;
        DT_TRY(dt_iterator_next_example(it->in[0], &x->example));
        if (it->in[0]->ended) return NULL;
        DT_TRY(dt_example_rows(&x->example, &x->rows));
    }
    return NULL;
}

static dt_status *collect(dt_iterator *it, struct state *x, int64_t size, dt_example_list *parts) {
    for (int64_t have = 0; have < size;) {
        dt_example part;
        DT_TRY(refill(it, x));
        if (it->in[0]->ended) return NULL;
        int64_t n = x->rows - x->row < size - have ? x->rows - x->row : size - have;
        DT_TRY(dt_example_slice(&x->example, x->row, n, &part));
        dt_example_list_push(parts, &part);
        x->row += n;
        have += n;
    }
    return NULL;
}

static int64_t rows_of(const dt_example_list *parts) {
    int64_t rows = 0;
    for (int i = 0; i < parts->n; i++) rows += parts->v[i].tensor[0]->type.dim[0];
    return rows;
}

static dt_status *next(dt_iterator *it, dt_example *out) {
    const struct rebatch *a = it->dataset->args;
    struct state *x = it->state;
    dt_example_list parts = {0};
    int64_t size = a->sizes[it->at % a->n];
    if (it->in[0]->ended) return NULL;
    if (size == 0)
        return x->example.n ? dt_example_slice(&x->example, 0, 0, out)
                            : dt_spec_empty_example(&it->dataset->spec, out);
    dt_status *s = collect(it, x, size, &parts);
    if (!s && parts.n > 0 && (!a->drop || rows_of(&parts) == size))
        s = dt_examples_join(parts.v, parts.n, out);
    dt_example_list_clear(&parts);
    return s;
}

static void close(dt_iterator *it) { dt_example_release(&((struct state *)it->state)->example); }

static const dt_transform rebatch_row = {
    .name = "rebatch",
    .args_size = sizeof(struct rebatch),
    .state_size = sizeof(struct state),
    .next = next,
    .close = close,
    .release = release,
};

/* Returns the number of rows of each piece, if it is known: all sizes are equal, and short pieces
 * are dropped or cannot occur because the size divides the known batch size. Else
 * DT_UNKNOWN_DIM. */
static int64_t known_rows(const dt_example_spec *in, const struct rebatch *a) {
    int64_t rows, size = a->sizes[0];
    dt_status *s = dt_spec_rows(in, &rows);
    bool known = !s && size > 0 && (a->drop || (rows >= 0 && rows % size == 0));
    dt_status_free(s);
    for (int i = 1; i < a->n; i++) known &= a->sizes[i] == size;
    return known ? size : DT_UNKNOWN_DIM;
}

dt_status *dt_dataset_add_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes,
                                  int n, bool drop_remainder) {
    struct rebatch args = {dt_alloc((size_t)n * sizeof *sizes), n, drop_remainder};
    memcpy(args.sizes, sizes, (size_t)n * sizeof *sizes);
    return dt_dataset_build(out, &rebatch_row, in, &args,
                            dt_spec_with_rows(&in->spec, known_rows(&in->spec, &args)));
}

static dt_status *check_sizes(const int64_t *sizes, int n) {
    int64_t sum = 0;
    if (!sizes || n < 1 || n > (1 << 20))
        return dt_fail(DT_E_PIPELINE, NULL, "rebatch: 1 to %d sizes, got %d", 1 << 20, n);
    for (int i = 0; i < n; i++)
        if (sizes[i] < 0 || !dt_add_fits(sum, sizes[i], &sum))
            return dt_fail(DT_E_PIPELINE, NULL, "rebatch: size %d cannot be %lld", i,
                           (long long)sizes[i]);
    return sum > 0 ? NULL
                   : dt_fail(DT_E_PIPELINE, NULL,
                             "rebatch: all sizes are 0, so nothing would ever be read");
}

dt_status *dt_dataset_rebatch(dt_dataset **out, const dt_dataset *in, const int64_t *sizes, int n,
                              bool drop_remainder) {
    DT_LIVE(in);
    int64_t ignored;
    DT_TRY(dt_dataset_check_input(in, "rebatch"));
    DT_TRY(check_sizes(sizes, n));
    DT_TRY(dt_spec_rows(&in->spec, &ignored));
    return dt_dataset_add_rebatch(out, in, sizes, n, drop_remainder);
}
