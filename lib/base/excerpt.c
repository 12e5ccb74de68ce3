/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of source that an error is in, and carets below its place. It is cut to a window and
 * made fit for a terminal when the status is made, so that a status stays small however long the
 * line is.
 */
#define _GNU_SOURCE /* memrchr */
#include <string.h>

#include "base/arena.h"
#include "base/status_impl.h"
#include "base/str.h"

enum {
    WINDOW = 100,       /* characters of a source line that are shown ... */
    WINDOW_BEFORE = 60, /* ... of these at most before the place */
};

typedef struct span {
    const char *text;
    size_t size;
} span;

/* Where the line of a location begins; NULL when there is none. Uses the location's byte offset:
 * a text may have a million lines and ten thousand faults, and counting lines for each would be
 * slow. */
static const char *find_start(const dt_location *at) {
    const char *p = at->source->text, *end = p ? p + at->source->size : NULL;
    if (p && at->offset && at->offset <= at->source->size) {
        const char *before = memrchr(p, '\n', at->offset);
        return before ? before + 1 : p;
    }
    for (int i = 1; p && i < at->line; i++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p;
}

/* The line of a source location, without its end; text NULL if there is none. */
static span find_line(const dt_location *at) {
    const char *p = find_start(at), *end = p ? at->source->text + at->source->size : NULL;
    if (!p) return (span){0};
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    span line = {p, (size_t)((stop ? stop : end) - p)};
    if (line.size && line.text[line.size - 1] == '\r') line.size--;
    return line;
}

static size_t char_length(span line, size_t at) {
    uint32_t code;
    size_t n = dt_utf8_next(line.text + at, line.size - at, &code);
    return n ? n : 1;
}

/* Adds one character of the line, and below it the same number of `fill`; below a tab stands a
 * tab. */
static void add_column(dt_status *s, dt_str *excerpt, dt_str *below, span c, char fill) {
    size_t before = excerpt->size;
    if (*c.text == '\t') dt_str_putc(excerpt, '\t');
    else dt_str_escaped(excerpt, c.text, c.size, 1);
    if (fill == '\0') return;
    size_t columns = dt_utf8_count(excerpt->data + before, excerpt->size - before);
    for (size_t i = 0; i < columns; i++)
        dt_str_putc(below, *c.text == '\t' && fill == ' ' ? '\t' : fill);
    s->carets += fill == '^';
}

/* The offset in the line of column `first`: counted back from the location where its offset is
 * known, else from the beginning of the line. */
static size_t window_start(span line, const dt_location *at, int first) {
    size_t i = at->offset ? at->offset - (size_t)(line.text - at->source->text) : 0;
    if (i > 0 && i <= line.size) {
        for (int col = at->col; col > first && i > 0; col--)
            for (i--; i > 0 && ((unsigned char)line.text[i] & 0xc0) == 0x80;) i--;
        return i;
    }
    i = 0;
    for (int col = 1; col < first && i < line.size; col++) i += char_length(line, i);
    return i;
}

/* Fills in the window of the line around the place, and the line of blanks and carets below it. */
static void set_excerpt(dt_status *s, span line, const dt_location *at) {
    dt_str excerpt = {0}, below = {0};
    int first = at->col > WINDOW_BEFORE ? at->col - WINDOW_BEFORE : 1;
    int width = at->col <= 0 ? 0 : at->width > 0 ? at->width : 1;
    if (line.size <= WINDOW) first = 1;
    int col = first;
    if (first > 1) {
        dt_str_puts(&excerpt, "...");
        dt_str_puts(&below, "   ");
    }
    for (size_t i = window_start(line, at, first), n; i < line.size; i += n, col++) {
        n = char_length(line, i);
        if (col >= first + WINDOW) {
            dt_str_puts(&excerpt, "...");
            break;
        }
        char fill = col < at->col ? ' ' : col - at->col < width ? '^' : '\0';
        add_column(s, &excerpt, &below, (span){line.text + i, n}, fill);
    }
    if (s->carets == 0 && at->col > 0) { /* the place is the end of the line */
        dt_str_putc(&below, '^');
        s->carets = 1;
    }
    s->excerpt = dt_str_take(&excerpt);
    s->below = dt_str_take(&below);
}

void dt_status_set_place(dt_status *s, const dt_location *at) {
    if (!at || !at->source) return;
    s->file = dt_strdup(at->source->name);
    s->line = at->line > 0 ? at->line : 0;
    s->col = at->line > 0 && at->col > 0 ? at->col : 0;
    span line = s->line ? find_line(at) : (span){0};
    if (line.text) set_excerpt(s, line, at);
}
