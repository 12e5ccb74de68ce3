/* SPDX-License-Identifier: Apache-2.0 */
/* Reads numbers in the notations of tables that people write: 1.234,5, 1 234, $85,000 and 12 %; see
 * csv_element.h. */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "file/csv_element.h"

static bool is_digit(char c) { return isdigit((unsigned char)c); }

/* Whether a character is a currency sign: most of Unicode's category Sc. */
static bool is_currency(uint32_t c) {
    return c == '$' || (c >= 0xa2 && c <= 0xa5) || c == 0x58f || c == 0xe3f ||
           (c >= 0x20a0 && c <= 0x20c0);
}

/* Returns the number of bytes of the blank at the front: a space, or a no-break, narrow or thin
 * space; 0: none. */
static size_t blank_at(const char *p) {
    static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (strncmp(p, blanks[i], strlen(blanks[i])) == 0) return strlen(blanks[i]);
    return 0;
}

/* Returns the number of bytes of the last character of a valid text of n bytes. */
static size_t last_size(const char *text, size_t n) {
    size_t size = n > 0;
    while (size < n && size < 4 && ((unsigned char)text[n - size] & 0xc0) == 0x80) size++;
    return size;
}

/* Copies a number without the currency sign before or after it, or the '%' after it, and without
 * blanks beside that symbol. Sets *symbol to its code if there is one. Returns false if there is
 * one on both sides. */
static bool drop_symbol(const char *text, char *out, uint32_t *symbol) {
    const char *p = text + (*text == '-' || *text == '+');
    uint32_t code = 0;
    size_t n = strlen(p), size = dt_utf8_next(p, n, &code);
    if (size > 0 && is_currency(code)) {
        if (p > text) *out++ = *text;
        *symbol = code;
        for (p += size; (size = blank_at(p)) > 0;) p += size;
    } else p = text;
    n = strlen(p);
    size = last_size(p, n);
    if (dt_utf8_next(p + n - size, size, &code) == size && size > 0 &&
        (code == '%' || is_currency(code))) {
        if (*symbol != DT_CSV_PLAIN) return false;
        *symbol = code;
        for (n -= size; (size = last_size(p, n)) > 0 && blank_at(p + n - size) == size;) n -= size;
    }
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

/* Removes blanks between groups of three digits, in place. Returns false if a group has another
 * number of digits, except the first one, which has 1 to 3 digits and must not begin with 0. */
static bool join_groups(char *text) {
    char *out = text;
    int digits = 0; /* number of digits in the current group */
    bool grouped = false, whole = true;
    for (const char *p = text; *p;) {
        const size_t blank = blank_at(p);
        if (blank > 0) {
            if (!whole || digits < 1 || digits > 3 || (grouped ? digits < 3 : out[-digits] == '0'))
                return false;
            grouped = true;
            digits = 0;
            p += blank;
            continue;
        }
        if (!is_digit(*p) && grouped && whole && digits != 3) return false;
        if (!is_digit(*p) && digits > 0) whole = false;
        if (is_digit(*p) && whole) digits++;
        *out++ = *p++;
    }
    *out = '\0';
    return !grouped || digits == 3;
}

bool dt_csv_bare(const dt_element_spec *e, const char *text, char out[DT_CSV_LONGEST_NUMBER + 1],
                 uint32_t *symbol) {
    *symbol = DT_CSV_PLAIN;
    if (!e->symbols) strcpy(out, text);
    else if (!drop_symbol(text, out, symbol)) return false;
    return e->thousands != ' ' || join_groups(out);
}

bool dt_csv_symbol_agrees(uint32_t *seen, uint32_t symbol, double number) {
    const bool is_zero = symbol == DT_CSV_PLAIN && !(number > 0) && !(number < 0);
    if (*seen == symbol || is_zero) return true;
    if (*seen != 0 && (*seen == '%' || symbol == '%')) return false;
    if (*seen > DT_CSV_PLAIN) return symbol == DT_CSV_PLAIN;
    *seen = symbol;
    return true;
}

bool dt_csv_respell(const dt_element_spec *e, const char *text, char out[DT_CSV_LONGEST_NUMBER + 1],
                    uint32_t *symbol) {
    char room[DT_CSV_LONGEST_NUMBER + 1];
    if (e->symbols || e->thousands == ' ') {
        if (!dt_csv_bare(e, text, room, symbol)) return false;
        text = room;
    }
    const char point = e->decimal ? e->decimal : '.';
    bool whole = true; /* digits before the decimal point are being read */
    int wanted = -1;   /* digits still missing in the group of three; -1: not in such a group */
    for (const char *p = text; *p; p++) {
        if (e->thousands && *p == e->thousands && p > text && is_digit(p[-1]) && is_digit(p[1])) {
            if (!whole) return false;
            wanted = 3;
            continue;
        }
        if (is_digit(*p) ? wanted == 0 : wanted > 0 || (e->decimal && *p == '.')) return false;
        wanted = is_digit(*p) && wanted > 0 ? wanted - 1 : is_digit(*p) ? wanted : -1;
        whole = whole && *p != point;
        *out++ = *p == point ? '.' : *p;
    }
    *out = '\0';
    return wanted <= 0;
}
