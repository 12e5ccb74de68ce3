/* SPDX-License-Identifier: Apache-2.0 */
/* What was learnt: each metric by epoch, training and validation together, and the loss by step. */
#include <string.h>

#include "report/report.h"

enum { LONGEST = 120 };

static bool is_validation(const char *name)
{
    return strncmp(name, "val_", 4) == 0;
}

static const char *base_of(const char *name)
{
    return is_validation(name) ? name + 4 : name;
}

/* A curve of one run: alone, training and validation have a colour each; among others a run has one, and validation is dashed. */
static void add(const dt_report_pages *p, int i, const dt_series *s, bool validation, dt_chart *c, dt_arena *arena)
{
    const char *what = validation ? "validation" : "training";
    const char *label = p->n == 1 ? what : dt_arena_printf(arena, "%s, %s", p->run[i].label, what);
    dt_chart_add(c, &(dt_curve){.label = label, .colour = p->n == 1 ? validation : i % DT_REPORT_COLOURS, .dashed = p->n > 1 && validation, .line = s});
}

static const char *id_of(dt_arena *arena, const char *metric, const char *by)
{
    return dt_arena_printf(arena, "%.*s-%s", LONGEST, metric, by);
}

/* Runs that are compared may have other classes; then a metric has its name alone. */
static const char *title_of(const dt_report_pages *p, const char *metric, dt_arena *arena)
{
    const char *title = NULL;
    for (int i = 0; i < p->n; i++) {
        dt_str one = {0};
        if (!dt_series_find(&p->run[i].by_epoch, metric))
            continue;
        dt_report_metric(&p->run[i], metric, &one);
        const bool differs = title && strcmp(title, dt_str_text(&one)) != 0;
        title = differs ? metric : dt_arena_strdup(arena, dt_str_text(&one));
        dt_str_release(&one);
        if (differs)
            return metric;
    }
    return title ? title : metric;
}

/* ---- by epoch ---- */

static void put_metric(const dt_report_pages *p, const char *metric, dt_arena *arena, dt_str *out)
{
    dt_chart c = {.id = id_of(arena, metric, "epoch"), .title = title_of(p, metric, arena), .x = "epoch", .most = p->most};
    for (int i = 0; i < p->n; i++) {
        add(p, i, dt_series_find(&p->run[i].by_epoch, metric), false, &c, arena);
        add(p, i, dt_series_find(&p->run[i].by_epoch, dt_arena_printf(arena, "val_%s", metric)), true, &c, arena);
    }
    dt_chart_put(&c, out);
}

/* Metrics without val_, each once. */
static void collect(const dt_report_pages *p, const dt_series_list *(*of)(const dt_report_run *r), dt_series_list *names)
{
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < of(&p->run[i])->n; k++)
            if (strcmp(of(&p->run[i])->v[k].name, "learning_rate") != 0)
                dt_series_of(names, base_of(of(&p->run[i])->v[k].name));
}

static const dt_series_list *epochs_of(const dt_report_run *r)
{
    return &r->by_epoch;
}

static const dt_series_list *validated(const dt_report_run *r)
{
    return &r->by_step;
}

/* ---- by step ---- */

static void put_loss(const dt_report_pages *p, dt_arena *arena, dt_str *out)
{
    dt_chart c = {.id = "loss-step", .title = "loss by step", .x = "step", .wide = true, .smoothed = p->n > 1, .most = p->most};
    for (int i = 0; i < p->n; i++) {
        const dt_report_run *r = &p->run[i];
        const dt_series *line = dt_series_find(&r->by_step, "loss");
        add(p, i, line, false, &c, arena);
        if (line && c.n > 0 && c.curve[c.n - 1].line == line && p->n == 1) {
            c.curve[c.n - 1].least = dt_series_find(&r->by_step, "loss_min");
            c.curve[c.n - 1].most = dt_series_find(&r->by_step, "loss_max");
        }
        add(p, i, dt_series_find(&r->by_step, "val_loss"), true, &c, arena);
    }
    c.note = p->n == 1 ? "Each point is the mean of several steps; the band shows their minimum and maximum." : NULL;
    dt_chart_put(&c, out);
}

/* Validation between the ends of epochs is nowhere else. */
static bool is_finer(const dt_report_run *r, const char *name)
{
    const dt_series *by_step = dt_series_find(&r->by_step, name), *by_epoch = dt_series_find(&r->by_epoch, name);
    return by_step && by_step->n > (by_epoch ? by_epoch->n : 0);
}

static void put_validation(const dt_report_pages *p, const char *metric, dt_arena *arena, dt_str *out)
{
    const char *name = dt_arena_printf(arena, "val_%s", metric);
    dt_chart c = {.id = id_of(arena, metric, "step"), .title = dt_arena_printf(arena, "%s by step", title_of(p, metric, arena)), .x = "step", .most = p->most};
    bool finer = false;
    for (int i = 0; i < p->n; i++) {
        finer |= is_finer(&p->run[i], name);
        add(p, i, dt_series_find(&p->run[i].by_step, name), true, &c, arena);
    }
    if (finer)
        dt_chart_put(&c, out);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    dt_arena *arena = dt_arena_create();
    dt_series_list by_epoch = {0}, by_step = {0};
    dt_str all = {0};
    collect(p, epochs_of, &by_epoch);
    collect(p, validated, &by_step);
    for (int i = 0; i < by_epoch.n; i++)
        put_metric(p, by_epoch.v[i].name, arena, &all);
    put_loss(p, arena, &all);
    for (int i = 0; i < by_step.n; i++)
        if (strcmp(by_step.v[i].name, "loss") != 0)
            put_validation(p, by_step.v[i].name, arena, &all);
    if (all.size > 0)
        dt_str_printf(out, "<div class=\"charts\">%s</div>\n", dt_str_text(&all));
    dt_str_release(&all);
    dt_series_release(&by_epoch);
    dt_series_release(&by_step);
    dt_arena_destroy(arena);
}

const dt_report_section dt_report_curves = {"curves", "Curves", put};
