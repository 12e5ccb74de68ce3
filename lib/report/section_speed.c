/* SPDX-License-Identifier: Apache-2.0 */
/* How fast: learning rate, examples a second, time of a step and what of it was waiting for data; on a simulated slice its clock too. */
#include <stdlib.h>

#include "report/report.h"

enum { BINS = 120 };

/* A curve: factor * sum of `above` / sum of `below` over bins of neighbouring points, so that many short steps are no hedge. below NULL: `above` as it is. */
typedef struct ratio {
    const char *above, *below;
    double factor;
    dt_chart chart;
} ratio;

static void divide(const dt_report_run *r, const ratio *q, dt_series *out)
{
    const dt_series *a = dt_series_find(&r->by_step, q->above), *b = dt_series_find(&r->by_step, q->below);
    int each = a ? (a->n + BINS - 1) / BINS : 1;
    for (int i = 0; a && b && i < a->n && i < b->n; i += each) {
        double above = 0, below = 0;
        int k = i;
        for (; k < i + each && k < a->n && k < b->n; k++) {
            above += a->p[k].y;
            below += b->p[k].y;
        }
        dt_series_add(out, a->p[k - 1].x, below > 0 ? q->factor * above / below : (double)NAN);
    }
}

static void put_chart(const dt_report_pages *p, const ratio *q, dt_str *out)
{
    dt_chart c = q->chart;
    c.most = p->most;
    dt_series *made = dt_alloc((size_t)p->n * sizeof *made);
    for (int i = 0; i < p->n; i++) {
        if (q->below)
            divide(&p->run[i], q, &made[i]);
        dt_chart_add(&c, &(dt_curve){.label = p->n == 1 ? c.title : p->run[i].label, .colour = i % DT_REPORT_COLOURS,
                                     .line = q->below ? &made[i] : dt_series_find(&p->run[i].by_step, q->above)});
    }
    dt_chart_put(&c, out);
    for (int i = 0; i < p->n; i++)
        free(made[i].p);
    free(made);
}

static void put_charts(const dt_report_pages *p, dt_str *out)
{
    static const ratio rows[] = {
        {"learning_rate", NULL, 1, {.id = "learning-rate", .title = "learning rate", .x = "step", .from_zero = true}},
        {"examples", "seconds", 1, {.id = "throughput", .title = "examples per second", .x = "step", .from_zero = true}},
        {"seconds", "n", 1e3, {.id = "step-time", .title = "step time, ms", .x = "step", .from_zero = true}},
        {"waited_s", "seconds", 100, {.id = "waiting", .title = "waiting for data, % of step time", .x = "step", .from_zero = true}},
        {"virtual_ms", NULL, 1, {.id = "virtual", .title = "step time on the simulated slice, ms", .x = "step", .from_zero = true}},
    };
    dt_str all = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_chart(p, &rows[i], &all);
    if (all.size > 0)
        dt_str_printf(out, "<p class=\"note\">Step times include waiting for data. They do not include compiling, checkpoints and validation."
                           "</p>\n<div class=\"charts\">%s</div>\n", dt_str_text(&all));
    dt_str_release(&all);
}

/* ---- facts ---- */

static double sum_of(const dt_report_run *r, const char *name)
{
    const dt_series *s = dt_series_find(&r->of_epochs, name);
    double sum = 0;
    for (int i = 0; s && i < s->n; i++)
        sum += isfinite(s->p[i].y) ? s->p[i].y : 0;
    return sum;
}

/* Of whole epochs: what a killed one did has no line. */
static void put_throughput(const dt_report_run *r, dt_str *out)
{
    double seconds = sum_of(r, "wall_s"), examples = sum_of(r, "examples");
    if (seconds > 0)
        dt_html_number(out, examples / seconds);
}

static double sum_of_steps(const dt_report_run *r, const char *name)
{
    const dt_series *s = dt_series_find(&r->by_step, name);
    double sum = 0;
    for (int i = 0; s && i < s->n; i++)
        sum += isfinite(s->p[i].y) ? s->p[i].y : 0;
    return sum;
}

static void put_step(const dt_report_run *r, dt_str *out)
{
    double n = sum_of_steps(r, "n");
    if (n > 0)
        dt_html_seconds(out, sum_of_steps(r, "seconds") / n);
}

static void put_virtual(const dt_report_run *r, dt_str *out)
{
    const dt_series *s = dt_series_find(&r->by_step, "virtual_ms");
    if (s && s->n > 0)
        dt_html_seconds(out, s->p[s->n - 1].y / 1e3);
}

static void put_waiting(const dt_report_run *r, dt_str *out)
{
    double waited = sum_of(r, "waited_s"), seconds = sum_of(r, "wall_s");
    if (seconds <= 0)
        return;
    dt_html_seconds(out, waited);
    dt_str_printf(out, " <small>%.0f %%</small>", 100 * waited / seconds);
}

static void put_trained(const dt_report_run *r, dt_str *out)
{
    double seconds = sum_of(r, "wall_s");
    if (seconds > 0)
        dt_html_seconds(out, seconds);
}

static void put_rate(const dt_report_run *r, dt_str *out)
{
    const dt_series *s = dt_series_find(&r->by_step, "learning_rate");
    if (s && s->n > 0)
        dt_html_number(out, s->p[s->n - 1].y);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    static const dt_fact facts[] = {
        {"examples per second", put_throughput}, {"step time", put_step}, {"step time on the simulated slice", put_virtual},
        {"time in training steps", put_trained}, {"waiting for data", put_waiting}, {"last learning rate", put_rate},
    };
    dt_facts_put(p, facts, sizeof facts / sizeof *facts, out);
    put_charts(p, out);
}

const dt_report_section dt_report_speed = {"speed", "Learning rate and speed", put};
