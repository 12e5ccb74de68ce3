/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: one HTML file that needs nothing else, about one run or about several side by side.
 *
 *     read.c, read_record.c     a run's directory (run.h)
 *     line.c, messages.c        a line of its files (line.h); warnings and events, the first and last of many (messages.h)
 *     page.c                    the page around the sections; page.css and page.js are compiled in
 *     section_NAME.c            a section each; its row stands in sections.h, in the order of the page
 *     facts.c                   tables of facts, a column a run
 *     chart.c, chart_table.c    curves (chart.h); thin.c: of very long ones what a screen can show
 *     html.c                    escaping and numbers (html.h)
 *
 * A page has no network address in it, and says so itself: its Content-Security-Policy allows its own style and the one script whose hash it names.
 */
#ifndef DT_REPORT_REPORT_H
#define DT_REPORT_REPORT_H

#include "report/chart.h"
#include "report/html.h"
#include "report/run.h"

enum { DT_REPORT_COLOURS = 8 };

typedef struct dt_report_pages { /* what a page is made of */
    int n;
    const dt_report_run *run; /* [n] */
    int most;                 /* points of a curve, so that many long ones make no page of many megabytes; 0: as many as a chart takes */
} dt_report_pages;

typedef struct dt_report_section {
    const char *id, *title;
    /* Appends the section's contents; what appends nothing is no section. */
    void (*put)(const dt_report_pages *p, dt_str *out);
} dt_report_section;
#define SECTION(name) extern const dt_report_section dt_report_##name;
#include "report/sections.h"
#undef SECTION

/* The whole page. */
void dt_report_page(const dt_report_pages *p, dt_str *out);

/* A row of a table: a label, and what each run has there, as HTML; "" where it has nothing. */
typedef struct dt_fact {
    const char *label;
    void (*put)(const dt_report_run *r, dt_str *out);
} dt_fact;
/* Rows that no run has anything for are left out; cells that differ are marked. */
void dt_facts_put(const dt_report_pages *p, const dt_fact *facts, int n, dt_str *out);
/* A span with the run's colour and label; alone in its report it has none. */
void dt_report_name(const dt_report_pages *p, int i, dt_str *out);

#endif
