/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed of predictions: a table per kind, one line per kind below, and the rows that
 * could not be planned.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "device.h"
#include "rows.h"

enum { ID_COLUMN = 42, NUMBER_COLUMN = 16, KIND_COLUMN = 32 };

static bool is_kind(const dt_row *row, const char *kind) { return strcmp(row->kind, kind) == 0; }

static void put_number(dt_str *out, double value) {
    size_t from = out->size;
    dt_str_printf(out, "%.6g", value);
    dt_str_pad(out, from, NUMBER_COLUMN);
}

static void put_row(const dt_row *row, dt_str *out) {
    size_t from = out->size;
    dt_str_puts(out, "  ");
    dt_str_escaped(out, row->id, strlen(row->id), ID_COLUMN - 3);
    dt_str_pad(out, from, ID_COLUMN);
    put_number(out, row->prediction.value);
    put_number(out, row->published);
    dt_str_printf(out, "%+7.1f %%  ", 100 * (row->prediction.value / row->published - 1));
    dt_str_escaped(out, row->unit, strlen(row->unit), 20);
    dt_str_putc(out, '\n');
}

static void put_table(const dt_rows *rows, const dt_row_kind *kind, dt_str *out) {
    int n = 0;
    for (int i = 0; i < rows->n; i++) {
        const dt_row *row = &rows->row[i];
        if (!is_kind(row, kind->name) || row->prediction.missing) continue;
        if (n++ == 0) {
            size_t from = out->size;
            dt_str_printf(out, "%s: %s\n", kind->name, kind->about);
            from = out->size;
            dt_str_puts(out, "  row");
            dt_str_pad(out, from, ID_COLUMN);
            dt_str_puts(out, "predicted       published         error  unit\n");
        }
        put_row(row, out);
    }
    if (n) dt_str_putc(out, '\n');
}

/* ---- one line per kind ---- */

typedef struct tally {
    int rows, missing; /* missing: those of the kind that could not be planned */
    double median;
    const dt_row *worst;
} tally;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static tally count(const dt_rows *rows, const char *kind) {
    tally t = {0};
    double *errors = dt_alloc((size_t)rows->n * sizeof *errors);
    for (int i = 0; i < rows->n; i++) {
        const dt_row *row = &rows->row[i];
        if (!is_kind(row, kind)) continue;
        t.missing += row->prediction.missing != NULL;
        if (row->prediction.missing) continue;
        errors[t.rows++] = dt_row_error(row);
        if (!t.worst || dt_row_error(row) > dt_row_error(t.worst)) t.worst = row;
    }
    t.median = median(errors, t.rows);
    free(errors);
    return t;
}

static void put_tally(const char *name, const tally *t, dt_str *out) {
    size_t from = out->size;
    dt_str_puts(out, name);
    dt_str_pad(out, from, KIND_COLUMN);
    dt_str_printf(out, "%6d   ", t->rows);
    if (t->rows)
        dt_str_printf(out, "%8.2f %% %8.2f %%", 100 * t->median, 100 * dt_row_error(t->worst));
    else dt_str_puts(out, "       -          -  ");
    dt_str_printf(out, " %8d", t->missing);
    if (t->rows) {
        dt_str_puts(out, "   ");
        dt_str_escaped(out, t->worst->id, strlen(t->worst->id), 60);
    }
    dt_str_putc(out, '\n');
}

static void put_summary(const dt_rows *rows, dt_str *out) {
    int n;
    const dt_row_kind *const *kinds = dt_row_kinds(&n);
    dt_str_puts(
        out, "kind                              rows     median      worst  missing   worst row\n");
    for (int i = 0; i < n; i++) {
        const tally t = count(rows, kinds[i]->name);
        if (t.rows || t.missing) put_tally(kinds[i]->name, &t, out);
    }
}

static void put_missing(const dt_rows *rows, dt_str *out) {
    int n = 0;
    for (int i = 0; i < rows->n; i++) {
        const dt_row *row = &rows->row[i];
        if (!row->prediction.missing) continue;
        dt_str_puts(out, n++ == 0 ? "\nnot sufficient to be planned\n" : "");
        size_t from = out->size;
        dt_str_puts(out, "  ");
        dt_str_escaped(out, row->id, strlen(row->id), ID_COLUMN - 3);
        dt_str_pad(out, from, ID_COLUMN);
        dt_str_escaped(out, row->prediction.missing, strlen(row->prediction.missing), 200);
        dt_str_putc(out, '\n');
    }
}

void dt_rows_report(const dt_rows *rows, dt_str *out) {
    int n;
    const dt_row_kind *const *kinds = dt_row_kinds(&n);
    for (int i = 0; i < n; i++) put_table(rows, kinds[i], out);
    put_summary(rows, out);
    put_missing(rows, out);
}

/* The generation that a row's configuration names; NULL: none. */
static const char *chip_of(const dt_row *row) {
    static const char *const keys[] = {"gen", "chip", "accelerator", "slice", "topology"};
    const dt_chip *chip = NULL;
    for (size_t i = 0; !chip && i < sizeof keys / sizeof *keys; i++)
        chip = dt_placement_read(dt_row_text(row, keys[i])).chip;
    return chip ? chip->generation : NULL;
}

void dt_rows_json(const dt_rows *rows, dt_str *out) {
    for (int i = 0; i < rows->n; i++) {
        const dt_row *row = &rows->row[i];
        const dt_prediction *p = &row->prediction;
        dt_json j = {.out = out};
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, "id", row->id);
        dt_json_double(&j, "predicted", p->missing ? NAN : p->value);
        dt_json_double(&j, "published", row->published);
        dt_json_double(&j, "error", p->missing ? NAN : dt_row_error(row));
        dt_json_string(&j, "kind", row->kind);
        dt_json_string(&j, "chip", chip_of(row));
        if (p->family) dt_json_string(&j, "family", p->family);
        dt_json_string(&j, p->missing ? "missing" : "by", p->missing ? p->missing : "model");
        dt_json_close(&j, '}');
        dt_str_putc(out, '\n');
    }
}
