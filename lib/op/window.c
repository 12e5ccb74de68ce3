/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what window.h declares. */
#include "op/window.h"

#include <string.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

/* The largest size, stride, dilation or padding of a window. Sums and products of two such numbers
 * do not overflow. */
static const int64_t MOST = (int64_t)1 << 30;

static bool is_sane(const dt_window *w) {
    return w->stride >= 1 && w->stride <= MOST && w->dilation >= 1 && w->dilation <= MOST &&
           w->base_dilation >= 1 && w->base_dilation <= MOST && w->low >= -MOST && w->low <= MOST &&
           w->high >= -MOST && w->high <= MOST;
}

bool dt_window_count(const dt_window *w, int64_t size, int64_t in, int64_t *out) {
    if (!is_sane(w) || size < 1 || size > MOST || in < 0 || in > MOST) return false;
    int64_t room =
        dt_dilated(in, w->base_dilation) + w->low + w->high - dt_dilated(size, w->dilation);
    *out = room < 0 ? 0 : room / w->stride + 1;
    return true;
}

/* Returns the number of windows, of `windows`, whose element k is in [0, in), for a base that is
 * not dilated. */
static int64_t windows_inside(const dt_window *w, int64_t k, int64_t in, int64_t windows) {
    int64_t from = w->low - k * w->dilation,
            first = from > 0 ? (from + w->stride - 1) / w->stride : 0;
    int64_t last = in - 1 + from < 0 ? -1 : (in - 1 + from) / w->stride;
    if (last >= windows) last = windows - 1;
    return last >= first ? last - first + 1 : 0;
}

dt_window_taps dt_window_count_taps(const dt_window *w, int64_t size, int64_t in) {
    dt_window_taps t = {0};
    if (!dt_window_count(w, size, in, &t.windows)) return t;
    for (int64_t k = 0; k < size; k++) {
        if (w->base_dilation == 1) {
            t.all += (double)t.windows;
            t.real += (double)windows_inside(w, k, in, t.windows);
            continue;
        }
        for (int64_t o = 0; o < t.windows; o++) {
            t.all += (o * w->stride - w->low + k * w->dilation) % w->base_dilation == 0;
            t.real += dt_window_at(w, o, k, in) >= 0;
        }
    }
    return t;
}

bool dt_window_is_one(const dt_window *w, int64_t size) {
    return size == 1 && w->stride == 1 && w->low == 0 && w->high == 0 && w->base_dilation == 1;
}

static void print_list(const char *label, const dt_window *w, int n, size_t offset, int64_t usual,
                       dt_str *out) {
    bool differs = false;
    for (int i = 0; i < n; i++)
        differs |= *(const int64_t *)((const char *)&w[i] + offset) != usual;
    for (int i = 0; differs && i < n; i++)
        dt_str_printf(out, "%s%lld", i ? "," : label,
                      (long long)*(const int64_t *)((const char *)&w[i] + offset));
    dt_str_puts(out, differs ? "]" : "");
}

void dt_window_print(const dt_window *w, const int64_t *size, int n, dt_str *out) {
    for (int i = 0; size && i < n; i++)
        dt_str_printf(out, "%s%lld%s", i ? "," : " size=[", (long long)size[i],
                      i == n - 1 ? "]" : "");
    print_list(" stride=[", w, n, offsetof(dt_window, stride), 1, out);
    print_list(" low=[", w, n, offsetof(dt_window, low), 0, out);
    print_list(" high=[", w, n, offsetof(dt_window, high), 0, out);
    print_list(" base_dilation=[", w, n, offsetof(dt_window, base_dilation), 1, out);
    print_list(" dilation=[", w, n, offsetof(dt_window, dilation), 1, out);
}

/* ---- windows over several dimensions ---- */

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

/* Returns the offset of the element of x under element k of the current window; -1: it is padding
 * or a hole. */
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
