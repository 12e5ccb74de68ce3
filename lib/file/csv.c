/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over a record. The first looks for its end, the first line end outside quotes: a
 * doubled quote closes and opens again, so counting quotes is enough, and most bytes are passed
 * over by memchr. The second cuts a complete record into fields in place and reports
 * faults. No record may be longer than 1 MiB, so a file without line ends, or with a quote
 * that never closes, costs no more.
 */
#include "file/csv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "base/text.h"

enum { LONGEST = 1 << 20, PIECE = 1 << 13 };

dt_status *dt_csv_fail(const dt_csv *c, int64_t line, int64_t col, const char *format, ...) {
    dt_str text = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&text, format, args);
    va_end(args);
    dt_status *s = dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%lld: %s", c->path, (long long)line,
                           (long long)col, dt_str_text(&text));
    dt_str_release(&text);
    return s;
}

static dt_text_file text_of(const dt_csv *c) {
    return (dt_text_file){.path = c->path, .wanted = "CSV", .fault = DT_E_DATA_FILE};
}

/* ---- the window ---- */

static dt_status *read_piece(dt_csv *c) {
    char piece[PIECE];
    int64_t got = 0;
    if (c->end) return NULL;
    if (c->at > 0) {
        memmove(c->window.data, c->window.data + c->at, c->window.size - c->at);
        c->window.size -= c->at;
        c->at = 0;
    }
    /* a line of a pipe is there before the next one is written */
    DT_TRY(dt_inflow_some(c->file, piece, PIECE, &got));
    dt_str_add(&c->window, piece, (size_t)got);
    c->end = got == 0;
    return NULL;
}

/* Looks from `*seen` on, behind which an even number of quotes or (*open) an odd one stood. True:
 * *size is the record's, line end included. */
static bool find_end(const dt_csv *c, size_t *seen, bool *open, size_t *size) {
    const char *p = dt_str_text(&c->window) + c->at, *all = p + (c->window.size - c->at),
               *from = p + *seen;
    for (;;) {
        const char *line_end = memchr(from, '\n', (size_t)(all - from)),
                   *stop = line_end ? line_end : all;
        for (const char *quote = from; (quote = memchr(quote, '"', (size_t)(stop - quote)));
             quote++)
            *open = !*open;
        from = line_end ? line_end + 1 : all;
        *seen = (size_t)(from - p);
        *size = *seen;
        if (!line_end || !*open) return line_end != NULL;
    }
}

/* The same where quotes may be escaped, or stand in a comment. */
typedef struct seeker {
    size_t seen;
    bool open, escaped, comment;
} seeker;

static bool find_end_styled(const dt_csv *c, seeker *k, size_t *size) {
    const char *p = dt_str_text(&c->window) + c->at;
    const size_t left = c->window.size - c->at;
    while (k->seen < left) {
        const char x = p[k->seen++];
        const bool escaped = k->escaped;
        k->escaped = false;
        if (x == '\n' && !escaped && (k->comment || !k->open)) {
            *size = k->seen;
            return true;
        }
        if (escaped || k->comment) continue;
        k->escaped = x && x == c->style.escape;
        k->comment = x && x == c->style.comment && !k->open;
        if (x == '"') k->open = !k->open;
    }
    *size = k->seen;
    return false;
}

/* Reads until the window has a whole record of *size bytes; 0: there are no more. A record beyond
 * the limit is cut, for messages. */
static dt_status *fill(dt_csv *c, size_t *size, bool *whole) {
    seeker k = {0};
    for (;;) {
        *whole = (c->styled ? find_end_styled(c, &k, size) : find_end(c, &k.seen, &k.open, size)) ||
                 c->end;
        if (*size > LONGEST) {
            *size = LONGEST;
            *whole = false;
        }
        if (*whole || *size == LONGEST) return NULL;
        DT_TRY(read_piece(c));
    }
}

/* ---- one record ---- */

typedef struct cutter {
    dt_csv *c;
    char *p, *end; /* the rest of the record, without its line end */
    int64_t line, col;
    bool is_cut; /* the record continues after `end` */
} cutter;

static void step(cutter *k) {
    if (*k->p == '\n') {
        k->line++;
        k->col = 0;
    }
    k->col += ((unsigned char)*k->p & 0xc0) != 0x80;
    k->p++;
}

static bool is_escape(const cutter *k) {
    return k->c->style.escape && *k->p == k->c->style.escape && k->p + 1 < k->end;
}

/* Passes over the escape; what follows stands for itself or, as MySQL writes them, for a control
 * character. */
static void unescape(cutter *k) {
    static const char *const controls = "n\nt\tr\r";
    step(k);
    for (const char *x = controls; *x; x += 2)
        if (*k->p == *x) {
            *k->p = x[1];
            break;
        }
}

static bool is_gap(const cutter *k) {
    return k->c->style.blanks ? *k->p == ' ' || *k->p == '\t' : *k->p == k->c->style.delimiter;
}

static void skip_blanks(cutter *k) {
    while (k->c->style.blanks && k->p < k->end && is_gap(k)) step(k);
}

/* The rest of the line is a comment. */
static void drop_comment(cutter *k) {
    if (k->p < k->end && k->c->style.comment && *k->p == k->c->style.comment) k->end = k->p;
}

/* Cuts a field from its opening quote; k is then after the closing one. Doubled quotes become one,
 * in place. */
static dt_status *cut_quoted(cutter *k, dt_csv_field *f) {
    char *to = k->p + 1;
    f->text = to;
    f->quoted = true;
    for (step(k); k->p < k->end; *to++ = *(k->p - 1)) {
        if (is_escape(k)) {
            unescape(k);
        } else if (*k->p == '"') {
            step(k);
            if (k->p == k->end || *k->p != '"') {
                f->size = (size_t)(to - f->text);
                *to = '\0'; /* over a quote */
                return NULL;
            }
        }
        step(k);
    }
    return dt_csv_fail(k->c, f->line, f->col, "quoted field is never closed%s",
                       k->is_cut ? " within 1 MiB" : "");
}

/* A character of one byte that may stand in a field without quotes; the rest is looked at one by
 * one. */
static bool is_plain(char c) { return (unsigned char)(c - ' ') < 0x80 - ' ' && c != '"'; }

static dt_status *stray(const cutter *k) {
    return *k->p == '"'
               ? dt_csv_fail(k->c, k->line, k->col, "stray quote in an unquoted field")
               : dt_csv_fail(k->c, k->line, k->col,
                             "a carriage return without a line feed: lines end with LF or CRLF");
}

/* Of a file with blanks, comments or escapes. \N alone is an empty field, as MySQL writes it. */
static dt_status *cut_styled(cutter *k, dt_csv_field *f) {
    char *to = k->p;
    const char *from = to;
    f->text = to;
    for (; k->p < k->end && !is_gap(k); step(k)) {
        drop_comment(k);
        if (k->p == k->end) break;
        if (is_escape(k)) unescape(k);
        else if (*k->p == '"' || *k->p == '\r') return stray(k);
        *to++ = *k->p;
    }
    const bool is_null = k->p - from == 2 && to - from == 1 && *from == 'N';
    if (is_null) to = k->p - 2;
    f->size = (size_t)(to - from);
    if (to < k->p) *to = '\0';
    return NULL;
}

static dt_status *cut_plain(cutter *k, dt_csv_field *f) {
    const char delimiter = k->c->style.delimiter, *p = k->p, *end = k->end;
    f->text = p;
    while (p < end && *p != delimiter && is_plain(*p)) p++;
    k->p += p - f->text;
    k->col += p - f->text;
    for (; k->p < k->end && *k->p != delimiter; step(k))
        if (*k->p == '"' || *k->p == '\r') return stray(k);
    f->size = (size_t)(k->p - f->text);
    return NULL;
}

/* One field and, where one follows, its delimiter. */
static dt_status *cut_field(cutter *k, bool *more) {
    dt_csv *c = k->c;
    if (c->n == c->cap) DT_GROW(c->field, c->cap, c->n + 1);
    dt_csv_field *f = &c->field[c->n++];
    *f = (dt_csv_field){.line = k->line, .col = k->col};
    const bool is_quoted = k->p < k->end && *k->p == '"';
    DT_TRY(is_quoted ? cut_quoted(k, f) : c->styled ? cut_styled(k, f) : cut_plain(k, f));
    if (c->styled) drop_comment(k);
    *more = k->p < k->end;
    c->end_col = k->col;
    if (*more && *k->p != c->style.delimiter && !is_gap(k))
        return dt_csv_fail(c, k->line, k->col, "text follows a quoted field");
    char *const gap = k->p;
    if (*more) step(k);
    *gap = '\0'; /* over the delimiter, or the line end */
    if (!c->styled) return NULL;
    skip_blanks(k);
    if (c->style.blanks) {
        drop_comment(k);
        *more = k->p < k->end;
    }
    return NULL;
}

/* The size without a line end. A file may end without one; then the window's NUL follows. */
static size_t without_line_end(const char *p, size_t size) {
    if (size > 0 && p[size - 1] == '\n') size -= size > 1 && p[size - 2] == '\r' ? 2 : 1;
    return size;
}

static dt_status *cut(dt_csv *c, size_t size) {
    char *p = c->window.data + c->at;
    cutter k = {c, p, p + without_line_end(p, size), c->line, 1, false};
    bool more = true;
    const dt_text_file text = text_of(c);
    dt_status *s = dt_text_check(&text, p, size, c->line);
    skip_blanks(&k);
    for (c->n = 0; more && !s;) s = cut_field(&k, &more);
    return s;
}

static int64_t count_lines(const char *p, size_t n) {
    int64_t lines = 0;
    for (const char *at = p; (at = memchr(at, '\n', n - (size_t)(at - p))); at++) lines++;
    return lines;
}

/* Cuts the first MiB of a record that is too long, because the likelier fault is a quote that never
 * closes. */
static dt_status *too_long(dt_csv *c) {
    const dt_text_file text = text_of(c);
    char *p = c->window.data + c->at;
    size_t size = LONGEST;
    while (size > 0 && ((unsigned char)p[size] & 0xc0) == 0x80) size--;
    DT_TRY(dt_text_check(&text, p, size, c->line));
    cutter k = {c, p, p + LONGEST, c->line, 1, true};
    bool more = true;
    for (c->n = 0; more;) DT_TRY(cut_field(&k, &more));
    return dt_csv_fail(c, c->line, 1, "line longer than 1 MiB");
}

/* Passes over a line, whatever it has. */
static dt_status *skip_line(dt_csv *c) {
    for (size_t seen = 0;;) {
        const char *p = dt_str_text(&c->window) + c->at;
        const size_t left = c->window.size - c->at;
        const char *end = left > seen ? memchr(p + seen, '\n', left - seen) : NULL;
        if (end || c->end) {
            const size_t n = end ? (size_t)(end + 1 - p) : left;
            c->at += n;
            c->offset += (int64_t)n;
            c->line += end != NULL;
            return NULL;
        }
        if (left > LONGEST) return dt_csv_fail(c, c->line, 1, "line longer than 1 MiB");
        seen = left;
        DT_TRY(read_piece(c));
    }
}

/* What may stand before a comment that has its own line: a delimiter there is an empty field. */
static const char *blanks_of(const dt_csv_style *s) {
    if (s->blanks || (s->delimiter != ' ' && s->delimiter != '\t')) return " \t";
    return s->delimiter == ' ' ? "\t" : " ";
}

/* Passes over lines before the header, and over those that are blank or a comment as a whole. */
static dt_status *skip_lines(dt_csv *c) {
    const char *const blank = blanks_of(&c->style);
    for (; c->style.skip_lines > 0; c->style.skip_lines--) DT_TRY(skip_line(c));
    while (c->styled) {
        if (c->at == c->window.size) DT_TRY(read_piece(c));
        const char *p = dt_str_text(&c->window) + c->at;
        size_t blanks = strspn(p, blank);
        while (c->at + blanks == c->window.size && !c->end && blanks < PIECE) {
            DT_TRY(read_piece(c));
            p = dt_str_text(&c->window) + c->at;
            blanks = strspn(p, blank);
        }
        const bool is_blank = c->style.blanks && p[blanks] && strchr("\r\n", p[blanks]);
        if (c->at == c->window.size ||
            !(is_blank || (c->style.comment && p[blanks] == c->style.comment)))
            return NULL;
        DT_TRY(skip_line(c));
    }
    return NULL;
}

dt_status *dt_csv_next(dt_csv *c, bool *more) {
    size_t size;
    bool whole, empty;
    DT_TRY(dt_reserve_check());
    do {
        if (c->styled || c->style.skip_lines > 0) DT_TRY(skip_lines(c));
        DT_TRY(fill(c, &size, &whole));
        *more = size > 0;
        if (!whole) return too_long(c);
        if (!*more) return NULL;
        const char *p = c->window.data + c->at;
        const int64_t lines = count_lines(p, size);
        empty = without_line_end(p, size) == 0;
        c->record_offset = c->offset;
        c->record_size = (int64_t)size;
        if (!empty) DT_TRY(cut(c, size));
        c->at += size;
        c->offset += (int64_t)size;
        c->line += lines;
    } while (empty);
    return NULL;
}

/* ---- opening ---- */

/* Whether a text begins like JSON: '[' or '{', then a quote or '{'. */
static bool is_json(const char *p, const char *end) {
    char seen[2] = "";
    int n = 0;
    for (; p < end && n < 2; p++)
        if (!strchr(" \t\r\n", *p) || !*p) seen[n++] = *p;
    return (seen[0] == '{' || seen[0] == '[') && (seen[1] == '"' || seen[1] == '{');
}

/* Spreadsheets write "sep=;" into a first line. */
static dt_status *take_separator(dt_csv *c) {
    const char *p = dt_str_text(&c->window) + c->at;
    if (strncmp(p, "sep=", 4) != 0 || !p[4] || (p[5] != '\n' && strncmp(p + 5, "\r\n", 2) != 0))
        return NULL;
    if (!c->style.is_given && (unsigned char)p[4] < 0x80) c->style.delimiter = p[4];
    return skip_line(c);
}

static dt_csv made(const char *path, const dt_csv_style *style) {
    return (dt_csv){.path = path,
                    .style = *style,
                    .styled = style->blanks || style->comment || style->escape,
                    .line = 1};
}

static dt_status *begin(dt_csv *c) {
    const dt_text_file text = text_of(c);
    if (dt_inflow_size(c->file) == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", c->path);
    DT_TRY(read_piece(c));
    DT_TRY(dt_text_look(&text, dt_str_text(&c->window), c->window.size, &c->at));
    c->offset = (int64_t)c->at;
    if (c->at == c->window.size) /* a byte order mark, and nothing behind it */
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", c->path);
    const char *first = dt_str_text(&c->window);
    if (is_json(first + c->at, first + c->window.size))
        return dt_suggest(
            dt_fail(DT_E_DATA_FILE, NULL, "%s: is JSON, not CSV", c->path),
            "convert it, such as with pandas: read_json(FILE).to_csv(OUT, index=False)");
    return take_separator(c);
}

dt_status *dt_csv_open(dt_csv *c, const char *path, const dt_csv_style *style) {
    *c = made(path, style);
    DT_TRY(dt_inflow_open(&c->file, path));
    return begin(c);
}

dt_status *dt_csv_take(dt_csv *c, dt_inflow *file, const char *path, const dt_csv_style *style) {
    *c = made(path, style);
    c->file = file;
    return begin(c);
}

void dt_csv_hold(dt_csv *c, const char *path, const dt_csv_style *style, const void *bytes,
                 size_t n) {
    *c = made(path, style);
    c->style.skip_lines = 0;
    c->end = true;
    dt_str_add(&c->window, bytes, n);
}

void dt_csv_close(dt_csv *c) {
    dt_inflow_close(c->file);
    dt_str_release(&c->window);
    free(c->field);
    *c = (dt_csv){0};
}
