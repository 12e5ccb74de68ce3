/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a CSV file, found by name in its header, or by number where there is none. */
#include <string.h>

#include "file/csv_words.h"

enum { DT_CSV_SHOWN = 256 };

dt_status *dt_csv_check_header(const dt_csv *c)
{
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(c->field[i].text, c->field[k].text) == 0 && c->field[i].size > 0) {
                dt_str name = {0};
                dt_str_escaped(&name, c->field[i].text, c->field[i].size, 60);
                dt_status *s = dt_csv_fail(c, c->field[i].line, c->field[i].col, "column '%s' appears twice", dt_str_text(&name));
                dt_str_release(&name);
                return s;
            }
    return NULL;
}

/* A whole line in one field: another character separates the columns. */
static char other_delimiter(const dt_csv *c)
{
    static const char likely[] = ";\t|,";
    for (const char *d = likely; c->n == 1 && *d; d++)
        if (strchr(c->field[0].text, *d))
            return *d;
    return '\0';
}

static bool has_number(const dt_csv *c)
{
    double number;
    for (int i = 0; i < c->n; i++)
        if (dt_parse_double(c->field[i].text, &number))
            return true;
    return false;
}

/* Suggests a column name; or, if the header does not look like a header, how to say so. */
static dt_status *suggest_column(dt_status *s, const dt_csv *c, const char *name)
{
    const char *names[DT_CSV_SHOWN];
    int n = 0;
    const char delimiter = other_delimiter(c);
    if (delimiter)
        return dt_suggest(s, "set dataset.field_delim: \"%s\"", delimiter == '\t' ? "\\t" : (const char[]){delimiter, '\0'});
    for (; n < c->n && n < DT_CSV_SHOWN; n++)
        names[n] = c->field[n].text;
    const char *nearest = dt_nearest(name, names, n);
    if (nearest)
        return dt_suggest(s, "did you mean '%.80s'?", nearest);
    return has_number(c) ? dt_suggest(s, "a file without a header line needs dataset.header: false, and numbers as columns, from 0") : s;
}

static dt_status *no_column(const dt_csv *c, const dt_csv_element *e, const char *name, bool header)
{
    dt_str has = {0};
    for (int i = 0; i < c->n && i < 16 && header; i++) {
        dt_str_puts(&has, i ? ", " : "");
        dt_str_escaped(&has, c->field[i].text, c->field[i].size, 60);
    }
    if (!header)
        dt_str_printf(&has, "0 to %d", c->n - 1);
    else if (c->n > 16)
        dt_str_puts(&has, ", ...");
    dt_status *s = dt_fail(DT_E_DATA_FILE, e->at, "%s: no column '%s'; columns: %s", c->path, name, dt_str_text(&has));
    dt_str_release(&has);
    return header ? suggest_column(s, c, name) : s;
}

static int find_column(const dt_csv *c, const char *name, bool header)
{
    int64_t number;
    int i = 0;
    if (!header)
        return dt_parse_int64(name, &number) && number < c->n ? (int)number : -1;
    while (i < c->n && strcmp(c->field[i].text, name) != 0)
        i++;
    return i < c->n ? i : -1;
}

dt_status *dt_csv_find_columns(const dt_csv *c, const dt_csv_element *e, bool header, int *to)
{
    dt_status *s = NULL;
    for (int i = 0; i < e->columns.n; i++) {
        to[i] = find_column(c, e->columns.v[i], header);
        if (to[i] < 0)
            dt_status_append(&s, no_column(c, e, e->columns.v[i], header));
    }
    return s;
}
