/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that are wider than the terminal. Terminals break them in the middle of a word, and put the
 * carets of an error below the wrong part of its line.
 */
#include <ctype.h>
#include <string.h>

#include "text.h"

enum { LEAST_COLUMNS = 30, BEFORE_CARETS = 12 };

/* The byte where the line is best broken: behind a comma before a word or at a wide gap, else at a
 * blank, else where it must. */
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

void put_broken(FILE *to, const char *line, int indent, int columns) {
    int room = columns;
    while (columns >= LEAST_COLUMNS && (int)text_columns(line) > room) {
        size_t lead = strspn(line, " ");
        lead = lead < text_bytes_of(line, room) / 2 ? lead : 0;
        const size_t n = lead + break_at(line + lead, text_bytes_of(line + lead, room - (int)lead));
        fprintf(to, "%.*s\n%*s", (int)n, line, indent, "");
        line += n + strspn(line + n, " ");
        room = columns - indent;
    }
    fputs(line, to);
}

/* From a line of the job and the carets below it, the characters from `first` on. */
static void put_window(FILE *to, const char *line, size_t head, int first, int columns) {
    const char *from = line + head + text_bytes_of(line + head, first);
    const bool cut = (int)text_columns(from) > columns - (int)head;
    fprintf(to, "%.*s%s", (int)head, line, first ? "..." : "");
    from += first ? text_bytes_of(from, 3) : 0;
    fprintf(to, "%.*s%s\n",
            (int)text_bytes_of(from, columns - (int)head - (first ? 3 : 0) - (cut ? 3 : 0)), from,
            cut ? "..." : "");
}

void put_excerpt(FILE *to, const char *line, const char *below, int columns) {
    const size_t head = strcspn(below, "|") + 2;
    const char *carets = strchr(below, '^');
    const int at = carets ? (int)(carets - below - (long)head) : 0,
              width = carets ? (int)strspn(carets, "^") : 0;
    int first = 0;
    if ((int)text_columns(line) <= columns || columns < LEAST_COLUMNS || strlen(line) < head)
        fprintf(to, "%s\n", line);
    else {
        if (at + width + 3 > columns - (int)head)
            first = at > BEFORE_CARETS ? at - BEFORE_CARETS : 0;
        put_window(to, line, head, first, columns);
    }
    if (carets) {
        struct text t;
        text_open(&t);
        if (first) /* without what stood for tabs */
            fprintf(t.to, "%.*s%*s%s", (int)head, below, at - first, "", carets);
        else fputs(below, t.to);
        put_broken(to, text_bytes(&t), (int)head, columns);
        text_close(&t);
    } else fputs(below, to);
    fputc('\n', to);
}
