/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what python_text.h declares. */
#include "train/python_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits the shortest decimal of x into its digits, without sign, point and outer zeros, and the
 * position of the point, which is returned: 0.00012 gives "12" and -3. */
static int split_digits(double x, char *digits) {
    dt_local_str text = {0};
    int point = 0, n = 0, exponent = 0;
    bool behind = false;
    dt_str_double(&text, fabs(x));
    for (const char *p = dt_str_text(&text); *p; p++) {
        if (*p == 'e') {
            exponent = (int)strtol(p + 1, NULL, 10);
            break;
        }
        behind |= *p == '.';
        if (*p == '.') continue;
        if (n > 0 || *p != '0') digits[n++] = *p;
        point += !behind && n > 0;
        point -= behind && n == 0;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    digits[n] = '\0';
    return point + exponent;
}

void dt_python_float(dt_str *out, double x) {
    char digits[40];
    if (!isfinite(x) || x == 0) {
        dt_str_puts(out, isnan(x)     ? "nan"
                         : x > 0      ? "inf"
                         : x < 0      ? "-inf"
                         : signbit(x) ? "-0.0"
                                      : "0.0");
        return;
    }
    int point = split_digits(x, digits), n = (int)strlen(digits);
    dt_str_puts(out, x < 0 ? "-" : "");
    if (point < -3 || point > 16)
        dt_str_printf(out, n > 1 ? "%c.%se%+03d" : "%c%se%+03d", digits[0], digits + 1, point - 1);
    else if (point <= 0) dt_str_printf(out, "0.%.*s%s", -point, "000", digits);
    else if (point >= n) dt_str_printf(out, "%s%.*s.0", digits, point - n, "0000000000000000");
    else dt_str_printf(out, "%.*s.%s", point, digits, digits + point);
}

static const char *read_number(const char *p, int *out) {
    for (*out = 0; isdigit((unsigned char)*p) && *out < 100; p++) *out = 10 * *out + (*p - '0');
    return p;
}

/* Reads the format after the colon of a part: width, precision and kind. Returns the text after it,
 * or NULL if the format has another form. */
static const char *read_form(const char *p, dt_python_part *part) {
    part->zeros = *p == '0';
    p = read_number(p, &part->width);
    if (*p == '.' && isdigit((unsigned char)p[1])) p = read_number(p + 1, &part->precision);
    if (*p && strchr("defgEFG", *p)) part->kind = *p++;
    return part->kind == 'd' && part->precision >= 0 ? NULL : p;
}

/* Reads a part that begins at the '{'. Returns the text after its '}', or NULL if it is not a
 * part. */
static const char *read_part(const char *p, dt_python_part *part) {
    *part = (dt_python_part){.precision = -1};
    size_t n = strcspn(++p, ":{}!");
    if (n == 0 || n >= sizeof part->name) return NULL;
    memcpy(part->name, p, n);
    p += n;
    if (*p == ':') p = read_form(p + 1, part);
    return p && *p == '}' ? p + 1 : NULL;
}

bool dt_python_next(const char **p, dt_str *text, dt_python_part *part, const char **wrong) {
    *wrong = NULL;
    for (; **p; ++*p) {
        const bool bracket = **p == '{' || **p == '}', twice = bracket && (*p)[1] == **p;
        if (bracket && !twice) break;
        if (text) dt_str_putc(text, **p);
        *p += twice;
    }
    if (!**p) return false;
    const char *behind = **p == '{' ? read_part(*p, part) : NULL;
    *wrong = behind ? NULL : *p;
    *p = behind ? behind : *p;
    return behind != NULL;
}

void dt_python_put(dt_str *out, const dt_python_part *part, double value, bool whole) {
    dt_local_str bare = {0};
    if (whole && (part->kind == 'd' || part->kind == 0)) dt_str_printf(&bare, "%.0f", value);
    else if (isfinite(value) && part->kind && part->kind != 'd')
        dt_str_printf(&bare, (const char[]){'%', '.', '*', part->kind, '\0'},
                      part->precision < 0 ? 6 : part->precision, value);
    else dt_python_float(&bare, value);
    const char *digits = dt_str_text(&bare);
    if (part->zeros && *digits == '-') dt_str_putc(out, *digits++);
    for (int fill = part->width - (int)bare.size; fill > 0; fill--)
        dt_str_putc(out, part->zeros ? '0' : ' ');
    dt_str_puts(out, digits);
}
