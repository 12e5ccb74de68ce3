/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the objects of a tokenizer.json by tables of their keys. The whole file has been parsed
 * once before, so its brackets and its depth are known to be valid. */
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

enum { SHOWN = 60 };

dt_status *dt_tokenizer_fail(const dt_tokenizer_reader *r, const dt_json_cursor *at,
                             const char *format, ...) {
    DT_FORMATTED(text, format);
    return dt_json_fail(&r->place, at->at, "%s", dt_str_text(&text));
}

dt_status *dt_tokenizer_fault(const dt_tokenizer_reader *r, const dt_json_cursor *at) {
    return at->fault ? dt_tokenizer_fail(r, at, "not JSON: %s", at->fault) : NULL;
}

dt_status *dt_tokenizer_enter(dt_tokenizer_reader *r, dt_json_cursor *at, const char *what,
                              char open) {
    if (!at->at) return dt_fail(DT_E_DATA_FILE, NULL, "%s: '%s' is missing", r->place.path, what);
    if (dt_json_peek(at) != open)
        return dt_tokenizer_fail(r, at, "'%s' must be %s", what,
                                 open == '{' ? "an object" : "a list");
    dt_json_enter(at);
    return NULL;
}

/* Whether the JSON text from `at` to `end` is one of the values in `only`. */
static bool is_allowed(const char *only, const char *at, const char *end) {
    const size_t n = (size_t)(end - at);
    while (only) {
        const size_t size = strcspn(only, "|");
        if (size == n && memcmp(only, at, n) == 0) return true;
        only = only[size] ? only + size + 1 : NULL;
    }
    return false;
}

/* Stores the position of the value at the cursor for a key, and moves the cursor behind the
 * value. */
static dt_status *read_value(dt_tokenizer_reader *r, dt_json_cursor *at, const char *what,
                             const dt_tokenizer_key *key) {
    const bool is_null = dt_json_peek(at) == 'n';
    const dt_json_cursor value = *at;
    if (!dt_json_skip(at, 0)) return dt_tokenizer_fault(r, at);
    if (key->only && !is_allowed(key->only, value.at, at->at))
        return dt_tokenizer_fail(
            r, &value, "%s: '%s' is %.*s, which is not supported; only %s is", what, key->name,
            at->at - value.at > SHOWN ? SHOWN : (int)(at->at - value.at), value.at, key->only);
    if (key->value && key->value->at)
        return dt_tokenizer_fail(r, &value, "%s: '%s' is there twice", what, key->name);
    if (key->value && !is_null) *key->value = value;
    return NULL;
}

dt_status *dt_tokenizer_object(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                               const dt_tokenizer_key *keys) {
    bool first = true;
    for (const dt_tokenizer_key *k = keys; k->name; k++)
        if (k->value) *k->value = (dt_json_cursor){0};
    DT_TRY(dt_tokenizer_enter(r, &at, what, '{'));
    while (dt_json_more(&at, '}', &first)) {
        const dt_json_cursor begin = at;
        const dt_tokenizer_key *k = keys;
        if (!dt_json_read_key(&at, &r->text)) break;
        while (k->name && strcmp(k->name, dt_str_text(&r->text)) != 0) k++;
        if (!k->name)
            return dt_tokenizer_fail(r, &begin, "%s: '%.60s' is not supported", what,
                                     dt_str_text(&r->text));
        DT_TRY(read_value(r, &at, what, k));
    }
    return dt_tokenizer_fault(r, &at);
}

dt_status *dt_tokenizer_type(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             const char **out) {
    dt_json_cursor type = {0};
    bool first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, what, '{'));
    while (dt_json_more(&at, '}', &first) && dt_json_read_key(&at, &r->text)) {
        if (strcmp(dt_str_text(&r->text), "type") == 0) {
            dt_json_peek(&at);
            type = at;
            break;
        }
        if (!dt_json_skip(&at, 0)) break;
    }
    DT_TRY(dt_tokenizer_fault(r, &at));
    dt_local_str name = {0};
    dt_str_printf(&name, "%s.type", what);
    return dt_tokenizer_text(r, type, dt_str_text(&name), out);
}

dt_status *dt_tokenizer_text(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             const char **out) {
    if (!at.at) return dt_fail(DT_E_DATA_FILE, NULL, "%s: '%s' is missing", r->place.path, what);
    const dt_json_cursor begin = at;
    if (dt_json_peek(&at) != '"') return dt_tokenizer_fail(r, &begin, "'%s' must be a text", what);
    if (!dt_json_read_text(&at, &r->text)) return dt_tokenizer_fault(r, &at);
    if (strlen(dt_str_text(&r->text)) != r->text.size)
        return dt_tokenizer_fail(r, &begin, "'%s' has a NUL, which is not supported", what);
    *out = dt_str_text(&r->text);
    return NULL;
}

dt_status *dt_tokenizer_int(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                            int64_t most, int64_t *out) {
    char number[DT_JSON_LONGEST_NUMBER + 1];
    const dt_json_cursor begin = at;
    if (!at.at) return NULL;
    const char kind = dt_json_peek(&at);
    const bool is_number = kind == '-' || (kind >= '0' && kind <= '9');
    if (!is_number || !dt_json_read_number(&at, number) || !dt_parse_int64(number, out) ||
        *out < 0 || *out > most)
        return dt_tokenizer_fail(r, &begin, "'%s' must be an integer from 0 to %lld", what,
                                 (long long)most);
    return NULL;
}

dt_status *dt_tokenizer_bool(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             bool *out) {
    if (!at.at) return NULL;
    const char kind = dt_json_peek(&at);
    if (kind != 't' && kind != 'f')
        return dt_tokenizer_fail(r, &at, "'%s' must be true or false", what);
    *out = kind == 't';
    return NULL;
}
