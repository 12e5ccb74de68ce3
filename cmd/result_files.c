/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what result_files.h declares. */
#include "result_files.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "print.h"
#include "table.h"

enum { EXIT_NOT_MET = 80 };

/* ---- JSON ---- */

static void put_metrics(dt_str *to, const struct watch *w) {
    dt_json j = {.out = to};
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < w->n_last; i++) dt_json_double(&j, w->last[i].name, w->last[i].value);
    dt_json_close(&j, '}');
    dt_str_putc(to, '\n');
}

/* ---- Markdown ---- */

static void add_expectations(struct table *t, const struct watch *w, const struct expectations *e) {
    t->columns = 3;
    table_text(t, "expected");
    table_text(t, "got");
    table_text(t, "result");
    for (int i = 0; i < e->n; i++) {
        const struct expectation *x = &e->at[i];
        const double value = watch_value(w, x->name, x->bytes);
        dt_local_str text = {0};
        expect_put(&text, x);
        table_text(t, dt_str_text(&text));
        table_value(t, value);
        table_text(t, expect_holds(x, value) ? "met" : "not met");
    }
}

static void put_summary(dt_str *to, const struct watch *w, const struct expectations *e) {
    struct table metrics = {.columns = 2}, expected = {0};
    dt_str_puts(to, "## dtrain: ");
    put_plain(to, w->path, true);
    dt_str_puts(to, "\n\n");
    table_text(&metrics, "metric");
    table_text(&metrics, "value");
    for (int i = 0; i < w->n_last; i++) {
        table_text(&metrics, w->last[i].name);
        table_value(&metrics, w->last[i].value);
    }
    table_put(to, &metrics, true);
    if (e->n > 0) {
        dt_str_putc(to, '\n');
        add_expectations(&expected, w, e);
        table_put(to, &expected, true);
    }
    if (w->explained) dt_str_puts(to, w->explained);
}

/* ---- JUnit ---- */

/* Writes an attribute's value. XML cannot contain control characters, even escaped, so put_shown
 * has replaced them. */
static void put_attribute(dt_str *to, const char *text) {
    dt_local_str shown = {0};
    put_shown(&shown, text);
    for (const char *c = dt_str_text(&shown); *c; c++)
        if (*c == '<') dt_str_puts(to, "&lt;");
        else if (*c == '>') dt_str_puts(to, "&gt;");
        else if (*c == '&') dt_str_puts(to, "&amp;");
        else if (*c == '"') dt_str_puts(to, "&quot;");
        else dt_str_putc(to, *c);
}

static void put_case(dt_str *to, const struct watch *w, const struct expectation *x) {
    const double value = watch_value(w, x->name, x->bytes);
    dt_local_str name = {0};
    expect_put(&name, x);
    dt_str_puts(to, "  <testcase classname=\"");
    put_attribute(to, w->path);
    dt_str_puts(to, "\" name=\"");
    put_attribute(to, dt_str_text(&name));
    if (expect_holds(x, value)) {
        dt_str_puts(to, "\"/>\n");
        return;
    }
    dt_str_puts(to, "\">\n    <failure message=\"got ");
    if (isnan(value)) dt_str_puts(to, "no value");
    else dt_str_double(to, value);
    dt_str_puts(to, "\"/>\n  </testcase>\n");
}

static void put_junit(dt_str *to, const struct watch *w, const struct expectations *e) {
    int failed = 0;
    for (int i = 0; i < e->n; i++)
        failed += !expect_holds(&e->at[i], watch_value(w, e->at[i].name, e->at[i].bytes));
    dt_str_puts(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    put_attribute(to, w->path);
    dt_str_printf(to, "\" tests=\"%d\" failures=\"%d\">\n", e->n, failed);
    for (int i = 0; i < e->n; i++) put_case(to, w, &e->at[i]);
    dt_str_puts(to, "</testsuite>\n");
}

/* ---- files ---- */

static dt_status *write_file(const char *path, dt_str *text) {
    dt_status *s = dt_file_output(path, dt_str_text(text), strlen(dt_str_text(text)));
    dt_str_release(text);
    return s;
}

static dt_status *write_all(const struct result_files *f, const struct watch *w,
                            const struct expectations *e) {
    dt_str text = {0};
    if (f->metrics) {
        put_metrics(&text, w);
        DT_TRY(write_file(f->metrics, &text));
    }
    if (f->summary) {
        put_summary(&text, w, e);
        DT_TRY(write_file(f->summary, &text));
    }
    if (f->junit) {
        put_junit(&text, w, e);
        DT_TRY(write_file(f->junit, &text));
    }
    return NULL;
}

int result_files_write(const struct result_files *f, const struct watch *w,
                       const struct expectations *e, int code) {
    if (w->silent || (code != 0 && code != EXIT_NOT_MET)) return code;
    dt_status *s = write_all(f, w, e);
    return s ? watch_error(w, s) : code;
}
