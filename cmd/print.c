/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what print.h declares. */
#include "print.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

void put_shown(dt_str *to, const char *text) { dt_str_escaped(to, text, strlen(text), SIZE_MAX); }

void put_shown_lines(dt_str *to, const char *text) {
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n\t");
        dt_str_escaped(to, text, n, SIZE_MAX);
        if (text[n]) dt_str_putc(to, text[n++]);
    }
}

void put_word(dt_str *to, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        dt_str_puts(to, word);
        return;
    }
    dt_str_putc(to, '\'');
    for (; *word; word++)
        if (*word == '\'') dt_str_puts(to, "'\\''");
        else dt_str_putc(to, *word);
    dt_str_putc(to, '\'');
}

void put_value(dt_str *to, double value) {
    double size = fabs(value);
    if (isnan(value)) dt_str_puts(to, "n/a");
    else if (isinf(value) || size == 0 || (size >= 0.001 && size < 100000))
        dt_str_printf(to, "%.4f", value);
    else dt_str_printf(to, "%.3e", value);
}

void put_time(dt_str *to, double seconds) {
    if (!(seconds >= 0 && seconds < 1e9)) {
        dt_str_puts(to, "-:--");
        return;
    }
    long all = lround(seconds), hours = all / 3600, minutes = all / 60 % 60;
    if (hours) dt_str_printf(to, "%ld:%02ld:%02ld", hours, minutes, all % 60);
    else dt_str_printf(to, "%ld:%02ld", minutes, all % 60);
}

void json_open(struct json *j) {
    *j = (struct json){.to = {.out = &j->line, .compact = true}};
    dt_json_open(&j->to, NULL, '{');
}

void json_open_event(struct json *j, const char *event) {
    json_open(j);
    dt_json_int(&j->to, "v", 1);
    dt_json_string(&j->to, "event", event);
}

void json_print(struct json *j, struct out *out) {
    dt_json_close(&j->to, '}');
    dt_str_putc(&j->line, '\n');
    out_text(out, dt_str_text(&j->line));
    dt_str_release(&j->line);
}

static void put_position(dt_json *j, const char *key, int value) {
    if (value) dt_json_int(j, key, value);
    else dt_json_null(j, key);
}

void json_warning(dt_json *j, const char *file, const char *message) {
    dt_json_string(j, "file", file);
    dt_json_null(j, "line");
    dt_json_null(j, "column");
    dt_json_null(j, "code");
    dt_json_string(j, "severity", "warning");
    dt_json_string(j, "message", message);
    dt_json_null(j, "suggestion");
}

void json_error(dt_json *j, const dt_status *s) {
    char code[16];
    snprintf(code, sizeof code, "DT%03d", dt_status_number(s));
    dt_json_string(j, "file", dt_status_file(s));
    put_position(j, "line", dt_status_line(s));
    put_position(j, "column", dt_status_column(s));
    dt_json_string(j, "code", code);
    dt_json_string(j, "severity", "error");
    dt_json_string(j, "message", dt_status_text(s));
    dt_json_string(j, "suggestion", dt_status_suggestion(s));
}

/*
 * Breaks lines that are wider than the terminal. The terminal itself would break them in the middle
 * of a word, and put the carets of an error below the wrong part of its line.
 */

enum { LEAST_COLUMNS = 30, BEFORE_CARETS = 12 };

int text_columns(const char *text) { return (int)dt_utf8_count(text, strlen(text)); }

size_t text_bytes_of(const char *text, int columns) {
    size_t i = 0;
    for (; text[i]; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && columns-- == 0) break;
    return i;
}

/* Returns the byte at which to break a line of more than `most` bytes: at the last blank that
 * begins a wide gap, or stands between ',' or ';' and a letter; else at the last blank; else at
 * `most`. Blanks in the first third of `most` do not count. */
static size_t break_at(const char *line, size_t most) {
    size_t gap = 0, blank = 0;
    for (size_t i = 1; i <= most; i++) {
        if (line[i] != ' ' || line[i - 1] == ' ') continue;
        blank = i;
        if (line[i + 1] == ' ' ||
            (strchr(",;", line[i - 1]) && isalpha((unsigned char)line[i + 1])))
            gap = i;
    }
    return gap > most / 3 ? gap : blank > most / 3 ? blank : most;
}

void put_broken(dt_str *to, const char *line, int indent, int columns) {
    int room = columns;
    while (columns >= LEAST_COLUMNS && text_columns(line) > room) {
        size_t lead = strspn(line, " ");
        lead = lead < text_bytes_of(line, room) / 2 ? lead : 0;
        const size_t n = lead + break_at(line + lead, text_bytes_of(line + lead, room - (int)lead));
        dt_str_printf(to, "%.*s\n%*s", (int)n, line, indent, "");
        line += n + strspn(line + n, " ");
        room = columns - indent;
    }
    dt_str_puts(to, line);
}

/* Writes the first `head` bytes of a line, such as the line's number, and of the text that follows
 * as many characters as fit into `columns`, from character `first` on. "..." stands for the
 * characters that are left out before and after. */
static void put_window(dt_str *to, const char *line, size_t head, int first, int columns) {
    const char *from = line + head + text_bytes_of(line + head, first);
    const bool cut = text_columns(from) > columns - (int)head;
    dt_str_printf(to, "%.*s%s", (int)head, line, first ? "..." : "");
    from += first ? text_bytes_of(from, 3) : 0;
    dt_str_printf(to, "%.*s%s\n",
                  (int)text_bytes_of(from, columns - (int)head - (first ? 3 : 0) - (cut ? 3 : 0)),
                  from, cut ? "..." : "");
}

void put_excerpt(dt_str *to, const char *line, const char *below, int columns) {
    const size_t head = strcspn(below, "|") + 2;
    const char *carets = strchr(below, '^');
    const int at = carets ? (int)(carets - below - (long)head) : 0,
              width = carets ? (int)strspn(carets, "^") : 0;
    int first = 0;
    if (text_columns(line) <= columns || columns < LEAST_COLUMNS || strlen(line) < head)
        dt_str_printf(to, "%s\n", line);
    else {
        if (at + width + 3 > columns - (int)head)
            first = at > BEFORE_CARETS ? at - BEFORE_CARETS : 0;
        put_window(to, line, head, first, columns);
    }
    if (carets) {
        dt_local_str t = {0};
        /* Moves the carets to the left, by as many characters as were left out of the line. */
        if (first) dt_str_printf(&t, "%.*s%*s%s", (int)head, below, at - first, "", carets);
        else dt_str_puts(&t, below);
        put_broken(to, dt_str_text(&t), (int)head, columns);
    } else dt_str_puts(to, below);
    dt_str_putc(to, '\n');
}

enum { LONG_LINE = 64, BELOW = 6 };

/* Returns the column where the description begins in " -C, --directory DIR output.dir is ..."; for
 * prose, the indent of the line. */
static int hanging_indent(const char *line, int n) {
    int lead = (int)strspn(line, " ");
    for (int i = lead + 2; i < n; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ') return i;
    return lead;
}

/* Writes words from column `at` on, with further lines indented. A word that is too long is not
 * broken. */
static void put_words(dt_str *to, const char *text, int n, int at, int indent, int columns) {
    for (;;) {
        int end = n, room = columns > at ? columns - at : 1;
        if (n > room)
            for (end = room; end > 0 && text[end] != ' '; end--) continue;
        if (end == 0)
            for (end = 1; end < n && text[end] != ' '; end++) continue;
        int shown = end;
        while (shown > 0 && text[shown - 1] == ' ') shown--;
        dt_str_printf(to, "%.*s\n", shown, text);
        while (end < n && text[end] == ' ') end++;
        text += end;
        n -= end;
        if (n <= 0) return;
        dt_str_printf(to, "%*s", indent, "");
        at = indent;
    }
}

static void wrap_line(dt_str *to, const char *line, int n, int columns) {
    const int lead = (int)strspn(line, " "), indent = hanging_indent(line, n);
    int command = indent;
    while (command > lead && line[command - 1] == ' ') command--;
    if (n <= columns) {
        dt_str_printf(to, "%.*s\n", n, line);
    } else if (indent <= columns / 2) {
        dt_str_printf(to, "%.*s", indent, line);
        put_words(to, line + indent, n - indent, indent, indent, columns);
    } else { /* A command that is too long has its description on the next line. */
        dt_str_printf(to, "%*s", lead, "");
        put_words(to, line + lead, command - lead, lead, lead + BELOW - 2, columns);
        dt_str_printf(to, "%*s", BELOW, "");
        put_words(to, line + indent, n - indent, BELOW, BELOW, columns);
    }
}

/* Whether a line of prose continues in the next line: it is so long that the writer must have
 * broken it there. */
static bool goes_on(const char *line, const char *end) {
    const char *gap = strstr(line, "  "); /* two blanks separate the columns */
    return *line != ' ' && end - line > LONG_LINE && !(gap && gap < end) && *end && end[1] &&
           !strchr(" \n", end[1]);
}

void put_wrapped(dt_str *to, const char *text, int columns) {
    while (*text) {
        dt_local_str line = {0};
        for (bool more = true; more; dt_str_puts(&line, more ? " " : "")) {
            const char *end = text + strcspn(text, "\n");
            more = goes_on(text, end);
            dt_str_add(&line, text, (size_t)(end - text));
            text = *end ? end + 1 : end;
        }
        const char *whole = dt_str_text(&line);
        wrap_line(to, whole, (int)strlen(whole), columns);
    }
}
