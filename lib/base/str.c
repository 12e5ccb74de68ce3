/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what str.h declares: growable strings, UTF-8, and texts made fit for a terminal. */
#include "base/str.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

bool dt_ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

void dt_str_release(dt_str *s) {
    free(s->data);
    *s = (dt_str){0};
}

void dt_str_clear(dt_str *s) {
    s->size = 0;
    if (s->data) s->data[0] = '\0';
}

const char *dt_str_text(const dt_str *s) { return s->data ? s->data : ""; }

char *dt_str_take(dt_str *s) {
    char *text = s->data ? s->data : dt_strdup("");
    *s = (dt_str){0};
    return text;
}

dt_text dt_text_take(dt_str *s) {
    dt_text text;
    if (snprintf(text.s, sizeof text.s, "%s", dt_str_text(s)) >= (int)sizeof text.s)
        memcpy(text.s + sizeof text.s - 4, "...", 4);
    dt_str_release(s);
    return text;
}

void dt_str_reserve(dt_str *s, size_t n) {
    size_t needed;
    if (__builtin_add_overflow(s->size, n, &needed) || __builtin_add_overflow(needed, 1, &needed))
        dt_out_of_memory();
    if (needed <= s->cap) return;
    size_t cap = s->cap < SIZE_MAX / 2 ? 2 * s->cap : needed;
    if (cap < needed) cap = needed;
    s->cap = cap < 32 ? 32 : cap;
    s->data = dt_realloc(s->data, s->cap);
}

void dt_str_add(dt_str *s, const void *bytes, size_t n) {
    dt_str_reserve(s, n);
    if (n) memcpy(s->data + s->size, bytes, n);
    s->size += n;
    s->data[s->size] = '\0';
}

void dt_str_puts(dt_str *s, const char *text) { dt_str_add(s, text, strlen(text)); }

void dt_str_putc(dt_str *s, char c) { dt_str_add(s, &c, 1); }

/* A program that uses the library may have called setlocale, and would get numbers with commas. In
 * glibc the C locale is one constant object, so using it costs nothing. */
void dt_str_vprintf(dt_str *s, const char *format, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c ? uselocale(c) : (locale_t)0;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0) {
        dt_str_reserve(s, (size_t)n);
        vsnprintf(s->data + s->size, (size_t)n + 1, format, again);
        s->size += (size_t)n;
    } else {
        dt_str_puts(s, "(a text too long to print)");
    }
    va_end(again);
    if (!c) return;
    uselocale(before);
    freelocale(c);
}

void dt_str_printf(dt_str *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    dt_str_vprintf(s, format, args);
    va_end(args);
}

void dt_str_pad(dt_str *s, size_t from, int width) {
    size_t have = from < s->size ? dt_utf8_count(s->data + from, s->size - from) : 0;
    for (; width > 0 && have < (size_t)width; have++) dt_str_putc(s, ' ');
}

size_t dt_utf8_next(const char *text, size_t n, uint32_t *code) {
    const unsigned char *p = (const unsigned char *)text;
    /* The smallest code point of each length in bytes: a longer form of a smaller code point is not
     * valid. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 0) return 0;
    if (p[0] < 0x80) return *code = p[0], 1;
    size_t length = p[0] >= 0xf0 && p[0] < 0xf8   ? 4
                    : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                    : p[0] >= 0xc0 && p[0] < 0xe0 ? 2
                                                  : 0;
    if (length == 0 || length > n) return 0;
    uint32_t c = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    *code = c;
    return length;
}

void dt_str_utf8(dt_str *s, uint32_t code) {
    /* The upper bits of the first byte of a character, by the number of bytes that follow. */
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    dt_str_putc(s, (char)(heads[more] | code >> (6 * more)));
    while (more-- > 0) dt_str_putc(s, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}

size_t dt_utf8_count(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; count++) {
        uint32_t code;
        size_t length = dt_utf8_next(text + i, n - i, &code);
        i += length ? length : 1;
    }
    return count;
}

DT_API bool dt_is_unseen(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},
        /* 0 to 0x1f, 0x7f to 0x9f: controls, which some terminals obey; 0xa0: no-break space */
        {0x7f, 0xa0},
        {0xad, 0xad},
        {0x34f, 0x34f}, /* 0xad: soft hyphen; 0x34f: combining grapheme joiner */
        {0x61c, 0x61c},
        {0x115f, 0x1160}, /* 0x61c: Arabic letter mark; 0x115f: fillers of Hangul */
        {0x1680, 0x1680},
        {0x17b4, 0x17b5}, /* 0x1680: Ogham space; 0x17b4: Khmer vowels that are not written */
        /* 0x180b: Mongolian selectors; 0x2000: spaces, some without width, and marks of
         * direction */
        {0x180b, 0x180f},
        {0x2000, 0x200f},
        /* 0x2028: separators of lines, embeddings and overrides of direction, narrow space; 0x205f:
         * mathematical space, isolates of direction */
        {0x2028, 0x202f},
        {0x205f, 0x206f},
        {0x2800, 0x2800},
        {0x3000, 0x3000}, /* 0x2800: braille blank; 0x3000: ideographic space */
        {0x3164, 0x3164},
        {0xd800, 0xdfff}, /* 0x3164: Hangul filler; 0xd800: surrogates */
        {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff}, /* 0xfe00: variation selectors; 0xfeff: byte order mark */
        {0xffa0, 0xffa0},
        {0xfff0, 0xfffb}, /* 0xffa0: half-width Hangul filler; 0xfff0: annotations */
        {0xfffe, 0xffff}, /* code points that are not characters */
        /* 0x1bca0: format controls of shorthand; 0x1d173: of musical notation */
        {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff}, /* tags, selectors */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && code >= ranges[i].first; i++)
        if (code <= ranges[i].last) return true;
    return code > 0x10ffff;
}

/* Appends the first character of text[0..n), made fit for a terminal: an invisible character
 * becomes \xNN if it is ASCII, else \uNNNN or \UNNNNNNNN; a byte that is not UTF-8 becomes \xNN,
 * too. Returns the number of bytes that were read. */
static size_t add_escaped_char(dt_str *s, const char *text, size_t n) {
    uint32_t code = 0;
    size_t length = dt_utf8_next(text, n, &code);
    if (length == 0) dt_str_printf(s, "\\x%02x", (unsigned)(unsigned char)text[0]);
    else if (!dt_is_unseen(code)) dt_str_add(s, text, length);
    else
        dt_str_printf(s,
                      code < 0x80      ? "\\x%02x"
                      : code < 0x10000 ? "\\u%04x"
                                       : "\\U%08x",
                      (unsigned)code);
    return length ? length : 1;
}

void dt_str_escaped(dt_str *s, const char *text, size_t n, size_t limit) {
    size_t i = 0;
    for (size_t shown = 0; i < n && shown < limit; shown++)
        i += add_escaped_char(s, text + i, n - i);
    if (i < n) dt_str_puts(s, "...");
}
