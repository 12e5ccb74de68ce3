/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV with a header: logits_0, logits_1, ... for the values of output `logits`; of the largest only, logits_class_0, logits_score_0, ... What is not
 * finite is nan or inf.
 */
#include <math.h>

#include "format/rows/rows.h"

/* A name with a delimiter or a quote in it is quoted. */
static void put_name(dt_str *out, const char *name, const char *part, int64_t i)
{
    dt_str_putc(out, '"');
    for (const char *p = name; *p; p++) {
        if (*p == '"')
            dt_str_putc(out, '"');
        dt_str_putc(out, *p);
    }
    dt_str_printf(out, "%s_%lld\"", part, (long long)i);
}

static void put_column(dt_str *out, const char *name, const char *part, int64_t i)
{
    bool plain = true;
    for (const char *p = name; *p; p++)
        plain = plain && *p != ',' && *p != '"' && *p != '\n' && *p != '\r';
    if (out->size > 0)
        dt_str_putc(out, ',');
    if (plain)
        dt_str_printf(out, "%s%s_%lld", name, part, (long long)i);
    else
        put_name(out, name, part, i);
}

static int64_t ranked(const dt_row_writer *w, const dt_predicted_rows *p, int o)
{
    int64_t n = dt_row_values(p, o);
    return w->options.top < n ? w->options.top : n;
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    for (int o = 0; o < p->n_outputs; o++) {
        for (int64_t i = 0; w->options.top > 0 && i < ranked(w, p, o); i++) {
            put_column(&w->text, p->names[o], "_class", i);
            put_column(&w->text, p->names[o], "_score", i);
        }
        for (int64_t i = 0; w->options.top == 0 && i < dt_row_values(p, o); i++)
            put_column(&w->text, p->names[o], "", i);
    }
    dt_str_putc(&w->text, '\n');
    return NULL;
}

static void put_value(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, int64_t i)
{
    double x = dt_row_value(p, o, row, i);
    dt_row_print(p, o, row, i, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf", &w->text);
}

static void put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row)
{
    const char *gap = "";
    for (int o = 0; o < p->n_outputs; o++) {
        int n = w->options.top > 0 ? dt_row_rank(w, p, o, row) : 0;
        for (int i = 0; i < n; i++, gap = ",") {
            dt_str_printf(&w->text, "%s%lld,", gap, (long long)w->ranked[i].index);
            put_value(w, p, o, row, w->ranked[i].index);
        }
        for (int64_t i = 0; w->options.top == 0 && i < dt_row_values(p, o); i++, gap = ",") {
            dt_str_puts(&w->text, gap);
            put_value(w, p, o, row, i);
        }
    }
    dt_str_putc(&w->text, '\n');
}

const dt_row_kind dt_row_csv = {.name = "csv", .suffix = ".csv", .begin = begin, .row = put_row};
