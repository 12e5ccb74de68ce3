/* SPDX-License-Identifier: Apache-2.0 */
/* The page around the JSON. Style and script are page.css and page.js, which the build turns into
 * lines of C. */
#include <openssl/evp.h>
#include <string.h>

#include "dtrain.h"
#include "report/report.h"

static const char *const style[] = {
#include "report/page.css.inc"
};
static const char *const script[] = {
#include "report/page.js.inc"
};

static void put_lines(const char *const *line, size_t n, dt_str *out) {
    for (size_t i = 0; i < n; i++) dt_str_puts(out, line[i]);
}

/* Escapes text for HTML. Labels and names of metrics are the only texts of a run outside the
 * JSON. */
static void put_text(dt_str *out, const char *text) {
    dt_str plain = {0};
    dt_str_escaped(&plain, text, strlen(text), SIZE_MAX);
    for (const char *c = dt_str_text(&plain); *c; c++) {
        if (strchr("&<>\"'", *c)) dt_str_printf(out, "&#%d;", *c);
        else dt_str_putc(out, *c);
    }
    dt_str_release(&plain);
}

/* The page may load nothing, and may run only the script with this hash. */
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

/* Outcome and metrics of each run, for browsers without scripts. */
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

/* "<" is escaped, so that an HTML parser finds no end of the script and no comment. In JSON it
 * occurs only within texts. */
static void put_data(const dt_report_run *run, int n, dt_str *out) {
    dt_str text = {0};
    dt_json j = {.out = &text};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "dtrain", DTRAIN_VERSION_STRING);
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
    dt_str_release(&text);
}

void dt_report_page(const dt_report_run *run, int n, dt_str *out) {
    dt_str code = {0};
    put_lines(script, sizeof script / sizeof *script, &code);
    put_head(run, n, &code, out);
    put_plain(run, n, out);
    put_data(run, n, out);
    dt_str_puts(out, "<script>");
    dt_str_add(out, code.data, code.size);
    dt_str_puts(out, "</script>\n</body>\n</html>\n");
    dt_str_release(&code);
}
