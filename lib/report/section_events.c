/* What happened: attempts, warnings, what callbacks did and said, faults that were rehearsed. */
#include "report/report.h"

/* ---- attempts ---- */

static void put_attempt(const dt_attempt *a, dt_str *out)
{
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_html_text(out, a->began);
    dt_str_puts(out, "</th><td>");
    dt_html_count(out, a->from);
    dt_str_puts(out, " → ");
    dt_html_count(out, a->to);
    dt_str_puts(out, a->resumed ? " <small>resumed</small></td><td>" : "</td><td>");
    dt_html_seconds(out, a->seconds);
    dt_str_puts(out, "</td><td>");
    if (!a->ended)
        dt_str_puts(out, "no end was written");
    else if (a->error)
        dt_html_text(out, a->error);
    else
        dt_str_puts(out, a->stopped_early ? "stopped early by a callback" : a->finished ? "trained all it was asked for" : "ended");
    dt_str_printf(out, a->ended ? " <small>exit %d</small></td></tr>\n" : "</td></tr>\n", a->exit);
}

static void put_attempts(const dt_report_run *r, dt_str *out)
{
    if (r->n_attempts == 0)
        return;
    dt_str_puts(out, "<div class=\"scroll\"><table class=\"attempts\"><caption>Attempts</caption><thead><tr><th scope=\"col\">began</th>"
                     "<th scope=\"col\">steps</th><th scope=\"col\">took</th><th scope=\"col\">ended</th></tr></thead><tbody>\n");
    for (int i = 0; i < r->n_attempts; i++)
        put_attempt(&r->attempt[i], out);
    dt_str_puts(out, "</tbody></table></div>\n");
}

/* ---- what was said ---- */

static void put_said(const dt_said_line *l, dt_str *out)
{
    dt_str_puts(out, "<li class=\"");
    dt_html_text(out, l->kind);
    dt_str_puts(out, "\"><b>");
    dt_html_text(out, l->who ? l->who : l->kind);
    dt_str_puts(out, "</b> ");
    if (l->step > 0)
        dt_str_printf(out, "<small>step %lld</small> ", (long long)l->step);
    else if (l->epoch > 0)
        dt_str_printf(out, "<small>epoch %lld</small> ", (long long)l->epoch);
    dt_html_tag(out, "span", " class=\"words\"", l->text);
    dt_str_puts(out, "</li>\n");
}

static void put_run(const dt_report_pages *p, int i, dt_str *out)
{
    const dt_report_run *r = &p->run[i];
    if (r->n_attempts == 0 && r->n_said == 0)
        return;
    if (p->n > 1) {
        dt_str_puts(out, "<h3>");
        dt_report_name(p, i, out);
        dt_str_puts(out, "</h3>\n");
    }
    if (r->n_said > 0)
        dt_str_puts(out, "<ul class=\"said\">\n");
    for (int k = 0; k < r->n_said; k++)
        put_said(&r->said[k], out);
    if (r->n_said > 0)
        dt_str_puts(out, "</ul>\n");
    put_attempts(r, out);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    for (int i = 0; i < p->n; i++)
        put_run(p, i, out);
}

const dt_report_section dt_report_events = {"events", "Warnings and events", put};
