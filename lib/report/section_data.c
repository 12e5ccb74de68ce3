/* SPDX-License-Identifier: Apache-2.0 */
/* What was read: hashes of the files, by which the same data is known again, and the files themselves. */
#include <string.h>

#include "report/report.h"

enum { TRAIN, VALIDATION, TEST };

/* What was hashed, in words; a hash of all of it needs none. */
static const char *said_of(const char *hashed)
{
    static const char *const words[][2] = {{"ends", "of the first and last 64 KiB of each file"}, {"sizes", "of file sizes only"}};
    for (size_t i = 0; hashed && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], hashed) == 0)
            return words[i][1];
    return "";
}

static void put_hash(const dt_report_run *r, int part, dt_str *out)
{
    const json_t *x = r->data[part];
    if (!x)
        return;
    if (!dt_report_text(x, "sha256")) {
        dt_html_tag(out, "span", " class=\"damage\"", dt_report_text(x, "error"));
        return;
    }
    dt_html_hash(out, dt_report_text(x, "sha256"));
    dt_str_puts(out, "<br><small>");
    dt_html_count(out, dt_report_int(x, "files"));
    dt_str_puts(out, dt_report_int(x, "files") == 1 ? " file, " : " files, ");
    dt_html_bytes(out, (double)dt_report_int(x, "bytes"));
    dt_str_printf(out, "%s%s</small>", *said_of(dt_report_text(x, "hashed")) ? "; " : "", said_of(dt_report_text(x, "hashed")));
}

static void put_train(const dt_report_run *r, dt_str *out)
{
    const char *format = dt_report_text(json_object_get(r->job, "dataset"), "format");
    put_hash(r, TRAIN, out);
    if (!r->data[TRAIN] && format && strcmp(format, "synthetic") == 0)
        dt_str_puts(out, "generated from the seed; no files");
}

static void put_validation(const dt_report_run *r, dt_str *out)
{
    put_hash(r, VALIDATION, out);
}

static void put_test(const dt_report_run *r, dt_str *out)
{
    put_hash(r, TEST, out);
}

static void put_examples(const dt_report_run *r, dt_str *out)
{
    if (!r->start)
        return;
    dt_html_count(out, dt_report_int(r->start, "train_examples"));
    dt_str_puts(out, " + ");
    dt_html_count(out, dt_report_int(r->start, "validation_examples"));
}

/* ---- several runs ---- */

static bool is_like_first(const dt_report_pages *p, int i, int part)
{
    const char *first = dt_report_text(p->run[0].data[part], "sha256"), *here = dt_report_text(p->run[i].data[part], "sha256");
    return first && here ? strcmp(first, here) == 0 : !p->run[0].data[part] && !p->run[i].data[part];
}

/* Said where it is known of all of them. */
static void put_verdict(const dt_report_pages *p, dt_str *out)
{
    bool known = p->n > 1, same = true;
    for (int i = 0; i < p->n; i++) {
        known = known && dt_report_text(p->run[i].data[TRAIN], "sha256");
        for (int part = TRAIN; part <= VALIDATION; part++)
            same = same && is_like_first(p, i, part);
    }
    if (known)
        dt_str_printf(out, "<p class=\"note verdict\">%s</p>\n", same ? "All runs used the same data." : "The runs used different data.");
}

/* ---- the files of one run ---- */

static void put_file(const json_t *f, dt_str *out)
{
    dt_str_puts(out, "<tr><th scope=\"row\">");
    dt_html_tag(out, "code", "", dt_report_text(f, "path"));
    dt_str_puts(out, "</th><td>");
    dt_html_text(out, dt_report_text(f, "what"));
    dt_str_puts(out, "</td><td>");
    dt_html_bytes(out, (double)dt_report_int(f, "bytes"));
    dt_str_puts(out, "</td><td>");
    dt_html_moment(out, dt_report_int(f, "modified"));
    dt_str_puts(out, "</td><td>");
    dt_html_hash(out, dt_report_text(f, "sha256"));
    dt_str_puts(out, "</td></tr>\n");
}

static void put_files(const dt_report_run *r, int part, dt_str *out)
{
    size_t i;
    const json_t *f, *first = json_object_get(r->data[part], "first");
    json_array_foreach(first, i, f)
        put_file(f, out);
    int64_t left = dt_report_int(r->data[part], "files") - (int64_t)json_array_size(first);
    if (left > 0)
        dt_str_printf(out, "<tr><td colspan=\"5\">and %lld more of %s</td></tr>\n", (long long)left, dt_report_parts[part]);
}

static void put_table(const dt_report_run *r, dt_str *out)
{
    dt_str rows = {0};
    for (int part = 0; part < DT_REPORT_PARTS; part++)
        put_files(r, part, &rows);
    if (rows.size > 0)
        dt_str_printf(out, "<details><summary>Files</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"files\">"
                           "<table class=\"files\"><thead><tr>"
                           "<th scope=\"col\">file</th><th scope=\"col\">for</th><th scope=\"col\">size</th><th scope=\"col\">last changed</th>"
                           "<th scope=\"col\">SHA-256</th></tr></thead><tbody>\n%s</tbody></table></div></details>\n", dt_str_text(&rows));
    dt_str_release(&rows);
}

static void put(const dt_report_pages *p, dt_str *out)
{
    static const dt_fact facts[] = {
        {"training data, SHA-256", put_train}, {"validation data, SHA-256", put_validation}, {"test data, SHA-256", put_test},
        {"examples, training + validation", put_examples},
    };
    put_verdict(p, out);
    dt_facts_put(p, facts, sizeof facts / sizeof *facts, out);
    if (p->n == 1)
        put_table(&p->run[0], out);
}

const dt_report_section dt_report_data = {"data", "Data", put};
