/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: aligned with blanks on terminals, or in Markdown. The first row is the head;
 * the first column is text, to the left, the others are numbers, to the right. */
#ifndef CMD_TABLE_H
#define CMD_TABLE_H

#include "base/str.h"
#include "dtrain.h"

struct table {
    int columns, n, room;
    char **cell; /* [n] row by row; owned */
};

/* Adds the next cell. Text is cut at 40 characters, and what a terminal must not see is escaped. */
void table_text(struct table *t, const char *text);
void table_printf(struct table *t, const char *format, ...) DT_FORMAT(2, 3);
void table_value(struct table *t, double value); /* adds the value as put_value writes it */
/* Appends text outside of a table; `markdown`: its special characters are escaped. */
void put_plain(dt_str *to, const char *text, bool markdown);
/* How many characters a line has. */
int table_width(const struct table *t);
/* Appends all rows, and clears the table. */
void table_put(dt_str *to, struct table *t, bool markdown);

#endif
