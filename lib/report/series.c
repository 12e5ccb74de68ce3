/* SPDX-License-Identifier: Apache-2.0 */
/* Named lists of points. There are usually about a dozen names, so searches by name are linear.
 * Names beyond MOST_NAMES are left out. */
#include <stdlib.h>
#include <string.h>

#include "report/run.h"

/*
 * ---- long curves ----
 *
 * Reduces curves with very many points to what a screen can show. Each curve is divided into
 * stretches with about the same number of points. All curves keep their points at the values of x
 * where one of them begins or ends, or has, in a stretch, its smallest or its largest value or its
 * first one that is not finite. All these points were recorded; only smoothed curves are drawn from
 * means.
 */

enum { FEWEST = 20 };

typedef struct places { /* The values of x at which points are kept. */
    int n, cap;
    double *x;
} places;

static void add_point(places *p, const dt_point *at) {
    if (!at) return;
    DT_GROW(p->x, p->cap, p->n + 1);
    p->x[p->n++] = at->x;
}

static void keep_stretch(places *to, const dt_point *p, int n) {
    const dt_point *least = NULL, *most = NULL, *gap = NULL;
    for (int i = 0; i < n; i++) {
        if (!isfinite(p[i].y)) gap = gap ? gap : &p[i];
        else {
            least = !least || p[i].y < least->y ? &p[i] : least;
            most = !most || p[i].y > most->y ? &p[i] : most;
        }
    }
    add_point(to, least);
    add_point(to, most);
    add_point(to, gap);
}

static void keep_curve(places *to, const dt_series *s, int stretches) {
    for (int64_t i = 0; i < stretches; i++) {
        const int from = (int)(i * s->n / stretches), end = (int)((i + 1) * s->n / stretches);
        keep_stretch(to, s->p + from, end - from);
    }
    add_point(to, s->n > 0 ? &s->p[0] : NULL);
    add_point(to, s->n > 0 ? &s->p[s->n - 1] : NULL);
}

static int by_x(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Keeps only the points at these values of x, which are sorted. */
static void keep_points(dt_series *s, const places *at) {
    int n = 0;
    for (int i = 0, k = 0; i < s->n && k < at->n;) {
        if (s->p[i].x == at->x[k]) s->p[n++] = s->p[i];
        if (s->p[i].x <= at->x[k]) i++;
        else k++;
    }
    s->of = s->n;
    s->n = n;
}

static void average(dt_series *s, int stretches) {
    s->mean = dt_alloc((size_t)stretches * sizeof *s->mean);
    for (int64_t i = 0; i < stretches; i++) {
        double sum = 0;
        int n = 0;
        const int from = (int)(i * s->n / stretches), end = (int)((i + 1) * s->n / stretches);
        for (int k = from; k < end; k++)
            if (isfinite(s->p[k].y)) {
                sum += s->p[k].y;
                n++;
            }
        if (n > 0) s->mean[s->n_mean++] = (dt_point){s->p[end - 1].x, sum / n};
    }
}

static int shorter(int n, int stretches) { return n < stretches ? n : stretches; }

void dt_thin(dt_series *const *curve, int n, int most) {
    const int stretches = n > 0 && most / 2 / n > FEWEST ? most / 2 / n : FEWEST;
    bool is_long = false;
    places at = {0};
    for (int i = 0; i < n; i++) is_long |= curve[i]->n > most;
    for (int i = 0; is_long && i < n; i++) {
        keep_curve(&at, curve[i], shorter(curve[i]->n, stretches));
        average(curve[i], shorter(curve[i]->n, most));
    }
    if (at.n > 0) qsort(at.x, (size_t)at.n, sizeof *at.x, by_x);
    for (int i = 0; is_long && i < n; i++) keep_points(curve[i], &at);
    free(at.x);
}

void dt_thin_band(dt_series *least, dt_series *greatest, int most) {
    for (int pass = 0; pass < 2; pass++) {
        dt_series *s = pass ? greatest : least;
        const int64_t n = s ? s->n : 0, stretches = shorter((int)n, most);
        for (int64_t i = 0; i < stretches; i++) {
            const int from = (int)(i * n / stretches), end = (int)((i + 1) * n / stretches);
            double y = s->p[from].y;
            for (int k = from; k < end; k++) y = pass ? fmax(y, s->p[k].y) : fmin(y, s->p[k].y);
            s->p[i] = (dt_point){s->p[end - 1].x, y};
        }
        if (s) s->n = (int)stretches;
    }
}

/* ---- series ---- */

enum { MOST_NAMES = 400 };

const dt_series *dt_series_find(const dt_series_list *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0) return &l->v[i];
    return NULL;
}

dt_series *dt_series_of(dt_series_list *l, const char *name) {
    dt_series *found = (dt_series *)(uintptr_t)dt_series_find(l, name);
    l->passed_over |= !found && l->n == MOST_NAMES;
    if (found || l->passed_over) return found;
    DT_GROW(l->v, l->cap, l->n + 1);
    l->v[l->n] = (dt_series){.name = dt_strdup(name)};
    return &l->v[l->n++];
}

void dt_series_add(dt_series *s, double x, double y) {
    while (s && s->n > 0 && s->p[s->n - 1].x >= x) s->n--;
    if (!s) return;
    DT_GROW(s->p, s->cap, s->n + 1);
    s->p[s->n++] = (dt_point){x, y};
}

void dt_series_cut(dt_series_list *l, double x) {
    for (int i = 0; i < l->n; i++)
        while (l->v[i].n > 0 && l->v[i].p[l->v[i].n - 1].x > x) l->v[i].n--;
}

double dt_series_sum(const dt_series_list *l, const char *name) {
    const dt_series *s = dt_series_find(l, name);
    double sum = 0;
    for (int i = 0; s && i < s->n; i++) sum += isfinite(s->p[i].y) ? s->p[i].y : 0;
    return sum;
}

void dt_series_release(dt_series_list *l) {
    for (int i = 0; i < l->n; i++) {
        free((char *)l->v[i].name);
        free(l->v[i].p);
        free(l->v[i].mean);
    }
    free(l->v);
    *l = (dt_series_list){0};
}
