/* SPDX-License-Identifier: Apache-2.0 */
/* What happened: attempts, warnings, messages of callbacks, injected faults. */
#include "report/report.h"

enum { EARLY = 20, LATE = 80 };

/* ---- attempts ---- */

static void put_attempt(const dt_attempt *a, dt_str *out)
{
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_html_time(out, a->began);
    dt_str_puts(out, "</th><td>");
    dt_html_count(out, a->from);
    dt_str_puts(out, " → ");
    dt_html_count(out, a->to);
    dt_str_puts(out, a->resumed ? " <small>resumed</small></td><td>" : "</td><td>");
    dt_html_seconds(out, a->seconds);
    dt_str_puts(out, "</td><td>");
    if (!a->ended)
        dt_str_puts(out, "no end recorded");
    else if (a->error)
        dt_html_text(out, a->error);
    else
        dt_str_puts(out, a->stopped_early ? "stopped early by a callback" : a->finished ? "completed" : "ended");
    dt_str_printf(out, a->ended ? " <small>exit %d</small></td></tr>\n" : "</td></tr>\n", a->exit);
}

static void put_attempts(const dt_report_run *r, dt_str *out)
{
    if (r->n_attempts == 0)
        return;
    dt_str_puts(out, "<div class=\"scroll\"><table class=\"attempts\"><caption>Attempts</caption><thead><tr><th scope=\"col\">began</th>"
                     "<th scope=\"col\">steps</th><th scope=\"col\">took</th><th scope=\"col\">ended</th></tr></thead><tbody>\n");
    for (int i = 0; i < r->n_attempts; i++) {
        if (i == EARLY && r->n_attempts > EARLY + LATE) {
            dt_str_printf(out, "<tr><td colspan=\"4\">%d attempts not shown</td></tr>\n", r->n_attempts - EARLY - LATE);
            i = r->n_attempts - LATE;
        }
        put_attempt(&r->attempt[i], out);
    }
    dt_str_puts(out, "</tbody></table></div>\n");
}

/* ---- messages ---- */

static void put_when(const char *what, int64_t n, dt_str *out)
{
    dt_str_printf(out, "<small>%s ", what);
    dt_str_grouped(out, n);
    dt_str_puts(out, "</small> ");
}

static void put_line(const dt_message_line *l, dt_str *out)
{
    dt_str_printf(out, "<li class=\"%s\"><b>", dt_message_kind(l->kind));
    dt_html_text(out, l->who ? l->who : dt_message_kind(l->kind));
    dt_str_puts(out, "</b> ");
    if (l->step > 0)
        put_when("step", l->step, out);
    else if (l->epoch > 0)
        put_when("epoch", l->epoch, out);
    dt_html_tag(out, "span", " class=\"words\"", l->text);
    if (l->left_out > 0)
        dt_str_printf(out, " <small>… %lld more bytes</small>", (long long)l->left_out);
    dt_str_puts(out, "</li>\n");
}

static void put_left_out(const dt_messages *s, dt_str *out)
{
    for (int k = 0; k < DT_MESSAGE_KINDS; k++)
        if (dt_messages_left_out(s, k) > 0) {
            dt_str_puts(out, "<p class=\"note\">");
            dt_html_count(out, dt_messages_left_out(s, k));
            dt_str_puts(out, " of ");
            dt_html_count(out, s->of[k]);
            dt_str_printf(out, " lines of kind %s not shown; the first and last %d are below.</p>\n", dt_message_kind(k), DT_MESSAGE_ENDS);
        }
}

static void put_messages(const dt_messages *s, dt_str *out)
{
    const dt_message_line *all[DT_MESSAGE_KINDS * 2 * DT_MESSAGE_ENDS];
    int n = dt_messages_list(s, all);
    if (n == 0)
        return;
    put_left_out(s, out);
    dt_str_puts(out, "<ul class=\"said\">\n");
    for (int i = 0; i < n; i++)
        put_line(all[i], out);
    dt_str_puts(out, "</ul>\n");
}

static void put_run(const dt_report_pages *p, int i, dt_str *out)
{
    const dt_report_run *r = &p->run[i];
    if (r->n_attempts == 0 && r->messages.n == 0)
        return;
    if (p->n > 1) {
        dt_str_puts(out, "<h3>");
        dt_report_name(p, i, out);
        dt_str_puts(out, "</h3>\n");
    }
    put_messages(&r->messages, out);
    put_attempts(r, out);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    for (int i = 0; i < p->n; i++)
        put_run(p, i, out);
}

const dt_report_section dt_report_events = {"events", "Warnings and events", put};
