/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what was announced before the first step, part by part, and what the whole process had at its peak. */
#include "report/report.h"

/* Of a record of older runs, which did not have it, nothing. */
static void put_part(const dt_report_run *r, const char *key, dt_str *out)
{
    const int64_t bytes = r->start ? dt_report_int(r->start, key) : 0;
    if (bytes > 0)
        dt_html_bytes(out, (double)bytes);
}

static void put_planned(const dt_report_run *r, dt_str *out) { put_part(r, "memory_bytes", out); }
static void put_steps(const dt_report_run *r, dt_str *out) { put_part(r, "steps_bytes", out); }
static void put_evaluation(const dt_report_run *r, dt_str *out) { put_part(r, "evaluation_bytes", out); }
static void put_state(const dt_report_run *r, dt_str *out) { put_part(r, "state_bytes", out); }
static void put_data(const dt_report_run *r, dt_str *out) { put_part(r, "data_bytes", out); }
static void put_program(const dt_report_run *r, dt_str *out) { put_part(r, "program_bytes", out); }

static void put_peak(const dt_report_run *r, dt_str *out)
{
    if (r->peak_rss > 0)
        dt_html_bytes(out, r->peak_rss);
}

static void put_machine(const dt_report_run *r, dt_str *out)
{
    int64_t bytes = r->start ? dt_report_int(json_object_get(r->start, "host"), "memory_bytes") : 0;
    if (bytes > 0)
        dt_html_bytes(out, (double)bytes);
}

/* Both as bars of one scale; words beside them say the same. */
static void put_bars(const dt_report_run *r, dt_str *out)
{
    double planned = (double)dt_report_int(r->start, "memory_bytes"), most = fmax(planned, r->peak_rss);
    const struct {
        const char *label;
        double bytes;
    } rows[] = {{"announced", planned}, {"process, peak", r->peak_rss}};
    if (!(most > 0))
        return;
    dt_str_puts(out, "<div class=\"bars\" aria-hidden=\"true\">");
    for (size_t i = 0; i < 2; i++)
        if (rows[i].bytes > 0) /* of a killed run the peak may not be known */
            dt_str_printf(out, "<span>%s</span><span class=\"bar\"><span class=\"c%zu\" style=\"width:%.2f%%\"></span></span>", rows[i].label, i,
                          100 * rows[i].bytes / most);
    dt_str_puts(out, "</div>\n");
}

static void put(const dt_report_pages *p, dt_str *out)
{
    static const dt_fact facts[] = {
        {"announced before the first step", put_planned}, {"training steps", put_steps}, {"evaluation", put_evaluation},
        {"weights and optimizer", put_state}, {"data", put_data}, {"program", put_program}, {"measured: peak of the process", put_peak},
        {"memory of the machine", put_machine},
    };
    size_t before = out->size;
    dt_facts_put(p, facts, sizeof facts / sizeof *facts, out);
    if (p->n == 1 && p->run[0].start)
        put_bars(&p->run[0], out);
    if (out->size > before)
        dt_str_puts(out, "<p class=\"note\">Steps, evaluation, weights and data are counted; the program with its libraries is estimated. Measured is the largest "
                         "resident set of the process.</p>\n");
}

const dt_report_section dt_report_memory = {"memory", "Memory", put};
