/* SPDX-License-Identifier: Apache-2.0 */
/* A growable, NUL-terminated byte string. `dt_str s = {0};` is an empty one. */
#ifndef DT_BASE_STR_H
#define DT_BASE_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/status.h"

typedef struct dt_str {
    char *data; /* the bytes; NULL as long as nothing was added, so use dt_str_text instead */
    size_t size, cap;
} dt_str;

/* A short text for a message: in `dt_text_of_bytes(n).s`, it lives until the end of the full
 * expression. A text that does not fit ends in "...". */
typedef struct dt_text {
    char s[224];
} dt_text;

/* A range of bytes in memory that has another owner. */
typedef struct dt_bytes {
    const void *data;
    size_t n;
} dt_bytes;

/* Two texts that belong together: a key and its value, as in a file's metadata ({"step": "785"}),
 * or a name and what it stands for. */
typedef struct dt_pair {
    const char *key, *value;
} dt_pair;

bool dt_ends_with(const char *text, const char *end);
void dt_str_release(dt_str *s);
/* A string that is released at the end of its block: `dt_local_str text = {0};`. */
#define dt_local_str __attribute__((cleanup(dt_str_release))) dt_str
void dt_str_clear(dt_str *s);             /* empties s, but keeps its memory */
const char *dt_str_text(const dt_str *s); /* returns the text, lent; "" if s is empty */
char *dt_str_take(dt_str *s); /* returns the text, which the caller frees, and empties s */
/* Returns the first bytes of s that fit into a dt_text, and releases s. */
dt_text dt_text_take(dt_str *s);
void dt_str_reserve(dt_str *s, size_t n); /* makes room for n more bytes and the final NUL */
void dt_str_add(dt_str *s, const void *bytes, size_t n);
void dt_str_puts(dt_str *s, const char *text);
void dt_str_putc(dt_str *s, char c);
void dt_str_printf(dt_str *s, const char *format, ...) DT_PRINTF(2, 3);
/* Appends formatted text, always in the C locale. */
void dt_str_vprintf(dt_str *s, const char *format, va_list args) DT_PRINTF(2, 0);
/* Appends blanks until the part of s from byte `from` on has `width` characters. */
void dt_str_pad(dt_str *s, size_t from, int width);

/* Append x with the fewest digits that read back as the same double or float, or "nan", "inf",
 * "-inf". */
void dt_str_double(dt_str *s, double x);
void dt_str_float(dt_str *s, float x);
/* Appends a number with commas: 60000 as "60,000". */
void dt_str_grouped(dt_str *s, int64_t n);
/* Appends a size with its unit: 1717986 as "1.6 MiB". */
void dt_str_bytes(dt_str *s, double bytes);
dt_text dt_text_of_bytes(double bytes);
dt_text dt_text_of_numbers(const int64_t *v, int n); /* returns a text such as "[2, 3]" */
/* Appends the n bytes of `text`, at most `limit` characters of them, then "..." if any are left.
 * Invisible characters (dt_is_unseen) and bytes that are not UTF-8 become \xNN, \uNNNN or
 * \UNNNNNNNN. */
void dt_str_escaped(dt_str *s, const char *text, size_t n, size_t limit);

/* Appends the UTF-8 encoding of a valid code point. */
void dt_str_utf8(dt_str *s, uint32_t code);
/* Decodes the UTF-8 character at the beginning of n bytes. Returns its length in bytes; 0: the
 * bytes do not begin with a valid character. */
size_t dt_utf8_next(const char *text, size_t n, uint32_t *code);
/* Returns the number of characters in n bytes. A byte that is not UTF-8 counts as one character. */
size_t dt_utf8_count(const char *text, size_t n);

/* Read a whole text as a decimal number, in any locale. A double may have a sign, a point and an
 * exponent, an int64 only a sign; no blanks, no hexadecimal, no "nan" or "inf". Return false if the
 * text is not such a number (errno = EINVAL) or too large (errno = ERANGE). A double that is too
 * small becomes 0 or a denormal. */
bool dt_parse_double(const char *text, double *out);
bool dt_parse_int64(const char *text, int64_t *out);

/* In a function with a format and `...`: a local string `name` with the formatted text. */
#define DT_FORMATTED(name, format)                                                                 \
    dt_local_str name = {0};                                                                       \
    va_list name##_args;                                                                           \
    va_start(name##_args, format);                                                                 \
    dt_str_vprintf(&name, format, name##_args);                                                    \
    va_end(name##_args)

#endif
