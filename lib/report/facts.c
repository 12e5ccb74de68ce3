/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of facts: a row each, a column a run. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

void dt_report_name(const dt_report_pages *p, int i, dt_str *out)
{
    dt_str_printf(out, "<span class=\"run c%d\">", i % DT_REPORT_COLOURS);
    dt_html_text(out, p->run[i].label);
    dt_str_puts(out, "</span>");
}

static void put_head(const dt_report_pages *p, dt_str *out)
{
    if (p->n == 1)
        return;
    dt_str_puts(out, "<thead><tr><td></td>");
    for (int i = 0; i < p->n; i++) {
        dt_str_puts(out, "<th scope=\"col\">");
        dt_report_name(p, i, out);
        dt_str_puts(out, "</th>");
    }
    dt_str_puts(out, "</tr></thead>");
}

static void put_row(const dt_report_pages *p, const dt_fact *fact, dt_str *cell, dt_str *out)
{
    bool any = false, differ = false;
    for (int i = 0; i < p->n; i++) {
        dt_str_clear(&cell[i]);
        fact->put(&p->run[i], &cell[i]);
        any |= cell[i].size > 0;
        differ |= strcmp(dt_str_text(&cell[i]), dt_str_text(&cell[0])) != 0;
    }
    if (!any)
        return;
    dt_str_puts(out, differ ? "<tr class=\"differs\">" : "<tr>");
    dt_html_tag(out, "th", " scope=\"row\"", fact->label);
    for (int i = 0; i < p->n; i++)
        dt_str_printf(out, "<td>%s</td>", cell[i].size ? dt_str_text(&cell[i]) : "–");
    dt_str_puts(out, "</tr>\n");
}

void dt_facts_put(const dt_report_pages *p, const dt_fact *facts, int n, dt_str *out)
{
    dt_str *cell = dt_alloc((size_t)p->n * sizeof *cell), rows = {0};
    for (int i = 0; i < n; i++)
        put_row(p, &facts[i], cell, &rows);
    if (rows.size > 0) {
        dt_str_printf(out, "<div class=\"scroll\"%s><table class=\"facts\">", p->n > 1 ? " tabindex=\"0\" role=\"region\" aria-label=\"facts\"" : "");
        put_head(p, out);
        dt_str_printf(out, "<tbody>\n%s</tbody></table></div>\n", dt_str_text(&rows));
    }
    for (int i = 0; i < p->n; i++)
        dt_str_release(&cell[i]);
    dt_str_release(&rows);
    free(cell);
}
