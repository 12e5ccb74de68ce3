/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, extends, chains and reads status objects. report.c prints them.
 *
 * Text is made safe for a terminal when it is added to a status, so the printer only copies it.
 */
#define _GNU_SOURCE /* makes the headers declare memrchr */
#include "base/status.h"

#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/reserve.h"
#include "base/status_impl.h"
#include "base/str.h"

enum {
    LONGEST_TEXT = 4096, /* the most bytes of a text */
};

static const dt_error_row rows[] = {
#define DT_ERROR(id, number, exit_code, kind) {number, exit_code, kind},
#include "base/errors.h"
#undef DT_ERROR
};

const dt_error_row *dt_error_find(int number) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number) return &rows[i];
    return NULL;
}

/* ---- texts ---- */

/* If s has more than LONGEST_TEXT bytes, shortens it to at most that many, the last three of which
 * are "...". Does not cut inside a character. */
static void cut(dt_str *s) {
    if (s->size <= LONGEST_TEXT) return;
    size_t n = LONGEST_TEXT - 3;
    while (n > 0 && ((unsigned char)s->data[n] & 0xc0) == 0x80) n--;
    s->size = n;
    dt_str_puts(s, "...");
}

static char *printable(const char *format, va_list args) {
    dt_str text = {0};
    dt_local_str raw = {0};
    dt_str_vprintf(&raw, format, args);
    dt_str_escaped(&text, dt_str_text(&raw), raw.size, LONGEST_TEXT);
    cut(&text);
    return dt_str_take(&text);
}

/*
 * ---- excerpts ----
 *
 * The line of source that an error is in, and carets below its place. It is cut to a window and
 * made fit for a terminal when the status is made, so that a status stays small however long the
 * line is.
 */

enum {
    WINDOW = 100,       /* number of characters of a source line that an excerpt shows ... */
    WINDOW_BEFORE = 60, /* ... and the most of them that precede the column of the error */
    /* So many bytes always contain a window of characters, so the rest of a line is not read. */
    NEAR = 4 * WINDOW,
};

typedef struct span {
    const char *text;
    size_t size;
} span;

/* Returns the start of a location's line or, in a long line, a position shortly before the
 * location. Returns NULL if the source has no text or fewer lines. Uses the location's byte offset,
 * if it is known: a text may have a million lines, or a line of a million bytes, and ten thousand
 * faults, and reading all of it for each fault would be slow. */
static const char *find_start(const dt_location *at) {
    const char *p = at->source->text, *end = p ? p + at->source->size : NULL;
    if (p && at->offset && at->offset <= at->source->size) {
        const size_t near = at->offset < NEAR ? at->offset : NEAR;
        const char *from = p + at->offset - near, *before = memrchr(from, '\n', near);
        return before ? before + 1 : from;
    }
    for (int i = 1; p && i < at->line; i++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p;
}

/* Returns the line of a source location without its line end; of a long line, the part around the
 * location. The text of the result is NULL if the source has no text or fewer lines. */
static span find_line(const dt_location *at) {
    const char *p = find_start(at), *end = p ? at->source->text + at->source->size : NULL;
    if (!p) return (span){0};
    if (at->offset && at->offset + NEAR < at->source->size)
        end = at->source->text + at->offset + NEAR;
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

/* Adds one character c of the line and, unless `fill` is '\0', as many `fill` to the line below as
 * the character takes columns. Below a tab, a blank `fill` becomes a tab. */
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

/* Returns the byte offset in the line of column `first`. It is counted back from the location if
 * the location's byte offset is known, else forward from the beginning of the line. */
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

/* Sets the excerpt, the window of the line around the location, and the line of blanks and carets
 * below it. */
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
    if (s->carets == 0 && at->col > 0) { /* The location is the end of the line. */
        dt_str_putc(&below, '^');
        s->carets = 1;
    }
    s->excerpt = dt_str_take(&excerpt);
    s->below = dt_str_take(&below);
}

/* Sets file, line, column and excerpt of a status without location; does nothing if `at` or its
 * source is NULL. */
static void set_place(dt_status *s, const dt_location *at) {
    if (!at || !at->source) return;
    s->file = dt_strdup(at->source->name);
    s->line = at->line > 0 ? at->line : 0;
    s->col = at->line > 0 && at->col > 0 ? at->col : 0;
    span line = s->line ? find_line(at) : (span){0};
    if (line.text) set_excerpt(s, line, at);
}

/* ---- creating errors ---- */

static dt_status *create(dt_error id, const dt_location *at) {
    dt_status *s = dt_alloc(sizeof *s);
    s->refs = 1;
    s->row = dt_error_find(id);
    set_place(s, at);
    return s;
}

dt_status *dt_fail(dt_error id, const dt_location *at, const char *format, ...) {
    dt_status *s = create(id, at);
    va_list args;
    va_start(args, format);
    s->text = printable(format, args);
    va_end(args);
    return s;
}

DT_API dt_status *dt_status_create(int number, const char *format, ...) {
    dt_status *s = create(dt_error_find(number) ? (dt_error)number : DT_E_INTERNAL, NULL);
    va_list args;
    va_start(args, format);
    s->text = format ? printable(format, args) : dt_strdup("");
    va_end(args);
    return s;
}

/* Returns the error for `number`, a value of errno; `otherwise` is returned for all values that are
 * not listed here. ENOENT and ENOTDIR mean a missing input (NO_INPUT), unless `otherwise` is
 * CANT_CREATE: when a file is to be created, its parent directory is missing, which gives
 * CANT_CREATE, too. */
static dt_error error_of_errno(int number, dt_error otherwise) {
    switch (number) {
    case ENOENT:
    case ENOTDIR: return otherwise == DT_E_CANT_CREATE ? otherwise : DT_E_NO_INPUT;
    case EACCES:
    case EPERM: return DT_E_PERMISSION;
    case EROFS: return DT_E_CANT_CREATE;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EPIPE: return DT_E_IO;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN: return DT_E_NO_MEMORY;
    default: return otherwise;
    }
}

/* Appends the system's text for errno in the C locale, with a lower-case first letter, as in all
 * messages of dtrain. */
static void add_system_text(dt_str *s, int number) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const char *text = c ? strerror_l(number, c) : "system error";
    size_t from = s->size;
    dt_str_puts(s, text);
    if (s->data[from] >= 'A' && s->data[from] <= 'Z')
        s->data[from] = (char)(s->data[from] - 'A' + 'a');
    if (c) freelocale(c);
}

dt_status *dt_fail_errno(dt_error otherwise, const char *path) {
    int number = errno;
    dt_local_str text = {0};
    dt_status *strange = number == ENOENT ? dt_path_check(path) : NULL;
    if (strange) return strange;
    add_system_text(&text, number);
    return dt_fail(error_of_errno(number, otherwise), NULL, "%s: %s", *path ? path : "''",
                   dt_str_text(&text));
}

/* ---- checks, adding and appending ---- */

dt_status *dt_want(const void *given, const char *call, const char *what) {
    return given ? NULL : dt_fail(DT_E_MISUSE, NULL, "%s got no %s", call, what);
}

dt_status *dt_require(const char *call, const dt_argument *arguments) {
    DT_TRY(dt_status_kept());
    for (const dt_argument *a = arguments; a->what; a++) DT_TRY(dt_want(a->given, call, a->what));
    return NULL;
}

dt_status *dt_want_texts(const char *const *given, int n, const char *call, const char *what) {
    for (int i = 0; i < n; i++) DT_TRY(dt_want(given ? given[i] : NULL, call, what));
    return n < 0 ? dt_fail(DT_E_MISUSE, NULL, "%s got a list of %d for %s", call, n, what) : NULL;
}

dt_status *dt_want_live(const void *handle, const char *call, const char *what) {
    return !handle || dt_live(handle)
               ? NULL
               : dt_fail(DT_E_MISUSE, NULL, "%s got a %s that has been released", call, what);
}

dt_status *dt_note(dt_status *s, const char *format, ...) {
    if (!s) return NULL;
    va_list args;
    va_start(args, format);
    DT_GROW(s->notes, s->notes_cap, s->notes_count + 1);
    s->notes[s->notes_count++] = printable(format, args);
    va_end(args);
    return s;
}

dt_status *dt_suggest(dt_status *s, const char *format, ...) {
    if (!s) return NULL;
    va_list args;
    va_start(args, format);
    free(s->suggestion);
    s->suggestion = printable(format, args);
    va_end(args);
    return s;
}

dt_status *dt_at(dt_status *s, const dt_location *at) {
    for (dt_status *one = s; one; one = one->next)
        if (!one->file) set_place(one, at);
    return s;
}

static void drop_place(dt_status *s) {
    free(s->file);
    free(s->excerpt);
    free(s->below);
    s->file = s->excerpt = s->below = NULL;
    s->line = s->col = s->carets = 0;
}

dt_status *dt_without_place(dt_status *s, const char *source) {
    for (dt_status *one = s; one; one = one->next)
        if (one->file && strcmp(one->file, source) == 0) drop_place(one);
    return s;
}

static void free_one(dt_status *s) {
    for (int i = 0; i < s->notes_count; i++) free(s->notes[i]);
    free(s->notes);
    free(s->text);
    free(s->file);
    free(s->excerpt);
    free(s->below);
    free(s->suggestion);
    DT_RETIRE(s);
}

static bool is_same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether two errors without notes have the same number, text, file, line, column and suggestion,
 * as when two steps of a job read the same input. */
static bool is_same(const dt_status *a, const dt_status *b) {
    return a->row == b->row && a->line == b->line && a->col == b->col && a->notes_count == 0 &&
           b->notes_count == 0 && is_same_text(a->text, b->text) &&
           is_same_text(a->file, b->file) && is_same_text(a->suggestion, b->suggestion);
}

static bool has(const dt_status *list, const dt_status *one) {
    for (; list; list = list->next)
        if (is_same(list, one)) return true;
    return false;
}

void dt_status_append(dt_status **list, dt_status *more) {
    if (!*list || !more) {
        *list = *list ? *list : more;
        return;
    }
    dt_status *head = *list, *last = head;
    int kept = 1;
    for (; last->next; last = last->next) kept++;
    head->dropped += more->dropped;
    for (dt_status *next; more; more = next) {
        next = more->next;
        more->next = NULL;
        if (has(head, more)) {
            free_one(more);
        } else if (kept < DT_MAX_ERRORS) {
            last = last->next = more;
            kept++;
        } else {
            head->dropped++;
            free_one(more);
        }
    }
}

/* ---- queries, freeing, and errors that wait ---- */

int dt_status_dropped(const dt_status *s) { return s ? s->dropped : 0; }

DT_API int dt_status_code(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->row->exit_code : 0;
}

DT_API int dt_status_number(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->row->number : 0;
}

DT_API const char *dt_status_kind(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->row->kind : "";
}

DT_API const char *dt_status_text(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->text : "";
}

DT_API const char *dt_status_file(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->file : NULL;
}

DT_API int dt_status_line(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->line : 0;
}

DT_API int dt_status_column(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->col : 0;
}

DT_API const char *dt_status_suggestion(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->suggestion : NULL;
}

DT_API const dt_status *dt_status_next(const dt_status *s) {
    DT_LIVE(s);
    return s ? s->next : NULL;
}

DT_API int dt_status_count(const dt_status *s) {
    DT_LIVE(s);
    int n = s ? s->dropped : 0;
    for (; s; s = s->next) n++;
    return n;
}

DT_API void dt_status_free(dt_status *s) {
    DT_LIVE(s);
    for (dt_status *next; s; s = next) {
        next = s->next;
        free_one(s);
    }
}

/*
 * Errors of calls that cannot return a status, such as entering a strategy's scope. The error is
 * kept until the next public call of the same thread that can fail returns it.
 */

static _Thread_local dt_status *waiting;

void dt_status_keep(dt_status *s) {
    if (waiting) dt_status_free(s);
    else waiting = s;
}

dt_status *dt_status_kept(void) {
    dt_status *s = waiting;
    waiting = NULL;
    return s ? s : dt_reserve_check();
}
