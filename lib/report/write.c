/* SPDX-License-Identifier: Apache-2.0 */
/* `dtrain report` as a C function: reads the runs and writes the page. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "dtrain.h"
#include "report/report.h"

/* ---- the page ---- */

/* The style and the script of the page, which the build turns into C texts. The parts of the script
 * are concatenated in this order; each uses only those before it. */
static const char *const style[] = {
#include "report/page.css.inc"
};
static const char *const script[] = {
#include "report/elements.js.inc"
#include "report/charts.js.inc"
#include "report/summary.js.inc"
#include "report/evaluation.js.inc"
#include "report/page.js.inc"
};

static void put_lines(const char *const *line, size_t n, dt_str *out) {
    for (size_t i = 0; i < n; i++) dt_str_puts(out, line[i]);
}

/* Escapes text for HTML. Labels and names of metrics are the only texts of a run outside the
 * JSON. */
static void put_text(dt_str *out, const char *text) {
    dt_local_str plain = {0};
    dt_str_escaped(&plain, text, strlen(text), SIZE_MAX);
    for (const char *c = dt_str_text(&plain); *c; c++) {
        if (strchr("&<>\"'", *c)) dt_str_printf(out, "&#%d;", *c);
        else dt_str_putc(out, *c);
    }
}

/* Writes the policy by which a browser loads nothing from elsewhere for the page, and runs only the
 * script with this hash. */
static void put_policy(const dt_str *code, dt_str *out) {
    unsigned char hash[EVP_MAX_MD_SIZE], text[2 * EVP_MAX_MD_SIZE];
    unsigned n = 0;
    dt_str_puts(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:");
    if (EVP_Digest(code->data, code->size, hash, &n, EVP_sha256(), NULL) == 1 &&
        EVP_EncodeBlock(text, hash, (int)n) > 0)
        dt_str_printf(out, "; script-src 'sha256-%s'", (const char *)text);
    dt_str_puts(out, "\">\n");
}

static void put_head(const dt_report_run *run, int n, const dt_str *code, dt_str *out) {
    dt_str_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(code, out);
    dt_str_puts(out,
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
                "name=\"generator\" content=\"dtrain " DTRAIN_VERSION_STRING "\">\n<title>");
    for (int i = 0; i < n && i < 3; i++) {
        dt_str_puts(out, i ? ", " : "");
        put_text(out, run[i].label);
    }
    if (n > 3) dt_str_printf(out, " and %d more", n - 3);
    dt_str_puts(out, "</title>\n<style>\n");
    put_lines(style, sizeof style / sizeof *style, out);
    dt_str_puts(out, "</style>\n</head>\n<body>\n");
}

/* Writes the outcome and the metrics of each run, for browsers without scripts. */
static void put_plain(const dt_report_run *run, int n, dt_str *out) {
    dt_str_puts(out, "<noscript><section><h2>Metrics</h2><p class=\"note\">The rest of this page "
                     "is drawn by a script, which is turned off here.</p>\n");
    for (int i = 0; i < n; i++) {
        dt_str_puts(out, "<div class=\"scroll\"><table><caption>");
        put_text(out, run[i].label);
        dt_str_printf(out,
                      ": "
                      "%s</caption><thead><tr><th>metric</th><th>last</th><th>best</th><th>epoch</"
                      "th></tr></thead><tbody>\n",
                      dt_report_outcome(&run[i]).word);
        for (int k = 0; k < run[i].by_epoch.n; k++) {
            const dt_series *s = &run[i].by_epoch.v[k];
            if (s->n == 0) continue;
            const dt_figure f = dt_report_figure(&run[i], s);
            dt_str_puts(out, "<tr><th scope=\"row\">");
            put_text(out, s->name);
            dt_str_printf(out, "</th><td>%.6g</td>", f.last);
            if (f.has_best)
                dt_str_printf(out, "<td>%.6g</td><td>%lld</td></tr>\n", f.best, (long long)f.epoch);
            else dt_str_puts(out, "<td></td><td></td></tr>\n");
        }
        dt_str_puts(out, "</tbody></table></div>\n");
    }
    dt_str_puts(out, "</section></noscript>\n");
}

/* Writes the JSON into the page. "<" is escaped, so that an HTML parser finds no end of the script
 * and no comment in it. In JSON it occurs only within texts. */
static void put_data(const dt_run_report_request *q, const dt_report_run *run, dt_str *out) {
    const int n = q->n_runs;
    dt_local_str text = {0};
    dt_json j = {.out = &text};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "dtrain", DTRAIN_VERSION_STRING);
    dt_json_string(&j, "metric", q->metric);
    dt_json_int(&j, "better", q->better);
    dt_json_open(&j, "runs", '[');
    for (int i = 0; i < n; i++) dt_report_gather(&run[i], n == 1, &j);
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_puts(out, "<script type=\"application/json\" id=\"data\">");
    const char *at = dt_str_text(&text);
    for (const char *found; (found = strchr(at, '<')); at = found + 1) {
        dt_str_add(out, at, (size_t)(found - at));
        dt_str_puts(out, "\\u003c");
    }
    dt_str_puts(out, at);
    dt_str_puts(out, "</script>\n");
}

static void put_page(const dt_run_report_request *q, const dt_report_run *run, dt_str *out) {
    const int n = q->n_runs;
    dt_local_str code = {0};
    put_lines(script, sizeof script / sizeof *script, &code);
    put_head(run, n, &code, out);
    put_plain(run, n, out);
    put_data(q, run, out);
    dt_str_puts(out, "<script>");
    dt_str_add(out, code.data, code.size);
    dt_str_puts(out, "</script>\n</body>\n</html>\n");
}

/* ---- runs ---- */

enum { PAGE_POINTS = 20000, CURVE_POINTS = 1000 };

/* Returns the number of bytes of the directories, with their '/', that the paths of all runs begin
 * with. The first path has at least one more byte. */
static size_t shared(const dt_report_run *all, int n) {
    size_t end = 0;
    for (size_t i = 0; all[0].path[i]; i++) {
        for (int k = 1; k < n; k++)
            if (all[k].path[i] != all[0].path[i]) return end;
        end = all[0].path[i] == '/' && all[0].path[i + 1] ? i + 1 : end;
    }
    return end;
}

/* If two of the n runs have the same label, labels all runs with their paths instead, without the
 * directories that all of them share. */
static void distinguish_runs(dt_report_run *all, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(all[i].label, all[k].label) == 0) {
                const size_t same = shared(all, n);
                for (int m = 0; m < n; m++)
                    all[m].label = all[m].path[same] ? all[m].path + same : all[m].path;
                return;
            }
}

/* ---- curves that share a chart, and the report ---- */

static int64_t points_of(const dt_series_list *l) {
    int64_t n = 0;
    for (int i = 0; i < l->n; i++) n += l->v[i].n < CURVE_POINTS ? l->v[i].n : CURVE_POINTS;
    return n;
}

static dt_series_list *list_of(dt_report_run *r, bool by_step) {
    return by_step ? &r->by_step : &r->by_epoch;
}

/* Reduces the curves of one chart together: those of a metric for all runs, in training and
 * validation. */
static void thin_chart(dt_report_run *run, int n, bool by_step, const char *metric, int most) {
    DT_LOCAL dt_series **curve = dt_alloc((size_t)n * 2 * sizeof *curve);
    int k = 0;
    for (int i = 0; i < n; i++) {
        dt_series_list *l = list_of(&run[i], by_step);
        for (int m = 0; m < l->n; m++)
            if (strcmp(dt_report_base(l->v[m].name), metric) == 0 && k < 2 * n && l->v[m].n > 0 &&
                l->v[m].of == 0)
                curve[k++] = &l->v[m];
    }
    dt_thin(curve, k, most);
}

static void thin_all(dt_report_run *run, int n) {
    int64_t all = 0;
    for (int i = 0; i < n; i++) all += points_of(&run[i].by_epoch) + points_of(&run[i].by_step);
    const int most =
        all > PAGE_POINTS ? (int)((int64_t)CURVE_POINTS * PAGE_POINTS / all) : CURVE_POINTS;
    for (int i = 0; i < n; i++)
        dt_thin_band(dt_series_of(&run[i].by_step, "loss_min"),
                     dt_series_of(&run[i].by_step, "loss_max"), most);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            dt_series_list *l = list_of(&run[i], pass);
            for (int k = 0; k < l->n; k++)
                thin_chart(run, n, pass, dt_report_base(l->v[k].name), most);
        }
}

static dt_status *read_runs(const dt_run_report_request *q, dt_report_run *run, int *n) {
    for (; *n < q->n_runs; ++*n) DT_TRY(dt_report_run_read(&run[*n], q->runs[*n]));
    return NULL;
}

/* Fails if no run has the metric that the caller asks for, whose name may be misspelt. A metric
 * whose direction the caller gives is not checked. */
static dt_status *check_metric(const dt_run_report_request *q, const dt_report_run *run) {
    if (!q->metric || q->better != 0) return NULL;
    for (int i = 0; i < q->n_runs; i++)
        if (dt_series_find(&run[i].by_epoch, q->metric)) return NULL;
    const dt_series_list *first = &run[0].by_epoch;
    DT_LOCAL const char **name = dt_alloc((size_t)(first->n + 1) * sizeof *name);
    for (int i = 0; i < first->n; i++) name[i] = first->v[i].name;
    return dt_suggest_nearest(
        dt_fail(DT_E_EXPECT_METRIC, NULL, "--metric: no run has the metric '%.80s'", q->metric),
        q->metric, name, first->n);
}

static dt_status *make(const dt_run_report_request *q, dt_str *out) {
    DT_LOCAL dt_report_run *run = dt_alloc((size_t)q->n_runs * sizeof *run);
    int n = 0;
    dt_status *s = read_runs(q, run, &n);
    if (!s) s = check_metric(q, run);
    if (!s) {
        distinguish_runs(run, n);
        thin_all(run, n);
        put_page(q, run, out);
    }
    for (int i = 0; i < n; i++) dt_report_run_release(&run[i]);
    return s;
}

/* Refuses a folder as output: a page is a file, and the user may mean a file in the folder. */
static dt_status *check_output(const char *path) {
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return NULL;
    DT_LOCAL char *file = dt_path_join(path, "report.html");
    dt_status *s = dt_fail(DT_E_CANT_CREATE, NULL, "%s: is a directory", path);
    return dt_note(s, "the page is one file, such as %s", file);
}

DT_API dt_status *dt_run_report(const dt_run_report_request *request, char **text) {
    dt_str out = {0};
    DT_REQUIRE({request, "request"}, {text, "place for the text"});
    if (request->n_runs < 1 || !request->runs)
        return dt_fail(DT_E_MISUSE, NULL, "dt_run_report got no run");
    DT_TRY(dt_want_texts(request->runs, request->n_runs, "dt_run_report", "run"));
    DT_TRY(check_output(request->output));
    dt_status *s = make(request, &out);
    char *path = request->output ? dt_strdup(request->output)
                                 : dt_path_join(request->runs[0], "report.html");
    bool to_text = strcmp(path, "-") == 0;
    if (!s && !to_text)
        s = (request->output ? dt_file_output : dt_file_commit)(path, dt_str_text(&out), out.size);
    if (s || !to_text) dt_str_release(&out);
    if (!s) *text = to_text ? dt_str_take(&out) : path;
    if (s || to_text) free(path);
    return s;
}
