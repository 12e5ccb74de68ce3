/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a screen can show of curves with very many points: in each of some hundred stretches of x the least and the greatest of every curve, with
 * what the other curves have there, the first and the last point, and one that is no number, if there is any. All of them are recorded points;
 * nothing is averaged but the smoothed curve, whose points are means of stretches.
 */
#include <stdlib.h>

#include "report/chart.h"

enum { FEWEST = 20, SHORT = 200 };

typedef struct places { /* x of the points that stay */
    int n, cap;
    double *x;
} places;

static void keep(places *p, const dt_point *at)
{
    if (!at)
        return;
    DT_GROW(p->x, p->cap, p->n + 1);
    p->x[p->n++] = at->x;
}

static void keep_stretch(places *to, const dt_point *p, int n)
{
    const dt_point *least = NULL, *most = NULL, *gap = NULL;
    for (int i = 0; i < n; i++) {
        if (!isfinite(p[i].y))
            gap = gap ? gap : &p[i];
        else {
            least = !least || p[i].y < least->y ? &p[i] : least;
            most = !most || p[i].y > most->y ? &p[i] : most;
        }
    }
    keep(to, least);
    keep(to, most);
    keep(to, gap);
}

static void keep_curve(places *to, const dt_series *s, int stretches)
{
    for (int64_t i = 0; i < stretches; i++) {
        const int from = (int)(i * s->n / stretches), end = (int)((i + 1) * s->n / stretches);
        keep_stretch(to, s->p + from, end - from);
    }
    keep(to, &s->p[0]);
    keep(to, &s->p[s->n - 1]);
}

static int by_x(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The points at those places, which rise. */
static void take(const dt_series *s, const places *at, dt_series *out)
{
    out->name = s->name;
    for (int i = 0, k = 0; i < s->n && k < at->n;) {
        if (s->p[i].x == at->x[k])
            dt_series_add(out, s->p[i].x, s->p[i].y);
        if (s->p[i].x <= at->x[k])
            i++;
        else
            k++;
    }
}

/* Means of stretches; the whole series where it is short. */
static void average(const dt_series *s, int stretches, dt_series *out)
{
    for (int64_t i = 0; i < stretches; i++) {
        double sum = 0;
        int n = 0, k = (int)(i * s->n / stretches);
        const int end = (int)((i + 1) * s->n / stretches);
        for (; k < end; k++)
            if (isfinite(s->p[k].y)) {
                sum += s->p[k].y;
                n++;
            }
        if (n > 0)
            dt_series_add(out, s->p[end - 1].x, sum / n);
    }
}

/* Exponential, its beginning corrected, as it is usual for curves of training. */
static void smooth(dt_series *s)
{
    const double weight = s->n > SHORT ? 0.95 : 0.8;
    double mean = 0, correction = 0;
    for (int i = 0; i < s->n; i++) {
        mean = weight * mean + (1 - weight) * s->p[i].y;
        correction = weight * correction + (1 - weight);
        s->p[i].y = mean / correction;
    }
}

/* A band is as wide in a stretch as it is anywhere in it. */
static void widen(const dt_series *s, int stretches, bool most, dt_series *out)
{
    for (int64_t i = 0; i < stretches; i++) {
        const int from = (int)(i * s->n / stretches), end = (int)((i + 1) * s->n / stretches);
        double y = s->p[from].y;
        for (int k = from; k < end; k++)
            y = most ? fmax(y, s->p[k].y) : fmin(y, s->p[k].y);
        dt_series_add(out, s->p[end - 1].x, y);
    }
}

static int shorter(int n, int stretches)
{
    return n < stretches ? n : stretches;
}

void dt_thin(const dt_chart *c, dt_thinned *out)
{
    const int most = c->most > 0 ? c->most : DT_CHART_POINTS, stretches = most / 2 / c->n > FEWEST ? most / 2 / c->n : FEWEST;
    places at = {0};
    for (int i = 0; i < c->n; i++)
        out->is_thinned |= c->curve[i].line->n > most;
    for (int i = 0; out->is_thinned && i < c->n; i++)
        keep_curve(&at, c->curve[i].line, shorter(c->curve[i].line->n, stretches));
    if (at.n > 0)
        qsort(at.x, (size_t)at.n, sizeof *at.x, by_x);
    for (int i = 0; i < c->n; i++) {
        const dt_curve *from = &c->curve[i];
        dt_thinned_curve *to = &out->curve[i];
        if (out->is_thinned)
            take(from->line, &at, &to->line);
        average(from->line, shorter(from->line->n, most), &to->mean);
        smooth(&to->mean);
        for (int k = 0; k < 2 && from->least && from->most; k++)
            widen(k ? from->most : from->least, shorter(k ? from->most->n : from->least->n, most), k, k ? &to->most : &to->least);
    }
    free(at.x);
}

void dt_thinned_release(dt_thinned *t)
{
    for (int i = 0; i < DT_CHART_CURVES; i++) {
        free(t->curve[i].line.p);
        free(t->curve[i].mean.p);
        free(t->curve[i].least.p);
        free(t->curve[i].most.p);
    }
}
