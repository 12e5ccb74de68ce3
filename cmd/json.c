/* SPDX-License-Identifier: Apache-2.0 */
/* See json.h. */
#include "json.h"

#include <inttypes.h>
#include <math.h>

void json_open(struct json *j) {
    text_open(&j->text);
    fputc('{', j->text.to);
    j->comma = false;
}

void json_open_event(struct json *j, const char *event) {
    json_open(j);
    json_integer(j, "v", 1);
    json_string(j, "event", event);
}

void json_print(struct json *j, struct out *out) {
    fputs("}\n", j->text.to);
    out_text(out, text_bytes(&j->text));
    text_close(&j->text);
}

/* A byte that is no UTF-8 becomes U+FFFD: JSON must be valid whatever a file is called. */
static void put_string(FILE *to, const char *text) {
    fputc('"', to);
    while (*text) {
        uint32_t code = 0;
        size_t n = text_next(text, &code);
        if (n == 0) fputs("\\ufffd", to);
        else if (code > 0xffff && dt_is_unseen(code))
            fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
                    (unsigned)(0xdc00 + (code & 0x3ff)));
        else if (dt_is_unseen(code)) fprintf(to, "\\u%04x", (unsigned)code);
        else fprintf(to, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)n, text);
        text += n ? n : 1;
    }
    fputc('"', to);
}

static FILE *put_key(struct json *j, const char *key) {
    FILE *to = j->text.to;
    if (j->comma) fputc(',', to);
    j->comma = true;
    put_string(to, key);
    fputc(':', to);
    return to;
}

void json_string(struct json *j, const char *key, const char *value) {
    FILE *to = put_key(j, key);
    if (value) put_string(to, value);
    else fputs("null", to);
}

void json_integer(struct json *j, const char *key, int64_t value) {
    fprintf(put_key(j, key), "%" PRId64, value);
}

void json_unsigned(struct json *j, const char *key, uint64_t value) {
    fprintf(put_key(j, key), "%" PRIu64, value);
}

void json_number(struct json *j, const char *key, double value) {
    FILE *to = put_key(j, key);
    if (isfinite(value)) put_shortest(to, value);
    else fputs("null", to);
}

void json_integers(struct json *j, const char *key, const int64_t *value, int n) {
    FILE *to = put_key(j, key);
    fputc('[', to);
    for (int i = 0; i < n; i++) fprintf(to, "%s%" PRId64, i ? "," : "", value[i]);
    fputc(']', to);
}

void json_null(struct json *j, const char *key) { fputs("null", put_key(j, key)); }

static void put_position(struct json *j, const char *key, int value) {
    if (value) json_integer(j, key, value);
    else json_null(j, key);
}

void json_warning(struct json *j, const char *file, const char *message) {
    json_string(j, "file", file);
    json_null(j, "line");
    json_null(j, "column");
    json_null(j, "code");
    json_string(j, "severity", "warning");
    json_string(j, "message", message);
    json_null(j, "suggestion");
}

void json_error(struct json *j, const dt_status *s) {
    char code[16];
    snprintf(code, sizeof code, "DT%03d", dt_status_number(s));
    json_string(j, "file", dt_status_file(s));
    put_position(j, "line", dt_status_line(s));
    put_position(j, "column", dt_status_column(s));
    json_string(j, "code", code);
    json_string(j, "severity", "error");
    json_string(j, "message", dt_status_text(s));
    json_string(j, "suggestion", dt_status_suggestion(s));
}
