/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what table.h declares. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

enum { MOST_COLUMNS = 64, MOST_CELL = 40, GAP = 2 };

static void add_cell(struct table *t, dt_str *cell) {
    DT_GROW(t->cell, t->room, t->n + 1);
    t->cell[t->n++] = dt_str_take(cell);
}

void table_text(struct table *t, const char *text) {
    dt_str cell = {0};
    dt_local_str shown = {0};
    put_shown(&shown, text);
    const char *all = dt_str_text(&shown);
    const size_t bytes = text_bytes_of(all, MOST_CELL);
    dt_str_add(&cell, all, bytes);
    if (all[bytes]) dt_str_puts(&cell, "...");
    add_cell(t, &cell);
}

void table_printf(struct table *t, const char *format, ...) {
    dt_str cell = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&cell, format, args);
    va_end(args);
    add_cell(t, &cell);
}

void table_value(struct table *t, double value) {
    dt_str cell = {0};
    put_value(&cell, value);
    add_cell(t, &cell);
}

static int width_of(const struct table *t, int column) {
    int most = 0;
    for (int i = column; i < t->n; i += t->columns) {
        const int n = text_columns(t->cell[i]);
        most = n > most ? n : most;
    }
    return most;
}

int table_width(const struct table *t) {
    int all = 0;
    for (int c = 0; c < t->columns; c++) all += width_of(t, c) + (c > 0 ? GAP : 0);
    return all;
}

static void put_blanks(dt_str *to, int n) {
    for (int i = 0; i < n; i++) dt_str_putc(to, ' ');
}

static void put_aligned(dt_str *to, const struct table *t) {
    int width[MOST_COLUMNS];
    for (int c = 0; c < t->columns; c++) width[c] = width_of(t, c);
    for (int i = 0; i < t->n; i++) {
        const int c = i % t->columns, blanks = width[c] - text_columns(t->cell[i]);
        if (c > 0) put_blanks(to, GAP + blanks);
        dt_str_puts(to, t->cell[i]);
        if (c == 0) put_blanks(to, t->columns > 1 ? blanks : 0);
        if (c == t->columns - 1) dt_str_putc(to, '\n');
    }
}

/* Writes a cell in Markdown. A bar would end the cell, and other signs would be read as formatting
 * or HTML, so they are escaped. */
static void put_cell(dt_str *to, const char *text) {
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>()#+!|&~$", *text) && *text) dt_str_putc(to, '\\');
        dt_str_putc(to, *text);
    }
}

void put_plain(dt_str *to, const char *text, bool markdown) {
    dt_local_str shown = {0};
    put_shown(&shown, text);
    if (markdown) put_cell(to, dt_str_text(&shown));
    else dt_str_puts(to, dt_str_text(&shown));
}

static void put_rule(dt_str *to, const struct table *t) {
    for (int c = 0; c < t->columns; c++) dt_str_puts(to, c ? " ---: |" : "| :--- |");
    dt_str_putc(to, '\n');
}

static void put_markdown(dt_str *to, const struct table *t) {
    for (int i = 0; i < t->n; i++) {
        const int c = i % t->columns;
        if (c == 0) dt_str_puts(to, "| ");
        put_cell(to, t->cell[i]);
        dt_str_puts(to, c == t->columns - 1 ? " |\n" : " | ");
        if (i == t->columns - 1) put_rule(to, t);
    }
}

void table_put(dt_str *to, struct table *t, bool markdown) {
    if (markdown) put_markdown(to, t);
    else put_aligned(to, t);
    for (int i = 0; i < t->n; i++) free(t->cell[i]);
    free(t->cell);
    *t = (struct table){0};
}
