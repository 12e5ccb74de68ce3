/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a chart: a row for each x that any curve has. */
#include "report/chart.h"
#include "report/html.h"

/* Where each curve stands. */
typedef struct cursor {
    const dt_chart *c;
    int at[DT_CHART_CURVES];
} cursor;

/* The next x of all; false: there is none. */
static bool next_x(const cursor *k, double *x)
{
    *x = INFINITY;
    for (int i = 0; i < k->c->n; i++)
        if (k->at[i] < k->c->curve[i].line->n)
            *x = fmin(*x, k->c->curve[i].line->p[k->at[i]].x);
    return isfinite(*x);
}

static const dt_point *at_x(const cursor *k, int i, double x)
{
    const dt_series *s = k->c->curve[i].line;
    return k->at[i] < s->n && s->p[k->at[i]].x == x ? &s->p[k->at[i]] : NULL;
}

static void pass(cursor *k, double x)
{
    for (int i = 0; i < k->c->n; i++)
        k->at[i] += at_x(k, i, x) != NULL;
}

static void put_row(const cursor *k, double x, dt_str *out)
{
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_html_count(out, (int64_t)x);
    dt_str_puts(out, "</th>");
    for (int i = 0; i < k->c->n; i++) {
        const dt_point *p = at_x(k, i, x);
        dt_str_puts(out, "<td>");
        if (p)
            dt_html_number(out, p->y);
        dt_str_puts(out, "</td>");
    }
    dt_str_puts(out, "</tr>\n");
}

static void put_head(const dt_chart *c, dt_str *out)
{
    dt_str_puts(out, "<table><caption class=\"unseen\">");
    dt_html_text(out, c->title);
    dt_str_puts(out, "</caption><thead><tr>");
    dt_html_tag(out, "th", " scope=\"col\"", c->x);
    for (int i = 0; i < c->n; i++)
        dt_html_tag(out, "th", " scope=\"col\"", c->curve[i].label);
    dt_str_puts(out, "</tr></thead><tbody>\n");
}

void dt_chart_table(const dt_chart *c, int of, dt_str *out)
{
    cursor k = {.c = c};
    double x;
    dt_str_puts(out, "<details class=\"numbers\"><summary>Numbers</summary>");
    if (of > 0) {
        dt_str_puts(out, "<p class=\"note\">Of ");
        dt_html_count(out, of);
        dt_str_puts(out, " points, the minimum and maximum of each interval.</p>");
    }
    dt_str_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"numbers\">");
    put_head(c, out);
    while (next_x(&k, &x)) {
        put_row(&k, x, out);
        pass(&k, x);
    }
    dt_str_puts(out, "</tbody></table></div></details>\n");
}
