/* SPDX-License-Identifier: Apache-2.0 */
/* Walking windows over all dimensions of a value: see reduce_window.h. */
#include <string.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/reduce_window.h"
#include "op/shapes.h"
#include "op/window.h"

dt_status *dt_windows_infer(const dt_infer *q, const dt_reduce_window_attr *a, dt_type *out) {
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (a->kind < DT_REDUCE_SUM || a->kind > DT_REDUCE_MIN)
        return dt_bad_shape(q, "(C1) unknown kind %d", (int)a->kind);
    *out = *x;
    for (int d = 0; d < x->rank; d++) {
        if (dt_window_is_one(&a->window[d], a->size[d])) continue;
        if (dt_is_batch(x, d))
            return dt_bad_shape(q, "(C3) cannot go over the batch of %s", dt_text_of(x).s);
        if (!dt_window_count(&a->window[d], a->size[d], x->dim[d], &out->dim[d]) ||
            out->dim[d] == 0)
            return dt_bad_shape(q, "(C2) has no place for a window of %lld on dimension %d of %s",
                                (long long)a->size[d], d, dt_text_of(x).s);
    }
    return NULL;
}

double dt_windows_elements(const dt_reduce_window_attr *a, const dt_type *out) {
    double elements = (double)dt_type_elements(out);
    for (int d = 0; d < out->rank; d++) elements *= (double)a->size[d];
    return elements;
}

dt_reduce_window_attr dt_windows_stacked(const dt_reduce_window_attr *a, int rank) {
    dt_reduce_window_attr stacked = *a;
    memmove(stacked.size + 1, a->size, (size_t)rank * sizeof *a->size);
    memmove(stacked.window + 1, a->window, (size_t)rank * sizeof *a->window);
    stacked.size[0] = 1;
    stacked.window[0] = DT_WINDOW_ONE;
    return stacked;
}

void dt_windows_print(const dt_reduce_window_attr *a, dt_str *out) {
    static const char *const names[] = {"sum", "max", "min"};
    int rank = 0;
    while (rank < DT_MAX_RANK && a->size[rank]) rank++;
    dt_str_puts(out, names[a->kind]);
    dt_window_print(a->window, a->size, rank, out);
}

dt_windows dt_windows_begin(const dt_reduce_window_attr *a, const dt_type *x, const dt_type *out) {
    dt_windows w = {.a = a, .n = 1, .rank = x->rank};
    dt_strides(x, w.step);
    for (int d = 0; d < x->rank; d++) {
        w.in[d] = x->dim[d];
        w.out[d] = out->dim[d];
        w.n *= out->dim[d];
        if (!dt_window_is_one(&a->window[d], a->size[d])) w.wide[w.n_wide++] = d;
    }
    return w;
}

static bool is_wide(const dt_windows *w, int d) {
    for (int i = 0; i < w->n_wide; i++)
        if (w->wide[i] == d) return true;
    return false;
}

void dt_windows_next(dt_windows *w) {
    for (int d = w->rank - 1; d >= 0; d--) {
        int64_t step = is_wide(w, d) ? 0 : w->step[d];
        if (++w->place[d] < w->out[d]) {
            w->base += step;
            return;
        }
        w->base -= (w->out[d] - 1) * step;
        w->place[d] = 0;
    }
}

/* The offset of the element of x under element k of the window; -1: padding. */
static int64_t element(const dt_windows *w) {
    int64_t at = w->base;
    for (int i = 0; i < w->n_wide; i++) {
        int d = w->wide[i];
        int64_t p = dt_window_at(&w->a->window[d], w->place[d], w->k[d], w->in[d]);
        if (p < 0) return -1;
        at += p * w->step[d];
    }
    return at;
}

static bool advance(dt_windows *w) {
    for (int i = w->n_wide - 1; i >= 0; i--) {
        int d = w->wide[i];
        if (++w->k[d] < w->a->size[d]) return true;
        w->k[d] = 0;
    }
    return false;
}

int64_t dt_windows_first(dt_windows *w) {
    for (int i = 0; i < w->n_wide; i++) w->k[w->wide[i]] = 0;
    int64_t at = element(w);
    return at >= 0 ? at : dt_windows_another(w);
}

int64_t dt_windows_another(dt_windows *w) {
    int64_t at = -1;
    while (at < 0 && advance(w)) at = element(w);
    return at;
}
