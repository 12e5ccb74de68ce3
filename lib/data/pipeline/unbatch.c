/* SPDX-License-Identifier: Apache-2.0 */
/* unbatch(): makes each row of an element an element of its own. */
#include "data/pipeline/build.h"

struct state {
    dt_example example; /* the element whose rows are being handed out */
    int64_t row, rows;
};

static dt_status *next(dt_iterator *it, dt_example *out) {
    struct state *x = it->state;
    while (x->row == x->rows) {
        dt_example_release(&x->example);
        DT_TRY(dt_iterator_next_example(it->in[0], &x->example));
        if (x->example.n == 0) return NULL;
        x->row = x->rows = 0;
        DT_TRY(dt_example_rows(&x->example, &x->rows));
    }
    return dt_example_row(&x->example, x->row++, out);
}

static void close(dt_iterator *it) { dt_example_release(&((struct state *)it->state)->example); }

/* Returns the number of rows of all elements together, if it is known; else DT_UNCOUNTED, or
 * DT_ENDLESS for an endless input. */
static int64_t count(const dt_dataset *p) {
    int64_t n = dt_length_of_input(p), rows, all;
    dt_status *s = dt_spec_rows(&p->in[0]->spec, &rows);
    dt_status_free(s);
    if (n < 0 || s || rows < 0) return n == DT_ENDLESS ? DT_ENDLESS : DT_UNCOUNTED;
    return dt_mul_fits(n, rows, &all) ? all : DT_UNCOUNTED;
}

static const dt_transform unbatch_row = {
    .name = "unbatch",
    .state_size = sizeof(struct state),
    .count = count,
    .next = next,
    .close = close,
};

dt_status *dt_dataset_unbatch(dt_dataset **out, const dt_dataset *in) {
    DT_LIVE(in);
    dt_example_spec spec;
    DT_TRY(dt_dataset_check_input(in, "unbatch"));
    DT_TRY(dt_spec_unbatched(&in->spec, &spec));
    return dt_dataset_build(out, &unbatch_row, in, NULL, spec);
}
