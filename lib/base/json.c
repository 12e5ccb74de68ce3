/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON. The only state is the flag `comma`. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_quoted(const dt_json *j, const char *text) {
    dt_str *out = j->out;
    dt_str_putc(out, '"');
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        uint32_t code;
        length = dt_utf8_next(text, n, &code);
        if (length == 0) { /* not UTF-8, which JSON requires */
            dt_str_puts(out, "\\ufffd");
            length = 1;
        } else if (code == '"' || code == '\\') {
            dt_str_printf(out, "\\%c", (int)code);
        } else if (code > 0xffff && dt_is_unseen(code) && !j->yaml) {
            dt_str_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                          0xdc00 + (code & 0x3ff));
        } else if (code <= 0xffff && dt_is_unseen(code)) {
            dt_str_printf(out, "\\u%04" PRIx32, code);
        } else {
            dt_str_add(out, text, length);
        }
    }
    dt_str_putc(out, '"');
}

static void begin(dt_json *j, const char *key) {
    if (j->comma) dt_str_puts(j->out, j->compact ? "," : ", ");
    j->comma = true;
    if (!key) return;
    put_quoted(j, key);
    dt_str_puts(j->out, j->compact ? ":" : ": ");
}

void dt_json_open(dt_json *j, const char *key, char bracket) {
    begin(j, key);
    dt_str_putc(j->out, bracket);
    j->comma = false;
}

void dt_json_close(dt_json *j, char bracket) {
    dt_str_putc(j->out, bracket);
    j->comma = true;
}

void dt_json_string(dt_json *j, const char *key, const char *value) {
    begin(j, key);
    if (value) put_quoted(j, value);
    else dt_str_puts(j->out, "null");
}

void dt_json_int(dt_json *j, const char *key, int64_t value) {
    begin(j, key);
    dt_str_printf(j->out, "%" PRId64, value);
}

void dt_json_unsigned(dt_json *j, const char *key, uint64_t value) {
    begin(j, key);
    dt_str_printf(j->out, "%" PRIu64, value);
}

/* Writes x with the fewest digits that read back as x, as 1e+05 where an exponent saves digits. */
static void put_fewest(dt_str *out, double x) {
    double back = (double)NAN;
    const size_t from = out->size;
    for (int digits = 1; back != x && digits <= 17; digits++) {
        out->size = from;
        dt_str_printf(out, "%.*g", digits, x);
        dt_parse_double(out->data + from, &back);
    }
}

/* Some readers take -0 for the integer 0 and lose its sign, so a zero is written as a decimal. */
static const char *other_than_digits(double value) {
    if (!isfinite(value)) return "null";
    return value == 0 && signbit(value) ? "-0.0" : NULL;
}

void dt_json_double(dt_json *j, const char *key, double value) {
    begin(j, key);
    if (other_than_digits(value)) dt_str_puts(j->out, other_than_digits(value));
    else if (j->compact) put_fewest(j->out, value);
    else dt_str_double(j->out, value);
}

void dt_json_float(dt_json *j, const char *key, float value) {
    begin(j, key);
    if (other_than_digits((double)value)) dt_str_puts(j->out, other_than_digits((double)value));
    else dt_str_float(j->out, value);
}

void dt_json_bool(dt_json *j, const char *key, bool value) {
    begin(j, key);
    dt_str_puts(j->out, value ? "true" : "false");
}

void dt_json_null(dt_json *j, const char *key) {
    begin(j, key);
    dt_str_puts(j->out, "null");
}

void dt_json_raw(dt_json *j, const char *key, const char *json) {
    begin(j, key);
    dt_str_puts(j->out, json);
}

void dt_json_strings(dt_json *j, const char *key, const char *const *v, int n) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < n; i++) dt_json_string(j, NULL, v[i]);
    dt_json_close(j, ']');
}

void dt_json_ints(dt_json *j, const char *key, const int64_t *v, int n) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < n; i++) dt_json_int(j, NULL, v[i]);
    dt_json_close(j, ']');
}

void dt_json_doubles(dt_json *j, const char *key, const double *v, int n) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < n; i++) dt_json_double(j, NULL, v[i]);
    dt_json_close(j, ']');
}
