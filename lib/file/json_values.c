/* SPDX-License-Identifier: Apache-2.0 */
/* See json_values.h. The window grows until it has a complete row; the search for the row's end
 * continues where it stopped. */
#include "file/json_values.h"

#include <string.h>

#include "base/reserve.h"
#include "base/text.h"
#include "file/json_text.h"

#define LONGEST ((size_t)64 << 20)

enum { PIECE = 1 << 16 };

static dt_text_file text_of(const dt_json_values *v) {
    return (dt_text_file){
        .path = v->path, .wanted = "JSON lines", .fault = DT_E_DATA_FILE, .any_text = true};
}

/* ---- locations ---- */

static void pass(const char *p, const char *to, int64_t *line, int64_t *col) {
    for (; p < to; p++) {
        if (*p == '\n') {
            ++*line;
            *col = 0;
        }
        *col += ((unsigned char)*p & 0xc0) != 0x80;
    }
}

dt_status *dt_json_fail(const dt_json_place *row, const char *p, const char *format, ...) {
    int64_t line = row->line, col = row->col;
    DT_FORMATTED(text, format);
    pass(row->text, p, &line, &col);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%lld: %s", row->path, (long long)line,
                   (long long)col, dt_str_text(&text));
}

/* Reports a fault between rows, at the front of the window. */
static dt_status *fail_here(const dt_json_values *v, const char *what) {
    return dt_fail(DT_E_DATA_FILE, NULL, "%s:%lld:%lld: not JSON: %s", v->path, (long long)v->line,
                   (long long)v->col, what);
}

/* ---- the window ---- */

static const char *front(const dt_json_values *v) { return dt_str_text(&v->window) + v->at; }
static size_t left(const dt_json_values *v) { return v->window.size - v->at; }

/* Reads more bytes into the window: of a pipe those that have arrived, so that a row is read before
 * the next one is written. */
static dt_status *refill(dt_json_values *v) {
    int64_t got = 0;
    if (left(v) > LONGEST)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s:%lld: row longer than %d MiB", v->path,
                       (long long)v->line, (int)(LONGEST >> 20));
    if (v->at > 0) {
        memmove(v->window.data, v->window.data + v->at, left(v));
        v->window.size -= v->at;
        v->at = 0;
    }
    dt_str_reserve(&v->window, PIECE);
    DT_TRY(dt_inflow_some(v->file, v->window.data + v->window.size, PIECE, &got));
    v->window.size += (size_t)got;
    v->window.data[v->window.size] = '\0';
    v->end = got == 0;
    return NULL;
}

static void advance(dt_json_values *v, size_t n) {
    const char *p = front(v);
    pass(p, p + n, &v->line, &v->col);
    v->at += n;
    v->offset += (int64_t)n;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Finds the first character that is not blank at or after position *i, and extends the window to
 * it. *out is NUL at the end. */
static dt_status *peek_behind(dt_json_values *v, size_t *i, char *out) {
    for (;; ++*i) {
        while (*i >= left(v) && !v->end) DT_TRY(refill(v));
        *out = *i < left(v) ? front(v)[*i] : '\0';
        if (*i >= left(v) || !is_blank(*out)) return NULL;
    }
}

static dt_status *skip_blanks(dt_json_values *v, char *next) {
    do {
        size_t n = 0;
        while (n < left(v) && is_blank(front(v)[n])) n++;
        advance(v, n);
        if (left(v) == 0 && !v->end) DT_TRY(refill(v));
    } while (left(v) > 0 ? is_blank(*front(v)) : !v->end);
    *next = left(v) > 0 ? *front(v) : '\0';
    return NULL;
}

/* ---- the end of a value ---- */

typedef struct scan {
    size_t seen;
    int depth;
    uint64_t braces; /* bit d: the value that begins at depth d is an object, not a list */
    bool text, escaped, word;
    bool lines;     /* the value ends at the end of its line */
    int64_t values; /* number of numbers, words and strings so far */
} scan;

/* Scans a character of a string. Returns true if the value ends here; a line end is a fault and
 * ends the value. */
static bool take_text(scan *s, char c) {
    if (s->escaped) s->escaped = false;
    else if (c == '\\') s->escaped = true;
    else if (c == '"') s->text = false;
    return c == '\n' || (!s->text && s->depth == 0);
}

/* Scans a bracket. Returns true if the value ends here, complete or with a fault. */
static bool take_bracket(scan *s, char c) {
    const bool brace = c == '{' || c == '}';
    s->word = false;
    if (c == '[' || c == '{') {
        if (s->depth == DT_JSON_DEEPEST) return true;
        s->braces = (s->braces & ~((uint64_t)1 << s->depth)) | (uint64_t)brace << s->depth;
        s->depth++;
        return false;
    }
    return s->depth == 0 || (s->braces >> (s->depth - 1) & 1) != brace || --s->depth == 0;
}

/* Scans the value that begins at p up to its end. Returns false if it continues after the n
 * bytes. */
static bool find_end(scan *s, const char *p, size_t n) {
    while (s->seen < n) {
        const char c = p[s->seen];
        const bool separates = is_blank(c) || c == ',' || c == ':' || c == ']' || c == '}';
        if (s->depth == 0 && s->word && separates) return true;
        s->seen++;
        if (s->lines && c == '\n') return true;
        if (s->text) {
            if (take_text(s, c)) return true;
        } else if (strchr("[]{}", c) && c) {
            if (take_bracket(s, c)) return true;
        } else if (separates) {
            s->word = false;
            if (s->depth == 0) return true;
        } else if (c == '"') {
            s->text = true;
            s->values++;
        } else if (!s->word) {
            s->word = true;
            s->values++;
        }
    }
    return false;
}

/* Finds the end of the value at position i of the window. */
static dt_status *find_value(dt_json_values *v, size_t i, scan *s) {
    *s = (scan){.lines = v->lines && !v->list};
    while (!find_end(s, front(v) + i, left(v) - i) && !v->end) DT_TRY(refill(v));
    return NULL;
}

/* ---- the front of the file, and lists of rows ---- */

/* Sets *yes to whether the list at the front of the file is a list of rows. It always is if rows
 * are objects (v->values < 0). Otherwise it is one if its first item is an object, or has exactly
 * v->values values and another item follows; an empty list is one if v->values is 0. */
static dt_status *is_list_of_rows(dt_json_values *v, bool *yes) {
    size_t i = 1;
    char c;
    scan s;
    DT_TRY(peek_behind(v, &i, &c));
    *yes = c == '{' || v->values < 0 || (c == ']' && v->values == 0);
    if (*yes || c == ']' || c == '\0') return NULL;
    DT_TRY(find_value(v, i, &s));
    i += s.seen;
    DT_TRY(peek_behind(v, &i, &c));
    *yes = s.values == v->values && c == ',';
    return NULL;
}

static dt_status *begin(dt_json_values *v) {
    const dt_text_file text = text_of(v);
    char c;
    size_t mark = 0;
    v->begun = true;
    v->line = v->col = 1;
    while (!v->end && (left(v) == 0 || (left(v) < 3 && *front(v) == '\xef'))) DT_TRY(refill(v));
    DT_TRY(dt_text_look(&text, front(v), left(v), &mark));
    v->at += mark;
    v->offset += (int64_t)mark;
    DT_TRY(skip_blanks(v, &c));
    if (c == '[') DT_TRY(is_list_of_rows(v, &v->list));
    if (v->list) advance(v, 1);
    return NULL;
}

/* Goes to the next item of the list of rows; *more false: the list and the file end here. */
static dt_status *next_item(dt_json_values *v, bool *more) {
    char c;
    DT_TRY(skip_blanks(v, &c));
    if (c == ']') {
        advance(v, 1);
        DT_TRY(skip_blanks(v, &c));
        *more = false;
        return c ? fail_here(v, "text follows the list of rows") : NULL;
    }
    *more = true;
    if (v->items == 0) return NULL;
    if (c != ',') return fail_here(v, c ? "expected ',' or ']'" : "the list is not closed");
    advance(v, 1);
    return NULL;
}

/* ---- rows ---- */

static dt_status *check_text(const dt_json_values *v) {
    const size_t valid = dt_text_valid(v->text, v->size);
    if (valid == v->size) return NULL;
    const dt_json_place row = {v->path, v->text, v->row_line, v->row_col};
    const char *p = v->text + valid;
    if (*p == '\0')
        return dt_suggest(dt_json_fail(&row, p, "NUL byte"), "the file is binary, not JSON lines");
    return dt_suggest(dt_json_fail(&row, p, "byte 0x%02x is not UTF-8", (unsigned char)*p),
                      "save the file as UTF-8; of Latin-1: iconv -f latin1 -t utf-8 FILE > OUT");
}

dt_status *dt_json_values_next(dt_json_values *v, bool *more) {
    scan s;
    char c;
    DT_TRY(dt_reserve_check());
    if (!v->begun) DT_TRY(begin(v));
    *more = true;
    if (v->list) DT_TRY(next_item(v, more));
    if (!*more) return NULL;
    DT_TRY(skip_blanks(v, &c));
    if (left(v) == 0 && v->list) return fail_here(v, "the list is not closed");
    *more = left(v) > 0;
    if (!*more) return NULL;
    DT_TRY(find_value(v, 0, &s));
    v->row_line = v->line;
    v->row_col = v->col;
    v->row_offset = v->offset;
    v->text = front(v);
    v->size = s.seen;
    v->items++;
    /* Done before the check, because a reader may continue after a row with an error. */
    advance(v, s.seen);
    return check_text(v);
}

dt_status *dt_json_values_skip_line(dt_json_values *v) {
    if (v->size > 0 && v->text[v->size - 1] == '\n') return NULL;
    for (;;) {
        const char *p = front(v), *end = left(v) > 0 ? memchr(p, '\n', left(v)) : NULL;
        advance(v, end ? (size_t)(end + 1 - p) : left(v));
        if (end || v->end) return NULL;
        DT_TRY(refill(v));
    }
}

bool dt_json_values_hold(const dt_json_values *v) {
    const char *p = front(v), *end = p + left(v);
    scan s = {.lines = v->lines && !v->list};
    while (p < end && (is_blank(*p) || (v->list && *p == ','))) p++;
    return p < end && !(v->list && *p == ']') && find_end(&s, p, (size_t)(end - p));
}

void dt_json_values_release(dt_json_values *v) { dt_str_release(&v->window); }
