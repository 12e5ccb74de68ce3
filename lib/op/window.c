/* SPDX-License-Identifier: Apache-2.0 */
/* Windows along one dimension: see window.h. */
#include "op/window.h"

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

/* The number of windows whose element k is in [0, in), if the base is not dilated. */
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
