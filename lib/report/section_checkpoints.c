/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints that are there. */
#include <string.h>

#include "report/report.h"

enum { EARLY = 20, LATE = 80 };

static void put_item(const dt_listed *x, dt_str *out)
{
    const char *slash = strrchr(x->path, '/');
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_html_tag(out, "code", "", slash ? slash + 1 : x->path);
    dt_str_puts(out, "</th>");
    if (x->damage) {
        dt_html_tag(out, "td", " colspan=\"4\" class=\"damage\"", dt_status_text(x->damage));
        dt_str_puts(out, "</tr>\n");
        return;
    }
    dt_str_puts(out, "<td>");
    dt_html_count(out, x->state.step);
    dt_str_puts(out, x->state.finished ? " <small>final</small></td><td>" : "</td><td>");
    dt_html_moment(out, x->saved_s);
    dt_str_puts(out, "</td><td>");
    dt_html_bytes(out, (double)x->bytes);
    dt_str_puts(out, "</td><td>");
    dt_html_hash(out, x->state.weights_sha256);
    dt_str_puts(out, "</td></tr>\n");
}

static void put_items(const dt_listing *l, dt_str *out)
{
    for (int k = 0; k < l->n; k++) {
        if (k == EARLY && l->n > EARLY + LATE) {
            dt_str_printf(out, "<tr><td colspan=\"5\">%d checkpoints not shown</td></tr>\n", l->n - EARLY - LATE);
            k = l->n - LATE;
        }
        put_item(&l->item[k], out);
    }
}

static void put(const dt_report_pages *p, dt_str *out)
{
    for (int i = 0; i < p->n; i++) {
        const dt_listing *l = &p->run[i].checkpoints;
        if (l->n == 0)
            continue;
        dt_str_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"checkpoints\"><table class=\"checkpoints\">");
        if (p->n > 1) {
            dt_str_puts(out, "<caption>");
            dt_report_name(p, i, out);
            dt_str_puts(out, "</caption>");
        }
        dt_str_puts(out, "<thead><tr><th scope=\"col\">checkpoint</th><th scope=\"col\">step</th><th scope=\"col\">saved</th><th scope=\"col\">size</th>"
                         "<th scope=\"col\">weights, SHA-256</th></tr></thead><tbody>\n");
        put_items(l, out);
        dt_str_puts(out, "</tbody></table></div>\n");
    }
}

const dt_report_section dt_report_checkpoints = {"checkpoints", "Checkpoints", put};
