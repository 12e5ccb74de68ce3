/* SPDX-License-Identifier: Apache-2.0 */
/* See other_tables.h. The first line that is not empty determines the format; dt_is_libsvm skips
 * comments, too. */
#include "file/other_tables.h"

#include <string.h>

#include "base/str.h"

enum { LONGEST = 40 }; /* most characters of a number */

static bool is_number(const char *text, size_t n) {
    char copy[LONGEST + 1];
    double x;
    if (n > LONGEST) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return dt_parse_double(copy, &x);
}

/* Whether a word is a pair such as 7:0.5 or qid:3. */
static bool is_pair(const char *text, size_t n) {
    const char *colon = memchr(text, ':', n);
    const size_t index = colon ? (size_t)(colon - text) : 0;
    const bool query = index == 3 && memcmp(text, "qid", 3) == 0;
    size_t digits = 0;
    while (digits < index && text[digits] >= '0' && text[digits] <= '9') digits++;
    return index > 0 && (query || digits == index) && is_number(colon + 1, n - index - 1);
}

/* Whether a line looks like "1 3:0.5 7:1 # note". The last word may be cut off. */
static bool is_libsvm_line(const char *line, size_t n) {
    int words = 0;
    for (size_t at = 0, size; at < n; at += size, words++) {
        while (at < n && strchr(" \t\r", line[at])) at++;
        for (size = 0; at + size < n && !strchr(" \t\r", line[at + size]);) size++;
        if (size == 0 || line[at] == '#') break;
        if (words == 0 ? is_number(line + at, size) : is_pair(line + at, size)) continue;
        return words > 1 && at + size == n;
    }
    return words > 1;
}

/* Whether a line looks like "__label__cat a text". */
static bool is_fasttext(const char *line, size_t n) {
    return n > 9 && memcmp(line, "__label__", 9) == 0 && memchr(line, ' ', n);
}

static size_t first_line(const char **first, size_t n, char comment) {
    size_t size = 0;
    for (;; n -= size, *first += size) {
        for (; n > 0 && (**first == '\n' || **first == '\r'); n--) ++*first;
        for (size = 0; size < n && (*first)[size] && (*first)[size] != '\n';) size++;
        if (n == 0 || !comment || **first != comment) return size;
    }
}

bool dt_is_libsvm(const char *first, size_t n) {
    const size_t size = first_line(&first, n, '#');
    return is_libsvm_line(first, size);
}

dt_status *dt_other_table_look(const char *path, const char *first, size_t n) {
    const size_t size = first_line(&first, n, '\0');
    if (is_libsvm_line(first, size))
        return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL, "%s: is libsvm text, not CSV", path),
                          "write format: libsvm; 'dtrain data inspect FILE' shows the lines");
    if (is_fasttext(first, size))
        return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL, "%s: is fastText text, not CSV", path),
                          "write labels and texts as two columns of a CSV file, and read the texts "
                          "with dtype: string");
    return NULL;
}
