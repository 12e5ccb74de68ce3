/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The field that reads a scalar determines its type, not YAML's rules: `no` is a text where a text
 * is expected, and an error where true or false is expected. As a number 010 is refused, because
 * some readers would take it for 8.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_impl.h"

/* ---- values in messages, and wrong types ---- */

enum { SHOWN = 80 /* the most characters of a value that messages show */ };

dt_quoted dt_quote_text(const char *text) {
    dt_quoted quoted;
    dt_local_str shown = {0};
    size_t bytes = strlen(text), characters = bytes <= SHOWN ? bytes : dt_utf8_count(text, bytes);
    dt_str_escaped(&shown, text, bytes, SHOWN);
    int n = snprintf(quoted.text, sizeof quoted.text, "'%s'", dt_str_text(&shown));
    if (characters > SHOWN && n > 0 && (size_t)n < sizeof quoted.text)
        snprintf(quoted.text + n, sizeof quoted.text - (size_t)n, " (%zu characters)", characters);
    return quoted;
}

const char *dt_tree_kind_name(dt_tree_kind kind) {
    static const char *const names[] = {"null", "a string", "a list", "a mapping"};
    return names[kind];
}

dt_quoted dt_quote(const dt_tree *t) {
    dt_quoted quoted;
    dt_tree_kind kind = t ? t->kind : DT_TREE_NULL;
    bool number =
        kind == DT_TREE_SCALAR && dt_look_at(t) != DT_LOOKS_TEXT && strlen(t->text) <= SHOWN;
    if (kind == DT_TREE_SCALAR && !number) return dt_quote_text(t->text);
    snprintf(quoted.text, sizeof quoted.text, "%s", number ? t->text : dt_tree_kind_name(kind));
    return quoted;
}

dt_status *dt_wrong_type(const dt_tree *t, const char *what, const char *expected) {
    dt_status *s = dt_fail(DT_E_WRONG_TYPE, t ? &t->at : NULL, "%s%sexpected %s, got %s",
                           what ? what : "", what ? ": " : "", expected, dt_quote(t).text);
    const bool item = what && strchr(what, '['); /* An item of a list cannot be left out. */
    return t && t->kind == DT_TREE_SCALAR && !item ? dt_suggest_null(s, t->text) : s;
}

dt_status *dt_suggest_null(dt_status *s, const char *text) {
    return strcmp(text, "None") == 0
               ? dt_suggest(s, "Python's None is null here; leave out a key that has a default")
               : s;
}

/* Whether a text can probably be put between brackets as it is, to make a list in YAML; commas then
 * separate items. */
static bool is_plain(const char *text) {
    return (isalnum((unsigned char)*text) || *text == '_' || *text == '/' || *text == '.') &&
           !strpbrk(text, "[]{}#\n") && !strstr(text, ": ");
}

/* Suggests the list that a single value in its place was probably meant to be: "[a]" for a, "[4]"
 * for Python's (4,), and "[4, ...]" for "(4", which is left of it in a flow mapping, where the
 * comma ends the value. For a pattern with '*' suggests to list the names; suggests nothing for
 * None, true, false and texts that are not plain. */
static dt_status *suggest_list(dt_status *s, const char *text) {
    const char *last = strchr(text, ')');
    if (strcmp(text, "None") == 0 || strcasecmp(text, "true") == 0 ||
        strcasecmp(text, "false") == 0)
        return s;
    if (strchr(text, '*') && *text != '(')
        return dt_suggest(s, "list each one by its name: patterns are not expanded here");
    if (*text != '(' && !is_plain(text)) return s;
    if (*text != '(') return dt_suggest(s, "write [%.*s]", SHOWN, text);
    if (!last) return dt_suggest(s, "write a list in brackets: [%.*s, ...]", SHOWN, text + 1);
    size_t n = (size_t)(last - text) - 1;
    while (n > 0 && strchr(", ", text[n])) n--;
    return dt_suggest(s, "write [%.*s]", (int)(n < SHOWN ? n : SHOWN), text + 1);
}

/* Suggests a list if a single mapping was given: `callbacks: {EarlyStopping: {...}}`. */
static dt_status *suggest_items(dt_status *s, const dt_tree *map) {
    const bool is_named = map->n > 0 && map->entry[0].value->kind == DT_TREE_MAP;
    return is_named ? dt_suggest(s, "write a list: [%.60s: {...}%s]", map->entry[0].key,
                                 map->n > 1 ? ", ..." : "")
                    : s;
}

dt_status *dt_tree_expect(const dt_tree *t, dt_tree_kind kind, const char *what) {
    if (t && t->kind == kind) return NULL;
    dt_status *s = dt_wrong_type(t, what, dt_tree_kind_name(kind));
    if (!t) return s;
    if (kind == DT_TREE_LIST && t->kind == DT_TREE_MAP) return suggest_items(s, t);
    if (kind == DT_TREE_LIST && t->kind == DT_TREE_SCALAR && dt_look_at(t) == DT_LOOKS_TEXT)
        return suggest_list(s, t->text);
    return t->kind == DT_TREE_SCALAR ? dt_suggest_lone(s, what, t->text) : s;
}

/* ---- what a scalar looks like ---- */

static const char *after_sign(const char *text) { return text + (*text == '+' || *text == '-'); }

static bool is_not_finite(const char *text) {
    static const char *const names[] = {"inf", ".inf", "infinity", "nan", ".nan"};
    text = after_sign(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i]) == 0) return true;
    return false;
}

static bool is_digits(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool has_leading_zero(const char *digits) { return digits[0] == '0' && digits[1] != '\0'; }

dt_look dt_look_at(const dt_tree *t) {
    if (t->kind != DT_TREE_SCALAR || t->quoted) return DT_LOOKS_TEXT;
    const char *digits = after_sign(t->text);
    if (is_digits(digits)) return has_leading_zero(digits) ? DT_LOOKS_AMBIGUOUS : DT_LOOKS_INT;
    if (is_not_finite(t->text)) return DT_LOOKS_NOT_FINITE;
    double x;
    errno = 0;
    return dt_parse_double(t->text, &x) || errno == ERANGE ? DT_LOOKS_REAL : DT_LOOKS_TEXT;
}

/* ---- limits ---- */

static bool has_min(const dt_limits *l) { return l->min != 0 || l->max != 0 || l->above_min; }

static bool has_max(const dt_limits *l) { return (l->max != 0 || l->below_max) && !isinf(l->max); }

static bool inside(const dt_limits *l, double x) {
    if (has_min(l) && (l->above_min ? !(x > l->min) : !(x >= l->min))) return false;
    return !has_max(l) || (l->below_max ? x < l->max : x <= l->max);
}

static void add_limit(dt_str *s, double x) {
    if (fabs(x) < 1e15 && x == floor(x)) dt_str_printf(s, "%.0f", x);
    else dt_str_double(s, x);
}

/* Appends the limits of a number in words: "at least 1", "in [0, 1)". */
static void add_limits(dt_str *s, const dt_limits *l) {
    bool both = has_min(l) && has_max(l);
    if (both) dt_str_puts(s, l->above_min ? "in (" : "in [");
    else if (has_min(l)) dt_str_puts(s, l->above_min ? "greater than " : "at least ");
    else dt_str_puts(s, l->below_max ? "less than " : "at most ");
    if (has_min(l)) add_limit(s, l->min);
    if (both) dt_str_puts(s, ", ");
    if (has_max(l)) add_limit(s, l->max);
    if (both) dt_str_putc(s, l->below_max ? ')' : ']');
}

/* Returns an error such as "units must be at least 1, got 0". */
static dt_status *out_of_limits(const dt_tree *t, const char *what, const dt_limits *l) {
    dt_local_str text = {0};
    add_limits(&text, l);
    return dt_fail(DT_E_RANGE, &t->at, "%s must be %s, got %s", what, dt_str_text(&text),
                   dt_quote(t).text);
}

static dt_status *out_of_range(const dt_tree *t, const char *what) {
    return dt_fail(DT_E_RANGE, &t->at, "%s: %s is out of range", what, dt_quote(t).text);
}

/* ---- numbers ---- */

/* Returns the error "epochs: '010' is ambiguous; write 10 or 8", without "or 8" if the digits are
 * not octal, are more than 15 without leading zeros, or both values are equal. */
static dt_status *ambiguous(const dt_tree *t, const char *what) {
    const char *sign = *t->text == '-' ? "-" : "", *digits = after_sign(t->text);
    digits += strspn(digits, "0");
    const char *decimal = *digits ? digits : "0";
    bool octal = strlen(digits) <= 15 && *digits && digits[strspn(digits, "01234567")] == '\0';
    if (!octal || !digits[1])
        return dt_fail(DT_E_AMBIGUOUS, &t->at, "%s: %s is ambiguous; write %s%.80s", what,
                       dt_quote_text(t->text).text, sign, decimal);
    int64_t value = 0;
    for (const char *p = digits; *p; p++) value = value * 8 + (*p - '0');
    return dt_fail(DT_E_AMBIGUOUS, &t->at, "%s: %s is ambiguous; write %s%s or %s%lld", what,
                   dt_quote_text(t->text).text, sign, decimal, sign, (long long)value);
}

/* Reads an integer with an exponent, such as 1e3 or 1.5e1. Returns false if there is no exponent,
 * or if the value is not an integer or exceeds 2^53 in magnitude, above which doubles are not
 * exact. */
static bool exact_power(const char *text, int64_t *out) {
    double x;
    if (!strpbrk(text, "eE") || !dt_parse_double(text, &x) || x != floor(x) || fabs(x) > 0x1p53)
        return false;
    *out = (int64_t)x;
    return true;
}

/* Suggests writing 1000 instead of Python's 1_000. */
static dt_status *suggest_digits(dt_status *s, const char *text) {
    char digits[32] = "";
    size_t n = 0;
    double x;
    for (const char *p = text; *p && n + 1 < sizeof digits; p++)
        if (*p != '_') digits[n++] = *p;
    const bool cut = strlen(text) >= sizeof digits;
    return strchr(text, '_') && !cut && dt_parse_double(digits, &x)
               ? dt_suggest(s, "write %s", digits)
               : s;
}

/* Returns the error for a value that is not a number. It suggests to remove the quotes of a quoted
 * number, and the '_' of 1_000. */
static dt_status *not_a_number(const dt_tree *t, const char *what, const char *expected) {
    double x;
    dt_status *s = dt_wrong_type(t, what, expected);
    const bool quoted = t && t->kind == DT_TREE_SCALAR && t->quoted;
    return quoted && (is_digits(after_sign(t->text)) || dt_parse_double(t->text, &x))
               ? dt_suggest(s, "write it without quotes")
           : t && t->kind == DT_TREE_SCALAR ? suggest_digits(s, t->text)
                                            : s;
}

static dt_status *not_an_integer(const dt_tree *t, const char *what) {
    double x = 0;
    const bool real = t && dt_look_at(t) == DT_LOOKS_REAL,
               known = real && dt_parse_double(t->text, &x);
    if (real && strpbrk(t->text, "eE") && (!known || fabs(x) > 0x1p53))
        return out_of_range(t, what);
    dt_status *s = not_a_number(t, what, "an integer");
    return known && x == trunc(x) && fabs(x) < 0x1p53 ? dt_suggest(s, "write %.0f", x) : s;
}

dt_status *dt_tree_int_in(const dt_tree *t, const char *what, const dt_limits *limits,
                          int64_t *out) {
    int64_t n;
    if (!t || t->quoted || t->kind != DT_TREE_SCALAR) return not_an_integer(t, what);
    if (dt_look_at(t) == DT_LOOKS_AMBIGUOUS) return ambiguous(t, what);
    if (dt_look_at(t) == DT_LOOKS_INT) {
        if (!dt_parse_int64(t->text, &n)) return out_of_range(t, what);
    } else if (!exact_power(t->text, &n)) {
        return not_an_integer(t, what);
    }
    if (!inside(limits, (double)n)) return out_of_limits(t, what, limits);
    *out = n;
    return NULL;
}

static dt_status *not_finite(const dt_tree *t, const char *what, const dt_limits *l) {
    dt_local_str text = {0};
    dt_str_puts(&text, "a finite number");
    if (has_max(l) || l->above_min || l->min != 0) { /* "at least 0" is left out */
        dt_str_putc(&text, ' ');
        add_limits(&text, l);
    }
    const char *word = after_sign(t->text);
    return dt_fail(DT_E_RANGE, &t->at, "%s must be %s, got %s%s", what, dt_str_text(&text),
                   *t->text == '-' ? "-" : "", strpbrk(word, "aA") ? "nan" : "inf");
}

dt_status *dt_tree_real_in(const dt_tree *t, const char *what, const dt_limits *limits,
                           double *out) {
    double x;
    dt_look look = t ? dt_look_at(t) : DT_LOOKS_TEXT;
    if (look == DT_LOOKS_TEXT) return not_a_number(t, what, "a number");
    if (look == DT_LOOKS_NOT_FINITE) return not_finite(t, what, limits);
    if (look == DT_LOOKS_AMBIGUOUS) return ambiguous(t, what);
    if (!dt_parse_double(t->text, &x)) return out_of_range(t, what);
    if (!inside(limits, x)) return out_of_limits(t, what, limits);
    *out = x;
    return NULL;
}

dt_status *dt_tree_int(const dt_tree *t, const char *what, double min, double max, int64_t *out) {
    return dt_tree_int_in(t, what, &(dt_limits){.min = min, .max = max}, out);
}

dt_status *dt_tree_real(const dt_tree *t, const char *what, double *out) {
    return dt_tree_real_in(t, what, &(dt_limits){0}, out);
}

/* ---- booleans and texts ---- */

/* Returns "true" or "false" if `word` probably means it, in any letter case: yes, no, on, off,
 * true, false, 1, 0. Else returns NULL. */
static const char *meant(const char *word) {
    static const char *const words[][2] = {{"yes", "true"},  {"no", "false"},  {"on", "true"},
                                           {"off", "false"}, {"true", "true"}, {"false", "false"},
                                           {"1", "true"},    {"0", "false"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(word, words[i][0]) == 0) return words[i][1];
    return NULL;
}

dt_status *dt_tree_bool(const dt_tree *t, const char *what, bool *out) {
    bool plain = t && t->kind == DT_TREE_SCALAR && !t->quoted;
    if (plain && (strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0)) {
        *out = *t->text == 't';
        return NULL;
    }
    dt_status *s = dt_wrong_type(t, what, "true or false");
    const char *word = t && t->kind == DT_TREE_SCALAR ? meant(t->text) : NULL;
    return word ? dt_suggest(s, "write %s", word) : s;
}

dt_status *dt_tree_text_in(const dt_tree *t, const char *what, const dt_limits *limits,
                           const char **out) {
    DT_TRY(dt_tree_expect(t, DT_TREE_SCALAR, what));
    size_t n = dt_utf8_count(t->text, strlen(t->text));
    if (limits->min > 0 && n == 0) return dt_fail(DT_E_RANGE, &t->at, "%s must not be empty", what);
    if (limits->min > (double)n)
        return dt_fail(DT_E_RANGE, &t->at, "%s must have at least %.0f characters, got %zu", what,
                       limits->min, n);
    if (limits->max > 0 && limits->max < (double)n)
        return dt_fail(DT_E_RANGE, &t->at, "%s must have at most %.0f characters, got %zu", what,
                       limits->max, n);
    *out = t->text;
    return NULL;
}

dt_status *dt_tree_text(const dt_tree *t, const char *what, const char **out) {
    return dt_tree_text_in(t, what, &(dt_limits){0}, out);
}
