/* SPDX-License-Identifier: Apache-2.0 */
/* See text.h. */
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void no_memory(void) {
    fputs("dtrain: error: out of memory [DT115]\n", stderr);
    exit(71);
}

void text_open(struct text *t) {
    *t = (struct text){0};
    t->to = open_memstream(&t->bytes, &t->size);
    if (!t->to) no_memory();
}

const char *text_bytes(struct text *t) {
    if (fflush(t->to) != 0 || !t->bytes) no_memory();
    return t->bytes;
}

void text_close(struct text *t) {
    fclose(t->to);
    free(t->bytes);
}

char *text_copy(const char *text) {
    char *copy = strdup(text);
    if (!copy) no_memory();
    return copy;
}

void *grow(void *old, size_t size) {
    void *larger = realloc(old, size);
    if (!larger) no_memory();
    return larger;
}

/* A first byte says how many follow and the smallest code that needs so many: a longer form than
 * needed is no UTF-8. */
size_t text_next(const char *text, uint32_t *code) {
    const unsigned char *p = (const unsigned char *)text;
    size_t more = *p < 0x80 ? 0 : *p < 0xc2 ? 9 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : *p < 0xf5 ? 3 : 9;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (more == 9) return 0;
    *code = more ? *p & (0x3fu >> more) : *p;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code < least[more] || *code > 0x10ffff || surrogate ? 0 : more + 1;
}

static void put_escape(FILE *to, uint32_t code) {
    fprintf(to, code < 0x80 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

/* What may stay is written in one piece. */
static void put_filtered(FILE *to, const char *text, const char *kept) {
    for (const char *plain = text;; text = plain) {
        uint32_t code = 0;
        size_t n = 0;
        while (*plain && (n = text_next(plain, &code)) > 0 &&
               (!dt_is_unseen(code) || (n == 1 && strchr(kept, *plain))))
            plain += n;
        fwrite(text, 1, (size_t)(plain - text), to);
        if (!*plain) return;
        if (n) put_escape(to, code);
        else fprintf(to, "\\x%02x", (unsigned)(unsigned char)*plain);
        plain += n ? n : 1;
    }
}

void put_shown(FILE *to, const char *text) { put_filtered(to, text, ""); }

void put_shown_lines(FILE *to, const char *text) { put_filtered(to, text, "\n\t"); }

void put_word(FILE *to, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, to);
    fputc('\'', to);
}

void put_grouped(FILE *to, int64_t n) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < length; i++) {
        fputc(digits[i], to);
        if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0) fputc(',', to);
    }
}

void put_bytes(FILE *to, double bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    for (; bytes >= 1024 && i + 1 < sizeof unit / sizeof *unit; i++) bytes /= 1024;
    fprintf(to, "%.*f %s", i ? 1 : 0, bytes, unit[i]);
}

void put_value(FILE *to, double value) {
    double size = fabs(value);
    if (isnan(value)) fputs("n/a", to);
    else if (isinf(value) || size == 0 || (size >= 0.001 && size < 100000))
        fprintf(to, "%.4f", value);
    else fprintf(to, "%.3e", value);
}

void put_time(FILE *to, double seconds) {
    if (!(seconds >= 0 && seconds < 1e9)) {
        fputs("-:--", to);
        return;
    }
    long all = lround(seconds), hours = all / 3600, minutes = all / 60 % 60;
    if (hours) fprintf(to, "%ld:%02ld:%02ld", hours, minutes, all % 60);
    else fprintf(to, "%ld:%02ld", minutes, all % 60);
}

/* No locale is ever set in this program, so printf and strtod write and read a point. */
void put_shortest(FILE *to, double value) {
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    fputs(digits, to);
}

enum { LONG_LINE = 64, BELOW = 6 };

/* Where the description of "  -C, --directory DIR     output.dir is ..." begins; the indent of a
 * line that is prose. */
static int hanging_indent(const char *line, int n) {
    int lead = (int)strspn(line, " ");
    for (int i = lead + 2; i < n; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ') return i;
    return lead;
}

/* Words from column `at` on; further lines are indented. A word that is too long stays whole. */
static void put_words(FILE *to, const char *text, int n, int at, int indent, int columns) {
    for (;;) {
        int end = n, room = columns > at ? columns - at : 1;
        if (n > room)
            for (end = room; end > 0 && text[end] != ' '; end--) continue;
        if (end == 0)
            for (end = 1; end < n && text[end] != ' '; end++) continue;
        int shown = end;
        while (shown > 0 && text[shown - 1] == ' ') shown--;
        fprintf(to, "%.*s\n", shown, text);
        while (end < n && text[end] == ' ') end++;
        text += end;
        n -= end;
        if (n <= 0) return;
        fprintf(to, "%*s", indent, "");
        at = indent;
    }
}

static void wrap_line(FILE *to, const char *line, int n, int columns) {
    const int lead = (int)strspn(line, " "), indent = hanging_indent(line, n);
    int command = indent;
    while (command > lead && line[command - 1] == ' ') command--;
    if (n <= columns) {
        fprintf(to, "%.*s\n", n, line);
    } else if (indent <= columns / 2) {
        fprintf(to, "%.*s", indent, line);
        put_words(to, line + indent, n - indent, indent, indent, columns);
    } else { /* a long command: what it does stands below it */
        fprintf(to, "%*s", lead, "");
        put_words(to, line + lead, command - lead, lead, lead + BELOW - 2, columns);
        fprintf(to, "%*s", BELOW, "");
        put_words(to, line + indent, n - indent, BELOW, BELOW, columns);
    }
}

/* A line of prose that was broken because it was long enough goes on in the next one. */
static bool goes_on(const char *line, const char *end) {
    const char *gap = strstr(line, "  "); /* of columns */
    return *line != ' ' && end - line > LONG_LINE && !(gap && gap < end) && *end && end[1] &&
           !strchr(" \n", end[1]);
}

void put_wrapped(FILE *to, const char *text, int columns) {
    while (*text) {
        struct text line;
        text_open(&line);
        for (bool more = true; more; fputs(more ? " " : "", line.to)) {
            const char *end = text + strcspn(text, "\n");
            more = goes_on(text, end);
            fwrite(text, 1, (size_t)(end - text), line.to);
            text = *end ? end + 1 : end;
        }
        const char *whole = text_bytes(&line);
        wrap_line(to, whole, (int)strlen(whole), columns);
        text_close(&line);
    }
}

size_t text_columns(const char *text) {
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

size_t text_bytes_of(const char *text, int columns) {
    size_t i = 0;
    for (; text[i]; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && columns-- == 0) break;
    return i;
}
