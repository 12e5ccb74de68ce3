/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a CSV record in two passes. The first pass looks for its end: the first line end outside
 * quotes. A doubled quote closes and reopens a quoted field, so counting quotes is enough, and
 * memchr skips most bytes; files with blanks as delimiters, escapes or comments are read byte by
 * byte. The second pass cuts the complete record into fields in place and reports faults. A record
 * has at most 1 MiB, so a file without line ends, or with a quote that never closes, does not fill
 * the memory.
 */
#include "file/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "base/text.h"
#include "file/other_tables.h"

enum { LONGEST = 1 << 20, PIECE = 1 << 13 };

dt_status *dt_csv_fail(const dt_csv *c, int64_t line, int64_t col, const char *format, ...) {
    DT_FORMATTED(text, format);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%lld: %s", c->path, (long long)line,
                   (long long)col, dt_str_text(&text));
}

static dt_text_file text_of(const dt_csv *c) {
    return (dt_text_file){.path = c->path, .wanted = "CSV", .fault = DT_E_DATA_FILE};
}

/* ---- the window ---- */

/* Replaces each CR by LF, for files whose lines end with CR. No byte moves. */
static void make_feeds(char *p, size_t n) {
    for (char *end = p + n; (p = memchr(p, '\r', (size_t)(end - p))); p++) *p = '\n';
}

/* Whether a file's first bytes have line ends, and all line ends outside of quotes are CR. A CR as
 * the last byte does not count, since it may belong to a CRLF. */
static bool has_returns(const char *p, size_t n) {
    bool open = false, any = false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') open = !open;
        else if (!open && p[i] == '\n') return false;
        else any |= !open && p[i] == '\r' && i + 1 < n;
    }
    return any;
}

static dt_status *read_piece(dt_csv *c) {
    char piece[PIECE];
    int64_t got = 0;
    if (c->end) return NULL;
    if (c->at > 0) {
        memmove(c->window.data, c->window.data + c->at, c->window.size - c->at);
        c->window.size -= c->at;
        c->at = 0;
    }
    /* a line that has arrived in a pipe is read without waiting for the next one */
    DT_TRY(dt_inflow_some(c->file, piece, PIECE, &got));
    if (c->style.returns) make_feeds(piece, (size_t)got);
    dt_str_add(&c->window, piece, (size_t)got);
    c->end = got == 0;
    return NULL;
}

/* Looks for the end of a record, continuing *seen bytes after its beginning. *open: the number of
 * quotes in these bytes is odd. Returns true if the end was found; *size is then the size of the
 * record with its line end, else that of all bytes in the window. */
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

/* State of find_end_styled, which finds the end if quotes may be escaped or in comments. */
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

/* Reads until the window has a complete record of *size bytes; 0: the end of the file. If a record
 * is longer than 1 MiB, *whole is false and *size is 1 MiB, so that a message can be made. */
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

/* ---- records ---- */

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

/* Skips an escape character. The next character stands for itself or, as in MySQL's files, for a
 * control character. */
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

/* Ends the record here if a comment begins. */
static void drop_comment(cutter *k) {
    if (k->p < k->end && k->c->style.comment && *k->p == k->c->style.comment) k->end = k->p;
}

/* Cuts a field from its opening quote and stops after the closing one. A doubled quote becomes one
 * quote, in place. */
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
                *to = '\0'; /* at or before the closing quote */
                return NULL;
            }
        }
        step(k);
    }
    return dt_csv_fail(k->c, f->line, f->col, "quoted field is never closed%s",
                       k->is_cut ? " within 1 MiB" : "");
}

/* Whether a single-byte character can be in an unquoted field without a closer look; other
 * characters go through `step`. */
static bool is_plain(char c) { return (unsigned char)(c - ' ') < 0x80 - ' ' && c != '"'; }

static dt_status *stray(const cutter *k) {
    return *k->p == '"'
               ? dt_suggest(
                     dt_csv_fail(k->c, k->line, k->col, "stray quote in an unquoted field"),
                     "a field with quotes is quoted, and its quotes are doubled: \"a 6\"\" pipe\"")
               : dt_csv_fail(k->c, k->line, k->col,
                             "a carriage return without a line feed: lines end with LF or CRLF");
}

/* Cuts an unquoted field of a file with blanks, comments or escapes. \N alone is an empty field, as
 * MySQL writes it. */
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

static dt_status *text_follows(const cutter *k, const dt_csv_field *f) {
    dt_status *s = dt_csv_fail(k->c, k->line, k->col, "text follows a quoted field");
    return f->size > 0 && f->text[f->size - 1] == '\\'
               ? dt_suggest(s, "if quotes are written \\\", set dataset.escapechar: \"\\\\\"")
               : s;
}

/* Skips spaces and tabs between a delimiter and a quote, as in: 1, "a, b" , 2. They are skipped
 * only if `wanted` follows: the quote or the delimiter; the end of the record counts as a
 * delimiter. */
static void skip_to(cutter *k, char wanted) {
    const char delimiter = k->c->style.delimiter, *p = k->p;
    while (p < k->end && (*p == ' ' || *p == '\t') && *p != delimiter) p++;
    const bool is_there = p < k->end ? *p == wanted : wanted == delimiter;
    while (is_there && k->p < p) step(k);
}

/* Cuts one field and, if another field follows, the delimiter. */
static dt_status *cut_field(cutter *k, bool *more) {
    dt_csv *c = k->c;
    if (!c->style.blanks) skip_to(k, '"');
    if (c->n == c->cap) DT_GROW(c->field, c->cap, c->n + 1);
    dt_csv_field *f = &c->field[c->n++];
    *f = (dt_csv_field){.line = k->line, .col = k->col};
    const bool is_quoted = k->p < k->end && *k->p == '"';
    DT_TRY(is_quoted ? cut_quoted(k, f) : c->styled ? cut_styled(k, f) : cut_plain(k, f));
    if (is_quoted && !c->style.blanks) skip_to(k, c->style.delimiter);
    if (c->styled) drop_comment(k);
    *more = k->p < k->end;
    c->end_col = k->col;
    if (*more && *k->p != c->style.delimiter && !is_gap(k)) return text_follows(k, f);
    char *const gap = k->p;
    if (*more) step(k);
    /* ends the field's text; overwrites the delimiter, or what follows the last field */
    *gap = '\0';
    if (!c->styled) return NULL;
    skip_blanks(k);
    if (c->style.blanks) {
        drop_comment(k);
        *more = k->p < k->end;
    }
    return NULL;
}

/* Returns the size of a record without its line end. The last record of a file may have none; the
 * window's NUL follows it. */
static size_t without_line_end(const char *p, size_t size) {
    if (size > 0 && p[size - 1] == '\n') size -= size > 1 && p[size - 2] == '\r' ? 2 : 1;
    return size;
}

/* Cuts a record into fields. *first: nothing after the record's first line was cut, so the other
 * lines are unchanged. */
static dt_status *cut(dt_csv *c, size_t size, bool *first) {
    char *p = c->window.data + c->at;
    cutter k = {c, p, p + without_line_end(p, size), c->line, 1, false};
    bool more = true;
    const dt_text_file text = text_of(c);
    dt_status *s = dt_text_check(&text, p, size, c->line);
    skip_blanks(&k);
    for (c->n = 0; more && !s;) s = cut_field(&k, &more);
    *first = k.line == c->line;
    return s;
}

static int64_t count_lines(const char *p, size_t n) {
    int64_t lines = 0;
    for (const char *at = p; (at = memchr(at, '\n', n - (size_t)(at - p))); at++) lines++;
    return lines;
}

/* Reports a record that is too long. Cuts its first MiB into fields, because the likely fault is a
 * quote that never closes. */
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

/* Skips a line of at most 1 MiB, whatever it contains. */
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

/* Returns the blanks that may precede a comment on a line of its own. A delimiter of one space or
 * tab is not among them, because it would end an empty field. */
static const char *blanks_of(const dt_csv_style *s) {
    if (s->blanks || (s->delimiter != ' ' && s->delimiter != '\t')) return " \t";
    return s->delimiter == ' ' ? "\t" : " ";
}

/* Skips style.skip_lines lines, then lines that are only a comment and, if the style has `blanks`,
 * blank lines. */
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
        const char *end = memchr(p, '\n', size);
        const size_t line = end ? (size_t)(end - p) + 1 : size;
        bool first = false;
        dt_status *bad = empty ? NULL : cut(c, size, &first);
        /* Readers may continue after a fault. If it stopped the cutting in the first line, as a
         * stray quote there does, only this line is skipped, and the next lines are read as
         * records. */
        const bool one = bad && first && lines > 1;
        c->at += one ? line : size;
        c->offset += (int64_t)(one ? line : size);
        c->line += one ? 1 : lines;
        if (bad) return bad;
    } while (empty);
    return NULL;
}

void dt_csv_even(dt_csv *c, int wanted, bool open_end) {
    if (c->n == wanted + 1 && c->field[wanted].size == 0 && !c->field[wanted].quoted) c->n = wanted;
    if (!open_end || c->n != wanted - 1 || c->n == 0) return;
    DT_GROW(c->field, c->cap, wanted);
    c->field[c->n] = (dt_csv_field){.text = "", .line = c->field[c->n - 1].line, .col = c->end_col};
    c->n = wanted;
}

/* ---- opening and closing ---- */

/* Whether a text begins like JSON: '[' or '{', then a quote or '{'. */
static bool is_json(const char *p, const char *end) {
    char seen[2] = "";
    int n = 0;
    for (; p < end && n < 2; p++)
        if (!strchr(" \t\r\n", *p) || !*p) seen[n++] = *p;
    return (seen[0] == '{' || seen[0] == '[') && (seen[1] == '"' || seen[1] == '{');
}

/* If the first line is "sep=;", which spreadsheets write, skips it and, unless the job gives the
 * delimiter, takes the delimiter from it. */
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

/* Reads until the window shows how the first line ends. */
static dt_status *read_line(dt_csv *c) {
    const dt_str *w = &c->window;
    do DT_TRY(read_piece(c));
    while (!c->end && w->size <= LONGEST && !memchr(w->data, '\n', w->size) &&
           !memchr(w->data, '\r', w->size - 1));
    return NULL;
}

static dt_status *begin(dt_csv *c) {
    const dt_text_file text = text_of(c);
    if (dt_inflow_size(c->file) == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", c->path);
    DT_TRY(read_line(c));
    DT_TRY(dt_text_look(&text, dt_str_text(&c->window), c->window.size, &c->at));
    c->offset = (int64_t)c->at;
    c->style.returns = has_returns(dt_str_text(&c->window), c->window.size);
    if (c->style.returns) make_feeds(c->window.data, c->window.size);
    if (c->at == c->window.size) /* the file is only a byte order mark */
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", c->path);
    const char *first = dt_str_text(&c->window);
    if (is_json(first + c->at, first + c->window.size))
        return dt_suggest(
            dt_fail(DT_E_DATA_FILE, NULL, "%s: is JSON, not CSV", c->path),
            "convert it, such as with pandas: read_json(FILE).to_csv(OUT, index=False)");
    if (!c->style.blanks && c->style.delimiter != ' ' && c->style.skip_lines == 0)
        DT_TRY(dt_other_table_look(c->path, first + c->at, c->window.size - c->at));
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
    if (style->returns) make_feeds(c->window.data, n);
}

void dt_csv_close(dt_csv *c) {
    dt_inflow_close(c->file);
    dt_str_release(&c->window);
    free(c->field);
    *c = (dt_csv){0};
}
