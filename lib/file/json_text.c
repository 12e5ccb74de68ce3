/* SPDX-License-Identifier: Apache-2.0 */
/* See json_text.h. After a fault the cursor stays at the fault. */
#include "file/json_text.h"

#include <string.h>

static bool wrong(dt_json_cursor *c, const char *fault) {
    if (!c->fault) c->fault = fault;
    return false;
}

static void skip_blanks(dt_json_cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static bool is_digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

static bool is_nan(const dt_json_cursor *c) {
    return c->end - c->at >= 3 && memcmp(c->at, "NaN", 3) == 0;
}

char dt_json_peek(dt_json_cursor *c) {
    skip_blanks(c);
    if (c->fault) return '\0';
    if (c->at == c->end) wrong(c, "the value ends too early");
    else if (is_nan(c)) return 'n';
    else if (!strchr("{[\"-0123456789tfn", *c->at) || !*c->at) wrong(c, "expected a value");
    return c->fault ? '\0' : *c->at;
}

void dt_json_enter(dt_json_cursor *c) { c->at++; }

bool dt_json_more(dt_json_cursor *c, char close, bool *first) {
    const bool was_first = *first;
    *first = false;
    skip_blanks(c);
    if (c->fault) return false;
    if (c->at == c->end)
        return wrong(c, close == ']' ? "the list is not closed" : "the object is not closed");
    if (*c->at == close) {
        c->at++;
        return false;
    }
    if (was_first) return true;
    if (*c->at != ',')
        return wrong(c, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    c->at++;
    return true;
}

static bool read_hex(dt_json_cursor *c, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, c->at++) {
        const char *digit =
            c->at < c->end && *c->at ? strchr("0123456789abcdef", *c->at | 0x20) : NULL;
        if (!digit || (*c->at < '0')) return wrong(c, "expected four hexadecimal digits");
        *out = *out << 4 | (uint32_t)(digit - "0123456789abcdef");
    }
    return true;
}

/* Reads the digits after "\u". Half of a surrogate pair is a fault. */
static bool read_code(dt_json_cursor *c, dt_str *out) {
    const char *begin = c->at - 2;
    uint32_t code, low = 0;
    if (!read_hex(c, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && c->end - c->at >= 6 && c->at[0] == '\\' &&
        c->at[1] == 'u') {
        c->at += 2;
        if (!read_hex(c, &low)) return false;
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    if (code >= 0xd800 && code < 0xe000) {
        c->at = begin;
        return wrong(c, "half of a pair of surrogates");
    }
    if (code == 0) dt_str_putc(out, '\0');
    else dt_str_utf8(out, code);
    return true;
}

/* Reads the rest of an escape sequence, after the backslash. */
static bool read_escape(dt_json_cursor *c, dt_str *out) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char name = c->at < c->end ? *c->at : '\0', *found = name ? strchr(names, name) : NULL;
    if (name != 'u' && !found) return wrong(c, "not an escape sequence of JSON");
    c->at++;
    if (name == 'u') return read_code(c, out);
    dt_str_putc(out, means[found - names]);
    return true;
}

bool dt_json_read_text(dt_json_cursor *c, dt_str *out) {
    dt_str_clear(out);
    for (c->at++;;) {
        const char *from = c->at;
        while (c->at < c->end && *c->at != '"' && *c->at != '\\' && (unsigned char)*c->at >= ' ')
            c->at++;
        dt_str_add(out, from, (size_t)(c->at - from));
        if (c->at == c->end) return wrong(c, "the string is not closed");
        if (*c->at == '"') {
            c->at++;
            return true;
        }
        if (*c->at != '\\') return wrong(c, "a control character in a string");
        c->at++;
        if (!read_escape(c, out)) return false;
    }
}

bool dt_json_read_key(dt_json_cursor *c, dt_str *out) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != '"') return wrong(c, "expected a key in quotes");
    if (!dt_json_read_text(c, out)) return false;
    skip_blanks(c);
    if (c->at == c->end || *c->at != ':') return wrong(c, "expected ':' after the key");
    c->at++;
    return true;
}

static bool skip_digits(dt_json_cursor *c) {
    if (!is_digit(c->at, c->end)) return wrong(c, "expected a digit");
    while (is_digit(c->at, c->end)) c->at++;
    return true;
}

static bool skip_number(dt_json_cursor *c) {
    if (*c->at == '-') c->at++;
    if (c->at < c->end && *c->at == '0') {
        c->at++;
        if (is_digit(c->at, c->end)) return wrong(c, "a number with a leading zero");
    } else if (!skip_digits(c)) return false;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (!skip_digits(c)) return false;
    }
    if (c->at < c->end && (*c->at | 0x20) == 'e') {
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-')) c->at++;
        return skip_digits(c);
    }
    return true;
}

bool dt_json_read_number(dt_json_cursor *c, char out[DT_JSON_LONGEST_NUMBER + 1]) {
    const char *from = c->at;
    if (!skip_number(c)) return false;
    const size_t n = (size_t)(c->at - from);
    if (n > DT_JSON_LONGEST_NUMBER) {
        c->at = from;
        return wrong(c, "a number of more than 400 characters");
    }
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

bool dt_json_read_word(dt_json_cursor *c) {
    const char *word = *c->at == 't'   ? "true"
                       : *c->at == 'f' ? "false"
                       : is_nan(c)     ? "NaN"
                                       : "null";
    const size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return wrong(c, "expected true, false or null");
    c->at += n;
    return true;
}

static bool skip_text(dt_json_cursor *c) {
    for (c->at++; c->at < c->end && *c->at != '"'; c->at++) {
        if ((unsigned char)*c->at < ' ') return wrong(c, "a control character in a string");
        if (*c->at == '\\' && c->at + 1 < c->end) c->at++;
    }
    if (c->at == c->end) return wrong(c, "the string is not closed");
    c->at++;
    return true;
}

static bool skip_items(dt_json_cursor *c, int depth) {
    const char close = *c->at == '{' ? '}' : ']';
    bool first = true;
    if (depth >= DT_JSON_DEEPEST) return wrong(c, "nested deeper than 64");
    c->at++;
    while (dt_json_more(c, close, &first)) {
        if (close == '}') {
            skip_blanks(c);
            if (c->at == c->end || *c->at != '"') return wrong(c, "expected a key in quotes");
            if (!skip_text(c)) return false;
            skip_blanks(c);
            if (c->at == c->end || *c->at != ':') return wrong(c, "expected ':' after the key");
            c->at++;
        }
        if (!dt_json_skip(c, depth + 1)) return false;
    }
    return !c->fault;
}

bool dt_json_skip(dt_json_cursor *c, int depth) {
    switch (dt_json_peek(c)) {
    case '\0': return false;
    case '{':
    case '[': return skip_items(c, depth);
    case '"': return skip_text(c);
    case 't':
    case 'f':
    case 'n': return dt_json_read_word(c);
    default: return skip_number(c);
    }
}
