/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of HTML. What comes from files or from users goes through dt_html_text, which leaves nothing that could be markup or turn a line's direction round. */
#ifndef DT_REPORT_HTML_H
#define DT_REPORT_HTML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Text, or an attribute's value within double quotes. NULL: nothing. */
void dt_html_text(dt_str *out, const char *text);
/* <tag ATTRIBUTES>text</tag>; attributes are our own words, with a blank before them, "" for none. */
void dt_html_tag(dt_str *out, const char *tag, const char *attributes, const char *text);
/* <data value="0.16499064540863037">0.1650</data>: for people, and as it was recorded. Not finite: in words. */
void dt_html_number(dt_str *out, double x);
void dt_html_count(dt_str *out, int64_t n);    /* 60,000 */
void dt_html_moment(dt_str *out, int64_t seconds); /* since 1970: 2026-01-31 12:00:00 UTC */
void dt_html_bytes(dt_str *out, double bytes); /* 1.6 MiB */
void dt_html_seconds(dt_str *out, double s);   /* 4.2 ms, 12.5 s, 3 min 20 s, 2 h 05 min */
void dt_html_time(dt_str *out, const char *iso); /* "2026-11-22T11:03:10Z" as 2026-11-22 11:03:10 UTC; any other text as it is */
void dt_html_hash(dt_str *out, const char *hex); /* whole, in small letters that may break; NULL: a dash */
/* The same without markup, for titles of pictures. */
void dt_put_number(dt_str *out, double x);
/* Base64, and as it stands in `data:` addresses. */
void dt_html_base64(dt_str *out, const void *bytes, size_t n);

#endif
