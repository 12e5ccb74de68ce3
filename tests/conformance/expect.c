/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing what came with what was recorded. */
#include "conformance.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

void expect_ok(verdict *v, const char *what, dt_status *s) {
    if (s) differs(v, "%s: %s: %s", what, dt_status_kind(s), dt_status_text(s));
    dt_status_free(s);
}

/* The number that begins at p, "3" or "3.0"; *end is behind it. */
static double number_at(const char *p, const char **end) {
    size_t n = strspn(p, "0123456789");
    size_t fraction = p[n] == '.' ? strspn(p + n + 1, "0123456789") : 0;

    *end = p + n + (fraction ? 1 + fraction : 0);
    return strtod(p, NULL);
}

static bool holds_number(const char *text, double number) {
    for (const char *p = text, *end; *p; p = end) {
        end = p + 1;
        if (isdigit((unsigned char)*p) && number_at(p, &end) == number) return true;
    }
    return false;
}

/* The facts of a message: its numbers. Those of device names and types ("int32", "CPU:0") stand for
 * other things, and so do addresses (0xADDR). */
static void expect_facts(verdict *v, const char *want, const char *got) {
    /* of the op that stumbled, and of all that it would have taken */
    const char *dump = strstr(want, "NodeDef:");

    for (const char *p = want, *end; *p && p != dump; p = end) {
        end = p + 1;
        if (!isdigit((unsigned char)*p)) continue;
        double number = number_at(p, &end);
        bool alone = p == want || !(isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == ':');
        if (alone && *end != 'x' && !holds_number(got, number))
            differs(v, "the message lacks %.*s: %s   recorded: %s", (int)(end - p), p, got, want);
    }
}

void expect_error_kind(verdict *v, dt_status *s, const char *kind) {
    const json_t *core = json_object_get(v->c->error, "core");
    const char *want = json_string_value(core ? core : json_object_get(v->c->error, "message"));

    if (!s) {
        differs(v, "no error; expected %s: %s", kind, want);
        return;
    }
    if (strcmp(dt_status_kind(s), kind) != 0)
        differs(v, "%s, expected %s: %s", dt_status_kind(s), kind, dt_status_text(s));
    char *text = dt_status_format(s);
    expect_facts(v, want, text);
    free(text);
    dt_status_free(s);
}

void expect_error(verdict *v, dt_status *s) {
    expect_error_kind(v, s, json_string_value(json_object_get(v->c->error, "type")));
}

void expect_error_of(verdict *v, dt_status *s, const char *kind, const int *numbers, int n) {
    if (!s) {
        differs(v, "no error; expected %s", kind);
        return;
    }
    if (strcmp(dt_status_kind(s), kind) != 0)
        differs(v, "%s, expected %s: %s", dt_status_kind(s), kind, dt_status_text(s));
    for (int i = 0; i < n; i++) {
        if (!holds_number(dt_status_text(s), abs(numbers[i])))
            differs(v, "the message lacks %d: %s", numbers[i], dt_status_text(s));
    }
    dt_status_free(s);
}

/* ---- numbers ---- */

double json_double(const json_t *j) {
    return json_is_string(j) ? strtod(json_string_value(j), NULL) : json_number_value(j);
}

static bool close_to(double want, double got, tolerance t) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    return want == got || fabs(want - got) <= t.absolute + t.relative * fabs(want);
}

void expect_double(verdict *v, const char *what, const json_t *want, double got, tolerance t) {
    if (!close_to(json_double(want), got, t))
        differs(v, "%s: %.9g, expected %.9g", what, got, json_double(want));
}

void expect_int(verdict *v, const char *what, const json_t *want, int64_t got) {
    if (!json_is_integer(want) || json_integer_value(want) != got)
        differs(v, "%s: %lld, expected %lld", what, (long long)got,
                (long long)json_integer_value(want));
}

void expect_text(verdict *v, const char *what, const json_t *want, const char *got) {
    if (!got || !json_is_string(want) || strcmp(json_string_value(want), got) != 0)
        differs(v, "%s: '%s', expected '%s'", what, got ? got : "nothing",
                json_is_string(want) ? json_string_value(want) : "(no text)");
}

/* ---- structures ---- */

static bool is_number(const json_t *j) {
    const char *s = json_string_value(j);
    return json_is_number(j) ||
           (s && (strcmp(s, "nan") == 0 || strcmp(s, "inf") == 0 || strcmp(s, "-inf") == 0));
}

static bool same(const json_t *want, const json_t *got, tolerance t) {
    const char *key;
    const json_t *value;

    if (is_number(want) && is_number(got)) return close_to(json_double(want), json_double(got), t);
    if (json_typeof(want) != json_typeof(got)) return false;
    if (json_is_array(want)) {
        bool ok = json_array_size(want) == json_array_size(got);
        for (size_t i = 0; ok && i < json_array_size(want); i++)
            ok = same(json_array_get(want, i), json_array_get(got, i), t);
        return ok;
    }
    if (!json_is_object(want)) return json_equal(want, got);
    if (json_object_size(want) != json_object_size(got)) return false;
    for (void *i = json_object_iter((json_t *)want); i;
         i = json_object_iter_next((json_t *)want, i)) {
        key = json_object_iter_key(i);
        value = json_object_get(got, key);
        if (!value || !same(json_object_iter_value(i), value, t)) return false;
    }
    return true;
}

void expect_json(verdict *v, const char *what, const json_t *want, json_t *got, tolerance t) {
    if (!got || !want || !same(want, got, t)) {
        char *a = json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY),
             *b = json_dumps(want, JSON_COMPACT | JSON_ENCODE_ANY);
        differs(v, "%s: %.1500s\n     expected %.1500s", what, a ? a : "nothing",
                b ? b : "nothing");
        free(a);
        free(b);
    }
    json_decref(got);
}
