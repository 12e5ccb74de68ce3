/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, with the flag `comma` as the only state, and reads it (json_load.h). */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_load.h"

static void put_quoted(const dt_json *j, const char *text) {
    dt_str *out = j->out;
    dt_str_putc(out, '"');
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        uint32_t code;
        length = dt_utf8_next(text, n, &code);
        if (length == 0) { /* The byte is not UTF-8, which JSON requires. */
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

/* Returns the text of a number that is not written by its digits: null if it is not finite, and a
 * decimal for -0, because some readers take -0 for the integer 0 and lose its sign. Returns NULL
 * for all other numbers. */
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

/* Whether a member has a value other than 0 or NULL. */

static bool is_set(const dt_json_member *m, const void *at) {
    switch (m->kind) {
    case DT_JSON_INT: return *(const int *)at != 0;
    case DT_JSON_INT64:
    case DT_JSON_UINT64: return *(const uint64_t *)at != 0;
    case DT_JSON_DOUBLE: return *(const double *)at != 0;
    case DT_JSON_BOOL: return *(const bool *)at;
    case DT_JSON_TEXT:
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: return *(const void *const *)at != NULL;
    }
    return true;
}

static double rounded(const dt_json_member *m, double x) {
    return m->ticks > 0 ? round(x * m->ticks) / m->per : x;
}

static void put_quoted_number(dt_json *j, const char *key, uint64_t x) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, x);
    dt_json_string(j, key, text);
}

static void put_list(dt_json *j, const dt_json_member *m, const void *of) {
    const void *v = *(const void *const *)((const char *)of + m->offset);
    const int n = *(const int *)((const char *)of + m->count);
    dt_json_open(j, m->key, '[');
    for (int i = 0; i < n; i++)
        if (m->kind == DT_JSON_INT64S) dt_json_int(j, NULL, ((const int64_t *)v)[i]);
        else dt_json_double(j, NULL, ((const double *)v)[i]);
    dt_json_close(j, ']');
}

static void put(dt_json *j, const dt_json_member *m, const void *of) {
    const void *at = (const char *)of + m->offset;
    switch (m->kind) {
    case DT_JSON_INT: dt_json_int(j, m->key, *(const int *)at); break;
    case DT_JSON_INT64: dt_json_int(j, m->key, *(const int64_t *)at); break;
    case DT_JSON_UINT64:
        (m->quoted ? put_quoted_number : dt_json_unsigned)(j, m->key, *(const uint64_t *)at);
        break;
    case DT_JSON_DOUBLE: dt_json_double(j, m->key, rounded(m, *(const double *)at)); break;
    case DT_JSON_BOOL: dt_json_bool(j, m->key, *(const bool *)at); break;
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: put_list(j, m, of); break;
    case DT_JSON_TEXT: dt_json_string(j, m->key, *(const char *const *)at); break;
    }
}

void dt_json_members(dt_json *j, const dt_json_member *table, const void *of) {
    for (const dt_json_member *m = table; m->key || m->put; m++) {
        if (m->put) m->put(j, of);
        else if (!m->if_set || is_set(m, (const char *)of + m->offset)) put(j, m, of);
    }
}

/* Implements json_load.h. jansson's allocation functions are set once for the whole program, unless
 * the program has set its own. */

/* jansson must not see a failed allocation: it would report that the text is not JSON, or abort. */
static void *allocate(size_t n) {
    void *p = malloc(n);
    return p || n == 0 ? p : dt_alloc(n);
}

static void set_functions(void) {
    json_malloc_t from;
    json_free_t to;
    json_get_alloc_funcs(&from, &to);
    if (from == malloc && to == free) json_set_alloc_funcs(allocate, free);
}

json_t *dt_json_load(const char *text, size_t n, size_t flags, json_error_t *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_functions);
    return json_loadb(text, n, flags, error);
}
