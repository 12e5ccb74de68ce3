/* SPDX-License-Identifier: Apache-2.0 */
/* What one looks for first: how each run ended, and its last and best figures. */
#include <string.h>

#include "report/report.h"

enum { REMARKS = 20 };

/* ---- metrics ---- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* What sounds as if it were better when it is smaller: all there is to go by where the run's record does not say. */
static bool is_cost(const char *name)
{
    static const char *const words[] = {"loss", "error", "crossentropy", "perplexity", "Perplexity", "divergence", "hinge", "poisson", "logcosh", "log_cosh"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ends_in(name, words[i]))
            return true;
    return false;
}

static bool is_listed(const json_t *names, const char *name)
{
    size_t i;
    json_t *x;
    json_array_foreach(names, i, x)
        if (json_is_string(x) && strcmp(json_string_value(x), name) == 0)
            return true;
    return false;
}

static bool is_validation(const char *name)
{
    return strncmp(name, "val_", 4) == 0;
}

/* 1: more is better, -1: less, 0: nobody knows. */
static int way_of(const dt_report_run *r, const char *name)
{
    const json_t *less = json_object_get(r->start, "less_is_better"), *more = json_object_get(r->start, "more_is_better");
    const char *bare = is_validation(name) ? name + 4 : name;
    if (!less && !more)
        return is_cost(name) ? -1 : 1;
    return is_listed(more, bare) - is_listed(less, bare);
}

static const dt_point *best_of(const dt_report_run *r, const dt_series *s)
{
    const int way = way_of(r, s->name);
    const dt_point *best = NULL;
    for (int i = 0; i < s->n && way; i++)
        if (isfinite(s->p[i].y) && (!best || way * s->p[i].y > way * best->y))
            best = &s->p[i];
    return best;
}

static bool is_rate(const char *name)
{
    return strcmp(name, "learning_rate") == 0;
}

/* ---- tiles of one run ---- */

/* A long name may break behind its underscores. */
static void put_name(dt_str *out, const char *name)
{
    dt_str text = {0};
    dt_html_text(&text, name);
    for (const char *c = dt_str_text(&text); *c; c++) {
        dt_str_putc(out, *c);
        dt_str_puts(out, *c == '_' ? "<wbr>" : "");
    }
    dt_str_release(&text);
}

static void open_tile(dt_str *out, const char *label)
{
    dt_str_puts(out, "<div class=\"tile\"><dt>");
    put_name(out, label);
    dt_str_puts(out, "</dt><dd>");
}

static void close_tile(dt_str *out, const char *below)
{
    dt_str_puts(out, "</dd>");
    if (*below)
        dt_html_tag(out, "dd", " class=\"below\"", below);
    dt_str_puts(out, "</div>\n");
}

static void put_metric(const dt_report_run *r, const dt_series *s, dt_str *out)
{
    const dt_point *best = best_of(r, s), *last = &s->p[s->n - 1];
    dt_str below = {0}, name = {0};
    dt_report_metric(r, s->name, &name);
    open_tile(out, dt_str_text(&name));
    dt_str_release(&name);
    dt_html_number(out, last->y);
    if (best && best->y != last->y) {
        dt_str_puts(&below, "best ");
        dt_put_number(&below, best->y);
        dt_str_puts(&below, " in epoch ");
        dt_str_grouped(&below, (int64_t)best->x);
    } else if (best && s->n > 1)
        dt_str_puts(&below, "best");
    close_tile(out, dt_str_text(&below));
    dt_str_release(&below);
}

static double trained_seconds(const dt_report_run *r)
{
    const dt_series *s = dt_series_find(&r->of_epochs, "wall_s");
    double sum = 0;
    for (int i = 0; s && i < s->n; i++)
        sum += isfinite(s->p[i].y) ? s->p[i].y : 0;
    return sum;
}

static double all_seconds(const dt_report_run *r)
{
    double sum = 0;
    for (int i = 0; i < r->n_attempts; i++)
        sum += r->attempt[i].seconds;
    return sum;
}

static int64_t last_step(const dt_report_run *r)
{
    int64_t step = r->n_attempts > 0 ? r->attempt[r->n_attempts - 1].to : 0;
    for (int i = 0; i < r->checkpoints.n; i++)
        if (dt_report_is_own(r, &r->checkpoints.item[i]) && r->checkpoints.item[i].state.step > step)
            step = r->checkpoints.item[i].state.step;
    return step;
}

static void put_steps(const dt_report_run *r, dt_str *out)
{
    dt_str below = {0};
    open_tile(out, "steps");
    dt_html_count(out, last_step(r));
    const int64_t steps = r->start ? dt_report_int(r->start, "steps") : 0, epochs = r->start ? dt_report_int(r->start, "epochs") : 0;
    if (steps > last_step(r)) {
        dt_str_puts(&below, "of ");
        dt_str_grouped(&below, steps);
        dt_str_puts(&below, " requested");
    } else if (r->start) {
        dt_str_grouped(&below, epochs);
        dt_str_puts(&below, epochs == 1 ? " epoch" : " epochs");
    }
    close_tile(out, dt_str_text(&below));
    dt_str_release(&below);
}

static void put_time(const dt_report_run *r, dt_str *out)
{
    dt_str below = {0};
    if (r->n_attempts == 0)
        return;
    open_tile(out, "time");
    dt_html_seconds(out, all_seconds(r));
    if (all_seconds(r) > 0)
        dt_str_printf(&below, "%.0f %% in training steps", 100 * fmin(1, trained_seconds(r) / all_seconds(r)));
    close_tile(out, dt_str_text(&below));
    dt_str_release(&below);
}

static void put_tiles(const dt_report_run *r, dt_str *out)
{
    dt_str_puts(out, "<dl class=\"tiles\">");
    for (int pass = 1; pass >= 0; pass--) /* validation before training */
        for (int i = 0; i < r->by_epoch.n; i++)
            if (!is_rate(r->by_epoch.v[i].name) && (strncmp(r->by_epoch.v[i].name, "val_", 4) == 0) == pass)
                put_metric(r, &r->by_epoch.v[i], out);
    put_steps(r, out);
    put_time(r, out);
    if (r->start) {
        open_tile(out, "parameters");
        dt_html_count(out, dt_report_int(r->start, "parameters"));
        close_tile(out, "");
    }
    dt_str_puts(out, "</dl>\n");
}

/* ---- a row of a comparison ---- */

/* The last value, and below it the best one, where that is another. */
static void put_figure(const dt_report_run *r, const dt_series *s, dt_str *out)
{
    const dt_point *last = s && s->n > 0 ? &s->p[s->n - 1] : NULL, *best = last ? best_of(r, s) : NULL;
    dt_str_puts(out, "<td>");
    if (last)
        dt_html_number(out, last->y);
    if (best && best->y != last->y) {
        dt_str_puts(out, "<br><small>best ");
        dt_html_number(out, best->y);
        dt_str_puts(out, ", epoch ");
        dt_str_grouped(out, (int64_t)best->x);
        dt_str_puts(out, "</small>");
    }
    dt_str_puts(out, "</td>");
}

/* All names that any run has, in the order of their first appearance; validation before training. */
static void collect(const dt_report_pages *p, dt_series_list *names)
{
    for (int pass = 1; pass >= 0; pass--)
        for (int i = 0; i < p->n; i++)
            for (int k = 0; k < p->run[i].by_epoch.n; k++) {
                const char *name = p->run[i].by_epoch.v[k].name;
                if (!is_rate(name) && is_validation(name) == pass)
                    dt_series_of(names, name);
            }
}

static void put_names(const dt_series_list *names, dt_str *out)
{
    dt_str_puts(out, "<thead><tr><th scope=\"col\">run</th><th scope=\"col\">outcome</th><th scope=\"col\">steps</th><th scope=\"col\">time</th>");
    for (int i = 0; i < names->n; i++)
        dt_html_tag(out, "th", " scope=\"col\"", names->v[i].name);
    dt_str_puts(out, "</tr></thead><tbody>\n");
}

static void put_badge(const dt_report_run *r, dt_str *out)
{
    dt_outcome o = dt_report_outcome(r);
    dt_str_printf(out, "<span class=\"badge %s\">%s</span>", o.tone, o.word);
}

static void put_run_row(const dt_report_pages *p, int i, const dt_series_list *names, dt_str *out)
{
    const dt_report_run *r = &p->run[i];
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_report_name(p, i, out);
    dt_str_puts(out, "</th><td>");
    put_badge(r, out);
    dt_str_puts(out, "</td><td>");
    dt_html_count(out, last_step(r));
    dt_str_puts(out, "</td><td>");
    if (r->n_attempts > 0)
        dt_html_seconds(out, all_seconds(r));
    dt_str_puts(out, "</td>");
    for (int k = 0; k < names->n; k++)
        put_figure(r, dt_series_find(&r->by_epoch, names->v[k].name), out);
    dt_str_puts(out, "</tr>\n");
}

static void put_comparison(const dt_report_pages *p, dt_str *out)
{
    dt_series_list names = {0};
    collect(p, &names);
    dt_str_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"metrics of all runs\"><table class=\"compare\">");
    put_names(&names, out);
    for (int i = 0; i < p->n; i++)
        put_run_row(p, i, &names, out);
    dt_str_puts(out, "</tbody></table></div>\n");
    dt_series_release(&names);
}

/* ---- what to know before one reads on ---- */

static void put_remarks(const dt_report_pages *p, int i, dt_str *out)
{
    const dt_report_run *r = &p->run[i];
    for (int k = 0; k < r->n_remarks && k < REMARKS; k++) {
        dt_str_puts(out, "<p class=\"remark\">");
        if (p->n > 1) {
            dt_report_name(p, i, out);
            dt_str_putc(out, ' ');
        }
        dt_html_text(out, dt_report_shown(r, r->remark[k]));
        dt_str_puts(out, "</p>\n");
    }
    if (r->n_remarks > REMARKS)
        dt_str_printf(out, "<p class=\"remark\">and %d more</p>\n", r->n_remarks - REMARKS);
}

static void put_ending(const dt_report_pages *p, int i, dt_str *out)
{
    dt_str why = {0};
    dt_report_explain(&p->run[i], &why);
    if (p->n == 1 || why.size > 0) {
        dt_str_puts(out, "<p class=\"outcome\">");
        if (p->n > 1)
            dt_report_name(p, i, out);
        put_badge(&p->run[i], out);
        dt_str_putc(out, ' ');
        dt_html_text(out, dt_str_text(&why));
        dt_str_puts(out, "</p>\n");
    }
    dt_str_release(&why);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    if (p->n > 1)
        put_comparison(p, out);
    for (int i = 0; i < p->n; i++)
        put_ending(p, i, out);
    if (p->n == 1)
        put_tiles(&p->run[0], out);
    for (int i = 0; i < p->n; i++)
        put_remarks(p, i, out);
}

const dt_report_section dt_report_summary = {"summary", "Summary", put};
