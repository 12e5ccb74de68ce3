/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV with a header: logits_0, logits_1, ... for the scores of output `logits`, logits_ring, ... where its classes have names; of the largest only,
 * logits_class_0, logits_score_0, ... Examples that are files have a first column `file`. What is not finite is nan or inf.
 */
#include <math.h>
#include <string.h>

#include "format/rows/rows.h"

/* Quoted where it must be; control characters, which a terminal would obey, as \xNN. */
static void put_text(dt_str *out, const char *text)
{
    dt_str clean = {0};
    dt_str_escaped(&clean, text, strlen(text), SIZE_MAX);
    const char *p = dt_str_text(&clean);
    const bool quoted = strpbrk(p, ",\"\n\r") != NULL;
    if (quoted)
        dt_str_putc(out, '"');
    for (; *p; p++) {
        if (*p == '"')
            dt_str_putc(out, '"');
        dt_str_putc(out, *p);
    }
    if (quoted)
        dt_str_putc(out, '"');
    dt_str_release(&clean);
}

/* part: "_class"; name: of the class, NULL: its number i. */
static void put_column(dt_str *out, const char *output, const char *part, const char *name, int64_t i)
{
    dt_str column = {0};
    dt_str_printf(&column, "%s%s_", output, part);
    if (name)
        dt_str_puts(&column, name);
    else
        dt_str_printf(&column, "%lld", (long long)i);
    if (out->size > 0)
        dt_str_putc(out, ',');
    put_text(out, dt_str_text(&column));
    dt_str_release(&column);
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    dt_str_puts(&w->text, p->files ? "file" : "");
    for (int o = 0; o < p->n_outputs; o++) {
        for (int64_t i = 0; i < dt_row_top(w, p, o); i++) {
            put_column(&w->text, p->names[o], "_class", NULL, i);
            put_column(&w->text, p->names[o], "_score", NULL, i);
        }
        for (int64_t i = 0; dt_row_top(w, p, o) == 0 && i < dt_row_scores(p, o); i++)
            put_column(&w->text, p->names[o], "", dt_row_class(p, o, i), i);
    }
    dt_str_putc(&w->text, '\n');
    return NULL;
}

static void put_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i)
{
    const double x = w->score[i];
    dt_row_print(w, p, o, i, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

static void put_class(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i)
{
    const char *name = dt_row_class(p, o, i);
    if (name)
        put_text(&w->text, name);
    else
        dt_str_printf(&w->text, "%lld", (long long)i);
}

static void put_largest(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, const char **gap)
{
    const int n = dt_row_rank(w, p, o, row);
    for (int i = 0; i < n; i++, *gap = ",") {
        dt_str_puts(&w->text, *gap);
        put_class(w, p, o, w->ranked[i].index);
        dt_str_putc(&w->text, ',');
        put_score(w, p, o, w->ranked[i].index);
    }
}

static void put_all(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, const char **gap)
{
    dt_row_score(w, p, o, row);
    for (int64_t i = 0; i < dt_row_scores(p, o); i++, *gap = ",") {
        dt_str_puts(&w->text, *gap);
        put_score(w, p, o, i);
    }
}

static void put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row)
{
    const char *gap = p->files ? "," : "";
    if (p->files)
        put_text(&w->text, p->files[row]);
    for (int o = 0; o < p->n_outputs; o++)
        (dt_row_top(w, p, o) > 0 ? put_largest : put_all)(w, p, o, row, &gap);
    dt_str_putc(&w->text, '\n');
}

const dt_row_kind dt_row_csv = {.name = "csv", .suffix = ".csv", .begin = begin, .row = put_row};
