/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a text before libyaml reads it. It refuses texts that are too large or contain invalid
 * UTF-8 or characters that no job needs. It also refuses %TAG directives, for which libyaml 0.2.5
 * takes quadratic time before its first event, since it compares each with all earlier ones; jobs
 * cannot have tags anyway. Brackets are not checked here: the depth limit stops the event loop at
 * level 65, so that 200,000 of them cost only a millisecond.
 *
 * Line separators other than LF and CR LF are refused as well, because libyaml counts lines by them
 * and editors do not.
 */
#include <inttypes.h>
#include <string.h>

#include "conf/conf_impl.h"

dt_status *dt_yaml_check_size(const dt_source *s) {
    if (s->size <= DT_JOB_BYTES) return NULL;
    dt_local_str size = {0};
    if (s->size < 2 * DT_JOB_BYTES) /* an endless standard input was read only up to this size */
        dt_str_puts(&size, "more than 1 MiB");
    else dt_str_bytes(&size, (double)s->size);
    return dt_fail(DT_E_JOB_LIMIT, &(dt_location){.source = s, .line = 1, .col = 1},
                   "%s; a job may not exceed 1 MiB", dt_str_text(&size));
}

static bool is_control(uint32_t c) {
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0);
}

static bool is_refused(uint32_t c) {
    return c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static dt_status *check_char(const dt_yaml *y, size_t i, uint32_t code) {
    const dt_source *s = y->source;
    bool line_end = code == '\r' && i + 1 < s->size && s->text[i + 1] == '\n';
    if (line_end || (!is_control(code) && !is_refused(code))) return NULL;
    dt_location at = dt_yaml_place_at(y, i);
    if (is_control(code))
        return dt_fail(DT_E_JOB_BYTES, &at, "control character 0x%02" PRIx32, code);
    return dt_fail(DT_E_JOB_BYTES, &at, "character U+%04" PRIX32 " is not allowed", code);
}

static dt_status *check_bytes(const dt_yaml *y) {
    const dt_source *s = y->source;
    for (size_t i = y->from, n; i < s->size; i += n) {
        uint32_t code;
        n = dt_utf8_next(s->text + i, s->size - i, &code);
        if (n == 0) {
            dt_location at = dt_yaml_place_at(y, i);
            return dt_suggest(
                dt_fail(DT_E_JOB_BYTES, &at, "byte 0x%02x is not UTF-8", (unsigned char)s->text[i]),
                "save it as UTF-8");
        }
        DT_TRY(check_char(y, i, code));
    }
    return NULL;
}

/* Refuses directives. They can only be among blank lines and comments before the document. */
static dt_status *check_directives(const dt_yaml *y) {
    const char *end = y->source->text + y->source->size;
    for (const char *line = y->source->text + y->from; line && line < end;) {
        size_t left = (size_t)(end - line), blanks = 0;
        if (left >= 4 && memcmp(line, "%TAG", 4) == 0) {
            dt_location at = dt_yaml_place_at(y, (size_t)(line - y->source->text));
            return dt_fail(DT_E_YAML_FEATURE, &at, "%%TAG directives are not supported");
        }
        while (blanks < left &&
               (line[blanks] == ' ' || line[blanks] == '\t' || line[blanks] == '\r'))
            blanks++;
        if (blanks < left && !strchr("#%\n", line[blanks])) return NULL;
        line = memchr(line, '\n', left);
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

dt_status *dt_yaml_check(const dt_yaml *y) {
    DT_TRY(dt_yaml_check_size(y->source));
    DT_TRY(check_bytes(y));
    return check_directives(y);
}
