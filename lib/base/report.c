/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How errors look:
 *
 *     job.yaml:29:5: error: unknown key 'layesr' in model [DT001]
 *        29 |     layesr:
 *           |     ^^^^^^ did you mean 'layers'?
 *         in the model
 *
 * and the long texts of `dtrain explain`.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status_impl.h"
#include "base/str.h"

static void add_place(dt_str *out, const dt_status *s) {
    if (!s->file) {
        dt_str_puts(out, "dtrain");
        return;
    }
    dt_str_escaped(out, s->file, strlen(s->file), 4096);
    if (s->line) dt_str_printf(out, ":%d", s->line);
    if (s->col) dt_str_printf(out, ":%d", s->col);
}

static void add_excerpt(dt_str *out, const dt_status *s) {
    dt_str_printf(out, "%5d | %s\n", s->line, s->excerpt);
    if (s->carets)
        dt_str_printf(out, "      | %s%s%s\n", s->below, s->suggestion ? " " : "",
                      s->suggestion ? s->suggestion : "");
}

static void add_error(dt_str *out, const dt_status *s) {
    add_place(out, s);
    dt_str_printf(out, ": error: %s [DT%03d]\n", s->text, s->row->number);
    if (s->excerpt) add_excerpt(out, s);
    if (s->suggestion && !s->carets) dt_str_printf(out, "    %s\n", s->suggestion);
    for (int i = 0; i < s->notes_count; i++) dt_str_printf(out, "    %s\n", s->notes[i]);
}

DT_API char *dt_status_format(const dt_status *s) {
    DT_LIVE(s);
    dt_str out = {0};
    for (const dt_status *one = s; one; one = one->next) add_error(&out, one);
    if (dt_status_dropped(s)) dt_str_printf(&out, "and %d more\n", dt_status_dropped(s));
    int count = dt_status_count(s);
    if (count > 1)
        dt_str_printf(&out, "%d errors. For details, run 'dtrain explain DT%03d'.\n", count,
                      s->row->number);
    return dt_str_take(&out);
}

DT_API int dt_report(dt_status *s) {
    DT_LIVE(s);
    if (!s) return 0;
    int code = dt_status_code(s);
    DT_LOCAL char *text = dt_status_format(s);
    fputs(text, stderr);
    dt_status_free(s);
    return code;
}

/* Returns a section of docs/errors.md, which scripts/error-texts has made into C. */
DT_API const char *dt_explain(int number) {
    switch (number) {
#define DT_ERROR_TEXT(number, text)                                                                \
    case number:                                                                                   \
        return text;
#include "base/error_texts.inc"
#undef DT_ERROR_TEXT
    default: return NULL;
    }
}
