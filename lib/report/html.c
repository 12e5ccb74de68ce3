/* SPDX-License-Identifier: Apache-2.0 */
/* See html.h. */
#include "report/html.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- text ---- */

static const char *entity(uint32_t c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void dt_html_text(dt_str *out, const char *text)
{
    size_t left = text ? strlen(text) : 0;
    while (left > 0) {
        uint32_t c = 0;
        size_t n = dt_utf8_next(text, left, &c);
        if (n == 0)
            dt_str_puts(out, "\xef\xbf\xbd");
        else if (dt_is_unseen(c) && c != '\n' && c != '\t')
            dt_str_escaped(out, text, n, 1);
        else if (entity(c))
            dt_str_puts(out, entity(c));
        else
            dt_str_add(out, text, n);
        n = n ? n : 1;
        text += n;
        left -= n;
    }
}

void dt_html_tag(dt_str *out, const char *tag, const char *attributes, const char *text)
{
    dt_str_printf(out, "<%s%s>", tag, attributes);
    dt_html_text(out, text);
    dt_str_printf(out, "</%s>", tag);
}

/* ---- numbers ---- */

static void open_value(dt_str *out, double x)
{
    dt_str_puts(out, "<data value=\"");
    dt_str_double(out, x);
    dt_str_puts(out, "\">");
}

void dt_put_number(dt_str *out, double x)
{
    double size = fabs(x);
    if (isnan(x))
        dt_str_puts(out, "NaN");
    else if (isinf(x))
        dt_str_puts(out, x > 0 ? "infinity" : "−infinity");
    else if (size > 0 && (size < 1e-3 || size >= 1e6))
        dt_str_printf(out, "%.3g", x);
    else if (size >= 1000)
        dt_str_grouped(out, (int64_t)llround(x));
    else
        dt_str_printf(out, size >= 100 ? "%.1f" : size >= 10 ? "%.2f" : "%.4f", x);
}

void dt_html_number(dt_str *out, double x)
{
    open_value(out, x);
    dt_put_number(out, x);
    dt_str_puts(out, "</data>");
}

void dt_html_moment(dt_str *out, int64_t seconds)
{
    char text[32] = "";
    struct tm utc;
    time_t s = (time_t)seconds;
    if (gmtime_r(&s, &utc) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) > 0)
        dt_str_printf(out, "%s UTC", text);
}

void dt_html_count(dt_str *out, int64_t n)
{
    dt_str_printf(out, "<data value=\"%lld\">", (long long)n);
    dt_str_grouped(out, n);
    dt_str_puts(out, "</data>");
}

void dt_html_bytes(dt_str *out, double bytes)
{
    open_value(out, bytes);
    dt_str_bytes(out, bytes);
    dt_str_puts(out, "</data>");
}

static void put_seconds(dt_str *out, double s)
{
    int64_t whole = (int64_t)llround(s);
    if (s < 1e-3)
        dt_str_printf(out, "%.0f µs", s * 1e6);
    else if (s < 1)
        dt_str_printf(out, "%.*f ms", s < 0.01 ? 2 : s < 0.1 ? 1 : 0, s * 1e3);
    else if (s < 60)
        dt_str_printf(out, "%.1f s", s);
    else if (s < 3600)
        dt_str_printf(out, "%lld min %02lld s", (long long)(whole / 60), (long long)(whole % 60));
    else
        dt_str_printf(out, "%lld h %02lld min", (long long)(whole / 3600), (long long)(whole % 3600 / 60));
}

void dt_html_seconds(dt_str *out, double s)
{
    open_value(out, s);
    if (isfinite(s) && s >= 0 && s < 1e15)
        put_seconds(out, s);
    else
        dt_put_number(out, s);
    dt_str_puts(out, "</data>");
}

void dt_html_time(dt_str *out, const char *iso)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    size_t i = 0;
    while (iso && form[i] && (form[i] == '0' ? iso[i] >= '0' && iso[i] <= '9' : iso[i] == form[i]))
        i++;
    if (!iso || form[i] || iso[i])
        dt_html_text(out, iso);
    else
        dt_str_printf(out, "<time datetime=\"%s\">%.10s %.8s UTC</time>", iso, iso, iso + 11);
}

void dt_html_hash(dt_str *out, const char *hex)
{
    if (hex)
        dt_html_tag(out, "code", " class=\"hash\"", hex);
    else
        dt_str_puts(out, "–");
}

/* ---- base64 ---- */

void dt_html_base64(dt_str *out, const void *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        unsigned x = (unsigned)p[i] << 16 | (have > 1 ? (unsigned)p[i + 1] << 8 : 0) | (have > 2 ? (unsigned)p[i + 2] : 0);
        const char four[] = {digit[x >> 18], digit[x >> 12 & 63], have > 1 ? digit[x >> 6 & 63] : '=', have > 2 ? digit[x & 63] : '='};
        dt_str_add(out, four, 4);
    }
}
