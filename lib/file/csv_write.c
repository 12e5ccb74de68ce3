/* SPDX-License-Identifier: Apache-2.0 */
/* Writes CSV: a column for each value of a row, numbers with the fewest digits that read back as
 * the same value, and quotes where they are needed. */
#include <stdio.h>
#include <string.h>

#include "file/cast.h"
#include "file/csv.h"
#include "file/file.h"

void dt_csv_put(dt_str *out, const char *text, char delimiter, bool quotes_empty) {
    const char special[] = {delimiter, '"', '\r', '\n', '\0'};
    const bool quoted = *text ? text[strcspn(text, special)] != '\0' : quotes_empty;
    dt_str_puts(out, quoted ? "\"" : "");
    for (; *text; text++) {
        if (*text == '"') dt_str_putc(out, '"');
        dt_str_putc(out, *text);
    }
    dt_str_puts(out, quoted ? "\"" : "");
}

/* Writes a text. An empty text is quoted: alone in a line it would make an empty line, which
 * readers skip. In plain output, empty texts are not quoted, and control characters are escaped. */
static void put_text(dt_output *o, const char *text) {
    dt_local_str clean = {0};
    if (o->plain) {
        dt_str_escaped(&clean, text, strlen(text), SIZE_MAX);
        text = dt_str_text(&clean);
    }
    dt_csv_put(&o->text, text, o->delimiter, !o->plain);
}

static void put_number(dt_output *o, dt_dtype d, const char *p) {
    char text[64];
    dt_local_str number = {0};
    double real;
    int64_t integer;
    if (!dt_dtype_is_float(d)) {
        dt_cast(d, DT_INT64, p, &integer, 1);
        snprintf(text, sizeof text, "%lld", (long long)integer);
        dt_csv_put(&o->text, text, o->delimiter, true);
        return;
    }
    dt_cast(d, DT_FLOAT64, p, &real, 1);
    if (d == DT_FLOAT32) dt_str_float(&number, (float)real);
    else dt_str_double(&number, real);
    dt_csv_put(&o->text, dt_str_text(&number), o->delimiter, true);
}

/* Returns the word for an index; "", as for a missing value, if no word has it. */
static const char *word_of(const dt_texts *vocabulary, dt_dtype d, const char *p) {
    int64_t place;
    dt_cast(d, DT_INT64, p, &place, 1);
    return place >= 0 && place < vocabulary->n ? vocabulary->v[place] : "";
}

dt_status *dt_csv_write_row(dt_output *o, const void *const *row) {
    const char gap[] = {o->delimiter, '\0'};
    for (int i = 0; i < o->n; i++) {
        const dt_element_spec *c = &o->column[i];
        const int64_t n = c->text ? 1 : dt_type_elements(&c->type);
        const int64_t size = (int64_t)dt_dtype_size(c->type.dtype);
        for (int64_t k = 0; k < n; k++) {
            dt_str_puts(&o->text, i || k ? gap : "");
            if (!row[i]) continue;
            const char *p = (const char *)row[i] + k * size;
            if (c->text) put_text(o, p);
            else if (c->names.n > 0)
                put_text(o, word_of(c->vocabulary.n == c->names.n ? &c->vocabulary : &c->names,
                                    c->type.dtype, p));
            else put_number(o, c->type.dtype, p);
        }
    }
    dt_str_puts(&o->text, o->plain ? "\n" : "\r\n");
    return NULL;
}

dt_status *dt_csv_write_header(dt_output *o) {
    const char gap[] = {o->delimiter, '\0'};
    dt_local_str name = {0};
    for (int i = 0; i < o->n && !o->no_header; i++) {
        const dt_element_spec *c = &o->column[i];
        const bool several = c->type.rank > 0 && !c->text;
        for (int64_t k = 0; k < (several ? dt_type_elements(&c->type) : 1); k++) {
            dt_str_clear(&name);
            dt_str_puts(&name, c->name);
            if (several) dt_str_printf(&name, "_%lld", (long long)k);
            dt_str_puts(&o->text, i || k ? gap : "");
            put_text(o, dt_str_text(&name));
        }
    }
    if (!o->no_header) dt_str_puts(&o->text, o->plain ? "\n" : "\r\n");
    return NULL;
}
