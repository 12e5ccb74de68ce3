/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and lines of a chart: see chart.h. Places are thousandths of the plot's width and height, from the upper left. */
#include "report/chart.h"

#include <stdlib.h>
#include <string.h>

#include "report/html.h"

enum { SIDE = 1000, FEW = 60, SMOOTHED_FROM = 20, MOST_TICKS = 12, END = 970 };

typedef struct axis {
    double from, to;
    bool log;
    int n;
    double tick[MOST_TICKS], step;
} axis;

typedef struct plot {
    const dt_chart *c;       /* as it is drawn */
    const dt_thinned *thinned;
    axis x, y;
    dt_str *out;
} plot;

void dt_chart_add(dt_chart *c, const dt_curve *curve)
{
    if (curve->line && curve->line->n > 0 && c->n < DT_CHART_CURVES)
        c->curve[c->n++] = *curve;
}

/* ---- ranges ---- */

typedef struct range {
    double least, most, least_positive;
} range;

/* Beyond this a difference of two might not be a number any more. */
static const double farthest = 1e300;

static void widen(range *r, double v)
{
    if (!(fabs(v) < farthest))
        return;
    r->least = fmin(r->least, v);
    r->most = fmax(r->most, v);
    if (v > 0)
        r->least_positive = fmin(r->least_positive, v);
}

static void find_ranges(const dt_chart *c, range *x, range *y)
{
    *x = *y = (range){INFINITY, -INFINITY, INFINITY};
    for (int i = 0; i < c->n; i++) {
        const dt_series *all[] = {c->curve[i].line, c->curve[i].least, c->curve[i].most};
        for (int k = 0; k < 3; k++)
            for (int j = 0; all[k] && j < all[k]->n; j++) {
                widen(x, all[k]->p[j].x);
                widen(y, all[k]->p[j].y);
            }
    }
}

/* 1, 2 or 5 times a power of ten, so that there are about `most` steps. */
static double nice_step(double span, int most)
{
    double raw = span / most, power = pow(10, floor(log10(raw))), m = raw / power;
    return power * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static axis linear(double least, double most, int ticks, bool whole)
{
    axis a = {.from = least, .to = most};
    double span = most - least;
    if (!(span > fabs(most) * 1e-12)) /* one value alone stands in the middle */
        span = fabs(most) > 0 ? fabs(most) : 1;
    a.step = nice_step(span, ticks);
    if (whole)
        a.step = fmax(1, round(a.step));
    if (!(most > least)) {
        a.from = least - (whole ? 1 : span / 2);
        a.to = most + (whole ? 1 : span / 2);
    }
    double first = ceil(a.from / a.step - 1e-9);
    for (int i = 0; i < MOST_TICKS; i++) {
        double t = (first + i) * a.step;
        if (t <= a.to + a.step * 1e-9 && (!whole || (t >= least && t <= most)))
            a.tick[a.n++] = t;
    }
    return a;
}

/* A little air above and below. */
static axis linear_y(const range *r, bool from_zero)
{
    double span = r->most - r->least, low = from_zero ? fmin(0, r->least) : r->least - 0.04 * span;
    axis a;
    if (r->least >= 0)
        low = fmax(low, 0);
    a = linear(low, from_zero && r->most <= 0 ? 1 : r->most + 0.04 * span, 5, false);
    return a;
}

/* Powers of ten, with 2 and 5 of them where there are few. */
static axis logarithmic(const range *r)
{
    axis a = {.from = log10(r->least_positive), .to = log10(r->most), .log = true};
    double pad = 0.04 * (a.to - a.from), decades = a.to - a.from, every = fmax(1, ceil(decades / 6));
    static const double few[] = {1, 2, 5};
    a.from -= pad;
    a.to += pad;
    for (double d = floor(a.from); d <= a.to && a.n < MOST_TICKS; d += every)
        for (int i = 0; i < (decades <= 3 ? 3 : 1) && a.n < MOST_TICKS; i++)
            if (d + log10(few[i]) >= a.from && d + log10(few[i]) <= a.to)
                a.tick[a.n++] = few[i] * pow(10, d);
    a.step = 0;
    return a;
}

/* It is asked for where it shows what a linear axis hides. */
static bool wants_log(const range *y)
{
    return isfinite(y->least_positive) && y->most / y->least_positive > 3;
}

/* ---- places ---- */

static double along(const axis *a, double v)
{
    v = a->log ? log10(v) : v;
    return (v - a->from) / (a->to - a->from);
}

static double x_at(const plot *p, double v)
{
    return SIDE * along(&p->x, v);
}

static double y_at(const plot *p, double v)
{
    return SIDE * (1 - along(&p->y, v));
}

static bool is_seen(const plot *p, double v)
{
    return fabs(v) < farthest && (!p->y.log || v > 0);
}

/* ---- lines ---- */

static int count_seen(const plot *p, const dt_series *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += is_seen(p, s->p[i].y);
    return n;
}

/* Breaks where there is no number. alone: points by themselves, as dots. */
static void put_path(const plot *p, const dt_series *s, bool alone)
{
    bool on = false;
    for (int i = 0; i < s->n; i++) {
        bool seen = is_seen(p, s->p[i].y);
        if (seen)
            dt_str_printf(p->out, "%c%.1f %.1f%s", on && !alone ? 'L' : 'M', x_at(p, s->p[i].x), y_at(p, s->p[i].y), alone ? "h0" : "");
        on = seen;
    }
}

static double clamped(const plot *p, double v)
{
    return y_at(p, p->y.log && v <= 0 ? pow(10, p->y.from) : v);
}

static bool is_banded(const dt_curve *c, int i)
{
    return fabs(c->most->p[i].y) < farthest && fabs(c->least->p[i].y) < farthest;
}

/* There along the greatest, back along the least. */
static void put_band(const plot *p, const dt_curve *c)
{
    int n = c->most->n < c->least->n ? c->most->n : c->least->n;
    dt_str_printf(p->out, "<path class=\"band c%d\" d=\"", c->colour);
    for (int i = 0, on = 0; i < n; i++)
        if (is_banded(c, i))
            dt_str_printf(p->out, "%c%.1f %.1f", on++ ? 'L' : 'M', x_at(p, c->most->p[i].x), clamped(p, c->most->p[i].y));
    for (int i = n - 1; i >= 0; i--)
        if (is_banded(c, i))
            dt_str_printf(p->out, "L%.1f %.1f", x_at(p, c->least->p[i].x), clamped(p, c->least->p[i].y));
    dt_str_puts(p->out, "Z\"/>");
}

/* Where a value is not a number, or infinite: a stroke at the foot. */
static void put_gaps(const plot *p, const dt_series *s)
{
    for (int i = 0; i < s->n; i++)
        if (!(fabs(s->p[i].y) < farthest)) {
            dt_str_printf(p->out, "<path class=\"gap\" d=\"M%.1f %dV%d\"><title>", x_at(p, s->p[i].x), SIDE, SIDE - 60);
            dt_put_number(p->out, s->p[i].y);
            dt_str_printf(p->out, " at %s %.0f</title></path>", p->c->x, s->p[i].x);
        }
}

static void put_curve(const plot *p, const dt_curve *c, const dt_series *mean)
{
    const char *dashed = c->dashed ? " dashed" : "";
    int seen = count_seen(p, c->line);
    if (c->least && c->most)
        put_band(p, c);
    dt_str_printf(p->out, "<path class=\"line c%d%s\" data-points=\"%d\" d=\"", c->colour, dashed, seen);
    put_path(p, c->line, false);
    dt_str_puts(p->out, "\"/>");
    if (c->line->n <= FEW) {
        dt_str_printf(p->out, "<path class=\"dots c%d\" d=\"", c->colour);
        put_path(p, c->line, true);
        dt_str_puts(p->out, "\"/>");
    }
    if (c->line->n > SMOOTHED_FROM) {
        dt_str_printf(p->out, "<path class=\"mean c%d%s\" d=\"", c->colour, dashed);
        put_path(p, mean, false);
        dt_str_puts(p->out, "\"/>");
    }
    put_gaps(p, c->line);
}

/* ---- words ---- */

void dt_chart_tick(dt_str *out, double x, double step)
{
    int decimals = step > 0 && step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    if (fabs(x) < step * 1e-6)
        dt_str_puts(out, "0");
    else if (step == 0 || fabs(x) >= 1e7 || decimals > 5)
        dt_str_printf(out, "%g", x);
    else if (step >= 2e5)
        dt_str_printf(out, "%.*f M", step < 1e6 ? 1 : 0, x / 1e6);
    else if (fabs(x) >= 1000)
        dt_str_grouped(out, (int64_t)llround(x));
    else
        dt_str_printf(out, "%.*f", decimals, x);
}

static void put_ticks(const plot *p)
{
    dt_str_puts(p->out, "<path class=\"grid\" d=\"");
    for (int i = 0; i < p->y.n; i++)
        dt_str_printf(p->out, "M0 %.1fH%d", y_at(p, p->y.tick[i]), SIDE);
    dt_str_puts(p->out, "\"/>");
}

static void put_tick_words(const plot *p)
{
    for (int i = 0; i < p->y.n; i++) {
        dt_str_printf(p->out, "<span class=\"yt\" style=\"top:%.2f%%\">", y_at(p, p->y.tick[i]) / 10);
        dt_chart_tick(p->out, p->y.tick[i], p->y.step);
        dt_str_puts(p->out, "</span>");
    }
    for (int i = 0; i < p->x.n; i++) {
        const double at = x_at(p, p->x.tick[i]);
        dt_str_printf(p->out, "<span class=\"xt%s\" style=\"left:%.2f%%\">", at > END ? " end" : "", at / 10);
        dt_chart_tick(p->out, p->x.tick[i], p->x.step);
        dt_str_puts(p->out, "</span>");
    }
    dt_str_puts(p->out, "<span class=\"xl\">");
    dt_html_text(p->out, p->c->x);
    dt_str_puts(p->out, "</span>");
}

/* What is read out where the picture is not seen. */
static void put_summary(const plot *p)
{
    dt_html_text(p->out, p->c->title);
    dt_str_printf(p->out, " by %s", p->c->x);
    for (int i = 0; i < p->c->n; i++) {
        const dt_series *s = p->c->curve[i].line;
        dt_str_puts(p->out, i ? "; " : ": ");
        dt_html_text(p->out, p->c->curve[i].label);
        dt_str_puts(p->out, " from ");
        dt_put_number(p->out, s->p[0].y);
        dt_str_puts(p->out, " to ");
        dt_put_number(p->out, s->p[s->n - 1].y);
    }
}

static void put_plot(const plot *p)
{
    dt_str_printf(p->out, "<div class=\"plot %s\" data-x=\"", p->y.log ? "log" : "lin");
    dt_str_double(p->out, p->x.from);
    dt_str_putc(p->out, ' ');
    dt_str_double(p->out, p->x.to);
    dt_str_puts(p->out, "\" data-y=\"");
    dt_str_double(p->out, p->y.from);
    dt_str_putc(p->out, ' ');
    dt_str_double(p->out, p->y.to);
    dt_str_printf(p->out, "\"><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", SIDE, SIDE);
    put_summary(p);
    dt_str_puts(p->out, "\">");
    put_ticks(p);
    for (int i = 0; i < p->c->n; i++)
        put_curve(p, &p->c->curve[i], &p->thinned->curve[i].mean);
    dt_str_puts(p->out, "</svg>");
    put_tick_words(p);
    dt_str_puts(p->out, "</div>\n");
}

/* ---- the whole ---- */

static bool can_smooth(const dt_chart *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->curve[i].line->n > SMOOTHED_FROM)
            return true;
    return false;
}

static void put_switch(dt_str *out, const char *class, const char *word, bool on)
{
    dt_str_printf(out, "<label class=\"switch\"><input type=\"checkbox\" class=\"%s\"%s> %s</label>", class, on ? " checked" : "", word);
}

static void put_caption(const dt_chart *c, bool log, dt_str *out)
{
    dt_str_puts(out, "<figcaption><div class=\"caption\">");
    dt_html_tag(out, "h3", "", c->title);
    dt_str_puts(out, "<span class=\"switches\">");
    if (can_smooth(c))
        put_switch(out, "smooth", "smooth", c->smoothed);
    if (log)
        put_switch(out, "logarithmic", "log", false);
    dt_str_puts(out, "</span></div>");
    if (c->note)
        dt_html_tag(out, "p", " class=\"note\"", c->note);
    dt_str_printf(out, "<ul class=\"legend%s\">", c->n == 1 && strcmp(c->curve[0].label, c->title) == 0 ? " alone" : "");
    for (int i = 0; i < c->n; i++) {
        dt_str_printf(out, "<li class=\"c%d%s\">", c->curve[i].colour, c->curve[i].dashed ? " dashed" : "");
        dt_html_text(out, c->curve[i].label);
        dt_str_puts(out, "</li>");
    }
    dt_str_puts(out, "</ul></figcaption>\n");
}

/* The curves as they are drawn. */
static void take_thinned(dt_chart *c, const dt_thinned *t)
{
    for (int i = 0; i < c->n; i++) {
        dt_curve *v = &c->curve[i];
        v->line = t->is_thinned ? &t->curve[i].line : v->line;
        v->least = v->least ? &t->curve[i].least : NULL;
        v->most = v->most ? &t->curve[i].most : NULL;
    }
    c->smoothed |= t->is_thinned;
}

static int longest(const dt_chart *c)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n = c->curve[i].line->n > n ? c->curve[i].line->n : n;
    return n;
}

static void put_drawn(const dt_chart *c, const dt_thinned *t, int of, dt_str *out)
{
    range x, y;
    plot p = {.c = c, .thinned = t, .out = out};
    find_ranges(c, &x, &y);
    if (!(y.most >= y.least))
        y = (range){0, 1, INFINITY}; /* nothing but gaps */
    bool log = wants_log(&y);
    dt_str_printf(out, "<figure class=\"chart%s\" id=\"chart-", c->wide ? " wide" : "");
    dt_html_text(out, c->id);
    dt_str_puts(out, "\">");
    put_caption(c, log, out);
    p.x = linear(x.least, x.most, 6, true);
    p.y = linear_y(&y, c->from_zero);
    put_plot(&p);
    p.y = log ? logarithmic(&y) : p.y;
    if (log)
        put_plot(&p);
    dt_chart_table(c, of, out);
    dt_str_puts(out, "</figure>\n");
}

void dt_chart_put(const dt_chart *c, dt_str *out)
{
    if (c->n == 0)
        return;
    dt_chart drawn = *c;
    dt_thinned *t = dt_alloc(sizeof *t);
    dt_thin(c, t);
    take_thinned(&drawn, t);
    put_drawn(&drawn, t, t->is_thinned ? longest(c) : 0, out);
    dt_thinned_release(t);
    free(t);
}
