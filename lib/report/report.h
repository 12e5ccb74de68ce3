/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report: a single HTML file about one run, or about several side by side. C code reads the runs
 * and computes sums, and the script of the page draws:
 *
 *     read.c, read_record.c     a run's directory (run.h); of many warnings and
 *                               events the first and last
 *     series.c                  curves, and of very long ones what a screen can show
 *     outcome.c                 how a run ended, and what it reached
 *     gather.c                  all of that as JSON
 *     write.c                   a page with that JSON in it, and its style and script, which are
 *                               compiled in; a table of metrics for browsers without scripts
 *     page.css, *.js            style and script: elements.js, charts.js, summary.js,
 *                               evaluation.js; page.js has the list of sections
 *
 * A page loads nothing from elsewhere: its Content-Security-Policy allows only inline styles, data:
 * images and the one script whose hash it names. Text from files reaches it as JSON in which no "<"
 * is left, and the document as text nodes, never as markup (elements.js, `put`). Labels and names
 * of metrics also occur in HTML, where they are escaped (write.c, `put_text`).
 */
#ifndef DT_REPORT_REPORT_H
#define DT_REPORT_REPORT_H

#include "base/json.h"
#include "report/run.h"

/* Prints a run as a JSON object. alone: the page shows no other run. */
void dt_report_gather(const dt_report_run *r, bool alone, dt_json *j);
#endif
