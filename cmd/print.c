/* SPDX-License-Identifier: Apache-2.0 */
/* See print.h. */
#include "print.h"

#include <math.h>
#include <string.h>

void put_shown(dt_str *to, const char *text) { dt_str_escaped(to, text, strlen(text), SIZE_MAX); }

void put_shown_lines(dt_str *to, const char *text) {
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n\t");
        dt_str_escaped(to, text, n, SIZE_MAX);
        if (text[n]) dt_str_putc(to, text[n++]);
    }
}

void put_word(dt_str *to, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        dt_str_puts(to, word);
        return;
    }
    dt_str_putc(to, '\'');
    for (; *word; word++)
        if (*word == '\'') dt_str_puts(to, "'\\''");
        else dt_str_putc(to, *word);
    dt_str_putc(to, '\'');
}

void put_value(dt_str *to, double value) {
    double size = fabs(value);
    if (isnan(value)) dt_str_puts(to, "n/a");
    else if (isinf(value) || size == 0 || (size >= 0.001 && size < 100000))
        dt_str_printf(to, "%.4f", value);
    else dt_str_printf(to, "%.3e", value);
}

void put_time(dt_str *to, double seconds) {
    if (!(seconds >= 0 && seconds < 1e9)) {
        dt_str_puts(to, "-:--");
        return;
    }
    long all = lround(seconds), hours = all / 3600, minutes = all / 60 % 60;
    if (hours) dt_str_printf(to, "%ld:%02ld:%02ld", hours, minutes, all % 60);
    else dt_str_printf(to, "%ld:%02ld", minutes, all % 60);
}

/* ---- JSON Lines ---- */

void json_open(struct json *j) {
    *j = (struct json){.to = {.out = &j->line, .compact = true}};
    dt_json_open(&j->to, NULL, '{');
}

void json_open_event(struct json *j, const char *event) {
    json_open(j);
    dt_json_int(&j->to, "v", 1);
    dt_json_string(&j->to, "event", event);
}

void json_print(struct json *j, struct out *out) {
    dt_json_close(&j->to, '}');
    dt_str_putc(&j->line, '\n');
    out_text(out, dt_str_text(&j->line));
    dt_str_release(&j->line);
}

static void put_position(dt_json *j, const char *key, int value) {
    if (value) dt_json_int(j, key, value);
    else dt_json_null(j, key);
}

void json_warning(dt_json *j, const char *file, const char *message) {
    dt_json_string(j, "file", file);
    dt_json_null(j, "line");
    dt_json_null(j, "column");
    dt_json_null(j, "code");
    dt_json_string(j, "severity", "warning");
    dt_json_string(j, "message", message);
    dt_json_null(j, "suggestion");
}

void json_error(dt_json *j, const dt_status *s) {
    char code[16];
    snprintf(code, sizeof code, "DT%03d", dt_status_number(s));
    dt_json_string(j, "file", dt_status_file(s));
    put_position(j, "line", dt_status_line(s));
    put_position(j, "column", dt_status_column(s));
    dt_json_string(j, "code", code);
    dt_json_string(j, "severity", "error");
    dt_json_string(j, "message", dt_status_text(s));
    dt_json_string(j, "suggestion", dt_status_suggestion(s));
}
