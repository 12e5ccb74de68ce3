/* SPDX-License-Identifier: Apache-2.0 */
/* See text.h. The first bytes show whether a file is something else than text; what follows is
 * checked as UTF-8, eight bytes of ASCII at a time. */
#include "base/text.h"

#include <string.h>

#include "base/file.h"

/* ---- files that are not text ---- */

/* Recognizes UTF-16 and UTF-32 by a byte order mark, or by ASCII characters with zero bytes between
 * them. */
static const char *wide_encoding(const unsigned char *b, size_t n) {
    if (n >= 4 && (memcmp(b, "\xff\xfe\0\0", 4) == 0 || memcmp(b, "\0\0\xfe\xff", 4) == 0))
        return "UTF-32";
    if (n >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0)) return "UTF-16";
    const bool little = n >= 4 && b[0] && !b[1] && b[2] && !b[3],
               big = n >= 4 && !b[0] && b[1] && !b[2] && b[3];
    return little ? "UTF-16LE" : big ? "UTF-16BE" : NULL;
}

/* True if all bytes are valid UTF-8 text; the last character may be incomplete. */
static bool is_plain(const unsigned char *b, size_t n) {
    size_t valid = dt_text_valid((const char *)b, n);
    for (size_t i = 0; i < valid; i++)
        if ((b[i] < ' ' && !(b[i] >= '\t' && b[i] <= '\r')) || b[i] == 0x7f) return false;
    return valid == n || (n - valid < 4 && b[valid] >= 0x80);
}

dt_status *dt_text_look(const dt_text_file *f, const void *first, size_t n, size_t *skip) {
    const char *wide = wide_encoding(first, n);
    *skip = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const dt_file_sort *sort = dt_file_sort_of(first, n);
    if (sort && ((sort->as == DT_SORT_BINARY && is_plain(first, n)) ||
                 (sort->as == DT_SORT_MARKUP && f->any_text)))
        sort = NULL;
    if (sort) {
        dt_status *s = dt_fail(f->fault, NULL, "%s: is %s, not %s", f->path, sort->what, f->wanted);
        return sort->remedy ? dt_suggest(s, "%s", sort->remedy) : s;
    }
    if (!wide) return NULL;
    return dt_suggest(
        dt_fail(f->fault, NULL, "%s: %s text is not supported; save it as UTF-8", f->path, wide),
        "iconv -f %s -t UTF-8 FILE > OUT", wide);
}

/* ---- UTF-8 ---- */

size_t dt_text_valid(const char *text, size_t n) {
    static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t eight;
    uint32_t code;
    for (size_t at = 0, step; at < n; at += step) {
        step = 8;
        if (n - at >= 8 && (memcpy(&eight, text + at, 8), ((eight | (eight - ones)) & highs) == 0))
            continue; /* skips eight bytes of which none is 0 or above 0x7f */
        step = dt_utf8_next(text + at, n - at, &code);
        if (step == 0 || code == 0) return at;
    }
    return n;
}

dt_status *dt_text_check(const dt_text_file *f, const char *text, size_t n, int64_t line) {
    const size_t at = dt_text_valid(text, n);
    size_t begin = 0;
    if (at == n) return NULL;
    for (size_t i = 0; i < at; i++)
        if (text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    const size_t col = dt_utf8_count(text + begin, at - begin) + 1;
    if (text[at] == '\0')
        return dt_suggest(
            dt_fail(f->fault, NULL, "%s:%lld:%zu: NUL byte", f->path, (long long)line, col),
            "the file is binary, not %s", f->wanted);
    return dt_suggest(dt_fail(f->fault, NULL, "%s:%lld:%zu: byte 0x%02x is not UTF-8", f->path,
                              (long long)line, col, (unsigned char)text[at]),
                      "save the file as UTF-8; of Latin-1: iconv -f latin1 -t utf-8 FILE > OUT");
}

dt_status *dt_text_read(const dt_text_file *f, size_t limit, dt_str *out) {
    size_t skip;
    DT_TRY(dt_file_read(f->path, limit, out));
    DT_TRY(dt_text_look(f, dt_str_text(out), out->size, &skip));
    if (skip > 0) {
        out->size -= skip;
        memmove(out->data, out->data + skip, out->size + 1);
    }
    return dt_text_check(f, dt_str_text(out), out->size, 1);
}
