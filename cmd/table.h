/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: aligned with blanks, or in Markdown. The first row is the head. The first
 * column is aligned left; the other columns, which are mostly numbers, are aligned right. */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include "base/str.h"
#include "dtrain.h"

struct table {
    int columns, n, room;
    char **cell; /* [n] texts of the cells, row by row; owned */
};

/* Adds a text as the next cell, with control characters escaped. Of a text of more than 40
 * characters, the first 40 and "..." are shown. */
void table_text(struct table *t, const char *text);
void table_printf(struct table *t, const char *format, ...) DT_FORMAT(2, 3);
/* Adds a number as the next cell, written by put_value. */
void table_value(struct table *t, double value);
/* Appends a text that is not in a table. With `markdown`, special characters are escaped. */
void put_plain(dt_str *to, const char *text, bool markdown);
/* Returns the number of characters of a line. */
int table_width(const struct table *t);
/* Appends all rows, and clears the table. */
void table_put(dt_str *to, struct table *t, bool markdown);

#endif
